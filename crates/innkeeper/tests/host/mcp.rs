//! MCP servers that the host runs, over a real socket: programs of a few lines
//! of shell, used by agents and by clients.

use std::fs;
use std::path::Path;

use innkeeper::{CustomizationSettings, WorkspaceOptions};
use innkeeper_protocol::mcp::{ConfiguredServer, Hosting, McpServer, McpTransport};
use innkeeper_protocol::newest::state::{SessionState, TurnState};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::common::binary::Binary;
use crate::common::{Guest, Inn, InnOptions, ROOT, Watch, default_chat, in_time, script};
use crate::stage::{act, until};

const SESSION: &str = "ahp-session:/mcp";
const WEATHER: &str = "innkeeper:configuration#weather";

/// A server with one tool, `forecast`, which says what it was given.
const SERVER: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*)
        answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}' ;;
    *'"method":"tools/list"'*)
        answer '{"tools":[{"name":"forecast","title":"Forecast","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://w/map"}}}]}' ;;
    *'"city":"Ulm"'*) answer "{\"content\":[{\"type\":\"text\",\"text\":\"fog by $$\"}]}" ;;
    *'"city":"Atlantis"'*) exit 7 ;;
    esac
done
"#;

fn program(script: &str) -> McpTransport {
    McpTransport::Stdio {
        command: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: Default::default(),
        directory: None,
    }
}

fn options(transport: McpTransport) -> InnOptions {
    let server = ConfiguredServer {
        server: McpServer {
            name: "weather".to_owned(),
            transport,
        },
        uri: "innkeeper:configuration".to_owned(),
        hosting: Hosting::Session,
    };
    let customizations = CustomizationSettings {
        mcp_servers: vec![server],
        ..CustomizationSettings::default()
    };
    InnOptions {
        workspace: WorkspaceOptions {
            customizations,
            ..WorkspaceOptions::default()
        },
        ..InnOptions::default()
    }
}

async fn create(guest: &Guest, directory: Option<&Path>) -> Watch<SessionState> {
    let mut params = json!({"channel": SESSION, "provider": "script"});
    if let Some(directory) = directory {
        let uri = format!("file://{}", directory.display());
        params["workingDirectories"] = json!([uri]);
    }
    guest.request("createSession", params).await.unwrap();
    let mut watch = guest.watch_session(SESSION).await;
    until(&mut watch, "ready", |s| s["lifecycle"] == "ready").await;
    watch
}

/// A server of a session, at the top or in a container.
fn server<'a>(state: &'a Value, ending: &str) -> Option<&'a Value> {
    let all = state["customizations"].as_array()?.iter();
    let mut all = all.flat_map(|it| {
        let children = it["children"].as_array().into_iter().flatten();
        std::iter::once(it).chain(children)
    });
    all.find(|it| it["id"].as_str().is_some_and(|id| id.ends_with(ending)))
}

async fn until_it_is(watch: &mut Watch<SessionState>, ending: &str, kind: &str) -> Value {
    let state = until(watch, kind, |state| {
        server(state, ending).is_some_and(|it| it["state"]["kind"] == kind)
    });
    server(&state.await, ending).unwrap().clone()
}

/// The script agent calls the tool; returns the call as it ended.
async fn forecast(guest: &Guest, turn: &str, city: &str) -> Value {
    let chat = default_chat(SESSION);
    let mut watch = guest.watch_chat(&chat).await;
    let step = json!({"clientTool": {"name": "forecast", "input": {"city": city}}});
    guest.say(&chat, turn, &script(json!([step]))).await;
    watch.turn_end(turn).await;
    let state = json!(watch.state);
    let turn = state["turns"].as_array().unwrap().last().unwrap().clone();
    let mut parts = turn["responseParts"].as_array().unwrap().iter();
    let part = parts.find(|part| part["kind"] == "toolCall").unwrap();
    part["toolCall"].clone()
}

async fn ask(guest: &Guest, what: &str, id: &str) -> i64 {
    let kind = format!("session/mcpServer{what}Requested");
    act(guest, SESSION, json!({"type": kind, "id": id})).await
}

