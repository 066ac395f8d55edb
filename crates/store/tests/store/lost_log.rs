//! A write-ahead log that lost something: SQLite reads up to the damage, and
//! says nothing.

use innkeeper_protocol::record::store::Store as _;
use innkeeper_store::{SqliteStore, StoreOptions};
use innkeeper_store_conformance::records::*;
use tempfile::TempDir;

use crate::conformance::what_a_dead_process_leaves;

/// What a host leaves that has reserved 500 numbers, told 20 of them, and lost
/// its log.
fn without_log(tended: bool) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
    store.begin().unwrap();
    let ops = [reserve(500), title(20, "ahp-root://", "T")];
    store.apply(&[batch(ops)]).unwrap();
    if tended {
        store.tend(std::time::Duration::from_secs(1)).unwrap();
    }
    let left = tempfile::tempdir().unwrap();
    what_a_dead_process_leaves(dir.path(), left.path());
    std::fs::write(left.path().join("innkeeper.db-wal"), "").unwrap();
    left
}

#[test]
fn no_number_is_given_out_again_though_the_log_is_lost() {
    let left = without_log(true);
    let mut store = SqliteStore::open(left.path(), StoreOptions::default()).unwrap();
    assert_eq!(store.begin().unwrap().next_seq, 501.into());
}

#[test]
fn what_is_noted_costs_no_number_after_a_clean_end() {
    let dir = tempfile::tempdir().unwrap();
    for first in [1, 2, 3_u64] {
        let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
        assert_eq!(store.begin().unwrap().next_seq, first.into());
        store.apply(&[batch([reserve(first + 99)])]).unwrap();
        store.tend(std::time::Duration::from_secs(1)).unwrap();
        let ops = [title(first, "ahp-root://", "T"), reserve(first)];
        store.apply(&[batch(ops)]).unwrap();
        Box::new(store).close().unwrap();
    }
}
