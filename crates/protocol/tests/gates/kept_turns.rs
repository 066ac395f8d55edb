//! Finished turns go through the gates one by one, once for each version, and
//! are sent as the text that this gave. A client must not be able to tell.

use std::sync::Arc;

use ahp_types::state::ChatState;
use innkeeper_protocol::TurnId;
use innkeeper_protocol::gates::{SnapshotForGates, down};
use innkeeper_protocol::outgoing::{self, HostMessage, Reply, SubscribeReply, TurnsReply};
use innkeeper_protocol::rpc::RequestId;
use innkeeper_protocol::snapshot::{ChatSnapshot, ExtraState, Snapshot, SnapshotState, StoredTurn};
use innkeeper_protocol::version::Version;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use crate::anything::runs;
use crate::model_host::{ModelHost, SESSION, SIDE, default_chat};

fn chat_snapshot(state: &ChatState) -> ChatSnapshot {
    let mut head = state.clone();
    let turns = std::mem::take(&mut head.turns);
    let turns = turns.iter().map(|turn| StoredTurn::new(turn).unwrap());
    ChatSnapshot {
        turns: turns.collect(),
        head,
    }
}

fn answer(reply: Reply, version: Version) -> Value {
    let id = RequestId::Number(1);
    let mut frames = Vec::new();
    outgoing::encode_each(&HostMessage::Reply { id, reply }, version, |frame| {
        frames.push(frame);
    });
    let [frame] = frames.as_slice() else {
        panic!("{version}: {frames:?}");
    };
    serde_json::from_str::<Value>(frame).unwrap()["result"].take()
}

fn told(snapshot: &Snapshot, version: Version) -> Value {
    let reply = SubscribeReply {
        snapshot: Some(snapshot.clone()),
    };
    answer(Reply::Subscribe(reply), version)["snapshot"]["state"].take()
}

fn of_gates(version: Version, mut whole: SnapshotForGates) -> Value {
    whole.selection = Default::default();
    whole.summary = None;
    down::snapshot(version, whole).state.into()
}

fn snapshot_of(channel: &str, state: SnapshotState, extra: SnapshotState) -> Snapshot {
    Snapshot {
        resource: channel.into(),
        state,
        from_seq: 1.into(),
        extra: Some(Box::new(ExtraState {
            state: Some(extra),
            ..ExtraState::default()
        })),
        inputs: Arc::default(),
    }
}

#[test]
fn snapshots_with_kept_turns_are_those_that_the_gates_make_of_the_whole() {
    let mut turns = 0;
    for seed in 0..runs(40) {
        let mut host = ModelHost::new(seed);
        for _ in 0..60 {
            host.step();
        }
        let session = || SnapshotState::Session(Box::new(host.session.clone()));
        let chat_of = |channel: &str| {
            SnapshotState::Chat(Box::new(chat_snapshot(&host.chats[channel].state)))
        };
        let side = snapshot_of(SIDE, chat_of(SIDE), session());
        let whole = snapshot_of(SESSION, session(), chat_of(&default_chat()));
        turns += host.chats[&default_chat()].state.turns.len();
        for version in Version::ALL {
            for (channel, snapshot) in [(SIDE, &side), (SESSION, &whole)] {
                let expected = match version {
                    Version::NEWEST => host.snapshot(channel).state.into(),
                    older => of_gates(older, host.snapshot(channel)),
                };
                // The first time through the gates, then as it was kept.
                for time in ["first", "second"] {
                    let told = told(snapshot, version);
                    assert_eq!(told, expected, "{version}, {channel}, {seed}, {time}");
                }
            }
        }
    }
    assert!(turns > 0, "no run had a turn that ended");
}

#[test]
fn pages_of_turns_are_those_of_the_snapshot() {
    for seed in 0..runs(20) {
        let mut host = ModelHost::new(seed);
        for _ in 0..60 {
            host.step();
        }
        let state = &host.chats[SIDE].state;
        let turns = chat_snapshot(state).turns;
        for version in Version::ALL.into_iter().filter(|it| *it < Version::NEWEST) {
            let reply = TurnsReply {
                turns: turns.clone(),
                has_more: true,
                inputs: Arc::default(),
            };
            let mut page = answer(Reply::Turns(reply), version);
            assert_eq!(page["hasMore"], true);
            let chat = SnapshotForGates::new(SIDE, serde_json::to_value(state).unwrap());
            let mut whole = of_gates(version, chat);
            assert_eq!(
                page["turns"].take(),
                whole["turns"].take(),
                "{version}, {seed}"
            );
        }
    }
}

