//! What a turn that is being played may wait for: decisions, steering, and the
//! end of a sub-agent's turn.
//!
//! *Invariant*: what arrives before anybody waits for it is kept.

use std::sync::{Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::Decision;
use innkeeper_protocol::newest::state::PendingMessage;
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct Inbox {
    held: Mutex<Held>,
    /// Changes whenever something arrives.
    arrivals: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Held {
    decisions: Vec<(TurnId, Decision)>,
    steering: Option<PendingMessage>,
    cancelled: Vec<TurnId>,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self {
            held: Mutex::default(),
            arrivals: watch::Sender::new(0),
        }
    }

    pub(super) fn decided(&self, turn: TurnId, decision: Decision) {
        self.put(|held| held.decisions.push((turn, decision)));
    }

    pub(super) fn steer(&self, message: Option<PendingMessage>) {
        self.put(|held| held.steering = message);
    }

    /// A turn is to end that another turn of the backend waits for.
    pub(super) fn cancel(&self, turn: TurnId) {
        self.put(|held| held.cancelled.push(turn));
    }

    /// The next decision of a turn that `wanted` makes something of.
    pub(super) async fn decision<T>(
        &self,
        turn: &str,
        wanted: impl Fn(&Decision) -> Option<T>,
    ) -> T {
        self.arrival(|held| {
            let mut waiting = held.decisions.iter().enumerate();
            let (index, found) = waiting.find_map(|(index, (of, decision))| {
                let found = wanted(decision).filter(|_| **of == *turn)?;
                Some((index, found))
            })?;
            held.decisions.remove(index);
            Some(found)
        })
        .await
    }

    pub(super) async fn steering(&self) -> PendingMessage {
        self.arrival(|held| held.steering.take()).await
    }

    pub(super) async fn cancelled(&self, turn: &str) {
        self.arrival(|held| held.cancelled.iter().any(|of| **of == *turn).then_some(()))
            .await;
    }

    async fn arrival<T>(&self, mut take: impl FnMut(&mut Held) -> Option<T>) -> T {
        let mut arrivals = self.arrivals.subscribe();
        loop {
            if let Some(taken) = take(&mut self.lock()) {
                return taken;
            }
            // The sender lives as long as `self`: this cannot fail.
            let _ = arrivals.changed().await;
        }
    }

    fn put(&self, put: impl FnOnce(&mut Held)) {
        put(&mut self.lock());
        self.arrivals.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
