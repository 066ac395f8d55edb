//! What it costs to say something in an older version, counted in
//! instructions. It is paid once for each version in use, however many
//! subscribers speak it; opening a chat is paid each time, but what the gates
//! make of its finished turns is kept.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::state::ChatState;
use innkeeper_protocol::outgoing::{HostMessage, Reply, SubscribeReply, encode_each};
use innkeeper_protocol::record::{GateFacts, Sequenced};
use innkeeper_protocol::rpc::RequestId;
use innkeeper_protocol::snapshot::{ChatSnapshot, Snapshot, SnapshotState, StoredTurn};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::callgrind::instructions;

const TIMES: u64 = 1_000;

/// Streamed text, text that is not plain, and what all gates look into: a call
/// that asks for consent, the same with all that older versions lack, and its
/// result.
const KINDS: [&str; 5] = [
    "text",
    "text with _meta",
    "tool call",
    "tool call, all fields",
    "tool result",
];

pub(crate) fn run() -> Result<()> {
    println!("\nInstructions to encode one action, and compared with 1.0.0 (callgrind)\n");
    println!("| version | {} |", KINDS.join(" | "));
    println!("| ---: |{}", " ---: |".repeat(KINDS.len()));
    let mut newest = Vec::new();
    for version in Version::ALL.into_iter().rev() {
        let mut row = format!("| {version} |");
        for (place, kind) in KINDS.into_iter().enumerate() {
            let count = |times: u64| {
                instructions(&["encode", &version.to_string(), kind, &times.to_string()])
            };
            let each = (count(2 * TIMES)? as f64 - count(TIMES)? as f64) / TIMES as f64;
            if place == newest.len() {
                newest.push(each);
            }
            let _ = write!(row, " {each:.0} ({:.2}) |", each / newest[place]);
        }
        println!("{row}");
    }
    opening()
}

/// How many turns the chat has that is opened.
const TURNS: usize = 100;

