//! The worker of one session: a thread that keeps, compares and restores, one
//! thing after the other, and follows what changes while somebody looks.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::state::{ChangesSummary, ChangesetFile};
use innkeeper_protocol::workspace::changes::{
    ChangesEvent, ChangesTask, Compared, Moment, Operation, OperationDone, OperationId, Trouble,
    ViewId, ViewNews, component,
};

use super::git::{GitError, GitResult};
use super::live::Difference;
use super::operations::Which;
use super::place::{Part, Place, Seen, Watch, nowhere};
use super::trees::Counts;
use super::watcher::roots;
use super::worktree;
use crate::hub::Hub;
use crate::resources::place::{path_of_uri, uri_of_path};

/// Changes are collected until nothing has happened for this long,
const QUIET: Duration = Duration::from_millis(3);

/// or for this long at most.
const LONGEST: Duration = Duration::from_millis(100);

/// A worker that nobody needs for this long goes; another one comes when
/// there is work again.
const IDLE: Duration = Duration::from_secs(30);

/// How long the removal of a working tree waits for others who worked there.
const NEIGHBOURS_PATIENCE: Duration = Duration::from_secs(10);

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

/// Workers that are to come to an end with what they do.
#[derive(Debug)]
pub(super) struct Neighbours {
    /// Each of them says so.
    pub(super) done: Receiver<()>,
    pub(super) count: usize,
}

impl Neighbours {
    /// Whether all have come to an end in time.
    fn are_done(&self) -> bool {
        let deadline = Instant::now() + NEIGHBOURS_PATIENCE;
        (0..self.count).all(|_| {
            let left = deadline.saturating_duration_since(Instant::now());
            self.done.recv_timeout(left).is_ok()
        })
    }
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
    homes: Homes,
    /// The directories, once they were looked at; or why nothing can be told.
    places: Vec<Place>,
    failure: Option<String>,
    views: BTreeMap<ViewId, View>,
    counts: Option<Counts>,
}

/// Where a session's own files are.
#[derive(Debug)]
pub(super) struct Homes {
    /// Of all sessions.
    pub(super) root: PathBuf,
    pub(super) own: PathBuf,
    /// Its own working tree, if it has one: never within the other, which
    /// goes as a whole.
    pub(super) worktree: PathBuf,
}

struct View {
    compared: Compared,
    /// One of each place; none while it could not be computed.
    parts: Vec<Part>,
    /// The last that was told is that it cannot be.
    failed: bool,
}

impl View {
    fn files(&self) -> Vec<ChangesetFile> {
        self.parts.iter().flat_map(Part::files).collect()
    }

    fn is_live_in(&self, place: usize) -> bool {
        matches!(self.parts.get(place), Some(Part::Live(_)))
    }

