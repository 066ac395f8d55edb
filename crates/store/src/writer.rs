//! The thread that owns the store while the host runs.
//!
//! What is submitted while a commit runs is committed together by the next
//! one. *Invariant*: batches are stored in the order of submission and none is
//! ever dropped; if the store fails (a full disk, say), all of them wait and
//! are tried again. One that can never be stored is found among the others and
//! set aside, and so is what builds on it. When the store is lost, nothing is
//! tried any more.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::record::StoreBatch;
use innkeeper_protocol::record::store::{
    CommitNo, Journal, JournalEvent, Notify, SetAside, Store, StoreFault, Tended,
};

use crate::StoreError;

pub(crate) const RETRY: Duration = Duration::from_millis(250);

/// How often the store looks after what it keeps.
const TEND: Duration = Duration::from_secs(1);

/// How often closing tries before it gives up: two seconds at most.
const TRIES_AT_CLOSE: u32 = 8;

/// What takes longer than this is not for whoever submits: the thread commits
/// for so many times as long. So whoever submits spends at most a twentieth of
/// its time here, whatever the disk does, and is back soon where a commit was
/// slow only once.
const SLOW: Duration = Duration::from_millis(2);
const LEFT_ALONE: u32 = 20;

/// So many batches are committed by whoever submits or attends; more are for the
/// thread.
const MOST_BY_HAND: usize = 16;

/// Hands batches to the thread. Dropping it lets the thread finish on its own;
/// closing it waits for that and tells how it went.
#[derive(Debug)]
pub struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<(), StoreFault>>>,
}

#[derive(Debug)]
struct Shared {
    /// Locked before `queue`, by whoever locks both.
    worker: Mutex<Worker>,
    queue: Mutex<Queue>,
    changed: Condvar,
    group_commit: Duration,
    is_quick: bool,
}

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<StoreBatch>,
    /// When the oldest of `batches` came.
    since: Option<Instant>,
    urgent: bool,
    /// Whoever submits sees to it that batches do not wait too long.
    is_attended: bool,
    /// The thread was told of `batches`, and sees to them.
    thread_knows: bool,
    closing: bool,
    submitted: u64,
    /// Nothing can be stored any more.
    is_lost: bool,
}

