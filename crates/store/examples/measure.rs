//! How long the store takes: `cargo run --release -p innkeeper-store --example measure`.

#![expect(clippy::unwrap_used, reason = "a tool for whoever works on the store")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use innkeeper_protocol::newest::actions::{ChatDeltaAction, StateAction};
use innkeeper_protocol::record::search::{SearchField, SearchFilter, SearchQuery};
use innkeeper_protocol::record::store::Store as _;
use innkeeper_protocol::record::{
    ChatRecord, GateFacts, Sequenced, SessionNotes, SessionRecord, StoreBatch, StoreOp,
};
use innkeeper_protocol::snapshot::StoredTurn;
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
    measure_search();
}

/// What the index costs whoever stores a turn, what it costs behind their back,
/// and what searching costs.
fn measure_search() {
    let mut each = Vec::new();
    for with_index in [false, true, false, true] {
        let dir = tempfile::tempdir().unwrap();
        let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
        if !with_index {
            drop_triggers(dir.path());
        }
        let sessions: Vec<_> = (0..CHATS).map(session).collect();
        store.apply(&sessions).unwrap();
        while store.tend(Duration::ZERO).unwrap().is_behind {}
        let turns: Vec<_> = (0..TURNS).map(turn).collect();
        let took = time(|| {
            for one in &turns {
                store.apply(std::slice::from_ref(one)).unwrap();
            }
        });
        each.push(took / TURNS as u32);
        println!(
            "a turn a commit, index {with_index}: {:?} each",
            took / TURNS as u32
        );
        if !with_index {
            continue;
        }
        let size = || {
            std::fs::metadata(dir.path().join("innkeeper.db"))
                .unwrap()
                .len()
        };
        let before = size();
        let mut longest = Duration::ZERO;
        let took = time(|| {
            let mut is_behind = true;
            while is_behind {
                let took = time(|| is_behind = store.tend(Duration::ZERO).unwrap().is_behind);
                longest = longest.max(took);
            }
        });
        let each = took / TURNS as u32;
        println!("  indexing {TURNS} turns: {each:?} each, the longest piece {longest:?}");
        let archive = store.archive().unwrap();
        for (text, limit) in [
            ("needle7", 20),
            ("common", 20),
            ("common", 50),
            ("common words in ev", 20),
            ("\"common words\"", 20),
            ("wo", 20),
            ("word12", 20),
        ] {
            let query = SearchQuery {
                text: text.to_owned(),
                fields: SearchField::ALL.to_vec(),
                filter: SearchFilter::default(),
                limit,
                cursor: None,
                time: Duration::from_secs(2),
            };
            let mut page = None;
            let took = time(|| page = Some(archive.search(&query).unwrap()));
            let page = page.unwrap();
            let (items, truncated) = (page.items.len(), page.truncated);
            println!("  search `{text}`: {took:?}, {items} items, truncated {truncated}");
        }
        drop(archive);
        Box::new(store).close().unwrap();
        println!("  the file: {before} bytes, with the index {}", size());
    }
    let ratio = (each[1] + each[3]).as_secs_f64() / (each[0] + each[2]).as_secs_f64();
    println!("storing a turn with the index, compared with without: {ratio:.2}");
}

const CHATS: i64 = 200;
const TURNS: i64 = 20_000;

fn drop_triggers(dir: &std::path::Path) {
    let connection = rusqlite::Connection::open(dir.join("innkeeper.db")).unwrap();
    let mut names = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap();
    let names: Vec<String> = names
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for name in names {
        connection
            .execute_batch(&format!("DROP TRIGGER {name}"))
            .unwrap();
    }
}

/// About four kilobytes, with words of all frequencies.
fn turn(n: i64) -> StoreBatch {
    let words: Vec<String> = (0..500)
        .map(|place| format!("word{}", (n * 7919 + place * place) % (1 + place * 40)))
        .collect();
    let words = words.join(" ");
    let turn = json!({
        "id": format!("turn-{n}"), "startedAt": "2026-03-10T18:42:03.045Z", "duration": 3,
        "state": "complete",
        "message": {
            "text": format!("common words in every message needle{n}"), "origin": {"kind": "user"},
        },
        "responseParts": [{"kind": "markdown", "id": "p", "content": words}],
    });
    let session = format!("ahp-session:/{:08}-0000-4000-8000-000000000000", n % CHATS);
    StoreBatch {
        ops: vec![StoreOp::AppendTurn {
            chat: ChannelUri::default_chat_of(&session),
            index: (n / CHATS) as u64,
            turn: StoredTurn::new(&serde_json::from_value(turn).unwrap()).unwrap(),
        }],
    }
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
