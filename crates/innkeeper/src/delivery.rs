//! Delivery: one queue for each connection, from which its writer takes as
//! much as it can send at once.
//!
//! What is published together is one [`Parcel`]: encoded once for each version
//! in use, as finished WebSocket frames, and shared by all queues. A connection
//! that keeps up gets every message as it is; in the queue of one that does
//! not, neighbouring pieces of streamed text merge, which changes nothing about
//! the state that they reduce to.
//!
//! *Invariant*: a queue holds at most its limit of published bytes, and one
//! parcel of any size besides: a client that keeps up is not to blame for how
//! much is said at once. Beyond that the connection is closed in a way that
//! lets the client come back.

mod answers;
mod deflate;
mod direct;
mod parcel;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use innkeeper_engine::CloseReason;
use innkeeper_protocol::outgoing::{self, HostMessage};
use innkeeper_protocol::version::Version;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::Notify;

pub(crate) use answers::{AnswerRoom, Share};
use direct::Direct;
pub(crate) use direct::{Hand, LentSocket};
pub(crate) use parcel::Parcel;
use parcel::{absorb, framed, weight_of};

/// When this many messages wait that may merge, a connection merges them
/// apart from its writing, so that they do not grow old in memory.
const CROWDED: usize = 1_024;

/// If it does not get to that, whoever publishes more does it.
const OVERCROWDED: usize = 4 * CROWDED;

/// How much may wait to be answered before more is read from a client.
const REPLY_BYTES: usize = 16 * 1024 * 1024;

/// How queues behave. The same for all connections of a host.
#[derive(Debug, Clone)]
pub struct DeliveryOptions {
    /// Whether streamed text merges in the queue of a slow connection.
    pub merge: bool,
    /// How many messages may wait before it does.
    pub merge_after: usize,
    /// How many published bytes may wait before the connection is closed. The
    /// largest of what waits does not count.
    pub queue_bytes: usize,
}

impl Default for DeliveryOptions {
    fn default() -> Self {
        Self {
            merge: true,
            merge_after: 64,
            queue_bytes: 8 * 1024 * 1024,
        }
    }
}

/// Why a connection ends from this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Engine(CloseReason),
    /// The client took in less than was published to it, for too long.
    TooSlow,
    ShuttingDown,
    /// The store may be another host's by now.
    Overtaken,
}

impl Ending {
    /// The WebSocket close code and its explanation.
    pub(crate) fn code(self) -> (u16, &'static str) {
        match self {
            Self::Engine(CloseReason::UnsupportedVersion) => {
                (1002, "no offered protocol version is spoken here")
            }
            Self::Engine(CloseReason::Replaced) => (
                4001,
                "the same client id connected again; this connection was replaced",
            ),
            Self::Engine(CloseReason::NotStored) => (
                1013,
                "something in an open session could not be stored; please reconnect",
            ),
            Self::TooSlow => (1013, "too much was waiting to be read; please reconnect"),
            Self::ShuttingDown => (1001, "the host is shutting down"),
            Self::Overtaken => (
                1012,
                "another host takes over, or this one starts over; please reconnect",
            ),
        }
    }
}

/// What waits for one connection.
#[derive(Debug)]
pub(crate) struct OutboundQueue {
    options: DeliveryOptions,
    /// What the client speaks, once it was let in. Until then nothing is said
    /// that differs between versions.
    spoken: OnceLock<Version>,
    /// Whether the client asked for compressed messages.
    deflates: AtomicBool,
    waiting: Mutex<Waiting>,
    /// For answers about files, while they are made and while they wait here.
    pub(crate) answers: Arc<AnswerRoom>,
    changed: Notify,
    crowded: Notify,
    drained: Notify,
    /// How often something was handed to the transport.
    written: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    items: VecDeque<Item>,
    messages: usize,
    /// How many of the first items are merged as far as they can be.
    settled: usize,
    /// How many messages behind them may merge.
    loose: usize,
    published_bytes: usize,
    /// The heaviest parcel since nothing waited.
    heaviest: usize,
    reply_bytes: usize,
    /// Something here must not be held back.
    pressing: bool,
    /// When the first of what may be held back must go.
    due: Option<Instant>,
    ending: Option<Ending>,
    /// The task writes what it took.
    is_writing: bool,
    /// The socket, for whoever publishes.
    direct: Option<Direct>,
}

