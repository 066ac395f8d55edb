//! Moving everything from one kind of store to the other.

use std::path::Path;

use innkeeper_protocol::record::store::Store;
use innkeeper_store::{
    DATABASE_FILE, SqliteStore, StoreOptions, StorePlace, TransferError, transfer,
};
use innkeeper_store_conformance::Opening;
use innkeeper_store_conformance::records::{
    batch, content, dispose, log_of, put_chat, put_session, reserve, title, turn,
};

use crate::common::{House, cluster, is_there};

fn filled(dir: &Path) {
    let mut store = SqliteStore::open(dir, StoreOptions::default()).unwrap();
    store.begin().unwrap();
    let mut ops = vec![reserve(5000)];
    for number in 0..30_u64 {
        let (session, chat) = (format!("s:/{number}"), format!("c:/{number}"));
        ops.push(put_session(&session, "nul \0 and é", 7));
        ops.push(put_chat(
            &chat,
            &session,
            number,
            (number % 2 == 0).then_some("t"),
        ));
        ops.push(turn(&chat, 0, "t0"));
        ops.push(turn(&chat, 1, "t1"));
        ops.push(content(&format!("x:/{number}"), &session, "data"));
        ops.push(title(number + 1, &chat, "T"));
    }
    ops.push(dispose("s:/3", 9));
    store.apply(&[batch(ops)]).unwrap();
    Box::new(store).close().unwrap();
}

#[test]
fn a_house_moves_into_postgresql_and_back_and_is_the_same() {
    if !is_there() {
        return;
    }
    let (from, back) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    filled(from.path());
    let mut house = House::new();
    let there = StorePlace::Postgres(Box::new(house.address()));
    let here = StorePlace::Directory(from.path().to_owned());
    let moved = transfer(&here, &there, StoreOptions::default()).unwrap();
    assert!(
        moved.contains(&("session", 30)) && moved.contains(&("turn", 60)),
        "{moved:?}"
    );
    let again = transfer(&here, &there, StoreOptions::default());
    assert!(
        matches!(again, Err(TransferError::NotEmpty("session"))),
        "{again:?}"
    );
    let target = StorePlace::Directory(back.path().to_owned());
    assert_eq!(
        transfer(&there, &target, StoreOptions::default()).unwrap(),
        moved
    );
    // A host goes on where the other one ended.
    let mut store = house.open(&Opening::default());
    assert_eq!(store.begin().unwrap().next_seq, 5001.into());
    let archive = store.archive().unwrap();
    let loaded = archive.load_session(&"s:/4".into()).unwrap().unwrap();
    assert_eq!(loaded.session.summary.title, "nul \0 and é");
    assert_eq!(loaded.chats[0].turns.len(), 2);
    assert!(archive.load_session(&"s:/3".into()).unwrap().is_none());
    assert_eq!(archive.disposed().unwrap().len(), 1);
    assert_eq!(log_of(&*archive, 0, u64::MAX).len(), 29);
    let mut copy = SqliteStore::open(back.path(), StoreOptions::default()).unwrap();
    assert_eq!(copy.begin().unwrap().next_seq, 5001.into());
}

/// Has a client of this name, which no host would have let in.
fn with_client(dir: &Path, name: &str) {
    let database = rusqlite::Connection::open(dir.join(DATABASE_FILE)).unwrap();
    let insert = format!("INSERT INTO client VALUES ({name}, '1.0.0', 1)");
    database.execute(&insert, []).unwrap();
}

#[test]
fn what_cannot_be_moved_is_named_and_nothing_is_moved_until_it_is_gone() {
    if !is_there() {
        return;
    }
    for (name, says) in [
        ("'a' || char(0)", "its client_id"),
        ("CAST(x'ff' AS TEXT)", "its client_id"),
        // An index has no room for what is this long, and random.
        ("hex(randomblob(4000))", "rows 1 to 1 of the table client"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        filled(dir.path());
        with_client(dir.path(), name);
        let house = House::new();
        let there = StorePlace::Postgres(Box::new(house.address()));
        let here = StorePlace::Directory(dir.path().to_owned());
        let refused = transfer(&here, &there, StoreOptions::default()).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains(says), "{refused}");
        assert!(refused.contains("nothing was moved"), "{refused}");
        let sessions = format!("SELECT count(*) FROM {}.session", house.schema);
        assert_eq!(cluster().sql(&sessions), "0");
        let database = rusqlite::Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
        database.execute("DELETE FROM client", []).unwrap();
        drop(database);
        transfer(&here, &there, StoreOptions::default()).unwrap();
    }
}
