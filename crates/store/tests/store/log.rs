//! How the log is laid out on disk: streamed text becomes few rows.

use innkeeper_protocol::record::store::Store as _;
use innkeeper_store::{SqliteStore, StoreOptions};
use innkeeper_store_conformance::records::*;
use tempfile::TempDir;

const A: &str = "ahp-chat:/a";
const B: &str = "ahp-chat:/b";

fn open() -> (SqliteStore, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
    store.begin().unwrap();
    (store, dir)
}

fn spans(store: &SqliteStore, after: u64, up_to: u64) -> Vec<(u64, u64)> {
    let archive = store.archive().unwrap();
    let entries = log_of(&*archive, after, up_to);
    entries
        .iter()
        .map(|e| (e.first.get(), e.last.get()))
        .collect()
}

#[test]
fn appends_to_one_part_become_one_row_past_other_channels() {
    let (mut store, _dir) = open();
    let ops = [
        delta(1, A, "p", "Hel"),
        delta(2, B, "p", "x"),
        delta(3, A, "p", "lo"),
        title(4, B, "T"),
        delta(5, B, "p", "y"),
        delta(6, A, "p", "!"),
        delta(7, A, "q", "?"),
    ];
    let batches: Vec<_> = ops.into_iter().map(|op| batch([op])).collect();
    store.apply(&batches).unwrap();

    assert_eq!(
        spans(&store, 0, 99),
        [(2, 2), (4, 4), (5, 5), (1, 6), (7, 7)]
    );
    let log = log_of(&*store.archive().unwrap(), 0, 99);
    assert_eq!(told(&log, A, 0), ["p: Hello!", "q: ?"]);
    assert_eq!(told(&log, A, 1), ["p: lo!", "q: ?"]);
    assert_eq!(told(&log, A, 3), ["p: !", "q: ?"]);
    assert_eq!(told(&log, B, 0), ["p: x", "T", "p: y"]);
}

#[test]
fn separate_commits_are_separate_rows() {
    let (mut store, _dir) = open();
    store.apply(&[batch([delta(1, A, "p", "a")])]).unwrap();
    store.apply(&[batch([delta(2, A, "p", "b")])]).unwrap();
    assert_eq!(spans(&store, 0, 9), [(1, 1), (2, 2)]);
}

#[test]
fn a_range_has_every_row_that_touches_it() {
    let (mut store, _dir) = open();
    store
        .apply(&[batch([
            delta(1, A, "p", "a"),
            title(2, B, "T"),
            title(3, B, "T"),
            delta(4, A, "p", "b"),
            title(5, B, "T"),
        ])])
        .unwrap();
    assert_eq!(spans(&store, 0, 9), [(2, 2), (3, 3), (1, 4), (5, 5)]);
    assert_eq!(spans(&store, 2, 4), [(3, 3), (1, 4)]);
    assert_eq!(spans(&store, 0, 1), [(1, 4)]);
    assert_eq!(spans(&store, 4, 4), []);
}

#[test]
fn trimming_keeps_a_row_that_reaches_over_the_edge() {
    let (mut store, _dir) = open();
    store
        .apply(&[batch([
            delta(1, A, "p", "a"),
            title(2, B, "T"),
            delta(3, A, "p", "b"),
            delta(4, A, "q", "c"),
            trim(3),
        ])])
        .unwrap();
    assert_eq!(spans(&store, 0, 9), [(1, 3), (4, 4)]);
    assert_eq!(store.begin().unwrap().log_start, 3.into(), "row 2 is gone");
}

/// Text of which no part occurs twice, so that it takes its whole room.
fn unpressable(letters: usize) -> String {
    let mut state = 1_u64;
    let letter = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'!' + 3 + (state >> 58) as u8)
    };
    std::iter::repeat_with(letter).take(letters).collect()
}

#[test]
fn a_log_that_takes_too_much_room_asks_to_be_trimmed_by_a_quarter() {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        log_bytes: 100_000,
        ..StoreOptions::default()
    };
    let mut store = SqliteStore::open(dir.path(), options.clone()).unwrap();
    store.begin().unwrap();
    let second = std::time::Duration::from_secs(1);
    let asked = |store: &mut SqliteStore| store.tend(second).unwrap().trim_log_below;
    let title_of = |seq| batch([title(seq, B, &unpressable(10_000))]);
    assert_eq!(asked(&mut store), None);
    for seq in 1..=9 {
        store.apply(&[title_of(seq)]).unwrap();
        assert_eq!(asked(&mut store), None);
    }
    store.apply(&[title_of(10)]).unwrap();
    let below = asked(&mut store).unwrap();
    assert_eq!(below, 4.into(), "seven of them are within 75,000 bytes");
    assert_eq!(asked(&mut store), Some(below), "until it is done");
    store.apply(&[batch([trim(below.get())])]).unwrap();
    assert_eq!(asked(&mut store), None);
    // What another life has written counts, too.
    for seq in 11..=14 {
        store.apply(&[title_of(seq)]).unwrap();
    }
    drop(store);
    let mut store = SqliteStore::open(dir.path(), options).unwrap();
    store.begin().unwrap();
    assert_eq!(asked(&mut store), Some(8.into()));
}
