//! The host dies while the store is at work.

use std::collections::BTreeSet;

use innkeeper_protocol::record::StoreBatch;
use innkeeper_protocol::record::store::CommitNo;

use crate::journal::Running;
use crate::records::*;
use crate::{Stage, Subject};

/// A batch of several things that belong together.
fn whole(number: u64) -> StoreBatch {
    let (session, chat) = (format!("s:/{number}"), format!("c:/{number}"));
    let at = i64::try_from(number).unwrap();
    batch([
        put_session(&session, "S", at),
        put_chat(&chat, &session, 0, None),
        turn(&chat, 0, "t0"),
        turn(&chat, 1, "t1"),
        content(&format!("x:/{number}"), &session, "data"),
        title(number, "ahp-root://", "T"),
    ])
}

/// How many batches are there: each of them wholly, and none after one that is
/// missing.
fn count_whole<S: Subject>(stage: &Stage<S>, most: u64) -> u64 {
    let log = log_of(&*stage.archive, 0, u64::MAX);
    let numbers: BTreeSet<u64> = log.iter().map(|entry| entry.last.get()).collect();
    let there = stage.archive.catalogue().unwrap().len() as u64;
    for number in 1..=most {
        let (session, content) = (format!("s:/{number}"), format!("x:/{number}"));
        let expected = number <= there;
        let loaded = stage.load(&session);
        assert_eq!(loaded.is_some(), expected, "{number} of {there}");
        let turns = loaded.map_or(0, |session| session.chats[0].turns.len());
        assert_eq!(turns, if expected { 2 } else { 0 });
        assert_eq!(stage.archive.content(&content).unwrap().is_some(), expected);
        assert_eq!(numbers.contains(&number), expected);
    }
    there
}

pub fn what_is_left_is_a_beginning_of_what_was_submitted<S: Subject>(subject: impl Fn() -> S) {
    const BATCHES: u64 = 60;
    // Each dies when it has heard of so many commits.
    for after in [0, 1, 2, 5, 9] {
        let mut running = Running::on(Stage::new(subject()));
        for number in 1..=BATCHES {
            running.journal.submit(whole(number), number % 3 == 0);
        }
        let mut reported = CommitNo(0);
        for _ in 0..after {
            if reported < CommitNo(BATCHES) {
                reported = running.committed();
            }
        }
        running.subject.crash();
        let left = Stage::new(running.subject);
        let there = count_whole(&left, BATCHES);
        assert!(there >= reported.0, "{there} of {reported:?}");
    }
}

pub fn what_was_reported_is_there_after_a_crash<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    for number in 1..=10 {
        let mut running = Running::on(stage);
        running.until_committed(running.journal.submit(whole(number), true));
        running.subject.crash();
        stage = Stage::new(running.subject);
        assert_eq!(count_whole(&stage, number), number);
    }
}

pub fn no_number_is_given_out_twice_over_many_crashes<S: Subject>(subject: impl Fn() -> S) {
    const BLOCK: u64 = 8;
    let mut stage = Stage::new(subject());
    let mut given_out = BTreeSet::new();
    for life in 0..20 {
        let first = stage.boot.next_seq.get();
        let mut running = Running::on(stage);
        let until = first + BLOCK - 1;
        let reserved = batch([reserve(until)]);
        running.until_committed(running.journal.submit(reserved, true));
        // Some of the numbers are stored, some are told and lost.
        for seq in first..=until {
            assert!(given_out.insert(seq), "{seq} in life {life}");
            if seq - first < life % BLOCK {
                let one = batch([title(seq, "ahp-root://", "T")]);
                running.until_committed(running.journal.submit(one, true));
            }
        }
        running.subject.crash();
        stage = Stage::new(running.subject);
        assert!(stage.boot.next_seq.get() > until);
        for epochs in stage.boot.epochs.windows(2) {
            assert!(epochs[0].last < epochs[1].first, "{:?}", stage.boot.epochs);
        }
    }
}
