//! Telemetry over a real socket, to Prometheus and to a collector; and what is
//! not in it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use innkeeper::{ExportOptions, LogFeed, TelemetryOptions};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::common::binary::Binary;
use crate::common::{Inn, InnOptions, ROOT, TOKEN, default_chat, in_time, script};

/// What a person says, what an agent says, what a tool is given.
const SECRET: &str = "open-sesame";

fn often() -> TelemetryOptions {
    TelemetryOptions {
        interval: Duration::from_millis(200),
        ..TelemetryOptions::default()
    }
}

fn telling(telemetry: TelemetryOptions) -> InnOptions {
    InnOptions {
        telemetry,
        ..InnOptions::default()
    }
}

/// A client that hears everything as it comes over the wire.
struct Ear {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// All that was told on channels of telemetry.
    told: Vec<Value>,
}

impl Ear {
    async fn arrive(inn: &Inn, subscriptions: &[&str]) -> (Self, Value) {
        let (socket, _) = tokio_tungstenite::connect_async(&inn.url).await.unwrap();
        let mut ear = Self {
            socket,
            told: Vec::new(),
        };
        let params = json!({"channel": ROOT, "clientId": "ear", "protocolVersions": ["1.0.0"],
            "initialSubscriptions": subscriptions});
        let welcome = ear.request("initialize", params).await;
        (ear, welcome)
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        self.say(&request.to_string()).await;
        loop {
            let heard = self.hear().await;
            if heard["id"] == method {
                return heard;
            }
        }
    }

    async fn say(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        loop {
            let message = in_time("a message", self.socket.next()).await.unwrap();
            if let Message::Text(text) = message.unwrap() {
                let heard: Value = serde_json::from_str(&text).unwrap();
                if heard["method"]
                    .as_str()
                    .unwrap_or_default()
                    .starts_with("otlp/")
                {
                    self.told.push(heard.clone());
                }
                return heard;
            }
        }
    }

    /// Waits for a notification whose payload is as wanted.
    async fn until(&mut self, method: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let heard = self.hear().await;
            if heard["method"] == method && wanted(&heard["params"]["payload"]) {
                return heard["params"].clone();
            }
        }
    }
}

fn spans(payload: &Value) -> Vec<Value> {
    let spans = &payload["resourceSpans"][0]["scopeSpans"][0]["spans"];
    spans.as_array().cloned().unwrap_or_default()
}

fn attribute<'a>(it: &'a Value, key: &str) -> &'a Value {
    let mut all = it["attributes"].as_array().unwrap().iter();
    let found = all.find(|attribute| attribute["key"] == key);
    found.map_or(&Value::Null, |it| &it["value"]["stringValue"])
}

/// Plays a turn with the secret in all that is said and done.
async fn secret_turn(inn: &Inn) {
    let guest = inn.guest("a").await;
    let session = guest.new_session().await;
    let chat = default_chat(&session);
    let mut watch = guest.watch_chat(&chat).await;
    let steps = json!([
        {"say": SECRET}, {"reason": SECRET}, {"title": SECRET}, {"activity": SECRET},
        {"tool": {"name": "look", "title": SECRET, "input": {"path": SECRET}, "confirm": "none",
            "result": {"success": false, "text": SECRET, "error": SECRET}}},
        {"notify": SECRET},
        {"fail": {"errorType": "odd", "message": SECRET}},
    ]);
    guest.say(&chat, "1", &script(steps)).await;
    watch.turn_end("1").await;
}

