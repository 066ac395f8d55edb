//! What queues deliver, merge and close.

use super::*;
use innkeeper_protocol::newest::actions::{
    ActionEnvelope, ChatDeltaAction, SessionChatRemovedAction, StateAction,
};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::record::{GateFacts, Sequenced, merge};
use innkeeper_protocol::rpc::RequestId;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

fn delta(seq: u64, content: &str) -> HostMessage {
    HostMessage::Action(Arc::new(Sequenced {
        seq: seq.into(),
        channel: "ahp-chat:/1".into(),
        action: StateAction::ChatDelta(ChatDeltaAction {
            turn_id: "t".into(),
            part_id: "p".into(),
            content: content.into(),
            meta: None,
        }),
        origin: None,
        facts: GateFacts::default(),
    }))
}

fn reply() -> HostMessage {
    let id = RequestId::Number(1);
    let reply = Reply::Done;
    HostMessage::Reply { id, reply }
}

fn parcel(messages: impl IntoIterator<Item = HostMessage>) -> Arc<Parcel> {
    Parcel::new(messages.into_iter().collect())
}

fn queue(merge_after: usize, queue_bytes: usize) -> Arc<OutboundQueue> {
    OutboundQueue::new(DeliveryOptions {
        merge: true,
        merge_after,
        queue_bytes,
    })
}

fn publish(queue: &OutboundQueue, parcel: &Arc<Parcel>, max_latency: Option<Duration>) {
    queue.publish(parcel, max_latency, &mut Hand::new());
}

