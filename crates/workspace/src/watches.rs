//! Watches: what changes below a directory, in batches.
//!
//! Watches of the same directory with the same patterns are a *group*: it
//! listens to the host's watcher, with a thread that collects what it says. A
//! burst becomes one batch, and a file that changed twice in it is in it once
//! (`batch`); what comes of it is told to every watch of the group. What the system lost, because its queue was full, is
//! reported as such; it is never passed over in silence.

mod batch;
mod filter;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use innkeeper_protocol::workspace::resource::ResourceError;
use innkeeper_protocol::workspace::watch::{
    OpenWatch, WatchCommand, WatchEvent, WatchId, WatchReport,
};
use notify::Event;

use crate::hub::{Hub, Listening, Root};
use crate::resources::at_place;
use crate::resources::place::path_of_uri;
use batch::Batch;
use filter::Filter;

/// A batch ends when nothing has happened for this long,
const QUIET: Duration = Duration::from_millis(25);

/// or when it has been collected for this long.
const LONGEST: Duration = Duration::from_millis(250);

/// Where reports go. Returns whether anybody is still there to hear.
pub type WatchSink = Arc<dyn Fn(WatchReport) -> bool + Send + Sync>;

/// All watches of a host.
#[derive(Clone)]
pub struct WatchService {
    hub: Hub,
    sink: WatchSink,
    open: Arc<Mutex<HashMap<WatchId, Open>>>,
    /// By what they watch. A group lives as long as one of its watches.
    groups: Arc<Mutex<HashMap<Watched, Weak<Group>>>>,
}

enum Open {
    /// On its way; it may be closed before it is there.
    Opening,
    Running(#[expect(dead_code, reason = "held for as long as the watch lives")] Arc<Group>),
}

struct Group {
    heard: Sender<Heard>,
    _listening: Listening,
}

/// What a group's thread is told.
enum Heard {
    Happened(notify::Result<Event>),
    /// From here on, this watch is told too.
    Joined(WatchId),
}

type Events = Receiver<Heard>;

impl std::fmt::Debug for WatchService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchService").finish_non_exhaustive()
    }
}

/// What is watched, by the names of this machine and by those of the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Watched {
    /// Without links.
    real: PathBuf,
    /// As the client calls it.
    named: PathBuf,
    recursive: bool,
    includes: Vec<String>,
    excludes: Vec<String>,
}

/// What the thread of a group works with.
struct Follower {
    watched: Watched,
    filter: Filter,
    events: Events,
}

impl WatchService {
    pub fn new(hub: Hub, sink: WatchSink) -> Self {
        Self {
            hub,
            sink,
            open: Arc::default(),
            groups: Arc::default(),
        }
    }

    /// Carries out a command. Returns at once: a large tree takes a while.
    pub fn command(&self, command: WatchCommand) {
        match command {
            WatchCommand::Open { watch, open } => {
                self.lock().insert(watch, Open::Opening);
                let this = self.clone();
                let run = move || this.run(watch, &open);
                let thread = std::thread::Builder::new().name("watch".to_owned());
                if let Err(error) = thread.spawn(run) {
                    tracing::error!(%error, "a thread cannot be started");
                }
            }
            WatchCommand::Close { watch } => {
                // Dropped when the lock is not held.
                let closed = self.lock().remove(&watch);
                drop(closed);
            }
        }
    }

    /// How many watches there are.
    pub fn running(&self) -> usize {
        self.lock().len()
    }

    fn run(&self, watch: WatchId, open: &OpenWatch) {
        let (group, follower) = match self.join(open) {
            Ok(joined) => joined,
            Err(error) => {
                self.lock().remove(&watch);
                self.report(watch, WatchEvent::OpenFailed(error));
                return;
            }
        };
        let mut all = self.lock();
        if let Some(open) = all.get_mut(&watch) {
            *open = Open::Running(Arc::clone(&group));
            // The group's thread tells everything, so that it is told in order.
            let _ = group.heard.send(Heard::Joined(watch));
        }
        drop(all);
        // Dropped when the lock is not held: it may have been the last.
        drop(group);
        if let Some(follower) = follower {
            self.follow(&follower);
        }
    }

    /// The group that watches this, and what follows it if it is new.
    fn join(&self, open: &OpenWatch) -> Result<(Arc<Group>, Option<Follower>), ResourceError> {
        let real = at_place(
            &open.scope,
            &open.uri,
            false,
            |place| Ok(place.real_path()?),
        )?;
        let watched = Watched {
            named: path_of_uri(&open.uri)?,
            recursive: open.recursive,
            includes: open.includes.clone(),
            excludes: open.excludes.clone(),
            real,
        };
        let filter = Filter::new(&open.includes, &open.excludes)?;
        // Held while a new group begins: others may want the same.
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = groups.get(&watched).and_then(Weak::upgrade) {
            return Ok((group, None));
        }
        let (heard, events) = channel();
        let failed = |error: notify::Error| ResourceError::Failed {
            uri: open.uri.clone(),
            reason: format!("it cannot be watched: {error}"),
        };
        let listening = self.listen(&watched, heard.clone()).map_err(failed)?;
        let group = Arc::new(Group {
            heard,
            _listening: listening,
        });
        groups.retain(|_, group| group.strong_count() > 0);
        groups.insert(watched.clone(), Arc::downgrade(&group));
        let follower = Follower {
            watched,
            filter,
            events,
        };
        Ok((group, Some(follower)))
    }

    fn listen(&self, watched: &Watched, heard: Sender<Heard>) -> notify::Result<Listening> {
        let root = match watched.real.is_dir() {
            true => Root {
                path: watched.real.clone(),
                recursive: watched.recursive,
            },
            // Many programs replace a file when they save it: only its
            // directory sees that.
            false => Root {
                path: watched.real.parent().unwrap_or(Path::new("/")).to_owned(),
                recursive: false,
            },
        };
        let hear = move |event| {
            // Nobody listens any more: the last watch is just being closed.
            let _ = heard.send(Heard::Happened(event));
        };
        self.hub.listen(vec![root], hear)
    }

    /// Collects until the group is gone.
    fn follow(&self, follower: &Follower) {
        let mut members = Vec::new();
        while let Ok(first) = follower.events.recv() {
            let mut batch = Batch::default();
            self.hear(follower, &mut batch, &mut members, first);
            let until = Instant::now() + LONGEST;
            while !batch.is_empty() {
                let left = until.saturating_duration_since(Instant::now());
                match follower.events.recv_timeout(QUIET.min(left)) {
                    Ok(heard) => self.hear(follower, &mut batch, &mut members, heard),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                }
                if left.is_zero() {
                    break;
                }
            }
            if follower.watched.recursive && batch.has_new() {
                self.hub.catch_up_with_directories();
            }
            let Some(event) = batch.finish(follower) else {
                continue;
            };
            let open = self.lock();
            members.retain(|watch| open.contains_key(watch));
            drop(open);
            for watch in &members {
                if !self.report(*watch, event.clone()) {
                    return;
                }
            }
        }
    }

    fn hear(
        &self,
        follower: &Follower,
        batch: &mut Batch,
        members: &mut Vec<WatchId>,
        heard: Heard,
    ) {
        match heard {
            Heard::Happened(event) => batch.add(follower, event),
            Heard::Joined(watch) => {
                self.report(watch, WatchEvent::Opened);
                members.push(watch);
            }
        }
    }

    fn report(&self, watch: WatchId, event: WatchEvent) -> bool {
        (self.sink)(WatchReport { watch, event })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WatchId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
