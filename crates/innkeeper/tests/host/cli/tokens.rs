//! `innkeeper token`: tokens of single devices, what they may do, and how they
//! are revoked.

use std::fs;
use std::io::Read as _;
use std::process::Command;

use serde_json::{Value, json};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use super::harness::{Inn, Serving, mode};
use crate::common::in_time;
use futures_util::{SinkExt as _, StreamExt as _};

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

fn added(inn: &Inn, flags: &[&str]) -> String {
    let args = [&["token", "add", "--json"], flags].concat();
    let made: Value = serde_json::from_str(&inn.call(&args).with(0).out).unwrap();
    made["token"].as_str().unwrap().to_owned()
}

fn status_with(host: &Serving, token: &str) -> u16 {
    host.get(&format!("/?tkn={token}"), UPGRADE).0
}

#[test]
fn a_device_gets_in_until_its_token_is_revoked() {
    let inn = Inn::new();
    let before = added(&inn, &["laptop"]);
    let host = inn.serve(&[]);
    let phone = added(&inn, &["phone"]);
    assert_eq!(status_with(&host, &before), 101);
    assert_eq!(status_with(&host, &phone), 101);
    assert_eq!(
        status_with(&host, &host.token()),
        101,
        "the first goes on working"
    );
    let kept = fs::read_to_string(inn.data("tokens.json")).unwrap();
    assert!(!kept.contains(&phone), "{kept}");
    assert_eq!(mode(&inn.data("tokens.json")), 0o600);
    inn.call(&["token", "add", "phone"]).failed("already");
    let listed = inn.call(&["token", "list"]).with(0).out;
    assert!(
        listed.contains("phone") && listed.contains("laptop"),
        "{listed}"
    );

    let mut open = host.upgraded(&format!("/?tkn={phone}"), UPGRADE);
    inn.call(&["token", "revoke", "phone"]).with(0);
    let mut frame = [0; 4];
    open.read_exact(&mut frame).unwrap();
    assert_eq!((frame[0], &frame[2..]), (0x88, &1008_u16.to_be_bytes()[..]));
    assert_eq!(status_with(&host, &phone), 401);
    assert_eq!(status_with(&host, &before), 101);
    inn.call(&["token", "revoke", "phone"])
        .failed("unknown token `phone`");
    host.stop();
}

#[test]
fn a_file_of_tokens_that_is_damaged_is_named_and_lets_nobody_in() {
    let inn = Inn::new();
    added(&inn, &["phone"]);
    for spoilt in ["nonsense", r#"[{"name":"a","hash":"00","createdAt":""}]"#] {
        fs::write(inn.data("tokens.json"), spoilt).unwrap();
        inn.call(&["serve", "--log", "off", "--port", "0"])
            .failed("tokens.json is damaged; remove it");
        let said = inn.call(&["doctor"]).with(1).out;
        assert!(said.contains("problem   devices:"), "{said}");
    }
    fs::remove_file(inn.data("tokens.json")).unwrap();
    inn.serve(&[]).stop();
}

#[test]
fn a_pipe_in_place_of_the_file_is_refused_at_once() {
    for name in ["tokens.json", "tokens.lock"] {
        let inn = Inn::new();
        fs::create_dir(inn.path("data")).unwrap();
        let made = Command::new("mkfifo").arg(inn.data(name)).status().unwrap();
        assert!(made.success());
        inn.call(&["token", "add", "phone"]).failed("tokens");
    }
    let inn = Inn::new();
    fs::create_dir(inn.path("data")).unwrap();
    let file = inn.data("tokens.json");
    let made = Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    let refused = "tokens.json is not a regular file; remove it";
    inn.call(&["token", "list"]).failed(refused);
    inn.call(&["serve", "--log", "off", "--port", "0"])
        .failed(refused);
    let inn = Inn::new();
    fs::create_dir_all(inn.data("tokens.json")).unwrap();
    inn.call(&["token", "list"]).failed(refused);
}

#[test]
fn a_token_that_has_no_effect_is_said_to_have_none() {
    let warning = "this one has no effect";
    let inn = Inn::new();
    let host = inn.serve(&[]);
    let ended = inn.call(&["token", "add", "phone"]).with(0);
    assert!(!ended.err.contains(warning), "{}", ended.err);
    host.stop();
    let host = inn.serve(&["--without-connection-token"]);
    let ended = inn.call(&["token", "add", "tablet"]).with(0);
    assert!(ended.err.contains(warning), "{}", ended.err);
    host.stop();
    let config = inn.write("open.toml", "[server]\nwithout_connection_token = true\n");
    let config = config.to_str().unwrap();
    let add = ["token", "add", "desk", "--json", "--config", config];
    let ended = inn.call(&add).with(0);
    assert!(ended.err.contains(warning), "{}", ended.err);
    assert!(serde_json::from_str::<Value>(&ended.out).is_ok());
}

