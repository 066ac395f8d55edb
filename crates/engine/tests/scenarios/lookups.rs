//! What clients look up in the store.

use innkeeper_engine::Limits;
use innkeeper_protocol::agent::TurnEvent;
use innkeeper_protocol::version::Version;
use serde_json::json;

use crate::host::{Host, ROOT, SESSION, chat};

const SEARCH: &str = "innkeeper/searchSessions";
const USAGE: &str = "innkeeper/usage";

#[test]
fn extensions_are_announced_and_answered_in_every_version() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "oak");
    host.in_turn("oak", TurnEvent::Completed);
    for version in Version::ALL {
        let welcome = host.enter_as(version, 2, "b", &[ROOT]);
        let names = ["searchSessions", "usage", "takeBack", "undoTakeBack"];
        let state = &welcome["snapshots"][0]["state"];
        for name in names.map(|name| format!("innkeeper/{name}")) {
            if version == Version::NEWEST {
                assert_eq!(welcome["_meta"]["innkeeper"]["extensions"][&name], 1);
            }
            if version >= Version::from_name("0.4.0").unwrap() {
                assert_eq!(
                    state["_meta"]["innkeeper"]["extensions"][&name], 1,
                    "{version}"
                );
            }
        }
        let found = host.ok(2, SEARCH, json!({"query": "oak", "in": ["message"]}));
        assert_eq!(found["items"].as_array().unwrap().len(), 1, "{version}");
        assert_eq!(found["items"][0]["session"], SESSION);
        assert_eq!(found["items"][0]["turnId"], "oak");
        let snippet = json!({"text": "Do oak", "marks": [[3, 6]]});
        assert_eq!(found["items"][0]["snippet"], snippet);
        let usage = host.ok(2, USAGE, json!({}));
        assert_eq!(usage, json!({"items": []}), "{version}");
        host.leave(2);
    }
    assert_eq!(
        chat(),
        host.ok(1, SEARCH, json!({"query": "oak"}))["items"][0]["chat"]
    );
}

#[test]
fn what_is_wrong_with_a_search_is_said() {
    let mut host = Host::with_session(Limits::default());
    for params in [
        json!({}),
        json!({"query": ""}),
        json!({"query": "x", "limit": 1000}),
        json!({"query": "x", "cursor": "nonsense"}),
        json!({"query": "x", "session": "x".repeat(5000)}),
    ] {
        assert_eq!(host.refused(1, SEARCH, params), -32602);
    }
    host.connect(3);
    assert_eq!(host.refused(3, SEARCH, json!({"query": "x"})), -32600);
}

#[test]
fn so_few_lookups_run_at_once_and_no_connection_asks_for_too_many() {
    let mut host = Host::with_session(Limits::default());
    host.enter(2, "b", &[]);
    host.held_lookups = Some(Vec::new());
    let ask = |host: &mut Host, connection: u64, id: i64| {
        let params = json!({"query": "x"});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": SEARCH, "params": params});
        host.say(connection, &call.to_string());
    };
    for id in 1000..1009 {
        ask(&mut host, 1, id);
    }
    ask(&mut host, 2, 1000);
    assert_eq!(host.held_lookups.as_ref().unwrap().len(), 2);
    let refused = host.heard[&1].last().unwrap().clone();
    assert_eq!(
        (refused["id"].clone(), refused["error"]["code"].clone()),
        (json!(1008), json!(-32600))
    );
    // Those of a client that leaves make room for others.
    host.leave(1);
    let answered = |host: &Host, connection: u64| {
        let heard = host.heard.get(&connection).into_iter().flatten();
        heard
            .filter(|frame| frame["result"]["items"].is_array())
            .count()
    };
    host.release_lookups();
    assert_eq!((answered(&host, 1), answered(&host, 2)), (0, 0));
    assert_eq!(host.held_lookups.as_ref().unwrap().len(), 1);
    host.release_lookups();
    assert_eq!(answered(&host, 2), 1);
}

#[test]
fn attempts_are_told_with_the_session_and_its_summary_over_restarts() {
    let mut host = Host::with_session(Limits::default());
    let second = "ahp-session:/2";
    let attempt = json!({"id": "a", "number": 2, "count": 3, "other": 1});
    let meta = json!({"innkeeper": {"attempt": attempt}, "mine": true});
    let wrong = json!({"innkeeper": {"attempt": {"id": "a"}}});
    let params = json!({"channel": second, "_meta": wrong});
    assert_eq!(host.refused(1, "createSession", params), -32602);
    host.ok(
        1,
        "createSession",
        json!({"channel": second, "_meta": meta}),
    );
    host.opened();
    let told = json!({
        "innkeeper": {"attempt": {"id": "a", "number": 2, "count": 3}}, "workspaceless": true,
    });
    let check = |host: &mut Host| {
        assert_eq!(host.state(second)["_meta"], told);
        let listed = host.ok(1, "listSessions", json!({}));
        let mut items = listed["items"].as_array().unwrap().iter();
        let row = items.find(|row| row["resource"] == second).unwrap();
        assert_eq!(row["_meta"], told);
    };
    check(&mut host);
    host.restart(Limits::default());
    host.enter(1, "a", &[ROOT]);
    check(&mut host);
}
