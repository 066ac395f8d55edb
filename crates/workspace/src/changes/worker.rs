//! The worker of one session: a thread that keeps, compares and restores, one
//! thing after the other, and follows what changes while somebody looks.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::state::ChangesetFile;
use innkeeper_protocol::workspace::changes::{
    ChangesEvent, ChangesTask, Compared, GitState, Moment, Operation, OperationId, ViewId, ViewNews,
};
use notify::RecommendedWatcher;

use super::blobs::Blobs;
use super::checkpoint::{Checkpoints, check_size, component, name_of};
use super::entries::{Names, between};
use super::git::{GitError, GitResult, Repository};
use super::live::{Base, LiveView, Sight};
use super::operations::{Bench, Which, counted};
use super::status::Status;
use super::watcher::{Dirt, watch};
use super::worktree;
use crate::resources::place::{path_of_uri, uri_of_path};

/// Changes are collected until nothing has happened for this long,
const QUIET: Duration = Duration::from_millis(3);

/// or for this long at most.
const LONGEST: Duration = Duration::from_millis(100);

/// A worker that nobody needs for this long goes; another one comes when
/// there is work again.
const IDLE: Duration = Duration::from_secs(30);

/// More paths than this are not looked at one by one.
const MOST_PATHS: usize = 200;

#[derive(Debug)]
pub(super) enum Job {
    Task(ChangesTask),
    Heard(notify::Result<notify::Event>),
    /// Say when everything before is done.
    Finish(Sender<()>),
}

/// Where reports go. Returns whether anybody is still there to hear.
pub(super) type Tell = Box<dyn Fn(ChangesEvent) -> bool + Send>;

pub(super) struct Worker {
    session: ChannelUri,
    jobs: Receiver<Job>,
    /// For the watcher.
    own: Sender<Job>,
    tell: Tell,
    waiting: VecDeque<Job>,
    dirt: Dirt,
    /// When the oldest of it was heard of.
    dirty_since: Option<Instant>,
    observed: bool,
    directory: PathBuf,
    homes: Homes,
    /// The directory, once it was looked at, or why nothing can be told of it.
    place: Option<Place>,
    failure: Option<String>,
    watcher: Option<RecommendedWatcher>,
    views: BTreeMap<ViewId, View>,
}

/// Where a session's own files are.
#[derive(Debug)]
pub(super) struct Homes {
    pub(super) own: PathBuf,
    /// Its own working tree, if it has one: never within the other, which
    /// goes as a whole.
    pub(super) worktree: PathBuf,
}

struct Place {
    repository: Repository,
    tree: Dir,
    names: Names,
    checkpoints: Checkpoints,
    blobs: Option<Blobs>,
    status: Option<Status>,
    told: Option<GitState>,
}

