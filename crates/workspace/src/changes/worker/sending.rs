//! Operations that speak to a remote. They take as long as the remote does, so
//! they run alongside the worker, which goes on meanwhile; and they are ended when
//! nobody waits for them.

use innkeeper_protocol::workspace::changes::{
    ChangesError, ChangesEvent, OperationDone, OperationId, PushError, Sent,
};

use super::{Job, Worker};
use crate::changes::git::{GitResult, Repository, Stop, alongside};
use crate::changes::pull_request::{self, Forge, Wanted};
use crate::changes::push::{Target, push};

/// What a session's repository is to send, and what has become of it.
pub(super) type Outcome = Result<Vec<OperationDone>, ChangesError>;

impl Worker {
    /// Pushes, and with a message asks for it to be merged too.
    pub(super) fn send(&mut self, operation: OperationId, message: Option<String>) {
        let begun = match (self.git_place(), self.sending.is_empty()) {
            (None, _) => Err(ChangesError::NoRepository),
            (_, false) => Err(PushError::Busy.into()),
            (Some(at), true) => self.begin_to_send(at, operation, message),
        };
        if let Err(error) = begun {
            self.told(operation, Err(error));
        }
    }

    fn begin_to_send(
        &mut self,
        at: usize,
        operation: OperationId,
        message: Option<String>,
    ) -> Result<(), ChangesError> {
        let stop = Stop::default();
        let base = self.places[at].stand()?.base;
        let repository = self.places[at].repository.clone();
        let (ears, ending) = (self.ears.clone(), stop.clone());
        alongside(move || {
            let sent = sent(&repository, base.as_deref(), message.as_deref(), &ending);
            let sent = sent.map_err(ChangesError::from);
            let _ = ears.jobs.send(Job::Sent(operation, sent));
            ears.bell.ring();
        })?;
        self.sending.insert(operation, stop);
        Ok(())
    }

    /// One of them is over.
    pub(super) fn sent(&mut self, operation: OperationId, sent: Outcome) {
        self.sending.remove(&operation);
        if let (Ok(_), Some(at)) = (&sent, self.git_place())
            && let Err(error) = self.places[at].bench().forget_undo()
        {
            // A commit that others have must not be taken back.
            tracing::debug!(session = %self.session, %error, "an undo is still offered");
        }
        self.told(operation, sent);
        self.look_at_everything();
        self.watch_if_needed();
    }

    pub(super) fn cancel(&self, operation: OperationId) {
        if let Some(stop) = self.sending.get(&operation) {
            stop.say();
        }
    }

    pub(super) fn cancel_all(&self) {
        self.sending.values().for_each(Stop::say);
    }

    fn told(&mut self, operation: OperationId, outcome: Outcome) {
        let undo = self.can_undo();
        (self.tell)(ChangesEvent::Operated {
            operation,
            outcome,
            undo,
        });
    }
}

fn sent(
    repository: &Repository,
    base: Option<&str>,
    message: Option<&str>,
    stop: &Stop,
) -> GitResult<Vec<OperationDone>> {
    let target = Target::find(repository)?;
    if message.is_some() && base == Some(target.branch.as_str()) {
        let error = PushError::OnBase(target.branch);
        return Err(ChangesError::from(error).into());
    }
    let pushed = push(repository, &target, stop)?;
    let Some(message) = message else {
        return Ok(vec![OperationDone::Sent(Sent::Pushed(pushed))]);
    };
    let forge = Forge::of(&target.address);
    let wanted = Wanted {
        branch: &target.branch,
        base,
        message,
    };
    let page = pushed.page.clone();
    let asked = pull_request::create(forge.as_ref(), &wanted, page, stop)?;
    let all = [Sent::Pushed(pushed), asked];
    Ok(all.map(OperationDone::Sent).into())
}
