//! What a client holds: windows on a history, and what it is given when it
//! comes back.

use std::time::Duration;

use innkeeper_engine::Limits;
use innkeeper_protocol::agent::TurnEvent;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, broken, chat};

#[test]
fn a_window_grows_backwards_until_it_is_whole() {
    let limits = Limits {
        page_turns: 2,
        ..Limits::default()
    };
    let mut host = Host::with_session(limits);
    host.whole_turns(5);
    host.enter(2, "b", &[]);
    let params = json!({"channel": chat(), "view": {"turns": 1}});
    let snapshot = host.ok(2, "subscribe", params)["snapshot"].take();
    assert_eq!(snapshot["state"]["turns"][0]["id"], "t5");
    let mut cursor = snapshot["state"]["turnsNextCursor"].clone();
    for expected in [&["t3", "t4"][..], &["t1", "t2"]] {
        assert!(cursor.is_string());
        host.heard.clear();
        host.ok(
            2,
            "fetchTurns",
            json!({"channel": chat(), "cursor": cursor}),
        );
        let page = host.heard[&2][0]["params"]["action"].clone();
        let turns = page["turns"].as_array().unwrap().iter();
        assert_eq!(turns.map(|turn| &turn["id"]).collect::<Vec<_>>(), expected);
        cursor = page["turnsNextCursor"].clone();
    }
    assert!(cursor.is_null());
    let wrong = json!({"channel": chat(), "cursor": "wrong"});
    assert_eq!(host.refused(2, "fetchTurns", wrong), -32602);
}

#[test]
fn a_cut_before_a_window_brings_the_turns_that_it_lacks() {
    let mut host = Host::with_session(Limits::default());
    host.whole_turns(4);
    host.enter(2, "b", &[]);
    host.ok(
        2,
        "subscribe",
        json!({"channel": chat(), "view": {"turns": 1}}),
    );
    host.heard.clear();
    host.dispatch(
        1,
        &chat(),
        json!({"type": "chat/truncated", "turnId": "t2"}),
    );
    assert_eq!(host.news(2), ["chat/turnsLoaded", "chat/truncated"]);
    assert_eq!(host.news(1)[0], "chat/truncated");
}

#[test]
fn a_cursor_at_a_resumed_turn_is_good() {
    let mut host = Host::with_session(Limits::default());
    host.whole_turns(2);
    host.start_turn(1, "t3");
    host.in_turn("t3", broken(true));
    host.enter(2, "b", &[]);
    let params = json!({"channel": chat(), "view": {"turns": 1}});
    let cursor = host.ok(2, "subscribe", params)["snapshot"]["state"]["turnsNextCursor"].take();
    host.dispatch(
        1,
        &chat(),
        json!({"type": "chat/turnResume", "turnId": "t3"}),
    );
    host.ok(
        2,
        "fetchTurns",
        json!({"channel": chat(), "cursor": cursor}),
    );
}

/// Client `a` loses its connection, `event` happens, and it comes back.
fn comes_back(host: &mut Host, channels: &[&str], event: impl FnOnce(&mut Host)) -> Value {
    let seen = host.engine.server_seq();
    host.leave(1);
    host.enter(3, "c", &[]);
    event(host);
    host.connect(4);
    let params = json!({"clientId": "a", "lastSeenServerSeq": seen, "subscriptions": channels});
    host.ok(4, "reconnect", params)
}

#[test]
fn a_client_that_comes_back_is_given_what_it_missed() {
    let mut host = Host::with_session(Limits::default());
    let reply = comes_back(&mut host, &[&chat(), "x:gone"], |host| {
        host.start_turn(3, "t");
    });
    assert_eq!(reply["type"], "replay");
    assert_eq!(reply["actions"][0]["action"]["type"], "chat/turnStarted");
    assert_eq!(reply["missing"], json!(["x:gone"]));
}

#[test]
fn what_was_made_anew_or_cut_is_not_replayed() {
    let recreate = |host: &mut Host| {
        host.ok(3, "disposeSession", json!({"channel": SESSION}));
        host.ok(3, "createSession", json!({"channel": SESSION}));
    };
    let mut host = Host::with_session(Limits::default());
    let reply = comes_back(&mut host, &[SESSION, &chat()], recreate);
    assert_eq!(reply["type"], "snapshot");
    assert_eq!(reply["snapshots"][0]["state"]["lifecycle"], "creating");

    let mut host = Host::with_session(Limits::default());
    host.whole_turns(3);
    let cut = json!({"type": "chat/truncated", "turnId": "t1"});
    let reply = comes_back(&mut host, &[&chat()], |host| {
        host.dispatch(3, &chat(), cut);
    });
    assert_eq!(reply["type"], "snapshot");
}

#[test]
fn a_number_that_the_host_never_gave_out_needs_snapshots() {
    let mut host = Host::with_session(Limits::default());
    host.connect(2);
    let params = json!({
        "clientId": "new here", "lastSeenServerSeq": 1_000_000, "subscriptions": [ROOT],
    });
    assert_eq!(host.ok(2, "reconnect", params)["type"], "snapshot");
}

#[test]
fn coming_back_is_bound_by_the_limit_of_subscriptions() {
    let limits = Limits {
        subscriptions: 3,
        ..Limits::default()
    };
    let mut host = Host::with_session(limits);
    host.enter(2, "b", &[ROOT]);
    let other = "ahp-session:/other";
    host.ok(2, "createSession", json!({"channel": other}));
    let reconnect = |seen: i64| {
        json!({
            "channel": ROOT, "clientId": "b", "lastSeenServerSeq": seen,
            "subscriptions": [ROOT, SESSION, chat(), other, "x:gone"],
        })
    };
    let seen = host.engine.server_seq().get() as i64;
    host.connect(3);
    let replay = host.ok(3, "reconnect", reconnect(seen));
    assert_eq!(replay["type"], "replay");
    assert_eq!(replay["missing"], json!([other, "x:gone"]));
    host.connect(4);
    let afresh = host.ok(4, "reconnect", reconnect(1_000_000));
    assert_eq!(afresh["type"], "snapshot");
    assert_eq!(afresh["snapshots"].as_array().unwrap().len(), 3);
}

#[test]
fn a_subscription_that_is_taken_up_again_is_delivered_as_before() {
    let mut host = Host::with_session(Limits::default());
    let patient = json!({"channel": chat(), "delivery": {"maxLatencyMs": 70}});
    host.ok(1, "subscribe", patient);
    comes_back(&mut host, &[&chat()], |_| {});
    host.start_turn(3, "t");
    assert_eq!(host.latencies[&4], Some(Duration::from_millis(70)));
    // Whoever begins anew has not asked for it.
    host.enter(5, "a", &[&chat()]);
    host.in_turn("t", TurnEvent::Text("hello".to_owned()));
    assert_eq!(host.latencies[&5], None);
}
