//! `innkeeper serve`: where it listens, whom it lets in, how it ends.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use serde_json::{Value, json};

use super::harness::{Inn, Running, mode};

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[test]
fn what_is_printed_and_written_is_where_it_listens() {
    let inn = Inn::new();
    let host = inn.serve(&[]);
    let (web, url) = (&host.ready["web"], &host.ready["url"]);
    assert_eq!(
        host.lines,
        [
            format!("Web client:  {}", web.as_str().unwrap()),
            format!("WebSocket:   {}", url.as_str().unwrap()),
        ]
    );
    assert!(url.as_str().unwrap().starts_with("ws://127.0.0.1:"));
    assert_eq!(host.ready["pid"], host.running.0.id());
    assert_eq!(mode(&inn.path("ready.json")), 0o600);
    assert_eq!(mode(&inn.data("host.json")), 0o600);
    assert_eq!(mode(&inn.data("token")), 0o600);
    assert_eq!(mode(&inn.path("data")), 0o700);
    assert_eq!(mode(&inn.data("host.sock")), 0o600);
    let own = fs::read_to_string(inn.data("host.json")).unwrap();
    assert!(!own.contains(&host.token()), "{own}");
    let own: Value = serde_json::from_str(&own).unwrap();
    assert_eq!(own["pid"], host.ready["pid"]);
    let (status, answer) = host.get("/healthz", "");
    assert_eq!(status, 200);
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    host.stop();
    assert!(!inn.data("host.json").exists());
}

#[test]
fn the_token_stays_the_same_and_is_asked_for() {
    let inn = Inn::new();
    let first = inn.serve(&[]);
    let token = first.token();
    let with = |tkn: &str| first.get(&format!("/?tkn={tkn}"), UPGRADE).0;
    assert_eq!(first.get("/", UPGRADE).0, 401);
    assert_eq!(with("wrong"), 401);
    assert_eq!(with(&token), 101);
    let bearer = format!("Authorization: Bearer {token}\r\n{UPGRADE}");
    assert_eq!(first.get("/any/path", &bearer).0, 101);
    first.stop();
    let second = inn.serve(&[]);
    assert_eq!(second.token(), token);
    second.stop();
}

#[test]
fn a_token_may_be_given() {
    let inn = Inn::new();
    let host = inn.serve(&["--connection-token", "open-sesame"]);
    assert_eq!(host.token(), "open-sesame");
    assert!(!inn.data("token").exists());
    host.stop();
    let file = inn.write("secret", "from-a-file\n");
    let host = inn.serve(&["--connection-token-file", file.to_str().unwrap()]);
    assert_eq!(host.token(), "from-a-file");
    host.stop();
    let empty = inn.write("empty", "");
    inn.call(&["serve", "--connection-token-file", empty.to_str().unwrap()])
        .failed("holds no token");
}

#[test]
fn without_a_token_on_loopback_everybody_here_may_connect() {
    let inn = Inn::new();
    let host = inn.serve(&["--without-connection-token", "--no-web"]);
    assert_eq!(host.lines.len(), 1, "{:?}", host.lines);
    assert!(host.ready["url"].as_str().unwrap().ends_with('/'));
    assert_eq!(host.get("/", UPGRADE).0, 101);
    assert_eq!(host.get("/", "").0, 404);
    host.stop();
}

#[test]
fn without_a_token_a_host_that_others_reach_does_not_start() {
    let inn = Inn::new();
    let flags = ["serve", "--without-connection-token", "--host", "0.0.0.0"];
    let ended = inn.call(&flags).with(2);
    assert!(ended.err.contains("leave it out"), "{}", ended.err);
    assert!(!inn.path("data").exists());
}

#[test]
fn a_short_token_is_refused_where_other_machines_could_try() {
    let inn = Inn::new();
    let flags = [
        "serve",
        "--connection-token",
        "fifteen-letters",
        "--host",
        "0.0.0.0",
    ];
    let ended = inn.call(&flags).with(2);
    assert!(ended.err.contains("fewer than 16"), "{}", ended.err);
    assert!(!inn.path("data").exists());
    let host = inn.serve(&[
        "--connection-token",
        "sixteen-letters_",
        "--host",
        "0.0.0.0",
    ]);
    host.stop();
}

