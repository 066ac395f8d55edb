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
mod branch;
mod checkpoint;
mod entries;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod git;
mod leftovers;
mod live;
mod operations;
mod place;
mod pull_request;
mod push;
mod status;
mod trees;
mod watcher;
mod worker;
mod worktree;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::commands::SessionConfigValueItem;
use innkeeper_protocol::workspace::changes::{
    ChangesCommand, ChangesEvent, ChangesReport, ChangesTask,
};
use innkeeper_protocol::workspace::resource::{ResourceDone, ResourceError};

use crate::hub::Hub;
use crate::pool::Pool;
use crate::resources::place::path_of_uri;
use blobs::Blobs;
use checkpoint::{home_of, own_index};
pub(crate) use git::check_ignore_files;
pub use git::{LEAST_GIT, judge_git};
use git::{Repository, StandIns};
pub use leftovers::{kept_in, trees_in};
use place::home_in;
use worker::{Abandoned, Job, Paths, Post, Worker};

/// How many branches are proposed at once.
const MOST_BRANCHES: usize = 100;

/// Where stand-ins for repositories are. No session is called like that: their
/// names have a colon in them.
const REPOSITORIES: &str = "repositories";

/// Where files are written to hear of them. Likewise not the name of a session.
const HEARD: &str = "heard";

/// Where reports go. Returns whether anybody is still there to hear.
pub type ChangesSink = Arc<dyn Fn(ChangesReport) -> bool + Send + Sync>;

/// The changes of all sessions of a host.
#[derive(Clone)]
pub struct ChangesService {
    sink: ChangesSink,
    /// The host's own directory for this.
    root: PathBuf,
    /// Where sessions' own working trees are.
    worktrees: PathBuf,
    sessions: Arc<Mutex<HashMap<ChannelUri, Open>>>,
    stand_ins: Arc<StandIns>,
    hub: Hub,
    pool: Pool,
}

struct Open {
    directories: Vec<PathBuf>,
    /// To the session's worker, while it has one.
    worker: Option<Post>,
}

impl std::fmt::Debug for ChangesService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangesService").finish_non_exhaustive()
    }
}

impl ChangesService {
    pub fn new(root: PathBuf, worktrees: PathBuf, hub: Hub, sink: ChangesSink) -> Self {
        let stand_ins = StandIns::new(root.join(REPOSITORIES));
        stand_ins.remove_earlier();
        // What a host that was killed has left there.
        let _ = std::fs::remove_dir_all(root.join(HEARD));
        Self {
            sink,
            root,
            worktrees,
            stand_ins: Arc::new(stand_ins),
            sessions: Arc::default(),
            hub,
            pool: Pool::new("changes"),
        }
    }

    /// Carries out a command. Returns at once.
    pub fn command(&self, command: ChangesCommand) {
        let ChangesCommand { session, task } = command;
        let mut sessions = self.lock();
        if let Some(directories) = directories_of(&task) {
            let paths = directories.iter().map(|uri| path_of_uri(uri));
            let paths: Vec<PathBuf> = paths.flatten().collect();
            if paths.is_empty() {
                let reason = "the directory is not on this machine".to_owned();
                let event = match task {
                    ChangesTask::Isolate { .. } => ChangesEvent::Isolated(Err(reason)),
                    _ => ChangesEvent::Unavailable { reason },
                };
                let (sink, report) = (Arc::clone(&self.sink), ChangesReport { session, event });
                // The sink may wait for whoever called this.
                self.pool.run(move || {
                    sink(report);
                });
                return;
            }
            let known = sessions.entry(session.clone());
            let new = || Open {
                directories: Vec::new(),
                worker: None,
            };
            known.or_insert_with(new).directories = paths;
        }
        let Some(open) = sessions.get_mut(&session) else {
            return;
        };
        let closes = matches!(task, ChangesTask::Close);
        let trees = match &task {
            ChangesTask::Forget { trees, .. } => self.paths_of_trees(trees),
            _ => Vec::new(),
        };
        let job = Job::Task(task);
        let unsent = match &open.worker {
            Some(worker) => worker.send(job).err(),
            None if closes => None,
            None => Some(job),
        };
        if let Some(job) = unsent {
            let worker = self.start(&session, open.directories.clone());
            // It lives until it has nothing to do.
            let _ = worker.send(job);
            open.worker = Some(worker);
        } else if open.worker.is_none() {
            sessions.remove(&session);
            return;
        }
        if !trees.is_empty() {
            self.abandon(&sessions, &session, trees);
        }
    }

    /// The working trees that there are, as `file:` URIs.
    pub fn trees(&self) -> Vec<String> {
        trees_in(&self.worktrees)
    }

    /// Removes working trees in which nobody works, but none with something in
    /// it that is nowhere else.
    pub fn remove_trees(&self, trees: &[String]) {
        let trees = self.paths_of_trees(trees);
        trees
            .iter()
            .for_each(|tree| worktree::remove_or_say_why(tree, &self.stand_ins));
    }

