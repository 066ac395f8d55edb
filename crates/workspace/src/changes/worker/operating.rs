//! Operations on files, in all places that they concern.

use innkeeper_protocol::workspace::changes::{
    ChangesError, ChangesEvent, Compared, Lines, Moment, Operation, OperationDone, OperationId,
};

use super::{Worker, nothing_kept};
use crate::changes::checkpoint::before_take_back;
use crate::changes::git::GitResult;
use crate::changes::operations::Which;
use crate::changes::place::Place;

impl Worker {
    pub(super) fn operate(&mut self, operation: OperationId, what: Operation) {
        let outcome = self.operated(what).map_err(ChangesError::from);
        let undo = self.can_undo();
        (self.tell)(ChangesEvent::Operated {
            operation,
            outcome,
            undo,
        });
        self.look_at_everything();
        self.watch_if_needed();
        self.count(false);
    }

    pub(super) fn can_undo(&mut self) -> bool {
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
            Operation::DiscardLines { of, lines } => {
                let places = self.put_back_lines(&of, &lines)?;
                Ok(vec![OperationDone::PlacesAsBefore(places)])
            }
            Operation::Restore { to, files } => {
                let find = |place: &mut Place| place.kept(&to);
                let (Moment::BeforeTurn(turn) | Moment::AfterTurn(turn)) = &to;
                let turn = Compared::Turn(turn.clone());
                let files = self.put_back(&files, find, false)?;
                let files = files.ok_or_else(|| nothing_kept(&turn))?;
                Ok(vec![OperationDone::FilesAsThen(files)])
            }
            Operation::TakeBack { turn, kept_as } => self.take_back(turn, &kept_as),
            Operation::UndoTakeBack { kept_as } => {
                let name = before_take_back(&kept_as);
                let find = |place: &mut Place| place.named_state(&name);
                let files = self.put_back(&[], find, false)?;
                let files = files.ok_or(ChangesError::NotKept)?;
                Ok(vec![OperationDone::FilesAsThen(files)])
            }
            Operation::Commit { message } => self.commit(&message),
            Operation::Undo => self.undo(),
            Operation::BringInto { directory } => self.bring_into(&directory),
            // They run alongside the worker.
            Operation::Push | Operation::CreatePullRequest { .. } => Ok(Vec::new()),
        }
    }

    /// Makes all files what they were before a turn, and keeps what they are
    /// under a name of its own. If that fails, they are what they are.
    fn take_back(&mut self, turn: String, kept_as: &str) -> GitResult<Vec<OperationDone>> {
        let moment = Moment::BeforeTurn(turn);
        let mut is_known = false;
        for place in &self.places {
            is_known |= place.kept(&moment)?.is_some();
        }
        if !is_known {
            return Err(ChangesError::NotKept.into());
        }
        let name = before_take_back(kept_as);
        for place in &mut self.places {
            place.keep_as(&name)?;
        }
        let outcome = self.put_back(&[], |place| place.kept(&moment), false);
        if outcome.is_err() {
            let as_it_was = self.put_back(&[], |place| place.named_state(&name), false);
            if let Err(error) = as_it_was {
                tracing::warn!(session = %self.session, %error, "some files stay taken back");
            }
        }
        let files = outcome?.ok_or(ChangesError::NotKept)?;
        Ok(vec![OperationDone::FilesAsThen(files)])
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
                return Err(ChangesError::Outside(uri.clone()).into());
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

    fn put_back_lines(&mut self, of: &Compared, lines: &Lines) -> GitResult<usize> {
        let only = |uri: &String| std::slice::from_ref(uri).to_vec();
        let mut places = self.places.iter_mut();
        let found = places.find_map(|place| {
            let after = place.named(&only(&lines.file))?;
            let before = place.named(&only(&lines.file_before))?;
            let both = before.into_iter().next().zip(after.into_iter().next())?;
            Some((place, both))
        });
        let Some((place, (before, after))) = found else {
            return Err(ChangesError::Outside(lines.file.clone()).into());
        };
        let to = place.base_of(of)?.ok_or_else(|| nothing_kept(of))?;
        place.bench().put_back_lines(&to, (&before, &after), lines)
    }

    /// Commits in each repository that has something to commit.
    fn commit(&mut self, message: &str) -> GitResult<Vec<OperationDone>> {
        let Some(first) = self.git_place() else {
            return Err(ChangesError::NoRepository.into());
        };
        let mut concerned = Vec::new();
        for place in &self.places {
            concerned.push(place.has_uncommitted()?);
        }
        let nothing = !concerned.contains(&true);
        // A merge may be left to commit. If there is none, git refuses.
        concerned[first] |= nothing;
        let mut commits = Vec::new();
        for (place, concerned) in self.places.iter_mut().zip(concerned) {
            let mut bench = place.bench();
            match concerned {
                true => commits.push(match bench.commit(message) {
                    Err(_) if nothing => return Err(ChangesError::NothingToCommit.into()),
                    made => made?,
                }),
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
            true => Err(ChangesError::NothingToUndo.into()),
            false => Ok(done),
        }
    }
}
