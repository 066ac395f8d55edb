//! What can be done with files, and that nothing leads out of the roots.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use innkeeper_protocol::newest::commands::ResourceWriteMode;
use innkeeper_protocol::workspace::resource::{GrantedRoot, TransferTask, WriteData, WriteTask};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const BEYOND: &str = "beyond";
const SECRET: &str = "the secret";

/// A directory that may be reached, and one next to it that may not.
struct Yard {
    directory: TempDir,
    resources: ResourceService,
}

impl Yard {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("root")).unwrap();
        fs::create_dir(directory.path().join("outside")).unwrap();
        fs::write(directory.path().join("outside/secret"), SECRET).unwrap();
        // Names that nothing in a root ever has.
        fs::write(directory.path().join(BEYOND), "").unwrap();
        fs::write(directory.path().join("outside").join(BEYOND), "").unwrap();
        Self {
            directory,
            resources: ResourceService::default(),
        }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.directory.path().join(path)
    }

    fn uri(&self, path: &str) -> String {
        format!("file://{}/{path}", self.directory.path().display())
    }

    fn scope(&self) -> Scope {
        let root = GrantedRoot {
            uri: self.uri("root"),
            writable: true,
        };
        Scope::new(vec![root], 1 << 20)
    }

    fn perform(&self, task: ResourceTask) -> Result<ResourceDone, ResourceError> {
        self.resources.perform(&self.scope(), &task)
    }

    fn write(&self, path: &str, data: &str) -> WriteTask {
        WriteTask {
            uri: self.uri(path),
            data: WriteData::Plain(Bytes::copy_from_slice(data.as_bytes())),
            create_only: false,
            mode: ResourceWriteMode::Truncate,
            position: 0,
            if_match: None,
        }
    }

    fn read(&self, path: &str) -> Result<String, ResourceError> {
        let uri = self.uri(path);
        match self.perform(ResourceTask::Read { uri })? {
            ResourceDone::Content { data, .. } => Ok(String::from_utf8(data.to_vec()).unwrap()),
            other => panic!("content: {other:?}"),
        }
    }

    fn transfer(&self, from: &str, to: &str, fail_if_exists: bool) -> TransferTask {
        TransferTask {
            source: self.uri(from),
            destination: self.uri(to),
            fail_if_exists,
        }
    }

    fn etag(&self, path: &str) -> Option<String> {
        let uri = self.uri(path);
        let resolve = ResourceTask::Resolve {
            uri,
            follow_symlinks: true,
        };
        match self.perform(resolve) {
            Ok(ResourceDone::Resolved(resolved)) => resolved.etag,
            other => panic!("resolved: {other:?}"),
        }
    }

    /// A path within the root, unless a link leads elsewhere: the test itself
    /// must not be what does harm.
    fn inside(&self, path: &str) -> Option<std::path::PathBuf> {
        let path = self.path("root").join(path);
        let parent = fs::canonicalize(path.parent()?).ok()?;
        let root = fs::canonicalize(self.path("root")).ok()?;
        parent.starts_with(root).then_some(path)
    }

    fn is_unharmed(&self) -> bool {
        let names = fs::read_dir(self.path("outside")).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names == [BEYOND, "secret"]
            && fs::read_to_string(self.path("outside/secret")).unwrap() == SECRET
    }
}

