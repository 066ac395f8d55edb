//! Releases that lack something of their version, and what their clients are
//! told.

use innkeeper_judges::{Mirror, mirror, name_of};
use innkeeper_protocol::command::{ClientMessage, Command};
use innkeeper_protocol::gates::down;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::model_host::{CHANGESET, ModelHost, SESSION, default_chat};
use crate::square::channels;

/// All versions, and the releases that lack something of theirs.
pub(crate) fn all() -> impl Iterator<Item = Version> {
    Version::ALL.into_iter().chain(Version::RELEASES)
}

/// The judge of a version. A release is judged by the last of its version: two
/// of them cannot be had at once. What the last one does besides is taken out
/// again, see [`as_release`].
pub(crate) fn judge(version: Version) -> Box<dyn Mirror> {
    mirror(&name_of(version)).unwrap()
}

/// A state as the reducers of a release would have left it: before 0.5.2 they
/// did not put answered questions into the turn.
pub(crate) fn as_release(version: Version, mut state: Value) -> Value {
    if Version::RELEASES.contains(&version) {
        state.get_mut("activeTurn").map(without_questions);
        let turns = state.get_mut("turns").and_then(Value::as_array_mut);
        turns.into_iter().flatten().for_each(without_questions);
    }
    state
}

fn without_questions(turn: &mut Value) {
    if let Some(parts) = turn.get_mut("responseParts").and_then(Value::as_array_mut) {
        parts.retain(|part| part["kind"] != "inputRequest");
    }
}

/// Why something in a message came only with a later release, if it did.
fn came_later(version: Version, path: &str, it: &serde_json::Map<String, Value>) -> Option<String> {
    let has = |key: &str| it.contains_key(key);
    let kind = |key: &str| it.get(key).and_then(Value::as_str).unwrap_or_default();
    let of_client = path.contains("activeClient");
    let is_child = path.ends_with(".children[]");
    let is_container = path.ends_with(".customizations[]") || path.ends_with(".customization");
    let wrong = [
        (Version::V0_5_1, "nonce", has("nonce") && !of_client),
        (Version::V0_5_1, "intention", has("intention")),
        (
            Version::V0_5_1,
            "capabilities",
            path.ends_with(".agents[]") && has("capabilities"),
        ),
        (Version::V0_5_1, "inputNeeded", has("inputNeeded")),
        (Version::V0_5_1, "turnsNextCursor", has("turnsNextCursor")),
        (Version::V0_5_1, "model", is_child && has("model")),
        (Version::V0_5_1, "tools", is_child && has("tools")),
        (Version::V0_5, "reviewed", has("reviewed")),
        (
            Version::V0_5,
            "inputRequest",
            kind("kind") == "inputRequest",
        ),
        (
            Version::V0_5,
            "terminalComplete",
            kind("type") == "terminalComplete",
        ),
        (Version::V0_5, "_meta", is_container && has("_meta")),
        (Version::V0_5, "version", is_container && has("version")),
        (
            Version::V0_5,
            "enabled",
            is_child && kind("type") != "mcpServer" && has("enabled"),
        ),
        (
            Version::V0_5,
            "_meta",
            is_child && kind("type") != "agent" && has("_meta"),
        ),
        (
            Version::V0_5,
            "disableUserInvocation",
            has("disableUserInvocation"),
        ),
        (
            Version::V0_5,
            "disableModelInvocation",
            kind("type") == "agent" && has("disableModelInvocation"),
        ),
    ];
    let wrong = wrong
        .into_iter()
        .find(|(since, _, there)| *there && version < *since);
    wrong.map(|(_, what, _)| format!("{path}: {what}"))
}

fn find_later(version: Version, path: &str, it: &Value) -> Option<String> {
    match it {
        Value::Object(fields) => came_later(version, path, fields).or_else(|| {
            let mut fields = fields.iter();
            fields.find_map(|(key, it)| find_later(version, &format!("{path}.{key}"), it))
        }),
        Value::Array(items) => {
            let mut items = items.iter();
            items.find_map(|it| find_later(version, &format!("{path}[]"), it))
        }
        _ => None,
    }
}

#[test]
fn nobody_is_sent_what_came_with_a_later_release() {
    for seed in 0..150 {
        let mut host = ModelHost::new(seed);
        for _ in 0..24 {
            host.step();
        }
        for version in Version::RELEASES {
            for event in &host.events {
                let action = event.action.clone();
                for act in down::action(version, &event.channel, action, &event.facts) {
                    let told = Value::from(act.action);
                    let later = find_later(version, "", &told);
                    assert_eq!(later, None, "{version}: {told}");
                }
            }
            for channel in channels(version) {
                let told = Value::from(down::snapshot(version, host.snapshot(&channel)).state);
                let later = find_later(version, "", &told);
                assert_eq!(later, None, "{version}: {channel}");
            }
        }
    }
}

#[test]
fn actions_that_came_with_a_release_are_withheld_from_those_before_it() {
    let host = ModelHost::new(1);
    let waits = json!({"kind": "chatInput", "id": "i", "chat": default_chat(),
                       "request": {"id": "r"}});
    let chat = default_chat();
    let cases = [
        (
            SESSION,
            json!({"type": "session/inputNeededSet", "request": waits}),
            Version::V0_5_1,
        ),
        (
            SESSION,
            json!({"type": "session/inputNeededRemoved", "id": "i"}),
            Version::V0_5_1,
        ),
        (
            chat.as_str(),
            json!({"type": "chat/turnsLoaded", "turns": []}),
            Version::V0_5_1,
        ),
        (
            CHANGESET,
            json!({"type": "changeset/filesReviewChanged", "files": ["f"], "reviewed": true}),
            Version::V0_5,
        ),
    ];
    for (channel, action, since) in cases {
        for version in [Version::V0_5_0, Version::V0_5_1, Version::V0_5] {
            let facts = host.facts_of(channel);
            let told = down::action(version, channel, action.clone(), &facts);
            assert_eq!(!told.is_empty(), version >= since, "{version} {action}");
        }
    }
}

#[test]
fn before_0_5_1_history_comes_with_the_answer() {
    let text = r#"{"id":1,"method":"fetchTurns","params":{"channel":"x:c","limit":3}}"#;
    for version in [Version::V0_5_0, Version::V0_5_1] {
        let ClientMessage::Call { command, .. } = ClientMessage::decode_in(version, text) else {
            panic!("a call");
        };
        let with_answer = matches!(command, Ok(Command::ReadTurns(_)));
        assert_eq!(with_answer, version == Version::V0_5_0, "{version}");
    }
}