#[derive(Debug)]
enum Item {
    Shared {
        parcel: Arc<Parcel>,
        kind: Kind,
    },
    /// A published message that this connection may merge with others.
    Own(HostMessage),
    /// Frames of the transport itself: it answers a ping, or a close.
    Control(Bytes),
    /// Of what was published, what did not fit into the socket.
    Rest(Bytes),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Answer,
    Published,
    /// Published while this connection was behind, or content to wait.
    MayMerge,
}

/// What the writer is to send next.
#[derive(Debug)]
pub(crate) struct Outgoing {
    items: Vec<Item>,
    version: Version,
    deflates: bool,
    weight: usize,
    /// After that, the connection ends.
    pub(crate) ending: Option<Ending>,
}

impl Outgoing {
    /// As WebSocket frames. What has no form in the client's version makes
    /// none, and an empty write would read as the end of the connection.
    pub(crate) fn into_frames(self) -> Vec<Bytes> {
        let (version, deflates) = (self.version, self.deflates);
        let frames = self.items.into_iter().map(|item| match item {
            Item::Shared { parcel, .. } if deflates => parcel.deflated(version),
            Item::Shared { parcel, .. } => parcel.frames(version),
            Item::Own(message) => {
                let frames = framed(&[message], version, 0);
                match deflates {
                    true => deflate::deflated(&frames),
                    false => frames,
                }
            }
            Item::Control(frames) | Item::Rest(frames) => frames,
        });
        frames.filter(|frames| !frames.is_empty()).collect()
    }

    /// Whether making frames takes so long that others would wait for it.
    pub(crate) fn is_laborious(&self) -> bool {
        self.deflates && self.weight > deflate::LABORIOUS
    }

    /// As texts, for transports that frame them in their own way.
    pub(crate) fn into_texts(self) -> Vec<String> {
        let version = self.version;
        let texts = self.items.into_iter().flat_map(|item| match item {
            Item::Shared { parcel, .. } => {
                let mut texts = Vec::with_capacity(parcel.messages().len());
                for message in parcel.messages() {
                    outgoing::encode_each(message, version, |text| texts.push(text));
                }
                texts
            }
            Item::Own(message) => {
                let mut texts = Vec::new();
                outgoing::encode_each(&message, version, |text| texts.push(text));
                texts
            }
            Item::Control(_) | Item::Rest(_) => Vec::new(),
        });
        texts.collect()
    }
}

impl OutboundQueue {
    pub(crate) fn new(options: DeliveryOptions) -> Arc<Self> {
        Arc::new(Self {
            options,
            spoken: OnceLock::new(),
            deflates: AtomicBool::new(false),
            waiting: Mutex::default(),
            answers: AnswerRoom::new(),
            changed: Notify::new(),
            crowded: Notify::new(),
            drained: Notify::new(),
            written: AtomicU64::new(0),
        })
    }

    /// A connection is let in once, and keeps its version.
    pub(crate) fn speak(&self, version: Version) {
        self.spoken.get_or_init(|| version);
    }

    /// From here on, messages are compressed. Before anything is said.
    pub(crate) fn deflate(&self) {
        self.deflates.store(true, Ordering::Relaxed);
    }

    fn deflates(&self) -> bool {
        self.deflates.load(Ordering::Relaxed)
    }

    /// The version that is spoken over this connection, in both directions.
    pub(crate) fn spoken(&self) -> Option<Version> {
        self.spoken.get().copied()
    }

    /// Queues what answers this client, whatever its size: it asked for it.
    pub(crate) fn send(&self, message: HostMessage) {
        let parcel = Parcel::new(vec![message]);
        if self.write_directly(&mut self.lock(), &parcel, &mut Hand::new()) {
            return;
        }
        let kind = Kind::Answer;
        self.push_reply(parcel.weight(), Item::Shared { parcel, kind });
    }

    /// Lends the connection's socket to whoever publishes.
    pub(crate) fn lend(&self, socket: Arc<OwnedWriteHalf>) {
        self.lock().direct = Some(Direct::new(socket));
    }

    /// From here on, only the task writes.
    pub(crate) fn reclaim(&self) {
        self.lock().direct = None;
    }