#[test]
fn what_lets_others_in_is_warned_about_at_every_start() {
    for (flags, warning) in [
        (&["--without-connection-token"][..], "can use the agents"),
        (&["--connection-token", "short"], "fewer than 16 characters"),
        (&["--connection-token", "long-enough-it-is"], ""),
    ] {
        let inn = Inn::new();
        let log = inn.path("log");
        let to_file = format!("exec 2>{}", log.display());
        for _ in 0..2 {
            inn.serve_after(&to_file, flags).stop();
            let log = fs::read_to_string(&log).unwrap();
            let warned = log.lines().any(|line| line.contains("WARN"));
            assert_eq!(warned, !warning.is_empty(), "{log}");
            assert!(log.contains(warning), "{log}");
        }
    }
}

#[test]
fn a_host_on_all_addresses_says_how_to_reach_it_from_here() {
    let inn = Inn::new();
    let host = inn.serve(&["--host", "0.0.0.0"]);
    assert!(host.authority().starts_with("127.0.0.1:"));
    assert_eq!(host.get("/healthz", "").0, 200);
    host.stop();
}

#[test]
fn a_data_directory_has_one_host_at_a_time() {
    let inn = Inn::new();
    let host = inn.serve(&[]);
    inn.call(&["serve", "--port", "0"]).failed("in use");
    assert!(inn.data("host.json").exists());
    host.stop();
}

#[test]
fn a_port_in_use_is_said_and_nothing_is_left_locked() {
    let inn = Inn::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    inn.call(&["serve", "--log", "off", "--port", &port])
        .failed("--port");
    assert!(!inn.data("host.json").exists());
    inn.serve(&[]).stop();
}

#[test]
fn clients_are_told_that_the_host_ends() {
    let inn = Inn::new();
    let host = inn.serve(&[]);
    let path = format!("/?tkn={}", host.token());
    let mut stream = host.upgraded(&path, UPGRADE);
    host.running.signal("TERM");
    let mut frame = [0; 4];
    stream.read_exact(&mut frame).unwrap();
    assert_eq!((frame[0], &frame[2..]), (0x88, &1001_u16.to_be_bytes()[..]));
    drop(stream);
    host.stopped();
}

#[test]
fn interrupting_ends_it_just_as_well() {
    let inn = Inn::new();
    let mut host = inn.serve(&[]);
    host.running.signal("INT");
    assert_eq!(host.running.wait().code(), Some(0));
    assert!(!inn.data("host.json").exists());
}

#[test]
fn a_unix_socket_goes_away_with_its_host() {
    let inn = Inn::new();
    let socket = inn.path("inn.sock");
    let host = inn.serve(&["--socket", socket.to_str().unwrap()]);
    assert_eq!(mode(&socket), 0o600);
    host.stop();
    assert!(!socket.exists());
}

#[test]
fn only_the_agents_that_were_asked_for_are_there() {
    let inn = Inn::new();
    inn.serve(&["--agents", "script"]).stop();
    let ended = inn.call(&["serve", "--agents", "script,butler"]).with(2);
    assert!(ended.err.contains("`butler`") && ended.err.contains("script"));
}

#[test]
fn on_standard_input_a_client_gets_all_its_answers_and_nothing_else() {
    let inn = Inn::new();
    let data = inn.path("data");
    let flags = ["serve", "--stdio", "--data-dir", data.to_str().unwrap()];
    let mut child = inn.command(&flags).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "channel": "ahp-root://", "clientId": "c", "protocolVersions": ["1.0.0"],
    }});
    let create = json!({"jsonrpc": "2.0", "id": 2, "method": "createSession", "params": {
        "channel": "ahp-session:/1",
    }});
    write!(input, "{initialize}\n{create}\n").unwrap();
    drop(input);
    let out = BufReader::new(child.stdout.take().unwrap());
    let mut running = Running(child);
    let messages: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    let answer = |id: u64| messages.iter().find(|message| message["id"] == id).unwrap();
    assert_eq!(answer(1)["result"]["protocolVersion"], "1.0.0");
    assert!(answer(2).get("error").is_none(), "{messages:?}");
    assert_eq!(running.wait().code(), Some(0));
    // The lock is free, and what was created is there.
    let listed = inn.call(&["sessions"]).with(0).out;
    assert!(listed.contains("New session"), "{listed}");
}
