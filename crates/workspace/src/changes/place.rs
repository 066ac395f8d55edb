//! One directory of a session: the repository that it is in, what was kept of
//! it, and what differs in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::state::ChangesetFile;
use innkeeper_protocol::workspace::changes::{Compared, GitState, Moment, component};

use super::blobs::Blobs;
use super::branch::{Stand, Standing, checked_out};
use super::checkpoint::{
    BASE, Checkpoints, check_size, home_of, late, name_of, own_index, replace_earlier_indices,
};
use super::entries::{Names, between};
use super::git::{
    GitError, GitResult, LIMIT, LIMIT_BEFORE_TURN, Repository, StandIns, create_private,
};
use super::leftovers;
use super::live::{Base, LiveView, Sight};
use super::operations::{Bench, Which};
use super::status::Status;
use super::trees::{Counts, count};
use super::watcher::Dirt;
use crate::hub::Listening;

/// More paths than this are not looked at one by one.
const MOST_PATHS: usize = 200;

pub(super) struct Place {
    pub(super) repository: Repository,
    pub(super) watch: Watch,
    /// What has changed since the last look.
    pub(super) dirt: Dirt,
    /// What has changed since the last state was kept, if every change since
    /// then would have been heard of.
    since_kept: Option<Dirt>,
    tree: Dir,
    names: Names,
    checkpoints: Checkpoints,
    pub(super) blobs: Option<Blobs>,
    status: Option<Status>,
    standing: Standing,
    told: Option<GitState>,
    /// An earlier host was killed in the middle of a commit.
    is_committing: bool,
    /// The state in which the session found the directory, once it was asked
    /// for: it does not change.
    base: Option<String>,
}

pub(super) enum Watch {
    Off,
    On(#[expect(dead_code, reason = "held for as long as it listens")] Listening),
    /// The system did not allow it: somebody has to look now and then.
    Impossible,
}

/// What a view has of one place.
pub(super) enum Part {
    /// It compares two kept states.
    Kept(Vec<ChangesetFile>),
    Live(Box<LiveView>),
    /// There is nothing here to compare with.
    Absent,
}

impl Part {
    pub(super) fn files(&self) -> Vec<ChangesetFile> {
        match self {
            Self::Kept(files) => files.clone(),
            Self::Live(live) => live.files(),
            Self::Absent => Vec::new(),
        }
    }
}

/// What was looked at.
pub(super) enum Seen {
    Nothing,
    Paths(BTreeSet<PathBuf>),
    Everything,
}

/// What a view compares, found.
enum Sides {
    Kept(String, String),
    Live(Base),
}

/// Where the files are that the host keeps for a directory of a session.
pub(super) fn home_in(home: &Path, directory: &Path) -> PathBuf {
    home.join(component(&directory.to_string_lossy()))
}

impl Place {
    /// `home` is where the host's own files for the session are.
    pub(super) fn find(
        session: &ChannelUri,
        directory: &Path,
        home: &Path,
        stand_ins: &StandIns,
    ) -> GitResult<Self> {
        let home = home_in(home, directory);
        let index = own_index(&home);
        let repository = match Repository::find(directory, index.clone(), stand_ins)? {
            Some(repository) => repository,
            None => {
                check_size(directory)?;
                create_private(&home)?;
                Repository::shadow(directory, &home, index)?
            }
        };
        replace_earlier_indices(&home)?;
        leftovers::note_place(&home, directory, &repository)?;
        let mut place = Self {
            tree: Dir::open_ambient_dir(&repository.work_tree, ambient_authority())?,
            names: Names {
                session: session.clone(),
                directory: directory.to_owned(),
                scope: repository.scope.clone(),
            },
            checkpoints: Checkpoints::new(session, directory),
            watch: Watch::Off,
            dirt: Dirt::default(),
            since_kept: None,
            repository,
            blobs: None,
            status: None,
            standing: Standing::default(),
            told: None,
            is_committing: false,
            base: None,
        };
        place.is_committing = place.bench().resume_commit()?;
        Ok(place)
    }

