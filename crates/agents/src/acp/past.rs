//! Conversations that an agent had without the host: which there are, and what
//! was said in them, so that a session can go on with one.

use std::path::Path;

use agent_client_protocol_schema::v1::{AgentCapabilities, SessionInfo};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{OpenBackend, TurnEvent};
use innkeeper_protocol::newest::commands::SessionConfigValueItem;
use innkeeper_protocol::newest::state::SessionConfigPropertySchema;
use innkeeper_protocol::settings::{self, CONTINUE};
use serde_json::{Value, json};

use super::call::Around;
use super::rpc::RequestNo;
use super::turn::Turn;
use super::whole_edits::Texts;
use crate::child::Told;

/// How many conversations are offered, and on how many pages they are looked
/// for.
const MOST: usize = 50;
/// Of how many the host knows, to offer those that match.
const KEPT: usize = 1_000;
pub(super) const PAGES: usize = 10;

/// Whether an agent can say which conversations it has, and what was said in
/// them.
pub(super) fn is_open_book(can: &AgentCapabilities) -> bool {
    can.load_session && can.session_capabilities.list.is_some()
}

/// The setting that names the conversation to go on with.
pub(super) fn setting() -> (String, SessionConfigPropertySchema) {
    (CONTINUE.to_owned(), settings::conversation_to_continue())
}

/// The conversation that a new session is to go on with. It is that of the
/// session's first chat, as long as the host has none of its own for it.
pub(super) fn wanted(open: &OpenBackend) -> Option<String> {
    let is_first = open.chat == ChannelUri::default_chat_of(open.session.as_str());
    let is_new = open.resume.is_none() && open.fork_of.is_none();
    let id = open.config.get(CONTINUE)?.as_str()?;
    (is_first && is_new && !id.is_empty()).then(|| id.to_owned())
}

/// Those conversations that match, as values of the setting.
pub(super) fn offered<'a>(
    sessions: impl Iterator<Item = &'a SessionInfo>,
    query: &str,
) -> Vec<SessionConfigValueItem> {
    let query = query.to_lowercase();
    let matches = |session: &&SessionInfo| {
        let title = session.title.as_deref().unwrap_or_default();
        let words = format!("{title} {}", session.session_id.0).to_lowercase();
        words.contains(&query)
    };
    let items = sessions.filter(matches).map(|session| {
        let id = session.session_id.0.to_string();
        let title = session.title.clone().filter(|title| !title.is_empty());
        SessionConfigValueItem {
            label: title.unwrap_or_else(|| id.clone()),
            description: session.updated_at.clone(),
            value: id,
        }
    });
    items.take(MOST).collect()
}

/// The newest of them, the very newest first.
pub(super) fn newest(mut sessions: Vec<SessionInfo>) -> Vec<SessionInfo> {
    sessions.sort_by(|one, other| other.updated_at.cmp(&one.updated_at));
    sessions.truncate(KEPT);
    sessions
}

/// What to ask for a page of the conversations in a directory.
pub(super) fn question(directory: Option<&Path>, cursor: Option<&str>) -> Value {
    let mut params = json!({});
    if let Some(directory) = directory {
        params["cwd"] = json!(directory);
    }
    if let Some(cursor) = cursor {
        params["cursor"] = json!(cursor);
    }
    params
}

/// What an agent tells of a conversation, turn by turn. A turn begins with
/// what the user said.
pub(super) fn recounted(updates: &[Value]) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    let mut running: Option<(Turn, Told)> = None;
    let nowhere = Around {
        terminals: &|_| None,
        texts: &Texts::new(),
    };
    let mut end = |running: Option<(Turn, Told)>| {
        if let Some((mut turn, mut happened)) = running {
            let closing = turn.closing(&Value::Null, nowhere);
            happened.events.extend(closing);
            told.push(happened);
        }
    };
    for update in updates {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let has_begun = |it: &(Turn, Told)| !it.1.events.is_empty();
        if kind == "user_message_chunk" && running.as_ref().is_some_and(has_begun) {
            end(running.take());
        }
        let new = || (Turn::new(RequestNo::NONE), Told::default());
        let (turn, happened) = running.get_or_insert_with(new);
        if kind == "user_message_chunk" {
            let said = update["content"]["text"].as_str();
            happened.asked.push_str(said.unwrap_or_default());
        }
        for event in turn.update(kind, update, nowhere) {
            if let TurnEvent::Text(text) = &event {
                happened.answered.push_str(text);
            }
            happened.events.push(event);
        }
    }
    end(running);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &str, text: &str) -> Value {
        json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}})
    }

    #[test]
    fn a_turn_begins_with_what_the_user_said() {
        let tool = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Look",
                          "status": "completed"});
        let told = recounted(&[
            chunk("user_message_chunk", "Good "),
            chunk("user_message_chunk", "morning"),
            chunk("agent_message_chunk", "Hello"),
            chunk("user_message_chunk", "Look"),
            tool,
            chunk("agent_message_chunk", "I did"),
        ]);
        let words: Vec<_> = told.iter().map(|it| (&*it.asked, &*it.answered)).collect();
        assert_eq!(words, [("Good morning", "Hello"), ("Look", "I did")]);
        let finished = |event: &&TurnEvent| matches!(event, TurnEvent::ToolFinished { .. });
        assert_eq!(told[1].events.iter().filter(finished).count(), 1);
    }

    #[test]
    fn conversations_are_found_by_their_title_the_newest_first() {
        let page = |ids: [&str; 3]| {
            let session = |(at, id): (usize, &str)| {
                json!({"sessionId": id, "cwd": "/w", "title": format!("About {id}"),
                       "updatedAt": format!("2026-01-0{}", at + 1)})
            };
            let sessions: Vec<Value> = ids.into_iter().enumerate().map(session).collect();
            serde_json::from_value(json!({"sessions": sessions})).unwrap()
        };
        let page: agent_client_protocol_schema::v1::ListSessionsResponse =
            page(["Beer", "wine", "root beer"]);
        let names = |query: &str| -> Vec<String> {
            let items = offered(newest(page.sessions.clone()).iter(), query).into_iter();
            items.map(|item| item.value).collect()
        };
        assert_eq!(names("beer"), ["root beer", "Beer"]);
        assert_eq!(names(""), ["root beer", "wine", "Beer"]);
    }
}