impl Writer {
    /// Starts the thread. A batch that is not urgent waits for company, but not
    /// longer than `group_commit`.
    pub fn spawn(
        store: Box<dyn Store>,
        group_commit: Duration,
        notify: Notify,
    ) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared {
            is_quick: store.is_quick(),
            worker: Mutex::new(Worker::new(store, notify)),
            queue: Mutex::default(),
            changed: Condvar::new(),
            group_commit,
        });
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || of_thread.run())
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
        let number = CommitNo(queue.submitted);
        let few = queue.batches.len() <= MOST_BY_HAND;
        let by_hand = urgent && self.shared.is_quick && few && !queue.closing;
        if by_hand {
            drop(queue);
            if self.shared.commit_by_hand() {
                return number;
            }
            queue = self.shared.lock();
        }
        // The thread needs waking only if what it waits for has changed.
        let is_news = !queue.thread_knows && (!queue.is_attended || !few);
        let wake = is_news || (urgent && !queue.urgent);
        queue.urgent |= urgent;
        if wake {
            self.shared.tell_thread(queue);
        }
        number
    }

    fn attend(&self) -> Option<Duration> {
        if !self.shared.is_quick {
            return None;
        }
        let mut queue = self.shared.lock();
        queue.is_attended = true;
        let since = queue.since.filter(|_| !queue.thread_knows)?;
        let waited = since.elapsed();
        // Who is here anyway commits early rather than having to come back.
        if waited < self.shared.group_commit / 2 {
            return Some(self.shared.group_commit.saturating_sub(waited));
        }
        drop(queue);
        if !self.shared.commit_by_hand() {
            self.shared.tell_thread(self.shared.lock());
        }
        None
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

/// When the store is to be looked after.
#[derive(Debug)]
struct Upkeep {
    /// When that was done last.
    done: Instant,
    /// There is more to do, which is done while nothing else is.
    is_behind: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn worker(&self) -> MutexGuard<'_, Worker> {
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_closing(&self) {
        self.lock().closing = true;
        self.changed.notify_one();
    }

    fn wait_for<'a>(&self, queue: MutexGuard<'a, Queue>, time: Duration) -> MutexGuard<'a, Queue> {
        self.changed
            .wait_timeout(queue, time)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    /// Has the thread see to what is queued. It may have taken that meanwhile:
    /// then it knows nothing of what comes next.
    fn tell_thread(&self, mut queue: MutexGuard<'_, Queue>) {
        queue.thread_knows = !queue.batches.is_empty();
        drop(queue);
        self.changed.notify_one();
    }

    /// Commits what is queued on the thread of whoever submits, who would
    /// otherwise wait until another thread is awake. `false` if that is not its
    /// business: the thread is at work, or the store is slow or failing.
    fn commit_by_hand(&self) -> bool {
        let Ok(mut worker) = self.worker.try_lock() else {
            return false;
        };
        if !worker.takes_hands() {
            return false;
        }
        worker.take(&mut self.lock());
        let began = Instant::now();
        if worker.commit().is_err() {
            let mut queue = self.lock();
            queue.is_lost = worker.lost.is_some();
            // What was taken is for the thread to try again.
            queue.urgent = true;
            self.tell_thread(queue);
            return false;
        }
        let took = began.elapsed();
        if took > SLOW {
            worker.slow_until = Some(Instant::now() + took * LEFT_ALONE);
        }
        true
    }

    /// The thread.
    fn run(&self) -> Result<(), StoreFault> {
        let mut upkeep = Upkeep {
            done: Instant::now(),
            is_behind: false,
        };
        while self.gather(&upkeep) {
            let mut worker = self.worker();
            worker.take(&mut self.lock());
            if let Err(error) = worker.commit() {
                let is_lost = worker.lost.is_some();
                self.lock().is_lost = is_lost;
                drop(worker);
                if !is_lost {
                    tracing::debug!(%error, "the store is still failing");
                    self.pause();
                }
                worker = self.worker();
            }
            let ran = upkeep.done.elapsed();
            if ran < TEND && !(upkeep.is_behind && self.lock().batches.is_empty()) {
                continue;
            }
            upkeep = Upkeep {
                done: Instant::now(),
                is_behind: worker.tend(ran),
            };
            self.lock().is_lost = worker.lost.is_some();
        }
        let mut worker = self.worker();
        worker.take(&mut self.lock());
        worker.finish()
    }

    /// Waits until it is time to commit what came in, or until the store is to
    /// be looked after. `false` if the writer closes.
    fn gather(&self, upkeep: &Upkeep) -> bool {
        // After a failure the pause was the wait.
        let is_pending = !self.worker().pending.is_empty();
        let mut queue = self.lock();
        while !queue.closing && (queue.is_lost || !(is_pending || queue.urgent)) {
            let until_tended = match upkeep.is_behind && queue.batches.is_empty() {
                true => Duration::ZERO,
                false => TEND.saturating_sub(upkeep.done.elapsed()),
            };
            let until_commit = match queue.since {
                Some(since) if !queue.is_lost => self.group_commit.saturating_sub(since.elapsed()),
                _ => Duration::MAX,
            };
            let rest = until_commit.min(until_tended);
            if rest.is_zero() {
                break;
            }
            queue = self.wait_for(queue, rest);
        }
        !queue.closing
    }

    /// Lets some time pass, unless the writer closes.
    fn pause(&self) {
        let until = Instant::now() + RETRY;
        let mut queue = self.lock();
        while !queue.closing {
            match until.checked_duration_since(Instant::now()) {
                Some(rest) if !rest.is_zero() => queue = self.wait_for(queue, rest),
                _ => break,
            }
        }
    }
}

/// The store, and what is on its way into it.
struct Worker {
    /// Nothing once it is closed.
    store: Option<Box<dyn Store>>,
    notify: Notify,
    /// Taken from the queue and not yet committed.
    pending: Vec<StoreBatch>,
    committed: u64,
    failing: bool,
    /// Why nothing can be stored any more.
    lost: Option<String>,
    /// Until when whoever submits leaves everything to the thread.
    slow_until: Option<Instant>,
    /// Sessions of which something was set aside. What is submitted about them
    /// builds on it, until they are read anew.
    unsound: BTreeSet<ChannelUri>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let committed = &self.committed;
        let worker = &mut f.debug_struct("Worker");
        worker.field("committed", committed).finish_non_exhaustive()
    }
}

impl Worker {
    fn new(store: Box<dyn Store>, notify: Notify) -> Self {
        Self {
            store: Some(store),
            notify,
            pending: Vec::new(),
            committed: 0,
            failing: false,
            lost: None,
            slow_until: None,
            unsound: BTreeSet::new(),
        }
    }

    fn take(&mut self, queue: &mut Queue) {
        queue.urgent = false;
        queue.thread_knows = false;
        queue.since = None;
        self.pending.extend(queue.batches.drain(..));
    }

    /// Whether somebody else than the thread may commit.
    fn takes_hands(&mut self) -> bool {
        if self.slow_until.is_some_and(|until| until <= Instant::now()) {
            self.slow_until = None;
        }
        let is_well = !self.failing && self.lost.is_none() && self.unsound.is_empty();
        is_well && self.pending.is_empty() && self.slow_until.is_none()
    }

