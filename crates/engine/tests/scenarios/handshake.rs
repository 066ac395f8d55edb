//! Connections: the handshake, clients that return, and what they keep.

use std::time::Duration;

use innkeeper_engine::Limits;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, chat};

#[test]
fn before_the_handshake_only_a_ping_is_answered() {
    let mut host = Host::new();
    host.connect(1);
    assert_eq!(host.ok(1, "ping", json!({})), Value::Null);
    for method in ["listSessions", "subscribe", "createSession"] {
        assert_eq!(
            host.refused(1, method, json!({"channel": ROOT})),
            -32600,
            "{method}"
        );
    }
    host.enter(1, "a", &[]);
    let again = json!({"clientId": "a", "protocolVersions": ["1.0.0"]});
    assert_eq!(host.refused(1, "initialize", again), -32600);
}

#[test]
fn a_version_that_nobody_speaks_is_told_the_others_and_closed() {
    let mut host = Host::new();
    host.connect(1);
    let params = json!({"clientId": "a", "protocolVersions": ["77.0.0"]});
    let answer = host.ask(1, "initialize", params);
    assert_eq!(answer["error"]["code"], -32005);
    assert_eq!(
        answer["error"]["data"]["supportedVersions"],
        json!(Version::supported())
    );
    assert_eq!(host.closed, [1]);
}

#[test]
fn initial_subscriptions_are_those_that_exist() {
    let mut host = Host::with_session(Limits::default());
    let welcome = host.enter(2, "b", &[ROOT, SESSION, "x:none"]);
    let snapshots = welcome["snapshots"].as_array().unwrap();
    let names: Vec<&Value> = snapshots.iter().map(|s| &s["resource"]).collect();
    assert_eq!(names, [ROOT, SESSION]);
    assert_eq!(snapshots[0]["state"]["activeSessions"], 1);
}

#[test]
fn clients_that_come_and_go_without_end_are_forgotten_in_turn() {
    let mut host = Host::with_session(Limits::default());
    for number in 2..10_050 {
        host.enter(number, &format!("passer-by {number}"), &[]);
        host.leave(number);
        host.heard.clear();
    }
    assert_eq!(host.restart(Limits::default()), 10_000);
}

#[test]
fn a_client_that_connects_again_takes_its_place() {
    let mut host = Host::with_session(Limits::default());
    host.enter(2, "a", &[&chat()]);
    assert_eq!(host.closed, [1]);
    host.heard.clear();
    host.start_turn(2, "t");
    assert!(host.news(1).is_empty());
    assert!(!host.news(2).is_empty());
}

#[test]
fn an_active_client_keeps_its_role_for_a_while() {
    let mut host = Host::with_session(Limits::default());
    let client = json!({"clientId": "a", "tools": []});
    let set = json!({"type": "session/activeClientSet", "activeClient": client});
    host.dispatch(1, SESSION, set);
    assert_eq!(host.news(1), ["session/activeClientSet"]);
    host.leave(1);
    host.wait(Duration::from_secs(29));
    assert_eq!(host.state(SESSION)["activeClients"][0]["clientId"], "a");
    host.wait(Duration::from_secs(2));
    assert_eq!(host.state(SESSION)["activeClients"], json!([]));
}
