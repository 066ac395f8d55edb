//! The program while its PostgreSQL is away: for a moment, it refuses work, and
//! what runs waits; for longer than its lease, it ends what runs, sends its
//! clients away, and begins anew when the database is back.

use std::path::Path;

use innkeeper_protocol::newest::state::{ChatState, ResponsePart, TurnState};
use innkeeper_store_conformance::cluster::{Cluster, is_there};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::common::binary::Binary;
use crate::common::raw::Raw;
use crate::common::{Guest, default_chat, in_time, script};

/// A host on a database, with a lease of so many seconds.
fn host(cluster: &Cluster, directory: &Path, lease_seconds: u64) -> Binary {
    let url = cluster.address("house");
    let config = directory.join("innkeeper.toml");
    let text = format!("[store]\nurl = \"{url}\"\nlease_seconds = {lease_seconds}\n");
    std::fs::write(&config, text).unwrap();
    let data = directory.join("data");
    Binary::start(&data, &["--config", config.to_str().unwrap()])
}

/// What `/readyz` says.
async fn readiness(host: &Binary) -> String {
    let authority = host.url.split("://").nth(1).unwrap();
    let authority = authority.split('/').next().unwrap();
    // Between two lives nobody listens.
    let Ok(mut stream) = TcpStream::connect(authority).await else {
        return String::new();
    };
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    let _ = in_time("an answer", read).await;
    answer
}

async fn is_ready(host: &Binary) {
    let asked = async {
        while !readiness(host).await.starts_with("HTTP/1.1 200") {
            tokio::task::yield_now().await;
        }
    };
    in_time("the host works", asked).await;
}

/// Words that are said one after the other, for a second.
fn words() -> Value {
    let step = |number| [json!({"say": format!("{number} ")}), json!({"sleep": 10})];
    (0..100).flat_map(step).collect()
}

fn answer(chat: &ChatState) -> String {
    let parts = match (&chat.active_turn, chat.turns.last()) {
        (Some(turn), _) => &turn.response_parts,
        (None, Some(turn)) => &turn.response_parts,
        (None, None) => return String::new(),
    };
    let texts = parts.iter().filter_map(|part| match part {
        ResponsePart::Markdown(part) => Some(part.content.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn while_its_database_restarts_a_host_refuses_work_and_then_goes_on_by_itself() {
    if !is_there() {
        return;
    }
    let (mut cluster, directory) = (Cluster::start(), TempDir::new().unwrap());
    let host = host(&cluster, directory.path(), 600);
    let guest = Guest::arrive(&host.url, "guest").await;
    guest.initialize(&[]).await;
    let chat = default_chat(&guest.new_session().await);
    let mut watch = guest.watch_chat(&chat).await;
    guest.say(&chat, "t1", &script(words())).await;
    watch
        .until("it speaks", |chat| answer(chat).contains("3 "))
        .await;
    cluster.stop();

    let noticed = async {
        while readiness(&host).await.starts_with("HTTP/1.1 200") {
            tokio::task::yield_now().await;
        }
    };
    in_time("the host notices", noticed).await;
    let params = json!({"channel": "ahp-session:/refused", "provider": "script"});
    let asked = guest.request("createSession", params);
    let (_, reason) = in_time("an answer", asked).await.unwrap_err();
    assert!(reason.contains("cannot write to its store"), "{reason}");

    cluster.restart();
    is_ready(&host).await;
    // Nobody was sent away, and the turn goes on as if nothing had been.
    let done = |chat: &ChatState| chat.active_turn.is_none() && !chat.turns.is_empty();
    watch.until("the turn ends", done).await;
    let expected: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let said = answer(&watch.state);
    assert_eq!(said.split_whitespace().collect::<Vec<_>>(), expected);
    assert_eq!(watch.state.turns[0].state, TurnState::Complete);
    guest.new_session().await;
    assert_eq!(cluster.sql("SELECT life FROM house.lease"), "1");
}

#[tokio::test]
async fn a_host_without_its_database_sends_clients_away_and_begins_anew_with_it() {
    if !is_there() {
        return;
    }
    let (mut cluster, directory) = (Cluster::start(), TempDir::new().unwrap());
    let host = host(&cluster, directory.path(), 5);
    let guest = Guest::arrive(&host.url, "guest").await;
    guest.initialize(&[]).await;
    let chat = default_chat(&guest.new_session().await);
    let mut watch = guest.watch_chat(&chat).await;
    let steps = json!([{"say": "half"}, {"sleep": 600_000}]);
    guest.say(&chat, "t1", &script(steps)).await;
    watch
        .until("it speaks", |chat| answer(chat).contains("half"))
        .await;
    // With what follows it, the text is stored.
    guest.new_session().await;
    let mut other = Raw::initialized(&host.url, "other").await;
    cluster.stop();
    // Clients that hear this come back.
    assert_eq!(other.close_code().await, Some(CloseCode::Restart));
    let said = async {
        loop {
            let said = readiness(&host).await;
            if said.contains("stands by") {
                return said;
            }
            tokio::task::yield_now().await;
        }
    };
    let said = in_time("the host stands by", said).await;
    assert!(said.starts_with("HTTP/1.1 503"), "{said}");

    cluster.restart();
    is_ready(&host).await;
    let back = Guest::arrive(&host.url, "guest").await;
    back.initialize(&[]).await;
    let state: ChatState = back.snapshot(&chat).await;
    assert!(state.active_turn.is_none(), "{state:?}");
    assert_eq!(answer(&state), "half", "{state:?}");
    assert_ne!(state.turns[0].state, TurnState::Complete);
    assert_ne!(cluster.sql("SELECT life FROM house.lease"), "1");
}
