//! What clients say about themselves: their names, and whether they can show
//! the pages of MCP apps.

use innkeeper_engine::Limits;
use innkeeper_protocol::mcp::Hosting;
use innkeeper_protocol::mcp::hosted::{McpEvent, McpOffer};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION};
use crate::servers::{ask, report, starting, state};

fn introduce(host: &mut Host, connection: u64, client: &str, more: Value) {
    host.connect(connection);
    let mut params = json!({"clientId": client, "protocolVersions": ["1.0.0"]});
    let params_of = params.as_object_mut().unwrap();
    params_of.extend(more.as_object().unwrap().clone());
    host.ok(connection, "initialize", params);
}

fn set_active(host: &mut Host, connection: u64, client: Value) -> Value {
    let action = json!({"type": "session/activeClientSet", "activeClient": client});
    host.dispatch(connection, SESSION, action);
    host.state(SESSION)["activeClients"].take()
}

#[test]
fn an_active_client_has_the_name_that_it_introduced_itself_with() {
    let mut host = Host::with_session(Limits::default());
    let info = json!({"name": "ed", "version": "3", "title": "The\u{1b} Editor"});
    introduce(&mut host, 2, "b", json!({"clientInfo": info}));
    let active = set_active(&mut host, 2, json!({"clientId": "b", "tools": []}));
    assert_eq!(active[0]["displayName"], "The Editor");
    // It also says it itself, and is known when it comes back.
    let named = json!({"clientId": "b", "displayName": "Mine", "tools": []});
    assert_eq!(set_active(&mut host, 2, named)[0]["displayName"], "Mine");
    host.leave(2);
    host.connect(3);
    let back = json!({"clientId": "b", "lastSeenServerSeq": 0, "subscriptions": [SESSION]});
    host.ok(3, "reconnect", back);
    let active = set_active(&mut host, 3, json!({"clientId": "b", "tools": []}));
    assert_eq!(active[0]["displayName"], "The Editor");
}

#[test]
fn a_client_without_a_name_is_given_none() {
    let mut host = Host::with_session(Limits::default());
    let active = set_active(&mut host, 1, json!({"clientId": "a", "tools": []}));
    assert_eq!(active[0].get("displayName"), None);
}

fn with_app() -> McpEvent {
    let tool = json!({"name": "look", "_meta": {"ui": {"resourceUri": "ui://db/rows"}}});
    let capabilities = json!({
        "tools": {"listChanged": true}, "resources": {}, "prompts": {}, "logging": {},
    });
    let icon = json!({"src": "data:image/png;base64,AA==", "sizes": ["16x16"]});
    McpEvent::Ready(Box::new(McpOffer {
        tools: vec![serde_json::from_value(tool).unwrap()],
        capabilities: capabilities.as_object().unwrap().clone(),
        icons: vec![serde_json::from_value(icon).unwrap()],
    }))
}

#[test]
fn apps_are_told_of_where_a_client_can_show_them() {
    let mut host = starting(Hosting::Session);
    report(&mut host, with_app());
    let shown = state(&mut host);
    assert_eq!(shown.get("mcpApp"), None, "nobody could show any");
    introduce(&mut host, 2, "b", json!({"capabilities": {"mcpApps": {}}}));
    let answer = host.ok(2, "subscribe", json!({"channel": SESSION}));
    let expected = json!({"capabilities": {
        "serverTools": {"listChanged": true}, "serverResources": {}, "logging": {},
    }});
    let given = &answer["snapshot"]["state"]["customizations"][0];
    assert_eq!(given["mcpApp"], expected, "{given}");
    // The others hold the same session, and the end of the server is the end
    // of its apps.
    assert_eq!(state(&mut host)["mcpApp"], expected);
    ask(&mut host, "Stop");
    assert_eq!(state(&mut host).get("mcpApp"), None);
    assert_eq!(state(&mut host).get("icons"), None);
    // It is told of apps that come later, too.
    ask(&mut host, "Start");
    host.heard.clear();
    report(&mut host, with_app());
    let told = host.actions(2);
    let updated = told.iter().map(|(_, action)| action);
    let updated: Vec<&Value> = updated
        .filter(|action| action["type"] == "session/customizationUpdated")
        .collect();
    assert_eq!(updated[0]["customization"]["mcpApp"], expected, "{told:?}");
}

#[test]
fn a_client_that_comes_back_can_still_show_apps() {
    let mut host = starting(Hosting::Session);
    introduce(&mut host, 2, "b", json!({"capabilities": {"mcpApps": {}}}));
    host.leave(2);
    report(&mut host, with_app());
    assert_eq!(state(&mut host).get("mcpApp"), None);
    host.connect(3);
    let back = json!({"clientId": "b", "lastSeenServerSeq": 0, "subscriptions": [ROOT, SESSION]});
    host.ok(3, "reconnect", back);
    assert!(state(&mut host)["mcpApp"].is_object());
}

#[test]
fn a_server_without_pages_has_no_apps() {
    let mut host = starting(Hosting::Session);
    introduce(&mut host, 2, "b", json!({"capabilities": {"mcpApps": {}}}));
    host.ok(2, "subscribe", json!({"channel": SESSION}));
    report(&mut host, crate::servers::offered(&["look"]));
    assert_eq!(state(&mut host).get("mcpApp"), None);
}

#[test]
fn the_icons_of_a_server_are_shown_with_it() {
    let mut host = starting(Hosting::Session);
    host.enter_as(Version::V0_9, 2, "b", &[SESSION]);
    assert_eq!(state(&mut host).get("icons"), None);
    host.heard.clear();
    report(&mut host, with_app());
    let icons = json!([{"src": "data:image/png;base64,AA==", "sizes": ["16x16"]}]);
    assert_eq!(state(&mut host)["icons"], icons);
    let told = host.actions(2);
    let updated = told.iter().map(|(_, action)| &action["customization"]);
    assert!(
        updated.map(|it| &it["icons"]).any(|it| *it == icons),
        "{told:?}"
    );
}
