//! What every version can follow.
//!
//! The reducers of older versions differ from today's in a few places where no
//! gate can help, since the older version has no action that would say it. The
//! host keeps out of those places: every action passes [`follow`] before it is
//! applied and published, whoever it comes from.

use crate::newest::actions::StateAction;
use crate::newest::state::{
    ActiveTurn, InputRequestResponsePart, ResponsePart, ToolCallCancellationReason,
    ToolCallConfirmationReason, ToolCallContributor, ToolCallState, ToolInput,
};

/// Completes an action so that reducers of all versions make the same of it,
/// and says whether it may be applied at all.
///
/// - The `_meta` of a tool call is what its start said: up to 0.3 nothing
///   changes it later. The same goes for its intention and its MCP server.
/// - A call that already waits for confirmation is not made ready again:
///   today's reducer updates it, those up to 0.5 ignore that.
/// - A call that is made ready again says its input again, because reducers up
///   to 0.6 forget it; input is edited only where there is some.
/// - A call that waits for a sign-in does nothing, or fails with what it had
///   written: up to 0.5 it is shown as running.
/// - Questions are asked within a turn, and errors end one.
pub fn follow(action: &mut StateAction, turn: Option<&ActiveTurn>) -> bool {
    match action {
        StateAction::ChatToolCallDelta(a) => {
            a.meta = None;
            a.content.get_or_insert_default();
        }
        StateAction::ChatToolCallReady(a) => {
            a.meta = None;
            match call(turn, &a.turn_id, &a.tool_call_id) {
                Some(ToolCallState::PendingConfirmation(_) | ToolCallState::AuthRequired(_)) => {
                    return false;
                }
                Some(ToolCallState::Running(running)) => {
                    a.tool_input = a.tool_input.take().or_else(|| running.tool_input.clone());
                }
                _ => {}
            }
            let now = call(turn, &a.turn_id, &a.tool_call_id).map(described);
            let (intention, contributor) = now.unwrap_or_default();
            a.intention = a
                .intention
                .take()
                .filter(|it| Some(it) == intention.as_ref());
            a.contributor = a
                .contributor
                .take()
                .filter(|it| Some(it) == contributor.as_ref());
        }
        StateAction::ChatToolCallConfirmed(a) => {
            a.meta = None;
            let input = match call(turn, &a.turn_id, &a.tool_call_id) {
                Some(ToolCallState::PendingConfirmation(pending)) => pending.tool_input.as_ref(),
                _ => None,
            };
            if !matches!(input, Some(ToolInput::Inline(_))) {
                a.edited_tool_input = None;
            }
            // What reducers assume where it is left out.
            match a.approved {
                true => {
                    let assumed = ToolCallConfirmationReason::NotNeeded;
                    a.confirmed.get_or_insert(assumed);
                }
                false => {
                    let assumed = ToolCallCancellationReason::Denied;
                    a.reason.get_or_insert(assumed);
                }
            }
        }
        StateAction::ChatToolCallComplete(a) => {
            a.meta = None;
            if let Some(ToolCallState::AuthRequired(waiting)) =
                call(turn, &a.turn_id, &a.tool_call_id)
            {
                if a.result.success {
                    return false;
                }
                a.requires_result_confirmation = None;
                a.result.content = a.result.content.take().or_else(|| waiting.content.clone());
            }
        }
        StateAction::ChatToolCallResultConfirmed(a) => a.meta = None,
        StateAction::ChatToolCallContentChanged(a) => {
            a.meta = None;
            let now = call(turn, &a.turn_id, &a.tool_call_id);
            return !matches!(now, Some(ToolCallState::AuthRequired(_)));
        }
        StateAction::ChatToolCallAuthRequired(a) => a.meta = None,
        StateAction::ChatToolCallAuthResolved(a) => a.meta = None,
        StateAction::ChatInputRequested(_) => return turn.is_some(),
        StateAction::ChatResponsePart(a) => {
            return !matches!(
                a.part,
                ResponsePart::Error(_)
                    | ResponsePart::InputRequest(InputRequestResponsePart { response: None, .. })
            );
        }
        _ => {}
    }
    true
}

fn call<'a>(turn: Option<&'a ActiveTurn>, turn_id: &str, id: &str) -> Option<&'a ToolCallState> {
    let turn = turn.filter(|turn| turn.id == turn_id)?;
    turn.response_parts.iter().find_map(|part| match part {
        ResponsePart::ToolCall(part) if id_of(&part.tool_call) == Some(id) => Some(&part.tool_call),
        _ => None,
    })
}

fn id_of(call: &ToolCallState) -> Option<&str> {
    Some(match call {
        ToolCallState::Streaming(it) => &it.tool_call_id,
        ToolCallState::PendingConfirmation(it) => &it.tool_call_id,
        ToolCallState::Running(it) => &it.tool_call_id,
        ToolCallState::AuthRequired(it) => &it.tool_call_id,
        ToolCallState::PendingResultConfirmation(it) => &it.tool_call_id,
        ToolCallState::Completed(it) => &it.tool_call_id,
        ToolCallState::Cancelled(it) => &it.tool_call_id,
        ToolCallState::Unknown(_) => return None,
    })
}

fn described(call: &ToolCallState) -> (Option<String>, Option<ToolCallContributor>) {
    match call {
        ToolCallState::Streaming(it) => (it.intention.clone(), it.contributor.clone()),
        ToolCallState::Running(it) => (it.intention.clone(), it.contributor.clone()),
        _ => (None, None),
    }
}
