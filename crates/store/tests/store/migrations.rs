//! Databases of every release that wrote another form.
//!
//! `fixtures/v<N>.sql` makes a database as release form N left it. Such a file
//! is written once and never edited; a new form adds a file here, and a step.

use std::time::Duration;

use innkeeper_protocol::record::Epoch;
use innkeeper_protocol::record::search::{SearchField, SearchFilter, SearchQuery};
use innkeeper_protocol::record::store::Store as _;
use innkeeper_store::{DATABASE_FILE, SqliteStore, StoreError, StoreOptions, open_read_only};
use innkeeper_store_conformance::records::*;
use rusqlite::Connection;

pub(crate) const FIXTURES: &[(i64, &str)] = &[
    (1, include_str!("../fixtures/v1.sql")),
    (2, include_str!("../fixtures/v2.sql")),
    (3, include_str!("../fixtures/v3.sql")),
    (4, include_str!("../fixtures/v4.sql")),
    (5, include_str!("../fixtures/v5.sql")),
    (6, include_str!("../fixtures/v6.sql")),
    (7, include_str!("../fixtures/v7.sql")),
];

pub(crate) fn fixture(sql: &str, version: i64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
    connection.execute_batch(sql).unwrap();
    connection
        .pragma_update(None, "user_version", version)
        .unwrap();
    dir
}

fn schema(dir: &std::path::Path) -> Vec<(String, String)> {
    let connection = Connection::open(dir.join(DATABASE_FILE)).unwrap();
    let mut statement = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name")
        .unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn a_database_of_every_release_opens_with_all_that_it_had() {
    let fresh = tempfile::tempdir().unwrap();
    drop(SqliteStore::open(fresh.path(), StoreOptions::default()).unwrap());

    for (version, sql) in FIXTURES {
        let dir = fixture(sql, *version);
        let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
        let boot = store.begin().unwrap();
        assert_eq!(boot.next_seq, 101.into(), "v{version}");
        assert_eq!(
            boot.epochs,
            [Epoch {
                first: 1.into(),
                last: 3.into()
            }]
        );
        assert_eq!(boot.clients[0].version, "1.0.0");
        assert_eq!(uris(&boot.interrupted), ["ahp-session:/1"]);
        let reader = store.archive().unwrap();
        let loaded = reader
            .load_session(&"ahp-session:/1".into())
            .unwrap()
            .unwrap();
        assert_eq!(loaded.session.state.title, "Inn");
        assert!(loaded.session.facts.is_empty(), "v{version}");
        assert!(boot.catalogue[0].facts.is_none(), "v{version}");
        assert_eq!(loaded.chats[0].turns[0].decode().unwrap().id, "t0");
        assert_eq!(told(&loaded.chats[0].log, "ahp-chat:/1", 2), ["p: lo"]);
        assert_eq!(reader.content("content:/1").unwrap().unwrap().data, "data");
        assert_eq!(reader.disposed().unwrap().len(), 1);
        assert_eq!(schema(dir.path()), schema(fresh.path()), "v{version}");
    }
}

#[test]
fn what_earlier_releases_stored_is_found_when_the_index_has_caught_up() {
    for (version, sql) in FIXTURES {
        let dir = fixture(sql, *version);
        let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
        store.begin().unwrap();
        let reader = store.archive().unwrap();
        let query = SearchQuery {
            text: "hi".to_owned(),
            fields: SearchField::ALL.to_vec(),
            filter: SearchFilter::default(),
            limit: 10,
            cursor: None,
            time: Duration::MAX,
        };
        let before = reader.search(&query).unwrap();
        assert!(before.indexing && before.items.is_empty(), "v{version}");
        while store.tend(Duration::ZERO).unwrap().is_behind {}
        let after = reader.search(&query).unwrap();
        assert!(!after.indexing);
        let turns: Vec<_> = after.items.iter().map(|hit| &hit.turn_id).collect();
        assert_eq!(turns, [&Some("t0".into())], "v{version}");
    }
}

#[test]
fn a_database_of_a_newer_release_is_refused() {
    let dir = fixture("", 1000);
    let error = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap_err();
    assert!(
        matches!(error, StoreError::Newer { found: 1000, .. }),
        "{error}"
    );
    let error = open_read_only(dir.path()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");
}

#[test]
fn a_tool_does_not_upgrade_a_database() {
    let dir = fixture("", 0);
    let error = open_read_only(dir.path()).unwrap_err();
    assert!(
        matches!(error, StoreError::Older { found: 0, .. }),
        "{error}"
    );
}
