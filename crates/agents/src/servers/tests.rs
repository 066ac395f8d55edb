//! Servers as they are in the field, and as nobody would want them: programs of
//! a few lines of shell, and a web server of a few lines.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;

use innkeeper_protocol::mcp::hosted::{
    BearerToken, McpCallError, McpCallId, McpEvent, McpFailure, McpOffer, StartServer,
};
use innkeeper_protocol::mcp::{McpServer, McpTransport};
use innkeeper_protocol::newest::state::{McpAuthRequiredReason, McpAuthRequirement};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::*;

const RUN: ServerRun = ServerRun(1);

/// A server that does what a server does, but for these lines.
fn shell(besides: &str) -> McpTransport {
    let script = format!(
        r#"
        say() {{ printf '%s\n' "$1"; }}
        answer() {{ say "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}}"; }}
        while read -r line; do
            id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
            case $line in
            {besides}
            *'"initialize"'*) answer '{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}}}}' ;;
            *'"tools/list"'*) answer '{{"tools":[{{"name":"look","inputSchema":{{"type":"object"}}}}]}}' ;;
            *'"tools/call"'*) answer '{{"content":[{{"type":"text","text":"fog"}}]}}' ;;
            esac
        done"#
    );
    McpTransport::Stdio {
        command: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), script],
        env: BTreeMap::new(),
        directory: None,
    }
}

struct Bench {
    servers: McpServers,
    reports: mpsc::Receiver<McpReport>,
}

impl Bench {
    fn start(transport: McpTransport) -> Self {
        Self::with(transport, ServerPatience::default(), None)
    }

    fn with(transport: McpTransport, patience: ServerPatience, token: Option<&str>) -> Self {
        let (sender, reports) = mpsc::channel(16);
        let servers = McpServers::new(sender, None, Arc::default(), patience);
        let bench = Self { servers, reports };
        let start = StartServer {
            run: RUN,
            server: McpServer {
                name: "server".to_owned(),
                transport,
            },
            directory: Some("file:///tmp".to_owned()),
            token: token.map(|token| BearerToken(token.to_owned())),
        };
        bench.servers.command(McpCommand::Start(Box::new(start)));
        bench
    }

    async fn next(&mut self) -> McpEvent {
        let next = tokio::time::timeout(Duration::from_secs(20), self.reports.recv());
        next.await.unwrap().unwrap().event
    }

    async fn ready(&mut self) -> McpOffer {
        match self.next().await {
            McpEvent::Ready(offer) => *offer,
            other => panic!("{other:?}"),
        }
    }

    async fn failed(&mut self) -> McpFailure {
        match self.next().await {
            McpEvent::Failed(failure) => failure,
            other => panic!("{other:?}"),
        }
    }

    fn call(&self, call: u64) {
        let params = json!({"name": "look", "arguments": {}});
        self.servers.command(McpCommand::Call {
            run: RUN,
            call: McpCallId(call),
            method: "tools/call".to_owned(),
            params: params.as_object().cloned(),
        });
    }

    /// The answer to a call, and how much else was said before it.
    async fn answer(&mut self, to: u64) -> (Result<Value, McpCallError>, usize) {
        let mut said = 0;
        loop {
            match self.next().await {
                McpEvent::Answered { call, outcome } if call == McpCallId(to) => {
                    return (outcome, said);
                }
                McpEvent::Said { .. } => said += 1,
                other => panic!("{other:?}"),
            }
        }
    }
}

fn short(starting: u64, answering: u64) -> ServerPatience {
    ServerPatience {
        starting: Duration::from_millis(starting),
        answering: Duration::from_millis(answering),
        ending: Duration::from_millis(100),
    }
}

#[tokio::test]
async fn a_program_says_what_it_has_and_answers() {
    let mut bench = Bench::start(shell(""));
    let offer = bench.ready().await;
    assert_eq!(offer.tools[0].name, "look");
    assert!(offer.capabilities.contains_key("tools"));
    bench.call(1);
    let (outcome, _) = bench.answer(1).await;
    assert_eq!(outcome.unwrap()["content"][0]["text"], "fog");
}

