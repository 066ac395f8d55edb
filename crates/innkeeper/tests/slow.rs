//! A client that stops reading while much is said costs the host little, and
//! finds everything in order when it reads again.

mod common;

use common::binary::Binary;
use common::{Folded as _, Guest, default_chat, in_time, script};
use futures_util::{SinkExt as _, StreamExt as _};
use innkeeper_protocol::house::actions::ActionEnvelope;
use innkeeper_protocol::house::state::{ChatState, Snapshot};
use serde_json::{Value, json};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

const DELTAS: u64 = 200_000;
const BYTES: u64 = 20;
const MOST_GROWTH_KIB: u64 = 16 * 1024;

#[tokio::test]
async fn a_client_that_reads_nothing_costs_little_and_catches_up() {
    let directory = tempfile::tempdir().unwrap();
    let host = Binary::start(directory.path(), &[]);
    let fast = Guest::arrive(&host.url, "fast").await;
    fast.initialize(&[]).await;
    let session = fast.new_session().await;
    let chat = default_chat(&session);
    let mut watch = fast.watch_chat(&chat).await;
    fast.say(&chat, "warm-up", "hello").await;
    watch.turn_end("warm-up").await;

    let (mut slow, _) = connect_async(&host.url).await.unwrap();
    let introduction = json!({"id": 1, "method": "initialize", "params": {
        "clientId": "slow", "protocolVersions": ["1.0.0"], "initialSubscriptions": [chat],
    }});
    slow.send(Message::text(introduction.to_string()))
        .await
        .unwrap();
    let welcome = slow.next().await.unwrap().unwrap().into_text().unwrap();
    let welcome: Value = serde_json::from_str(&welcome).unwrap();
    let snapshot: Snapshot =
        serde_json::from_value(welcome["result"]["snapshots"][0].clone()).unwrap();
    let mut state = ChatState::from_snapshot(snapshot.state);

    // From here on the slow client reads nothing.
    let before = host.resident_kib();
    let flood = json!([{"flood": {"deltas": DELTAS, "bytes": BYTES}}]);
    fast.say(&chat, "flood", &script(flood)).await;
    watch.turn_end("flood").await;
    let after = host.resident_kib();
    assert_eq!(watch.text_of("flood").len() as u64, DELTAS * BYTES);
    if let Some((before, after)) = before.zip(after) {
        let growth = after.saturating_sub(before);
        println!("memory grew by {growth} KiB");
        assert!(growth < MOST_GROWTH_KIB, "memory grew by {growth} KiB");
    }

    // Now it reads on, and ends with the state that is there.
    let mut frames = 0;
    while !state.turns.iter().any(|turn| turn.id == "flood") {
        let frame = in_time("a frame", slow.next()).await.unwrap().unwrap();
        let Message::Text(text) = frame else {
            assert!(!frame.is_close(), "the slow client was cut off");
            continue;
        };
        let frame: Value = serde_json::from_str(&text).unwrap();
        let envelope: ActionEnvelope = serde_json::from_value(frame["params"].clone()).unwrap();
        state.apply(&envelope.action);
        frames += 1;
    }
    assert!(frames < DELTAS, "what waited was merged: {frames} frames");
    let fresh: ChatState = fast.snapshot(&chat).await;
    assert_eq!(state.turns, fresh.turns);
}