    // Checkpoints

    pub(super) fn keep(&mut self, at: &Moment) -> GitResult<()> {
        self.base()?;
        let name = name_of(at);
        let commit = match at {
            // A turn that goes on began when it began.
            Moment::BeforeTurn(_) if self.kept(at)?.is_some() => return Ok(()),
            Moment::BeforeTurn(_) => {
                let since = self.since_kept.as_ref();
                match self.checkpoints.last_if_unchanged(since) {
                    Some(last) => last,
                    None => self.take(LIMIT_BEFORE_TURN)?,
                }
            }
            Moment::AfterTurn(_) => self.take(LIMIT)?,
        };
        self.checkpoints.name(&self.repository, &name, &commit)
    }

    /// The state in which the session found the directory, and the present one.
    pub(super) fn begun_and_now(&mut self) -> GitResult<(String, String)> {
        Ok((self.base()?, self.take(LIMIT)?))
    }

    /// Keeps the present state under this name, unless one has it.
    pub(super) fn keep_as(&mut self, name: &str) -> GitResult<()> {
        if self.named_state(name)?.is_none() {
            let commit = self.take(LIMIT)?;
            self.checkpoints.name(&self.repository, name, &commit)?;
        }
        Ok(())
    }

    pub(super) fn named_state(&self, name: &str) -> GitResult<Option<String>> {
        self.checkpoints.find(&self.repository, name)
    }

    /// Whether every change is heard of, though some may be on their way.
    pub(super) fn hears_of_changes(&self) -> bool {
        self.since_kept.is_some()
    }

    /// Nobody would have told.
    pub(super) fn may_have_changed(&mut self) {
        self.since_kept = None;
    }

    pub(super) fn hear(&mut self, event: notify::Result<notify::Event>) {
        if let Some(since) = &mut self.since_kept {
            since.add(&self.repository, &event);
        }
        self.dirt.add(&self.repository, &event);
    }

    /// The state in which the session found its directory; kept now, if it
    /// has not been.
    fn base(&mut self) -> GitResult<String> {
        if let Some(base) = &self.base {
            return Ok(base.clone());
        }
        let base = match self.checkpoints.find(&self.repository, BASE)? {
            Some(base) => base,
            // It is the last one from now on.
            None => self.noting_changes(Checkpoints::keep_base)?,
        };
        self.base = Some(base.clone());
        Ok(base)
    }

    fn take(&mut self, limit: Duration) -> GitResult<String> {
        self.noting_changes(|checkpoints, repository| checkpoints.take_within(repository, limit))
    }

    /// Keeps the present state. Whatever is heard of from now on may have
    /// happened after it.
    fn noting_changes(
        &mut self,
        keep: impl FnOnce(&mut Checkpoints, &Repository) -> GitResult<String>,
    ) -> GitResult<String> {
        self.since_kept = None;
        let hears = matches!(self.watch, Watch::On(_));
        let kept = keep(&mut self.checkpoints, &self.repository)?;
        self.since_kept = hears.then(Dirt::default);
        Ok(kept)
    }

    /// Something that belongs to a turn may be in the state before it.
    pub(super) fn mark_late(&self, turn: &str) -> GitResult<()> {
        match self.kept(&Moment::BeforeTurn(turn.to_owned()))? {
            Some(commit) => self
                .checkpoints
                .name(&self.repository, &late(turn), &commit),
            None => Ok(()),
        }
    }

    pub(super) fn is_late(&self, turn: &str) -> GitResult<bool> {
        let found = self.checkpoints.find(&self.repository, &late(turn))?;
        Ok(found.is_some())
    }

    pub(super) fn forget(&self) -> GitResult<()> {
        self.checkpoints.forget(&self.repository)
    }

    /// Takes over the checkpoints of turns from a directory of another session;
    /// `root` is where those of all sessions are.
    pub(super) fn inherit(
        &self,
        root: &Path,
        (from, directory): (&ChannelUri, &Path),
        turns: &[String],
    ) -> GitResult<()> {
        let theirs = Checkpoints::new(from, directory);
        let home = home_in(&home_of(root, from), directory);
        self.checkpoints
            .inherit(&self.repository, &theirs, &home, turns)
    }

