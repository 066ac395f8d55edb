//! Steering messages that an agent took up, as they stand in the conversation.
//!
//! The protocol has no part for what a user says while a turn runs. It becomes
//! a system notification, which every client shows, and says in its `_meta`
//! whose words it has.

use serde_json::{Value, json};

use crate::newest::common::StringOrMarkdown;
use crate::newest::state::{PendingMessage, ResponsePart, SystemNotificationResponsePart};

/// The key of what this host adds to the protocol's `_meta`.
pub const OURS: &str = "innkeeper";
const STEERING: &str = "steering";

/// The part that shows a message which the agent took up.
pub fn part(taken: &PendingMessage) -> ResponsePart {
    let steering = json!({STEERING: {"id": taken.id, "message": taken.message}});
    ResponsePart::SystemNotification(SystemNotificationResponsePart {
        content: StringOrMarkdown::Plain(taken.message.text.clone()),
        meta: Some([(OURS.to_owned(), steering)].into_iter().collect()),
    })
}

/// What the user said in the middle of a turn, if the part is about that.
pub fn words(part: &SystemNotificationResponsePart) -> Option<&str> {
    let steering = part.meta.as_ref()?.get(OURS)?.get(STEERING)?;
    steering.get("id").and_then(Value::as_str)?;
    Some(part.content.as_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_was_taken_up_is_told_from_other_notifications() {
        let taken = json!({"id": "s", "message": {"text": "Stop!", "origin": {"kind": "user"}}});
        let taken: PendingMessage = serde_json::from_value(taken).unwrap();
        let ResponsePart::SystemNotification(shown) = part(&taken) else {
            panic!("another part");
        };
        assert_eq!(words(&shown), Some("Stop!"));
        let other = SystemNotificationResponsePart {
            content: StringOrMarkdown::Plain("Summarised".to_owned()),
            meta: Some([("other".to_owned(), json!(1))].into_iter().collect()),
        };
        assert_eq!(words(&other), None);
    }
}
