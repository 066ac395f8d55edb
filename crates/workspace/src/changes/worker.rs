//! The worker of one session: it keeps (`keeping`), compares (`views`) and
//! restores (`operating`), one thing after the other, and follows what changes
//! while somebody looks. It has a thread while it works ([`crate::pool`]). Here
//! is what it is told, and when it does what.

mod bringing;
mod keeping;
mod operating;
mod sending;
mod views;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::workspace::changes::{
    ChangesError, ChangesEvent, ChangesTask, Compared, Moment, Operation, OperationId, ViewId,
};

use super::git::{GitError, StandIns, Stop};
use super::place::{Place, Watch, nowhere};
use super::trees::Counts;
use crate::hub::Hub;
use crate::pool::{Actor, Bell, Pool, Rest, Seat};
use crate::resources::place::path_of_uri;
pub(super) use keeping::Abandoned;
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
    /// The session has left these working trees, once everything before is
    /// done.
    Left(Arc<Abandoned>),
    /// An operation that ran alongside the worker is over.
    Sent(OperationId, sending::Outcome),
}

/// Where reports go. Returns whether anybody is still there to hear.
pub(super) type Tell = Box<dyn Fn(ChangesEvent) -> bool + Send>;

/// Says whether there is nothing to do any more, or what there is to do.
pub(super) type End = Box<dyn Fn(&Receiver<Job>) -> Option<Job> + Send>;

/// How a worker is told what to do.
#[derive(Clone)]
pub(super) struct Post {
    jobs: Sender<Job>,
    seat: Seat,
}

impl Post {
    /// Gives the job back if nobody is there to do it.
    pub(super) fn send(&self, job: Job) -> Result<(), Job> {
        self.jobs.send(job).map_err(|unsent| unsent.0)?;
        self.seat.tell();
        Ok(())
    }
}

/// How a worker hears of changes.
#[derive(Clone)]
struct Ears {
    jobs: Sender<Job>,
    bell: Bell,
    /// It will look in a moment anyway.
    will_look: Arc<AtomicBool>,
}

impl Ears {
    /// Of thousands of changes in a row, only the first wakes it.
    fn hear(&self, place: usize, event: notify::Result<notify::Event>) {
        let heard = self.jobs.send(Job::Heard(place, event)).is_ok();
        if heard && !self.will_look.load(Ordering::SeqCst) {
            self.bell.ring();
        }
    }
}

pub(super) struct Worker {
    session: ChannelUri,
    jobs: Receiver<Job>,
    ears: Ears,
    end: End,
    /// Whether it has looked at the directories.
    has_begun: bool,
    /// Until when it rests, and what it does then.
    rests: Option<(Instant, Then)>,
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
    /// What runs alongside it, and how that is ended.
    sending: BTreeMap<OperationId, Stop>,
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
    Rest(Rest),
}

/// What it does when nothing has happened for a while.
#[derive(Debug, Clone, Copy)]
enum Then {
    Settle,
    LookEverywhere,
    End,
}

impl Worker {
    /// Sets one to work, until there is nothing to do.
    pub(super) fn start(
        session: ChannelUri,
        directories: Vec<PathBuf>,
        paths: Paths,
        (hub, pool): (Hub, &Pool),
        tell: Tell,
        end: End,
    ) -> Post {
        let (sender, jobs) = channel();
        let seat = pool.seat();
        let worker = Self {
            end,
            has_begun: false,
            rests: None,
            session,
            directories,
            paths,
            hub,
            jobs,
            ears: Ears {
                jobs: sender.clone(),
                bell: seat.bell(),
                will_look: Arc::default(),
            },
            tell,
            failure: None,
            waiting: VecDeque::new(),
            dirty_since: None,
            observed: false,
            places: Vec::new(),
            views: BTreeMap::new(),
            sending: BTreeMap::new(),
            counts: None,
        };
        seat.take(Box::new(worker));
        Post { jobs: sender, seat }
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
        let waiting = self.waiting.pop_front();
        if let Some(job) = waiting.or_else(|| self.jobs.try_recv().ok()) {
            self.rests = None;
            return Next::Do(job);
        }
        let now = Instant::now();
        if let Some((until, then)) = self.rests {
            if now < until {
                return Next::Rest(Rest::Until(until));
            }
            self.rests = None;
            return self.rested(then);
        }
        let looked_at = self.observed || !self.views.is_empty();
        let unheard = |place: &Place| matches!(place.watch, Watch::Impossible);
        let polls = looked_at && self.places.iter().any(unheard);
        let (patience, then) = match self.dirty_since {
            Some(since) => match LONGEST.checked_sub(since.elapsed()) {
                Some(left) => (QUIET.min(left), Then::Settle),
                None => return Next::Settle,
            },
            None if polls => (POLL, Then::LookEverywhere),
            None if looked_at || !self.sending.is_empty() => return Next::Rest(Rest::UntilTold),
            None => (IDLE, Then::End),
        };
        let until = now + patience;
        self.rests = Some((until, then));
        Next::Rest(Rest::Until(until))
    }

    /// Nothing has happened for as long as it was to rest.
    fn rested(&mut self, then: Then) -> Next {
        match then {
            Then::End => Next::End,
            Then::Settle => Next::Settle,
            Then::LookEverywhere => {
                let unheard = |place: &&mut Place| matches!(place.watch, Watch::Impossible);
                let unheard = self.places.iter_mut().filter(unheard);
                unheard.for_each(|place| place.dirt.everything = true);
                Next::Settle
            }
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
                (self.tell)(ChangesEvent::Inherited { from });
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
            ChangesTask::Operate { operation, what } => match what {
                Operation::Push => self.send(operation, None),
                Operation::CreatePullRequest { message } => self.send(operation, Some(message)),
                what => self.operate(operation, what),
            },
            ChangesTask::Cancel { operation } => self.cancel(operation),
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
        let has_own_work = match self.git_place() {
            // What cannot be found out is told with the changes themselves.
            Some(at) => self.places[at].stand().unwrap_or_default().has_own_work,
            None => false,
        };
        (self.tell)(match self.failure.clone() {
            None => ChangesEvent::Found {
                git: self.git_place().is_some(),
                has_own_work,
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
        self.cancel_all();
        self.views.clear();
        self.watch_if_needed();
    }
}

impl Actor for Worker {
    fn work(&mut self) -> Rest {
        if !self.has_begun {
            self.has_begun = true;
            self.find();
        }
        loop {
            // Before it looks into its post for the last time.
            let will_look = self.dirty_since.is_some();
            self.ears.will_look.store(will_look, Ordering::SeqCst);
            match self.next() {
                Next::Rest(rest) => return rest,
                Next::End => match (self.end)(&self.jobs) {
                    Some(job) => self.waiting.push_back(job),
                    None => return Rest::Over,
                },
                Next::Settle => self.settle(),
                Next::Do(Job::Heard(place, event)) => self.hear(place, event),
                Next::Do(Job::Task(task)) => self.task(task),
                Next::Do(Job::Finish(done)) => {
                    let _ = done.send(());
                }
                Next::Do(Job::Left(trees)) => trees.leave(),
                Next::Do(Job::Sent(operation, sent)) => self.sent(operation, sent),
            }
        }
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
