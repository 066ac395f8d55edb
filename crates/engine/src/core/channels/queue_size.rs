//! How large the messages are that wait in a chat. It is counted as the queue
//! changes: whoever adds to a long queue does not wait until all of it is
//! measured.

use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::state::{ChatState, PendingMessage, PendingMessageKind};

use super::turn_size::length_of_json;

/// The queued message that an action sets, removes or runs.
pub(super) fn concerned(action: &StateAction) -> Option<&str> {
    match action {
        StateAction::ChatPendingMessageSet(set) if set.kind == PendingMessageKind::Queued => {
            Some(&set.id)
        }
        StateAction::ChatPendingMessageRemoved(removed)
            if removed.kind == PendingMessageKind::Queued =>
        {
            Some(&removed.id)
        }
        StateAction::ChatTurnStarted(started) => started.queued_message_id.as_deref(),
        _ => None,
    }
}

/// The size of the queued message with this id; nothing, if there is none.
pub(super) fn size_of(head: &ChatState, id: &str) -> usize {
    let queued = head.queued_messages.iter().flatten();
    queued.filter(|queued| queued.id == id).map(size).sum()
}

/// The size of the whole queue: for one that comes back from the store.
pub(super) fn size_of_all(head: &ChatState) -> usize {
    head.queued_messages.iter().flatten().map(size).sum()
}

fn size(queued: &PendingMessage) -> usize {
    length_of_json(&queued.message)
}
