//! Where the sequence of actions stands, over all lives of the host.
//!
//! A life reserves numbers in blocks before it gives them out. When it dies,
//! those that it gave out and did not store are lost, so the next life begins
//! after the reservation, and the stored run of the last one is remembered as
//! an [`Epoch`]. A clean end gives the rest of its block back, and the two
//! lives are one epoch.

use innkeeper_protocol::Seq;
use innkeeper_protocol::record::Epoch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// No number up to here may be given out again.
    pub(crate) reserved: Seq,
    /// The highest number that was ever stored.
    pub(crate) last: Seq,
    /// The first number of the present life.
    pub(crate) life_first: Seq,
    /// From here on the log is complete.
    pub(crate) log_start: Seq,
    /// Which life this is. Each begins with a number of its own, whether or not
    /// it stores anything.
    pub(crate) life: u64,
}

impl Default for Sequence {
    /// That of a store in which nothing was ever stored.
    fn default() -> Self {
        Self {
            reserved: Seq::ZERO,
            last: Seq::ZERO,
            life_first: Seq::new(1),
            log_start: Seq::new(1),
            life: 0,
        }
    }
}

impl Sequence {
    pub(crate) fn next(&self) -> Seq {
        self.reserved.max(self.last).next()
    }

    /// Notes that the log forgot what lies below `below`. A row that reaches
    /// over it stays, but its neighbours are gone: complete is only the rest.
    pub(crate) fn trimmed(&mut self, below: Seq) {
        let reached = below.min(self.last.next());
        self.log_start = self.log_start.max(reached);
    }

    /// Ends the life that was last written in, and begins another. `epochs` are
    /// the lives before that one; afterwards, those before the new one.
    pub(crate) fn begin_life(self, epochs: &mut Vec<Epoch>) -> Self {
        if self.last >= self.life_first {
            match epochs.last_mut() {
                Some(epoch) if epoch.last.next() >= self.life_first => {
                    epoch.last = self.last;
                }
                _ => epochs.push(Epoch {
                    first: self.life_first,
                    last: self.last,
                }),
            }
        }
        epochs.retain(|epoch| epoch.last >= self.log_start);
        Self {
            life_first: self.next(),
            life: self.life + 1,
            ..self
        }
    }
}