    /// Writes what comes behind nothing at once, if it may be. Says whether
    /// there is nothing left to do for it.
    fn write_directly(&self, waiting: &mut Waiting, parcel: &Parcel, hand: &mut Hand) -> bool {
        let is_first = waiting.items.is_empty() && !waiting.is_writing && waiting.ending.is_none();
        let (true, Some(version)) = (is_first, self.spoken()) else {
            return false;
        };
        let Some(direct) = waiting.direct.as_mut() else {
            return false;
        };
        // Who publishes has no time to compress anything.
        let is_deflated = self.deflates() && parcel.weight() >= deflate::WORTH_IT;
        if parcel.weight() > direct::MOST_BYTES || is_deflated || !direct.may_write(hand) {
            return false;
        }
        let frames = parcel.frames(version);
        if frames.is_empty() {
            return true;
        }
        let written = direct.write(&frames, hand);
        if written == 0 {
            return false;
        }
        self.written.fetch_add(1, Ordering::Relaxed);
        if written < frames.len() {
            let rest = frames.slice(written..);
            waiting.published_bytes += rest.len();
            waiting.messages += 1;
            waiting.pressing = true;
            waiting.items.push_back(Item::Rest(rest));
            self.changed.notify_one();
        }
        true
    }

    /// Queues frames that the transport wants to send by itself.
    pub(crate) fn send_control(&self, frames: Bytes) {
        self.push_reply(frames.len(), Item::Control(frames));
    }

    fn push_reply(&self, weight: usize, item: Item) {
        let mut waiting = self.lock();
        if waiting.ending.is_some() {
            return;
        }
        waiting.reply_bytes += weight;
        waiting.messages += 1;
        waiting.pressing = true;
        waiting.items.push_back(item);
        drop(waiting);
        self.changed.notify_one();
    }

    /// Queues what a channel publishes.
    pub(crate) fn publish(
        &self,
        parcel: &Arc<Parcel>,
        max_latency: Option<Duration>,
        hand: &mut Hand,
    ) {
        let mut waiting = self.lock();
        if waiting.ending.is_some() {
            return;
        }
        let patient = max_latency.is_some_and(|latency| !latency.is_zero()) && self.options.merge;
        if !patient && self.write_directly(&mut waiting, parcel, hand) {
            return;
        }
        let may_merge = self.options.merge && max_latency != Some(Duration::ZERO);
        let is_behind = waiting.messages > self.options.merge_after;
        waiting.push_published(Arc::clone(parcel), may_merge && (patient || is_behind));
        waiting.heaviest = waiting.heaviest.max(parcel.weight());
        let most = self.options.queue_bytes.saturating_add(waiting.heaviest);
        let is_full = waiting.published_bytes > most;
        let spent = if is_full || waiting.loose >= OVERCROWDED {
            waiting.condense()
        } else {
            Vec::new()
        };
        if waiting.published_bytes > most {
            waiting.end(Ending::TooSlow);
        }
        let is_crowded = waiting.loose >= CROWDED;
        match max_latency.filter(|_| patient) {
            Some(latency) => {
                waiting.due.get_or_insert_with(|| Instant::now() + latency);
            }
            None => waiting.pressing = true,
        }
        drop(waiting);
        drop(spent);
        self.changed.notify_one();
        if is_crowded {
            self.crowded.notify_one();
        }
    }

    /// Merges what waits whenever it has become much. For the task of a
    /// connection, apart from its writing: the thread that publishes has other
    /// things to do.
    pub(crate) async fn keep_condensed(&self) -> Infallible {
        loop {
            self.crowded.notified().await;
            let spent = self.lock().condense();
            // Not while others wait for the queue.
            drop(spent);
        }
    }

    /// Ends the connection after what waits now.
    pub(crate) fn close(&self, ending: Ending) {
        let mut waiting = self.lock();
        waiting.ending.get_or_insert(ending);
        waiting.pressing = true;
        drop(waiting);
        self.changed.notify_one();
    }

    /// Waits for something to write and takes up to `most` bytes of it.
    pub(crate) async fn take(&self, most: usize) -> Outgoing {
        loop {
            let due = {
                let mut waiting = self.lock();
                let late = waiting.due.is_some_and(|due| due <= Instant::now());
                if waiting.pressing || late {
                    let spent = waiting.condense();
                    let (items, weight, ending) = waiting.take(most);
                    waiting.is_writing = true;
                    drop(waiting);
                    drop(spent);
                    self.written.fetch_add(1, Ordering::Relaxed);
                    self.drained.notify_waiters();
                    return Outgoing {
                        items,
                        version: self.spoken().unwrap_or(Version::NEWEST),
                        deflates: self.deflates(),
                        weight,
                        ending,
                    };
                }
                waiting.is_writing = false;
                waiting.due
            };
            match due {
                None => self.changed.notified().await,
                Some(due) => {
                    let timer = tokio::time::sleep_until(due.into());
                    tokio::select! {
                        () = self.changed.notified() => {}
                        () = timer => {}
                    }
                }
            }
        }
    }

