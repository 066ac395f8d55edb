//! Merging, trimming and reading the log.

use innkeeper_protocol::record::StoreOp;

use crate::common::*;

const A: &str = "ahp-chat:/a";
const B: &str = "ahp-chat:/b";

fn spans(store: &innkeeper_store::Store, after: u64, up_to: u64) -> Vec<(u64, u64)> {
    let entries = store.reader().unwrap().log_between(after, up_to).unwrap();
    entries.iter().map(|e| (e.first, e.last)).collect()
}

#[test]
fn appends_to_one_part_become_one_row_past_other_channels() {
    let mut store = in_memory();
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
    let log = store.reader().unwrap().log_between(0, 99).unwrap();
    assert_eq!(told(&log, A, 0), ["p: Hello!", "q: ?"]);
    assert_eq!(told(&log, A, 1), ["p: lo!", "q: ?"]);
    assert_eq!(told(&log, A, 3), ["p: !", "q: ?"]);
    assert_eq!(told(&log, B, 0), ["p: x", "T", "p: y"]);
}

#[test]
fn a_row_comes_back_as_it_went() {
    let mut store = in_memory();
    let (one, other) = (title(1, A, "T"), delta(2, A, "p", "\u{0}é😀\n"));
    apply(&mut store, [one.clone(), other.clone()]);
    let log = store.reader().unwrap().log_between(0, 9).unwrap();
    for (op, entry) in [one, other].iter().zip(log) {
        let StoreOp::Append(sequenced) = op else {
            panic!("an append was meant")
        };
        assert_eq!(entry.after(0).unwrap(), **sequenced);
    }
}

#[test]
fn separate_commits_are_separate_rows() {
    let mut store = in_memory();
    apply(&mut store, [delta(1, A, "p", "a")]);
    apply(&mut store, [delta(2, A, "p", "b")]);
    assert_eq!(spans(&store, 0, 9), [(1, 1), (2, 2)]);
}

#[test]
fn a_range_has_every_entry_that_touches_it() {
    let mut store = in_memory();
    apply(
        &mut store,
        [
            delta(1, A, "p", "a"),
            title(2, B, "T"),
            title(3, B, "T"),
            delta(4, A, "p", "b"),
            title(5, B, "T"),
        ],
    );
    assert_eq!(spans(&store, 0, 9), [(2, 2), (3, 3), (1, 4), (5, 5)]);
    assert_eq!(spans(&store, 2, 4), [(3, 3), (1, 4)]);
    assert_eq!(spans(&store, 0, 1), [(1, 4)]);
    assert_eq!(spans(&store, 4, 4), []);
}

#[test]
fn trimming_keeps_a_row_that_reaches_over_the_edge() {
    let mut store = in_memory();
    apply(
        &mut store,
        [
            delta(1, A, "p", "a"),
            title(2, B, "T"),
            delta(3, A, "p", "b"),
            delta(4, A, "q", "c"),
            StoreOp::TrimLog { below: 3 },
        ],
    );
    assert_eq!(spans(&store, 0, 9), [(1, 3), (4, 4)]);
    let (_, boot) = reopen(store);
    assert_eq!(boot.log_start, 3, "row 2 is gone");
}

#[test]
fn a_batch_that_cannot_be_stored_leaves_no_trace() {
    let mut store = in_memory();
    apply(&mut store, [title(1, A, "T")]);
    let good = batch([title(2, A, "U"), put_session("s:/1", "S", 1)]);
    let repeated_number = batch([title(1, A, "V")]);
    store.apply(&[good.clone(), repeated_number]).unwrap_err();
    assert_eq!(spans(&store, 0, 9), [(1, 1)]);
    store.apply(&[good]).unwrap();
    assert_eq!(spans(&store, 0, 9), [(1, 1), (2, 2)]);
    let (_, boot) = reopen(store);
    assert_eq!((boot.next_seq, boot.catalogue.len()), (3, 1));
}
