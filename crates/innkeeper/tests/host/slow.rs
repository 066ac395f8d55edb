//! A client that stops reading while much is said costs the host little, and
//! finds everything in order when it reads again.

use crate::common::binary::Binary;
use crate::common::raw::Raw;
use crate::common::{Folded as _, Guest, Inn, InnOptions, default_chat, in_time, script};
use futures_util::{SinkExt as _, StreamExt as _};
use innkeeper::DeliveryOptions;
use innkeeper_protocol::newest::actions::ActionEnvelope;
use innkeeper_protocol::newest::state::{ChatState, Snapshot};
use serde_json::{Value, json};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

const DELTAS: u64 = 400_000;
const BYTES: u64 = 10;
/// About 15 MiB on a machine that has nothing else to do, and up to 31 where
/// the store's thread has to wait for its turn. Without a bound, the frames of
/// one client alone would be more than 60.
const MOST_GROWTH_KIB: u64 = 48 * 1024;

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

/// A message may be larger than all that may wait for a client.
#[tokio::test]
async fn a_message_larger_than_the_queue_disconnects_nobody_who_reads() {
    let delivery = DeliveryOptions {
        queue_bytes: 64 * 1024,
        ..DeliveryOptions::default()
    };
    let inn = Inn::open_with(InnOptions {
        delivery,
        ..InnOptions::default()
    })
    .await;
    let sender = inn.guest("sender").await;
    let reader = inn.guest("reader").await;
    let chat = default_chat(&sender.new_session().await);
    let mut heard = reader.watch_chat(&chat).await;
    let mut own = sender.watch_chat(&chat).await;
    let large = script(json!([{"say": "heard"}])) + &" ".repeat(300_000);
    sender.say(&chat, "large", &large).await;
    for watch in [&mut heard, &mut own] {
        watch.turn_end("large").await;
        assert_eq!(watch.text_of("large"), "heard");
        assert_eq!(watch.state.turns[0].message.text, large);
    }
    inn.close().await;
}

/// 400 times 8 MiB are asked for and not read, while somebody else reads.
#[tokio::test]
async fn answers_that_nobody_reads_cost_a_fixed_amount_of_memory() {
    const FILE: usize = 8 << 20;
    const MOST_GROWTH_KIB: u64 = 100 * 1024;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("large");
    std::fs::write(&file, vec![0xff; FILE]).unwrap();
    let uri = format!("file://{}", file.display());
    let config = directory.path().join("innkeeper.toml");
    let roots = format!("[workspace]\nroots = [{:?}]\n", directory.path());
    std::fs::write(&config, roots).unwrap();
    let host = Binary::start(directory.path(), &["--config", config.to_str().unwrap()]);
    let mut reader = Raw::initialized(&host.url, "reader").await;
    let mut deaf = Raw::initialized(&host.url, "deaf").await;
    let read = |id: u64| json!({"id": id, "method": "resourceRead", "params": {"uri": uri}});
    let before = host.resident_kib();
    let asked: Vec<Value> = (1..=400).map(read).collect();
    deaf.send_at_once(&asked).await;
    for id in 1..=20 {
        let answer = reader.ask(read(id)).await;
        let data = answer["result"]["data"].as_str().unwrap();
        assert_eq!(data.len(), FILE.div_ceil(3) * 4);
    }
    if let Some((before, peak)) = before.zip(host.peak_kib()) {
        let growth = peak.saturating_sub(before);
        println!("memory grew by {growth} KiB");
        assert!(growth < MOST_GROWTH_KIB, "memory grew by {growth} KiB");
    }
    // The one that did not read finds its answers when it does: more of them
    // than were made before.
    for _ in 0..10 {
        let answer = deaf.next().await;
        assert_eq!(
            answer["result"]["encoding"], "base64",
            "{}",
            answer["error"]
        );
    }
}

const TERMINAL: &str = "ahp-terminal:/t";

/// A client that reads frames as they come and keeps the end of a terminal.
struct Reader {
    socket: tokio_tungstenite::WebSocketStream<
        tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>,
    >,
    /// How much the terminal has shown, all told.
    shown: usize,
    tail: String,
    seen: i64,
}

impl Reader {
    async fn arrive(url: &str, introduction: Value) -> (Self, Value) {
        let (mut socket, _) = connect_async(url).await.unwrap();
        let text = Message::text(introduction.to_string());
        socket.send(text).await.unwrap();
        let answer = socket.next().await.unwrap().unwrap().into_text().unwrap();
        let reader = Self {
            socket,
            shown: 0,
            tail: String::new(),
            seen: 0,
        };
        (reader, serde_json::from_str(&answer).unwrap())
    }

