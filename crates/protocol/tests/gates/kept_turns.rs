//! Finished turns go through the gates one by one, once for each version, and
//! are sent as the text that this gave. A client must not be able to tell.

use std::sync::Arc;

use ahp_types::state::ChatState;
use innkeeper_protocol::gates::{SnapshotForGates, down};
use innkeeper_protocol::outgoing::{self, HostMessage, Reply, SubscribeReply, TurnsReply};
use innkeeper_protocol::rpc::RequestId;
use innkeeper_protocol::snapshot::{ChatSnapshot, ExtraState, Snapshot, SnapshotState, StoredTurn};
use innkeeper_protocol::version::Version;
use serde_json::Value;

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
