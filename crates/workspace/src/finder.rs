//! Finding files by a few letters of their path.
//!
//! A directory is walked once, with its ignore rules, and its paths are kept:
//! what somebody types next is matched against those. They are walked again,
//! behind the scenes, when they have been kept for a while.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ignore::{DirEntry, WalkBuilder};
use innkeeper_protocol::workspace::FoundFile;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use url::Url;

use crate::changes::check_ignore_files;

/// How long the paths of a directory are kept before it is walked again.
const FRESH_FOR: Duration = Duration::from_secs(10);

/// How many paths of a directory are kept at most; deeper ones are not found.
const MOST_PATHS: usize = 500_000;

/// How many directories are kept at most.
const MOST_DIRECTORIES: usize = 16;

/// Finds files; clones share what they know.
#[derive(Debug, Clone, Default)]
pub struct FileFinder {
    known: Arc<Mutex<HashMap<PathBuf, Known>>>,
    /// Directories that are being walked. Others who want to know wait for
    /// whoever walks, and share what comes of it.
    walks: Arc<Mutex<HashMap<PathBuf, Walk>>>,
    /// How many directories were walked so far.
    walked: Arc<AtomicUsize>,
}

type Walk = Arc<OnceLock<Arc<[Entry]>>>;

#[derive(Debug)]
struct Known {
    paths: Arc<[Entry]>,
    walked_at: Instant,
    /// Somebody is on it.
    is_walked_again: bool,
}

#[derive(Debug)]
struct Entry {
    path: String,
    is_directory: bool,
}

impl FileFinder {
    /// The files of some directories (given as `file:` URIs) that match best.
    /// This may take long in a large directory: not for a thread that others
    /// wait for.
    pub fn find(&self, directories: &[String], query: &str, limit: usize) -> Vec<FoundFile> {
        let roots = directories
            .iter()
            .filter_map(|uri| Url::parse(uri).ok()?.to_file_path().ok());
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let mut best = Vec::new();
        for root in roots {
            let paths = self.paths_of(&root);
            best.extend(best_of(&paths, &pattern, &mut matcher, limit, &root));
        }
        best.sort_by(|(a, _), (b, _)| b.cmp(a));
        best.truncate(limit);
        best.into_iter().map(|(_, file)| file).collect()
    }

    fn paths_of(&self, root: &Path) -> Arc<[Entry]> {
        let Some(known) = self.lock().get_mut(root).map(|known| {
            let stale = known.walked_at.elapsed() >= FRESH_FOR && !known.is_walked_again;
            known.is_walked_again |= stale;
            (Arc::clone(&known.paths), stale)
        }) else {
            return self.walk(root);
        };
        let (paths, stale) = known;
        if stale {
            // Nobody waits for it: what is known serves until then.
            let (finder, root) = (self.clone(), root.to_owned());
            std::thread::spawn(move || finder.walk(&root));
        }
        paths
    }

    /// Walks a directory, or waits for whoever does that already.
    fn walk(&self, root: &Path) -> Arc<[Entry]> {
        let walk = Arc::clone(lock(&self.walks).entry(root.to_owned()).or_default());
        // Not under a lock: others may ask for other directories meanwhile.
        let paths = walk.get_or_init(|| {
            let paths = self.walk_alone(root);
            lock(&self.walks).remove(root);
            paths
        });
        Arc::clone(paths)
    }