#[test]
fn content_is_written_with_its_directories_and_read_back() {
    let yard = Yard::new();
    let task = yard.write("root/a/b/c.txt", "hello");
    yard.perform(ResourceTask::Write(task)).unwrap();
    assert_eq!(yard.read("root/a/b/c.txt").unwrap(), "hello");
    let uri = yard.uri("root/a");
    let listed = yard.perform(ResourceTask::List { uri }).unwrap();
    let ResourceDone::Entries(entries) = listed else {
        panic!("entries");
    };
    assert_eq!((&*entries[0].name, &*entries[0].r#type), ("b", "directory"));
    let left: Vec<_> = fs::read_dir(yard.path("root/a/b")).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing is left beside the file");
}

#[test]
fn only_a_file_that_is_not_there_is_created() {
    let yard = Yard::new();
    let task = WriteTask {
        create_only: true,
        ..yard.write("root/new", "1")
    };
    yard.perform(ResourceTask::Write(task.clone())).unwrap();
    let again = yard.perform(ResourceTask::Write(task));
    assert!(matches!(again, Err(ResourceError::AlreadyExists { .. })));
}

#[test]
fn a_write_on_top_of_somebody_elses_is_a_conflict() {
    let yard = Yard::new();
    fs::write(yard.path("root/f"), "1").unwrap();
    let task = WriteTask {
        if_match: yard.etag("root/f"),
        ..yard.write("root/f", "2")
    };
    yard.perform(ResourceTask::Write(task.clone())).unwrap();
    let stale = yard.perform(ResourceTask::Write(task));
    assert!(matches!(stale, Err(ResourceError::Conflict { .. })));
    assert_eq!(yard.read("root/f").unwrap(), "2");
}

#[test]
fn what_is_replaced_keeps_its_mode_and_links_stay_links() {
    let yard = Yard::new();
    fs::write(yard.path("root/run.sh"), "old").unwrap();
    let mode = fs::Permissions::from_mode(0o750);
    fs::set_permissions(yard.path("root/run.sh"), mode).unwrap();
    symlink("run.sh", yard.path("root/link")).unwrap();
    let task = yard.write("root/link", "new");
    yard.perform(ResourceTask::Write(task)).unwrap();
    assert_eq!(yard.read("root/run.sh").unwrap(), "new");
    let written = fs::metadata(yard.path("root/run.sh")).unwrap();
    assert_eq!(written.permissions().mode() & 0o777, 0o750);
    assert!(
        fs::symlink_metadata(yard.path("root/link"))
            .unwrap()
            .is_symlink()
    );
}

#[test]
fn a_directory_with_something_in_it_is_deleted_only_when_asked() {
    let yard = Yard::new();
    fs::create_dir_all(yard.path("root/d/e")).unwrap();
    let delete = |recursive| {
        let uri = yard.uri("root/d");
        yard.perform(ResourceTask::Delete { uri, recursive })
    };
    assert!(matches!(delete(false), Err(ResourceError::Invalid(_))));
    delete(true).unwrap();
    assert!(matches!(delete(true), Err(ResourceError::NotFound { .. })));
    let uri = yard.uri("root");
    let root = yard.perform(ResourceTask::Delete {
        uri,
        recursive: true,
    });
    assert!(matches!(root, Err(ResourceError::Refused { .. })));
}

/// 50,001 files are made at little cost as links to one.
#[test]
fn a_directory_with_too_many_entries_is_not_listed() {
    let yard = Yard::new();
    fs::create_dir(yard.path("root/many")).unwrap();
    fs::write(yard.path("root/one"), "1").unwrap();
    let link = |number: usize| {
        let name = yard.path(&format!("root/many/{number}"));
        fs::hard_link(yard.path("root/one"), name)
    };
    (0..MOST_ENTRIES).for_each(|number| link(number).unwrap());
    let list = || {
        let uri = yard.uri("root/many");
        yard.perform(ResourceTask::List { uri })
    };
    assert!(matches!(list(), Ok(ResourceDone::Entries(all)) if all.len() == MOST_ENTRIES));
    link(MOST_ENTRIES).unwrap();
    let refused = list().unwrap_err().to_string();
    assert!(refused.contains("more than 50000 entries"), "{refused}");
}

#[test]
fn files_and_directories_are_copied_and_moved() {
    let yard = Yard::new();
    fs::create_dir_all(yard.path("root/d/e")).unwrap();
    fs::write(yard.path("root/d/e/f"), "x").unwrap();
    symlink("e/f", yard.path("root/d/link")).unwrap();
    yard.perform(ResourceTask::Copy(yard.transfer(
        "root/d",
        "root/copy/of",
        false,
    )))
    .unwrap();
    assert_eq!(yard.read("root/copy/of/link").unwrap(), "x");
    yard.perform(ResourceTask::Move(yard.transfer(
        "root/d/e/f",
        "root/g",
        true,
    )))
    .unwrap();
    assert_eq!(yard.read("root/g").unwrap(), "x");
    for task in [
        ResourceTask::Move(yard.transfer("root/copy/of/e/f", "root/g", true)),
        ResourceTask::Copy(yard.transfer("root/copy/of/e/f", "root/g", true)),
        ResourceTask::Copy(yard.transfer("root/g", "root/d", false)),
    ] {
        let there = yard.perform(task);
        assert!(matches!(there, Err(ResourceError::AlreadyExists { .. })));
    }
    yard.perform(ResourceTask::Move(yard.transfer(
        "root/copy/of/e/f",
        "root/g",
        false,
    )))
    .unwrap();
    symlink("d", yard.path("root/link")).unwrap();
    for within in ["root/d/x", "root/link/x", "root/link/new/x"] {
        for task in [ResourceTask::Copy, ResourceTask::Move] {
            let into_itself = yard.perform(task(yard.transfer("root/d", within, false)));
            let refused = matches!(into_itself, Err(ResourceError::Invalid(_)));
            assert!(refused, "{within}: {into_itself:?}");
        }
    }
}

#[test]
fn directories_are_made_once_and_not_over_files() {
    let yard = Yard::new();
    let mkdir = |path| {
        let uri = yard.uri(path);
        yard.perform(ResourceTask::Mkdir { uri })
    };
    mkdir("root/a/b").unwrap();
    mkdir("root/a/b").unwrap();
    mkdir("root").unwrap();
    fs::write(yard.path("root/f"), "").unwrap();
    let over = mkdir("root/f");
    assert!(matches!(over, Err(ResourceError::AlreadyExists { .. })));
}

#[test]
fn a_link_within_the_roots_is_followed_even_if_it_is_absolute() {
    let yard = Yard::new();
    fs::write(yard.path("root/f"), "x").unwrap();
    symlink(yard.path("root/f"), yard.path("root/link")).unwrap();
    assert_eq!(yard.read("root/link").unwrap(), "x");
    symlink(yard.path("outside/secret"), yard.path("root/out")).unwrap();
    assert!(matches!(
        yard.read("root/out"),
        Err(ResourceError::Refused { .. })
    ));
}

#[test]
fn a_root_may_be_a_single_file() {
    let yard = Yard::new();
    let root = GrantedRoot {
        uri: yard.uri("outside/secret"),
        writable: false,
    };
    let scope = Scope::new(vec![root], 100);
    let read = |path| {
        let uri = yard.uri(path);
        yard.resources.perform(&scope, &ResourceTask::Read { uri })
    };
    assert!(read("outside/secret").is_ok());
    assert!(matches!(
        read("outside/other"),
        Err(ResourceError::OutOfScope { .. })
    ));
    let write = ResourceTask::Write(yard.write("outside/secret", "x"));
    let refused = yard.resources.perform(&scope, &write);
    assert!(matches!(
        refused,
        Err(ResourceError::OutOfScope { write: true, .. })
    ));
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let yard = Yard::new();
    let pipe = yard.path("root/pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: there is no mkfifo here");
        return;
    }
    assert!(matches!(
        yard.read("root/pipe"),
        Err(ResourceError::Refused { .. })
    ));
    let copy = yard.transfer("root/pipe", "root/copy", false);
    assert!(yard.perform(ResourceTask::Copy(copy)).is_err());
    assert!(!yard.path("root/copy").exists());
}

#[test]
fn somebody_who_swaps_a_directory_for_a_link_gains_nothing() {
    let yard = Yard::new();
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let swap = yard.path("root/swap");
            while !done.load(Ordering::Relaxed) {
                fs::create_dir_all(&swap).unwrap();
                fs::write(swap.join("secret"), "harmless").unwrap();
                fs::remove_dir_all(&swap).unwrap();
                symlink(yard.path("outside"), &swap).unwrap();
                fs::remove_file(&swap).unwrap();
            }
        });
        for _ in 0..2_000 {
            if let Ok(read) = yard.read("root/swap/secret") {
                assert_ne!(read, SECRET);
            }
            let uri = yard.uri("root/swap/secret");
            let recursive = true;
            let _ = yard.perform(ResourceTask::Delete { uri, recursive });
            let other = yard.write("root/swap/other", "x");
            // The directory may be gone when the other thread wants to fill it.
            if !yard.path("root/swap").exists() {
                continue;
            }
            let _ = yard.perform(ResourceTask::Write(WriteTask {
                uri: yard.uri("root/elsewhere"),
                ..other
            }));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(yard.is_unharmed());
}

