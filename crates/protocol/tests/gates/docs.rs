//! The table in `docs/versions.md` says what the gates do: every cell is found
//! out here, by asking them.

use std::path::Path;

use innkeeper_judges::name_of;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::gates::{SnapshotForGates, down};
use innkeeper_protocol::outgoing::RejectionCode;
use innkeeper_protocol::record::{ExtraFacts, GateFacts};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::model_host::{SESSION, SIDE, default_chat};

/// What a row is about, and what a version makes of it.
type Row = (&'static str, fn(Version) -> &'static str);

const ROWS: &[Row] = &[
    ("sessions, turns, streamed text and reasoning", |version| {
        yes_if_all(
            version,
            &["turnStarted", "delta", "reasoning", "turnComplete"],
        )
    }),
    (
        "tool calls with confirmation, of the host and of clients",
        |version| {
            let verbs = [
                "toolCallStart",
                "toolCallReady",
                "toolCallConfirmed",
                "toolCallComplete",
            ];
            yes_if_all(version, &verbs)
        },
    ),
    ("questions", questions),
    ("queued and steering messages, truncation", |version| {
        yes_if_all(version, &["pendingMessageSet", "truncated"])
    }),
    ("chats besides the default one", |version| {
        let chat = snapshot(version, SIDE, chat_state(SIDE));
        match chat.get("lifecycle") {
            Some(_) => "as sessions",
            None => "yes",
        }
    }),
    ("model and agent", model_and_agent),
    ("clients that are active in a session", |version| {
        let state = snapshot(version, SESSION, session_state());
        match state.get("activeClients").and_then(Value::as_array) {
            Some(clients) if clients.len() == 2 => "many",
            _ if state["activeClient"].is_object() => "one",
            _ => "–",
        }
    }),
    ("resuming a failed turn", |version| {
        let turn = json!({"id": "t", "message": message(), "responseParts": [],
                          "startedAt": "2026-01-01T00:00:00.000Z"});
        let extra = ExtraFacts {
            resumed: Some(turn),
            ..ExtraFacts::default()
        };
        let resume = json!({"type": "chat/turnResume", "turnId": "t"});
        let told = verbs_told(version, resume, extra);
        match told[..] {
            [ref only] if only == "turnResume" => "yes",
            [ref cut, ref start, ..] if cut == "truncated" && start == "turnStarted" => {
                "shown as a new start"
            }
            _ => "–",
        }
    }),
    ("changesets", |version| {
        yes_if_told(version, json!({"type": "changeset/cleared"}))
    }),
    ("annotations", |version| {
        let action = json!({"type": "annotations/removed", "annotationId": "a"});
        yes_if_told(version, action)
    }),
    ("automations", |version| {
        let action = json!({"type": "automation/removed", "resource": "ahp-automation:/a"});
        yes_if_told(version, action)
    }),
    ("several working directories", |version| {
        let state = snapshot(version, SESSION, session_state());
        let state = state.get("summary").unwrap_or(&state);
        match state.get("workingDirectories").and_then(Value::as_array) {
            Some(directories) if directories.len() == 2 => "yes",
            _ if state["workingDirectory"] == "file:///a" => "the first",
            _ => "–",
        }
    }),
    ("sign-ins of single tool calls", |version| {
        let state = chat_shown(version);
        let turn = &state["activeTurn"];
        let call = &turn["responseParts"][0]["toolCall"];
        match call["status"].as_str() {
            Some("auth-required") => "yes",
            Some("running") => "as running",
            _ => "–",
        }
    }),
    (
        "background work, canvases, read marks of chats",
        |version| {
            let work = json!({"type": "chat/backgroundWorkRemoved", "id": "w"});
            let canvases = json!({"type": "chat/canvasesChanged", "canvases": []});
            let read = json!({"type": "chat/isReadChanged", "isRead": true});
            let told = [work, canvases, read].map(|action| yes_if_told(version, action));
            match told {
                ["yes", "yes", "yes"] => "yes",
                _ => "–",
            }
        },
    ),
];

fn message() -> Value {
    json!({"text": "hi", "origin": {"kind": "user"}, "model": {"id": "m"},
           "agent": {"uri": "x:a"}})
}

fn session_state() -> Value {
    let client = |id: &str| json!({"clientId": id, "tools": []});
    json!({"provider": "p", "title": "T", "status": 1, "lifecycle": "ready", "chats": [],
           "workingDirectories": ["file:///a", "file:///b"],
           "activeClients": [client("a"), client("b")]})
}