#[tokio::test]
async fn a_server_is_started_for_a_session_used_stopped_and_started_again() {
    let inn = Inn::open_with(options(program(SERVER))).await;
    let guest = inn.guest("a").await;
    let mut watch = create(&guest, None).await;
    let ready = until_it_is(&mut watch, WEATHER, "ready").await;
    let tool = json!({"name": "forecast", "title": "Forecast",
                      "_meta": {"mcpServerName": "weather"}});
    let has_tool = |state: &Value| {
        let mut tools = state["serverTools"].as_array().into_iter().flatten();
        tools.any(|it| *it == tool)
    };
    until(&mut watch, "its tool", has_tool).await;
    let call = forecast(&guest, "t1", "Ulm").await;
    assert_eq!(call["status"], "completed");
    let app = json!({"resourceUri": "ui://w/map", "channel": ready["channel"]});
    assert_eq!(
        call["_meta"],
        json!({"mcpServerName": "weather", "mcpToolName": "forecast", "ui": app})
    );
    assert_eq!(
        call["contributor"],
        json!({"kind": "mcp", "customizationId": WEATHER})
    );
    let first = call["content"][0]["text"].clone();
    assert!(first.as_str().unwrap().starts_with("fog by "), "{call}");

    ask(&guest, "Stop", WEATHER).await;
    let stopped = until_it_is(&mut watch, WEATHER, "stopped").await;
    assert!(stopped.get("channel").is_none(), "{stopped}");
    until(&mut watch, "its tool gone", |state| !has_tool(state)).await;
    let call = forecast(&guest, "t2", "Ulm").await;
    assert_eq!(call["success"], false, "nobody offers it");

    ask(&guest, "Start", WEATHER).await;
    until_it_is(&mut watch, WEATHER, "ready").await;
    let call = forecast(&guest, "t3", "Ulm").await;
    assert_ne!(call["content"][0]["text"], first, "another process");
    let newcomer: SessionState = inn.guest("b").await.snapshot(SESSION).await;
    let what = "whoever folds holds what the host holds";
    watch.until(what, |state| *state == newcomer).await;
    inn.close().await;
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_shown_as_failed_and_the_turn_goes_on() {
    let inn = Inn::open_with(options(program(SERVER))).await;
    let guest = inn.guest("a").await;
    let mut watch = create(&guest, None).await;
    let call = forecast(&guest, "t", "Atlantis").await;
    assert_eq!(call["success"], false);
    let failed = until_it_is(&mut watch, WEATHER, "error").await;
    let message = failed["state"]["error"]["message"].as_str().unwrap();
    assert!(message.contains("status 7"), "{message}");
    inn.close().await;
}

#[tokio::test]
async fn clients_ask_a_server_themselves_on_its_channel() {
    let inn = Inn::open_with(options(program(SERVER))).await;
    let guest = inn.guest("a").await;
    let mut watch = create(&guest, None).await;
    let channel = until_it_is(&mut watch, WEATHER, "ready").await["channel"].clone();
    let params = json!({"channel": channel, "method": "tools/call",
        "params": {"name": "forecast", "arguments": {"city": "Ulm"}}});
    let said = guest.request("mcpMethodCall", params).await.unwrap();
    assert_eq!(said["content"][0]["type"], "text");
    let params = json!({"channel": channel, "name": "forecast", "arguments": {"city": "Ulm"}});
    let said = guest.request("tools/call", params).await.unwrap();
    assert_eq!(said["content"][0]["type"], "text");
    let params = json!({"channel": channel, "method": "resources/list"});
    assert!(guest.request("mcpMethodCall", params).await.is_err());
    inn.close().await;
}

#[tokio::test]
async fn a_server_of_a_directory_runs_only_after_somebody_switched_it_on() {
    let directory = tempfile::tempdir().unwrap();
    let ran = directory.path().join("ran");
    let program = directory.path().join("own.sh");
    fs::write(&program, format!("touch '{}'\n{SERVER}", ran.display())).unwrap();
    let declared = json!({"mcpServers": {"own": {"command": "/bin/sh", "args": [program]}}});
    fs::write(directory.path().join(".mcp.json"), declared.to_string()).unwrap();
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let mut watch = create(&guest, Some(directory.path())).await;
    let id = server(&json!(watch.state), "#own").unwrap()["id"].clone();
    let id = id.as_str().unwrap();
    let seq = ask(&guest, "Start", id).await;
    assert!(watch.rejection(seq).await.contains("switch it on"));
    assert!(
        !ran.exists(),
        "opening a session runs nothing of the directory"
    );
    let on = json!({"type": "session/customizationToggled", "id": id,
        "enablement": [{"kind": "session", "enabled": true}]});
    act(&guest, SESSION, on).await;
    ask(&guest, "Start", id).await;
    until_it_is(&mut watch, "#own", "ready").await;
    assert!(ran.exists());
    let call = forecast(&guest, "t", "Ulm").await;
    assert_eq!(call["contributor"]["customizationId"], id);
    inn.close().await;
}

/// A server at an address that serves nobody without a token, and writes only
/// for those with a better one. Returns its address.
async fn guarded() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut text, mut piece) = (String::new(), [0; 4096]);
                let whole = |text: &str| {
                    let (head, body) = text.split_once("\r\n\r\n")?;
                    let length = head
                        .lines()
                        .find_map(|it| it.strip_prefix("content-length: "));
                    let length = length.and_then(|it| it.parse().ok()).unwrap_or(0);
                    (body.len() >= length).then(|| (head.to_owned(), body.to_owned()))
                };
                let (head, body) = loop {
                    match stream.read(&mut piece).await {
                        Ok(read) if read > 0 => {
                            text.push_str(&String::from_utf8_lossy(&piece[..read]));
                        }
                        _ => return,
                    }
                    if let Some(whole) = whole(&text) {
                        break whole;
                    }
                };
                let (status, more, said) = guarded_answer(&head, &body);
                let length = said.len();
                let answer = format!(
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{more}\
                     content-length: {length}\r\n\r\n{said}"
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            });
        }
    });
    origin
}