    async fn type_in(&mut self, seq: u64, data: &str) {
        let action = json!({"type": "terminal/input", "data": data});
        let frame = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": {
            "channel": TERMINAL, "clientSeq": seq, "action": action,
        }});
        let text = Message::text(frame.to_string());
        self.socket.send(text).await.unwrap();
    }

    /// The action of the next frame, if it is one; nothing at the end.
    async fn hear(&mut self) -> Option<Value> {
        loop {
            let frame = in_time("a frame", self.socket.next()).await?.ok()?;
            let Message::Text(text) = frame else { continue };
            let frame: Value = serde_json::from_str(&text).unwrap();
            let Some(seq) = frame["params"]["serverSeq"].as_i64() else {
                continue;
            };
            assert!(seq >= self.seen, "numbers only grow");
            self.seen = seq;
            let action = frame["params"]["action"].clone();
            if action["type"] == "terminal/data" {
                let data = action["data"].as_str().unwrap();
                self.shown += data.len();
                self.tail.push_str(data);
                if self.tail.len() > 4 * KEPT {
                    self.tail.drain(..self.tail.len() - KEPT);
                }
            }
            return Some(action);
        }
    }

    async fn hear_the_end_of_a_command(&mut self) {
        while self.hear().await.unwrap()["type"] != "terminal/commandFinished" {}
    }
}

/// How much of a terminal's end is compared.
const KEPT: usize = 1 << 20;

fn text_of(snapshot: &Value) -> String {
    let parts = snapshot["state"]["content"].as_array().unwrap().iter();
    let texts = parts.map(|part| part["value"].as_str().or(part["output"].as_str()));
    texts.map(Option::unwrap_or_default).collect()
}

/// 200 MB go through a terminal past two clients, one of which does not read.
#[tokio::test]
async fn a_large_file_in_a_terminal_costs_little_and_the_keyboard_works() {
    const BYTES: usize = 200 * 1000 * 1000;
    /// What may still come after the interrupt key: what was on its way.
    const ON_ITS_WAY: usize = 8 << 20;
    let directory = tempfile::tempdir().unwrap();
    let large = directory.path().join("large");
    let line = format!("{}\n", "0123456789".repeat(10));
    std::fs::write(&large, line.repeat(BYTES / line.len())).unwrap();
    let config = directory.path().join("innkeeper.toml");
    let shell = r#"[workspace]
shell = "/bin/bash"
shell_arguments = ["--noprofile", "--norc"]
"#;
    std::fs::write(&config, shell).unwrap();
    let host = Binary::start(directory.path(), &["--config", config.to_str().unwrap()]);
    let hello = |name: &str, channels: &[&str]| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "channel": crate::common::ROOT, "clientId": name, "protocolVersions": ["1.0.0"],
            "initialSubscriptions": channels,
        }})
    };
    let owner = Guest::arrive(&host.url, "owner").await;
    owner.initialize(&[]).await;
    let claim = json!({"kind": "client", "clientId": "owner"});
    let params = json!({"channel": TERMINAL, "claim": claim});
    owner.request("createTerminal", params).await.unwrap();
    let (mut fast, _) = Reader::arrive(&host.url, hello("fast", &[TERMINAL])).await;
    let (mut slow, _) = Reader::arrive(&host.url, hello("slow", &[TERMINAL])).await;
    fast.type_in(1, "true\r").await;
    fast.hear_the_end_of_a_command().await;

    let before = host.resident_kib();
    let shown = fast.shown;
    fast.type_in(2, &format!("cat {}\r", large.display())).await;
    fast.hear_the_end_of_a_command().await;
    assert!(fast.shown - shown >= BYTES, "all of it: {}", fast.shown);
    if let Some((before, after)) = before.zip(host.resident_kib()) {
        let growth = after.saturating_sub(before);
        println!("memory grew by {growth} KiB");
        assert!(growth < 2 * MOST_GROWTH_KIB, "memory grew by {growth} KiB");
    }

    // The one that did not read: what still reaches it is in order; if it was
    // sent away, it comes back to the state that there is.
    let (sent, _) = tokio::join!(
        async { while slow.hear().await.is_some() {} },
        fast.type_in(3, "yes\r")
    );
    let () = sent;
    let back = json!({"jsonrpc": "2.0", "id": 1, "method": "reconnect", "params": {
        "channel": crate::common::ROOT, "clientId": "slow", "lastSeenServerSeq": slow.seen,
        "subscriptions": [TERMINAL],
    }});
    let (_slow, back) = Reader::arrive(&host.url, back).await;
    assert_eq!(back["result"]["type"], "snapshot", "{back}");

    // The interrupt key works while another flood runs.
    while fast.hear().await.unwrap()["type"] != "terminal/commandExecuted" {}
    let shown = fast.shown;
    while fast.shown < shown + KEPT {
        fast.hear().await.unwrap();
    }
    let pressed_at = fast.shown;
    fast.type_in(4, "\u{3}").await;
    fast.hear_the_end_of_a_command().await;
    let after = fast.shown - pressed_at;
    println!("{after} bytes came after the interrupt key");
    assert!(after < ON_ITS_WAY, "{after} bytes after the interrupt key");

    // What is kept is the end of what was shown.
    fast.type_in(5, "exit\r").await;
    while fast.hear().await.unwrap()["type"] != "terminal/exited" {}
    let (_fresh, fresh) = Reader::arrive(&host.url, hello("fresh", &[TERMINAL])).await;
    let fresh = text_of(&fresh["result"]["snapshots"][0]);
    let common = fresh.len().min(fast.tail.len());
    assert!(fresh.len() >= KEPT / 2, "{} bytes are kept", fresh.len());
    let (kept, tail) = (&fresh[fresh.len() - common..], &fast.tail);
    assert!(kept == &tail[tail.len() - common..], "another end is kept");
}
