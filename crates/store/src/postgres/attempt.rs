//! Commits of which nobody heard. When a connection breaks while a commit is
//! under way, it may have happened or not; the database counts commits, so the
//! next connection can tell.
//!
//! *Invariant*: a batch that is stored is never stored again, however often it
//! is handed over.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher as _, Hasher};
use std::io;

use foldhash::fast::FixedState;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::record::StoreBatch;

use super::error::PostgresError;
use crate::sequence::Sequence;

/// What is true when a commit has happened.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) sequence: Sequence,
    pub(super) log_bytes: u64,
    pub(super) disposed: BTreeMap<ChannelUri, bool>,
}

#[derive(Debug)]
pub(super) struct Attempts {
    /// How many commits the database has counted, as far as it is known.
    commits: u64,
    /// One that may have happened: what it held, and what follows.
    open: Option<(Vec<u64>, Outcome)>,
    /// What is stored, and is going to be handed over again.
    stored: VecDeque<u64>,
}

impl Attempts {
    pub(super) fn new(commits: u64) -> Self {
        Self {
            commits,
            open: None,
            stored: VecDeque::new(),
        }
    }

    pub(super) fn commits(&self) -> u64 {
        self.commits
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn committed(&mut self) {
        self.commits += 1;
    }

    pub(super) fn may_have_committed(&mut self, batches: &[StoreBatch], outcome: Outcome) {
        let marks = batches.iter().map(mark).collect();
        self.open = Some((marks, outcome));
    }

    /// So many commits were counted: says what follows if it happened.
    pub(super) fn settle(&mut self, counted: u64) -> Option<Outcome> {
        let (marks, outcome) = self.open.take()?;
        (counted > self.commits).then(|| {
            self.commits = counted;
            self.stored.extend(marks);
            outcome
        })
    }

    /// How many of the first batches are stored already.
    pub(super) fn done_of(&mut self, batches: &[StoreBatch]) -> usize {
        if self.stored.is_empty() {
            return 0;
        }
        let known = batches.iter().zip(&self.stored);
        let done = known
            .take_while(|(batch, known)| mark(batch) == **known)
            .count();
        if done == 0 {
            // Something else comes in its place, which was not stored.
            self.stored.clear();
        }
        done
    }

    /// They have been reported, and do not come again.
    pub(super) fn passed(&mut self, done: usize) {
        self.stored.drain(..done.min(self.stored.len()));
    }
}

/// Whether a transaction that failed like this may have been committed.
pub(super) fn may_have_happened(error: &PostgresError) -> bool {
    match error.code() {
        // The server went away, or lost its mind, at a moment that nobody knows.
        Some(code) => ["57P", "08", "58", "XX"]
            .iter()
            .any(|class| code.starts_with(class)),
        None => matches!(
            error,
            PostgresError::Away { .. } | PostgresError::Silent { .. }
        ),
    }
}

/// What a batch is known by.
fn mark(batch: &StoreBatch) -> u64 {
    struct Marking<H>(H);
    impl<H: Hasher> io::Write for Marking<H> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut marking = Marking(FixedState::default().build_hasher());
    // Writing to it cannot fail; what is no JSON is in no batch that was stored.
    let _ = batch.write_lines(&mut marking);
    marking.0.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use innkeeper_protocol::record::StoreOp;

    fn batch(until: u64) -> StoreBatch {
        let ops = vec![StoreOp::ReserveSeq {
            until: until.into(),
        }];
        StoreBatch { ops }
    }

    fn outcome() -> Outcome {
        Outcome {
            sequence: Sequence::default(),
            log_bytes: 0,
            disposed: BTreeMap::new(),
        }
    }

    #[test]
    fn what_happened_is_not_done_again_in_whatever_groups_it_comes() {
        let all: Vec<StoreBatch> = (1..=5).map(batch).collect();
        let mut attempts = Attempts::new(7);
        attempts.may_have_committed(&all[..3], outcome());
        assert!(attempts.settle(8).is_some());
        assert_eq!(attempts.commits(), 8);
        assert_eq!(attempts.done_of(&all), 3);
        // It failed for another reason, and is tried by halves.
        assert_eq!(attempts.done_of(&all[..2]), 2);
        attempts.passed(2);
        assert_eq!(attempts.done_of(&all[2..]), 1);
        attempts.passed(1);
        assert_eq!(attempts.done_of(&all[3..]), 0);
    }

    #[test]
    fn what_did_not_happen_is_done() {
        let mut attempts = Attempts::new(7);
        attempts.may_have_committed(&[batch(1)], outcome());
        assert!(attempts.settle(7).is_none());
        assert_eq!(attempts.done_of(&[batch(1)]), 0);
        assert_eq!(attempts.commits(), 7);
    }
}