fn guarded_answer(head: &str, body: &str) -> (u16, &'static str, String) {
    let asked: Value = serde_json::from_str(body).unwrap_or_default();
    let has = |token: &str| head.contains(&format!("authorization: Bearer {token}"));
    let result = match asked["method"].as_str().unwrap_or_default() {
        _ if !has("good") && !has("better") => return (401, "", String::new()),
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}),
        "tools/list" => json!({"tools": [{"name": "forecast"}]}),
        "tools/call" if has("better") => json!({"content": [{"type": "text", "text": "sun"}]}),
        "tools/call" => {
            let said = "www-authenticate: Bearer error=\"insufficient_scope\", scope=\"sun\"\r\n";
            return (403, said, String::new());
        }
        _ => return (202, "", String::new()),
    };
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    (200, "", answer.to_string())
}

#[tokio::test]
async fn a_server_and_a_call_that_want_a_sign_in_go_on_after_it() {
    let url = guarded().await;
    let headers = Default::default();
    let inn = Inn::open_with(options(McpTransport::Http {
        url,
        headers,
        oauth_client: None,
    }))
    .await;
    let guest = inn.guest("a").await;
    let mut watch = create(&guest, None).await;
    let waiting = until_it_is(&mut watch, WEATHER, "authRequired").await;
    let resource = waiting["state"]["resource"]["resource"].clone();
    let sign_in = |token: &str| json!({"channel": ROOT, "resource": resource, "token": token});
    guest
        .request("authenticate", sign_in("good"))
        .await
        .unwrap();
    until_it_is(&mut watch, WEATHER, "ready").await;

    let chat = default_chat(SESSION);
    let mut turns = guest.watch_chat(&chat).await;
    let step = json!({"clientTool": {"name": "forecast", "input": {}}});
    guest.say(&chat, "t", &script(json!([step]))).await;
    let needed = until(&mut watch, "a sign-in", |state| {
        state["inputNeeded"][0]["kind"] == "toolAuthentication"
    })
    .await;
    let auth = &needed["inputNeeded"][0]["toolCall"]["auth"];
    assert_eq!(auth["requiredScopes"], json!(["sun"]));
    guest
        .request("authenticate", sign_in("better"))
        .await
        .unwrap();
    assert_eq!(turns.turn_end("t").await, TurnState::Complete);
    let turn = json!(turns.state.turns[0]).to_string();
    assert!(turn.contains("\"sun\""), "{turn}");
    assert!(!turn.contains("better"), "no token is told");
    inn.close().await;
}

