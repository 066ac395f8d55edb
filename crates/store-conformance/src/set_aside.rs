//! Batches that can never be stored: here, because their number is in the log.

use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::record::store::{CommitNo, JournalEvent, SetAside};
use innkeeper_protocol::record::{GateFacts, Sequenced, StoreBatch, StoreOp};
use serde_json::json;

use crate::journal::Running;
use crate::records::*;
use crate::{Opening, Stage, Subject};

/// No store takes a second action under this number.
const TAKEN: u64 = 1;

fn opened<S: Subject>(subject: S) -> Running<S> {
    // They come to the store together.
    let opening = Opening {
        group_commit: Duration::from_secs(3600),
        ..Opening::default()
    };
    let mut stage = Stage::opened(subject, &opening);
    stage.apply([named(TAKEN, "s:/old")]);
    Running::on(stage)
}

/// An action on a session, which says its own number.
fn named(seq: u64, session: &str) -> StoreOp {
    let action = json!({"type": "session/titleChanged", "title": seq.to_string()});
    StoreOp::Append(Arc::new(Sequenced {
        seq: seq.into(),
        channel: session.into(),
        action: of(action),
        origin: None,
        facts: GateFacts::default(),
    }))
}

fn renamed(seq: u64, session: &str) -> StoreBatch {
    batch([named(seq, session), put_session(session, "A title", 1)])
}

/// What is reported up to a commit, without the commits.
fn set_aside<S: Subject>(running: &Running<S>, up_to: CommitNo) -> Vec<SetAside> {
    let mut found = Vec::new();
    loop {
        let event = running
            .events
            .recv_timeout(Duration::from_secs(20))
            .unwrap();
        match event {
            JournalEvent::SetAside(one) => found.push(one),
            JournalEvent::Committed(number) => {
                // It is said before whatever waits for it may go on.
                assert!(found.iter().all(|one| one.number <= number));
                if number >= up_to {
                    return found;
                }
            }
            other => panic!("{other:?}"),
        }
    }
}

fn numbers(found: &[SetAside]) -> Vec<u64> {
    found.iter().map(|one| one.number.0).collect()
}

pub fn a_batch_that_can_never_be_stored_is_set_aside_and_the_others_are_stored<S: Subject>(
    subject: impl Fn() -> S,
) {
    for bad in 1..=7 {
        let running = opened(subject());
        for at in 1..=7 {
            let seq = if at == bad { TAKEN } else { 10 + at };
            running
                .journal
                .submit(renamed(seq, &format!("s:/{at}")), at == 7);
        }
        let found = set_aside(&running, CommitNo(7));
        assert_eq!(numbers(&found), [bad]);
        assert_eq!(found[0].sessions, [format!("s:/{bad}").into()]);
        assert!(!found[0].reason.is_empty());
        let rows = running.archive.catalogue().unwrap();
        let mut stored: Vec<String> = rows.iter().map(|row| row.session.to_string()).collect();
        stored.sort();
        let others = (1..=7).filter(|at| *at != bad);
        assert_eq!(
            stored,
            others.map(|at| format!("s:/{at}")).collect::<Vec<_>>()
        );
    }
}

pub fn what_builds_on_something_set_aside_is_set_aside_until_its_session_is_reread<S: Subject>(
    subject: impl Fn() -> S,
) {
    let running = opened(subject());
    running.journal.submit(renamed(TAKEN, "s:/a"), false);
    running.journal.submit(renamed(11, "s:/a"), false);
    running.journal.submit(renamed(12, "s:/b"), false);
    let reread = StoreOp::Reread {
        session: "s:/a".into(),
        below: 12.into(),
    };
    running.journal.submit(batch([reread]), false);
    running.journal.submit(renamed(13, "s:/a"), true);
    assert_eq!(numbers(&set_aside(&running, CommitNo(5))), [1, 2]);
    let log = log_of(&*running.archive, TAKEN, u64::MAX);
    assert_eq!(told(&log, "s:/a", 0), ["13"]);
    assert_eq!(told(&log, "s:/b", 0), ["12"]);
    // Who has seen what is not there is not given the rest.
    let mut subject = running.subject;
    subject.crash();
    assert_eq!(Stage::new(subject).boot.log_start, 12.into());
}

pub fn numbers_stay_reserved_whatever_becomes_of_their_batch<S: Subject>(subject: impl Fn() -> S) {
    let mut running = opened(subject());
    let reserve = StoreOp::ReserveSeq { until: 500.into() };
    let bad = batch([named(TAKEN, "s:/a"), reserve]);
    running.journal.submit(bad, true);
    assert_eq!(numbers(&set_aside(&running, CommitNo(1))), [1]);
    running.subject.crash();
    let stage = Stage::new(running.subject);
    assert!(stage.boot.next_seq > 500.into(), "{}", stage.boot.next_seq);
}
