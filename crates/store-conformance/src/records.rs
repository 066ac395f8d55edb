//! Records and operations in a line each, for whoever tests a store.

use std::sync::Arc;

use innkeeper_protocol::newest::actions::{ActionOrigin, StateAction};
use innkeeper_protocol::record::store::Archive;
use innkeeper_protocol::record::{
    ChatRecord, ContentRecord, GateFacts, LogEntry, Sequenced, SessionRecord, StoreBatch, StoreOp,
};
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::{Value, json};

pub fn of<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub fn iso(millis: i64) -> String {
    Timestamp::from_millis(millis).to_string()
}

pub fn session(uri: &str, title: &str, modified_at: i64) -> SessionRecord {
    let summary = json!({
        "resource": uri, "provider": "script", "title": title, "status": 1,
        "createdAt": iso(1), "modifiedAt": iso(modified_at),
    });
    let state = json!({
        "provider": "script", "title": title, "status": 1, "lifecycle": "ready",
        "activeClients": [], "chats": [],
    });
    SessionRecord {
        uri: uri.into(),
        summary: of(summary),
        state: of(state),
        notes: of(json!({"titleIsOpen": true})),
        facts: of(json!({"model": {"id": title}})),
    }
}

pub fn put_session(uri: &str, title: &str, modified_at: i64) -> StoreOp {
    StoreOp::PutSession(Box::new(session(uri, title, modified_at)))
}

pub fn dispose(uri: &str, at: i64) -> StoreOp {
    StoreOp::DisposeSession {
        session: uri.into(),
        at: Timestamp::from_millis(at),
    }
}

pub fn chat(uri: &str, session: &str, seq: u64, active_turn: Option<&str>) -> ChatRecord {
    let mut head = json!({
        "resource": uri, "title": "Chat", "status": 1, "modifiedAt": iso(5), "turns": [],
    });
    if let Some(id) = active_turn {
        head["activeTurn"] = json!({
            "id": id, "startedAt": iso(4), "responseParts": [],
            "message": {"text": "hi", "origin": {"kind": "user"}},
        });
    }
    ChatRecord {
        uri: uri.into(),
        session: session.into(),
        head: of(head),
        seq: seq.into(),
        notes: of(json!({"resume": {"id": uri}})),
    }
}

pub fn put_chat(uri: &str, session: &str, seq: u64, active_turn: Option<&str>) -> StoreOp {
    StoreOp::PutChat(Box::new(chat(uri, session, seq, active_turn)))
}

pub fn turn(chat: &str, index: u64, id: &str) -> StoreOp {
    turn_saying(chat, index, id, "hi")
}

pub fn turn_saying(chat: &str, index: u64, id: &str, text: &str) -> StoreOp {
    let turn = of(json!({
        "id": id, "startedAt": iso(1), "duration": 3, "responseParts": [], "state": "complete",
        "message": {"text": text, "origin": {"kind": "user"}},
    }));
    StoreOp::AppendTurn {
        chat: chat.into(),
        index,
        turn: StoredTurn::new(&turn).unwrap(),
    }
}

pub fn content(uri: &str, session: &str, data: &'static str) -> StoreOp {
    StoreOp::PutContent(content_record(uri, session, data))
}

pub fn content_with_excerpt(
    uri: &str,
    session: &str,
    data: &'static str,
    excerpt: &str,
) -> StoreOp {
    StoreOp::PutContent(ContentRecord {
        excerpt: Some(excerpt.into()),
        ..content_record(uri, session, data)
    })
}

fn content_record(uri: &str, session: &str, data: &'static str) -> ContentRecord {
    ContentRecord {
        uri: uri.into(),
        session: session.into(),
        content_type: "text/plain".into(),
        data: data.into(),
        excerpt: None,
    }
}

pub fn append(seq: u64, channel: &str, action: Value, origin: Option<ActionOrigin>) -> StoreOp {
    StoreOp::Append(Arc::new(Sequenced {
        seq: seq.into(),
        channel: channel.into(),
        action: of(action),
        origin,
        facts: GateFacts {
            session: Some("ahp-session:/of".into()),
            is_default_chat: true,
            extra: None,
        },
    }))
}

/// An append that merges with its neighbours in the same part.
pub fn delta(seq: u64, channel: &str, part: &str, text: &str) -> StoreOp {
    let action = json!({"type": "chat/delta", "turnId": "t", "partId": part, "content": text});
    append(seq, channel, action, None)
}

/// An append that merges with nothing, and comes from a client.
pub fn title(seq: u64, channel: &str, title: &str) -> StoreOp {
    let origin = ActionOrigin {
        client_id: "c".into(),
        client_seq: 7,
    };
    let action = json!({"type": "session/titleChanged", "title": title});
    append(seq, channel, action, Some(origin))
}

pub fn batch(ops: impl Into<Vec<StoreOp>>) -> StoreBatch {
    StoreBatch { ops: ops.into() }
}

/// The entries that reach beyond one number and begin no later than another.
pub fn log_of(archive: &dyn Archive, after: u64, up_to: u64) -> Vec<LogEntry> {
    archive.log_between(after.into(), up_to.into()).unwrap()
}

pub fn reserve(until: u64) -> StoreOp {
    let until = until.into();
    StoreOp::ReserveSeq { until }
}

pub fn trim(below: u64) -> StoreOp {
    let below = below.into();
    StoreOp::TrimLog { below }
}

/// What somebody who saw everything up to `after` still reads: the text of
/// every run of deltas to one part, and every title.
pub fn told(entries: &[LogEntry], channel: &str, after: u64) -> Vec<String> {
    let mut told = Told::default();
    for entry in entries {
        if entry.channel.as_str() == channel
            && let Some(rest) = entry.after(after.into())
        {
            told.hear(&rest.action);
        }
    }
    told.lines
}

#[derive(Debug, Default)]
pub struct Told {
    pub lines: Vec<String>,
    part: Option<String>,
}

impl Told {
    pub fn hear(&mut self, action: &StateAction) {
        match action {
            StateAction::ChatDelta(delta) if self.part.as_ref() == Some(&delta.part_id) => {
                self.lines.last_mut().unwrap().push_str(&delta.content);
            }
            StateAction::ChatDelta(delta) => {
                self.part = Some(delta.part_id.clone());
                self.lines
                    .push(format!("{}: {}", delta.part_id, delta.content));
            }
            StateAction::SessionTitleChanged(title) => {
                self.part = None;
                self.lines.push(title.title.clone());
            }
            other => panic!("unexpected {other:?}"),
        }
    }
}

pub fn uris<'a>(uris: impl IntoIterator<Item = &'a ChannelUri>) -> Vec<&'a str> {
    uris.into_iter().map(ChannelUri::as_str).collect()
}
