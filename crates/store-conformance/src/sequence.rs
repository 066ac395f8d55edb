//! Numbers over lives of the host, and what the log is known to hold.

use crate::records::*;
use crate::{Stage, Subject};

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
fn check<S: Subject>(
    subject: impl Fn() -> S,
    lives: &[&[Did]],
    expected: (u64, u64, &[(u64, u64)]),
) {
    let mut stage = Stage::new(subject());
    for life in lives {
        for did in *life {
            let op = match *did {
                Reserve(until) => reserve(until),
                Store(seq) => title(seq, "ahp-root://", "x"),
                Trim(below) => trim(below),
            };
            stage.apply([op]);
        }
        stage = stage.crash();
    }
    let boot = stage.boot;
    let epochs = boot.epochs.iter();
    let epochs: Vec<_> = epochs.map(|e| (e.first.get(), e.last.get())).collect();
    let (next, start) = (boot.next_seq.get(), boot.log_start.get());
    assert_eq!((next, start, &*epochs), expected);
}

pub fn a_fresh_store_begins_at_one<S: Subject>(subject: impl Fn() -> S) {
    check(&subject, &[], (1, 1, &[]));
}

pub fn a_crash_skips_what_was_reserved<S: Subject>(subject: impl Fn() -> S) {
    check(
        &subject,
        &[&[Reserve(100), Store(1), Store(2)]],
        (101, 1, &[(1, 2)]),
    );
}

pub fn a_clean_end_leaves_no_gap_and_joins_the_lives<S: Subject>(subject: impl Fn() -> S) {
    let clean: &[Did] = &[Reserve(100), Store(1), Store(2), Reserve(2)];
    check(&subject, &[clean], (3, 1, &[(1, 2)]));
    check(
        &subject,
        &[clean, &[Reserve(100), Store(3)]],
        (101, 1, &[(1, 3)]),
    );
    check(
        &subject,
        &[
            clean,
            &[Reserve(100), Store(3)],
            &[Reserve(200), Store(101)],
        ],
        (201, 1, &[(1, 3), (101, 101)]),
    );
}

pub fn a_life_that_stored_nothing_leaves_no_epoch<S: Subject>(subject: impl Fn() -> S) {
    check(&subject, &[&[], &[]], (1, 1, &[]));
    check(&subject, &[&[Reserve(50)], &[Reserve(90)]], (91, 1, &[]));
    check(
        &subject,
        &[&[Store(1)], &[Reserve(50)], &[]],
        (51, 1, &[(1, 1)]),
    );
}

pub fn a_lost_life_between_two_clean_ones_is_a_gap<S: Subject>(subject: impl Fn() -> S) {
    check(
        &subject,
        &[
            &[Store(1)],
            &[Reserve(50)],
            &[Reserve(99), Store(51), Reserve(51)],
        ],
        (52, 1, &[(1, 1), (51, 51)]),
    );
}

pub fn numbers_beyond_the_reservation_are_not_given_out_again<S: Subject>(subject: impl Fn() -> S) {
    check(&subject, &[&[Reserve(2), Store(5)]], (6, 1, &[(1, 5)]));
}

/// In one transaction with what it is about, or in a later one.
pub fn numbers_outlive_the_log_of_a_session_that_is_disposed_of<S: Subject>(
    subject: impl Fn() -> S,
) {
    let said = || vec![put_session("s:/a", "A", 1), title(7, "s:/a", "x")];
    let (mut at_once, gone) = (said(), dispose("s:/a", 2));
    at_once.push(gone.clone());
    for batches in [vec![at_once], vec![said(), vec![gone]]] {
        let mut stage = Stage::new(subject());
        for ops in batches {
            stage.apply(ops);
        }
        let boot = stage.crash().boot;
        assert_eq!(boot.next_seq, 8.into());
        assert_eq!(boot.epochs.len(), 1);
        assert_eq!(boot.epochs[0].last, 7.into());
    }
}

pub fn trimming_moves_the_start_and_forgets_the_epochs_below_it<S: Subject>(
    subject: impl Fn() -> S,
) {
    let first: &[Did] = &[Reserve(10), Store(1), Store(2), Store(3)];
    let second: &[Did] = &[Reserve(20), Store(11), Store(12)];
    check(&subject, &[first, &[Trim(2)]], (11, 2, &[(1, 3)]));
    check(&subject, &[first, second, &[Trim(4)]], (21, 4, &[(11, 12)]));
    check(
        &subject,
        &[first, second, &[Trim(12)]],
        (21, 12, &[(11, 12)]),
    );
    // Back, and beyond the end: neither says more than is true.
    check(&subject, &[first, &[Trim(3), Trim(1)]], (11, 3, &[(1, 3)]));
    check(
        &subject,
        &[first, &[Trim(1000)], second],
        (21, 4, &[(11, 12)]),
    );
}
