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

/// The longest lease that there is.
const LONGEST: Duration = Duration::from_secs(600);

/// By how much the clocks of a host and of the database may go apart within a
/// lease.
const APART: Duration = Duration::from_secs(1);

/// What a host that stands by has seen of another one's lease, by its own clock:
/// the database's may be set back, and then a lease would last for ever.
#[derive(Debug)]
pub(crate) struct Watch {
    last: Option<Sighting>,
    /// How long leases last here, as far as it is known.
    length: Duration,
}

#[derive(Debug)]
struct Sighting {
    /// It changes with every renewal.
    stamp: String,
    ends: Duration,
}

impl Watch {
    /// By a host whose own lease would last so long.
    pub(crate) fn new(length: Duration) -> Self {
        Self { last: None, length }
    }

    /// Whether a lease that has so much left, as the database says now, has run
    /// out all the same: nobody has renewed it for as long as it lasts.
    pub(crate) fn has_run_out(&mut self, stamp: &str, left: Duration, now: Duration) -> bool {
        match &self.last {
            Some(seen) if seen.stamp == stamp => now > seen.ends + APART,
            Some(_) | None => {
                let lasts = match left > LONGEST {
                    // The clock was set back before anybody has looked.
                    true => self.length,
                    false => left,
                };
                self.length = self.length.max(lasts);
                self.last = Some(Sighting {
                    stamp: stamp.to_owned(),
                    ends: now + lasts,
                });
                false
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
