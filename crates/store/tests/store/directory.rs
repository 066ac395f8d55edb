//! The data directory: who may use it, and what survives in it.

use innkeeper_protocol::record::store::{Archive as _, Store as _};
use innkeeper_protocol::record::{StoreBatch, StoreOp};
use innkeeper_store::{
    DATABASE_FILE, SqliteStore, StoreError, StoreOptions, SyncMode, open_read_only,
};
use innkeeper_store_conformance::records::*;

use crate::conformance::what_a_dead_process_leaves;

#[test]
fn a_directory_in_use_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
    let error = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, StoreError::InUse { .. }), "{message}");
    for said in [
        dir.path().to_str().unwrap(),
        &format!("process {}", std::process::id()),
        "stop that one first",
    ] {
        assert!(message.contains(said), "{said:?} in {message:?}");
    }
    drop(store);
    SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
}

#[cfg(unix)]
#[test]
fn what_is_created_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("deep/data");
    let _store = SqliteStore::open(&data, StoreOptions::default()).unwrap();
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(data.clone()), 0o700);
    assert_eq!(mode(data.join(DATABASE_FILE)), 0o600);
}

#[test]
fn what_was_applied_survives_a_death_without_goodbye() {
    for sync in [SyncMode::Normal, SyncMode::Full] {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions {
            sync,
            ..StoreOptions::default()
        };
        let mut store = SqliteStore::open(dir.path(), options.clone()).unwrap();
        let ops = [
            reserve(100),
            put_session("s:/1", "S", 1),
            put_chat("c:/1", "s:/1", 0, Some("t")),
            delta(1, "c:/1", "p", "a"),
        ];
        store.apply(&[batch(ops)]).unwrap();

        let left = tempfile::tempdir().unwrap();
        what_a_dead_process_leaves(dir.path(), left.path());
        let mut store = SqliteStore::open(left.path(), options).unwrap();
        let boot = store.begin().unwrap();
        assert_eq!((boot.next_seq.get(), boot.epochs.len()), (101, 1));
        assert_eq!(uris(&boot.interrupted), ["s:/1"]);
        let loaded = store
            .archive()
            .unwrap()
            .load_session(&"s:/1".into())
            .unwrap();
        assert_eq!(told(&loaded.unwrap().chats[0].log, "c:/1", 0), ["p: a"]);
    }
}

#[test]
fn readers_see_each_commit_and_tools_look_in_beside_a_running_host() {
    let dir = tempfile::tempdir().unwrap();
    let missing = open_read_only(dir.path()).unwrap_err();
    assert!(matches!(missing, StoreError::Missing { .. }), "{missing}");

    let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
    let (reader, tool) = (
        store.archive().unwrap(),
        open_read_only(dir.path()).unwrap(),
    );
    for n in 1..=3 {
        let session = put_session(&format!("s:/{n}"), "S", 1);
        store.apply(&[batch([session])]).unwrap();
        assert_eq!(reader.catalogue().unwrap().len(), n);
        assert_eq!(tool.catalogue().unwrap().len(), n);
    }
    Box::new(store).close().unwrap();
    assert_eq!(
        open_read_only(dir.path())
            .unwrap()
            .catalogue()
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn a_file_that_is_no_database_is_called_damaged() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(DATABASE_FILE), "not a database".repeat(100)).unwrap();
    let error = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error}");
}

/// As on a disk that cannot be written: SQLite wants a file next to it.
#[cfg(unix)]
#[test]
fn a_database_is_read_where_no_file_can_be_made_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
    let batch = StoreBatch {
        ops: vec![StoreOp::PutSession(Box::new(session("s:/1", "Inn", 1)))],
    };
    store.apply(&[batch]).unwrap();
    let log = dir.path().join("innkeeper.db-wal");
    let last = std::fs::read(&log).unwrap();
    Box::new(store).close().unwrap();
    let _ = std::fs::remove_file(dir.path().join("innkeeper.db-shm"));
    std::os::unix::fs::symlink("nowhere/at-all", dir.path().join("innkeeper.db-shm")).unwrap();
    let reader = open_read_only(dir.path()).unwrap();
    assert_eq!(reader.catalogue().unwrap().len(), 1);
    drop(reader);
    // Where there is a log, something would be missing.
    std::fs::write(log, last).unwrap();
    let told = open_read_only(dir.path()).unwrap_err();
    assert!(matches!(told, StoreError::LogNotRead { .. }), "{told}");
}
