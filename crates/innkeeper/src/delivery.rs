//! Delivery: one queue for each connection, from which its writer takes as
//! much as it can send at once.
//!
//! A message is encoded once for each version in use and its bytes are shared
//! by all queues. A connection that keeps up gets every message as it is; in
//! the queue of one that does not, neighbouring pieces of streamed text merge,
//! which changes nothing about the state that they reduce to.
//!
//! *Invariant*: a queue holds at most its limit of published bytes. Beyond
//! that the connection is closed in a way that lets the client come back.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::ws::Utf8Bytes;
use innkeeper_engine::CloseReason;
use innkeeper_protocol::outgoing::{self, HostMessage, ReconnectReply, Reply};
use innkeeper_protocol::record::{Sequenced, merge};
use innkeeper_protocol::snapshot::{Snapshot, SnapshotState};
use innkeeper_protocol::version::Version;
use tokio::sync::Notify;

/// A message on its way to any number of connections.
#[derive(Debug)]
pub(crate) struct Frame {
    message: HostMessage,
    weight: usize,
    encoded: [OnceLock<Utf8Bytes>; Version::COUNT],
}

impl Frame {
    pub(crate) fn new(message: HostMessage) -> Arc<Self> {
        Arc::new(Self {
            weight: weight_of(&message),
            message,
            encoded: Default::default(),
        })
    }

    fn text(&self, version: Version) -> Utf8Bytes {
        let slot = &self.encoded[version.index()];
        slot.get_or_init(|| outgoing::encode(&self.message, version).into())
            .clone()
    }
}

/// How queues behave. The same for all connections of a host.
#[derive(Debug, Clone)]
pub struct DeliveryOptions {
    /// Whether streamed text merges in the queue of a slow connection.
    pub merge: bool,
    /// How many messages may wait before it does.
    pub merge_after: usize,
    /// How many published bytes may wait before the connection is closed.
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
            Self::TooSlow => (1013, "too much was waiting to be read; please reconnect"),
            Self::ShuttingDown => (1001, "the host is shutting down"),
        }
    }
}

/// What waits for one connection.
#[derive(Debug)]
pub(crate) struct OutboundQueue {
    options: DeliveryOptions,
    version: AtomicU8,
    waiting: Mutex<Waiting>,
    changed: Notify,
    drained: Notify,
    /// What the writer has handed to the transport, counted in messages.
    written: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    items: VecDeque<Item>,
    published_bytes: usize,
    reply_bytes: usize,
    /// Something here must not be held back.
    pressing: bool,
    /// When the first of what may be held back must go.
    due: Option<Instant>,
    ending: Option<Ending>,
}

#[derive(Debug)]
enum Item {
    Shared {
        frame: Arc<Frame>,
        published: bool,
    },
    /// Streamed text that was merged for this connection alone.
    Merged(Box<Sequenced>),
}

/// What the writer is to do next.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) texts: Vec<Utf8Bytes>,
    /// After that, the connection ends.
    pub(crate) ending: Option<Ending>,
}

impl OutboundQueue {
    pub(crate) fn new(options: DeliveryOptions) -> Arc<Self> {
        Arc::new(Self {
            options,
            version: AtomicU8::new(index_of(Version::NEWEST)),
            waiting: Mutex::default(),
            changed: Notify::new(),
            drained: Notify::new(),
            written: AtomicU64::new(0),
        })
    }

    pub(crate) fn speak(&self, version: Version) {
        self.version.store(index_of(version), Ordering::Release);
    }

    /// Queues what answers this client, whatever its size: it asked for it.
    pub(crate) fn send(&self, frame: Arc<Frame>) {
        let mut waiting = self.lock();
        if waiting.ending.is_some() {
            return;
        }
        waiting.reply_bytes += frame.weight;
        waiting.pressing = true;
        waiting.items.push_back(Item::Shared {
            frame,
            published: false,
        });
        drop(waiting);
        self.changed.notify_one();
    }