/// An agent that uses the tool of the server that it was told of by its name.
const AGENT: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"update":%s}}\n' "$1"; }
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*) answer "$id" '{"protocolVersion":1,"agentCapabilities":{}}' ;;
    *'"method":"session/new"'*)
        server=${line#*\"name\":\"weather\",}
        program=$(printf %s "$server" | sed 's/.*"command":"\([^"]*\)".*/\1/')
        socket=$(printf %s "$server" | sed 's/.*"bridge","\([^"]*\)".*/\1/')
        answer "$id" "{\"sessionId\":\"s-$$\"}" ;;
    *'"method":"session/prompt"'*)
        rules=none
        case $line in *'Be brief.'*) rules=told ;; esac
        pipes=$(mktemp -d)
        mkfifo "$pipes/in" "$pipes/out"
        "$program" bridge "$socket" <"$pipes/in" >"$pipes/out" &
        exec 3>"$pipes/in" 4<"$pipes/out"
        rm -r "$pipes"
        printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}' >&3
        read -r hello <&4
        printf '%s\n' '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"forecast","arguments":{"city":"Ulm"}}}' >&3
        read -r result <&4
        exec 3>&- 4<&-
        case $result in *'fog by'*) result=fog ;; *) result=nothing ;; esac
        update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$result $rules\"}}"
        answer "$id" '{"stopReason":"end_turn"}' ;;
    esac
done
"#;

#[tokio::test]
async fn an_agent_that_is_a_program_uses_a_server_and_is_told_of_rules_until_the_host_is_killed() {
    let data = tempfile::tempdir().unwrap();
    let work = tempfile::tempdir().unwrap();
    fs::write(work.path().join("AGENTS.md"), "Be brief.").unwrap();
    let (agent, weather) = (data.path().join("agent.sh"), data.path().join("weather.sh"));
    fs::write(&agent, AGENT).unwrap();
    let pid = data.path().join("pid");
    fs::write(&weather, format!("echo $$ >'{}'\n{SERVER}", pid.display())).unwrap();
    let config = data.path().join("innkeeper.toml");
    let tables = format!(
        "[agents.test]\ncommand = '/bin/sh'\nargs = ['{}']\n\
         [mcp.weather]\ncommand = '/bin/sh'\nargs = ['{}']\n",
        agent.display(),
        weather.display()
    );
    fs::write(&config, tables).unwrap();
    let arguments = ["--config", config.to_str().unwrap(), "--agents", "test"];
    let host = Binary::start(data.path(), &arguments);
    let guest = Guest::arrive(&host.url, "a").await;
    guest.initialize(&[]).await;
    let uri = format!("file://{}", work.path().display());
    let params = json!({"channel": SESSION, "provider": "test", "workingDirectories": [uri]});
    guest.request("createSession", params).await.unwrap();
    let mut session = guest.watch_session(SESSION).await;
    until_it_is(&mut session, WEATHER, "ready").await;
    let chat = default_chat(SESSION);
    let mut watch = guest.watch_chat(&chat).await;
    guest.say(&chat, "t", "how is the weather").await;
    assert_eq!(watch.turn_end("t").await, TurnState::Complete);
    assert_eq!(watch.text_of("t"), "fog told");
    let turn = json!(watch.state.turns[0]).to_string();
    assert!(turn.contains("received 1 of your customizations"), "{turn}");
    assert!(turn.contains(WEATHER), "the call names the server: {turn}");

    let pid = fs::read_to_string(pid).unwrap();
    host.kill();
    let stat = format!("/proc/{}/stat", pid.trim());
    let is_gone = || !fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    in_time("the end of the server", async {
        while !is_gone() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // What was told is there in the next life, and nothing is said to run.
    let host = Binary::start(data.path(), &arguments);
    let guest = Guest::arrive(&host.url, "b").await;
    guest.initialize(&[]).await;
    let state = json!(guest.snapshot::<SessionState>(SESSION).await);
    assert_eq!(server(&state, WEATHER).unwrap()["state"]["kind"], "stopped");
    let watch = guest.watch_chat(&chat).await;
    assert_eq!(watch.text_of("t"), "fog told");
}