/// A chat whose turn waits for a sign-in, and has asked two questions: one was
/// answered.
fn chat_state(uri: &str) -> Value {
    let call = json!({"toolCallId": "c", "toolName": "n", "displayName": "N",
                      "status": "auth-required", "confirmed": "not-needed", "auth": {}});
    let question = |id: &str| json!({"kind": "inputRequest", "request": {"id": id}});
    let mut answered = question("answered");
    answered["response"] = "accept".into();
    json!({"resource": uri, "title": "T", "status": 8, "turns": [],
           "modifiedAt": "2026-01-01T00:00:00.000Z",
           "activeTurn": {"id": "t", "message": message(),
                          "startedAt": "2026-01-01T00:00:00.000Z",
                          "responseParts": [{"kind": "toolCall", "toolCall": call},
                                            answered, question("open")]}})
}

fn snapshot(version: Version, channel: &str, state: Value) -> Value {
    let mut snapshot = SnapshotForGates::new(channel, state);
    let chat = chat_state(&default_chat());
    snapshot.chat = chat.as_object().cloned().map(Into::into);
    down::snapshot(version, snapshot).state.into()
}

/// The default chat, wherever the version has it.
fn chat_shown(version: Version) -> Value {
    match version <= Version::V0_3 {
        true => snapshot(version, SESSION, session_state()),
        false => snapshot(version, &default_chat(), chat_state(&default_chat())),
    }
}

/// What is done, in the words of a version, when this is done in the default
/// chat (or where the action belongs).
fn verbs_told(version: Version, action: Value, extra: ExtraFacts) -> Vec<String> {
    let facts = GateFacts {
        session: Some(ChannelUri::from(SESSION)),
        is_default_chat: true,
        extra: Some(Box::new(extra)),
    };
    let acts = down::action(version, &default_chat(), action, &facts);
    let kinds = acts.iter().filter_map(|act| act.action["type"].as_str());
    kinds
        .filter_map(|kind| kind.split('/').nth(1).map(str::to_owned))
        .collect()
}

fn yes_if_told(version: Version, action: Value) -> &'static str {
    match verbs_told(version, action, ExtraFacts::default())[..] {
        [] => "–",
        _ => "yes",
    }
}

fn yes_if_all(version: Version, verbs: &[&str]) -> &'static str {
    let told = |verb: &&str| {
        let action = json!({"type": format!("chat/{verb}"), "message": message(), "turnId": "t"});
        verbs_told(version, action, ExtraFacts::default()) == [*verb]
    };
    match verbs.iter().all(told) {
        true => "yes",
        false => "–",
    }
}

fn questions(version: Version) -> &'static str {
    let state = chat_shown(version);
    let open = state.get("inputRequests").and_then(Value::as_array);
    let is_list = open.is_some_and(|open| open.len() == 1);
    let parts = state["activeTurn"]["responseParts"].as_array();
    let parts = parts.into_iter().flatten();
    let in_parts = parts.filter(|part| part["kind"] == "inputRequest").count();
    match (is_list, in_parts) {
        (true, 0) => "a list",
        (true, 1) => "a list, then parts",
        (false, 2) => "parts",
        _ => "–",
    }
}

fn model_and_agent(version: Version) -> &'static str {
    let started = json!({"type": "chat/turnStarted", "turnId": "t", "message": message()});
    let facts = GateFacts {
        session: Some(ChannelUri::from(SESSION)),
        is_default_chat: true,
        extra: Some(Box::new(ExtraFacts {
            model: Some(json!({"id": "m"})),
            agent: Some(json!({"uri": "x:a"})),
            ..ExtraFacts::default()
        })),
    };
    let acts = down::action(version, &default_chat(), started, &facts);
    let says = |kind: &str| acts.iter().any(|act| act.action["type"] == kind);
    let of_message = acts
        .last()
        .and_then(|act| act.action.get("message"))
        .is_some_and(|message| message["model"].as_object().is_some());
    match (says("session/modelChanged"), says("session/agentChanged")) {
        (true, true) => "session",
        (true, false) => "session (model only)",
        _ if of_message => "message",
        _ => "–",
    }
}

fn line(cells: impl IntoIterator<Item = String>) -> String {
    let cells: Vec<String> = cells.into_iter().collect();
    format!("| {} |", cells.join(" | "))
}

#[test]
fn the_table_of_versions_says_what_the_gates_do() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/versions.md");
    let text = std::fs::read_to_string(path).unwrap();
    let written: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();

    let heading = Version::ALL.map(name_of);
    let mut table = vec![format!("| {}", line(heading))];
    table.push(line(vec!["---".to_owned(); Version::ALL.len() + 1]));
    for (about, probe) in ROWS {
        let cells = Version::ALL.map(|version| probe(version).to_owned());
        table.push(line([(*about).to_owned()].into_iter().chain(cells)));
    }
    assert_eq!(written, table, "the table should be:\n{}", table.join("\n"));
}

#[test]
fn every_code_of_a_rejection_has_its_row_and_no_other_has() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sessions.md");
    let page = std::fs::read_to_string(path).unwrap();
    let table = page.split("| code | meaning |").nth(1).unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let listed: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    let known = RejectionCode::ALL.map(|code| serde_json::to_value(code).unwrap());
    assert_eq!(listed, known);
}