    /// Queues what a channel publishes.
    pub(crate) fn publish(&self, frames: &[Arc<Frame>], max_latency: Option<Duration>) {
        let mut waiting = self.lock();
        if waiting.ending.is_some() {
            return;
        }
        let patient = max_latency.is_some_and(|latency| !latency.is_zero()) && self.options.merge;
        let merge_after = if patient { 0 } else { self.options.merge_after };
        let may_merge = self.options.merge && max_latency != Some(Duration::ZERO);
        for frame in frames {
            if may_merge && waiting.items.len() > merge_after && waiting.merged(frame) {
                continue;
            }
            waiting.published_bytes += frame.weight;
            waiting.items.push_back(Item::Shared {
                frame: Arc::clone(frame),
                published: true,
            });
        }
        if waiting.published_bytes > self.options.queue_bytes {
            waiting.end(Ending::TooSlow);
        }
        match max_latency.filter(|_| patient) {
            Some(latency) => {
                waiting.due.get_or_insert_with(|| Instant::now() + latency);
            }
            None => waiting.pressing = true,
        }
        drop(waiting);
        self.changed.notify_one();
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
                    let taken = waiting.take(most);
                    drop(waiting);
                    return self.encode(taken);
                }
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

    /// Not under the lock: whoever publishes must not wait for an encoder.
    fn encode(&self, (items, ending): (Vec<Item>, Option<Ending>)) -> Outgoing {
        let version = self.version();
        let texts = items.into_iter().map(|item| match item {
            Item::Shared { frame, .. } => frame.text(version),
            Item::Merged(action) => {
                let message = HostMessage::Action(Arc::new(*action));
                outgoing::encode(&message, version).into()
            }
        });
        let texts: Vec<Utf8Bytes> = texts.collect();
        self.written
            .fetch_add(texts.len() as u64, Ordering::Relaxed);
        self.drained.notify_waiters();
        Outgoing { texts, ending }
    }

    /// Waits until so little waits to be answered that more may be asked.
    pub(crate) async fn ready_for_requests(&self, most: usize) {
        loop {
            let drained = self.drained.notified();
            {
                let waiting = self.lock();
                if waiting.reply_bytes <= most || waiting.ending.is_some() {
                    return;
                }
            }
            drained.await;
        }
    }