    /// Looks after the store; whether there is more to do.
    fn tend(&mut self, ran: Duration) -> bool {
        let tended = match &mut self.store {
            Some(store) => store.tend(ran),
            None => return false,
        };
        match tended {
            Err(fault) if fault.is_lost() => drop(self.fails(fault)),
            // It is tried again in a second; what matters fails elsewhere, too.
            Err(fault) => tracing::debug!(%fault, "the store cannot be looked after at present"),
            Ok(Tended {
                failing: Some(reason),
                ..
            }) => drop(self.fails(StoreFault::new(reason))),
            Ok(Tended {
                trim_log_below,
                is_behind,
                failing: None,
            }) => {
                if self.pending.is_empty() {
                    self.works_again();
                }
                if let Some(below) = trim_log_below {
                    (self.notify)(JournalEvent::LogTooLarge { below });
                }
                return is_behind;
            }
        }
        false
    }

    /// Stores what is pending, all at once if that can be. A batch that can
    /// never be stored is found by halves.
    fn commit(&mut self) -> Result<(), StoreFault> {
        let mut most = usize::MAX;
        while let Some(first) = self.pending.first() {
            if self.builds_on_what_is_not_there(first) {
                let reason = "it builds on something that could not be stored".to_owned();
                self.set_first_aside(reason)?;
                continue;
            }
            let count = self.sound_ones(most);
            let Some(store) = &mut self.store else {
                return Err(StoreError::Stopped.into());
            };
            match store.apply(&self.pending[..count]) {
                Ok(()) => {
                    self.pass(count);
                    most = usize::MAX;
                }
                Err(fault) if fault.is_lasting() && count > 1 => most = count / 2,
                Err(fault) if fault.is_lasting() => {
                    self.set_first_aside(fault.to_string())?;
                    most = usize::MAX;
                }
                Err(fault) => return Err(self.fails(fault)),
            }
        }
        Ok(())
    }

    fn builds_on_what_is_not_there(&self, batch: &StoreBatch) -> bool {
        !self.unsound.is_empty() && {
            let rereads: BTreeSet<&ChannelUri> = batch.rereads().collect();
            let sessions = batch.sessions();
            let mut unsound = sessions.intersection(&self.unsound);
            unsound.any(|session| !rereads.contains(session))
        }
    }

    /// How many of the first batches can be tried together, if the first can.
    fn sound_ones(&self, most: usize) -> usize {
        let most = most.min(self.pending.len());
        if self.unsound.is_empty() {
            return most;
        }
        let others = self.pending[1..most].iter();
        let sound = others.take_while(|batch| !self.builds_on_what_is_not_there(batch));
        1 + sound.count()
    }

    /// The first batches are dealt with.
    fn pass(&mut self, count: usize) {
        self.committed += count as u64;
        for batch in self.pending.drain(..count) {
            for session in batch.rereads() {
                self.unsound.remove(session);
            }
        }
        self.works_again();
        (self.notify)(JournalEvent::Committed(CommitNo(self.committed)));
    }

    fn works_again(&mut self) {
        if std::mem::take(&mut self.failing) {
            tracing::info!("the store works again");
            (self.notify)(JournalEvent::Recovered);
        }
    }

    /// Sets the first batch aside. Its promises about numbers hold.
    fn set_first_aside(&mut self, reason: String) -> Result<(), StoreFault> {
        let (Some(batch), Some(store)) = (self.pending.first(), &mut self.store) else {
            return Ok(());
        };
        if let Err(fault) = store.apply(&[batch.reservations()]) {
            return Err(self.fails(fault));
        }
        let sessions: Vec<ChannelUri> = batch.sessions().into_iter().collect();
        match store.set_aside(batch, &reason) {
            Ok(place) => tracing::error!(
                reason,
                ?sessions,
                place,
                "something can never be stored, and was set aside"
            ),
            Err(fault) => tracing::error!(
                reason,
                ?sessions,
                %fault,
                "something can never be stored, and is lost"
            ),
        }
        (self.notify)(JournalEvent::SetAside(SetAside {
            number: CommitNo(self.committed + 1),
            sessions: sessions.clone(),
            reason,
        }));
        self.pass(1);
        self.unsound.extend(sessions);
        Ok(())
    }

    /// The store cannot write at present, or never again.
    fn fails(&mut self, fault: StoreFault) -> StoreFault {
        let reason = fault.to_string();
        if fault.is_lost() && self.lost.as_ref() != Some(&reason) {
            self.lost = Some(reason.clone());
            (self.notify)(JournalEvent::Lost { reason });
        } else if !fault.is_lost() && !self.failing {
            self.failing = true;
            (self.notify)(JournalEvent::Failing { reason });
        }
        fault
    }

    fn finish(&mut self) -> Result<(), StoreFault> {
        let mut tries = 1;
        while let Err(error) = self.commit() {
            if self.lost.is_some() || tries == TRIES_AT_CLOSE {
                return Err(error);
            }
            tries += 1;
            thread::sleep(RETRY);
        }
        match self.store.take() {
            Some(store) => store.close(),
            None => Ok(()),
        }
    }
}
