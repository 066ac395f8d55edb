//! Turns that the host ends because they went beyond a limit. A turn is one row
//! of the store and is held in memory as a whole, and what an agent names is
//! looked up by its name, so there is a limit to either.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{AgentCommand, Approval, TurnEvent};
use innkeeper_protocol::bounds::{MAX_ID_BYTES, cut};
use innkeeper_protocol::newest::actions::{ChatTurnCancelledAction, StateAction};
use innkeeper_protocol::newest::state::ErrorInfo;

use super::questions;
use super::{Ending, TurnsMut};
use crate::core::error_info;
use crate::labels::Label;

impl TurnsMut<'_> {
    /// Ends the turn of a chat that has become too large.
    pub(crate) fn end_overgrown(&mut self, uri: &ChannelUri) {
        let most = self.core.config.limits.turn_bytes;
        let reason = Label::TurnTooLarge { most }.text(self.locale_of_turn(uri));
        self.stop_turn(uri, error_info("turnTooLarge", reason));
    }

    /// Ends the turn of a chat whose agent named something that nobody can
    /// call by that name.
    pub(super) fn end_for_name(&mut self, uri: &ChannelUri) {
        let most = MAX_ID_BYTES;
        let reason = Label::IdTooLong { most }.text(self.locale_of_turn(uri));
        self.stop_turn(uri, error_info("idTooLong", reason));
    }

    /// The host cancels the turn of a chat, as a client would.
    pub(crate) fn cancel_turn(&mut self, uri: &ChannelUri) {
        self.tell_wait(uri);
        let Some(turn) = self.own.take_turn(uri) else {
            return;
        };
        self.withdraw_all_questions(uri);
        let duration = turn.duration(self.core.measured());
        let cancelled = ChatTurnCancelledAction {
            turn_id: turn.id.to_string(),
            duration,
            meta: None,
        };
        self.core
            .emit(uri, StateAction::ChatTurnCancelled(cancelled), None);
        self.turn_cancelled(uri, &turn);
    }

    /// Lets go of a chat's turn and of its agent, and leaves the chat as it is:
    /// it is about to be read anew.
    pub(crate) fn abandon_turn(&mut self, uri: &ChannelUri) {
        if let Some(turn) = self.own.turn(uri) {
            self.terminals.end_runs_of(self.core, uri, &turn.id);
            self.servers.end_calls_of(self.core, uri);
        }
        if let Some(backend) = self.own.backend(uri).map(|backend| backend.id) {
            // The turns that it delegated are in chats of the same session.
            self.own.delegates.retain(|(by, _), _| *by != backend);
        }
    }

    /// Ends a turn, says why, and stops its agent. What the agent says until it
    /// has stopped is dropped, as after a cancel.
    fn stop_turn(&mut self, uri: &ChannelUri, error: ErrorInfo) {
        let Some(turn) = self.own.turn(uri) else {
            return;
        };
        let id = turn.id.clone();
        let works = turn.prompted && !turn.by_host && !turn.recounted;
        let backend = self.backend_at_work(uri).filter(|_| works);
        tracing::warn!(chat = %uri, error = error.error_type, "the host ended a turn");
        // It would come to the same end when it is resumed.
        let resumable = false;
        self.end_turn(uri, Ending::Error { error, resumable });
        if let Some(backend) = backend {
            self.core
                .tell_agent(AgentCommand::Cancel { backend, turn: id });
        }
    }
}

/// Brings the names in an event to a length that they may have. Returns whether
/// one remains that is too long: agents are asked to bound their ids
/// themselves, since only they can tell what a shortened one stands for.
pub(super) fn has_long_name(event: &mut TurnEvent) -> bool {
    let is_long = |id: &str| id.len() > MAX_ID_BYTES;
    match event {
        TurnEvent::ToolStarted(start) => {
            // It is shown, and nobody is looked up by it.
            if is_long(&start.name) {
                start.name = cut(&start.name, MAX_ID_BYTES).to_owned();
            }
            is_long(&start.call)
        }
        TurnEvent::ToolReady(ready) => {
            let options = match &ready.approval {
                Approval::Needed(request) => &request.options[..],
                Approval::NotNeeded => &[],
            };
            is_long(&ready.call) || options.iter().any(|option| is_long(&option.id))
        }
        TurnEvent::ToolInput { call, .. }
        | TurnEvent::ToolContent { call, .. }
        | TurnEvent::ToolFinished { call, .. }
        | TurnEvent::ToolInterrupted { call } => is_long(call),
        TurnEvent::FileEdited(edited) => is_long(&edited.call),
        TurnEvent::RunCommand(run) => is_long(&run.run),
        TurnEvent::WriteFile { write } => is_long(write),
        TurnEvent::ReadCommand { run } | TurnEvent::StopCommand { run } => is_long(run),
        TurnEvent::Ask(request) => {
            let mut questions = request.questions.iter().flatten();
            is_long(&request.id) || questions.any(|it| questions::id_of(it).is_some_and(is_long))
        }
        TurnEvent::AskToSignIn(question) => is_long(&question.request),
        TurnEvent::AskWithdrawn { request } => is_long(request),
        TurnEvent::Delegated(delegation) => is_long(&delegation.call) || is_long(&delegation.turn),
        TurnEvent::Text(_)
        | TurnEvent::Reasoning(_)
        | TurnEvent::Break
        | TurnEvent::Content { .. }
        | TurnEvent::Usage(_)
        | TurnEvent::Activity(_)
        | TurnEvent::Notice(_)
        | TurnEvent::Unknown { .. }
        | TurnEvent::Steered { .. }
        | TurnEvent::InBackground
        | TurnEvent::StopReason(_)
        | TurnEvent::Completed
        | TurnEvent::Cancelled
        | TurnEvent::Failed { .. } => false,
    }
}
