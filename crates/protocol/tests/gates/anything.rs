//! Each direction of every gate on its own: nothing that comes in can break
//! it, and raising loses nothing that the version can express.

use innkeeper_judges::{ACTION_TYPES, CLIENTS_SAY};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::gates::{SnapshotForGates, down, up};
use innkeeper_protocol::record::GateFacts;
use innkeeper_protocol::version::Version;
use serde_json::{Map, Value, json};

use crate::model_host::ModelHost;
use crate::square::channels;
use crate::words::Dice;

/// `GATES_RUNS` asks for more.
pub(crate) fn runs(ordinary: u64) -> u64 {
    let asked = std::env::var("GATES_RUNS").ok();
    asked.and_then(|it| it.parse().ok()).unwrap_or(ordinary)
}

/// The words that gates look at, so that noise gets far.
const KEYS: &[&str] = &[
    "type",
    "kind",
    "status",
    "state",
    "part",
    "parts",
    "responseParts",
    "turns",
    "activeTurn",
    "message",
    "userMessage",
    "error",
    "request",
    "response",
    "toolCall",
    "content",
    "toolInput",
    "customization",
    "customizations",
    "children",
    "enablement",
    "enabled",
    "origin",
    "summary",
    "chats",
    "activeClient",
    "activeClients",
    "workingDirectories",
    "lifecycle",
    "model",
    "agent",
    "config",
    "schema",
    "properties",
    "enum",
    "session",
    "terminal",
    "channel",
    "resource",
    "uri",
    "attachments",
    "draft",
    "inputRequests",
    "createdAt",
    "modifiedAt",
    "turnId",
    "id",
    "load",
    "subscriptions",
    "protocolVersion",
    "items",
    "changes",
    "changesets",
    "claim",
    "files",
    "agents",
    "annotations",
    "entries",
    "contributor",
    "toolClientId",
    "result",
    "auth",
    "turn",
];

fn noise(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth == 0 { 6 } else { 12 }) {
        0 => Value::Null,
        1 => dice.maybe().into(),
        2 => i64::MIN.into(),
        3 => json!(dice.below(200)),
        4 | 5 => {
            let kinds = [
                "error",
                "inputRequest",
                "toolCall",
                "markdown",
                "systemNotification",
                "terminal",
                "chat",
                "annotations",
                "mcpServer",
                "plugin",
                "client",
                "session",
                "failed",
                "auth-required",
                "streaming",
                "ahp-root://",
                "agenthost:/root",
                "",
            ];
            dice.pick(&kinds).into()
        }
        6..=8 => {
            let length = dice.below(4);
            (0..length).map(|_| noise(dice, depth - 1)).collect()
        }
        _ => {
            let mut object = Map::new();
            for _ in 0..dice.below(7) {
                object.insert(dice.pick(KEYS).to_owned(), noise(dice, depth - 1));
            }
            object.into()
        }
    }
}

#[test]
fn no_noise_breaks_a_gate() {
    for seed in 0..runs(1000) {
        let mut dice = Dice::new(seed);
        let mut action = noise(&mut dice, 5);
        if let Value::Object(action) = &mut action {
            let (kind, _, _) = dice.pick(ACTION_TYPES);
            action.insert("type".into(), kind.into());
        }
        let extra = serde_json::from_value(noise(&mut dice, 4)).ok();
        let facts = GateFacts {
            session: dice.maybe().then(|| "x:session".into()),
            is_default_chat: dice.maybe(),
            extra: extra.map(Box::new),
        };
        let state = noise(&mut dice, 6);
        for version in Version::ALL {
            let (act, _) = up::action(version, "x:c", action.clone());
            down::action(version, &act.channel, act.action, &facts);
            down::action(version, "x:c", action.clone(), &facts);
            let mut snapshot = SnapshotForGates::new("x:c", state.clone());
            let part = |key: &str| {
                let part = state.get(key).and_then(Value::as_object);
                part.cloned().map(Into::into)
            };
            snapshot.chat = part("chat");
            snapshot.summary = part("summary");
            down::snapshot(version, up::snapshot(version, snapshot));
            for method in ["initialize", "listSessions", "createSession", "fetchTurns"] {
                if let Value::Object(params) = &state {
                    up::params(version, method, &mut params.clone());
                    down::result(version, method, &mut params.clone().into());
                }
            }
            for method in [
                "root/sessionAdded",
                "root/sessionSummaryChanged",
                "auth/required",
            ] {
                down::notification(version, method, state.clone());
            }
        }
    }
}

#[test]
fn a_state_that_is_raised_and_lowered_again_is_the_same() {
    for seed in 0..runs(60) {
        let mut host = ModelHost::new(seed);
        for _ in 0..30 {
            host.step();
        }
        host.sign_in();
        for version in Version::ALL {
            for channel in channels(version) {
                let lowered = down::snapshot(version, host.snapshot(&channel));
                let state: Value = lowered.state.into();
                let raised = up::snapshot(version, SnapshotForGates::new(&channel, state.clone()));
                let again = down::snapshot(version, raised);
                let again: Value = again.state.into();
                assert_eq!(state, again, "{version}, {channel}, seed {seed}");
            }
        }
    }
}

#[test]
fn an_action_that_is_raised_and_lowered_again_is_the_same() {
    for seed in 0..runs(60) {
        let mut host = ModelHost::new(seed);
        for _ in 0..30 {
            host.step();
        }
        for event in &host.events {
            for version in Version::ALL {
                let acts =
                    down::action(version, &event.channel, event.action.clone(), &event.facts);
                let said = acts.into_iter().filter(|act| {
                    let kind = act.action["type"].as_str().unwrap_or_default();
                    CLIENTS_SAY
                        .iter()
                        .any(|verb| kind.ends_with(&format!("/{verb}")))
                });
                for act in said {
                    let (raised, _) = up::action(version, &act.channel, act.action.clone().into());
                    let session =
                        ChannelUri::from(raised.channel.as_str()).session_of_default_chat();
                    let facts = GateFacts {
                        is_default_chat: session.is_some(),
                        session,
                        extra: None,
                    };
                    let action = raised.action.clone();
                    let again = down::action(version, &raised.channel, action, &facts);
                    assert_eq!(again, [act], "{version}, seed {seed}");
                }
            }
        }
    }
}