    /// Waits until so little waits to be answered that more may be asked.
    pub(crate) async fn ready_for_requests(&self) {
        self.answers.ready().await;
        loop {
            let drained = self.drained.notified();
            {
                let waiting = self.lock();
                if waiting.reply_bytes <= REPLY_BYTES || waiting.ending.is_some() {
                    return;
                }
            }
            drained.await;
        }
    }

    /// Whether more than this of what was published waits.
    pub(crate) fn is_behind(&self, most: usize) -> bool {
        let waiting = self.lock();
        waiting.published_bytes > most && waiting.ending.is_none()
    }

    /// Waits until it is not.
    pub(crate) async fn caught_up(&self, most: usize) {
        loop {
            let drained = self.drained.notified();
            if !self.is_behind(most) {
                return;
            }
            drained.await;
        }
    }

    /// How often something was taken for the transport so far.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Takes up to `most` bytes, and the ending if nothing is left before it.
    fn take(&mut self, most: usize) -> (Vec<Item>, usize, Option<Ending>) {
        let (mut items, mut bytes) = (Vec::new(), 0);
        while bytes < most {
            let Some(item) = self.items.pop_front() else {
                break;
            };
            self.settled = self.settled.saturating_sub(1);
            let (counter, weight, messages) = match &item {
                Item::Shared { parcel, kind } => {
                    let counter = match kind {
                        Kind::Published | Kind::MayMerge => &mut self.published_bytes,
                        Kind::Answer => &mut self.reply_bytes,
                    };
                    (counter, parcel.weight(), parcel.messages().len())
                }
                Item::Own(message) => (&mut self.published_bytes, weight_of(message), 1),
                Item::Control(frames) => (&mut self.reply_bytes, frames.len(), 1),
                Item::Rest(frames) => (&mut self.published_bytes, frames.len(), 1),
            };
            self.messages = self.messages.saturating_sub(messages);
            *counter = counter.saturating_sub(weight);
            bytes += weight;
            items.push(item);
        }
        if !self.items.is_empty() {
            return (items, bytes, None);
        }
        self.pressing = self.ending.is_some();
        self.heaviest = 0;
        self.due = None;
        (items, bytes, self.ending)
    }

    fn push_published(&mut self, parcel: Arc<Parcel>, may_merge: bool) {
        let messages = parcel.messages().len();
        self.published_bytes += parcel.weight();
        self.messages += messages;
        let kind = if may_merge {
            self.loose += messages;
            Kind::MayMerge
        } else {
            Kind::Published
        };
        self.items.push_back(Item::Shared { parcel, kind });
    }

    /// Merges what may merge. Returns the parcels that are no longer needed
    /// here, to be dropped when nobody waits for this.
    fn condense(&mut self) -> Vec<Arc<Parcel>> {
        let mut spent = Vec::new();
        if self.loose == 0 {
            return spent;
        }
        for item in self.items.split_off(self.settled.min(self.items.len())) {
            match item {
                Item::Shared {
                    parcel,
                    kind: Kind::MayMerge,
                } => {
                    self.published_bytes -= parcel.weight();
                    self.messages -= parcel.messages().len();
                    self.push_condensed(parcel.condensed());
                    spent.push(parcel);
                }
                other => self.items.push_back(other),
            }
        }
        self.settled = self.items.len();
        self.loose = 0;
        spent
    }

    /// Queues a parcel behind others, merged with the last of them if both
    /// append to the same part.
    fn push_condensed(&mut self, parcel: Arc<Parcel>) {
        let [message @ HostMessage::Action(_)] = parcel.messages() else {
            return self.push_published(parcel, false);
        };
        if let Some(Item::Own(last)) = self.items.back_mut() {
            let before = weight_of(last);
            if absorb(last, message) {
                self.published_bytes += weight_of(last) - before;
                return;
            }
        }
        self.published_bytes += parcel.weight();
        self.messages += 1;
        self.items.push_back(Item::Own(message.clone()));
    }

    fn end(&mut self, ending: Ending) {
        self.items.clear();
        self.messages = 0;
        self.settled = 0;
        self.loose = 0;
        self.published_bytes = 0;
        self.heaviest = 0;
        self.reply_bytes = 0;
        self.pressing = true;
        self.ending = Some(ending);
    }
}
