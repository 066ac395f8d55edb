//! Watches: what changes below a directory, in batches.
//!
//! Each watch listens to the host's watcher, with a thread that collects what it
//! says: a burst becomes one batch, and a file that changed twice in it is in
//! it once (`batch`). What the system lost, because its queue was full, is
//! reported as such; it is never passed over in silence.

mod batch;
mod filter;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

type Events = Receiver<notify::Result<Event>>;

/// All watches of a host.
#[derive(Clone)]
pub struct WatchService {
    hub: Hub,
    sink: WatchSink,
    open: Arc<Mutex<HashMap<WatchId, Open>>>,
}

enum Open {
    /// On its way; it may be closed before it is there.
    Opening,
    Running(#[expect(dead_code, reason = "held for as long as the watch lives")] Listening),
}

impl std::fmt::Debug for WatchService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchService").finish_non_exhaustive()
    }
}

/// What is watched, by the names of this machine and by those of the client.
struct Watched {
    /// Without links.
    real: PathBuf,
    /// As the client calls it.
    named: PathBuf,
    recursive: bool,
    filter: Filter,
}

impl WatchService {
    pub fn new(hub: Hub, sink: WatchSink) -> Self {
        Self {
            hub,
            sink,
            open: Arc::default(),
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
        match self.begin(open) {
            Err(error) => {
                self.lock().remove(&watch);
                self.report(watch, WatchEvent::OpenFailed(error));
            }
            Ok((watched, listening, events)) => {
                let mut open = self.lock();
                if !open.contains_key(&watch) {
                    // What it listens with is dropped when the lock is not held.
                    drop(open);
                    return;
                }
                open.insert(watch, Open::Running(listening));
                drop(open);
                self.report(watch, WatchEvent::Opened);
                self.follow(watch, &watched, &events);
            }
        }
    }

    /// Collects until the watcher is gone.
    fn follow(&self, watch: WatchId, watched: &Watched, events: &Events) {
        while let Ok(first) = events.recv() {
            let mut batch = Batch::default();
            batch.add(watched, first);
            let until = Instant::now() + LONGEST;
            loop {
                let left = until.saturating_duration_since(Instant::now());
                match events.recv_timeout(QUIET.min(left)) {
                    Ok(event) => batch.add(watched, event),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
                }
                if left.is_zero() {
                    break;
                }
            }
            if let Some(event) = batch.finish(watched)
                && !self.report(watch, event)
            {
                return;
            }
        }
    }

    fn begin(&self, open: &OpenWatch) -> Result<(Watched, Listening, Events), ResourceError> {
        let real = at_place(
            &open.scope,
            &open.uri,
            false,
            |place| Ok(place.real_path()?),
        )?;
        let watched = Watched {
            named: path_of_uri(&open.uri)?,
            recursive: open.recursive,
            filter: Filter::new(&open.includes, &open.excludes)?,
            real,
        };
        let root = match watched.real.is_dir() {
            true => Root {
                path: watched.real.clone(),
                recursive: open.recursive,
            },
            // Many programs replace a file when they save it: only its
            // directory sees that.
            false => Root {
                path: watched.real.parent().unwrap_or(Path::new("/")).to_owned(),
                recursive: false,
            },
        };
        let (sender, events): (Sender<notify::Result<Event>>, _) = channel();
        let hear = move |event| {
            // Nobody listens any more: the watch is just being closed.
            let _ = sender.send(event);
        };
        let listening = self.hub.listen(vec![root], hear);
        let failed = |error: notify::Error| ResourceError::Failed {
            uri: open.uri.clone(),
            reason: format!("it cannot be watched: {error}"),
        };
        Ok((watched, listening.map_err(failed)?, events))
    }

    fn report(&self, watch: WatchId, event: WatchEvent) -> bool {
        (self.sink)(WatchReport { watch, event })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WatchId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
