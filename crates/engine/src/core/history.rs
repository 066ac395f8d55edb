//! History: folding the stored log into a chat, and naming a place among its
//! finished turns.

use ahp::reducers::apply_action_to_chat;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use innkeeper_protocol::action_traits::traits_of;
use innkeeper_protocol::newest::state::{
    ChatState, ResponsePart, ToolCallAuthRequiredState, ToolCallState,
};
use innkeeper_protocol::record::LoadedChat;
use innkeeper_protocol::snapshot::StoredTurn;
use serde::Deserialize as _;

/// Brings a stored chat up to the end of the log.
pub fn fold_log(loaded: &mut LoadedChat) {
    let LoadedChat { record, log, .. } = loaded;
    read_waiting_calls(&mut record.head);
    for entry in log.drain(..) {
        let missed = entry.after(record.seq);
        if let Some(missed) = missed.filter(|missed| traits_of(&missed.action).is_within_turn) {
            apply_action_to_chat(&mut record.head, &missed.action);
        }
    }
}

/// The protocol's own types do not read what they write of a call that waits for
/// a sign-in: the field by which its kind is told is taken from it.
fn read_waiting_calls(head: &mut ChatState) {
    let turn = head.active_turn.as_mut();
    for part in turn.into_iter().flat_map(|turn| &mut turn.response_parts) {
        if let ResponsePart::ToolCall(part) = part
            && let ToolCallState::Unknown(call) = &part.tool_call
            && call["status"] == "auth-required"
            && let Ok(call) = ToolCallAuthRequiredState::deserialize(call)
        {
            part.tool_call = ToolCallState::AuthRequired(Box::new(call));
        }
    }
}

/// Nor do they write it well: its status stands there twice, and a gate that
/// changes one leaves the other. What clients are shown has it once.
pub(crate) fn write_waiting_calls(head: &mut ChatState) {
    let turn = head.active_turn.as_mut();
    for part in turn.into_iter().flat_map(|turn| &mut turn.response_parts) {
        if let ResponsePart::ToolCall(part) = part
            && matches!(part.tool_call, ToolCallState::AuthRequired(_))
            && let Ok(call) = serde_json::to_value(&part.tool_call)
        {
            part.tool_call = ToolCallState::Unknown(call);
        }
    }
}

/// Stands for "the turns before this one".
pub(crate) fn cursor_before(turn: &StoredTurn) -> String {
    URL_SAFE_NO_PAD.encode(turn.id.as_bytes())
}

pub(crate) fn turn_of_cursor(cursor: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use innkeeper_protocol::newest::state::ToolCallResponsePart;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_status_of_a_call_that_waits_for_a_sign_in_is_written_once() {
        let call = json!({
            "toolCallId": "c", "toolName": "look", "displayName": "Look",
            "invocationMessage": "Look", "confirmed": "not-needed", "status": "auth-required",
            "auth": {"reason": "expired", "resource": {"resource": "https://rows.example"}},
        });
        let call = Box::new(ToolCallAuthRequiredState::deserialize(&call).unwrap());
        let part = ResponsePart::ToolCall(Box::new(ToolCallResponsePart {
            tool_call: ToolCallState::AuthRequired(call),
        }));
        let head = json!({
            "resource": "x", "title": "", "status": 1, "modifiedAt": "", "turns": [],
            "activeTurn": {
                "id": "t", "startedAt": "", "message": {"text": "", "origin": {"kind": "user"}},
                "responseParts": [],
            },
        });
        let mut head = ChatState::deserialize(&head).unwrap();
        let turn = head.active_turn.as_mut().unwrap();
        turn.response_parts.push(part);
        write_waiting_calls(&mut head);
        let written = serde_json::to_string(&head).unwrap();
        assert_eq!(written.matches("auth-required").count(), 1, "{written}");
        read_waiting_calls(&mut head);
        let turn = head.active_turn.unwrap();
        let ResponsePart::ToolCall(part) = &turn.response_parts[0] else {
            panic!("{turn:?}");
        };
        assert!(matches!(part.tool_call, ToolCallState::AuthRequired(_)));
    }
}
