//! Real watchers on real directories.

use std::collections::BTreeSet;
use std::fs;

use innkeeper_protocol::newest::state::ResourceChangeType;
use innkeeper_protocol::workspace::resource::{GrantedRoot, Scope};
use tempfile::TempDir;

use super::*;
use crate::resources::place::uri_of_path;

const STUCK: Duration = Duration::from_secs(60);
const ID: WatchId = WatchId(3);

struct Watching {
    watches: WatchService,
    reports: Receiver<WatchReport>,
    directory: TempDir,
}

impl Watching {
    fn open(path: &str, recursive: bool, prepare: impl Fn(&Path)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        prepare(directory.path());
        let (sender, reports) = channel();
        let sender = Mutex::new(sender);
        let sink = move |report| sender.lock().unwrap().send(report).is_ok();
        let watching = Self {
            watches: WatchService::new(Hub::default(), Arc::new(sink)),
            reports,
            directory,
        };
        watching.watch(ID, path, recursive);
        watching
    }

    fn watch(&self, watch: WatchId, path: &str, recursive: bool) {
        let uri = |path: &Path| uri_of_path(path).unwrap();
        let open = OpenWatch {
            uri: uri(&self.path(path)),
            recursive,
            includes: Vec::new(),
            excludes: vec!["**/skipped".to_owned()],
            scope: Scope::new(
                vec![GrantedRoot {
                    uri: uri(self.directory.path()),
                    writable: false,
                }],
                0,
            ),
        };
        let open = Box::new(open);
        self.watches.command(WatchCommand::Open { watch, open });
    }

    fn next_report(&self) -> WatchReport {
        self.reports
            .recv_timeout(STUCK)
            .expect("the watch is stuck")
    }

    fn next(&self) -> WatchEvent {
        self.next_report().event
    }

    /// Waits until these paths were told of, each with its last change.
    fn until(&self, wanted: &[(&str, ResourceChangeType)]) {
        let mut missing: BTreeSet<String> =
            wanted.iter().map(|(path, _)| (*path).to_owned()).collect();
        while !missing.is_empty() {
            let WatchEvent::Changed(changes) = self.next() else {
                continue;
            };
            for change in changes {
                let path = path_of_uri(&change.uri).unwrap();
                let path = path.strip_prefix(self.directory.path()).unwrap();
                let path = path.to_str().unwrap();
                assert!(!path.contains("skipped"), "{path}");
                if wanted.contains(&(path, change.r#type)) {
                    missing.remove(path);
                }
            }
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }
}

#[test]
fn changes_below_a_directory_are_told() {
    let watching = Watching::open("", true, |directory| {
        fs::create_dir(directory.join("old")).unwrap();
        fs::write(directory.join("old/file"), "1").unwrap();
    });
    assert_eq!(watching.next(), WatchEvent::Opened);
    fs::create_dir_all(watching.path("skipped/x")).unwrap();
    fs::write(watching.path("old/file"), "2").unwrap();
    fs::write(watching.path("new"), "").unwrap();
    watching.until(&[
        ("old/file", ResourceChangeType::Updated),
        ("new", ResourceChangeType::Added),
    ]);
    fs::create_dir_all(watching.path("deep/er")).unwrap();
    fs::write(watching.path("deep/er/file"), "").unwrap();
    watching.until(&[("deep/er/file", ResourceChangeType::Added)]);
    fs::rename(watching.path("new"), watching.path("renamed")).unwrap();
    fs::remove_file(watching.path("old/file")).unwrap();
    watching.until(&[
        ("new", ResourceChangeType::Deleted),
        ("renamed", ResourceChangeType::Added),
        ("old/file", ResourceChangeType::Deleted),
    ]);
    watching.watches.command(WatchCommand::Close { watch: ID });
    assert_eq!(watching.watches.running(), 0);
}

#[test]
fn watches_of_one_directory_share_their_work_and_are_told_alike() {
    let watching = Watching::open("", true, |_| {});
    assert_eq!(watching.next(), WatchEvent::Opened);
    let others: BTreeSet<u64> = (100..200).collect();
    for watch in &others {
        watching.watch(WatchId(*watch), "", true);
    }
    for _ in &others {
        assert_eq!(watching.next(), WatchEvent::Opened);
    }
    let groups = || {
        let groups = watching.watches.groups.lock().unwrap();
        groups.values().filter(|it| it.strong_count() > 0).count()
    };
    assert_eq!(groups(), 1);
    let close = |watch| watching.watches.command(WatchCommand::Close { watch });
    close(ID);
    fs::write(watching.path("new"), "").unwrap();
    let mut told = BTreeSet::new();
    while told != others {
        let WatchReport { watch, event } = watching.next_report();
        assert!(watch != ID && matches!(event, WatchEvent::Changed(_)));
        told.insert(watch.0);
    }
    for watch in others {
        close(WatchId(watch));
    }
    assert_eq!(groups(), 0);
}

#[test]
fn a_file_is_followed_when_it_is_replaced() {
    let watching = Watching::open("file", false, |directory| {
        fs::write(directory.join("file"), "1").unwrap();
    });
    assert_eq!(watching.next(), WatchEvent::Opened);
    for round in 0..2 {
        fs::write(watching.path("beside"), "2").unwrap();
        fs::rename(watching.path("beside"), watching.path("file")).unwrap();
        let WatchEvent::Changed(changes) = watching.next() else {
            panic!("a change in round {round}");
        };
        assert!(changes.iter().all(|change| change.uri.ends_with("/file")));
    }
}

#[test]
fn what_is_out_of_reach_is_not_watched() {
    let watching = Watching::open("../", true, |_| {});
    assert!(matches!(watching.next(), WatchEvent::OpenFailed(_)));
    let watching = Watching::open("missing", true, |_| {});
    let WatchEvent::OpenFailed(ResourceError::NotFound { .. }) = watching.next() else {
        panic!("not found");
    };
    assert_eq!(watching.watches.running(), 0);
}

#[test]
fn a_watch_of_one_directory_is_not_told_of_those_below() {
    let watching = Watching::open("", false, |directory| {
        fs::create_dir(directory.join("below")).unwrap();
        fs::write(directory.join("file"), "").unwrap();
    });
    assert_eq!(watching.next(), WatchEvent::Opened);
    // Another one sees all of it, by the same watcher.
    let other = WatchId(4);
    watching.watch(other, "", true);
    assert_eq!(watching.next(), WatchEvent::Opened);
    fs::rename(watching.path("file"), watching.path("below/file")).unwrap();
    fs::write(watching.path("last"), "").unwrap();
    let mut told: Vec<(WatchId, String)> = Vec::new();
    let has = |told: &[(WatchId, String)], watch, name: &str| {
        let mut of_watch = told.iter().filter(|(of, _)| *of == watch);
        of_watch.any(|(_, uri)| uri.ends_with(name))
    };
    while !has(&told, ID, "/last") || !has(&told, other, "/last") {
        let WatchReport { watch, event } = watching.next_report();
        if let WatchEvent::Changed(changes) = event {
            told.extend(changes.into_iter().map(|change| (watch, change.uri)));
        }
    }
    assert!(has(&told, other, "/below/file"), "{told:?}");
    assert!(!has(&told, ID, "/below/file"), "{told:?}");
}
