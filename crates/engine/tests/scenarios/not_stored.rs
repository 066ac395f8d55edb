//! Something about a session can never be stored: the host goes back to what
//! is stored, and so does everybody who saw more.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::agent::{AgentCommand, TurnEvent};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, agents, chat};

const OTHER: &str = "ahp-session:/2";

fn renamed(title: &str) -> Value {
    json!({"type": "session/titleChanged", "title": title})
}

/// A client of each kind: 1 follows the session, 2 only the other one.
fn host() -> Host {
    let mut host = Host::with_session(Limits::default());
    host.enter(2, "b", &[ROOT]);
    host.ok(2, "createSession", json!({"channel": OTHER}));
    host.opened();
    host.ok(2, "subscribe", json!({"channel": OTHER}));
    host.dispatch(1, SESSION, renamed("Stored"));
    host.heard.clear();
    host
}

fn title(host: &mut Host, session: &str) -> Value {
    host.state(session)["title"].clone()
}

#[test]
fn a_session_goes_back_to_what_is_stored_of_it() {
    let mut host = host();
    host.refuses = true;
    host.dispatch(1, SESSION, renamed("Lost"));
    assert_eq!(title(&mut host, SESSION), "Stored");
    host.dispatch(2, OTHER, renamed("Fine"));
    assert_eq!(title(&mut host, OTHER), "Fine");
}

#[test]
fn whoever_follows_it_is_sent_away_and_nobody_else() {
    let mut host = host();
    host.refuses = true;
    host.dispatch(1, SESSION, renamed("Lost"));
    assert_eq!(host.closed, [1]);
}

#[test]
fn whoever_comes_back_is_given_the_state_in_every_version() {
    for version in Version::ALL {
        let mut host = host();
        host.enter_as(version, 3, "old", &[SESSION]);
        let seen = host.engine.server_seq();
        host.refuses = true;
        host.dispatch(1, SESSION, renamed("Lost"));
        host.leave(3);
        // Also one that has seen what is lost.
        for (connection, seen) in [(4, seen), (5, seen.next())] {
            host.connect(connection);
            let answer = host.ok(
                connection,
                "reconnect",
                json!({
                    "clientId": "old", "lastSeenServerSeq": seen, "subscriptions": [SESSION],
                }),
            );
            assert_eq!(answer["type"], "snapshot", "{version}: {answer}");
            let state = &answer["snapshots"][0]["state"];
            let state = if state["summary"].is_object() {
                &state["summary"]
            } else {
                state
            };
            assert_eq!(state["title"], "Stored", "{version}: {answer}");
        }
    }
}

#[test]
fn the_catalogue_says_what_is_stored() {
    let mut host = host();
    host.refuses = true;
    host.dispatch(1, SESSION, renamed("Lost"));
    let told = host.heard[&2]
        .iter()
        .filter(|frame| frame["method"] == "root/sessionSummaryChanged");
    let titles = told.map(|frame| frame["params"]["changes"]["title"].clone());
    assert_eq!(titles.collect::<Vec<_>>(), ["Stored"]);
}

#[test]
fn a_session_of_which_nothing_is_stored_is_gone() {
    let mut host = host();
    host.refuses = true;
    let params = json!({"channel": "ahp-session:/3"});
    let text = json!({"jsonrpc": "2.0", "id": "x", "method": "createSession", "params": params});
    host.say(2, &text.to_string());
    let listed = host.ok(2, "listSessions", json!({"channel": ROOT}));
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");
    // The name is free again.
    host.ok(2, "createSession", params);
}

#[test]
fn a_session_whose_end_is_not_stored_is_there_again() {
    let mut host = host();
    host.refuses = true;
    let params = json!({"channel": SESSION});
    let text = json!({"jsonrpc": "2.0", "id": "x", "method": "disposeSession", "params": params});
    host.say(1, &text.to_string());
    assert_eq!(title(&mut host, SESSION), "Stored");
    let listed = host.ok(2, "listSessions", json!({"channel": ROOT}));
    assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{listed}");
}

#[test]
fn while_a_session_may_come_back_nobody_else_gets_the_names_of_its_chats() {
    let mut host = host();
    let mut profiles = agents();
    let several = json!({"multipleChats": {"fork": true}});
    profiles[0].info.capabilities = Some(serde_json::from_value(several).unwrap());
    host.feed(Input::AgentsChanged(profiles));
    let side = "ahp-chat:/side";
    host.ok(1, "createChat", json!({"channel": SESSION, "chat": side}));
    host.ok(1, "disposeSession", json!({"channel": SESSION}));
    let elsewhere = json!({"channel": OTHER, "chat": side});
    assert_eq!(host.refused(2, "createChat", elsewhere), -32003);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    host.opened();
    host.ok(1, "createChat", json!({"channel": SESSION, "chat": side}));
}

#[test]
fn a_turn_that_was_running_ends_with_what_is_stored_of_it() {
    let mut host = host();
    host.start_turn(1, "t");
    let works = host.backend();
    host.in_turn("t", TurnEvent::Text("Stored.".into()));
    host.refuses = true;
    host.in_turn("t", TurnEvent::Text(" Lost.".into()));
    let turn = host.state(&chat())["turns"][0].clone();
    assert_eq!(turn["responseParts"][0]["content"], "Stored.");
    let error = &turn["responseParts"][1]["error"];
    assert_eq!(error["errorType"], "hostInterrupted");
    let said = error["message"].as_str().unwrap();
    assert!(said.contains("could not be stored"), "{said}");
    let closed = host
        .commands
        .iter()
        .any(|command| matches!(command, AgentCommand::Close { backend } if *backend == works));
    assert!(closed, "its agent was not closed");
    // What it still says is nobody's.
    host.in_turn("t", TurnEvent::Text("Late".into()));
    assert_eq!(host.state(&chat())["turns"].as_array().unwrap().len(), 1);
}

#[test]
fn after_a_restart_nobody_is_given_what_is_lost() {
    let mut host = host();
    let seen = host.engine.server_seq();
    host.refuses = true;
    host.dispatch(1, SESSION, renamed("Lost"));
    host.restart(Limits::default());
    host.connect(4);
    let answer = host.ok(
        4,
        "reconnect",
        json!({
            "clientId": "a", "lastSeenServerSeq": seen.next(), "subscriptions": [SESSION],
        }),
    );
    assert_eq!(answer["type"], "snapshot", "{answer}");
}
