//! Room for answers about files: what each connection may have in memory of
//! them, from before a file is read until the answer is with the system.
//!
//! *Invariant*: what a client asks and does not read costs the host a fixed
//! amount. Whatever has no room waits, and holds up nothing but its own
//! connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// How much there may be for one connection.
const MOST_KIB: u32 = 24 * 1024;

/// What is counted for an answer at least until its size is known: there are
/// so many in the making for one connection.
const LEAST_KIB: u32 = MOST_KIB / 16;

/// How many may wait for room before no more is read from the connection. What
/// brings data along counts for as many as it has mebibytes.
const MOST_WAITING: usize = 64;

#[derive(Debug)]
pub(crate) struct AnswerRoom {
    kib: Arc<Semaphore>,
    waiting: AtomicUsize,
    entered: Notify,
}

/// The room that one answer takes, until this is dropped.
#[derive(Debug)]
pub(crate) struct Share(OwnedSemaphorePermit);

impl Share {
    /// Keeps as much as the answer turned out to need.
    pub(crate) fn settle(&mut self, bytes: usize) {
        let surplus = self.0.num_permits().saturating_sub(kib(bytes) as usize);
        drop(self.0.split(surplus));
    }
}

impl AnswerRoom {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            kib: Arc::new(Semaphore::new(MOST_KIB as usize)),
            waiting: AtomicUsize::new(0),
            entered: Notify::new(),
        })
    }

    /// Room for an answer of up to so many bytes, if there is some and nobody
    /// waits for it.
    pub(crate) fn try_enter(&self, bytes: usize) -> Option<Share> {
        let entered = Arc::clone(&self.kib).try_acquire_many_owned(wanted(bytes));
        entered.ok().map(Share)
    }

    /// Waits for it, with `held` bytes in hand. `None`: there is nobody to
    /// answer any more.
    pub(crate) async fn enter(&self, bytes: usize, held: usize) -> Option<Share> {
        let _waiting = Waiting::begin(self, held);
        let entered = Arc::clone(&self.kib).acquire_many_owned(wanted(bytes));
        entered.await.ok().map(Share)
    }

    /// Waits until so few wait that more may be asked.
    pub(super) async fn ready(&self) {
        loop {
            let entered = self.entered.notified();
            if self.waiting.load(Ordering::Relaxed) < MOST_WAITING {
                return;
            }
            entered.await;
        }
    }

    /// Nobody is there any more: whoever waits need not.
    pub(crate) fn close(&self) {
        self.kib.close();
    }
}

/// Counted while it waits.
struct Waiting<'a> {
    room: &'a AnswerRoom,
    weight: usize,
}

impl<'a> Waiting<'a> {
    fn begin(room: &'a AnswerRoom, held: usize) -> Self {
        let weight = 1 + held / (1024 * 1024);
        room.waiting.fetch_add(weight, Ordering::Relaxed);
        Self { room, weight }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.room.waiting.fetch_sub(self.weight, Ordering::Relaxed);
        self.room.entered.notify_waiters();
    }
}

fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1024)).unwrap_or(u32::MAX)
}

fn wanted(bytes: usize) -> u32 {
    kib(bytes).clamp(LEAST_KIB, MOST_KIB)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    const MIB: usize = 1024 * 1024;

    #[tokio::test]
    async fn an_answer_waits_while_others_take_the_room() {
        let room = AnswerRoom::new();
        let mut first = room.try_enter(8 * MIB).unwrap();
        let _second = room.try_enter(8 * MIB).unwrap();
        let third = room.try_enter(8 * MIB).unwrap();
        assert!(room.try_enter(1).is_none(), "the room is taken");
        let mut waiting = Box::pin(room.enter(8 * MIB, 0));
        assert!(waiting.as_mut().now_or_never().is_none());
        first.settle(1);
        assert!(waiting.as_mut().now_or_never().is_none(), "not all of it");
        drop(third);
        assert!(waiting.await.is_some());
    }

    #[tokio::test]
    async fn the_number_of_answers_in_the_making_is_bounded_too() {
        let room = AnswerRoom::new();
        let shares: Vec<Share> = std::iter::from_fn(|| room.try_enter(1)).collect();
        assert_eq!(shares.len(), 16);
    }

    #[tokio::test]
    async fn no_more_is_asked_while_many_wait() {
        let room = AnswerRoom::new();
        let all = room.try_enter(usize::MAX).unwrap();
        let mut waiting: Vec<_> = (0..MOST_WAITING)
            .map(|_| Box::pin(room.enter(1, 0)))
            .collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none());
        }
        assert!(room.ready().now_or_never().is_none());
        drop(all);
        // The first in the queue enters, and leaves at once.
        assert!(waiting.remove(0).await.is_some());
        room.ready().await;
    }

    #[tokio::test]
    async fn what_waits_with_data_in_hand_is_bounded_by_its_bytes() {
        let room = AnswerRoom::new();
        let _all = room.try_enter(usize::MAX).unwrap();
        let mut waiting: Vec<_> = (0..4).map(|_| Box::pin(room.enter(1, 16 * MIB))).collect();
        for one in &mut waiting {
            room.ready().await;
            assert!(one.as_mut().now_or_never().is_none());
        }
        assert!(room.ready().now_or_never().is_none());
    }

    #[tokio::test]
    async fn nobody_waits_behind_a_connection_that_has_ended() {
        let room = AnswerRoom::new();
        let _all = room.try_enter(usize::MAX).unwrap();
        let mut waiting = Box::pin(room.enter(1, 0));
        assert!(waiting.as_mut().now_or_never().is_none());
        room.close();
        assert!(waiting.await.is_none());
    }
}
