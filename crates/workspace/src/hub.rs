//! One watcher of the system for the whole host: the system gives each user few
//! of them, and sessions and watches are many. Whoever listens is told of events below its
//! roots; a root that several listen to is watched once.
//!
//! *Invariant*: what is watched is exactly the roots that no other root covers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use innkeeper_process::system::TELLS_OF_FILES_IN_ORDER;
use notify::event::{EventAttributes, EventKind, Flag};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

/// A directory, and whether all below it is meant too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    pub(crate) recursive: bool,
}

impl Root {
    fn covers(&self, path: &Path) -> bool {
        match self.recursive {
            true => path.starts_with(&self.path),
            false => path == self.path || path.parent() == Some(&self.path),
        }
    }
}

/// How long it may take until everything that has happened was passed on.
const CATCHING_UP: Duration = Duration::from_millis(500);

type Hear = Box<dyn Fn(notify::Result<Event>) + Send>;

struct Listener {
    roots: Vec<Root>,
    hear: Hear,
}

/// What happens to files, for whoever asks.
#[derive(Clone, Default)]
pub struct Hub {
    /// Locked by the watcher's thread too, so never while that is waited for.
    listeners: Arc<Mutex<BTreeMap<u64, Listener>>>,
    watching: Arc<Mutex<Watching>>,
    /// How many files were written to hear of them.
    files_heard_of: Arc<AtomicU64>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Watching {
    last: u64,
    /// While anything is watched.
    watcher: Option<RecommendedWatcher>,
    /// How many listen to each root: to all below it, and to itself alone.
    roots: BTreeMap<PathBuf, [usize; 2]>,
}

/// Somebody listens for as long as this lives.
pub(crate) struct Listening {
    id: u64,
    hub: Hub,
}

impl Hub {
    /// Tells `hear` what happens below these roots. The first must be there;
    /// of the others, those that cannot be watched are left out.
    pub(crate) fn listen(
        &self,
        roots: Vec<Root>,
        hear: impl Fn(notify::Result<Event>) + Send + 'static,
    ) -> notify::Result<Listening> {
        let mut watching = lock(&self.watching);
        if watching.watcher.is_none() {
            // Links are not followed, as git does not follow them: what they lead
            // to may not be granted.
            let config = Config::default().with_follow_symlinks(false);
            let listeners = Arc::clone(&self.listeners);
            let tell = move |event| pass_on(&listeners, event);
            watching.watcher = Some(RecommendedWatcher::new(tell, config)?);
        }
        watching.last += 1;
        let id = watching.last;
        // From before the watch begins, so that nothing is missed.
        let hear: Hear = Box::new(hear);
        let listener = Listener {
            roots: Vec::new(),
            hear,
        };
        lock(&self.listeners).insert(id, listener);
        let listening = Listening {
            id,
            hub: self.clone(),
        };
        let (mut failure, mut is_first) = (None, true);
        for root in roots {
            // Known before it is watched, and forgotten if it cannot be.
            self.add_root(id, &root);
            if let Err(error) = watching.add(&root) {
                self.drop_root(id, &root);
                match is_first {
                    true => failure = Some(error),
                    false => {
                        tracing::debug!(%error, path = %root.path.display(), "cannot be watched");
                    }
                }
            }
            if failure.is_some() {
                break;
            }
            is_first = false;
        }
        // Dropping `listening` takes this lock.
        drop(watching);
        match failure {
            Some(error) => Err(error),
            None => Ok(listening),
        }
    }

    /// Waits until everything that has happened so far has been passed on.
    /// `own` is a directory of ours: a file that is written there now is told
    /// of last. Returns whether that is certain.
    pub(crate) fn catch_up(&self, own: &Path) -> bool {
        TELLS_OF_FILES_IN_ORDER && self.hears_of_last(own).unwrap_or(false)
    }

    /// Waits until the directories are watched, too, that were heard of: the
    /// system's watcher tells of a new one before it watches it.
    pub(crate) fn catch_up_with_directories(&self) {
        let Some(watcher) = &mut lock(&self.watching).watcher else {
            return;
        };
        // It changes nothing, and is answered when all before it is done.
        if let Err(error) = watcher.configure(Config::default()) {
            tracing::debug!(%error, "the watcher does not answer");
        }
    }

    fn hears_of_last(&self, own: &Path) -> notify::Result<bool> {
        let own = own.canonicalize()?;
        let number = self.files_heard_of.fetch_add(1, Ordering::Relaxed);
        let last = own.join(number.to_string());
        let (sender, heard) = std::sync::mpsc::channel();
        let path = last.clone();
        let hear = move |event: notify::Result<Event>| {
            if event.is_ok_and(|event| event.paths.contains(&path)) {
                let _ = sender.send(());
            }
        };
        let root = Root {
            path: own,
            recursive: false,
        };
        let listening = self.listen(vec![root], hear)?;
        std::fs::write(&last, "")?;
        let caught_up = heard.recv_timeout(CATCHING_UP).is_ok();
        drop(listening);
        std::fs::remove_file(&last)?;
        Ok(caught_up)
    }