/// The numbers and texts of the deltas that a queue would send now.
async fn sent(queue: &OutboundQueue) -> Vec<(u64, String)> {
    let texts = queue.take(usize::MAX).await.into_texts();
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
async fn what_a_version_has_no_form_for_makes_no_empty_write() {
    let removed = HostMessage::Action(Arc::new(Sequenced {
        seq: 1.into(),
        channel: "ahp-session:/1".into(),
        action: StateAction::SessionChatRemoved(SessionChatRemovedAction {
            chat: "ahp-chat:/2".into(),
        }),
        origin: None,
        facts: GateFacts::default(),
    }));
    for (version, writes) in [(Version::V0_2, 0), (Version::NEWEST, 1)] {
        let queue = queue(2, 10_000);
        queue.speak(version);
        publish(&queue, &parcel([removed.clone()]), None);
        let outgoing = queue.take(usize::MAX).await;
        assert_eq!(outgoing.into_frames().len(), writes, "{version}");
    }
}

#[tokio::test]
async fn a_queue_that_is_read_delivers_every_message_as_it_is() {
    let queue = queue(2, 10_000);
    for seq in 1..=2 {
        publish(&queue, &parcel([delta(seq, "x")]), None);
    }
    assert_eq!(sent(&queue).await, [(1, "x".into()), (2, "x".into())]);
}

#[tokio::test]
async fn behind_its_threshold_a_queue_merges_neighbours_only() {
    let queue = queue(1, 10_000);
    publish(&queue, &parcel([delta(1, "a"), delta(2, "b")]), None);
    publish(&queue, &parcel([delta(3, "c"), delta(4, "d")]), None);
    publish(&queue, &parcel([delta(5, "e")]), None);
    queue.send(reply());
    publish(&queue, &parcel([delta(6, "f")]), None);
    let expected = [(1, "a"), (2, "b"), (5, "cde"), (6, "f")];
    assert_eq!(
        sent(&queue).await,
        expected.map(|(seq, text)| (seq, text.to_owned()))
    );
}

#[tokio::test]
async fn what_waits_is_merged_in_time_and_never_twice() {
    let queue = queue(0, usize::MAX);
    let pieces = 3 * OVERCROWDED as u64;
    for seq in 1..=pieces {
        publish(&queue, &parcel([delta(seq, "x")]), None);
        let waiting = queue.lock();
        assert!(waiting.items.len() <= OVERCROWDED + 1);
        assert!(waiting.messages == waiting.items.len());
    }
    queue.send(reply());
    publish(&queue, &parcel([delta(pieces + 1, "y")]), None);
    let sent = sent(&queue).await;
    // The first one came when nothing else waited.
    let merged = "x".repeat(pieces as usize - 1);
    assert_eq!(
        sent,
        [(1, "x".into()), (pieces, merged), (pieces + 1, "y".into())]
    );
    let waiting = queue.lock();
    assert_eq!((waiting.messages, waiting.published_bytes), (0, 0));
    assert_eq!((waiting.settled, waiting.loose), (0, 0));
}

#[tokio::test]
async fn a_client_that_wants_no_delay_gets_no_merging() {
    let queue = queue(0, 10_000);
    publish(
        &queue,
        &parcel([delta(1, "a"), delta(2, "b")]),
        Some(Duration::ZERO),
    );
    assert_eq!(sent(&queue).await.len(), 2);
}

#[tokio::test]
async fn a_client_that_can_wait_gets_what_came_meanwhile_in_one() {
    let queue = queue(64, 10_000);
    let latency = Some(Duration::from_secs(60));
    publish(&queue, &parcel([delta(1, "a")]), latency);
    publish(&queue, &parcel([delta(2, "b")]), latency);
    publish(&queue, &parcel([delta(3, "c")]), latency);
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
    for seq in 1..=3 {
        publish(&queue, &parcel([delta(seq, &long)]), None);
    }
    let outgoing = queue.take(usize::MAX).await;
    assert_eq!(outgoing.ending, Some(Ending::TooSlow));
    assert!(outgoing.into_texts().is_empty());
    publish(&queue, &parcel([delta(4, "b")]), None);
    assert!(queue.take(usize::MAX).await.into_texts().is_empty());
}

#[tokio::test]
async fn one_large_parcel_ends_no_connection_whatever_waits_around_it() {
    let queue = queue(64, 1_000);
    let long = "x".repeat(100_000);
    for (seq, text) in [(1, "a"), (2, long.as_str()), (3, "b")] {
        publish(&queue, &parcel([delta(seq, text)]), None);
    }
    let texts = [(1, "a".into()), (2, long.clone()), (3, "b".into())];
    assert_eq!(sent(&queue).await, texts);
    // Only what waits makes room for as much again.
    publish(&queue, &parcel([delta(4, &"x".repeat(800))]), None);
    publish(&queue, &parcel([delta(5, &"x".repeat(800))]), None);
    publish(&queue, &parcel([delta(6, &"x".repeat(800))]), None);
    let outgoing = queue.take(usize::MAX).await;
    assert_eq!(outgoing.ending, Some(Ending::TooSlow));
}

#[tokio::test]
async fn a_closing_queue_sends_what_waits_first() {
    let queue = queue(64, 10_000);
    publish(&queue, &parcel([delta(1, "a")]), None);
    queue.close(Ending::ShuttingDown);
    publish(&queue, &parcel([delta(2, "b")]), None);
    let outgoing = queue.take(usize::MAX).await;
    assert_eq!(outgoing.ending, Some(Ending::ShuttingDown));
    assert_eq!(outgoing.into_texts().len(), 1);
}

/// A queue whose socket is lent, and the other end of that.
async fn lent() -> (Arc<OutboundQueue>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let small = TcpSocket::new_v4().unwrap();
    small.set_recv_buffer_size(4096).unwrap();
    let (theirs, ours) = tokio::join!(small.connect(address), listener.accept());
    let (_, writer) = ours.unwrap().0.into_split();
    writer.writable().await.unwrap();
    let queue = queue(1_000, usize::MAX / 2);
    queue.speak(Version::NEWEST);
    queue.lend(Arc::new(writer));
    (queue, theirs.unwrap())
}

/// What a publisher leaves to the task.
fn left(queue: &OutboundQueue) -> usize {
    queue.lock().items.len()
}

#[tokio::test]
async fn what_nobody_waits_behind_is_written_by_whoever_publishes() {
    let (queue, mut client) = lent().await;
    let said = parcel([delta(1, "a")]);
    publish(&queue, &said, None);
    assert_eq!(left(&queue), 0);
    let frames = said.frames(Version::NEWEST);
    let mut read = vec![0; frames.len()];
    client.read_exact(&mut read).await.unwrap();
    assert_eq!(read, frames);
}

#[tokio::test]
async fn a_stream_without_pauses_is_left_to_the_task() {
    let (queue, _client) = lent().await;
    let mut hand = Hand::new();
    // The same moment again: that would be a stream without a pause.
    queue.publish(&parcel([delta(1, "a")]), None, &mut hand);
    queue.publish(&parcel([delta(2, "b")]), None, &mut hand);
    assert_eq!(left(&queue), 1);
}

#[tokio::test]
async fn what_the_task_is_busy_with_comes_first() {
    let (queue, _client) = lent().await;
    queue.send_control(Bytes::from_static(b"ping"));
    let taken = queue.take(usize::MAX).await;
    publish(&queue, &parcel([delta(1, "a")]), None);
    assert_eq!((taken.items.len(), left(&queue)), (1, 1));
}

#[tokio::test]
async fn what_a_socket_has_no_room_for_follows_in_order() {
    let (queue, mut client) = lent().await;
    let (long, began) = ("x".repeat(20_000), Instant::now());
    let mut expected = Vec::new();
    for seq in 1..=400 {
        let said = parcel([delta(seq, &long)]);
        expected.extend_from_slice(&said.frames(Version::NEWEST));
        let mut hand = Hand::at(began + Duration::from_secs(seq));
        queue.publish(&said, Some(Duration::ZERO), &mut hand);
    }
    assert!(left(&queue) > 0, "all of it fitted");
    let mut read = vec![0; expected.len()];
    let writing = async {
        let mut socket = queue.lock().direct.as_ref().unwrap().task();
        while left(&queue) > 0 {
            for frames in queue.take(usize::MAX).await.into_frames() {
                socket.write_all(&frames).await.unwrap();
            }
        }
    };
    let (_, done) = tokio::join!(writing, client.read_exact(&mut read));
    done.unwrap();
    assert!(read == expected);
}

#[tokio::test]
async fn nothing_is_written_once_the_socket_was_reclaimed() {
    let (queue, _client) = lent().await;
    queue.reclaim();
    publish(&queue, &parcel([delta(1, "a")]), None);
    assert_eq!(left(&queue), 1);
}
