//! Copies of the database, and putting them back.

use std::fs;
use std::path::{Path, PathBuf};

use innkeeper_protocol::Timestamp;
use innkeeper_protocol::record::store::{Archive as _, Store as _};
use innkeeper_protocol::record::{StoreBatch, StoreOp};
use innkeeper_store::{
    BACKUPS_DIRECTORY, DATABASE_FILE, SqliteStore, StoreError, StoreOptions, backup,
    check_soundness, open_read_only, restore, room,
};
use innkeeper_store_conformance::records::*;
use rusqlite::Connection;

use crate::migrations::{FIXTURES, fixture};

fn at(millis: i64) -> StoreOptions {
    StoreOptions {
        now: Timestamp::from_millis(millis),
        ..StoreOptions::default()
    }
}

/// A store with these sessions, and with so many numbers reserved.
fn store_with(dir: &Path, sessions: &[&str], reserved: u64) -> SqliteStore {
    let mut store = SqliteStore::open(dir, at(1)).unwrap();
    let mut ops: Vec<StoreOp> = sessions
        .iter()
        .map(|uri| StoreOp::PutSession(Box::new(session(uri, "A session", 1))))
        .collect();
    ops.push(StoreOp::ReserveSeq {
        until: reserved.into(),
    });
    store.apply(&[StoreBatch { ops }]).unwrap();
    store
}

fn sessions_in(dir: &Path) -> Vec<String> {
    let rows = open_read_only(dir).unwrap().catalogue().unwrap();
    let mut uris: Vec<String> = rows.iter().map(|row| row.session.to_string()).collect();
    uris.sort();
    uris
}

/// What the store itself has copied, in order.
fn backups_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join(BACKUPS_DIRECTORY));
    let entries = entries.into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn version_of(file: &Path) -> i64 {
    let connection = Connection::open(file).unwrap();
    connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap()
}

#[test]
fn an_open_store_is_copied_with_what_only_its_log_has() {
    let dir = tempfile::tempdir().unwrap();
    let store = store_with(dir.path(), &["s:/1", "s:/2"], 1);
    let bare = dir.path().join("bare");
    fs::copy(dir.path().join(DATABASE_FILE), &bare).unwrap();
    let copied =
        Connection::open(bare)
            .unwrap()
            .query_row("SELECT count(*) FROM session", [], |row| {
                row.get::<_, i64>(0)
            });
    assert!(copied.is_err(), "the schema is in the log only");
    let file = dir.path().join("copy");
    let contents = backup(dir.path(), &file).unwrap();
    assert_eq!(contents.sessions, 2);
    assert_eq!(contents.bytes, fs::metadata(&file).unwrap().len());
    let elsewhere = tempfile::tempdir().unwrap();
    let restored = restore(elsewhere.path(), &file, Timestamp::from_millis(2)).unwrap();
    assert_eq!(restored.replaced, None);
    assert_eq!(sessions_in(elsewhere.path()), ["s:/1", "s:/2"]);
    drop(store);
}

#[test]
fn a_copy_replaces_nothing() {
    let dir = tempfile::tempdir().unwrap();
    drop(store_with(dir.path(), &["s:/1"], 1));
    let file = dir.path().join("precious");
    fs::write(&file, "work").unwrap();
    let refused = backup(dir.path(), &file).unwrap_err();
    assert!(matches!(refused, StoreError::Exists { .. }), "{refused}");
    assert_eq!(fs::read_to_string(file).unwrap(), "work");
}

#[test]
fn no_number_that_was_given_out_is_given_out_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("copy");
    drop(store_with(dir.path(), &[], 100));
    backup(dir.path(), &file).unwrap();
    // Far ahead of the copy.
    let reached = 5_000_000_000;
    drop(store_with(dir.path(), &[], reached));
    restore(dir.path(), &file, Timestamp::from_millis(2)).unwrap();
    let mut store = SqliteStore::open(dir.path(), at(3)).unwrap();
    let next = store.begin().unwrap().next_seq;
    assert!(next > reached.into(), "{next:?}");
}

#[test]
fn what_was_there_is_kept_and_its_log_does_not_reach_the_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("copy");
    drop(store_with(dir.path(), &["s:/1"], 1));
    backup(dir.path(), &file).unwrap();
    // As a process that was killed leaves it: what came last is in the log.
    let store = store_with(dir.path(), &["s:/2"], 2);
    let log = dir.path().join("innkeeper.db-wal");
    let last = fs::read(&log).unwrap();
    drop(store);
    fs::write(&log, last).unwrap();
    let restored = restore(dir.path(), &file, Timestamp::from_millis(2)).unwrap();
    assert_eq!(sessions_in(dir.path()), ["s:/1"]);
    let replaced = restored.replaced.unwrap();
    assert_eq!(backups_in(dir.path()), [replaced.as_path()]);
    restore(dir.path(), &replaced, Timestamp::from_millis(3)).unwrap();
    assert_eq!(sessions_in(dir.path()), ["s:/1", "s:/2"]);
}

#[test]
fn what_is_damaged_can_be_replaced_and_is_kept_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("copy");
    drop(store_with(dir.path(), &["s:/1"], 1));
    backup(dir.path(), &file).unwrap();
    let database = dir.path().join(DATABASE_FILE);
    fs::write(&database, "not what it was").unwrap();
    let restored = restore(dir.path(), &file, Timestamp::from_millis(2)).unwrap();
    let replaced = restored.replaced.unwrap();
    assert_eq!(fs::read_to_string(replaced).unwrap(), "not what it was");
    assert_eq!(sessions_in(dir.path()), ["s:/1"]);
}