#[tokio::test]
async fn a_program_is_given_no_more_of_the_environment_than_agents_are() {
    // Cargo sets this for tests, and it is on no list.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let says =
        r#"*'"tools/call"'*) answer "{\"home\":\"$HOME\",\"cargo\":\"$CARGO_MANIFEST_DIR\"}" ;;"#;
    let mut bench = Bench::start(shell(says));
    bench.ready().await;
    bench.call(1);
    let said = bench.answer(1).await.0.unwrap();
    assert_eq!(said["cargo"], "");
    assert_eq!(said["home"], std::env::var("HOME").unwrap_or_default());
}

#[tokio::test]
async fn what_does_not_start_or_never_answers_or_dies_is_said() {
    let nothing = McpTransport::Stdio {
        command: "/no/such/server".to_owned(),
        args: vec!["--key=hush".to_owned()],
        env: BTreeMap::new(),
        directory: None,
    };
    let failure = Bench::start(nothing).failed().await;
    assert!(
        matches!(failure, McpFailure::NotStarted { .. }),
        "{failure:?}"
    );
    assert!(!failure.to_string().contains("hush"), "{failure}");

    let silent = shell(r#"*'"initialize"'*) ;;"#);
    let failure = Bench::with(silent, short(100, 100), None).failed().await;
    assert!(
        matches!(failure, McpFailure::NoAnswer { .. }),
        "{failure:?}"
    );

    let dies = shell(r#"*'"initialize"'*) echo "no licence" >&2; exit 3 ;;"#);
    let failure = Bench::start(dies).failed().await.to_string();
    assert!(
        failure.contains("status 3") && failure.contains("no licence"),
        "{failure}"
    );

    let strange = shell(r#"*'"initialize"'*) answer '{"protocolVersion":"2099-01-01"}' ;;"#);
    let failure = Bench::start(strange).failed().await.to_string();
    assert!(failure.contains("2099-01-01"), "{failure}");
}

#[tokio::test]
async fn calls_that_a_server_takes_to_its_grave_are_answered() {
    let mut bench = Bench::start(shell(r#"*'"tools/call"'*) exit 1 ;;"#));
    bench.ready().await;
    bench.call(1);
    let (outcome, _) = bench.answer(1).await;
    assert!(matches!(outcome, Err(McpCallError::Lost(_))), "{outcome:?}");
    assert!(matches!(bench.failed().await, McpFailure::Ended(_)));
}

#[tokio::test]
async fn a_call_that_is_never_answered_ends_and_the_server_is_told() {
    let says = r#"*'"tools/call"'*) ;;
            *'"notifications/cancelled"'*) say '{"jsonrpc":"2.0","method":"notifications/message"}' ;;"#;
    let mut bench = Bench::with(shell(says), short(20_000, 100), None);
    bench.ready().await;
    bench.call(1);
    let (outcome, _) = bench.answer(1).await;
    assert!(matches!(outcome, Err(McpCallError::Lost(_))), "{outcome:?}");
    assert!(matches!(bench.next().await, McpEvent::Said { .. }));
}

#[tokio::test]
async fn a_message_beyond_all_measure_ends_the_run() {
    let says = r#"*'"tools/call"'*) head -c 20000000 /dev/zero | tr '\0' x; echo ;;"#;
    let mut bench = Bench::start(shell(says));
    bench.ready().await;
    bench.call(1);
    let (outcome, _) = bench.answer(1).await;
    assert!(outcome.is_err());
    let failure = bench.failed().await.to_string();
    assert!(failure.contains("16 MiB"), "{failure}");
}

#[tokio::test]
async fn a_flood_of_news_is_passed_on_in_small_measure_and_keeps_no_answer() {
    let says = r#"*'"tools/call"'*)
                yes '{"jsonrpc":"2.0","method":"notifications/message","params":{}}' | head -n 20000
                answer '{"content":[]}' ;;"#;
    let mut bench = Bench::start(shell(says));
    bench.ready().await;
    bench.call(1);
    let (outcome, said) = bench.answer(1).await;
    assert!(outcome.is_ok());
    assert!(said < 2_000, "{said} of 20,000");
}

#[tokio::test]
async fn tools_are_bounded_and_asked_for_again_when_they_change() {
    let says = r#"*'"tools/list"'*'"cursor"'*) answer '{"tools":[{"name":"b"},{"name":"b"},{"name":""}]}' ;;
            *'"tools/list"'*) case $changed in
                1) answer '{"tools":[{"name":"new"}]}' ;;
                *) answer '{"tools":[{"name":"a"}],"nextCursor":"2"}' ;;
            esac ;;
            *'"tools/call"'*) changed=1; answer '{}'
                say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}' ;;"#;
    let mut bench = Bench::start(shell(says));
    let names = |tools: &[innkeeper_protocol::newest::state::ToolDefinition]| {
        tools.iter().map(|it| it.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&bench.ready().await.tools), ["a", "b"]);
    bench.call(1);
    bench.answer(1).await.0.unwrap();
    loop {
        match bench.next().await {
            McpEvent::Said { .. } => {}
            McpEvent::Tools(tools) => break assert_eq!(names(&tools), ["new"]),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_server_that_is_stopped_is_gone_with_all_that_it_started() {
    let says = r#"*'"tools/call"'*) sleep 1000 & answer "{\"pid\":$!}" ;;"#;
    let mut bench = Bench::start(shell(says));
    bench.ready().await;
    bench.call(1);
    let pid = bench.answer(1).await.0.unwrap()["pid"].as_i64().unwrap();
    bench.servers.command(McpCommand::Stop { run: RUN });
    bench.servers.shutdown().await;
    let lives = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    // It was told to go, which takes effect when the system gets to it.
    let gone = async {
        while lives() {
            tokio::task::yield_now().await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
    assert!(gone.is_ok(), "it still runs");
}

/// What a web server is asked, and what it answers: a status, headers, a body.
/// With status 0, it answers nothing.
type Answers = fn(&str, &Value) -> (u16, Vec<(&'static str, String)>, String);

/// Answers requests, one connection each. Returns its origin and what it heard.
async fn web(answers: Answers) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let log = Arc::clone(&log);
            tokio::spawn(async move {
                let (mut text, mut piece) = (String::new(), [0; 4096]);
                let (head, body) = loop {
                    let read = stream.read(&mut piece).await.unwrap_or(0);
                    if read == 0 {
                        return;
                    }
                    text.push_str(&String::from_utf8_lossy(&piece[..read]));
                    let Some((head, body)) = text.split_once("\r\n\r\n") else {
                        continue;
                    };
                    let length = head
                        .lines()
                        .find_map(|it| it.strip_prefix("content-length: "));
                    let length: usize = length.and_then(|it| it.parse().ok()).unwrap_or(0);
                    if body.len() >= length {
                        break (head.to_owned(), body.to_owned());
                    }
                };
                log.lock().unwrap().push(format!("{head}\n\n{body}"));
                let asked = serde_json::from_str(&body).unwrap_or(Value::Null);
                let (status, headers, said) = answers(&head, &asked);
                if status == 0 {
                    std::future::pending::<()>().await;
                }
                let mut answer = format!("HTTP/1.1 {status} X\r\n");
                for (name, value) in headers {
                    answer.push_str(&format!("{name}: {value}\r\n"));
                }
                answer.push_str(&format!("content-length: {}\r\n\r\n{said}", said.len()));
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    (origin, heard)
}

fn http(url: String) -> McpTransport {
    McpTransport::Http {
        url,
        headers: [("x-key".to_owned(), "hush".to_owned())].into(),
        oauth_client: None,
    }
}

fn plain(asked: &Value, result: Value) -> (u16, Vec<(&'static str, String)>, String) {
    let kind = ("content-type", "application/json".to_owned());
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    (200, vec![kind], answer.to_string())
}

/// A server as it should be: one message, or a stream of them.
fn well(asked: &Value) -> (u16, Vec<(&'static str, String)>, String) {
    match asked["method"].as_str().unwrap_or_default() {
        "initialize" => {
            let result = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}});
            let (status, mut headers, body) = plain(asked, result);
            headers.push(("mcp-session-id", "s1".to_owned()));
            (status, headers, body)
        }
        "tools/list" => plain(asked, json!({"tools": [{"name": "look"}]})),
        "tools/call" => {
            let news = json!({"jsonrpc": "2.0", "method": "notifications/message"});
            let result = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": []}});
            let kind = ("content-type", "text/event-stream".to_owned());
            (
                200,
                vec![kind],
                format!("data: {news}\n\nevent: message\ndata: {result}\n\n"),
            )
        }
        _ => (202, Vec::new(), String::new()),
    }
}

#[tokio::test]
async fn a_server_at_an_address_answers_with_a_message_or_a_stream() {
    let (origin, heard) = web(|_, asked| well(asked)).await;
    let transport = http(format!("{origin}/mcp"));
    let mut bench = Bench::with(transport, ServerPatience::default(), Some("secret"));
    assert_eq!(bench.ready().await.tools[0].name, "look");
    bench.call(1);
    let (outcome, said) = bench.answer(1).await;
    assert_eq!((outcome.unwrap(), said), (json!({"content": []}), 1));
    let heard = heard.lock().unwrap();
    let call = heard
        .iter()
        .find(|it| it.contains("tools/call"))
        .unwrap()
        .to_lowercase();
    for expected in [
        "post /mcp ",
        "x-key: hush",
        "authorization: bearer secret",
        "mcp-session-id: s1",
        "mcp-protocol-version: 2025-06-18",
    ] {
        assert!(call.contains(expected), "{expected}: {call}");
    }
}

#[tokio::test]
async fn a_server_that_asks_and_accepts_no_answer_is_not_heard() {
    let answers: Answers = |_, asked| match asked["method"].as_str() {
        Some("tools/call") => {
            let ping =
                |no: u32| json!({"jsonrpc": "2.0", "id": format!("ping {no}"), "method": "ping"});
            let pings = (0..500).map(|no| format!("data: {}\n\n", ping(no)));
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {}});
            let kind = ("content-type", "text/event-stream".to_owned());
            let body = format!("{}data: {answer}\n\n", pings.collect::<String>());
            (200, vec![kind], body)
        }
        None => (0, Vec::new(), String::new()),
        Some(_) => well(asked),
    };
    let (origin, heard) = web(answers).await;
    let mut bench = Bench::with(http(origin), short(20_000, 2_000), None);
    bench.ready().await;
    bench.call(1);
    let (outcome, _) = bench.answer(1).await;
    assert!(matches!(outcome, Err(McpCallError::Lost(_))), "{outcome:?}");
    let heard = heard.lock().unwrap();
    let answered = heard.iter().filter(|it| it.contains("\"ping ")).count();
    assert!(answered <= 32, "{answered} connections");
}

#[tokio::test]
async fn an_address_that_is_wrong_or_answers_wrongly_is_said() {
    let cases: [(Answers, &str); 4] = [
        (|_, _| (500, Vec::new(), String::new()), "500"),
        (
            |_, _| {
                (
                    308,
                    vec![("location", "https://there".to_owned())],
                    String::new(),
                )
            },
            "https://there",
        ),
        (
            |_, _| (200, Vec::new(), "<html>".to_owned()),
            "not a message",
        ),
        (
            |_, _| {
                (
                    200,
                    vec![("content-type", "text/event-stream".to_owned())],
                    ": hi\n\n".to_owned(),
                )
            },
            "ended before",
        ),
    ];
    for (answers, expected) in cases {
        let (origin, _) = web(answers).await;
        let failure = Bench::start(http(origin)).failed().await.to_string();
        assert!(failure.contains(expected), "{failure}");
    }
    for address in ["nowhere", "file:///etc/passwd", "http://"] {
        let failure = Bench::start(http(address.to_owned())).failed().await;
        assert!(
            matches!(failure, McpFailure::Unreachable(_)),
            "{address}: {failure:?}"
        );
    }
}

async fn challenged(answers: Answers, token: Option<&str>) -> (String, McpAuthRequirement) {
    let (origin, _) = web(answers).await;
    let transport = http(format!("{origin}/mcp"));
    let mut bench = Bench::with(transport, ServerPatience::default(), token);
    match bench.next().await {
        McpEvent::AuthRequired(wants) => (origin, *wants),
        other => panic!("{other:?}"),
    }
}

fn host_of(head: &str) -> &str {
    let host = head.lines().find_map(|it| it.strip_prefix("host: "));
    host.unwrap_or_default()
}

#[tokio::test]
async fn a_server_that_wants_a_sign_in_says_for_what() {
    let answers: Answers = |head, _| match head.starts_with("GET ") {
        true => {
            let origin = format!("http://{}", host_of(head));
            let about = json!({"resource": format!("{origin}/mcp"), "resource_name": "Rows",
                "authorization_servers": ["https://login.example"], "scopes_supported": ["all"]});
            (200, Vec::new(), about.to_string())
        }
        false => {
            let place = format!("http://{}/about", host_of(head));
            let said = format!("Bearer resource_metadata=\"{place}\", scope=\"rows more\"");
            (401, vec![("www-authenticate", said)], String::new())
        }
    };
    let (origin, wants) = challenged(answers, None).await;
    assert_eq!(wants.reason, McpAuthRequiredReason::Required);
    assert_eq!(wants.resource.resource, format!("{origin}/mcp"));
    assert_eq!(wants.resource.resource_name.as_deref(), Some("Rows"));
    assert_eq!(wants.required_scopes.unwrap(), ["rows", "more"]);
    let (_, wants) = challenged(answers, Some("old")).await;
    assert_eq!(wants.reason, McpAuthRequiredReason::Expired);
}

#[tokio::test]
async fn whoever_signs_in_is_told_the_client_that_is_registered_for_it() {
    let (origin, _) = web(|_, _| (401, Vec::new(), String::new())).await;
    let transport = McpTransport::Http {
        url: format!("{origin}/mcp"),
        headers: BTreeMap::new(),
        oauth_client: Some("registered".to_owned()),
    };
    let mut bench = Bench::with(transport, ServerPatience::default(), None);
    let McpEvent::AuthRequired(wants) = bench.next().await else {
        panic!("it wants no sign-in");
    };
    let client = wants.oauth_client.unwrap();
    assert_eq!(
        (client.client_id.as_str(), client.client_secret),
        ("registered", None)
    );
}

#[tokio::test]
async fn a_server_cannot_ask_for_the_token_of_another() {
    let answers: Answers = |head, _| match head.starts_with("GET ") {
        true => {
            let about = json!({"resource": "https://bank.example"});
            (200, Vec::new(), about.to_string())
        }
        false => (401, Vec::new(), String::new()),
    };
    let (origin, wants) = challenged(answers, None).await;
    assert_eq!(wants.resource.resource, format!("{origin}/mcp"));
}

#[tokio::test]
async fn a_call_may_want_more_than_the_server_did() {
    let (origin, _) = web(|_, asked| match asked["method"] == "tools/call" {
        true => {
            let said = "Bearer error=\"insufficient_scope\", scope=\"write\"".to_owned();
            (403, vec![("www-authenticate", said)], String::new())
        }
        false => well(asked),
    })
    .await;
    let mut bench = Bench::start(http(format!("{origin}/mcp")));
    bench.ready().await;
    bench.call(1);
    let (outcome, _) = bench.answer(1).await;
    let Err(McpCallError::AuthRequired(wants)) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(wants.reason, McpAuthRequiredReason::InsufficientScope);
    assert_eq!(wants.required_scopes.unwrap(), ["write"]);
}