#[tokio::test]
async fn turns_and_tools_are_told_as_spans_of_one_trace() {
    let inn = Inn::open_with(telling(often())).await;
    let (mut ear, welcome) = Ear::arrive(&inn, &[]).await;
    assert_eq!(
        welcome["result"]["telemetry"],
        json!({"logs": "ahp-otlp:/logs/{level}", "traces": "ahp-otlp:/traces",
            "metrics": "ahp-otlp:/metrics"})
    );
    let params = json!({"channel": "ahp-otlp:/traces"});
    let subscribed = ear.request("subscribe", params).await;
    assert_eq!(subscribed["result"], json!({}), "there is no state");
    secret_turn(&inn).await;
    let is_turn = |it: &Value| it["name"] == "turn";
    let wanted = |payload: &Value| spans(payload).iter().any(is_turn);
    let told = ear.until("otlp/exportTraces", wanted).await;
    assert_eq!(told["channel"], "ahp-otlp:/traces");
    let spans = spans(&told["payload"]);
    let turn = spans.iter().find(|it| it["name"] == "turn").unwrap();
    let tool = spans.iter().find(|it| it["name"] == "tool").unwrap();
    assert_eq!(tool["traceId"], turn["traceId"]);
    assert_eq!(tool["parentSpanId"], turn["spanId"]);
    assert_eq!(attribute(tool, "gen_ai.tool.name"), "look");
    assert_eq!(attribute(turn, "gen_ai.agent.name"), "script");
    assert_eq!(attribute(turn, "innkeeper.outcome"), "error");
    assert_eq!(tool["status"]["code"], 2);
    let nanos = |key: &str| turn[key].as_str().unwrap().parse::<u64>().unwrap();
    assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"));
    inn.close().await;
}

#[tokio::test]
async fn an_agents_process_is_a_span_that_ends_with_it() {
    let inn = Inn::open_with(telling(often())).await;
    let (mut ear, _) = Ear::arrive(&inn, &["ahp-otlp:/traces"]).await;
    let guest = inn.guest("a").await;
    let session = guest.new_session().await;
    let chat = default_chat(&session);
    guest
        .say(&chat, "1", &script(json!([{"crash": true}])))
        .await;
    let lost = |it: &Value| it["name"] == "agent" && it["status"]["code"] == 2;
    ear.until("otlp/exportTraces", |it| spans(it).iter().any(lost))
        .await;
    inn.close().await;
}

#[tokio::test]
async fn metrics_are_the_same_for_clients_and_for_prometheus() {
    let inn = Inn::open_with(telling(often())).await;
    secret_turn(&inn).await;
    let (mut ear, _) = Ear::arrive(&inn, &["ahp-otlp:/metrics"]).await;
    let metrics = |payload: &Value| {
        let metrics = &payload["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        metrics.as_array().cloned().unwrap_or_default()
    };
    let told = ear
        .until("otlp/exportMetrics", |it| {
            let all = metrics(it);
            let turns = all.iter().find(|it| it["name"] == "innkeeper_turns_total");
            turns.is_some_and(|it| !it["sum"]["dataPoints"].as_array().unwrap().is_empty())
        })
        .await;
    let all = metrics(&told["payload"]);
    let of = |name: &str| all.iter().find(|it| it["name"] == name).unwrap();
    let turns = &of("innkeeper_turns_total")["sum"];
    assert_eq!(
        (&turns["isMonotonic"], &turns["dataPoints"][0]["asDouble"]),
        (&json!(true), &json!(1.0))
    );
    assert_eq!(
        of("innkeeper_sessions")["gauge"]["dataPoints"][0]["asDouble"],
        1.0
    );
    let text = inn.host.metrics();
    let row = "\ninnkeeper_turns_total{agent=\"script\",outcome=\"error\"} 1\n";
    assert!(text.contains(row), "{text}");
    for metric in &all {
        let name = metric["name"].as_str().unwrap();
        assert!(text.contains(&format!("# TYPE {name} ")), "{name}");
    }
    assert!(!text.contains(SECRET));
    inn.close().await;
}

#[tokio::test]
async fn only_channels_of_telemetry_that_exist_can_be_subscribed_to() {
    let inn = Inn::open().await;
    let (mut ear, _) = Ear::arrive(&inn, &[]).await;
    for (channel, exists) in [
        ("ahp-otlp:/logs/info", true),
        ("ahp-otlp:/logs/Error", true),
        ("ahp-otlp:/metrics", true),
        ("ahp-otlp:/logs/loud", false),
        ("ahp-otlp:/logs/{level}", false),
        ("ahp-otlp:/else", false),
    ] {
        let answer = ear.request("subscribe", json!({"channel": channel})).await;
        assert_eq!(
            answer.get("result").is_some(),
            exists,
            "{channel}: {answer}"
        );
    }
    inn.close().await;
}

/// One request that a collector was sent.
struct Taken {
    head: String,
    body: Value,
}

impl Taken {
    /// Takes a request and answers it.
    async fn from(stream: impl AsyncRead + AsyncWrite + Unpin) -> Self {
        let mut stream = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            let lower = line.to_lowercase();
            if let Some(number) = lower.strip_prefix("content-length:") {
                length = number.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
            head += &line;
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        stream.write_all(answer).await.unwrap();
        stream.flush().await.unwrap();
        let body = serde_json::from_slice(&body).unwrap();
        Self { head, body }
    }
}

/// A collector that takes everything.
async fn collector() -> (String, mpsc::UnboundedReceiver<Taken>) {
    let (port, taken) = collector_behind(None).await;
    (format!("http://127.0.0.1:{port}/in"), taken)
}

/// A collector, behind TLS if so wanted. Returns its port.
async fn collector_behind(tls: Option<TlsAcceptor>) -> (u16, mpsc::UnboundedReceiver<Taken>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, taken) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let one = match &tls {
                None => Taken::from(stream).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => Taken::from(stream).await,
                    // Somebody who does not trust us.
                    Err(_) => continue,
                },
            };
            if sender.send(one).is_err() {
                return;
            }
        }
    });
    (port, taken)
}

