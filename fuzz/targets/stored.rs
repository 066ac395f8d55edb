//! A value in the database that is not what was written there: the session, or
//! the replay, fails with an error, and the engine goes on.
#![no_main]

use std::cell::RefCell;

use innkeeper_engine::Input;
use innkeeper_fuzz::host::{Host, SESSION, chat};
use innkeeper_protocol::Seq;
use innkeeper_protocol::agent::{AgentEvent, TurnEvent};
use innkeeper_protocol::record::store::Store as _;
use innkeeper_protocol::version::Version;
use innkeeper_store::{DATABASE_FILE, MemoryStore, SqliteStore, StoreOptions};
use libfuzzer_sys::fuzz_target;
use rusqlite::{Connection, params};
use serde_json::json;
use tempfile::TempDir;

/// Where JSON is in the database.
const COLUMNS: [(&str, &str); 10] = [
    ("session", "summary"),
    ("session_state", "state"),
    ("session_state", "notes"),
    ("chat", "head"),
    ("chat", "notes"),
    ("turn", "json"),
    ("log", "action"),
    ("log", "origin"),
    ("log", "facts"),
    ("log", "cuts"),
];

struct Stored {
    _directory: TempDir,
    store: SqliteStore,
    database: Connection,
}

thread_local! {
    static STORED: RefCell<Option<Stored>> = const { RefCell::new(None) };
}

impl Stored {
    /// A session with a finished turn, and one that was running.
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = SqliteStore::open(directory.path(), StoreOptions::default()).expect("a store");
        let mut host = Host::new(Box::new(store));
        host.enter(Version::NEWEST, 1, "a");
        host.ask(
            1,
            "create",
            "createSession",
            json!({"channel": SESSION, "provider": "alpha"}),
        );
        host.report(AgentEvent::Opened { resume: None });
        for turn in ["t1", "t2"] {
            let message = json!({"text": turn, "origin": {"kind": "user"}});
            let action = json!({"type": "chat/turnStarted", "turnId": turn, "message": message,
                                "startedAt": "2026-01-01T00:00:00.000Z"});
            let params = json!({"channel": chat(), "clientSeq": 1, "action": action});
            let frame = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
            host.say(1, &frame.to_string());
            host.in_turn(TurnEvent::Text("some words".to_owned()));
            if turn == "t1" {
                host.in_turn(TurnEvent::Completed);
            }
        }
        drop(host);
        let store = SqliteStore::open(directory.path(), StoreOptions::default()).expect("a store");
        let database = Connection::open(directory.path().join(DATABASE_FILE)).expect("a database");
        Self {
            _directory: directory,
            store,
            database,
        }
    }

    fn spoil(&self, (table, column): (&str, &str), text: &str) {
        let keep = format!("SELECT rowid, {column} FROM {table} ORDER BY rowid DESC LIMIT 1");
        let kept = self.database.query_row(&keep, [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, Option<String>>(1)?))
        });
        let (row, kept) = kept.expect("a table that holds something");
        let set = format!("UPDATE {table} SET {column} = ?1 WHERE rowid = ?2");
        let put = |value: Option<&str>| {
            self.database
                .execute(&set, params![value, row])
                .expect("an update");
        };
        put(Some(text));
        self.read();
        put(kept.as_deref());
    }

    /// What a host reads of it.
    fn read(&self) {
        let archive = self.store.archive().expect("an archive");
        let _ = archive.catalogue();
        let _ = archive.log_between(Seq::ZERO, Seq::MAX);
        let loaded = archive.load_session(&SESSION.into());
        let loaded = loaded
            .map(|it| it.map(Box::new))
            .map_err(|it| it.to_string());
        let mut host = Host::new(Box::new(MemoryStore::default()));
        host.enter(Version::NEWEST, 1, "a");
        host.ask(
            1,
            "create",
            "createSession",
            json!({"channel": "x:other", "provider": "alpha"}),
        );
        let session = SESSION.into();
        host.feed(Input::SessionLoaded { session, loaded });
        let list = host.ask(1, "list", "listSessions", json!({"channel": "ahp-root://"}));
        assert!(
            list.is_some_and(|it| it.get("result").is_some()),
            "the host goes on"
        );
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((column, text)) = data.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    STORED.with_borrow_mut(|stored| {
        let stored = stored.get_or_insert_with(Stored::new);
        stored.spoil(COLUMNS[usize::from(*column) % COLUMNS.len()], text);
    });
});
