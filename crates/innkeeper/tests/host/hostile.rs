//! Clients that lie, garble and flood: each gets a clear answer or the door,
//! and nobody else notices.

use crate::common::raw::Raw;
use crate::common::{Inn, InnOptions, TOKEN, default_chat, in_time, script};
use futures_util::SinkExt as _;
use innkeeper::server::stdio;
use innkeeper_engine::Limits;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

#[tokio::test]
async fn garbled_messages_are_answered_and_the_connection_lives() {
    let inn = Inn::open().await;
    let mut raw = Raw::initialized(&inn.url, "a").await;
    for (text, code) in [
        ("{", -32700),
        ("", -32700),
        ("\u{0}", -32700),
        ("[]", -32600),
        ("17", -32600),
        (r#"{"jsonrpc":"2.0"}"#, -32600),
        (r#"{"id":[],"method":"ping"}"#, -32600),
    ] {
        raw.send(text).await;
        let answer = raw.next().await;
        assert_eq!(answer["error"]["code"], code, "{text:?}: {answer}");
        assert_eq!(answer["id"], Value::Null);
    }
    let deep = format!(
        r#"{{"id":1,"method":"ping","params":{}}}"#,
        "[".repeat(100_000)
    );
    raw.send(&deep).await;
    assert_eq!(raw.next().await["error"]["code"], -32700);
    for (request, code) in [
        (json!({"id": 1, "method": "juggle"}), -32601),
        (json!({"id": 2, "method": "subscribe"}), -32602),
        (
            json!({"id": 3, "method": "subscribe", "params": {"channel": "ahp-chat:/x"}}),
            -32001,
        ),
        (
            json!({"id": "x", "method": "fetchTurns", "params": {"channel": "x:y"}}),
            -32001,
        ),
        (
            json!({"id": 5, "method": "listSessions", "params": {"limit": -1}}),
            -32602,
        ),
        (
            json!({"id": 6, "method": "initialize", "params": {
            "clientId": "b", "protocolVersions": ["1.0.0"]}}),
            -32600,
        ),
    ] {
        assert_eq!(
            raw.ask(request.clone()).await["error"]["code"],
            code,
            "{request}"
        );
    }
    // Notifications that make no sense are not answered; the ping is.
    raw.send(r#"{"method":"juggle"}"#).await;
    raw.send(r#"{"method":"dispatchAction","params":{}}"#).await;
    raw.send(r#"{"id":99,"result":{}}"#).await;
    assert_eq!(
        raw.ask(json!({"id": 7, "method": "ping"})).await["result"],
        Value::Null
    );
    inn.close().await;
}

#[tokio::test]
async fn unknown_and_malformed_actions_come_back_with_a_reason() {
    let inn = Inn::open().await;
    let guest = inn.guest("owner").await;
    let session = guest.new_session().await;
    let chat = default_chat(&session);
    let mut raw = Raw::initialized(&inn.url, "a").await;
    raw.ask(json!({"id": 1, "method": "subscribe", "params": {"channel": chat}}))
        .await;
    for (seq, action) in [
        json!({"type": "chat/juggled", "balls": 3}),
        json!({"type": "chat/turnStarted"}),
        json!({"type": "chat/delta", "turnId": "t", "partId": "p", "content": "x"}),
        json!({"type": "session/ready"}),
        json!({}),
        json!({"type": 7}),
    ]
    .into_iter()
    .enumerate()
    {
        let params = json!({"channel": chat, "clientSeq": seq, "action": action});
        raw.send(&json!({"method": "dispatchAction", "params": params}).to_string())
            .await;
        let echo = raw.next().await;
        let params = &echo["params"];
        assert_eq!(
            params["origin"],
            json!({"clientId": "a", "clientSeq": seq}),
            "{echo}"
        );
        assert!(params["rejectionReason"].is_string(), "{echo}");
        assert_eq!(params["action"], action, "the action comes back as it was");
    }
    inn.close().await;
}

#[tokio::test]
async fn who_has_no_token_or_comes_from_a_strange_page_does_not_get_in() {
    let inn = Inn::open().await;
    let bare = inn.url.split('?').next().unwrap().to_owned();
    let status = |request| async {
        match connect_async(request).await {
            Err(Error::Http(response)) => response.status().as_u16(),
            Ok(_) => 101,
            Err(error) => panic!("{error}"),
        }
    };
    let with_header = |url: &str, name: &'static str, value: String| {
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
        request
    };
    let plain = |url: &str| url.into_client_request().unwrap();
    assert_eq!(status(plain(&bare)).await, 401);
    assert_eq!(status(plain(&format!("{bare}?tkn=wrong"))).await, 401);
    assert_eq!(status(plain(&inn.url)).await, 101);
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(
        status(with_header(&bare, "authorization", bearer)).await,
        101
    );
    let strange = "https://evil.example".to_owned();
    assert_eq!(status(with_header(&inn.url, "origin", strange)).await, 403);
    let rebound = "evil.example".to_owned();
    assert_eq!(status(with_header(&inn.url, "host", rebound)).await, 403);
    inn.close().await;
}

#[tokio::test]
async fn a_message_that_is_too_large_closes_the_connection_with_the_reason() {
    let options = InnOptions {
        message_bytes: Some(10_000),
        ..InnOptions::default()
    };
    let inn = Inn::open_with(options).await;
    let mut raw = Raw::initialized(&inn.url, "a").await;
    // The host may be gone before all of it is sent.
    let _ = raw.0.send(Message::text("x".repeat(1_000_000))).await;
    assert_eq!(raw.close_code().await, Some(CloseCode::Size));
    let mut again = Raw::initialized(&inn.url, "a").await;
    assert_eq!(
        again.ask(json!({"id": 1, "method": "ping"})).await["result"],
        Value::Null
    );
    inn.close().await;
}

#[tokio::test]
async fn subscriptions_have_a_limit_that_says_so() {
    let limits = Limits {
        subscriptions: 2,
        ..Limits::default()
    };
    let inn = Inn::open_with(InnOptions {
        limits,
        ..InnOptions::default()
    })
    .await;
    let guest = inn.guest("owner").await;
    let session = guest.new_session().await;
    let mut raw = Raw::initialized(&inn.url, "a").await;
    let subscribe = |id: i64, channel: &str| json!({"id": id, "method": "subscribe", "params": {"channel": channel}});
    let chat = default_chat(&session);
    assert!(raw.ask(subscribe(1, "ahp-root://")).await["result"].is_object());
    assert!(raw.ask(subscribe(2, &session)).await["result"].is_object());
    let refused = raw.ask(subscribe(3, &chat)).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("limits.subscriptions"), "{message}");
    // Subscribing again to the same channel is no new subscription.
    assert!(raw.ask(subscribe(4, &session)).await["result"].is_object());
    raw.send(&json!({"method": "unsubscribe", "params": {"channel": session}}).to_string())
        .await;
    assert!(raw.ask(subscribe(5, &chat)).await["result"].is_object());
    inn.close().await;
}

#[tokio::test]
async fn a_client_that_floods_the_host_does_not_keep_others_waiting() {
    let inn = Inn::open().await;
    let guest = inn.guest("owner").await;
    let session = guest.new_session().await;
    let chat = default_chat(&session);
    let mut flooder = Raw::initialized(&inn.url, "flooder").await;
    for _ in 0..200 {
        for id in 0..100 {
            let request = json!({"id": id, "method": "listSessions"});
            flooder
                .0
                .feed(Message::text(request.to_string()))
                .await
                .unwrap();
        }
        // It asks and asks, and reads none of the answers.
        let flush = tokio::time::timeout(std::time::Duration::from_millis(20), flooder.0.flush());
        if flush.await.is_err() {
            break;
        }
    }
    let mut watch = guest.watch_chat(&chat).await;
    guest
        .say(&chat, "t1", &script(json!([{"say": "still here"}])))
        .await;
    watch.turn_end("t1").await;
    assert_eq!(watch.text_of("t1"), "still here");
    drop(flooder);
    inn.close().await;
}

/// What the server says to a request that is sent as it stands.
async fn answer_to(inn: &Inn, request: &str) -> String {
    let address = inn.url.strip_prefix("ws://").unwrap();
    let address = address.split('/').next().unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = request.replace("HOST", address);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // Whether it ends well or not, what was said counts.
    let _ = in_time("the end", stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn connections_have_a_limit_that_says_so() {
    let inn = Inn::open_with(InnOptions {
        connections: Some(1),
        ..InnOptions::default()
    })
    .await;
    let guest = inn.guest("the only one").await;
    let Err(Error::Http(refused)) = connect_async(&inn.url).await else {
        panic!("one more was let in");
    };
    assert_eq!(refused.status(), 503);
    let message = String::from_utf8_lossy(refused.body().as_deref().unwrap());
    assert!(message.contains("limits.connections"), "{message}");
    let request = "GET /metrics HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n";
    let metrics = answer_to(&inn, request).await;
    assert!(metrics.contains("\ninnkeeper_connections_refused_total 1\n"));
    assert!(metrics.contains("\ninnkeeper_connections 1\n"));
    guest.new_session().await;
    inn.close().await;
}

/// Time stands still here, and moves on when everybody waits for it.
#[tokio::test(start_paused = true)]
async fn a_request_that_never_ends_is_not_waited_for() {
    let inn = Inn::open().await;
    for beginning in ["", "GET / HTTP/1.1\r\nHost: HOST\r\n"] {
        let answer = answer_to(&inn, beginning).await;
        assert!(!answer.contains("200"), "{answer}");
    }
    inn.close().await;
}

#[tokio::test]
async fn a_line_may_be_as_long_as_a_message() {
    const MOST: usize = 2_000;
    for (length, end, fits) in [
        (MOST, "\n", true),
        (MOST, "\r\n", true),
        (MOST, "", true),
        (MOST + 1, "\n", false),
        (MOST + 2, "", false),
    ] {
        let inn = Inn::open().await;
        let request = json!({"id": 1, "method": "ping"}).to_string();
        let line = format!("{request:<length$}{end}");
        let mut output = Vec::new();
        let served = stdio::serve(&inn.host, line.as_bytes(), &mut output, MOST).await;
        assert_eq!(served.is_ok(), fits, "{length} bytes before {end:?}");
        let output = String::from_utf8(output).unwrap();
        assert_eq!(output.contains("\"result\":null"), fits, "{output}");
        inn.close().await;
    }
}
