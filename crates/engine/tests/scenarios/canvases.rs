//! Pages elsewhere that MCP servers give with their results.

use innkeeper_engine::Limits;
use innkeeper_protocol::agent::TurnEvent;
use innkeeper_protocol::mcp::hosted::{McpEvent, McpFailure};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, SESSION, chat};
use crate::servers::{ID, answer, ask, call_in, ready, report};

fn page(uri: &str, list: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": "text/uri-list",
           "text": list, "title": "Rows"}})
}

/// A turn in which the server gives these pages.
fn gives_in(host: &mut Host, turn: &str, pages: Value) {
    let call = call_in(host, turn);
    answer(host, call, Ok(json!({"content": pages})));
    host.in_turn(turn, TurnEvent::Completed);
}

fn gives(host: &mut Host, pages: Value) {
    gives_in(host, "t", pages);
}

fn listed(host: &mut Host) -> Vec<String> {
    let state = host.state(&chat());
    let canvases = state["canvases"].as_array().into_iter().flatten();
    let uris = canvases.map(|it| it["resource"].as_str().unwrap().to_owned());
    uris.collect()
}

#[test]
fn a_page_that_a_server_gives_with_a_result_is_a_canvas_of_the_chat() {
    let mut host = ready();
    gives(
        &mut host,
        json!([page("ui://db/rows", "# rows\nhttps://db.example/rows\n")]),
    );
    let canvases = listed(&mut host);
    assert_eq!(canvases.len(), 1);
    assert!(canvases[0].starts_with("ahp-canvas:/"), "{canvases:?}");
    let state = json!({"instanceId": "ui://db/rows", "extensionId": ID, "extensionName": "db",
        "canvasId": "ui://db/rows", "title": "Rows", "url": "https://db.example/rows"});
    assert_eq!(host.state(&canvases[0]), state);
}

#[test]
fn a_page_that_is_given_again_is_the_same_canvas_elsewhere() {
    let mut host = ready();
    gives(
        &mut host,
        json!([page("ui://db/rows", "https://db.example/1")]),
    );
    let before = listed(&mut host);
    gives_in(
        &mut host,
        "t2",
        json!([page("ui://db/rows", "https://db.example/2")]),
    );
    assert_eq!(listed(&mut host), before);
    assert_eq!(host.state(&before[0])["url"], "https://db.example/2");
}

#[test]
fn what_is_not_the_address_of_a_page_is_no_canvas() {
    let plain = json!({"type": "resource", "resource": {"uri": "ui://db/rows",
        "mimeType": "text/html", "text": "https://db.example"}});
    let long = format!("https://db.example/{}", "x".repeat(5000));
    for block in [
        plain,
        page("file:///rows", "https://db.example"),
        page("ui://db/rows", "javascript:alert(1)"),
        page("ui://db/rows", "https://db.example/a b"),
        page("ui://db/rows", "# nothing"),
        page("ui://db/rows", &long),
    ] {
        let mut host = ready();
        gives(&mut host, json!([block]));
        assert_eq!(listed(&mut host), [""; 0], "{block}");
    }
}

#[test]
fn a_chat_lists_the_latest_sixteen() {
    let mut host = ready();
    let pages: Vec<Value> = (0..16)
        .map(|n| page(&format!("ui://db/{n}"), "https://db.example"))
        .collect();
    gives(&mut host, json!(pages));
    let before = listed(&mut host);
    assert_eq!(before.len(), 16);
    gives_in(
        &mut host,
        "t2",
        json!([page("ui://db/new", "https://db.example")]),
    );
    let after = listed(&mut host);
    assert_eq!(after[..15], before[1..]);
    assert!(!before.contains(&after[15]));
    assert_eq!(
        host.refused(1, "subscribe", json!({"channel": before[0]})),
        -32001
    );
}

#[test]
fn nobody_is_sent_to_the_page_of_a_server_that_has_failed() {
    let mut host = ready();
    gives(
        &mut host,
        json!([page("ui://db/rows", "https://db.example")]),
    );
    let canvas = listed(&mut host).remove(0);
    host.ok(1, "subscribe", json!({"channel": canvas}));
    report(
        &mut host,
        McpEvent::Failed(McpFailure::NoAnswer { seconds: 60 }),
    );
    let told = host.actions(1);
    let hidden = told
        .iter()
        .find(|(_, it)| it["type"] == "canvas/stateChanged");
    assert_eq!(hidden.unwrap().1["canvas"]["url"], Value::Null);
    assert_eq!(host.state(&canvas)["url"], Value::Null);
}

#[test]
fn a_server_that_somebody_stopped_has_no_canvases() {
    let mut host = ready();
    gives(
        &mut host,
        json!([page("ui://db/rows", "https://db.example")]),
    );
    let canvas = listed(&mut host).remove(0);
    ask(&mut host, "Stop");
    assert_eq!(listed(&mut host), [""; 0]);
    assert_eq!(
        host.refused(1, "subscribe", json!({"channel": canvas})),
        -32001
    );
}

#[test]
fn after_a_restart_a_chat_lists_none() {
    let mut host = ready();
    gives(
        &mut host,
        json!([page("ui://db/rows", "https://db.example")]),
    );
    assert_eq!(listed(&mut host).len(), 1);
    host.restart(Limits::default());
    host.enter(1, "a", &[SESSION]);
    assert_eq!(listed(&mut host), [""; 0]);
}

#[test]
fn older_clients_have_no_canvases() {
    let mut host = ready();
    gives(
        &mut host,
        json!([page("ui://db/rows", "https://db.example")]),
    );
    let canvas = listed(&mut host).remove(0);
    host.enter_as(Version::V0_9, 2, "old", &[]);
    assert_eq!(
        host.refused(2, "subscribe", json!({"channel": canvas})),
        -32001
    );
}
