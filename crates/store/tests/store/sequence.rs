//! Numbers over lives of the host, and what the log is known to hold.

use innkeeper_protocol::record::StoreOp;

use crate::common::*;

#[derive(Clone, Copy)]
enum Did {
    Reserve(u64),
    Store(u64),
    Trim(u64),
}
use Did::{Reserve, Store, Trim};

/// Each life does its things; after the last one the next is told
/// `(next_seq, log_start, epochs)`.
#[track_caller]
fn check(lives: &[&[Did]], expected: (u64, u64, &[(u64, u64)])) {
    let (mut store, mut boot) = innkeeper_store::Store::open_in_memory().unwrap();
    for life in lives {
        for did in *life {
            let op = match *did {
                Reserve(until) => StoreOp::ReserveSeq { until },
                Store(seq) => title(seq, "ahp-root://", "x"),
                Trim(below) => StoreOp::TrimLog { below },
            };
            apply(&mut store, [op]);
        }
        (store, boot) = reopen(store);
    }
    let epochs: Vec<_> = boot.epochs.iter().map(|e| (e.first, e.last)).collect();
    assert_eq!((boot.next_seq, boot.log_start, &*epochs), expected);
}

#[test]
fn a_fresh_store_begins_at_one() {
    check(&[], (1, 1, &[]));
}

#[test]
fn a_crash_skips_what_was_reserved() {
    check(&[&[Reserve(100), Store(1), Store(2)]], (101, 1, &[(1, 2)]));
}

#[test]
fn a_clean_end_leaves_no_gap_and_joins_the_lives() {
    let clean: &[Did] = &[Reserve(100), Store(1), Store(2), Reserve(2)];
    check(&[clean], (3, 1, &[(1, 2)]));
    check(&[clean, &[Reserve(100), Store(3)]], (101, 1, &[(1, 3)]));
    check(
        &[
            clean,
            &[Reserve(100), Store(3)],
            &[Reserve(200), Store(101)],
        ],
        (201, 1, &[(1, 3), (101, 101)]),
    );
}

#[test]
fn a_life_that_stored_nothing_leaves_no_epoch() {
    check(&[&[], &[]], (1, 1, &[]));
    check(&[&[Reserve(50)], &[Reserve(90)]], (91, 1, &[]));
    check(&[&[Store(1)], &[Reserve(50)], &[]], (51, 1, &[(1, 1)]));
}

#[test]
fn a_lost_life_between_two_clean_ones_is_a_gap() {
    check(
        &[
            &[Store(1)],
            &[Reserve(50)],
            &[Reserve(99), Store(51), Reserve(51)],
        ],
        (52, 1, &[(1, 1), (51, 51)]),
    );
}

#[test]
fn numbers_beyond_the_reservation_are_not_given_out_again() {
    check(&[&[Reserve(2), Store(5)]], (6, 1, &[(1, 5)]));
}

#[test]
fn trimming_moves_the_start_and_forgets_the_epochs_below_it() {
    let first: &[Did] = &[Reserve(10), Store(1), Store(2), Store(3)];
    let second: &[Did] = &[Reserve(20), Store(11), Store(12)];
    check(&[first, &[Trim(2)]], (11, 2, &[(1, 3)]));
    check(&[first, second, &[Trim(4)]], (21, 4, &[(11, 12)]));
    check(&[first, second, &[Trim(12)]], (21, 12, &[(11, 12)]));
    // Back, and beyond the end: neither says more than is true.
    check(&[first, &[Trim(3), Trim(1)]], (11, 3, &[(1, 3)]));
    check(&[first, &[Trim(1000)], second], (21, 4, &[(11, 12)]));
}