/// Opening a chat for the first time since it is in memory, and again.
fn opening() -> Result<()> {
    println!("\nInstructions to encode the snapshot of a chat of {TURNS} turns (callgrind)\n");
    println!("| version | first | compared with 1.0.0 | again | compared with 1.0.0 |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    let mut newest = None;
    for version in Version::ALL.into_iter().rev() {
        let count =
            |times: u64| instructions(&["open-chat", &version.to_string(), &times.to_string()]);
        // Of which the first has to go through the gates.
        let (none, once, often) = (count(0)?, count(1)?, count(11)?);
        let first = once.saturating_sub(none) as f64;
        let again = often.saturating_sub(once) as f64 / 10.0;
        let (floor_first, floor_again) = *newest.get_or_insert((first, again));
        println!(
            "| {version} | {first:.0} | {:.2} | {again:.0} | {:.2} |",
            first / floor_first,
            again / floor_again,
        );
    }
    Ok(())
}

/// The part that is counted. `anew`: every time is the first.
pub(crate) fn open_chat(version: &str, times: u64, anew: bool) -> Result<()> {
    let version = Version::from_name(version).context("a version")?;
    let turns = (0..TURNS).map(|number| {
        let turn = serde_json::from_value(turn(number))?;
        StoredTurn::new(&turn)
    });
    let turns: Vec<StoredTurn> = turns.collect::<Result<_, serde_json::Error>>()?;
    let head: ChatState = serde_json::from_value(json!({
        "resource": "ahp-chat:/bench", "title": "Bench", "status": 1,
        "modifiedAt": "2026-01-01T00:00:00.000Z", "turns": [],
    }))?;
    let message = |turns: Vec<StoredTurn>| {
        let head = head.clone();
        let snapshot = Snapshot {
            resource: "ahp-chat:/bench".into(),
            state: SnapshotState::Chat(Box::new(ChatSnapshot { head, turns })),
            from_seq: 123_456.into(),
            extra: None,
            inputs: Arc::default(),
        };
        HostMessage::Reply {
            id: RequestId::Number(1),
            reply: Reply::Subscribe(SubscribeReply {
                snapshot: Some(snapshot),
            }),
        }
    };
    let forgotten =
        |turn: &StoredTurn| StoredTurn::from_json(turn.id.clone(), Arc::clone(&turn.json));
    let mut bytes = 0;
    let mut message_again = message(turns.clone());
    for _ in 0..times {
        if anew {
            message_again = message(turns.iter().map(forgotten).collect());
        }
        let message = &message_again;
        encode_each(message, version, |frame| bytes += frame.len());
    }
    std::hint::black_box(bytes);
    Ok(())
}

/// A turn of an agent that looks at a file, edits it and says so.
pub(crate) fn turn(number: usize) -> Value {
    let call = |id: &str, name: &str| {
        json!({
            "kind": "toolCall",
            "toolCall": {
                "status": "completed", "toolCallId": format!("{id}-{number}"), "toolName": name,
                "displayName": name, "invocationMessage": {"markdown": format!("`{name}`")},
                "toolInput": "{\"path\":\"src/main.rs\"}", "confirmed": "not-needed",
                "success": true, "pastTenseMessage": "Done",
                "content": [{"type": "text", "text": "fn main() {}\n".repeat(20)}],
            },
        })
    };
    json!({
        "id": format!("turn-{number}"), "startedAt": "2026-01-01T00:00:00.000Z", "duration": 1200,
        "message": {"text": "Please rename it everywhere.", "origin": {"kind": "user"}},
        "responseParts": [
            {"kind": "reasoning", "id": "r", "content": "I have to look at it first. ".repeat(8)},
            call("read", "read"),
            call("edit", "edit"),
            {"kind": "markdown", "id": "m", "content": "It has another name now. ".repeat(20)},
        ],
        "state": "complete",
        "usage": {"inputTokens": 12_000, "outputTokens": 300},
    })
}

/// The part that is counted.
pub(crate) fn encode(version: &str, kind: &str, times: u64) -> Result<()> {
    let version = Version::from_name(version).context("a version")?;
    let action: StateAction = serde_json::from_value(action(kind))?;
    let message = HostMessage::Action(Arc::new(Sequenced {
        seq: 123_456.into(),
        channel: "ahp-chat://default/YWhwLXNlc3Npb246L2JlbmNo".into(),
        action,
        origin: None,
        facts: GateFacts {
            session: Some("ahp-session:/bench".into()),
            is_default_chat: true,
            extra: None,
        },
    }));
    let mut bytes = 0;
    for _ in 0..times {
        encode_each(&message, version, |frame| bytes += frame.len());
    }
    std::hint::black_box(bytes);
    Ok(())
}

fn action(kind: &str) -> Value {
    let mut text = json!({
        "type": "chat/delta", "turnId": "turn-1", "partId": "p1",
        "content": "the quick brown fox ",
    });
    let mut call = json!({
        "type": "chat/toolCallReady", "turnId": "turn-1", "toolCallId": "c1",
        "invocationMessage": {"markdown": "Run `make`"}, "toolInput": "{\"command\":\"make\"}",
        "confirmationTitle": "Run a command?", "editable": true,
        "options": [
            {"id": "yes", "label": "Yes", "kind": "approve"},
            {"id": "no", "label": "No", "kind": "deny"},
        ],
    });
    match kind {
        "text" => text,
        "text with _meta" => {
            text["_meta"] = json!({"by": "somebody"});
            text
        }
        "tool result" => json!({
            "type": "chat/toolCallComplete", "turnId": "turn-1", "toolCallId": "c1",
            "result": {
                "success": true, "pastTenseMessage": {"markdown": "Ran `make`"},
                "content": [
                    {"type": "text", "text": "cc -o a a.c\n".repeat(20)},
                    {"type": "terminal", "resource": "ahp-terminal:/1", "title": "make",
                     "result": {"exitCode": 0, "preview": "cc -o a a.c"}},
                ],
            },
        }),
        "tool call" => call,
        _ => {
            call["contributor"] = json!({"kind": "client", "clientId": "web"});
            call["intention"] = "Build it".into();
            call["riskAssessment"] = json!({"kind": "judge", "status": "loading"});
            call
        }
    }
}
