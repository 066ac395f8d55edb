//! The message that a commit and a pull request have unless somebody writes
//! another: the session's title, and what the agent was asked for last.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::newest::state::ChatOrigin;
use innkeeper_protocol::snapshot::StoredTurn;
use serde::Deserialize;

use crate::core::Core;
use crate::core::channels::Chat;

/// How much of what was asked for is proposed, in bytes.
const MOST_BODY: usize = 2000;

/// The title, and below it what was asked for, unless that is the same.
pub(super) fn proposal(title: &str, asked: Option<&str>) -> String {
    let title = title.lines().next().unwrap_or_default().trim();
    let body = asked.map(str::trim).unwrap_or_default();
    match (title, body) {
        ("", body) => body.to_owned(),
        (title, "") => title.to_owned(),
        (title, body) if title == body => title.to_owned(),
        (title, body) => format!("{title}\n\n{body}"),
    }
}

/// What the agent is being asked for, in any of the session's chats.
pub(super) fn asked_now<'a>(core: &'a Core, session: &ChannelUri) -> Option<&'a str> {
    let mut active = chats_of_people(core, session).filter_map(|chat| {
        let turn = chat.head.active_turn.as_ref()?;
        Some(cut(&turn.message.text, MOST_BODY))
    });
    active.next()
}

/// What it was asked for last, in the chat that was used last.
pub(super) fn asked_before(core: &Core, session: &ChannelUri) -> Option<String> {
    let used = chats_of_people(core, session).filter(|chat| !chat.turns.is_empty());
    let chat = used.max_by(|a, b| a.head.modified_at.cmp(&b.head.modified_at))?;
    message_of(chat.turns.last()?)
}

/// The chats that people write in.
fn chats_of_people<'a>(core: &'a Core, session: &ChannelUri) -> impl Iterator<Item = &'a Chat> {
    let chats = core.channels.chats_of(session).into_iter();
    let chats = chats.filter_map(|chat| core.channels.chat(&chat));
    chats.filter(|chat| !matches!(chat.head.origin, Some(ChatOrigin::Tool { .. })))
}

/// Of a finished turn, only its message is read.
fn message_of(turn: &StoredTurn) -> Option<String> {
    #[derive(Deserialize)]
    struct Asked {
        message: Said,
    }
    #[derive(Deserialize)]
    struct Said {
        text: String,
    }
    let asked: Asked = serde_json::from_str(turn.json.get()).ok()?;
    Some(cut(&asked.message.text, MOST_BODY).to_owned())
}

#[cfg(test)]
mod tests {
    use super::proposal;

    #[test]
    fn a_message_is_the_title_and_what_was_asked_for() {
        for (title, asked, expected) in [
            ("Fix it", None, "Fix it"),
            ("Fix it", Some("Fix it\n"), "Fix it"),
            ("Fix it", Some("And the docs"), "Fix it\n\nAnd the docs"),
            ("", Some("Fix it"), "Fix it"),
            ("two\nlines", Some(" "), "two"),
        ] {
            assert_eq!(proposal(title, asked), expected, "{title:?} {asked:?}");
        }
    }
}
