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

/// Stands for "the turns before this one".
pub(crate) fn cursor_before(turn: &StoredTurn) -> String {
    URL_SAFE_NO_PAD.encode(turn.id.as_bytes())
}

pub(crate) fn turn_of_cursor(cursor: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}