#[tokio::test]
async fn everything_is_told_to_everybody_without_a_word_that_was_said() {
    let feed = LogFeed::default();
    let subscriber = tracing_subscriber::registry().with(feed.layer());
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let (endpoint, mut taken) = collector().await;
    let headers = BTreeMap::from([("x-key".to_owned(), "the-key".to_owned())]);
    let inn = Inn::open_with(telling(TelemetryOptions {
        logs: Some(feed),
        export: Some(ExportOptions::new(&endpoint, &headers).unwrap()),
        ..often()
    }))
    .await;
    let channels = [
        "ahp-otlp:/logs/debug",
        "ahp-otlp:/logs/ERROR",
        "ahp-otlp:/traces",
    ];
    let (mut ear, _) = Ear::arrive(&inn, &channels).await;
    secret_turn(&inn).await;
    // What is no message is in the log, but not with what was in it.
    ear.say(&format!("{{\"{SECRET}\"")).await;
    let odd = json!({"jsonrpc": "2.0", "id": 9, "method": "subscribe", "params": SECRET});
    ear.say(&odd.to_string()).await;
    let records = |payload: &Value| {
        let records = &payload["resourceLogs"][0]["scopeLogs"][0]["logRecords"];
        records.as_array().cloned().unwrap_or_default()
    };
    let unreadable =
        |it: &Value| it["body"]["stringValue"] == "a message that this host cannot read";
    let told = ear
        .until("otlp/exportLogs", |it| records(it).iter().any(unreadable))
        .await;
    assert_eq!(told["channel"], "ahp-otlp:/logs/debug");
    let record = records(&told["payload"])
        .into_iter()
        .find(unreadable)
        .unwrap();
    assert_eq!(
        (&record["severityNumber"], &record["severityText"]),
        (&json!(5), &json!("DEBUG"))
    );

    let mut all = Vec::new();
    let mut signals = Vec::new();
    while signals.len() < 3 {
        let Taken { head, body } = in_time("an export", taken.recv()).await.unwrap();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        assert!(path.starts_with("/in/v1/"), "{path}");
        assert!(head.to_lowercase().contains("x-key: the-key"));
        if !signals.contains(&path) {
            signals.push(path);
        }
        all.push(body.to_string());
    }
    inn.close().await;
    while let Ok(Taken { body, .. }) = taken.try_recv() {
        all.push(body.to_string());
    }
    all.extend(ear.told.iter().map(Value::to_string));
    let turn = |text: &String| text.contains("\"turn\"") && text.contains("resourceSpans");
    assert!(all.iter().any(turn), "the turn was told");
    for text in all {
        for secret in [SECRET, TOKEN, "the-key"] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
}

#[tokio::test]
async fn a_collector_that_is_not_there_stops_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let inn = Inn::open_with(telling(TelemetryOptions {
        export: Some(ExportOptions::new(&endpoint, &BTreeMap::new()).unwrap()),
        ..often()
    }))
    .await;
    let (mut ear, _) = Ear::arrive(&inn, &["ahp-otlp:/metrics"]).await;
    secret_turn(&inn).await;
    ear.until("otlp/exportMetrics", |it| {
        let metrics = &it["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        let mut metrics = metrics.as_array().unwrap().iter();
        let name = "innkeeper_telemetry_export_failures_total";
        let failures = metrics.find(|it| it["name"] == name).unwrap();
        failures["sum"]["dataPoints"][0]["asDouble"].as_f64() > Some(0.0)
    })
    .await;
    inn.close().await;
}

/// A collector behind TLS, with a certificate for this name that the file
/// `NAME.pem` has.
async fn safe_collector(name: &str, files: &Path) -> (u16, mpsc::UnboundedReceiver<Taken>) {
    let certified = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    std::fs::write(files.join(format!("{name}.pem")), certified.cert.pem()).unwrap();
    let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key.into())
        .unwrap();
    collector_behind(Some(TlsAcceptor::from(Arc::new(config)))).await
}

