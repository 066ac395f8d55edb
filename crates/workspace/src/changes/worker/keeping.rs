//! What is kept for a session: states of its directories and its working tree.
//! And what goes with it.

use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::state::ChangesSummary;
use innkeeper_protocol::workspace::changes::{ChangesEvent, Compared, Moment, component};

use super::views::View;
use super::{Job, Worker, outermost};
use crate::changes::git::{GitResult, create_private};
use crate::changes::place::{Place, nowhere};
use crate::changes::trees::Counts;
use crate::changes::worktree;
use crate::resources::place::{path_of_uri, uri_of_path};

/// How long the removal of a working tree waits for others who worked there.
const NEIGHBOURS_PATIENCE: Duration = Duration::from_secs(10);

/// Workers that are to come to an end with what they do.
#[derive(Debug)]
pub(in crate::changes) struct Neighbours {
    /// Each of them says so.
    pub(in crate::changes) done: Receiver<()>,
    pub(in crate::changes) count: usize,
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

    pub(super) fn remove_trees(&self, trees: &[PathBuf], others: &Neighbours) {
        if !others.are_done() {
            let session = &self.session;
            return tracing::warn!(%session, ?trees, "working trees stay: others are busy there");
        }
        trees
            .iter()
            .for_each(|tree| worktree::remove_or_say_why(tree, &self.paths.stand_ins));
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
