//! A store while the host runs: batches come in, commits are reported, and
//! others read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use innkeeper_protocol::record::StoreBatch;
use innkeeper_protocol::record::store::{Archive, CommitNo, Journal, JournalEvent};

use crate::records::*;
use crate::{Opening, Stage, Subject};

const CHANNEL: &str = "ahp-root://";
const LONG: Duration = Duration::from_secs(3600);

/// A journal, what it reports, and a view of what it has stored.
pub(crate) struct Running<S> {
    pub(crate) subject: S,
    pub(crate) journal: Box<dyn Journal>,
    pub(crate) events: mpsc::Receiver<JournalEvent>,
    pub(crate) archive: Arc<dyn Archive>,
}

impl<S: Subject> Running<S> {
    fn new(subject: S, group_commit: Duration) -> Self {
        let opening = Opening {
            group_commit,
            ..Opening::default()
        };
        Self::on(Stage::opened(subject, &opening))
    }

    pub(crate) fn on(stage: Stage<S>) -> Self {
        let (told, events) = mpsc::channel();
        let notify = move |event| told.send(event).unwrap_or(());
        Self {
            subject: stage.subject,
            journal: stage.store.start(Box::new(notify)).unwrap(),
            events,
            archive: stage.archive,
        }
    }

    /// The number that was committed next.
    pub(crate) fn committed(&self) -> CommitNo {
        match self.events.recv_timeout(Duration::from_secs(20)) {
            Ok(JournalEvent::Committed(number)) => number,
            other => panic!("a commit was expected: {other:?}"),
        }
    }

    pub(crate) fn until_committed(&self, number: CommitNo) {
        while self.committed() < number {}
    }
}

fn text(seq: u64) -> StoreBatch {
    batch([title(seq, CHANNEL, &seq.to_string())])
}

fn stored(archive: &dyn Archive) -> Vec<u64> {
    let log = log_of(archive, 0, u64::MAX);
    let lines = told(&log, CHANNEL, 0);
    lines.iter().map(|line| line.parse().unwrap()).collect()
}

pub fn batches_wait_for_an_urgent_one_and_become_durable_with_it<S: Subject>(
    subject: impl Fn() -> S,
) {
    let running = Running::new(subject(), LONG);
    for seq in 1..=5 {
        assert_eq!(running.journal.submit(text(seq), false), CommitNo(seq));
    }
    assert!(stored(&*running.archive).is_empty());
    assert_eq!(running.journal.submit(text(6), true), CommitNo(6));
    running.until_committed(CommitNo(6));
    assert_eq!(stored(&*running.archive), [1, 2, 3, 4, 5, 6]);
}

pub fn batches_that_are_not_urgent_become_durable_by_themselves<S: Subject>(
    subject: impl Fn() -> S,
) {
    let group_commit = Duration::from_millis(20);
    let running = Running::new(subject(), group_commit);
    for seq in 1..=2 {
        let began = Instant::now();
        running.journal.submit(text(seq), false);
        running.until_committed(CommitNo(seq));
        assert!(began.elapsed() >= group_commit);
    }
}

pub fn closing_commits_what_is_queued<S: Subject>(subject: impl Fn() -> S) {
    let running = Running::new(subject(), LONG);
    for seq in 1..=3 {
        running.journal.submit(text(seq), false);
    }
    running.journal.close().unwrap();
    let last = running.events.try_iter().last();
    assert_eq!(last, Some(JournalEvent::Committed(CommitNo(3))));
    let stage = Stage::new(running.subject);
    assert_eq!(stored(&*stage.archive), [1, 2, 3]);
}

pub fn submissions_from_many_threads_keep_their_order<S: Subject>(subject: impl Fn() -> S) {
    let running = Running::new(subject(), Duration::ZERO);
    let journal = Mutex::new((&*running.journal, 1));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let mut journal = journal.lock().unwrap();
                    let next = journal.1;
                    let number = journal.0.submit(text(next), next.is_multiple_of(5));
                    assert_eq!(number, CommitNo(next));
                    journal.1 += 1;
                }
            });
        }
    });
    let mut last = CommitNo(0);
    while last < CommitNo(200) {
        let number = running.committed();
        assert!(number > last);
        last = number;
    }
    assert_eq!(last, CommitNo(200));
    assert_eq!(stored(&*running.archive), (1..=200).collect::<Vec<_>>());
}

pub fn readers_see_what_was_reported_as_committed<S: Subject>(subject: impl Fn() -> S) {
    let running = Running::new(subject(), Duration::ZERO);
    for seq in 1..=50 {
        running.journal.submit(text(seq), true);
        let CommitNo(number) = running.committed();
        let stored = stored(&*running.archive);
        assert!(stored.len() as u64 >= number, "{number}: {stored:?}");
    }
}

/// Each batch changes two sessions: nobody ever sees but one of them changed.
pub fn many_read_at_once_and_each_sees_a_state_between_two_commits<S: Subject>(
    subject: impl Fn() -> S,
) {
    const BATCHES: i64 = 200;
    let running = Running::new(subject(), Duration::ZERO);
    let both = |at| batch([put_session("s:/a", "A", at), put_session("s:/b", "B", at)]);
    running.until_committed(running.journal.submit(both(1), true));
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    let rows = running.archive.catalogue().unwrap();
                    assert_eq!(rows[0].modified_at, rows[1].modified_at);
                    let loaded = running.archive.load_session(&"s:/a".into());
                    assert!(loaded.unwrap().is_some());
                }
            });
        }
        for at in 2..=BATCHES {
            running.journal.submit(both(at), at % 7 == 0);
        }
        running.until_committed(running.journal.submit(both(BATCHES + 1), true));
        ended.store(true, Ordering::Relaxed);
    });
}

pub fn a_store_that_was_closed_can_be_opened_again<S: Subject>(subject: impl Fn() -> S) {
    let mut subject = subject();
    for life in 1..=3 {
        let running = Running::new(subject, LONG);
        running.journal.submit(text(life), false);
        // Whoever still has a view does not keep it open.
        let view = Arc::clone(&running.archive);
        running.journal.close().unwrap();
        subject = running.subject;
        drop(view);
    }
    let stage = Stage::new(subject);
    assert_eq!(stored(&*stage.archive), [1, 2, 3]);
}