/// The real program, which sends to `localhost` and trusts what is in a file.
/// What a process trusts is in its environment, so it must be a process.
fn exporting_host(files: &Path, port: u16, trusted: &str) -> Binary {
    let config = files.join("config.toml");
    let table =
        format!("[telemetry]\nendpoint = \"https://localhost:{port}/in\"\ninterval_seconds = 1\n");
    std::fs::write(&config, table).unwrap();
    let more = ["--config", config.to_str().unwrap()];
    Binary::start_with(&files.join("data"), &more, |command| {
        command
            .env("SSL_CERT_FILE", files.join(trusted))
            .env_remove("SSL_CERT_DIR")
            .stderr(Stdio::piped());
    })
}

#[tokio::test]
async fn a_collector_that_is_trusted_is_sent_everything_over_tls() {
    let files = tempfile::tempdir().unwrap();
    let (port, mut taken) = safe_collector("localhost", files.path()).await;
    let _host = exporting_host(files.path(), port, "localhost.pem");
    let Taken { head, body } = in_time("an export", taken.recv()).await.unwrap();
    assert!(head.starts_with("POST /in/v1/"), "{head}");
    assert!(
        head.to_lowercase()
            .contains(&format!("host: localhost:{port}"))
    );
    assert!(body.is_object());
}

#[tokio::test]
async fn a_collector_that_is_not_trusted_is_sent_nothing_and_the_log_says_why() {
    let files = tempfile::tempdir().unwrap();
    let (_, _taken) = safe_collector("elsewhere", files.path()).await;
    let (port, mut taken) = safe_collector("localhost", files.path()).await;
    let said = |mut host: Binary, wanted: &'static str| {
        let mut log = host.log();
        let line = tokio::task::spawn_blocking(move || {
            log.find(|line| line.contains("telemetry cannot be exported"))
        });
        async move {
            let line = in_time("a word in the log", line).await.unwrap().unwrap();
            assert!(line.contains(wanted), "{line}");
            drop(host);
        }
    };
    let host = exporting_host(files.path(), port, "elsewhere.pem");
    said(host, "or name a file that has it in SSL_CERT_FILE").await;
    // One that is trusted, but not for this name.
    let (port, mut other) = safe_collector("elsewhere", files.path()).await;
    let host = exporting_host(files.path(), port, "elsewhere.pem");
    said(host, "the certificate is not for `localhost`").await;
    assert!(taken.try_recv().is_err());
    assert!(other.try_recv().is_err());
}
