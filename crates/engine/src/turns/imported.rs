//! Turns that were over before the host had the conversation: a session that
//! goes on with one that its agent had alone. They happen once more, all at
//! once, for the record: nobody is asked to do anything.

use innkeeper_protocol::agent::{PastTurn, TurnEvent};
use innkeeper_protocol::newest::actions::{ChatTurnStartedAction, StateAction};
use innkeeper_protocol::newest::state::MessageKind;
use innkeeper_protocol::{ChannelUri, TurnId};

use super::beginning::title_from;
use super::running::RunningTurn;
use super::{Ending, TurnsMut};
use crate::core::channels::plain_message;
use crate::labels::Locale;

impl TurnsMut<'_> {
    pub(super) fn recount(&mut self, uri: &ChannelUri, turns: Vec<PastTurn>) {
        let chat = self.core.channels.chat(uri);
        let is_new = !self.own.runs_in(uri);
        let Some(chat) = chat.filter(|chat| chat.turns.is_empty() && is_new) else {
            return;
        };
        let session = chat.session.clone();
        if chat.is_default
            && let Some(title) = turns.first().and_then(|turn| title_from(&turn.asked))
        {
            self.set_title(&session, title);
        }
        let locale = self.core.channels.locale_of(&session);
        for past in turns {
            self.recount_turn(uri, past, locale);
        }
    }

    fn recount_turn(&mut self, uri: &ChannelUri, past: PastTurn, locale: Locale) {
        let turn_id = self.core.new_name();
        let started = ChatTurnStartedAction {
            turn_id: turn_id.clone(),
            started_at: self.core.now.to_string(),
            message: plain_message(MessageKind::User, past.asked),
            queued_message_id: None,
            meta: None,
        };
        self.core
            .emit(uri, StateAction::ChatTurnStarted(started), None);
        let running = RunningTurn {
            prompted: true,
            recounted: true,
            ..RunningTurn::new(&turn_id, self.core.measured(), locale)
        };
        self.own.set_turn(uri, running);
        let turn: TurnId = TurnId::from(turn_id);
        let happened = past.events.into_iter().filter(is_record);
        for event in happened {
            self.turn_event(uri, &turn, event);
            if self.core.take_overgrown(uri) {
                // Of what was long ago, the beginning is better than nothing.
                break;
            }
        }
        self.end_turn(uri, Ending::Complete);
    }
}

/// Whether an event only says what was, and has nothing done by anybody.
fn is_record(event: &TurnEvent) -> bool {
    match event {
        TurnEvent::Text(_)
        | TurnEvent::Reasoning(_)
        | TurnEvent::Break
        | TurnEvent::Content { .. }
        | TurnEvent::Usage(_)
        | TurnEvent::Notice(_)
        | TurnEvent::Unknown { .. }
        | TurnEvent::ToolStarted(_)
        | TurnEvent::ToolInput { .. }
        | TurnEvent::ToolReady(_)
        | TurnEvent::ToolContent { .. }
        | TurnEvent::FileEdited(_)
        | TurnEvent::ToolFinished { .. }
        | TurnEvent::ToolInterrupted { .. } => true,
        TurnEvent::Activity(_)
        | TurnEvent::RunCommand(_)
        | TurnEvent::WriteFile { .. }
        | TurnEvent::ReadCommand { .. }
        | TurnEvent::StopCommand { .. }
        | TurnEvent::Ask(_)
        | TurnEvent::AskToSignIn(_)
        | TurnEvent::AskWithdrawn { .. }
        | TurnEvent::Steered { .. }
        | TurnEvent::Delegated(_)
        | TurnEvent::InBackground
        | TurnEvent::StopReason(_)
        | TurnEvent::Completed
        | TurnEvent::Cancelled
        | TurnEvent::Failed { .. } => false,
    }
}