    fn add_root(&self, id: u64, root: &Root) {
        if let Some(listener) = lock(&self.listeners).get_mut(&id) {
            listener.roots.push(root.clone());
        }
    }

    fn drop_root(&self, id: u64, root: &Root) {
        if let Some(listener) = lock(&self.listeners).get_mut(&id) {
            listener.roots.retain(|known| known != root);
        }
    }

    /// Whoever listens below a path has to look again at everything.
    fn tell_to_look_again(&self, path: &Path) {
        let rescan = Event {
            kind: EventKind::Other,
            paths: vec![path.to_owned()],
            attrs: EventAttributes::default(),
        };
        let rescan = rescan.set_flag(Flag::Rescan);
        for listener in lock(&self.listeners).values() {
            if listener.roots.iter().any(|root| root.path == path) {
                (listener.hear)(Ok(rescan.clone()));
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut watching = lock(&self.hub.watching);
        let gone = lock(&self.hub.listeners).remove(&self.id);
        for root in gone.iter().flat_map(|listener| &listener.roots) {
            for again in watching.remove(root) {
                // Between the two, something may have happened there.
                self.hub.tell_to_look_again(&again);
            }
        }
        if watching.roots.is_empty() {
            watching.watcher = None;
        }
    }
}

impl Watching {
    fn add(&mut self, root: &Root) -> notify::Result<()> {
        let before = self.mode(&root.path);
        let count = self.roots.entry(root.path.clone()).or_default();
        count[usize::from(!root.recursive)] += 1;
        let now = self.mode(&root.path);
        if before == now || self.is_covered(&root.path) {
            return Ok(());
        }
        let watched = self.watch(&root.path);
        if watched.is_err() {
            self.uncount(root);
        }
        watched
    }

    /// Returns the roots below it whose watch had to be begun anew.
    fn remove(&mut self, root: &Root) -> Vec<PathBuf> {
        let before = self.mode(&root.path);
        self.uncount(root);
        let now = self.mode(&root.path);
        if before == now || self.is_covered(&root.path) {
            return Vec::new();
        }
        if let Some(watcher) = &mut self.watcher
            && let Err(error) = watcher.unwatch(&root.path)
        {
            // A directory that is gone is not watched any more.
            tracing::debug!(%error, path = %root.path.display(), "was not watched");
        }
        // The end of a watch ends those below it too.
        let below = self.roots.range(root.path.clone()..);
        let below = below.take_while(|(path, _)| path.starts_with(&root.path));
        let below: Vec<PathBuf> = below.map(|(path, _)| path.clone()).collect();
        let mut again = Vec::new();
        for path in below {
            if !self.is_covered(&path) {
                if let Err(error) = self.watch(&path) {
                    tracing::warn!(%error, path = %path.display(), "is no longer watched");
                }
                again.push(path);
            }
        }
        again
    }

    fn uncount(&mut self, root: &Root) {
        if let Some(count) = self.roots.get_mut(&root.path) {
            let of_kind = &mut count[usize::from(!root.recursive)];
            *of_kind = of_kind.saturating_sub(1);
            if *count == [0, 0] {
                self.roots.remove(&root.path);
            }
        }
    }

    fn mode(&self, path: &Path) -> Option<RecursiveMode> {
        self.roots.get(path).map(|[all, _]| match all {
            0 => RecursiveMode::NonRecursive,
            _ => RecursiveMode::Recursive,
        })
    }

    /// Whether a root above is watched with all that is below it.
    fn is_covered(&self, path: &Path) -> bool {
        let mut above = path.ancestors().skip(1);
        above.any(|above| self.mode(above) == Some(RecursiveMode::Recursive))
    }

    fn watch(&mut self, path: &Path) -> notify::Result<()> {
        match (self.mode(path), &mut self.watcher) {
            (Some(mode), Some(watcher)) => watcher.watch(path, mode),
            _ => Ok(()),
        }
    }
}

/// Changes only: that somebody looks at something is told to nobody.
fn pass_on(listeners: &Mutex<BTreeMap<u64, Listener>>, event: notify::Result<Event>) {
    let listeners = lock(listeners);
    match event {
        // Whose it was is not known.
        Err(error) => {
            for listener in listeners.values() {
                let error = notify::Error::generic(&error.to_string());
                (listener.hear)(Err(error));
            }
        }
        // Whoever looks after a change opens files, and many may look.
        Ok(event) if event.kind.is_access() && !event.need_rescan() => {}
        Ok(event) => {
            let everywhere = event.need_rescan();
            for listener in listeners.values() {
                let covered = |path: &PathBuf| listener.roots.iter().any(|it| it.covers(path));
                if everywhere || event.paths.iter().any(covered) {
                    (listener.hear)(Ok(event.clone()));
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use super::*;

    fn listen(hub: &Hub, path: &Path, recursive: bool) -> (Listening, Receiver<PathBuf>) {
        let (sender, heard) = channel();
        let root = Root {
            path: path.to_owned(),
            recursive,
        };
        let hear = move |event: notify::Result<Event>| {
            for path in event.map(|event| event.paths).unwrap_or_default() {
                let _ = sender.send(path);
            }
        };
        (hub.listen(vec![root], hear).unwrap(), heard)
    }

    /// Whether somebody hears of a new file.
    fn hears(heard: &Receiver<PathBuf>, file: &Path) -> bool {
        std::fs::write(file, "x").unwrap();
        let patience = Duration::from_secs(20);
        std::iter::from_fn(|| heard.recv_timeout(patience).ok()).any(|path| path == file)
    }

    #[test]
    fn many_listen_with_one_watcher() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let hub = Hub::default();
        let all: Vec<_> = (0..300)
            .map(|number| {
                let own = root.join(number.to_string());
                std::fs::create_dir(&own).unwrap();
                let (listening, heard) = listen(&hub, &own, true);
                (own, listening, heard)
            })
            .collect();
        for (own, _, heard) in &all {
            assert!(hears(heard, &own.join("file")));
        }
        let (first, _, _) = &all[0];
        let others = all.iter().skip(1);
        for (_, _, heard) in others {
            assert!(heard.try_iter().all(|path| !path.starts_with(first)));
        }
        drop(all);
        assert!(lock(&hub.watching).watcher.is_none(), "nothing is left");
    }

    #[test]
    fn nobody_is_told_that_somebody_looks() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let read = root.join("read");
        std::fs::write(&read, "x").unwrap();
        let hub = Hub::default();
        let (_listening, heard) = listen(&hub, &root, true);
        std::fs::read(&read).unwrap();
        std::fs::read_dir(&root).unwrap().for_each(drop);
        // What is written later is told later.
        let written = root.join("written");
        std::fs::write(&written, "x").unwrap();
        let patience = Duration::from_secs(20);
        assert_eq!(heard.recv_timeout(patience), Ok(written));
    }

    #[test]
    fn whoever_leaves_takes_nothing_from_those_below() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let below = root.join("a/b");
        std::fs::create_dir_all(&below).unwrap();
        let hub = Hub::default();
        let (above, _) = listen(&hub, &root, true);
        let (_kept, heard) = listen(&hub, &below, true);
        assert!(hears(&heard, &below.join("1")));
        drop(above);
        assert!(hears(&heard, &below.join("2")));
    }

    #[test]
    fn whoever_leaves_takes_nothing_from_those_above() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let below = root.join("a");
        std::fs::create_dir_all(&below).unwrap();
        let hub = Hub::default();
        for recursive in [true, false] {
            let (_kept, heard) = listen(&hub, &root, true);
            let (leaves, _) = listen(&hub, &below, recursive);
            drop(leaves);
            assert!(hears(&heard, &below.join(format!("{recursive}"))));
        }
        // Also if that one came first.
        let (leaves, _) = listen(&hub, &below, false);
        let (_kept, heard) = listen(&hub, &root, true);
        drop(leaves);
        assert!(hears(&heard, &below.join("last")));
    }

    #[test]
    fn a_directory_that_is_not_there_is_an_error_and_leaves_nothing() {
        let hub = Hub::default();
        let root = Root {
            path: PathBuf::from("/nowhere/at/all"),
            recursive: true,
        };
        assert!(hub.listen(vec![root], |_| {}).is_err());
        assert!(lock(&hub.watching).roots.is_empty());
        assert!(lock(&hub.watching).watcher.is_none());
    }

    #[test]
    fn what_happens_in_a_new_directory_is_told_once_that_was_caught_up_with() {
        let (hub, directory) = (Hub::default(), tempfile::tempdir().unwrap());
        let top = directory.path().canonicalize().unwrap();
        let (new, inside) = (top.join("new"), top.join("new/inside"));
        let (sender, heard) = channel();
        let (at, new_one) = (top.clone(), new.clone());
        let hear = move |event: notify::Result<Event>| {
            let paths = event.map(|event| event.paths).unwrap_or_default();
            // The watcher passes on all that there is before it watches anything
            // new: this keeps it busy.
            if paths.contains(&new_one) {
                for other in 0..200 {
                    std::fs::write(at.join(other.to_string()), "").unwrap();
                }
            }
            for path in paths {
                let _ = sender.send(path);
            }
        };
        let root = Root {
            path: top,
            recursive: true,
        };
        let _listening = hub.listen(vec![root], hear).unwrap();
        std::fs::create_dir(&new).unwrap();
        let mut heard = std::iter::from_fn(|| heard.recv_timeout(Duration::from_secs(20)).ok());
        assert!(heard.any(|path| path == new));
        hub.catch_up_with_directories();
        std::fs::write(&inside, "").unwrap();
        assert!(heard.any(|path| path == inside));
    }
}
