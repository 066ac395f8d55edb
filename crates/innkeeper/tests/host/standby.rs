//! A host that stands by, in front of one that works.

use std::time::Duration;

use innkeeper::server::access::{AccessPolicy, ConnectionToken};
use innkeeper::server::{NewcomerLimits, Server, ServerOptions, Standing};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::common::{Guest, Inn, ROOT, TOKEN, in_time};

struct Standby {
    server: Server,
    news: watch::Sender<Standing>,
}

impl Standby {
    async fn before(owner: Option<&str>, connections: usize) -> Self {
        let news = watch::Sender::new(Standing::Behind(owner.map(str::to_owned)));
        let access = AccessPolicy {
            token: ConnectionToken::new(TOKEN),
            devices: Vec::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
        };
        let options = ServerOptions {
            listen: Some("127.0.0.1:0".parse().unwrap()),
            control: None,
            socket: None,
            tls: None,
            connections,
            web: true,
            message_bytes: 1 << 20,
            compression: true,
            ping_after: Duration::from_secs(30),
            newcomers: NewcomerLimits::default(),
        };
        let server = Server::start_standby(access, options, news.subscribe());
        let server = server.await.unwrap();
        Self { server, news }
    }

    fn url(&self) -> String {
        format!("{}?tkn={TOKEN}", self.server.urls().unwrap().0)
    }

    /// What is answered to a request with these lines.
    async fn get(&self, path: &str, lines: &str) -> String {
        let address = self.server.address().unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{lines}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let read = stream.read_to_string(&mut answer);
        in_time("an answer", read).await.unwrap();
        answer
    }
}

const HANDSHAKE: &str = "Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\n\
                         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

fn web_of(inn: &Inn) -> String {
    let address = inn.url.split("://").nth(1).unwrap();
    format!("http://{}/", address.split('/').next().unwrap())
}

#[tokio::test]
async fn a_standby_is_alive_and_not_ready_and_says_why() {
    let standby = Standby::before(None, 10).await;
    assert!(
        standby
            .get("/healthz", "")
            .await
            .starts_with("HTTP/1.1 200")
    );
    let answer = standby.get("/readyz", "").await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(
        answer.contains("another host on the same store works"),
        "{answer}"
    );
    standby.news.send_replace(Standing::WithoutStore);
    let answer = standby.get("/", "").await;
    assert!(answer.contains("cannot be reached"), "{answer}");
}

#[tokio::test]
async fn browsers_are_sent_on_and_others_are_passed_through() {
    let inn = Inn::open().await;
    let standby = Standby::before(Some(&web_of(&inn)), 10).await;
    let answer = standby.get("/some/page?tkn=x", "").await;
    assert!(answer.starts_with("HTTP/1.1 307"), "{answer}");
    let location = format!("location: {}some/page?tkn=x", web_of(&inn));
    assert!(answer.contains(&location), "{answer}");
    let guest = Guest::arrive(&standby.url(), "guest").await;
    let welcome = in_time("an answer", guest.initialize(&[ROOT])).await;
    assert_eq!(welcome.protocol_version, "1.0.0");
    assert_eq!(inn.host.connections(), 1);
    // It ends when another host works.
    standby.news.send_replace(Standing::Behind(None));
    let gone = async {
        while inn.host.connections() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time("the end of the connection", gone).await;
}

#[tokio::test]
async fn whoever_comes_before_the_owner_has_said_where_it_is_waits_for_that() {
    let inn = Inn::open().await;
    let standby = Standby::before(None, 1).await;
    let (url, before) = (standby.url(), standby.news.receiver_count());
    let arrival = tokio::spawn(async move { Guest::arrive(&url, "guest").await });
    let has_come = async {
        while standby.news.receiver_count() == before {
            tokio::task::yield_now().await;
        }
    };
    in_time("the guest waits", has_come).await;
    let owner = Some(web_of(&inn));
    standby.news.send_replace(Standing::Behind(owner));
    let guest = in_time("the guest arrives", arrival).await.unwrap();
    in_time("an answer", guest.initialize(&[ROOT])).await;
}

#[tokio::test]
async fn nobody_gets_through_who_would_not_get_in() {
    let inn = Inn::open().await;
    let standby = Standby::before(Some(&web_of(&inn)), 1).await;
    for (path, lines, status) in [
        ("/?tkn=wrong", "", "401"),
        (
            "/?tkn=test-token",
            "Origin: https://evil.example\r\n",
            "403",
        ),
        ("/?tkn=test-token", "X-Innkeeper-Passed: 1\r\n", "503"),
    ] {
        let answer = standby.get(path, &format!("{HANDSHAKE}{lines}")).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
    }
    let _guest = Guest::arrive(&standby.url(), "guest").await;
    let answer = standby.get("/?tkn=test-token", HANDSHAKE).await;
    assert!(
        answer.starts_with("HTTP/1.1 503"),
        "only one place: {answer}"
    );
}