    /// Nothing but a working tree of our own is ever removed.
    fn paths_of_trees(&self, trees: &[String]) -> Vec<PathBuf> {
        let paths = trees.iter().filter_map(|uri| path_of_uri(uri).ok());
        let own = |path: &PathBuf| path.parent() == Some(&self.worktrees);
        paths.filter(own).collect()
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

    /// Content that was kept in one of a session's directories.
    pub fn read(
        &self,
        directories: &[String],
        session: &ChannelUri,
        id: &str,
        most: usize,
    ) -> Result<ResourceDone, ResourceError> {
        let uri = || innkeeper_protocol::workspace::changes::blob_uri(session, id, "");
        let failed = |error: git::GitError| ResourceError::Failed {
            uri: uri(),
            reason: error.to_string(),
        };
        for directory in directories {
            let directory = path_of_uri(directory)?;
            let data = match self.blob(&directory, session, id, most).map_err(failed)? {
                Blob::Elsewhere => continue,
                Blob::TooLarge => {
                    let uri = uri();
                    return Err(ResourceError::TooLarge { uri, most });
                }
                Blob::Here(data) => data,
            };
            let content_type = crate::resources::kind::content_type(Path::new(""), Some(&data));
            return Ok(ResourceDone::Content {
                content_type: Some(content_type.to_owned()),
                data: Bytes::from(data),
            });
        }
        Err(ResourceError::NotFound { uri: uri() })
    }

    fn blob(
        &self,
        directory: &Path,
        session: &ChannelUri,
        id: &str,
        most: usize,
    ) -> git::GitResult<Blob> {
        let home = home_in(&home_of(&self.root, session), directory);
        let index = own_index(&home);
        let repository = match Repository::find(directory, index.clone(), &self.stand_ins)? {
            Some(repository) => repository,
            None if !home.exists() => return Ok(Blob::Elsewhere),
            None => Repository::shadow(directory, &home, index)?,
        };
        let mut blobs = Blobs::new(&repository)?;
        let Some(size) = blobs.size(id)? else {
            return Ok(Blob::Elsewhere);
        };
        if usize::try_from(size).map_or(true, |size| size > most) {
            return Ok(Blob::TooLarge);
        }
        let data = blobs.read(id)?.unwrap_or_default();
        Ok(Blob::Here(data))
    }

    /// The branches of the repository that a directory is in, as values of a
    /// setting: the latest first.
    pub fn branches(&self, directory: &str, query: &str) -> Vec<SessionConfigValueItem> {
        let Ok(directory) = path_of_uri(directory) else {
            return Vec::new();
        };
        let names = worktree::branches(&directory, &self.stand_ins).unwrap_or_default();
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

    /// Removes trees once a session, and all who still have something to do in
    /// one of these trees, are done with what they have been told: what they
    /// keep in a repository is found by way of the tree.
    fn abandon(
        &self,
        sessions: &HashMap<ChannelUri, Open>,
        session: &ChannelUri,
        trees: Vec<PathBuf>,
    ) {
        let within = |open: &Open| {
            let mut directories = open.directories.iter();
            directories.any(|directory| trees.iter().any(|tree| directory.starts_with(tree)))
        };
        let concerned = sessions
            .iter()
            .filter(|(it, open)| *it == session || within(open));
        let workers: Vec<Post> = concerned
            .filter_map(|(_, open)| open.worker.clone())
            .collect();
        let abandoned = Abandoned::new(trees, &self.stand_ins, workers.len());
        for worker in workers {
            // One that is gone is done.
            if worker.send(Job::Left(Arc::clone(&abandoned))).is_err() {
                abandoned.leave();
            }
        }
    }

    fn start(&self, session: &ChannelUri, directories: Vec<PathBuf>) -> Post {
        let (sink, name) = (Arc::clone(&self.sink), session.clone());
        let tell = move |event| {
            let session = name.clone();
            sink(ChangesReport { session, event })
        };
        let sessions = Arc::downgrade(&self.sessions);
        let ending = session.clone();
        let end = move |jobs: &Receiver<Job>| {
            let sessions = sessions.upgrade()?;
            end(&mut lock(&sessions), &ending, jobs)
        };
        Worker::start(
            session.clone(),
            directories,
            Paths {
                root: self.root.clone(),
                own: home_of(&self.root, session),
                worktree: home_of(&self.worktrees, session),
                stand_ins: Arc::clone(&self.stand_ins),
                heard: self.root.join(HEARD),
            },
            (self.hub.clone(), &self.pool),
            Box::new(tell),
            Box::new(end),
        )
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ChannelUri, Open>> {
        lock(&self.sessions)
    }
}

fn lock(sessions: &Mutex<HashMap<ChannelUri, Open>>) -> MutexGuard<'_, HashMap<ChannelUri, Open>> {
    sessions.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker ends when nobody has given it something to do meanwhile.
fn end(
    sessions: &mut HashMap<ChannelUri, Open>,
    session: &ChannelUri,
    jobs: &Receiver<Job>,
) -> Option<Job> {
    let job = jobs.try_recv().ok();
    if job.is_none()
        && let Some(open) = sessions.get_mut(session)
    {
        open.worker = None;
    }
    job
}

/// Content, as far as one repository knows it.
enum Blob {
    Here(Vec<u8>),
    TooLarge,
    Elsewhere,
}

/// The directories that a task says the session works in.
fn directories_of(task: &ChangesTask) -> Option<&[String]> {
    match task {
        ChangesTask::Open { directories } | ChangesTask::Forget { directories, .. } => {
            Some(directories)
        }
        ChangesTask::Isolate { directory, .. } => Some(std::slice::from_ref(directory)),
        ChangesTask::Close
        | ChangesTask::Inherit { .. }
        | ChangesTask::Observe(_)
        | ChangesTask::Checkpoint(_)
        | ChangesTask::MarkLate { .. }
        | ChangesTask::OpenView { .. }
        | ChangesTask::CloseView { .. }
        | ChangesTask::Operate { .. }
        | ChangesTask::Cancel { .. } => None,
    }
}