    /// How many messages have been handed to the transport so far.
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    fn version(&self) -> Version {
        let index = usize::from(self.version.load(Ordering::Acquire));
        Version::ALL.get(index).copied().unwrap_or(Version::NEWEST)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Takes up to `most` bytes, and the ending if nothing is left before it.
    fn take(&mut self, most: usize) -> (Vec<Item>, Option<Ending>) {
        let (mut items, mut bytes) = (Vec::new(), 0);
        while bytes < most {
            let Some(item) = self.items.pop_front() else {
                break;
            };
            let (counter, weight) = match &item {
                Item::Shared {
                    frame,
                    published: true,
                } => (&mut self.published_bytes, frame.weight),
                Item::Shared {
                    frame,
                    published: false,
                } => (&mut self.reply_bytes, frame.weight),
                Item::Merged(action) => (&mut self.published_bytes, weight_of_action(action)),
            };
            *counter = counter.saturating_sub(weight);
            bytes += weight;
            items.push(item);
        }
        if !self.items.is_empty() {
            return (items, None);
        }
        self.pressing = self.ending.is_some();
        self.due = None;
        (items, self.ending)
    }

    /// Takes the frame into the last item if both append to the same part.
    fn merged(&mut self, frame: &Frame) -> bool {
        let HostMessage::Action(next) = &frame.message else {
            return false;
        };
        let Some(last) = self.items.back_mut() else {
            return false;
        };
        let known = match last {
            Item::Shared { frame, .. } => match &frame.message {
                HostMessage::Action(action) => action,
                _ => return false,
            },
            Item::Merged(action) => &**action,
        };
        let more = merge::appended_text(&next.action).map_or(0, str::len);
        let fits = merge::appended_text(&known.action)
            .is_some_and(|text| text.len() + more <= merge::MAX_MERGED_BYTES);
        let continues = known.channel == next.channel
            && known.origin.is_none()
            && next.origin.is_none()
            && merge::continues(&known.action, &next.action);
        if !fits || !continues {
            return false;
        }
        if let Item::Shared { frame, .. } = last {
            let HostMessage::Action(action) = &frame.message else {
                return false;
            };
            *last = Item::Merged(Box::new(Sequenced::clone(action)));
        }
        if let Item::Merged(action) = last {
            merge::append(&mut action.action, &next.action);
            action.seq = next.seq;
            self.published_bytes += more;
        }
        true
    }

    fn end(&mut self, ending: Ending) {
        self.items.clear();
        self.published_bytes = 0;
        self.reply_bytes = 0;
        self.pressing = true;
        self.ending = Some(ending);
    }
}

fn index_of(version: Version) -> u8 {
    u8::try_from(version.index()).unwrap_or(0)
}

/// What a message takes beside its own text: names, numbers, braces.
const FIXED_WEIGHT: usize = 200;

fn weight_of(message: &HostMessage) -> usize {
    match message {
        HostMessage::Action(action) => weight_of_action(action),
        HostMessage::Reply { reply, .. } => weight_of_reply(reply),
        HostMessage::Failure { .. } | HostMessage::Rejection(_) | HostMessage::Notification(_) => {
            2 * FIXED_WEIGHT
        }
    }
}

fn weight_of_action(action: &Sequenced) -> usize {
    FIXED_WEIGHT + merge::appended_text(&action.action).map_or(2 * FIXED_WEIGHT, str::len)
}

fn weight_of_reply(reply: &Reply) -> usize {
    let snapshots = |list: &[Snapshot]| list.iter().map(weight_of_snapshot).sum::<usize>();
    FIXED_WEIGHT
        + match reply {
            Reply::Initialize(reply) => snapshots(&reply.snapshots),
            Reply::Subscribe(reply) => snapshots(reply.snapshot.as_slice()),
            Reply::Reconnect(ReconnectReply::Snapshot { snapshots: list }) => snapshots(list),
            Reply::Reconnect(ReconnectReply::Replay { actions, .. }) => actions
                .iter()
                .map(|action| weight_of_action(&action.0))
                .sum(),
            Reply::ListSessions(page) => page.items.len() * 3 * FIXED_WEIGHT,
            Reply::ResourceRead(content) => content.data.len(),
            Reply::Done | Reply::Empty {} | Reply::ResolveSessionConfig(_) => 0,
        }
}

fn weight_of_snapshot(snapshot: &Snapshot) -> usize {
    match &snapshot.state {
        SnapshotState::Root(_) | SnapshotState::Session(_) => 20 * FIXED_WEIGHT,
        SnapshotState::Chat(chat) => {
            let turns = chat.turns.iter().map(|turn| turn.json.get().len());
            10 * FIXED_WEIGHT + turns.sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use innkeeper_protocol::house::actions::{ActionEnvelope, ChatDeltaAction, StateAction};
    use innkeeper_protocol::record::Facts;
    use innkeeper_protocol::rpc::RequestId;

    fn delta(seq: u64, content: &str) -> Arc<Frame> {
        Frame::new(HostMessage::Action(Arc::new(Sequenced {
            seq,
            channel: "ahp-chat:/1".into(),
            action: StateAction::ChatDelta(ChatDeltaAction {
                turn_id: "t".into(),
                part_id: "p".into(),
                content: content.into(),
                meta: None,
            }),
            origin: None,
            facts: Facts::default(),
        })))
    }

    fn reply() -> Arc<Frame> {
        let id = RequestId::Number(1);
        Frame::new(HostMessage::Reply {
            id,
            reply: Reply::Done,
        })
    }

    fn queue(merge_after: usize, queue_bytes: usize) -> Arc<OutboundQueue> {
        OutboundQueue::new(DeliveryOptions {
            merge: true,
            merge_after,
            queue_bytes,
        })
    }

    /// The numbers and texts of the deltas that a queue would send now.
    async fn sent(queue: &OutboundQueue) -> Vec<(u64, String)> {
        let texts = queue.take(usize::MAX).await.texts;
        let envelopes = texts.iter().filter_map(|text| {
            let frame: serde_json::Value = serde_json::from_str(text).unwrap();
            serde_json::from_value::<ActionEnvelope>(frame["params"].clone()).ok()
        });
        envelopes
            .map(|envelope| {
                let text = merge::appended_text(&envelope.action).unwrap();
                (envelope.server_seq, text.to_owned())
            })
            .collect()
    }

    #[tokio::test]
    async fn a_queue_that_is_read_delivers_every_message_as_it_is() {
        let queue = queue(2, 10_000);
        for seq in 1..=2 {
            queue.publish(&[delta(seq, "x")], None);
        }
        assert_eq!(sent(&queue).await, [(1, "x".into()), (2, "x".into())]);
    }

    #[tokio::test]
    async fn behind_its_threshold_a_queue_merges_neighbours_only() {
        let queue = queue(1, 10_000);
        queue.publish(&[delta(1, "a"), delta(2, "b"), delta(3, "c")], None);
        queue.send(reply());
        queue.publish(&[delta(4, "d"), delta(5, "e")], None);
        assert_eq!(
            sent(&queue).await,
            [(1, "a".into()), (3, "bc".into()), (5, "de".into())]
        );
    }

    #[tokio::test]
    async fn a_client_that_wants_no_delay_gets_no_merging() {
        let queue = queue(0, 10_000);
        queue.publish(&[delta(1, "a"), delta(2, "b")], Some(Duration::ZERO));
        assert_eq!(sent(&queue).await.len(), 2);
    }

    #[tokio::test]
    async fn a_client_that_can_wait_gets_what_came_meanwhile_in_one() {
        let queue = queue(64, 10_000);
        let latency = Some(Duration::from_secs(60));
        queue.publish(&[delta(1, "a")], latency);
        queue.publish(&[delta(2, "b")], latency);
        queue.publish(&[delta(3, "c")], latency);
        let waiting = tokio::time::timeout(Duration::from_millis(1), queue.take(usize::MAX));
        assert!(waiting.await.is_err(), "nothing is due yet");
        // An answer cannot wait, and takes along what came before it.
        queue.send(reply());
        assert_eq!(sent(&queue).await, [(3, "abc".into())]);
    }

    #[tokio::test]
    async fn a_queue_that_overflows_ends_the_connection() {
        let queue = queue(0, 1_000);
        let long = "x".repeat(merge::MAX_MERGED_BYTES);
        queue.publish(&[delta(1, "a"), delta(2, &long)], None);
        let outgoing = queue.take(usize::MAX).await;
        assert_eq!(
            (outgoing.texts.len(), outgoing.ending),
            (0, Some(Ending::TooSlow))
        );
        queue.publish(&[delta(3, "b")], None);
        assert!(queue.take(usize::MAX).await.texts.is_empty());
    }

    #[tokio::test]
    async fn a_closing_queue_sends_what_waits_first() {
        let queue = queue(64, 10_000);
        queue.publish(&[delta(1, "a")], None);
        queue.close(Ending::ShuttingDown);
        queue.publish(&[delta(2, "b")], None);
        let outgoing = queue.take(usize::MAX).await;
        assert_eq!(
            (outgoing.texts.len(), outgoing.ending),
            (1, Some(Ending::ShuttingDown))
        );
    }
}
