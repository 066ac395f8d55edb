//! Those whom the host does not know yet: however many there are, whatever they
//! ask and however little they read, they keep nobody out.

use std::time::Duration;

use crate::common::raw::Raw;
use crate::common::{Inn, InnOptions, in_time};
use innkeeper::server::NewcomerLimits;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};

async fn inn(newcomers: NewcomerLimits) -> Inn {
    Inn::open_with(InnOptions {
        newcomers,
        ..InnOptions::default()
    })
    .await
}

fn address_of(inn: &Inn) -> String {
    let address = inn.url.strip_prefix("ws://").unwrap();
    address.split('/').next().unwrap().to_owned()
}

#[tokio::test]
async fn strangers_who_read_no_answers_keep_nobody_out() {
    let inn = inn(NewcomerLimits {
        places: 2,
        ..NewcomerLimits::default()
    })
    .await;
    let mut strangers = Vec::new();
    for _ in 0..4 {
        let stream = TcpStream::connect(address_of(&inn)).await.unwrap();
        stream.try_write(b"GET / HTTP/1.1\r\n").unwrap();
        strangers.push(stream);
    }
    let guest = in_time("a client with the token", inn.guest("known")).await;
    guest.new_session().await;
    // Those who came first have given way.
    let mut rest = Vec::new();
    let _ = in_time("the end", strangers[0].read_to_end(&mut rest)).await;
    inn.close().await;
}

/// Time stands still here, and moves on when everybody waits for it.
#[tokio::test(start_paused = true)]
async fn answers_that_nobody_reads_are_not_waited_for() {
    const REQUESTS: usize = 20_000;
    let inn = inn(NewcomerLimits {
        plain: Duration::from_secs(5),
        ..NewcomerLimits::default()
    })
    .await;
    let address = address_of(&inn);
    let stream = TcpStream::connect(&address).await.unwrap();
    let (mut read, mut write) = stream.into_split();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    // The host takes what it wants to take.
    let asking = tokio::spawn(async move {
        let _ = write.write_all(request.repeat(REQUESTS).as_bytes()).await;
    });
    let mut first = [0; 12];
    read.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    // From here on nobody reads.
    in_time("the end of the connection", asking).await.unwrap();
    let mut rest = Vec::new();
    let _ = in_time("the end", read.read_to_end(&mut rest)).await;
    let answered = String::from_utf8_lossy(&rest)
        .matches("HTTP/1.1 200")
        .count();
    assert!(answered < REQUESTS, "{answered} answers");
    inn.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_introduce_itself_has_to_go() {
    let inn = inn(NewcomerLimits::default()).await;
    let mut silent = Raw::connect(&inn.url).await;
    assert_eq!(silent.close_code().await, Some(CloseCode::Policy));
    let mut known = Raw::initialized(&inn.url, "known").await;
    tokio::time::advance(Duration::from_secs(100)).await;
    let pong = known.ask(json!({"id": 1, "method": "ping"})).await;
    assert_eq!(pong["result"], Value::Null);
    inn.close().await;
}

#[tokio::test]
async fn when_all_places_are_taken_the_longest_silent_client_gives_way() {
    let inn = Inn::open_with(InnOptions {
        connections: Some(2),
        ..InnOptions::default()
    })
    .await;
    let mut first = Raw::connect(&inn.url).await;
    let mut second = Raw::connect(&inn.url).await;
    let known = inn.guest("known").await;
    assert_eq!(first.close_code().await, Some(CloseCode::Again));
    known.new_session().await;
    // Whoever was not in the way is still there.
    let hello = json!({"id": 0, "method": "initialize", "params": {
        "channel": "ahp-root://", "clientId": "second", "protocolVersions": ["1.0.0"],
    }});
    assert!(second.ask(hello).await["result"].is_object());
    inn.close().await;
}

#[tokio::test]
async fn a_message_is_smaller_before_the_introduction_than_after_it() {
    let inn = inn(NewcomerLimits {
        message_bytes: 50_000,
        ..NewcomerLimits::default()
    })
    .await;
    let large = json!({"id": 1, "method": "ping", "_meta": "x".repeat(200_000)});
    let mut newcomer = Raw::connect(&inn.url).await;
    newcomer.send(&large.to_string()).await;
    assert_eq!(newcomer.close_code().await, Some(CloseCode::Size));
    let mut known = Raw::initialized(&inn.url, "known").await;
    assert_eq!(known.ask(large).await["result"], Value::Null);
    inn.close().await;
}

#[tokio::test]
async fn what_newcomers_send_together_has_a_limit_and_an_introduction_always_fits() {
    const PART: usize = 300_000;
    let inn = inn(NewcomerLimits {
        bytes: 2 * PART,
        ..NewcomerLimits::default()
    })
    .await;
    let mut newcomers = Vec::new();
    for _ in 0..4 {
        let mut newcomer = Raw::connect(&inn.url).await;
        let part = "x".repeat(PART);
        let unfinished = Frame::message(part, OpCode::Data(Data::Text), false);
        futures_util::SinkExt::send(&mut newcomer.0, Message::Frame(unfinished))
            .await
            .unwrap();
        newcomers.push(newcomer);
    }
    // They are read side by side, so any of them may be the one too many.
    let ends = newcomers.iter_mut().map(|it| Box::pin(it.close_code()));
    let (end, ..) = futures_util::future::select_all(ends).await;
    assert_eq!(end, Some(CloseCode::Again));
    Raw::initialized(&inn.url, "known").await;
    inn.close().await;
}
