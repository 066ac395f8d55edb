//! Changes in the directories of sessions: what differs from the last commit,
//! from the beginning of a session or of a turn, and what can be done about
//! it.
//!
//! Inside a git repository, states are kept as commits below
//! `refs/innkeeper/`; the user's branches, index, stash and hooks are left
//! alone. A directory that is in no repository gets one of ours, in the host's
//! own data directory. Each session has a worker, a thread that comes when
//! there is work and goes when there is none (`worker`).

mod blobs;
mod checkpoint;
mod entries;
mod git;
mod lines;
mod live;
mod operations;
mod status;
mod trees;
mod watcher;
mod worker;
mod worktree;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::commands::SessionConfigValueItem;
use innkeeper_protocol::workspace::changes::{
    ChangesCommand, ChangesEvent, ChangesReport, ChangesTask,
};
use innkeeper_protocol::workspace::resource::{ResourceDone, ResourceError};

use crate::resources::place::path_of_uri;
use blobs::Blobs;
use checkpoint::home_of;
use git::Repository;
use worker::{Homes, Job, Worker};

/// How many branches are proposed at once.
const MOST_BRANCHES: usize = 100;

/// Where reports go. Returns whether anybody is still there to hear.
pub type ChangesSink = Arc<dyn Fn(ChangesReport) -> bool + Send + Sync>;

/// The changes of all sessions of a host.
#[derive(Clone)]
pub struct Changes {
    sink: ChangesSink,
    /// The host's own directory for this.
    root: PathBuf,
    sessions: Arc<Mutex<HashMap<ChannelUri, Open>>>,
}

struct Open {
    directory: PathBuf,
    /// To the session's worker, while it has one.
    worker: Option<Sender<Job>>,
}

impl std::fmt::Debug for Changes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Changes").finish_non_exhaustive()
    }
}

impl Changes {
    pub fn new(root: PathBuf, sink: ChangesSink) -> Self {
        Self {
            sink,
            root,
            sessions: Arc::default(),
        }
    }

    /// Carries out a command. Returns at once.
    pub fn command(&self, command: ChangesCommand) {
        let ChangesCommand { session, task } = command;
        let mut sessions = self.lock();
        if let ChangesTask::Open { directory }
        | ChangesTask::Isolate { directory, .. }
        | ChangesTask::Forget { directory, .. } = &task
        {
            let Ok(directory) = path_of_uri(directory) else {
                let reason = "the directory is not on this machine".to_owned();
                let event = match task {
                    ChangesTask::Isolate { .. } => ChangesEvent::Isolated(Err(reason)),
                    _ => ChangesEvent::Unavailable { reason },
                };
                let (sink, report) = (Arc::clone(&self.sink), ChangesReport { session, event });
                // The sink may wait for whoever called this.
                self.spawn("changes", move || {
                    sink(report);
                });
                return;
            };
            let worker = None;
            let known = sessions.entry(session.clone());
            let new = || Open {
                directory: directory.clone(),
                worker,
            };
            known.or_insert_with(new).directory = directory.clone();
        }
        let Some(open) = sessions.get_mut(&session) else {
            return;
        };
        let closes = matches!(task, ChangesTask::Close);
        let job = Job::Task(task);
        let unsent = match &open.worker {
            Some(worker) => worker.send(job).err().map(|unsent| unsent.0),
            None if closes => None,
            None => Some(job),
        };
        if let Some(job) = unsent {
            let worker = self.start(&session, open.directory.clone());
            // It lives until it has nothing to do.
            let _ = worker.send(job);
            open.worker = Some(worker);
        } else if open.worker.is_none() {
            sessions.remove(&session);
        }
    }