    /// How much differs from what the session found here.
    pub(super) fn counts(&mut self, kept: bool) -> GitResult<Counts> {
        let base = self.base()?;
        let now = match self.checkpoints.last().filter(|_| kept) {
            Some(last) => last.to_owned(),
            None => self.take(LIMIT)?,
        };
        match base == now {
            true => Ok(Counts::default()),
            false => count(&self.repository, &base, &now),
        }
    }

    /// The state that was kept at a moment, if it was.
    pub(super) fn kept(&self, moment: &Moment) -> GitResult<Option<String>> {
        self.checkpoints.find(&self.repository, &name_of(moment))
    }

    /// What a view compares files with.
    pub(super) fn base_of(&mut self, compared: &Compared) -> GitResult<Option<String>> {
        Ok(match self.sides(compared)? {
            None => None,
            Some(Sides::Kept(before, _) | Sides::Live(Base::Kept(before))) => Some(before),
            Some(Sides::Live(Base::LastCommit)) => Some(match self.repository.resolve("HEAD")? {
                Some(head) => head,
                None => self.repository.empty_tree()?,
            }),
        })
    }

    fn sides(&mut self, compared: &Compared) -> GitResult<Option<Sides>> {
        Ok(match compared {
            Compared::Uncommitted | Compared::Branch if self.repository.is_shadow => None,
            Compared::Uncommitted => Some(Sides::Live(Base::LastCommit)),
            Compared::Branch => Some(Sides::Live(self.base_of_branch()?)),
            Compared::Session => {
                let base = self.base()?;
                Some(Sides::Live(Base::Kept(base)))
            }
            Compared::Turn(turn) => {
                let Some(before) = self.kept(&Moment::BeforeTurn(turn.clone()))? else {
                    return Ok(None);
                };
                Some(match self.kept(&Moment::AfterTurn(turn.clone()))? {
                    Some(after) => Sides::Kept(before, after),
                    None => Sides::Live(Base::Kept(before)),
                })
            }
            Compared::Turns { original, modified } => {
                let original = self.kept(&Moment::AfterTurn(original.clone()))?;
                let modified = self.kept(&Moment::AfterTurn(modified.clone()))?;
                let both = original.zip(modified);
                both.map(|(original, modified)| Sides::Kept(original, modified))
            }
        })
    }

    /// How what is checked out stands to the branch that work goes back to.
    pub(super) fn stand(&mut self) -> GitResult<Stand> {
        if self.repository.is_shadow {
            return Ok(Stand::default());
        }
        let (head, branch) = match &self.status {
            Some(status) => (status.head.clone(), status.git.branch.clone()),
            None => checked_out(&self.repository)?,
        };
        self.standing
            .of(&self.repository, head.as_deref(), branch.as_deref())
    }

    /// Where the branch that is checked out began.
    pub(super) fn base_of_branch(&mut self) -> GitResult<Base> {
        Ok(match self.stand()?.began_at {
            Some(commit) => Base::Kept(commit),
            None => Base::LastCommit,
        })
    }

    // Views

    pub(super) fn part(&mut self, compared: &Compared) -> GitResult<Part> {
        let base = match self.sides(compared)? {
            None => return Ok(Part::Absent),
            Some(Sides::Kept(before, after)) => {
                let Self {
                    repository, names, ..
                } = &*self;
                let (repository, names) = (repository.clone(), names.clone());
                let files = between(&repository, self.blobs()?, &names, (&before, &after))?;
                return Ok(Part::Kept(files));
            }
            Some(Sides::Live(base)) => base,
        };
        let mut live = LiveView::new(base);
        self.look(&mut live, None)?;
        Ok(Part::Live(Box::new(live)))
    }