/// What some gate looks for in a turn, each by itself: parts of its answer, and
/// what is laid over the turn.
fn peculiar_turns() -> Vec<Value> {
    let call = |more: Value| {
        let mut call = json!({
            "status": "completed", "toolCallId": "c", "toolName": "run", "displayName": "Run",
            "invocationMessage": "Run it", "toolInput": "make", "confirmed": "not-needed",
            "success": true, "pastTenseMessage": "Ran it",
        });
        lay_over(&mut call, more);
        json!({"responseParts": [{"kind": "toolCall", "toolCall": call}]})
    };
    let question = |more: Value| {
        let mut part = json!({"kind": "inputRequest", "request": {"id": "q", "message": "Well?"}});
        lay_over(&mut part, more);
        json!({"responseParts": [part]})
    };
    let message = |more: Value| {
        let mut message = json!({"text": "Do it", "origin": {"kind": "user"}});
        lay_over(&mut message, more);
        json!({"message": message})
    };
    let attached = |attachment: Value| message(json!({"attachments": [attachment]}));
    let notice = json!({"kind": "systemNotification", "content": "Look", "_meta": {"k": 1}});
    vec![
        json!({}),
        json!({"responseParts": [{"kind": "markdown", "id": "m", "content": "\"error\": {\\}"}]}),
        json!({"responseParts": [notice]}),
        json!({"usage": {"inputTokens": 1, "outputTokens": 2, "_meta": {"k": 1}}}),
        json!({"_meta": {"startedAt": 1, "message": {"origin": 2}}}),
        json!({"state": "error", "error": {"errorType": "x", "message": "y", "_meta": {"k": 1}}}),
        call(json!({})),
        call(json!({"contributor": {"kind": "client", "clientId": "web"}})),
        call(json!({"contributor": {"kind": "mcp", "customizationId": "s"}})),
        call(json!({"intention": "Build it"})),
        call(json!({"_meta": {"k": 1}})),
        call(json!({"toolInput": {"uri": "innkeeper-content:/1", "sizeHint": 70_000}})),
        call(json!({"content": [{
            "type": "terminal", "resource": "ahp-terminal:/1", "title": "make",
            "result": {"exitCode": 0, "preview": "cc"},
        }]})),
        call(json!({"content": [{
            "type": "resource", "uri": "innkeeper-content:/2", "nonce": "n",
        }]})),
        call(json!({
            "status": "cancelled", "reason": "denied",
            "userSuggestion": {"text": "No", "origin": {"kind": "user"}, "_meta": {"k": 1}},
        })),
        question(json!({})),
        question(json!({"response": "accept", "answers": {}})),
        message(json!({"model": {"id": "m", "config": {"effort": 3}}})),
        message(json!({"agent": {"uri": "file:///a"}, "_meta": {"k": 1}})),
        message(json!({"origin": {"kind": "automation"}})),
        attached(json!({"type": "simple", "label": "it", "modelRepresentation": "text"})),
        attached(json!({"type": "resource", "label": "it", "uri": "file:///a"})),
        attached(json!({"type": "chat", "label": "it", "resource": "ahp-chat:/2", "endTurn": "t"})),
        attached(json!({"type": "annotations", "label": "it", "resource": "ahp-session:/1"})),
    ]
}

fn lay_over(it: &mut Value, more: Value) {
    if let (Some(it), Value::Object(more)) = (it.as_object_mut(), more) {
        it.extend(more);
    }
}

#[test]
fn whatever_a_gate_looks_for_in_a_turn_is_found_in_its_text() {
    let mut host = ModelHost::new(1);
    host.step();
    let mut state = serde_json::to_value(&host.chats[SIDE].state).unwrap();
    let turns = peculiar_turns().into_iter().enumerate();
    let turns = turns.map(|(number, peculiar)| {
        let mut turn = json!({
            "id": format!("t{number}"), "startedAt": "2026-01-01T00:00:00.000Z", "duration": 3,
            "message": {"text": "Do it", "origin": {"kind": "user"}}, "responseParts": [],
            "state": "complete",
        });
        lay_over(&mut turn, peculiar);
        turn
    });
    let turns: Vec<Value> = turns.collect();
    let stored = turns.iter().map(|turn| {
        let id = TurnId::from(turn["id"].as_str().unwrap());
        StoredTurn::from_json(id, Arc::from(to_raw_value(turn).unwrap()))
    });
    let stored: Vec<StoredTurn> = stored.collect();
    state["turns"] = turns.into();
    for version in Version::ALL.into_iter().filter(|it| *it < Version::NEWEST) {
        let reply = TurnsReply {
            turns: stored.clone(),
            has_more: false,
            inputs: Arc::default(),
        };
        let mut page = answer(Reply::Turns(reply), version);
        let mut whole = of_gates(version, SnapshotForGates::new(SIDE, state.clone()));
        let (told, expected) = (page["turns"].take(), whole["turns"].take());
        let (Value::Array(told), Value::Array(expected)) = (told, expected) else {
            panic!("{version}: no turns");
        };
        assert_eq!(told.len(), expected.len(), "{version}");
        for (told, expected) in told.iter().zip(&expected) {
            assert_eq!(told, expected, "{version}");
        }
    }
}
