//! The thread that owns the store while the host runs.
//!
//! What is submitted while a commit runs is committed together by the next
//! one. *Invariant*: batches are stored in the order of submission and none is
//! ever dropped; if the store fails (a full disk, say), all of them wait and
//! are tried again.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use innkeeper_protocol::record::StoreBatch;
use innkeeper_protocol::record::store::{
    CommitNo, Journal, JournalEvent, Notify, Store, StoreFault,
};

use crate::StoreError;

pub(crate) const RETRY: Duration = Duration::from_millis(250);

/// How often closing tries before it gives up: two seconds at most.
const TRIES_AT_CLOSE: u32 = 8;

/// Hands batches to the thread. Dropping it lets the thread finish on its own;
/// closing it waits for that and tells how it went.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<(), StoreFault>>>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<StoreBatch>,
    /// When the oldest of `batches` came.
    since: Option<Instant>,
    urgent: bool,
    closing: bool,
    submitted: u64,
}

impl Writer {
    /// Starts the thread. A batch that is not urgent waits for company, but not
    /// longer than `group_commit`.
    pub fn spawn(
        store: Box<dyn Store>,
        group_commit: Duration,
        notify: Notify,
    ) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared::default());
        let worker = Worker {
            shared: Arc::clone(&shared),
            group_commit,
            store,
            notify,
            pending: Vec::new(),
            committed: 0,
            failing: false,
        };
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || worker.run())
            .map_err(StoreError::NoThread)?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }
}

impl Journal for Writer {
    fn submit(&self, batch: StoreBatch, urgent: bool) -> CommitNo {
        let mut queue = self.shared.lock();
        let first = queue.batches.is_empty();
        if first {
            queue.since = Some(Instant::now());
        }
        queue.batches.push_back(batch);
        queue.submitted += 1;
        // The thread needs waking only if what it waits for has changed.
        let wake = first || (urgent && !queue.urgent);
        queue.urgent |= urgent;
        let number = CommitNo(queue.submitted);
        drop(queue);
        if wake {
            self.shared.changed.notify_one();
        }
        number
    }

    fn close(mut self: Box<Self>) -> Result<(), StoreFault> {
        self.shared.begin_closing();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) | None => Err(StoreError::Stopped.into()),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.begin_closing();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_closing(&self) {
        self.lock().closing = true;
        self.changed.notify_one();
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        self.changed
            .wait(queue)
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for<'a>(&self, queue: MutexGuard<'a, Queue>, time: Duration) -> MutexGuard<'a, Queue> {
        self.changed
            .wait_timeout(queue, time)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }
}

/// The thread's side.
struct Worker {
    shared: Arc<Shared>,
    group_commit: Duration,
    store: Box<dyn Store>,
    notify: Notify,
    /// Taken from the queue and not yet committed.
    pending: Vec<StoreBatch>,
    committed: u64,
    failing: bool,
}

impl Worker {
    fn run(mut self) -> Result<(), StoreFault> {
        while self.gather() {
            if let Err(error) = self.commit() {
                tracing::debug!(%error, "the store is still failing");
                self.pause();
            }
        }
        self.finish()
    }

    /// Waits until it is time to commit what came in, and takes that. `false`
    /// if the writer closes.
    fn gather(&mut self) -> bool {
        let mut queue = self.shared.lock();
        // After a failure the pause was the wait.
        while self.pending.is_empty() && !queue.closing && !queue.urgent {
            let Some(since) = queue.since else {
                queue = self.shared.wait(queue);
                continue;
            };
            match self.group_commit.checked_sub(since.elapsed()) {
                Some(rest) if !rest.is_zero() => queue = self.shared.wait_for(queue, rest),
                _ => break,
            }
        }
        queue.urgent = false;
        queue.since = None;
        self.pending.extend(queue.batches.drain(..));
        !queue.closing
    }

    fn commit(&mut self) -> Result<(), StoreFault> {
        if self.pending.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.store.apply(&self.pending) {
            if !self.failing {
                self.failing = true;
                (self.notify)(JournalEvent::Failing {
                    reason: error.to_string(),
                });
            }
            return Err(error);
        }
        self.committed += self.pending.len() as u64;
        self.pending.clear();
        if self.failing {
            self.failing = false;
            tracing::info!("the store works again");
            (self.notify)(JournalEvent::Recovered);
        }
        (self.notify)(JournalEvent::Committed(CommitNo(self.committed)));
        Ok(())
    }

    /// Lets some time pass, unless the writer closes.
    fn pause(&self) {
        let until = Instant::now() + RETRY;
        let mut queue = self.shared.lock();
        while !queue.closing {
            match until.checked_duration_since(Instant::now()) {
                Some(rest) if !rest.is_zero() => queue = self.shared.wait_for(queue, rest),
                _ => break,
            }
        }
    }

    fn finish(mut self) -> Result<(), StoreFault> {
        let mut tries = 1;
        while let Err(error) = self.commit() {
            if tries == TRIES_AT_CLOSE {
                return Err(error);
            }
            tries += 1;
            thread::sleep(RETRY);
        }
        self.store.close()
    }
}
