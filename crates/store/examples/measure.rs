//! How long the store takes: `cargo run --release -p innkeeper-store --example measure`.

#![expect(clippy::unwrap_used, reason = "a tool for whoever works on the store")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use innkeeper_protocol::newest::actions::{ChatDeltaAction, StateAction};
use innkeeper_protocol::record::store::Store as _;
use innkeeper_protocol::record::{
    ChatRecord, GateFacts, Sequenced, SessionNotes, SessionRecord, StoreBatch, StoreOp,
};
use innkeeper_protocol::{ChannelUri, Timestamp};
use innkeeper_store::{SqliteStore, StoreOptions, SyncMode};
use serde_json::json;

const SESSIONS: i64 = 10_000;
const APPENDS: u64 = 20_000;

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions::default();
    let mut store = SqliteStore::open(dir.path(), options.clone()).unwrap();
    let batches: Vec<_> = (0..SESSIONS).map(session).collect();
    let took = time(|| store.apply(&batches).unwrap());
    println!("storing {SESSIONS} sessions in one commit: {took:?}");
    Box::new(store).close().unwrap();

    for _ in 0..3 {
        let mut opened = None;
        let took = time(|| {
            let mut store = SqliteStore::open(dir.path(), options.clone()).unwrap();
            opened = Some((store.begin().unwrap(), store));
        });
        let (boot, mut store) = opened.unwrap();
        let (first, rows) = (&boot.catalogue[0].session, boot.catalogue.len());
        println!("opening {rows} sessions: {took:?}");
        let reader = store.archive().unwrap();
        let took = time(|| drop(reader.load_session(first).unwrap().unwrap()));
        println!("  loading one of them: {took:?}");
        let took = time(|| drop(store.begin().unwrap()));
        println!("  beginning again: {took:?}");
    }

    for sync in [SyncMode::Normal, SyncMode::Full] {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            sync,
            ..StoreOptions::default()
        };
        let mut store = SqliteStore::open(dir.path(), options).unwrap();
        let count = if sync == SyncMode::Full { 500 } else { APPENDS };
        let batches: Vec<_> = (1..=count).map(append).collect();
        let took = time(|| {
            for one in &batches {
                store.apply(std::slice::from_ref(one)).unwrap();
            }
        });
        println!(
            "one append a commit, {sync:?}: {:?} each",
            took / count as u32
        );
    }

    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
    let journal = Box::new(store).start(Box::new(|_| {})).unwrap();
    let batches: Vec<_> = (1..=APPENDS).map(append).collect();
    let took = time(|| {
        for one in batches {
            journal.submit(one, false);
        }
        journal.close().unwrap();
    });
    println!("through the writer: {:?} each", took / APPENDS as u32);
}

fn time(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn session(n: i64) -> StoreBatch {
    let uri = format!("ahp-session:/{n:08}-0000-4000-8000-000000000000");
    let chat = ChannelUri::default_chat_of(&uri);
    let at = Timestamp::from_millis(1_773_168_123_045 + n * 7919 % SESSIONS * 1000).to_string();
    let summary = json!({
        "resource": uri, "provider": "claude", "title": format!("A task with the number {n}"),
        "status": 1, "createdAt": at, "modifiedAt": at,
        "workingDirectories": ["file:///srv/someone/projects/innkeeper"],
        "changes": {"additions": 120, "deletions": 7, "files": 3},
        "defaultChat": chat, "chats": [{"resource": chat, "title": "Chat", "status": 1}],
    });
    let state = json!({
        "provider": "claude", "title": "A task", "status": 1, "lifecycle": "ready",
        "activeClients": [], "chats": [], "_meta": {"filler": "x".repeat(3000)},
    });
    let head = json!({
        "resource": chat, "title": "Chat", "status": 1, "modifiedAt": at, "turns": [],
    });
    let uri = ChannelUri::from(uri);
    StoreBatch {
        ops: vec![
            StoreOp::PutSession(Box::new(SessionRecord {
                uri: uri.clone(),
                summary: serde_json::from_value(summary).unwrap(),
                state: serde_json::from_value(state).unwrap(),
                notes: SessionNotes::default(),
                facts: Default::default(),
            })),
            StoreOp::PutChat(Box::new(ChatRecord {
                uri: chat,
                session: uri,
                head: serde_json::from_value(head).unwrap(),
                seq: 0.into(),
                notes: Default::default(),
            })),
        ],
    }
}

fn append(seq: u64) -> StoreBatch {
    let action = Sequenced {
        seq: seq.into(),
        channel: ChannelUri::default_chat_of("ahp-session:/1"),
        action: StateAction::ChatDelta(ChatDeltaAction {
            turn_id: "turn".into(),
            part_id: "part".into(),
            content: "some words ".into(),
            meta: None,
        }),
        origin: None,
        facts: GateFacts {
            session: Some("ahp-session:/1".into()),
            is_default_chat: true,
            extra: None,
        },
    };
    StoreBatch {
        ops: vec![StoreOp::Append(Arc::new(action))],
    }
}