/// A piece of a path that may be a trick.
fn segment() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c", "secret"]).prop_map(str::to_owned),
        3 => prop::sample::select(vec![
            "..", ".", "%2e%2e", "%2E.", "a%2F..%2F..", "..%2Foutside", "%00", "", "outside",
            "..%5c", "%2F", "root",
        ]).prop_map(str::to_owned),
    ]
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(segment(), 1..5).prop_map(|segments| segments.join("/"))
}

#[derive(Debug, Clone)]
enum Move {
    Dir(String),
    Link(String, String),
    Task(usize, String, String),
}

fn any_move() -> impl Strategy<Value = Move> {
    let plain = || prop::sample::select(vec!["a", "b", "c", "a/b", "a/c", "b/a"]);
    let goal = prop::sample::select(vec![
        "..",
        "../..",
        "../outside",
        "../outside/secret",
        "../../outside",
        "a",
        "b",
        ".",
        "/",
        "ABSOLUTE/outside",
        "ABSOLUTE/outside/secret",
        "ABSOLUTE/root/a",
        "../root/../outside",
    ]);
    prop_oneof![
        plain().prop_map(|path| Move::Dir(path.to_owned())),
        (plain(), goal).prop_map(|(path, to)| Move::Link(path.to_owned(), to.to_owned())),
        (0_usize..8, path(), path()).prop_map(|(task, a, b)| Move::Task(task, a, b)),
        (0_usize..8, plain(), plain()).prop_map(|(task, a, b)| Move::Task(
            task,
            format!("{a}/secret"),
            b.to_owned()
        )),
    ]
}

