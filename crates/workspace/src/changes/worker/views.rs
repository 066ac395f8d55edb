//! Views: what is compared while somebody looks, and how it is kept up to date
//! when something changes.

use std::time::Instant;

use innkeeper_protocol::newest::state::ChangesetFile;
use innkeeper_protocol::workspace::changes::{
    ChangesError, ChangesEvent, Compared, ViewId, ViewNews,
};
use serde_json::json;

use super::{Worker, nothing_kept};
use crate::changes::git::{GitError, GitResult};
use crate::changes::live::Difference;
use crate::changes::place::{Part, Place, Seen, Watch, nowhere};
use crate::changes::watcher::roots;

pub(super) struct View {
    pub(super) compared: Compared,
    /// One of each place; none while it could not be computed.
    parts: Vec<Part>,
    /// The last that was told is that it cannot be.
    failed: bool,
    /// It shows a turn, and the state before that was kept late.
    late: bool,
}

impl View {
    pub(super) fn new(compared: Compared) -> Self {
        Self {
            compared,
            parts: Vec::new(),
            failed: false,
            late: false,
        }
    }

    fn files(&self) -> Vec<ChangesetFile> {
        self.told(self.parts.iter().flat_map(Part::files).collect())
    }

    /// Files, as the view tells of them.
    fn told(&self, mut files: Vec<ChangesetFile>) -> Vec<ChangesetFile> {
        for file in files.iter_mut().filter(|_| self.late) {
            let meta = file.meta.get_or_insert_default();
            meta.insert("innkeeper".to_owned(), json!({"stateBefore": "late"}));
        }
        files
    }

    fn is_live_in(&self, place: usize) -> bool {
        matches!(self.parts.get(place), Some(Part::Live(_)))
    }

    fn is_live(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Live(_)))
    }
}

impl Worker {
    pub(super) fn open_view(&mut self, id: ViewId) {
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
        view.late = match &view.compared {
            Compared::Turn(turn) => {
                let late = self.places.iter().map(|place| place.is_late(turn));
                late.collect::<GitResult<Vec<_>>>()?.contains(&true)
            }
            _ => false,
        };
        Ok(view.files())
    }

    fn tell_git_news(&mut self) {
        let place = self.git_place().and_then(|at| self.places.get_mut(at));
        if let Some(state) = place.and_then(Place::git_news) {
            (self.tell)(ChangesEvent::Git(state));
        }
    }

    pub(super) fn hear(&mut self, place: usize, event: notify::Result<notify::Event>) {
        if let Some(place) = self.places.get_mut(place) {
            place.hear(event);
            if !place.dirt.is_empty() {
                self.dirty_since.get_or_insert_with(Instant::now);
            }
        }
    }

    pub(super) fn settle(&mut self) {
        self.dirty_since = None;
        // What happens there after this look is told.
        self.hub.catch_up_with_directories();
        let seen: Vec<GitResult<Seen>> = self.places.iter_mut().map(Place::refresh).collect();
        self.follow(&seen);
    }

    pub(super) fn look_at_everything(&mut self) {
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
                        failure.get_or_insert(ChangesError::Other(error.to_string()));
                        continue;
                    }
                    Ok(Seen::Nothing) if !view.failed => continue,
                    Ok(Seen::Paths(paths)) if !view.failed => Some(paths),
                    Ok(_) => None,
                };
                let looked = match (&view.compared, paths) {
                    // Where it began may have moved.
                    (Compared::Branch, None) => place.base_of_branch().and_then(|base| {
                        live.compare_with(base);
                        place.look(live, None)
                    }),
                    _ => place.look(live, paths),
                };
                match looked {
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
                    set: view.told(change.set),
                    removed: change.removed,
                },
            };
            (self.tell)(ChangesEvent::View { view: *id, news });
        }
    }

    /// Watches while somebody looks. What changed before the watch began is
    /// found by looking once more.
    pub(super) fn watch_if_needed(&mut self) {
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
            let ears = self.ears.clone();
            let hear = move |event| ears.hear(at, event);
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
}
