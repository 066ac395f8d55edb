//! What a lease promises, without a database: how long it lasts, and when its
//! owner must have stopped. The simulation in `lease/tests.rs` holds two hosts to
//! it, with a pause at every point.

use std::time::Duration;

/// How long a lease lasts, and what follows from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    length: Duration,
}

impl Terms {
    pub(crate) fn new(length: Duration) -> Self {
        Self { length }
    }

    pub(crate) fn length(self) -> Duration {
        self.length
    }

    /// After this long without a renewal the owner stops. The rest of the lease
    /// is for ending its agents.
    pub(crate) fn stop_after(self) -> Duration {
        self.length * 7 / 10
    }

    /// How long the owner may go on when its last renewal that succeeded was
    /// sent so long ago. The database renewed it then or later.
    pub(crate) fn left_after(self, since: Duration) -> Duration {
        self.stop_after().saturating_sub(since)
    }
}

#[cfg(test)]
pub(crate) mod tests;