fn play(yard: &Yard, moves: &[Move]) {
    for one in moves {
        match one {
            Move::Dir(path) => {
                if let Some(path) = yard.inside(path) {
                    let _ = fs::create_dir(path);
                }
            }
            Move::Link(path, to) => {
                let to = to.replace("ABSOLUTE", &yard.directory.path().to_string_lossy());
                if let Some(path) = yard.inside(path) {
                    let _ = symlink(to, path);
                }
            }
            Move::Task(number, a, b) => {
                let (a, b) = (format!("root/{a}"), format!("root/{b}"));
                let uri = yard.uri(&a);
                let task = match number {
                    0 => ResourceTask::Read { uri },
                    1 => ResourceTask::List { uri },
                    2 => ResourceTask::Write(yard.write(&a, "overwritten")),
                    3 => ResourceTask::Delete {
                        uri,
                        recursive: true,
                    },
                    4 => ResourceTask::Mkdir { uri },
                    5 => ResourceTask::Copy(yard.transfer(&a, &b, false)),
                    6 => ResourceTask::Move(yard.transfer(&a, &b, false)),
                    _ => ResourceTask::Resolve {
                        uri,
                        follow_symlinks: true,
                    },
                };
                check_harmless(yard, yard.perform(task));
            }
        }
        assert!(yard.is_unharmed(), "after {one:?}");
    }
}

fn check_harmless(yard: &Yard, outcome: Result<ResourceDone, ResourceError>) {
    let root = fs::canonicalize(yard.path("root")).unwrap();
    match outcome {
        Ok(ResourceDone::Content { data, .. }) => assert_ne!(data, SECRET.as_bytes()),
        Ok(ResourceDone::Resolved(resolved)) => {
            let path = place::path_of_uri(&resolved.uri).unwrap();
            assert!(path.starts_with(root), "{path:?}");
        }
        Ok(ResourceDone::Entries(entries)) => {
            assert!(entries.iter().all(|entry| entry.name != BEYOND));
        }
        Ok(ResourceDone::Done) | Err(_) => {}
    }
}

fn mode() -> impl Strategy<Value = ResourceWriteMode> {
    prop::sample::select(vec![
        ResourceWriteMode::Truncate,
        ResourceWriteMode::Append,
        ResourceWriteMode::Insert,
    ])
}

/// What a file holds after a write, by the words of the protocol.
fn model(before: &[u8], mode: ResourceWriteMode, position: usize, data: &[u8]) -> Option<Vec<u8>> {
    if position > before.len() {
        return None;
    }
    let mut after = before.to_vec();
    match mode {
        ResourceWriteMode::Truncate => {
            after.truncate(position);
            after.extend(data);
        }
        ResourceWriteMode::Insert => {
            after.splice(position..position, data.iter().copied());
        }
        ResourceWriteMode::Append => {
            let at = before.len() - position;
            after.splice(at..at, data.iter().copied());
        }
    }
    Some(after)
}

#[test]
fn a_path_becomes_a_uri_and_a_path_again() {
    let uri = |path: &str| place::uri_of_path(Path::new(path));
    assert_eq!(uri("/inn/my app").unwrap(), "file:///inn/my%20app");
    assert_eq!(uri("/a/100%/é#?").unwrap(), "file:///a/100%25/%C3%A9%23%3F");
    assert_eq!(uri("a/b"), None);
    for path in ["/", "/inn/my app", "/a/100%/é#?", "/a\\b/[c] (d)+{e}|^`"] {
        let there = uri(path).unwrap();
        assert_eq!(
            place::path_of_uri(&there).unwrap(),
            Path::new(path),
            "{there}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 192,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_leads_out_of_the_roots(moves in prop::collection::vec(any_move(), 1..24)) {
        play(&Yard::new(), &moves);
    }

    #[test]
    fn writes_do_what_the_protocol_says(
        writes in prop::collection::vec((mode(), 0_usize..24, prop::collection::vec(any::<u8>(), 0..12)), 1..12)
    ) {
        let yard = Yard::new();
        let mut expected: Option<Vec<u8>> = None;
        for (mode, position, data) in writes {
            let task = WriteTask {
                mode,
                position: position as u64,
                data: WriteData::Plain(Bytes::from(data.clone())),
                ..yard.write("root/f", "")
            };
            let outcome = yard.perform(ResourceTask::Write(task));
            match model(expected.as_deref().unwrap_or_default(), mode, position, &data) {
                Some(after) => {
                    prop_assert!(outcome.is_ok(), "{outcome:?}");
                    expected = Some(after);
                }
                None => prop_assert!(matches!(outcome, Err(ResourceError::Invalid(_)))),
            }
            let there = Path::new(&yard.path("root/f")).exists();
            prop_assert_eq!(there, expected.is_some());
            if let Some(expected) = &expected {
                prop_assert_eq!(&fs::read(yard.path("root/f")).unwrap(), expected);
            }
        }
    }
}
