//! Connections: the handshake, clients that return, and what they keep.

use std::time::Duration;

use innkeeper_engine::{ConnectionId, Input, Limits};
use innkeeper_protocol::Timestamp;
use innkeeper_protocol::command::ClientMessage;
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
fn nobody_enters_without_a_name_or_under_that_of_the_host() {
    for name in ["", "innkeeper:host"] {
        let mut host = Host::new();
        host.connect(1);
        let params = json!({"clientId": name, "protocolVersions": ["1.0.0"]});
        assert_eq!(host.refused(1, "initialize", params), -32602);
        let params = json!({"clientId": name, "lastSeenServerSeq": 0, "subscriptions": []});
        assert_eq!(host.refused(1, "reconnect", params), -32602);
    }
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
    let remembered = host.client_versions.len();
    assert_eq!(remembered, 10_000, "whoever reads frames forgets them, too");
    assert_eq!(host.restart(Limits::default()), 10_000);
}

#[test]
fn what_is_due_at_once_is_served_in_steps_and_all_of_it() {
    let mut host = Host::with_session(Limits::default());
    for number in 2..302 {
        let client = format!("client {number}");
        host.enter(number, &client, &[]);
        let active = json!({"clientId": client, "tools": []});
        let set = json!({"type": "session/activeClientSet", "activeClient": active});
        host.dispatch(number, SESSION, set);
        host.leave(number);
    }
    let active = |host: &mut Host| {
        host.state(SESSION)["activeClients"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(active(&mut host), 300);
    let grace = Limits::default().client_grace;
    host.wait(grace + Duration::from_millis(1));
    assert!(active(&mut host) > 0, "a step has an end");
    for _ in 0..10 {
        host.wait(Duration::ZERO);
    }
    assert_eq!(active(&mut host), 0);
}

#[test]
fn a_client_that_spoke_up_elsewhere_meanwhile_is_asked_to_come_back_again() {
    let mut host = Host::with_session(Limits::default());
    host.enter_as(Version::V0_2, 2, "b", &[]);
    host.connect(3);
    // What a connection reads that has not heard of the other one yet.
    let back = json!({"id": 7, "method": "reconnect", "params": {
        "clientId": "b", "lastSeenServerSeq": 0, "subscriptions": [],
    }})
    .to_string();
    host.feed(Input::Message {
        connection: ConnectionId(3),
        version: Version::NEWEST,
        message: ClientMessage::decode(&back),
    });
    let answer = &host.heard[&3][0];
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(host.closed.is_empty());
    host.say(3, &back);
    assert!(host.heard[&3][1]["result"].is_object());
    assert_eq!(host.closed, [2]);
}

#[test]
fn what_was_read_in_another_version_than_is_spoken_is_refused() {
    let mut host = Host::with_session(Limits::default());
    host.enter_as(Version::V0_2, 2, "b", &[]);
    let ask = json!({"id": 7, "method": "listSessions", "params": {}}).to_string();
    host.feed(Input::Message {
        connection: ConnectionId(2),
        version: Version::NEWEST,
        message: ClientMessage::decode(&ask),
    });
    let answer = host.heard[&2].last().unwrap();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    host.ok(2, "listSessions", json!({}));
}

#[test]
fn who_is_welcomed_in_an_older_version_is_remembered_first() {
    let mut host = Host::new();
    for (version, client, waits) in [
        (Version::V0_2, "a", true),
        (Version::V0_2, "a", false),
        // Who is not known is taken for a client of the newest version.
        (Version::NEWEST, "b", false),
        (Version::NEWEST, "a", true),
    ] {
        host.connect(1);
        let hello = json!({"id": 1, "method": "initialize", "params": {
            "clientId": client, "protocolVersions": [version.to_string()],
        }});
        let step = host.engine.handle(
            Timestamp::from_millis(1),
            Input::Message {
                connection: ConnectionId(1),
                version,
                message: ClientMessage::decode_in(version, &hello.to_string()),
            },
        );
        assert_eq!(step.durable_first, waits, "{client} in {version}");
        host.leave(1);
    }
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