    fn walk_alone(&self, root: &Path) -> Arc<[Entry]> {
        self.walked.fetch_add(1, Ordering::Relaxed);
        let paths: Arc<[Entry]> = walk(root).into();
        let mut all = self.lock();
        let oldest = all.iter().min_by_key(|(_, known)| known.walked_at);
        if all.len() >= MOST_DIRECTORIES
            && let Some(oldest) = oldest.map(|(root, _)| root.clone())
        {
            all.remove(&oldest);
        }
        let known = Known {
            paths: Arc::clone(&paths),
            walked_at: Instant::now(),
            is_walked_again: false,
        };
        all.insert(root.to_owned(), known);
        paths
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, Known>> {
        lock(&self.known)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn walk(root: &Path) -> Vec<Entry> {
    // Whoever walks reads what is ignored, and would wait at a pipe for ever.
    if !root.ancestors().all(can_be_read) {
        return Vec::new();
    }
    let is_directory = |entry: &DirEntry| entry.file_type().is_some_and(|kind| kind.is_dir());
    let entries = WalkBuilder::new(root)
        .require_git(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(move |entry| !is_directory(entry) || can_be_read(entry.path()))
        .build();
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?.to_str()?;
            (!path.is_empty()).then(|| Entry {
                path: path.replace(std::path::MAIN_SEPARATOR, "/"),
                is_directory: entry.file_type().is_some_and(|kind| kind.is_dir()),
            })
        })
        .take(MOST_PATHS)
        .collect()
}

fn can_be_read(directory: &Path) -> bool {
    check_ignore_files(directory)
        .inspect_err(|error| tracing::debug!(%error, "a directory is not completed from"))
        .is_ok()
}

/// How well a path fits: by the match, then shorter ones first.
type Rank = (u32, std::cmp::Reverse<usize>);

fn best_of(
    paths: &[Entry],
    pattern: &Pattern,
    matcher: &mut Matcher,
    limit: usize,
    root: &Path,
) -> Vec<(Rank, FoundFile)> {
    let mut buffer = Vec::new();
    let mut ranked: Vec<(Rank, &Entry)> = paths
        .iter()
        .filter_map(|entry| {
            let score = pattern.score(Utf32Str::new(&entry.path, &mut buffer), matcher)?;
            Some(((score, std::cmp::Reverse(entry.path.len())), entry))
        })
        .collect();
    if ranked.len() > limit {
        // Only the best need to be in order.
        ranked.select_nth_unstable_by(limit, |(a, _), (b, _)| b.cmp(a));
        ranked.truncate(limit);
    }
    ranked
        .into_iter()
        .filter_map(|(rank, entry)| {
            let uri = Url::from_file_path(root.join(&entry.path)).ok()?;
            let found = FoundFile {
                uri: uri.to_string(),
                path: entry.path.clone(),
                is_directory: entry.is_directory,
            };
            Some((rank, found))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn directory(files: &[&str]) -> (tempfile::TempDir, String) {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let uri = Url::from_file_path(root.path()).unwrap().to_string();
        (root, uri)
    }

    fn paths(found: &[FoundFile]) -> Vec<&str> {
        found.iter().map(|file| file.path.as_str()).collect()
    }

    #[test]
    fn nobody_waits_for_a_pipe_that_says_what_is_ignored() {
        let (root, uri) = directory(&["src/main.rs", "trap/main.rs"]);
        let made = std::process::Command::new("mkfifo")
            .arg(root.path().join("trap/.gitignore"))
            .status();
        assert!(made.unwrap().success());
        let find = || FileFinder::default().find(std::slice::from_ref(&uri), "main", 10);
        assert_eq!(paths(&find()), ["src/main.rs"]);
        fs::rename(
            root.path().join("trap/.gitignore"),
            root.path().join(".ignore"),
        )
        .unwrap();
        assert!(find().is_empty());
    }

    #[test]
    fn files_are_found_by_letters_of_their_path() {
        let (_root, uri) = directory(&["src/main.rs", "src/parser/mod.rs", "README.md"]);
        let found = FileFinder::default().find(&[uri], "sparmod", 10);
        assert_eq!(paths(&found), ["src/parser/mod.rs"]);
        assert!(found[0].uri.starts_with("file:///") && found[0].uri.ends_with("mod.rs"));
    }

    #[test]
    fn what_the_ignore_rules_name_is_not_found() {
        let (root, uri) = directory(&["kept.txt", "target/kept.txt"]);
        fs::write(root.path().join(".gitignore"), "target/\n").unwrap();
        let found = FileFinder::default().find(&[uri], "kept", 10);
        assert_eq!(paths(&found), ["kept.txt"]);
    }

    #[test]
    fn many_who_ask_at_once_share_one_walk() {
        const ASKING: usize = 40;
        let files: Vec<String> = (0..500).map(|number| format!("{number}/needle")).collect();
        let (_root, uri) = directory(&files.iter().map(String::as_str).collect::<Vec<_>>());
        let finder = FileFinder::default();
        let all_are_here = std::sync::Barrier::new(ASKING);
        let find = || {
            all_are_here.wait();
            finder
                .find(std::slice::from_ref(&uri), "needle", 1_000)
                .len()
        };
        std::thread::scope(|threads| {
            let asking: Vec<_> = (0..ASKING).map(|_| threads.spawn(find)).collect();
            for one in asking {
                assert_eq!(one.join().unwrap(), 500);
            }
        });
        assert_eq!(finder.walked.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn no_more_than_the_best_are_given() {
        let (_root, uri) = directory(&["a/b/c/needle.txt", "needle.txt", "n/e/e/d/l/e.txt"]);
        let found = FileFinder::default().find(&[uri], "needle", 1);
        assert_eq!(paths(&found), ["needle.txt"]);
    }

    #[test]
    fn a_directory_that_is_not_there_has_no_files() {
        let found = FileFinder::default().find(&["file:///no/such/place".to_owned()], "a", 10);
        assert!(found.is_empty());
    }
}