    /// Waits until everything that was asked for so far is done, or for as long
    /// as there is patience.
    pub fn finish(&self, patience: Duration) {
        let (sender, done) = channel();
        let open = self.lock();
        let workers = open.values().filter_map(|open| open.worker.as_ref());
        let workers = workers.filter(|worker| worker.send(Job::Finish(sender.clone())).is_ok());
        let workers = workers.count();
        drop(open);
        let deadline = Instant::now() + patience;
        for _ in 0..workers {
            let left = deadline.saturating_duration_since(Instant::now());
            if done.recv_timeout(left).is_err() {
                tracing::warn!("a checkpoint is not finished");
                return;
            }
        }
    }

    /// Content that was kept.
    pub fn read(
        &self,
        directory: &str,
        session: &ChannelUri,
        id: &str,
        most: usize,
    ) -> Result<ResourceDone, ResourceError> {
        let uri = || innkeeper_protocol::workspace::changes::blob_uri(session, id);
        let failed = |error: git::GitError| ResourceError::Failed {
            uri: uri(),
            reason: error.to_string(),
        };
        let directory = path_of_uri(directory)?;
        let home = home_of(&self.root, session);
        let found = Repository::find(&directory, home.join("index")).map_err(failed)?;
        let repository = match found {
            Some(repository) => repository,
            None => Repository::shadow(&directory, &home).map_err(failed)?,
        };
        let mut blobs = Blobs::new(&repository).map_err(failed)?;
        let Some(size) = blobs.size(id).map_err(failed)? else {
            return Err(ResourceError::NotFound { uri: uri() });
        };
        if usize::try_from(size).map_or(true, |size| size > most) {
            return Err(ResourceError::Invalid(format!(
                "`{}` has more than {most} bytes, the most that goes over the wire at once; raise \
                 limits.resource_bytes",
                uri()
            )));
        }
        let data = blobs.read(id).map_err(failed)?.unwrap_or_default();
        let content_type = crate::resources::kind::content_type(Path::new(""), Some(&data));
        Ok(ResourceDone::Content {
            content_type: Some(content_type.to_owned()),
            data: Bytes::from(data),
        })
    }

    /// The branches of the repository that a directory is in, as values of a
    /// setting: the latest first.
    pub fn branches(&self, directory: &str, query: &str) -> Vec<SessionConfigValueItem> {
        let Ok(directory) = path_of_uri(directory) else {
            return Vec::new();
        };
        let names = worktree::branches(&directory).unwrap_or_default();
        let wanted = query.to_lowercase();
        let names = names.into_iter();
        let names = names.filter(|name| name.to_lowercase().contains(&wanted));
        let items = names
            .take(MOST_BRANCHES)
            .map(|name| SessionConfigValueItem {
                label: name.clone(),
                value: name,
                description: None,
            });
        items.collect()
    }

    fn start(&self, session: &ChannelUri, directory: PathBuf) -> Sender<Job> {
        let (sender, jobs) = channel();
        let (sink, name) = (Arc::clone(&self.sink), session.clone());
        let tell = move |event| {
            let session = name.clone();
            sink(ChangesReport { session, event })
        };
        let worker = Worker::new(
            session.clone(),
            directory,
            Homes {
                own: home_of(&self.root, session),
                worktree: home_of(&self.root.with_file_name("worktrees"), session),
            },
            (sender.clone(), jobs),
            Box::new(tell),
        );
        let (this, session) = (self.clone(), session.clone());
        self.spawn("changes", move || {
            worker.run(|jobs| this.end(&session, jobs));
        });
        sender
    }

    /// A worker ends when nobody has given it something to do meanwhile.
    fn end(&self, session: &ChannelUri, jobs: &Receiver<Job>) -> Option<Job> {
        let mut sessions = self.lock();
        let job = jobs.try_recv().ok();
        if job.is_none()
            && let Some(open) = sessions.get_mut(session)
        {
            open.worker = None;
        }
        job
    }

    fn spawn(&self, name: &str, run: impl FnOnce() + Send + 'static) {
        let thread = std::thread::Builder::new().name(name.to_owned());
        if let Err(error) = thread.spawn(run) {
            tracing::error!(%error, "a thread cannot be started");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ChannelUri, Open>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
