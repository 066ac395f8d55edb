//! What a session waits for, over all its chats, in one list. Derived from the
//! chats whenever one of them changed.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    SessionInputNeededRemovedAction, SessionInputNeededSetAction, StateAction,
};
use innkeeper_protocol::newest::state::SessionInputRequest;

use super::SessionsMut;
use crate::turns::requests_of;

impl SessionsMut<'_> {
    pub(super) fn update_input_needed(&mut self, uri: &ChannelUri) {
        let core = &mut *self.turns.core;
        let Some(session) = core.channels.session(uri) else {
            return;
        };
        let chats = session.state.chats.iter();
        let heads = chats.filter_map(|chat| core.channels.chat(chat.resource.as_str()));
        let needed: Vec<SessionInputRequest> =
            heads.flat_map(|chat| requests_of(&chat.head)).collect();
        let known = session.state.input_needed.as_deref().unwrap_or_default();
        let over: Vec<String> = known
            .iter()
            .filter_map(key_of)
            .filter(|key| !needed.iter().any(|request| key_of(request) == Some(key)))
            .map(str::to_owned)
            .collect();
        let new: Vec<SessionInputRequest> = needed
            .into_iter()
            .filter(|request| !known.contains(request))
            .collect();
        for id in over {
            let action = SessionInputNeededRemovedAction { id };
            core.emit(uri, StateAction::SessionInputNeededRemoved(action), None);
        }
        for request in new {
            let action = SessionInputNeededSetAction { request };
            core.emit(
                uri,
                StateAction::SessionInputNeededSet(Box::new(action)),
                None,
            );
        }
    }
}

fn key_of(request: &SessionInputRequest) -> Option<&str> {
    match request {
        SessionInputRequest::ChatInput(request) => Some(&request.id),
        SessionInputRequest::ToolConfirmation(request) => Some(&request.id),
        SessionInputRequest::ToolClientExecution(request) => Some(&request.id),
        SessionInputRequest::ToolAuthentication(request) => Some(&request.id),
        SessionInputRequest::Unknown(_) => None,
    }
}