    /// Brings a live view up to date: at these paths, or everywhere.
    pub(super) fn look(
        &mut self,
        live: &mut LiveView,
        paths: Option<&BTreeSet<PathBuf>>,
    ) -> GitResult<super::live::Difference> {
        self.read_status(true)?;
        self.blobs()?;
        let (Some(blobs), Some(status)) = (&mut self.blobs, &self.status) else {
            return Err(nowhere());
        };
        let mut sight = Sight {
            repository: &self.repository,
            tree: &self.tree,
            status,
            blobs,
            names: &self.names,
        };
        let seen = live.look(&mut sight, paths);
        if seen.is_err() {
            // Whatever it was, the next look begins with another process.
            self.blobs = None;
        }
        seen
    }

    /// Looks again at what has changed.
    pub(super) fn refresh(&mut self) -> GitResult<Seen> {
        let dirt = std::mem::take(&mut self.dirt);
        if dirt.is_empty() {
            return Ok(Seen::Nothing);
        }
        if let (Some(status), false) = (&mut self.status, dirt.everything)
            && dirt.paths.len() <= MOST_PATHS
        {
            match status.update(&self.repository, &dirt.paths) {
                Ok(()) => return Ok(Seen::Paths(dirt.paths)),
                Err(error) => tracing::debug!(%error, "looking at everything"),
            }
        }
        self.finish_commit()?;
        self.read_status(false)?;
        // Whoever is shown a commit finds it finished.
        if self.finish_commit()? {
            self.read_status(false)?;
        }
        Ok(Seen::Everything)
    }

    /// Finishes a commit of an earlier host that was made by now. Returns
    /// whether there was one.
    fn finish_commit(&mut self) -> GitResult<bool> {
        if !self.is_committing {
            return Ok(false);
        }
        self.is_committing = self.bench().resume_commit()?;
        Ok(!self.is_committing)
    }

    /// Looks at everything; or, if `once` was enough, at nothing.
    pub(super) fn read_status(&mut self, once: bool) -> GitResult<()> {
        if self.status.is_none() || !once {
            if self.repository.is_shadow {
                self.base()?;
            }
            self.status = Some(Status::read(&self.repository)?);
            let stand = self.stand()?;
            if let Some(status) = &mut self.status {
                status.git.base = stand.base;
                status.git.has_own_work = stand.has_own_work;
            }
        }
        Ok(())
    }

    /// What is not followed is not known.
    pub(super) fn stop_watching(&mut self) {
        self.watch = Watch::Off;
        self.dirt = Dirt::default();
        self.since_kept = None;
        self.status = None;
        self.blobs = None;
    }

    fn blobs(&mut self) -> GitResult<&mut Blobs> {
        if self.blobs.is_none() {
            self.blobs = Some(Blobs::new(&self.repository)?);
        }
        self.blobs.as_mut().ok_or_else(nowhere)
    }

    /// What git says, if that is new.
    pub(super) fn git_news(&mut self) -> Option<GitState> {
        let state = &self.status.as_ref()?.git;
        if self.repository.is_shadow || self.told.as_ref() == Some(state) {
            return None;
        }
        self.told = Some(state.clone());
        Some(state.clone())
    }

    // Operations

    /// Those of some files that are here, or all that are here if none is
    /// named. `None` if files are named, and all of them are elsewhere.
    pub(super) fn named(&self, files: &[String]) -> Option<Which> {
        let here = files.iter().filter_map(|uri| self.names.path_of(uri));
        let here: Which = here.collect();
        (files.is_empty() || !here.is_empty()).then_some(here)
    }

    /// Whether there is anything to commit.
    pub(super) fn has_uncommitted(&self) -> GitResult<bool> {
        let uncommitted = || Status::read(&self.repository).map(|it| it.git.uncommitted > 0);
        Ok(!self.repository.is_shadow && uncommitted()?)
    }

    pub(super) fn bench(&mut self) -> Bench<'_> {
        // It may keep states of its own.
        self.since_kept = None;
        Bench {
            repository: &self.repository,
            tree: &self.tree,
            checkpoints: &mut self.checkpoints,
        }
    }
}

pub(super) fn nowhere() -> GitError {
    GitError::Other("no changes can be told in this directory".to_owned())
}
