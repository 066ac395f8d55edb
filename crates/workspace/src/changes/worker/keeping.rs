//! What is kept for a session: states of its directories and its working tree.
//! And what goes with it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::state::ChangesSummary;
use innkeeper_protocol::workspace::changes::{ChangesEvent, Compared, Moment, component};

use super::views::View;
use super::{Job, Worker, outermost};
use crate::changes::git::{GitResult, StandIns, create_private};
use crate::changes::place::{Place, nowhere};
use crate::changes::trees::Counts;
use crate::changes::worktree;
use crate::resources::place::{path_of_uri, uri_of_path};

/// Working trees that go when the last session that works in them is done
/// there. While one of those is not, they stay: the next start looks again.
#[derive(Debug)]
pub(in crate::changes) struct Abandoned {
    trees: Vec<PathBuf>,
    stand_ins: Arc<StandIns>,
    /// How many are not done.
    busy: AtomicUsize,
}

impl Abandoned {
    pub(in crate::changes) fn new(
        trees: Vec<PathBuf>,
        stand_ins: &Arc<StandIns>,
        busy: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            trees,
            stand_ins: Arc::clone(stand_ins),
            busy: AtomicUsize::new(busy),
        })
    }

    /// One of them is done.
    pub(in crate::changes) fn leave(&self) {
        if self.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            let trees = self.trees.iter();
            trees.for_each(|tree| worktree::remove_or_say_why(tree, &self.stand_ins));
        }
    }
}

impl Worker {
    pub(super) fn isolate(&mut self, branch: Option<&str>) -> GitResult<String> {
        let (at, stand_ins) = (&self.paths.worktree, &self.paths.stand_ins);
        let name = self.session.as_str().rsplit('/').next().unwrap_or_default();
        let directory = self.directories.first().ok_or_else(nowhere)?;
        let made = worktree::create(directory, branch, (at, &component(name)), stand_ins)?;
        uri_of_path(&made).ok_or_else(nowhere)
    }

    pub(super) fn inherit(&mut self, from: &ChannelUri, directories: &[String], turns: &[String]) {
        let theirs = directories.iter().filter_map(|uri| path_of_uri(uri).ok());
        let theirs: Vec<PathBuf> = theirs.collect();
        for (place, theirs) in self.places.iter().zip(outermost(&theirs)) {
            let from = (from, theirs.as_path());
            if let Err(error) = place.inherit(&self.paths.root, from, turns) {
                tracing::warn!(session = %self.session, %error, "earlier turns show no changes");
            }
        }
    }

    /// What was kept for the session goes.
    pub(super) fn forget(&mut self) {
        let mut stays = false;
        for place in self.places.drain(..) {
            if let Err(error) = place.forget() {
                tracing::warn!(
                    session = %self.session, %error,
                    "checkpoints stay behind; the next start tries again to remove them"
                );
                stays = true;
            }
        }
        // Should it come back, it begins anew.
        self.directories.clear();
        // By these files the next start knows what is left.
        if stays {
            return;
        }
        match std::fs::remove_dir_all(&self.paths.own) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(session = %self.session, %error, "files stay behind");
            }
            _ => {}
        }
    }

    pub(super) fn checkpoint(&mut self, at: &Moment) -> GitResult<()> {
        if matches!(at, Moment::BeforeTurn(_)) {
            self.catch_up();
        }
        let mut failure = self.places.is_empty().then(nowhere);
        for place in &mut self.places {
            if let Err(error) = place.keep(at) {
                failure.get_or_insert(error);
            }
        }
        let (Moment::BeforeTurn(turn) | Moment::AfterTurn(turn)) = at;
        self.open_views_of(turn);
        self.watch_if_needed();
        failure.map_or(Ok(()), Err)
    }

    /// Hears of everything that has happened so far.
    fn catch_up(&mut self) {
        let heard = &self.paths.heard;
        let listens = self.places.iter().any(Place::hears_of_changes);
        if listens && create_private(heard).is_ok() && self.hub.catch_up(heard) {
            while let Ok(job) = self.jobs.try_recv() {
                match job {
                    Job::Heard(place, event) => self.hear(place, event),
                    other => self.waiting.push_back(other),
                }
            }
        } else {
            self.places.iter_mut().for_each(Place::may_have_changed);
        }
    }

    pub(super) fn mark_late(&mut self, turn: &str) {
        for place in &self.places {
            if let Err(error) = place.mark_late(turn) {
                tracing::warn!(session = %self.session, %error, "a state is not marked as late");
            }
        }
        self.open_views_of(turn);
    }

    /// Opens the views that show a turn, once more.
    fn open_views_of(&mut self, turn: &str) {
        let concerned = |view: &View| match &view.compared {
            Compared::Turn(of) => of == turn,
            Compared::Turns { original, modified } => original == turn || modified == turn,
            Compared::Uncommitted | Compared::Branch | Compared::Session => false,
        };
        let views = self.views.iter().filter(|(_, view)| concerned(view));
        for view in views.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.open_view(view);
        }
    }

    /// Tells how much has changed since the session began, if that is new. The
    /// present state may have been `kept` a moment ago.
    pub(super) fn count(&mut self, kept: bool) {
        let mut sum = Counts::default();
        for place in &mut self.places {
            match place.counts(kept) {
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
}
