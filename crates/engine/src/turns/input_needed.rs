//! What a chat's turn waits for: questions, confirmations, sign-ins, and tools
//! that clients have to run.

use innkeeper_protocol::newest::state::{
    ChatOrigin, ChatState, ResponsePart, SessionChatInputRequest, SessionInputRequest,
    SessionToolAuthenticationRequest, SessionToolClientExecutionRequest,
    SessionToolConfirmationRequest, ToolCallAuthRequiredState, ToolCallConfirmationState,
    ToolCallRunningState, ToolCallState,
};

use super::tools::owner_of;

/// Whether the turn of a chat can go on in the next life of the host, when a
/// person has done something.
pub(super) fn waits_for_a_person(chat: &ChatState) -> bool {
    // A delegated turn cannot go on without the one that delegated it, nor a
    // call without the one that runs it.
    let is_own = !matches!(chat.origin, Some(ChatOrigin::Tool { .. }));
    let mut requests = requests_of(chat);
    is_own
        && requests.any(|it| {
            !matches!(
                it,
                SessionInputRequest::ToolClientExecution(_)
                    | SessionInputRequest::ToolAuthentication(_)
            )
        })
}

/// What the active turn of a chat waits for.
pub(crate) fn requests_of(chat: &ChatState) -> impl Iterator<Item = SessionInputRequest> + '_ {
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
            ToolCallState::AuthRequired(call) => {
                let request = SessionToolAuthenticationRequest {
                    id: key(&call.tool_call_id),
                    chat: chat.to_owned(),
                    turn_id: turn_id.to_owned(),
                    tool_call: ToolCallAuthRequiredState {
                        content: None,
                        ..call.as_ref().clone()
                    },
                };
                let request = Box::new(request);
                Some(SessionInputRequest::ToolAuthentication(request))
            }
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
