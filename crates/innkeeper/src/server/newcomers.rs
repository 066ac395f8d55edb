//! Connections on which nobody has introduced themselves yet: how long they may
//! stay, and how much they may say until then.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::door::{Door, Place};

/// What somebody may take before the host knows who it is.
#[derive(Debug, Clone)]
pub struct NewcomerLimits {
    /// How long a connection may stay without becoming a WebSocket, whatever
    /// it asks and whether or not it reads the answers. After half of that, it
    /// is closed with the next answer.
    pub plain: Duration,
    /// How long a WebSocket may stay without `initialize` or `reconnect`.
    pub introduction: Duration,
    /// How many connections of one listener may be plain.
    pub places: usize,
    /// The largest message before the introduction.
    pub message_bytes: usize,
    /// How much all such connections may have sent of messages that are not
    /// complete. The first [`NewcomerLimits::SMALL`] of each do not count.
    pub bytes: usize,
}

impl NewcomerLimits {
    /// An introduction is seldom larger, and always has its place.
    pub const SMALL: usize = 64 * 1024;
}

impl Default for NewcomerLimits {
    fn default() -> Self {
        Self {
            plain: Duration::from_secs(60),
            introduction: Duration::from_secs(30),
            places: 256,
            message_bytes: 4 * 1024 * 1024,
            bytes: 64 * 1024 * 1024,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Newcomers {
    limits: NewcomerLimits,
    door: Arc<Door>,
    bytes: AtomicUsize,
}

/// One such connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Newcomer {
    all: Arc<Newcomers>,
    place: Place,
    /// How much was read of a message that is not complete.
    unfinished: usize,
}

/// Why a newcomer has to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooMuch {
    #[error("the message is too large")]
    Message,
    #[error("all newcomers together send too much")]
    Together,
}

impl TooMuch {
    /// How the connection is closed.
    pub(crate) fn code(self) -> (u16, &'static str) {
        match self {
            Self::Message => (
                1009,
                "this is too large before `initialize`; send that first",
            ),
            Self::Together => (1013, "too many send much before `initialize`; try again"),
        }
    }
}

impl Newcomers {
    pub(crate) fn new(limits: NewcomerLimits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            // Their number has a limit of its own, that of all connections.
            door: Door::new(usize::MAX),
            bytes: AtomicUsize::new(0),
        })
    }

    pub(crate) fn enter(self: &Arc<Self>) -> Newcomer {
        Newcomer {
            all: Arc::clone(self),
            place: self.door.enter(),
            unfinished: 0,
        }
    }

    /// Sends away whoever has been silent for longest, if anybody is.
    pub(crate) fn make_room(&self) -> bool {
        self.door.make_room()
    }
}

impl Newcomer {
    /// Waits until the time for an introduction is over, or somebody else needs
    /// the place. Says how the connection is closed then.
    pub(crate) fn overstays(&self) -> impl Future<Output = (u16, &'static str)> + use<> {
        let over = tokio::time::sleep(self.all.limits.introduction);
        let is_needed = self.place.is_needed();
        async move {
            tokio::select! {
                () = over => (1008, "the client did not introduce itself in time; send `initialize` first"),
                () = is_needed => {
                    (1013, "others needed this place; reconnect and send `initialize` at once")
                }
            }
        }
    }

    /// So many bytes were read.
    pub(crate) fn read(&mut self, bytes: usize) -> Result<(), TooMuch> {
        let before = self.counted();
        self.unfinished += bytes;
        let more = self.counted() - before;
        let all = self.all.bytes.fetch_add(more, Ordering::Relaxed) + more;
        if self.unfinished > self.all.limits.message_bytes + super::socket::READ_BYTES {
            return Err(TooMuch::Message);
        }
        if more > 0 && all > self.all.limits.bytes {
            return Err(TooMuch::Together);
        }
        Ok(())
    }

    /// A message is complete.
    pub(crate) fn complete(&mut self) {
        self.all.bytes.fetch_sub(self.counted(), Ordering::Relaxed);
        self.unfinished = 0;
    }

    fn counted(&self) -> usize {
        self.unfinished.saturating_sub(NewcomerLimits::SMALL)
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.complete();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: usize = NewcomerLimits::SMALL;

    fn newcomers() -> Arc<Newcomers> {
        Newcomers::new(NewcomerLimits {
            message_bytes: 4 * SMALL,
            bytes: 5 * SMALL,
            ..NewcomerLimits::default()
        })
    }

    #[test]
    fn a_message_has_its_limit_and_the_next_one_has_it_again() {
        let mut newcomer = newcomers().enter();
        for _ in 0..2 {
            assert_eq!(newcomer.read(4 * SMALL), Ok(()));
            newcomer.complete();
        }
        assert_eq!(newcomer.read(5 * SMALL), Err(TooMuch::Message));
    }

    #[test]
    fn all_newcomers_share_a_limit_but_a_small_message_always_fits() {
        let all = newcomers();
        let (mut first, mut second) = (all.enter(), all.enter());
        assert_eq!(first.read(4 * SMALL), Ok(()));
        assert_eq!(second.read(4 * SMALL), Err(TooMuch::Together));
        let mut third = all.enter();
        assert_eq!(third.read(SMALL), Ok(()));
        drop(second);
        assert_eq!(third.read(SMALL), Ok(()));
        drop(first);
        assert_eq!(all.bytes.load(Ordering::Relaxed), SMALL);
        drop(third);
        assert_eq!(all.bytes.load(Ordering::Relaxed), 0);
    }
}
