//! What a session waits for, over all its chats, in one list: questions,
//! confirmations, and tools that clients have to run. Derived from the chats
//! whenever one of them changed.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::actions::{
    SessionInputNeededRemovedAction, SessionInputNeededSetAction, StateAction,
};
use innkeeper_protocol::house::state::{
    ChatState, ResponsePart, SessionChatInputRequest, SessionInputRequest,
    SessionToolClientExecutionRequest, SessionToolConfirmationRequest, ToolCallConfirmationState,
    ToolCallRunningState, ToolCallState,
};

use crate::Engine;
use crate::tools::owner_of;

impl Engine {
    pub(crate) fn update_input_needed(&mut self, uri: &ChannelUri) {
        let Some(session) = self.sessions.get(uri) else {
            return;
        };
        let chats = session.state.chats.iter();
        let heads = chats.filter_map(|chat| self.chats.get(chat.resource.as_str()));
        let needed: Vec<SessionInputRequest> =
            heads.flat_map(|chat| waits_for(&chat.head)).collect();
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
            self.emit(uri, StateAction::SessionInputNeededRemoved(action), None);
        }
        for request in new {
            let action = SessionInputNeededSetAction { request };
            self.emit(
                uri,
                StateAction::SessionInputNeededSet(Box::new(action)),
                None,
            );
        }
    }

    /// Whether the turn of a chat cannot go on before a person did something.
    pub(crate) fn waits_for_a_person(&self, chat: &ChannelUri) -> bool {
        let Some(chat) = self.chats.get(chat) else {
            return false;
        };
        // A delegated turn cannot go on without the one that delegated it.
        let is_own = !matches!(
            chat.head.origin,
            Some(innkeeper_protocol::house::state::ChatOrigin::Tool { .. })
        );
        is_own
            && waits_for(&chat.head)
                .any(|request| !matches!(request, SessionInputRequest::ToolClientExecution(_)))
    }
}

/// What the active turn of a chat waits for.
fn waits_for(chat: &ChatState) -> impl Iterator<Item = SessionInputRequest> + '_ {
    let turn = chat.active_turn.iter();
    turn.flat_map(|turn| {
        let parts = turn.response_parts.iter();
        parts.filter_map(|part| request_of(&chat.resource, &turn.id, part))
    })
}

fn request_of(chat: &str, turn_id: &str, part: &ResponsePart) -> Option<SessionInputRequest> {
    let key = |id: &str| format!("{chat}#{turn_id}/{id}");
    let confirmation = |id: &str, tool_call| {
        SessionInputRequest::ToolConfirmation(SessionToolConfirmationRequest {
            id: key(id),
            chat: chat.to_owned(),
            turn_id: turn_id.to_owned(),
            tool_call,
        })
    };
    match part {
        ResponsePart::InputRequest(part) if part.response.is_none() => {
            Some(SessionInputRequest::ChatInput(SessionChatInputRequest {
                id: key(&part.request.id),
                chat: chat.to_owned(),
                request: part.request.clone(),
            }))
        }
        ResponsePart::ToolCall(part) => match &part.tool_call {
            ToolCallState::PendingConfirmation(call) => Some(confirmation(
                &call.tool_call_id,
                ToolCallConfirmationState::PendingConfirmation(call.clone()),
            )),
            ToolCallState::PendingResultConfirmation(call) => Some(confirmation(
                &call.tool_call_id,
                ToolCallConfirmationState::PendingResultConfirmation(call.clone()),
            )),
            ToolCallState::Running(call) => {
                let client_id = owner_of(call.contributor.as_ref())?.to_owned();
                Some(SessionInputRequest::ToolClientExecution(
                    SessionToolClientExecutionRequest {
                        id: key(&call.tool_call_id),
                        chat: chat.to_owned(),
                        turn_id: turn_id.to_owned(),
                        client_id,
                        // What it has produced so far is for the chat only.
                        tool_call: ToolCallRunningState {
                            content: None,
                            ..call.clone()
                        },
                    },
                ))
            }
            _ => None,
        },
        _ => None,
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