struct View {
    compared: Compared,
    /// `None` while it compares two kept states, or could not be computed.
    live: Option<LiveView>,
    /// The last that was told is that it cannot be.
    failed: bool,
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
        directory: PathBuf,
        homes: Homes,
        (own, jobs): (Sender<Job>, Receiver<Job>),
        tell: Tell,
    ) -> Self {
        Self {
            session,
            directory,
            homes,
            jobs,
            own,
            tell,
            failure: None,
            waiting: VecDeque::new(),
            dirt: Dirt::default(),
            dirty_since: None,
            observed: false,
            place: None,
            watcher: None,
            views: BTreeMap::new(),
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
                Next::Do(Job::Heard(event)) => self.hear(event),
                Next::Do(Job::Task(task)) => self.task(task),
                Next::Do(Job::Finish(done)) => {
                    let _ = done.send(());
                }
            }
        }
    }

    fn find(&mut self) {
        self.watcher = None;
        self.place = None;
        self.failure = None;
        match Place::find(&self.session, &self.directory, &self.homes.own) {
            Ok(place) => self.place = Some(place),
            Err(error) => {
                tracing::debug!(session = %self.session, %error, "no changes can be told");
                self.failure = Some(error.to_string());
            }
        }
    }

    fn next(&mut self) -> Next {
        if let Some(job) = self.waiting.pop_front() {
            return Next::Do(job);
        }
        let patience = match self.dirty_since {
            Some(since) => match LONGEST.checked_sub(since.elapsed()) {
                Some(left) => QUIET.min(left),
                None => return Next::Settle,
            },
            None => IDLE,
        };
        let looked_at = self.observed || !self.views.is_empty();
        match self.jobs.recv_timeout(patience) {
            Ok(job) => Next::Do(job),
            Err(RecvTimeoutError::Timeout) if self.dirty_since.is_some() => Next::Settle,
            Err(RecvTimeoutError::Timeout) if looked_at => match self.jobs.recv() {
                Ok(job) => Next::Do(job),
                Err(_) => Next::End,
            },
            Err(_) => Next::End,
        }
    }

    fn task(&mut self, task: ChangesTask) {
        match task {
            ChangesTask::Open { directory } => self.open(&directory),
            ChangesTask::Close => self.leave(),
            ChangesTask::Isolate { branch, .. } => {
                let made = self.isolate(branch.as_deref());
                let made = made.map_err(|error| error.to_string());
                (self.tell)(ChangesEvent::Isolated(made));
            }
            ChangesTask::Forget { own_worktree, .. } => {
                self.leave();
                self.forget();
                if own_worktree && let Err(error) = worktree::remove(&self.homes.worktree) {
                    tracing::warn!(session = %self.session, %error, "its working tree stays");
                }
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
                (self.tell)(ChangesEvent::Checkpointed { at, failure });
            }
            ChangesTask::OpenView { view, compared } => {
                let new = View {
                    compared,
                    live: None,
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

    fn open(&mut self, directory: &str) {
        if let Ok(directory) = path_of_uri(directory)
            && directory != self.directory
        {
            self.directory = directory;
            self.find();
        }
        let undo = self.bench().is_some_and(|bench| bench.can_undo());
        (self.tell)(match &self.place {
            Some(place) => ChangesEvent::Found {
                git: !place.repository.is_shadow,
                undo,
            },
            None => ChangesEvent::Unavailable {
                reason: self.failure.clone().unwrap_or_default(),
            },
        });
    }

    fn isolate(&mut self, branch: Option<&str>) -> GitResult<String> {
        let at = &self.homes.worktree;
        let name = self.session.as_str().rsplit('/').next().unwrap_or_default();
        let made = worktree::create(&self.directory, branch, at, &component(name))?;
        uri_of_path(&made).ok_or_else(nowhere)
    }

    /// Nobody looks any more.
    fn leave(&mut self) {
        self.observed = false;
        self.views.clear();
        self.stop_watching();
    }

    /// What is not followed is not known.
    fn stop_watching(&mut self) {
        self.watcher = None;
        self.dirt = Dirt::default();
        self.dirty_since = None;
        if let Some(place) = &mut self.place {
            place.status = None;
        }
    }

    /// What was kept for the session goes.
    fn forget(&mut self) {
        if let Some(place) = self.place.take()
            && let Err(error) = place.checkpoints.forget(&place.repository)
        {
            tracing::warn!(session = %self.session, %error, "checkpoints stay behind");
        }
        match std::fs::remove_dir_all(&self.homes.own) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(session = %self.session, %error, "files stay behind");
            }
            _ => {}
        }
    }

    fn checkpoint(&mut self, at: &Moment) -> GitResult<()> {
        let place = self.place.as_mut().ok_or_else(nowhere)?;
        let Place {
            repository,
            checkpoints,
            ..
        } = place;
        checkpoints.base(repository)?;
        let name = name_of(at);
        match at {
            // A turn that goes on began when it began.
            Moment::BeforeTurn(_) if checkpoints.find(repository, &name)?.is_some() => {}
            Moment::BeforeTurn(_) | Moment::AfterTurn(_) => {
                let commit = checkpoints.take(repository)?;
                checkpoints.name(repository, &name, &commit)?;
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
        Ok(())
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
            Err(error) => ViewNews::Failed(error.to_string()),
        };
        (self.tell)(ChangesEvent::View { view: id, news });
    }

    fn computed(&mut self, id: ViewId) -> GitResult<Vec<ChangesetFile>> {
        let place = self.place.as_mut().ok_or_else(nowhere)?;
        let view = self.views.get_mut(&id).ok_or_else(nowhere)?;
        view.live = None;
        let base = match place.sides(&view.compared)? {
            Sides::Kept(before, after) => {
                let Place {
                    repository, names, ..
                } = &*place;
                let (repository, names) = (repository.clone(), names.clone());
                return between(&repository, place.blobs()?, &names, (&before, &after));
            }
            Sides::Live(base) => base,
        };
        place.read_status(true)?;
        if let Some(state) = place.git_news() {
            (self.tell)(ChangesEvent::Git(state));
        }
        let mut live = LiveView::new(base);
        place.with_sight(|sight| live.look(sight, None))?;
        let files = live.files();
        view.live = Some(live);
        Ok(files)
    }

    fn hear(&mut self, event: notify::Result<notify::Event>) {
        if let Some(place) = &self.place {
            self.dirt.add(&place.repository, event);
            if !self.dirt.is_empty() {
                self.dirty_since.get_or_insert_with(Instant::now);
            }
        }
    }

    fn settle(&mut self) {
        self.dirty_since = None;
        let dirt = std::mem::take(&mut self.dirt);
        if dirt.everything || dirt.paths.len() > MOST_PATHS {
            return self.look_at_everything();
        }
        let Some(place) = &mut self.place else {
            return;
        };
        let Place {
            repository, status, ..
        } = place;
        let updated = match status {
            Some(status) => status.update(repository, &dirt.paths),
            None => return self.look_at_everything(),
        };
        match updated {
            Ok(()) => self.follow(Some(&dirt.paths)),
            Err(error) => {
                tracing::debug!(%error, "looking at everything");
                self.look_at_everything();
            }
        }
    }

    fn look_at_everything(&mut self) {
        let Some(place) = &mut self.place else {
            return;
        };
        if let Err(error) = place.read_status(false) {
            let live = self.views.iter_mut();
            for (id, view) in live.filter(|(_, view)| view.live.is_some()) {
                view.failed = true;
                let news = ViewNews::Failed(error.to_string());
                (self.tell)(ChangesEvent::View { view: *id, news });
            }
            return;
        }
        self.follow(None);
    }

    /// Tells what has become of the live views.
    fn follow(&mut self, paths: Option<&BTreeSet<PathBuf>>) {
        let Some(place) = &mut self.place else {
            return;
        };
        if let Some(state) = place.git_news() {
            (self.tell)(ChangesEvent::Git(state));
        }
        for (id, view) in &mut self.views {
            let Some(live) = &mut view.live else {
                continue;
            };
            // What could not be looked at is looked at as a whole.
            let paths = paths.filter(|_| !view.failed);
            let looked = place.with_sight(|sight| live.look(sight, paths));
            let had_failed = std::mem::replace(&mut view.failed, looked.is_err());
            let news = match looked {
                Ok(_) if had_failed => ViewNews::Files(live.files()),
                Ok(change) if change.set.is_empty() && change.removed.is_empty() => continue,
                Ok(change) => ViewNews::Changed {
                    set: change.set,
                    removed: change.removed,
                },
                Err(error) => ViewNews::Failed(error.to_string()),
            };
            (self.tell)(ChangesEvent::View { view: *id, news });
        }
    }

    /// Watches while somebody looks. What changed before the watch began is
    /// found by looking once more.
    fn watch_if_needed(&mut self) {
        let live = self.views.values().any(|view| view.live.is_some());
        if !self.observed && !live {
            return self.stop_watching();
        }
        let Some(place) = self.place.as_ref().filter(|_| self.watcher.is_none()) else {
            return;
        };
        let own = self.own.clone();
        let hear = move |event| {
            let _ = own.send(Job::Heard(event));
        };
        match watch(&place.repository, hear) {
            Ok(watcher) => {
                self.watcher = Some(watcher);
                self.dirt.everything = true;
                self.dirty_since.get_or_insert_with(Instant::now);
            }
            Err(error) => {
                tracing::warn!(session = %self.session, %error, "changes are not followed");
            }
        }
    }

    // Operations

    fn operate(&mut self, operation: OperationId, what: Operation) {
        let outcome = self.operated(what).map_err(|error| error.to_string());
        let undo = self.bench().is_some_and(|bench| bench.can_undo());
        (self.tell)(ChangesEvent::Operated {
            operation,
            outcome,
            undo,
        });
        self.look_at_everything();
    }

    fn operated(&mut self, what: Operation) -> GitResult<String> {
        let place = self.place.as_mut().ok_or_else(nowhere)?;
        let named = |names: &Names, files: &[String]| -> GitResult<Which> {
            let path = |uri: &String| {
                let outside = || GitError::Other(format!("`{uri}` is outside of the session"));
                names.path_of(uri).ok_or_else(outside)
            };
            files.iter().map(path).collect()
        };
        match what {
            Operation::Discard { of, files } => {
                let which = named(&place.names, &files)?;
                let to = match place.sides(&of)? {
                    Sides::Kept(before, _) | Sides::Live(Base::Kept(before)) => before,
                    Sides::Live(Base::LastCommit) => match place.repository.resolve("HEAD")? {
                        Some(head) => head,
                        None => place.repository.empty_tree()?,
                    },
                };
                let mut bench = place.bench();
                let files = bench.put_back(&to, &which)?;
                if of == Compared::Uncommitted && !bench.repository.is_shadow {
                    bench.unstage(&which)?;
                }
                Ok(format!("{} as before.", counted(files)))
            }
            Operation::Restore { to, files } => {
                let which = named(&place.names, &files)?;
                let to = place.kept(&to)?;
                let files = place.bench().put_back(&to, &which)?;
                Ok(format!("{} as then.", counted(files)))
            }
            Operation::Commit { message } => {
                if place.repository.is_shadow {
                    let reason = "this directory is in no git repository";
                    return Err(GitError::Other(reason.to_owned()));
                }
                let commit = place.bench().commit(&message)?;
                Ok(format!("Committed as {commit}."))
            }
            Operation::Undo => place.bench().undo(),
        }
    }

    fn bench(&mut self) -> Option<Bench<'_>> {
        self.place.as_mut().map(Place::bench)
    }
}

/// What a view compares, found.
enum Sides {
    Kept(String, String),
    Live(Base),
}

impl Place {
    fn find(session: &ChannelUri, directory: &Path, home: &Path) -> GitResult<Self> {
        let repository = match Repository::find(directory, home.join("index"))? {
            Some(repository) => repository,
            None => {
                check_size(directory)?;
                std::fs::create_dir_all(home)?;
                Repository::shadow(directory, home)?
            }
        };
        Ok(Self {
            tree: Dir::open_ambient_dir(&repository.work_tree, ambient_authority())?,
            names: Names {
                session: session.clone(),
                directory: directory.to_owned(),
                scope: repository.scope.clone(),
            },
            checkpoints: Checkpoints::new(session),
            repository,
            blobs: None,
            status: None,
            told: None,
        })
    }

    fn sides(&mut self, compared: &Compared) -> GitResult<Sides> {
        Ok(match compared {
            Compared::Uncommitted => Sides::Live(Base::LastCommit),
            Compared::Session => {
                let base = self.checkpoints.base(&self.repository)?;
                Sides::Live(Base::Kept(base))
            }
            Compared::Turn(turn) => {
                let before = self.kept(&Moment::BeforeTurn(turn.clone()))?;
                let after = name_of(&Moment::AfterTurn(turn.clone()));
                match self.checkpoints.find(&self.repository, &after)? {
                    Some(after) => Sides::Kept(before, after),
                    None => Sides::Live(Base::Kept(before)),
                }
            }
            Compared::Turns { original, modified } => Sides::Kept(
                self.kept(&Moment::AfterTurn(original.clone()))?,
                self.kept(&Moment::AfterTurn(modified.clone()))?,
            ),
        })
    }

    fn kept(&self, moment: &Moment) -> GitResult<String> {
        let kept = self.checkpoints.find(&self.repository, &name_of(moment))?;
        kept.ok_or_else(|| GitError::Other("the files were not kept at that time".to_owned()))
    }

    fn blobs(&mut self) -> GitResult<&mut Blobs> {
        if self.blobs.is_none() {
            self.blobs = Some(Blobs::new(&self.repository)?);
        }
        self.blobs.as_mut().ok_or_else(nowhere)
    }

    /// Looks at everything; or, if `once` was enough, at nothing.
    fn read_status(&mut self, once: bool) -> GitResult<()> {
        if self.status.is_none() || !once {
            if self.repository.is_shadow {
                self.checkpoints.base(&self.repository)?;
            }
            self.status = Some(Status::read(&self.repository)?);
        }
        Ok(())
    }

    fn with_sight<T>(&mut self, look: impl FnOnce(&mut Sight<'_>) -> GitResult<T>) -> GitResult<T> {
        self.blobs()?;
        let (Some(blobs), Some(status)) = (&mut self.blobs, &self.status) else {
            return Err(nowhere());
        };
        let seen = look(&mut Sight {
            repository: &self.repository,
            tree: &self.tree,
            status,
            blobs,
            names: &self.names,
        });
        if seen.is_err() {
            // Whatever it was, the next look begins with another process.
            self.blobs = None;
        }
        seen
    }

    /// What git says, if that is new.
    fn git_news(&mut self) -> Option<GitState> {
        let state = &self.status.as_ref()?.git;
        if self.repository.is_shadow || self.told.as_ref() == Some(state) {
            return None;
        }
        self.told = Some(state.clone());
        Some(state.clone())
    }

    fn bench(&mut self) -> Bench<'_> {
        Bench {
            repository: &self.repository,
            tree: &self.tree,
            checkpoints: &mut self.checkpoints,
        }
    }
}

fn nowhere() -> GitError {
    GitError::Other("no changes can be told in this directory".to_owned())
}