#[test]
fn what_is_not_a_sound_copy_of_ours_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    drop(store_with(dir.path(), &["s:/1"], 1));
    let good = dir.path().join("good");
    backup(dir.path(), &good).unwrap();
    let whole = fs::read(&good).unwrap();
    let file = dir.path().join("file");
    let mut damaged = whole.clone();
    damaged[4_096..12_288].fill(0xa5);
    let foreign = dir.path().join("foreign");
    let connection = Connection::open(&foreign).unwrap();
    connection
        .execute_batch("CREATE TABLE cat (name TEXT); PRAGMA user_version = 1")
        .unwrap();
    drop(connection);
    let foreign = fs::read(foreign).unwrap();
    for (what, bytes, says) in [
        (
            "words",
            b"words, many words".to_vec(),
            "is not a database of this program",
        ),
        ("nothing", Vec::new(), "is not a database of this program"),
        (
            "another program's",
            foreign,
            "is not a database of this program",
        ),
        ("damaged", damaged, "is damaged"),
        ("cut", whole[..whole.len() / 2].to_vec(), "is damaged"),
    ] {
        fs::write(&file, bytes).unwrap();
        let refused = restore(dir.path(), &file, Timestamp::from_millis(2)).unwrap_err();
        assert!(refused.to_string().contains(says), "{what}: {refused}");
    }
    fs::write(&file, &whole).unwrap();
    let newer = Connection::open(&file).unwrap();
    newer.pragma_update(None, "user_version", 1_000).unwrap();
    drop(newer);
    let refused = restore(dir.path(), &file, Timestamp::from_millis(2)).unwrap_err();
    assert!(matches!(refused, StoreError::Newer { .. }), "{refused}");
    assert_eq!(sessions_in(dir.path()), ["s:/1"]);
    assert!(backups_in(dir.path()).is_empty());
}

#[test]
fn nothing_is_put_back_under_a_running_host() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("copy");
    let store = store_with(dir.path(), &["s:/1"], 1);
    backup(dir.path(), &file).unwrap();
    let refused = restore(dir.path(), &file, Timestamp::from_millis(2)).unwrap_err();
    assert!(matches!(refused, StoreError::InUse { .. }), "{refused}");
    drop(store);
}

#[test]
fn a_database_is_copied_before_it_is_upgraded() {
    for (version, sql) in FIXTURES {
        let dir = fixture(sql, *version);
        drop(SqliteStore::open(dir.path(), at(1)).unwrap());
        let copies = backups_in(dir.path());
        assert_eq!(copies.len(), 1, "{copies:?}");
        let copy = &copies[0];
        assert_eq!(version_of(copy), *version);
        // It is of use: putting it back leads to the same upgrade.
        restore(dir.path(), copy, Timestamp::from_millis(2)).unwrap();
        assert_eq!(version_of(&dir.path().join(DATABASE_FILE)), *version);
        drop(SqliteStore::open(dir.path(), at(3)).unwrap());
        assert_eq!(sessions_in(dir.path()), ["ahp-session:/1"]);
    }
    let fresh = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(fresh.path(), at(1)).unwrap());
    drop(SqliteStore::open(fresh.path(), at(2)).unwrap());
    assert!(backups_in(fresh.path()).is_empty(), "nothing to upgrade");
}

#[test]
fn of_its_own_copies_a_store_keeps_the_last_three() {
    let (version, sql) = FIXTURES[0];
    let dir = fixture(sql, version);
    for life in 1..=5 {
        let options = at(life * 1_000);
        drop(SqliteStore::open(dir.path(), options).unwrap());
        let old = fixture(sql, version);
        let old = old.path().join(DATABASE_FILE);
        fs::copy(old, dir.path().join(DATABASE_FILE)).unwrap();
    }
    let names: Vec<String> = backups_in(dir.path())
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(
        names,
        [3, 4, 5].map(|life| format!("1970-01-01T00-00-0{life}.000Z-before-upgrade.db"))
    );
}

#[test]
fn a_damaged_database_is_told_from_a_sound_one() {
    let dir = tempfile::tempdir().unwrap();
    drop(store_with(dir.path(), &["s:/1"], 1));
    check_soundness(dir.path()).unwrap();
    let file = dir.path().join(DATABASE_FILE);
    let mut bytes = fs::read(&file).unwrap();
    bytes[8_192..16_384].fill(0xa5);
    fs::write(file, bytes).unwrap();
    let told = check_soundness(dir.path()).unwrap_err();
    assert!(matches!(told, StoreError::Unsound { .. }), "{told}");
}

#[test]
fn room_that_holds_nothing_is_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..500).map(|number| format!("s:/{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut store = store_with(dir.path(), &names, 1);
    for name in &names {
        store.delete(&(*name).into()).unwrap();
    }
    let before = room(dir.path()).unwrap();
    assert!(before.free > 0, "{before:?}");
    let freed = store.shrink().unwrap();
    let after = room(dir.path()).unwrap();
    assert_eq!(after.free, 0);
    assert_eq!(freed, before.bytes - after.bytes);
    Box::new(store).close().unwrap();
    let file = fs::metadata(dir.path().join(DATABASE_FILE)).unwrap();
    assert_eq!(file.len(), after.bytes);
}
