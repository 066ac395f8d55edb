//! The worker of one session: a thread that keeps (`keeping`), compares
//! (`views`) and restores (`operating`), one thing after the other, and follows
//! what changes while somebody looks. Here is what it is told, and when it does
//! what.

mod keeping;
mod operating;
mod views;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::workspace::changes::{
    ChangesError, ChangesEvent, ChangesTask, Compared, Moment, ViewId,
};

use super::git::{GitError, StandIns};
use super::place::{Place, Watch, nowhere};
use super::trees::Counts;
use crate::hub::Hub;
use crate::resources::place::path_of_uri;
pub(super) use keeping::Neighbours;
use views::View;

/// Changes are collected until nothing has happened for this long,
const QUIET: Duration = Duration::from_millis(3);

/// or for this long at most.
const LONGEST: Duration = Duration::from_millis(100);

/// A worker that nobody needs for this long goes; another one comes when
/// there is work again.
const IDLE: Duration = Duration::from_secs(30);

/// How often somebody looks where the system does not tell.
const POLL: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) enum Job {
    Task(ChangesTask),
    /// Something happened in one of the places.
    Heard(usize, notify::Result<notify::Event>),
    /// Say when everything before is done.
    Finish(Sender<()>),
    /// Nobody works in these working trees any more.
    RemoveTrees {
        trees: Vec<PathBuf>,
        others: Neighbours,
    },
}

/// Where reports go. Returns whether anybody is still there to hear.
pub(super) type Tell = Box<dyn Fn(ChangesEvent) -> bool + Send>;

pub(super) struct Worker {
    session: ChannelUri,
    jobs: Receiver<Job>,
    /// For the watcher.
    own: Sender<Job>,
    hub: Hub,
    tell: Tell,
    waiting: VecDeque<Job>,
    /// When the oldest change was heard of that was not looked at yet.
    dirty_since: Option<Instant>,
    observed: bool,
    directories: Vec<PathBuf>,
    paths: Paths,
    /// The directories, once they were looked at; or why nothing can be told.
    places: Vec<Place>,
    failure: Option<String>,
    views: BTreeMap<ViewId, View>,
    counts: Option<Counts>,
}

/// Where a session's own files are.
#[derive(Debug)]
pub(super) struct Paths {
    /// Of all sessions.
    pub(super) root: PathBuf,
    pub(super) own: PathBuf,
    /// Its own working tree, if it has one: never within the other, which
    /// goes as a whole.
    pub(super) worktree: PathBuf,
    pub(super) stand_ins: Arc<StandIns>,
    /// Where files are written to hear of them.
    pub(super) heard: PathBuf,
}

/// What a worker does next.
enum Next {
    Do(Job),
    Settle,
    End,
}

impl Worker {
    pub(super) fn new(
        session: ChannelUri,
        directories: Vec<PathBuf>,
        paths: Paths,
        hub: Hub,
        (own, jobs): (Sender<Job>, Receiver<Job>),
        tell: Tell,
    ) -> Self {
        Self {
            session,
            directories,
            paths,
            hub,
            jobs,
            own,
            tell,
            failure: None,
            waiting: VecDeque::new(),
            dirty_since: None,
            observed: false,
            places: Vec::new(),
            views: BTreeMap::new(),
            counts: None,
        }
    }

    /// Works until there is nothing to do. `end` says whether that is so, or
    /// what there is to do after all.
    pub(super) fn run(mut self, end: impl Fn(&Receiver<Job>) -> Option<Job>) {
        self.find();
        loop {
            match self.next() {
                Next::End => match end(&self.jobs) {
                    Some(job) => self.waiting.push_back(job),
                    None => return,
                },
                Next::Settle => self.settle(),
                Next::Do(Job::Heard(place, event)) => self.hear(place, event),
                Next::Do(Job::Task(task)) => self.task(task),
                Next::Do(Job::Finish(done)) => {
                    let _ = done.send(());
                }
                Next::Do(Job::RemoveTrees { trees, others }) => self.remove_trees(&trees, &others),
            }
        }
    }

    fn find(&mut self) {
        self.places.clear();
        self.failure = None;
        let mut failure = None;
        for directory in outermost(&self.directories) {
            match Place::find(
                &self.session,
                directory,
                &self.paths.own,
                &self.paths.stand_ins,
            ) {
                Ok(place) => self.places.push(place),
                Err(error) => {
                    tracing::debug!(session = %self.session, %error, "no changes can be told");
                    failure.get_or_insert(error.to_string());
                }
            }
        }
        if self.places.is_empty() {
            self.failure = failure.or_else(|| Some(nowhere().to_string()));
        }
    }

