//! Room that holds nothing goes back to the disk.

use std::fs;
use std::time::Duration;

use innkeeper_protocol::record::store::Store as _;
use innkeeper_store::{DATABASE_FILE, SqliteStore, StoreOptions, room};
use innkeeper_store_conformance::records::*;
use rusqlite::Connection;

use crate::migrations::{FIXTURES, fixture};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn what_deleted_sessions_took_goes_back_to_the_disk_while_the_host_is_idle() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
    store.begin().unwrap();
    let data: &str = "x".repeat(1_000_000).leak();
    let ops: Vec<_> = (0..8)
        .map(|n| content(&format!("x:/{n}"), "s:/1", data))
        .collect();
    store
        .apply(&[batch([put_session("s:/1", "S", 1)]), batch(ops)])
        .unwrap();
    assert!(room(dir.path()).unwrap().bytes > 8_000_000);
    assert!(store.delete(&"s:/1".into()).unwrap());
    // It is in small steps: the first one leaves most of it.
    for _ in 0..2 {
        store.tend(SECOND).unwrap();
    }
    assert!(room(dir.path()).unwrap().bytes > 4_000_000);
    for _ in 0..10 {
        store.tend(SECOND).unwrap();
    }
    let left = room(dir.path()).unwrap();
    assert!(left.bytes < 2_000_000, "{left:?}");
    // The file itself becomes smaller, as soon as the log has been moved that
    // another thread may be moving now.
    while fs::metadata(dir.path().join(DATABASE_FILE)).unwrap().len() != left.bytes {
        store.tend(SECOND).unwrap();
    }
}

#[test]
fn a_database_of_every_release_learns_to_give_room_back() {
    for (version, sql) in FIXTURES {
        let dir = fixture(sql, *version);
        drop(SqliteStore::open(dir.path(), StoreOptions::default()).unwrap());
        let database = Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
        let mode: i64 = database
            .pragma_query_value(None, "auto_vacuum", |row| row.get(0))
            .unwrap();
        assert_eq!(mode, 2, "v{version}");
    }
}