#[tokio::test]
async fn a_read_only_device_sees_everything_and_changes_nothing() {
    let inn = Inn::new();
    let host = inn.serve(&[]);
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    let token = added(&inn, &["display", "--read-only"]);
    let url = format!("ws://{}/?tkn={token}", host.authority());
    let (mut socket, _) = in_time("a connection", connect_async(url)).await.unwrap();
    let mut ask = async |message: Value| {
        socket
            .send(Message::text(message.to_string()))
            .await
            .unwrap();
        loop {
            let answer = in_time("an answer", socket.next()).await.unwrap().unwrap();
            let Ok(answer) = serde_json::from_str::<Value>(answer.to_text().unwrap()) else {
                continue;
            };
            let rejected = answer["params"]["rejectionReason"].is_string();
            if answer["id"] == message["id"] && answer["id"].is_number() || rejected {
                return answer;
            }
        }
    };
    let hello = json!({"id": 1, "method": "initialize", "params": {
        "channel": "ahp-root://", "clientId": "display", "protocolVersions": ["1.0.0"],
    }});
    assert!(ask(hello).await.get("result").is_some());
    let list = json!({"id": 2, "method": "listSessions", "params": {"channel": "ahp-root://"}});
    let listed = ask(list).await;
    let session = listed["result"]["items"][0]["resource"]
        .as_str()
        .unwrap()
        .to_owned();
    let subscribe = json!({"id": 3, "method": "subscribe", "params": {"channel": session}});
    assert!(ask(subscribe).await["result"]["snapshot"].is_object());
    for (id, method, params) in [
        (4, "disposeSession", json!({"channel": session})),
        (5, "createSession", json!({"channel": "ahp-session:/new"})),
        (
            6,
            "createTerminal",
            json!({"channel": "ahp-terminal:/t", "claim": {"kind": "client", "clientId": "display"}}),
        ),
    ] {
        let refused = ask(json!({"id": id, "method": method, "params": params})).await;
        let message = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("read-only"), "{method}: {refused}");
    }
    let rename = json!({"method": "dispatchAction", "params": {
        "channel": session, "clientSeq": 1, "action": {"type": "session/titleChanged", "title": "Mine"},
    }});
    let refused = ask(rename).await;
    let reason = refused["params"]["rejectionReason"].as_str().unwrap();
    assert!(reason.contains("read-only"), "{refused}");
    assert_eq!(
        refused["params"]["origin"],
        json!({"clientId": "display", "clientSeq": 1})
    );
    let titles = inn.call(&["sessions"]).with(0).out;
    assert!(!titles.contains("Mine"), "{titles}");
    host.stop();
}

#[test]
fn numbers_need_the_token_behind_a_proxy() {
    let inn = Inn::new();
    let config = inn.write("c.toml", "[server]\nallowed_hosts = ['inn.example']\n");
    let host = inn.serve(&["--config", config.to_str().unwrap()]);
    assert_eq!(host.get("/metrics", "").0, 200);
    for header in [
        "Host: inn.example",
        "X-Forwarded-For: 192.0.2.1",
        "Forwarded: for=192.0.2.1",
        "Via: 1.1 proxy",
    ] {
        let header = format!("{header}\r\n");
        assert_eq!(host.get("/metrics", &header).0, 401, "{header}");
        let path = format!("/metrics?tkn={}", host.token());
        assert_eq!(host.get(&path, &header).0, 200, "{header}");
    }
    host.stop();
}

#[test]
fn operators_see_who_comes_and_what_happens_and_not_what_was_said() {
    let inn = Inn::new();
    let host = inn.serve(&["--log", "info"]);
    let phone = added(&inn, &["phone"]);
    assert_eq!(status_with(&host, &phone), 101);
    assert_eq!(status_with(&host, "wrong"), 401);
    inn.call(&["run", "-a", "script", "a secret wish"]).with(0);
    let owner = host.token();
    host.stop();
    let log = inn.call(&["logs"]).with(0).out;
    for said in [
        "a client connected",
        "token=\"phone\"",
        "a client disconnected",
        "a request was refused peer=\"127.0.0.1:",
        "status=401",
        "a client creates a session",
        "a turn has ended",
        "agent=\"script\" outcome=\"ok\"",
    ] {
        assert!(log.contains(said), "{said}: {log}");
    }
    assert!(!log.contains("secret wish"), "{log}");
    assert!(!log.contains(&phone) && !log.contains(&owner), "{log}");
}

#[test]
fn no_level_of_the_log_has_what_was_said() {
    let inn = Inn::new();
    let host = inn.serve_after(
        "unset INNKEEPER_LOG; export RUST_LOG=trace; exec 2>/dev/null",
        &[],
    );
    let wish = "a secret wish";
    inn.call(&["run", "-a", "script", wish]).with(0);
    host.stop();
    let log = fs::read_to_string(inn.data("logs/innkeeper.log")).unwrap();
    assert!(log.contains("TRACE"), "{log}");
    let in_hex: String = wish.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(!log.contains(wish) && !log.contains(&in_hex), "{log}");
}

#[test]
fn flags_are_variables_and_keys() {
    let inn = Inn::new();
    let socket = inn.path("inn.sock");
    let config = format!(
        "only_agents = ['script']\n[server]\nsocket = '{}'\n",
        socket.display()
    );
    let config = inn.write("c.toml", &config);
    let token = "from-the-environment";
    let preparation = format!("export INNKEEPER_CONNECTION_TOKEN={token} INNKEEPER_NO_WEB=1");
    let host = inn.serve_after(&preparation, &["--config", config.to_str().unwrap()]);
    assert_eq!(host.token(), token);
    assert_eq!(host.lines.len(), 1, "no web client: {:?}", host.lines);
    assert!(socket.exists());
    host.stop();
    inn.bare_call(&["config", "check", "--config", config.to_str().unwrap()])
        .with(0);
    let shown = inn.bare_call(&[
        "config",
        "show",
        "--json",
        "--config",
        config.to_str().unwrap(),
    ]);
    let shown: Value = serde_json::from_str(&shown.with(0).out).unwrap();
    assert_eq!(shown["only_agents"], json!(["script"]));
    for (text, says) in [
        ("[mcp.x]\n", "neither `command` nor `url`"),
        ("[store]\nurl = 'mysql://db/inn'\n", "postgres://"),
    ] {
        let wrong = inn.write("w.toml", text);
        inn.bare_call(&["config", "check", "--config", wrong.to_str().unwrap()])
            .failed(says);
    }
}