    fn next(&mut self) -> Next {
        if let Some(job) = self.waiting.pop_front() {
            return Next::Do(job);
        }
        let looked_at = self.observed || !self.views.is_empty();
        let unheard = |place: &Place| matches!(place.watch, Watch::Impossible);
        let polls = looked_at && self.places.iter().any(unheard);
        let patience = match self.dirty_since {
            Some(since) => match LONGEST.checked_sub(since.elapsed()) {
                Some(left) => QUIET.min(left),
                None => return Next::Settle,
            },
            None if polls => POLL,
            None => IDLE,
        };
        match self.jobs.recv_timeout(patience) {
            Ok(job) => Next::Do(job),
            Err(RecvTimeoutError::Timeout) if self.dirty_since.is_some() => Next::Settle,
            Err(RecvTimeoutError::Timeout) if polls => {
                let unheard = self.places.iter_mut().filter(|place| unheard(place));
                unheard.for_each(|place| place.dirt.everything = true);
                Next::Settle
            }
            Err(RecvTimeoutError::Timeout) if looked_at => match self.jobs.recv() {
                Ok(job) => Next::Do(job),
                Err(_) => Next::End,
            },
            Err(_) => Next::End,
        }
    }

    fn task(&mut self, task: ChangesTask) {
        match task {
            ChangesTask::Open { directories } => self.open(&directories),
            ChangesTask::Close => self.leave(),
            ChangesTask::Isolate { branch, .. } => {
                let made = self.isolate(branch.as_deref());
                let made = made.map_err(|error| error.to_string());
                (self.tell)(ChangesEvent::Isolated(made));
            }
            ChangesTask::Inherit {
                from,
                directories,
                turns,
            } => {
                self.inherit(&from, &directories, &turns);
                (self.tell)(ChangesEvent::Inherited);
            }
            ChangesTask::Forget { .. } => {
                self.leave();
                self.forget();
            }
            ChangesTask::Observe(observed) => {
                self.observed = observed;
                if observed {
                    self.look_at_everything();
                }
                self.watch_if_needed();
            }
            ChangesTask::MarkLate { turn } => self.mark_late(&turn),
            ChangesTask::Checkpoint(at) => {
                let failure = self.checkpoint(&at).err().map(|error| error.to_string());
                if let Some(reason) = &failure {
                    tracing::debug!(session = %self.session, reason, "no checkpoint");
                }
                let is_end = matches!(at, Moment::AfterTurn(_));
                let kept = failure.is_none();
                (self.tell)(ChangesEvent::Checkpointed { at, failure });
                if is_end {
                    self.count(kept);
                }
            }
            ChangesTask::OpenView { view, compared } => {
                self.views.insert(view, View::new(compared));
                self.open_view(view);
                self.watch_if_needed();
            }
            ChangesTask::CloseView { view } => {
                self.views.remove(&view);
                self.watch_if_needed();
            }
            ChangesTask::Operate { operation, what } => self.operate(operation, what),
        }
    }

    fn open(&mut self, directories: &[String]) {
        let paths = directories.iter().filter_map(|uri| path_of_uri(uri).ok());
        let paths: Vec<PathBuf> = paths.collect();
        if paths != self.directories {
            self.directories = paths;
            self.find();
        }
        let undo = self.can_undo();
        (self.tell)(match self.failure.clone() {
            None => ChangesEvent::Found {
                git: self.git_place().is_some(),
                undo,
            },
            Some(reason) => ChangesEvent::Unavailable { reason },
        });
        // Those that were open before are about other directories.
        for view in self.views.keys().copied().collect::<Vec<_>>() {
            self.open_view(view);
        }
        self.watch_if_needed();
    }

    /// The place whose repository stands for the session.
    fn git_place(&self) -> Option<usize> {
        let mut places = self.places.iter();
        places.position(|place| !place.repository.is_shadow)
    }

    /// Nobody looks any more.
    fn leave(&mut self) {
        self.observed = false;
        self.views.clear();
        self.watch_if_needed();
    }
}

/// Directories without those that are within another one: what changes there
/// is told with that.
fn outermost(directories: &[PathBuf]) -> Vec<&PathBuf> {
    let within = |inner: &Path, at: usize| {
        let mut others = directories.iter().enumerate();
        others.any(|(other_at, other)| match inner == other {
            true => other_at < at,
            false => inner.starts_with(other),
        })
    };
    let all = directories.iter().enumerate();
    let outermost = all.filter(|(at, directory)| !within(directory, *at));
    outermost.map(|(_, directory)| directory).collect()
}

fn nothing_kept(compared: &Compared) -> GitError {
    GitError::Known(match compared {
        Compared::Uncommitted | Compared::Branch => ChangesError::NoRepository,
        Compared::Session | Compared::Turn(_) | Compared::Turns { .. } => ChangesError::NotKept,
    })
}