    fn is_live(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Live(_)))
    }
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
        homes: Homes,
        hub: Hub,
        (own, jobs): (Sender<Job>, Receiver<Job>),
        tell: Tell,
    ) -> Self {
        Self {
            session,
            directories,
            homes,
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
            match Place::find(&self.session, directory, &self.homes.own) {
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
            ChangesTask::Checkpoint(at) => {
                let failure = self.checkpoint(&at).err().map(|error| error.to_string());
                if let Some(reason) = &failure {
                    tracing::debug!(session = %self.session, reason, "no checkpoint");
                }
                let is_end = matches!(at, Moment::AfterTurn(_));
                (self.tell)(ChangesEvent::Checkpointed { at, failure });
                if is_end {
                    self.count();
                }
            }
            ChangesTask::OpenView { view, compared } => {
                let new = View {
                    compared,
                    parts: Vec::new(),
                    failed: false,
                };
                self.views.insert(view, new);
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

    fn isolate(&mut self, branch: Option<&str>) -> GitResult<String> {
        let at = &self.homes.worktree;
        let name = self.session.as_str().rsplit('/').next().unwrap_or_default();
        let directory = self.directories.first().ok_or_else(nowhere)?;
        let made = worktree::create(directory, branch, at, &component(name))?;
        uri_of_path(&made).ok_or_else(nowhere)
    }

    fn inherit(&mut self, from: &ChannelUri, directories: &[String], turns: &[String]) {
        let theirs = directories.iter().filter_map(|uri| path_of_uri(uri).ok());
        let theirs: Vec<PathBuf> = theirs.collect();
        for (place, theirs) in self.places.iter().zip(outermost(&theirs)) {
            let from = (from, theirs.as_path());
            if let Err(error) = place.inherit(&self.homes.root, from, turns) {
                tracing::warn!(session = %self.session, %error, "earlier turns show no changes");
            }
        }
    }

    /// Nobody looks any more.
    fn leave(&mut self) {
        self.observed = false;
        self.views.clear();
        self.watch_if_needed();
    }

    /// What was kept for the session goes.
    fn forget(&mut self) {
        for place in self.places.drain(..) {
            if let Err(error) = place.forget() {
                tracing::warn!(session = %self.session, %error, "checkpoints stay behind");
            }
        }
        // Should it come back, it begins anew.
        self.directories.clear();
        match std::fs::remove_dir_all(&self.homes.own) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(session = %self.session, %error, "files stay behind");
            }
            _ => {}
        }
    }

    fn remove_trees(&self, trees: &[PathBuf], others: &Neighbours) {
        if !others.are_done() {
            let session = &self.session;
            return tracing::warn!(%session, ?trees, "working trees stay: others are busy there");
        }
        trees
            .iter()
            .for_each(|tree| worktree::remove_or_say_why(tree));
    }

    fn checkpoint(&mut self, at: &Moment) -> GitResult<()> {
        let mut failure = self.places.is_empty().then(nowhere);
        for place in &mut self.places {
            if let Err(error) = place.keep(at) {
                failure.get_or_insert(error);
            }
        }
        let (Moment::BeforeTurn(turn) | Moment::AfterTurn(turn)) = at;
        let concerned = |view: &View| match &view.compared {
            Compared::Turn(of) => of == turn,
            Compared::Turns { original, modified } => original == turn || modified == turn,
            Compared::Uncommitted | Compared::Session => false,
        };
        let views = self.views.iter().filter(|(_, view)| concerned(view));
        for view in views.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.open_view(view);
        }
        self.watch_if_needed();
        failure.map_or(Ok(()), Err)
    }

    /// Tells how much has changed since the session began, if that is new.
    fn count(&mut self) {
        let mut sum = Counts::default();
        for place in &mut self.places {
            match place.counts() {
                Ok(counts) => sum += counts,
                Err(error) => {
                    tracing::debug!(session = %self.session, %error, "changes are not counted");
                    return;
                }
            }
        }
        if !self.places.is_empty() && self.counts.replace(sum) != Some(sum) {
            let number = |count: u64| i64::try_from(count).ok();
            (self.tell)(ChangesEvent::Counted(ChangesSummary {
                additions: number(sum.added),
                deletions: number(sum.removed),
                files: number(sum.files),
            }));
        }
    }

    // Views

    fn open_view(&mut self, id: ViewId) {
        let outcome = match &self.failure {
            Some(reason) => Err(GitError::Other(reason.clone())),
            None => self.computed(id),
        };
        if let Some(view) = self.views.get_mut(&id) {
            view.failed = outcome.is_err();
        }
        let news = match outcome {
            Ok(files) => ViewNews::Files(files),
            Err(error) => ViewNews::Failed(error.into()),
        };
        self.tell_git_news();
        (self.tell)(ChangesEvent::View { view: id, news });
    }

    fn computed(&mut self, id: ViewId) -> GitResult<Vec<ChangesetFile>> {
        let view = self.views.get_mut(&id).ok_or_else(nowhere)?;
        view.parts.clear();
        let mut parts = Vec::new();
        for place in &mut self.places {
            parts.push(place.part(&view.compared)?);
        }
        if parts.iter().all(|part| matches!(part, Part::Absent)) {
            return Err(nothing_kept(&view.compared));
        }
        view.parts = parts;
        Ok(view.files())
    }

    fn tell_git_news(&mut self) {
        let place = self.git_place().and_then(|at| self.places.get_mut(at));
        if let Some(state) = place.and_then(Place::git_news) {
            (self.tell)(ChangesEvent::Git(state));
        }
    }

    fn hear(&mut self, place: usize, event: notify::Result<notify::Event>) {
        if let Some(place) = self.places.get_mut(place) {
            place.dirt.add(&place.repository, event);
            if !place.dirt.is_empty() {
                self.dirty_since.get_or_insert_with(Instant::now);
            }
        }
    }

    fn settle(&mut self) {
        self.dirty_since = None;
        let seen: Vec<GitResult<Seen>> = self.places.iter_mut().map(Place::refresh).collect();
        self.follow(&seen);
    }

    fn look_at_everything(&mut self) {
        for place in &mut self.places {
            place.dirt.everything = true;
        }
        self.settle();
    }

    /// Tells what has become of the live views.
    fn follow(&mut self, seen: &[GitResult<Seen>]) {
        self.tell_git_news();
        for (id, view) in &mut self.views {
            if !view.is_live() {
                continue;
            }
            let (mut change, mut failure) = (Difference::default(), None);
            for ((part, place), seen) in view.parts.iter_mut().zip(&mut self.places).zip(seen) {
                let Part::Live(live) = part else {
                    continue;
                };
                // What could not be looked at is looked at as a whole.
                let paths = match seen {
                    Err(error) => {
                        failure.get_or_insert(Trouble::Other(error.to_string()));
                        continue;
                    }
                    Ok(Seen::Nothing) if !view.failed => continue,
                    Ok(Seen::Paths(paths)) if !view.failed => Some(paths),
                    Ok(_) => None,
                };
                match place.look(live, paths) {
                    Ok(more) => change.add(more),
                    Err(error) => {
                        failure.get_or_insert(error.into());
                    }
                }
            }
            let had_failed = std::mem::replace(&mut view.failed, failure.is_some());
            let news = match failure {
                Some(reason) => ViewNews::Failed(reason),
                None if had_failed => ViewNews::Files(view.files()),
                None if change == Difference::default() => continue,
                None => ViewNews::Changed {
                    set: change.set,
                    removed: change.removed,
                },
            };
            (self.tell)(ChangesEvent::View { view: *id, news });
        }
    }

    /// Watches while somebody looks. What changed before the watch began is
    /// found by looking once more.
    fn watch_if_needed(&mut self) {
        let of_git = self.git_place().filter(|_| self.observed);
        for (at, place) in self.places.iter_mut().enumerate() {
            let live = self.views.values().any(|view| view.is_live_in(at));
            if !live {
                // A process that nobody asks.
                place.blobs = None;
            }
            if !live && of_git != Some(at) {
                place.stop_watching();
                continue;
            }
            if !matches!(place.watch, Watch::Off) {
                continue;
            }
            let own = self.own.clone();
            let hear = move |event| {
                let _ = own.send(Job::Heard(at, event));
            };
            place.watch = match self.hub.listen(roots(&place.repository), hear) {
                Ok(listening) => Watch::On(listening),
                Err(error) => {
                    tracing::warn!(
                        session = %self.session, %error,
                        "the system does not tell of changes; looking every few seconds"
                    );
                    Watch::Impossible
                }
            };
            place.dirt.everything = true;
            self.dirty_since.get_or_insert_with(Instant::now);
        }
        if self.places.iter().all(|place| place.dirt.is_empty()) {
            self.dirty_since = None;
        }
    }

    // Operations

    fn operate(&mut self, operation: OperationId, what: Operation) {
        let outcome = self.operated(what).map_err(Trouble::from);
        let undo = self.can_undo();
        (self.tell)(ChangesEvent::Operated {
            operation,
            outcome,
            undo,
        });
        self.look_at_everything();
        self.watch_if_needed();
        self.count();
    }

    fn can_undo(&mut self) -> bool {
        let mut places = self.places.iter_mut();
        places.any(|place| place.bench().can_undo())
    }

    fn operated(&mut self, what: Operation) -> GitResult<Vec<OperationDone>> {
        match what {
            Operation::Discard { of, files } => {
                let unstages = of == Compared::Uncommitted;
                let find = |place: &mut Place| place.base_of(&of);
                let files = self.put_back(&files, find, unstages)?;
                let files = files.ok_or_else(|| nothing_kept(&of))?;
                Ok(vec![OperationDone::FilesAsBefore(files)])
            }
            Operation::Restore { to, files } => {
                let find = |place: &mut Place| place.kept(&to);
                let (Moment::BeforeTurn(turn) | Moment::AfterTurn(turn)) = &to;
                let turn = Compared::Turn(turn.clone());
                let files = self.put_back(&files, find, false)?;
                let files = files.ok_or_else(|| nothing_kept(&turn))?;
                Ok(vec![OperationDone::FilesAsThen(files)])
            }
            Operation::Commit { message } => self.commit(&message),
            Operation::Undo => self.undo(),
        }
    }

    /// Makes files what they were, in all places that know what that is.
    /// Returns how many they are, if there is such a place.
    fn put_back(
        &mut self,
        files: &[String],
        find: impl Fn(&mut Place) -> GitResult<Option<String>>,
        unstages: bool,
    ) -> GitResult<Option<usize>> {
        for uri in files {
            let one = std::slice::from_ref(uri);
            if !self.places.iter().any(|place| place.named(one).is_some()) {
                return Err(Trouble::Outside(uri.clone()).into());
            }
        }
        // All is found before anything is done.
        let mut plan: Vec<Option<(Which, String)>> = Vec::new();
        for place in &mut self.places {
            let which = place.named(files);
            let to = match which.is_some() {
                true => find(place)?,
                false => None,
            };
            plan.push(which.zip(to));
        }
        if plan.iter().all(Option::is_none) {
            return Ok(None);
        }
        let mut count = 0;
        for (place, planned) in self.places.iter_mut().zip(plan) {
            let in_git = !place.repository.is_shadow;
            let mut bench = place.bench();
            let Some((which, to)) = planned else {
                bench.forget_undo()?;
                continue;
            };
            count += bench.put_back(&to, &which)?;
            if unstages && in_git {
                bench.unstage(&which)?;
            }
        }
        Ok(Some(count))
    }

    /// Commits in each repository that has something to commit.
    fn commit(&mut self, message: &str) -> GitResult<Vec<OperationDone>> {
        let Some(first) = self.git_place() else {
            return Err(Trouble::NoRepository.into());
        };
        let mut concerned = Vec::new();
        for place in &self.places {
            concerned.push(place.has_uncommitted()?);
        }
        if !concerned.contains(&true) {
            // Git says it best that there is nothing.
            concerned[first] = true;
        }
        let mut commits = Vec::new();
        for (place, concerned) in self.places.iter_mut().zip(concerned) {
            let mut bench = place.bench();
            match concerned {
                true => commits.push(bench.commit(message)?),
                false => bench.forget_undo()?,
            }
        }
        Ok(vec![OperationDone::Committed(commits)])
    }

    /// The last first: two places may be in one repository.
    fn undo(&mut self) -> GitResult<Vec<OperationDone>> {
        let mut done = Vec::new();
        for place in self.places.iter_mut().rev() {
            let mut bench = place.bench();
            if bench.can_undo() {
                done.push(bench.undo()?);
            }
        }
        match done.is_empty() {
            true => Err(Trouble::NothingToUndo.into()),
            false => Ok(done),
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
        Compared::Uncommitted => Trouble::NoRepository,
        Compared::Session | Compared::Turn(_) | Compared::Turns { .. } => Trouble::NotKept,
    })
}
