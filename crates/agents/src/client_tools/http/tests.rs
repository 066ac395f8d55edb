//! The tools of clients over HTTP: who is let in, and what is answered.

use innkeeper_protocol::newest::state::ToolCallResult;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use super::super::tests::tool;
use super::super::{SERVER_NAME, ToolServer, Way};
use super::*;

struct Place {
    server: ToolServer,
    host: String,
    path: String,
    authorization: String,
}

fn begin(http: &HttpTools) -> Place {
    let tools = vec![tool("a", "weather")];
    let server = ToolServer::start_over(http, SERVER_NAME, tools.into()).unwrap();
    let Way::Http { url, authorization } = server.way() else {
        panic!("not over HTTP");
    };
    let (host, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    Place {
        host: host.to_owned(),
        path: format!("/{path}"),
        authorization,
        server,
    }
}

impl Place {
    async fn connect(&self, method: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).await.unwrap();
        let mut request = format!("{method} {} HTTP/1.1\r\n", self.path);
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        let length = body.len();
        request.push_str(&format!(
            "Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    /// What is answered, as a whole.
    async fn ask(&self, method: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut stream = self.connect(method, headers, body).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    fn headers(&self) -> [(&str, &str); 2] {
        [("Host", &self.host), ("Authorization", &self.authorization)]
    }

    async fn post(&self, body: &Value) -> String {
        self.ask("POST", &self.headers(), &body.to_string()).await
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

#[tokio::test]
async fn nobody_enters_without_the_secret_or_from_a_web_page() {
    let http = HttpTools::default();
    let place = begin(&http);
    let (host, key) = (place.host.as_str(), place.authorization.as_str());
    let port = host.split_once(':').unwrap().1;
    let (localhost, named) = (format!("localhost:{port}"), format!("evil.example:{port}"));
    let almost = &key[..key.len() - 1];
    let wrong = format!("{almost}x");
    let cases: [(&[(&str, &str)], &str); 9] = [
        (&[("Host", host), ("Authorization", key)], "200"),
        (&[("Host", &localhost), ("Authorization", key)], "200"),
        (&[("Host", host)], "401"),
        (&[("Host", host), ("Authorization", almost)], "401"),
        (&[("Host", host), ("Authorization", &wrong)], "401"),
        (&[("Host", &named), ("Authorization", key)], "403"),
        (&[("Authorization", key)], "403"),
        (
            &[("Host", host), ("Authorization", key), ("Origin", "null")],
            "403",
        ),
        (
            &[
                ("Host", host),
                ("Authorization", key),
                ("MCP-Protocol-Version", "1999-01-01"),
            ],
            "400",
        ),
    ];
    let ping = request("ping", json!({})).to_string();
    for (headers, expected) in cases {
        let answer = place.ask("POST", headers, &ping).await;
        assert_eq!(status(&answer), expected, "{headers:?}: {answer}");
    }
    // Each server has a secret of its own.
    let other = begin(&http);
    let headers = [("Host", host), ("Authorization", &*other.authorization)];
    assert_eq!(status(&place.ask("POST", &headers, &ping).await), "401");
    assert_eq!(place.host, other.host, "there is one listener");
}

#[tokio::test]
async fn tools_are_listed_and_called() {
    let http = HttpTools::default();
    let mut place = begin(&http);
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let answer = place.post(&request("initialize", hello)).await;
    assert!(
        answer.contains(r#""protocolVersion":"2025-11-25""#),
        "{answer}"
    );
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(status(&place.post(&begun).await), "202");
    let answer = place.post(&request("tools/list", json!({}))).await;
    assert!(answer.contains(r#""name":"weather""#), "{answer}");

    let call = request("tools/call", json!({"name": "weather", "arguments": {}}));
    let headers = place.headers();
    let mut stream = place.connect("POST", &headers, &call.to_string()).await;
    let call = place.server.next_call().await.unwrap();
    let result = json!({"success": true, "pastTenseMessage": "Looked",
                        "content": [{"type": "text", "text": "fog"}]});
    let result: ToolCallResult = serde_json::from_value(result).unwrap();
    call.answer.send(result).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("text/event-stream"), "{answer}");
    assert!(answer.contains(r#""text":"fog""#), "{answer}");
}

#[tokio::test]
async fn the_newest_revision_says_what_a_result_is() {
    let http = HttpTools::default();
    let place = begin(&http);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                      "io.modelcontextprotocol/clientCapabilities": {}});
    let mut headers = place.headers().to_vec();
    headers.push(("MCP-Protocol-Version", "2026-07-28"));
    let list = request("tools/list", json!({"_meta": meta}));
    let answer = place.ask("POST", &headers, &list.to_string()).await;
    assert!(answer.contains(r#""resultType":"complete""#), "{answer}");
}

#[tokio::test]
async fn news_of_tools_is_told_to_whoever_listens() {
    use tokio::io::AsyncBufReadExt as _;
    let http = HttpTools::default();
    let place = begin(&http);
    let stream = place.connect("GET", &place.headers(), "").await;
    let mut lines = BufReader::new(stream).lines();
    // The stream stands when it has said something.
    while lines.next_line().await.unwrap().unwrap() != ":" {}
    place.server.offer(Arc::from([]));
    loop {
        let line = lines.next_line().await.unwrap().unwrap();
        if line.contains("notifications/tools/list_changed") {
            return;
        }
    }
}

#[tokio::test]
async fn what_is_too_long_or_no_message_is_refused() {
    let http = HttpTools::default();
    let place = begin(&http);
    let answer = place.ask("POST", &place.headers(), "{").await;
    assert_eq!(status(&answer), "400", "{answer}");
    let mut headers = place.headers().to_vec();
    headers.push(("Transfer-Encoding", "identity"));
    assert_ne!(status(&place.ask("PUT", &place.headers(), "").await), "200");
    let mut stream = TcpStream::connect(&place.host).await.unwrap();
    let (path, host, key) = (&place.path, &place.host, &place.authorization);
    let too_long = LONGEST_LINE + 1;
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {key}\r\n\
         Content-Length: {too_long}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let piece = vec![b' '; 1 << 20];
    // The host may hang up before all of it is there.
    for _ in 0..=too_long / piece.len() {
        if stream.write_all(&piece).await.is_err() {
            break;
        }
    }
    let mut answer = [0; 12];
    let read = stream.read_exact(&mut answer).await;
    assert!(read.is_err() || answer.ends_with(b"413"), "{answer:?}");
}

#[tokio::test]
async fn nothing_listens_when_the_last_server_is_gone() {
    let http = HttpTools::default();
    let (one, two) = (begin(&http), begin(&http));
    let host = one.host.clone();
    drop(one);
    assert!(TcpStream::connect(&host).await.is_ok());
    drop(two);
    // The task that listens goes when it is polled next.
    while TcpStream::connect(&host).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
