//! Writing by whoever publishes. Where nothing waits for a connection and its
//! socket has room, a frame goes out at once; the task of the connection, which
//! would have to be woken for it, sleeps on.
//!
//! *Invariant*: a socket is written to under the lock of its queue, or by the
//! task while the queue says so; never by both.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::AsyncWrite;
use tokio::net::tcp::OwnedWriteHalf;

/// Streams that are faster than this are left to the tasks: each of them writes
/// all that has come meanwhile at once, and there is more than one.
const GAP: Duration = Duration::from_micros(500);

/// To so many sockets one thread writes before it leaves the rest to the tasks:
/// it has others to attend to.
const MOST_SOCKETS: usize = 128;

/// What is longer is left to the task, which can wait for room.
pub(super) const MOST_BYTES: usize = 32 * 1024;

/// What somebody who publishes may still write by itself.
#[derive(Debug)]
pub(crate) struct Hand {
    now: Instant,
    left: usize,
}

impl Hand {
    pub(crate) fn new() -> Self {
        Self::at(Instant::now())
    }

    pub(super) fn at(now: Instant) -> Self {
        Self {
            now,
            left: MOST_SOCKETS,
        }
    }
}

/// A socket that was lent to whoever publishes.
#[derive(Debug)]
pub(super) struct Direct {
    socket: Arc<OwnedWriteHalf>,
    last: Option<Instant>,
}

impl Direct {
    pub(super) fn new(socket: Arc<OwnedWriteHalf>) -> Self {
        Self { socket, last: None }
    }

    /// The same socket, for the task.
    #[cfg(test)]
    pub(super) fn task(&self) -> LentSocket {
        LentSocket(Arc::clone(&self.socket))
    }

    /// Whether it is time for this.
    pub(super) fn may_write(&self, hand: &Hand) -> bool {
        let is_rare = |last| hand.now.saturating_duration_since(last) >= GAP;
        hand.left > 0 && self.last.is_none_or(is_rare)
    }

    /// Writes as much as the socket takes, and says how much that was. An error
    /// is for the task to find.
    pub(super) fn write(&mut self, bytes: &[u8], hand: &mut Hand) -> usize {
        hand.left = hand.left.saturating_sub(1);
        self.last = Some(hand.now);
        self.socket.try_write(bytes).unwrap_or(0)
    }
}

/// The same socket, for the task.
#[derive(Debug)]
pub(crate) struct LentSocket(pub(crate) Arc<OwnedWriteHalf>);

impl LentSocket {
    fn poll_with(
        &self,
        context: &mut Context<'_>,
        write: impl Fn(&OwnedWriteHalf) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.as_ref().as_ref().poll_write_ready(context))?;
            match write(&self.0) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }
}

impl AsyncWrite for LentSocket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_with(context, |socket| socket.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_with(context, |socket| socket.try_write_vectored(slices))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// It is shut down when the last of its owners is gone.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
