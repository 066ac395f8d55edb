//! History: what belongs to a running turn, folding the stored log into a chat,
//! and naming a place among the finished turns.

use ahp::reducers::apply_action_to_chat;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use innkeeper_protocol::house::actions::StateAction;
use innkeeper_protocol::record::LoadedChat;
use innkeeper_protocol::snapshot::StoredTurn;

/// Whether an action changes nothing but the active turn (and what follows
/// from it). Such actions are not written to the chat's row: the log has them,
/// and [`fold_log`] applies them again.
pub(crate) fn is_within_turn(action: &StateAction) -> bool {
    matches!(
        action,
        StateAction::ChatDelta(_)
            | StateAction::ChatReasoning(_)
            | StateAction::ChatResponsePart(_)
            | StateAction::ChatUsage(_)
            | StateAction::ChatToolCallStart(_)
            | StateAction::ChatToolCallDelta(_)
            | StateAction::ChatToolCallReady(_)
            | StateAction::ChatToolCallConfirmed(_)
            | StateAction::ChatToolCallComplete(_)
            | StateAction::ChatToolCallResultConfirmed(_)
            | StateAction::ChatToolCallContentChanged(_)
            | StateAction::ChatToolCallAuthRequired(_)
            | StateAction::ChatToolCallAuthResolved(_)
            | StateAction::ChatInputRequested(_)
            | StateAction::ChatInputAnswerChanged(_)
            | StateAction::ChatInputCompleted(_)
    )
}

/// Whether an action may change what the session waits for.
pub(crate) fn may_need_somebody(action: &StateAction) -> bool {
    matches!(
        action,
        StateAction::ChatToolCallReady(_)
            | StateAction::ChatToolCallConfirmed(_)
            | StateAction::ChatToolCallComplete(_)
            | StateAction::ChatToolCallResultConfirmed(_)
            | StateAction::ChatInputRequested(_)
            | StateAction::ChatInputAnswerChanged(_)
            | StateAction::ChatInputCompleted(_)
    )
}

/// Brings a stored chat up to the end of the log.
pub fn fold_log(loaded: &mut LoadedChat) {
    let LoadedChat { record, log, .. } = loaded;
    for entry in log.drain(..) {
        let missed = entry.after(record.seq);
        if let Some(missed) = missed.filter(|missed| is_within_turn(&missed.action)) {
            apply_action_to_chat(&mut record.head, &missed.action);
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
