//! What only the host can do for clients of older versions.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::agent::{AgentCommand, TurnEvent};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, agents, chat};

/// A chat beside the default one; its URI could be a session's.
const SIDE: &str = "custom:side";

/// Connection 1 is of today, connection 2 knows no chats.
fn with_side_chat() -> Host {
    let mut host = Host::new();
    let mut profiles = agents();
    let several = json!({"multipleChats": {"fork": true}});
    profiles[0].info.capabilities = Some(serde_json::from_value(several).unwrap());
    host.feed(Input::AgentsChanged(profiles));
    host.enter(1, "new", &[ROOT]);
    host.enter_as(Version::V0_2, 2, "old", &[ROOT]);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    host.opened();
    host.heard.clear();
    host.ok(1, "createChat", json!({"channel": SESSION, "chat": SIDE}));
    host
}

fn listed(host: &mut Host, connection: u64) -> Vec<String> {
    let listed = host.ok(connection, "listSessions", json!({"channel": ROOT}));
    let rows = listed["items"].as_array().unwrap().iter();
    rows.map(|row| row["resource"].as_str().unwrap().to_owned())
        .collect()
}

fn notified(host: &Host, connection: u64, method: &str) -> Vec<Value> {
    let heard = host.heard.get(&connection).into_iter().flatten();
    let news = heard.filter(|frame| frame["method"] == method);
    news.map(|frame| frame["params"].clone()).collect()
}

#[test]
fn a_chat_beside_the_default_one_is_announced_and_listed_as_a_session() {
    let mut host = with_side_chat();
    let added = notified(&host, 2, "root/sessionAdded");
    assert_eq!(added.len(), 1);
    assert_eq!(added[0]["summary"]["resource"], SIDE);
    assert_eq!(added[0]["summary"]["provider"], "alpha");
    assert!(notified(&host, 1, "root/sessionAdded").is_empty());
    assert_eq!(listed(&mut host, 2), [SESSION, SIDE]);
    assert_eq!(listed(&mut host, 1), [SESSION]);
}

#[test]
fn turns_in_such_a_session_are_turns_of_the_chat() {
    let mut host = with_side_chat();
    let state = host.ok(2, "subscribe", json!({"channel": SIDE}));
    assert_eq!(state["snapshot"]["state"]["lifecycle"], "ready");
    let message = json!({"text": "Hello"});
    let start = json!({"type": "session/turnStarted", "turnId": "t", "userMessage": message});
    host.dispatch(2, SIDE, start);
    assert_eq!(host.state(SIDE)["activeTurn"]["id"], "t");
    assert_eq!(host.state(&chat())["activeTurn"], Value::Null);
    let told = host.actions(2);
    let started = told
        .iter()
        .find(|(_, action)| action["type"] == "session/turnStarted");
    assert_eq!(started.unwrap().0, SIDE);
    // Its row says that something goes on.
    let changed = notified(&host, 2, "root/sessionSummaryChanged");
    let mut of_chat = changed.iter().filter(|params| params["session"] == SIDE);
    assert!(of_chat.any(|params| params["changes"]["status"] == 8));
    let mut of_chat = changed.iter().filter(|params| params["session"] == SIDE);
    assert!(of_chat.any(|params| params["changes"]["title"] == "Hello"));
    let turns = host.ok(2, "fetchTurns", json!({"channel": SIDE}));
    assert_eq!(turns["turns"], json!([]));
}

#[test]
fn reading_such_a_session_marks_the_chat_and_not_the_session() {
    let mut host = with_side_chat();
    host.ok(2, "subscribe", json!({"channel": SIDE}));
    let before = host.state(SESSION)["status"].take();
    let unread = json!({"type": "session/isReadChanged", "isRead": false});
    host.dispatch(2, SIDE, unread.clone());
    assert_eq!(host.actions(2), [(SIDE.to_owned(), unread)]);
    assert_eq!(host.state(SIDE)["status"], 1);
    assert_eq!(host.state(SESSION)["status"], before);
}

#[test]
fn what_such_a_session_does_not_have_is_refused() {
    let mut host = with_side_chat();
    host.ok(2, "subscribe", json!({"channel": SIDE}));
    let title = json!({"type": "session/titleChanged", "title": "Mine"});
    host.dispatch(2, SIDE, title);
    assert!(!host.rejection(2).is_empty());
    let client = json!({"clientId": "old", "tools": []});
    let active = json!({"type": "session/activeClientChanged", "activeClient": client});
    host.dispatch(2, SIDE, active);
    assert!(host.rejection(2).contains(SESSION), "{}", host.rejection(2));
    assert_eq!(host.state(SESSION)["activeClients"], json!([]));
}

#[test]
fn disposing_of_such_a_session_disposes_of_the_chat() {
    let mut host = with_side_chat();
    host.ok(2, "disposeSession", json!({"channel": SIDE}));
    assert_eq!(
        notified(&host, 2, "root/sessionRemoved")[0]["session"],
        SIDE
    );
    assert_eq!(listed(&mut host, 2), [SESSION]);
    assert_eq!(host.state(SESSION)["chats"].as_array().unwrap().len(), 1);
}

#[test]
fn such_a_session_ends_with_the_session_that_the_chat_belongs_to() {
    let mut host = with_side_chat();
    host.ok(1, "disposeSession", json!({"channel": SESSION}));
    let gone = notified(&host, 2, "root/sessionRemoved");
    let gone: Vec<&Value> = gone.iter().map(|params| &params["session"]).collect();
    assert_eq!(gone, [SIDE, SESSION]);
}

#[test]
fn all_sessions_are_listed_at_once_where_there_are_no_pages() {
    let limits = Limits {
        page_sessions: 1,
        ..Limits::default()
    };
    let mut host = Host::with(limits);
    host.enter(1, "new", &[ROOT]);
    host.enter_as(Version::V0_4, 2, "old", &[ROOT]);
    for session in ["x:1", "x:2", "x:3"] {
        host.ok(1, "createSession", json!({"channel": session}));
    }
    assert_eq!(listed(&mut host, 2).len(), 3);
    assert_eq!(listed(&mut host, 1).len(), 1);
}

#[test]
fn a_model_that_is_selected_during_a_turn_counts_from_the_next_one() {
    let mut host = Host::with_session(Limits::default());
    host.enter_as(Version::V0_2, 2, "old", &[SESSION]);
    host.start_turn(1, "t1");
    host.heard.clear();
    let select = json!({"type": "session/modelChanged", "model": {"id": "large"}});
    host.dispatch(2, SESSION, select.clone());
    assert_eq!(host.actions(2), [], "not before the turn has ended");
    // What is queued meanwhile is meant for the model that was selected.
    let queued = json!({"type": "session/pendingMessageSet", "kind": "queued", "id": "q",
                        "userMessage": {"text": "Next"}});
    host.dispatch(2, SESSION, queued);
    host.in_turn("t1", TurnEvent::Completed);
    let kinds: Vec<String> = host
        .actions(2)
        .iter()
        .filter_map(|(_, action)| action["type"].as_str().map(str::to_owned))
        .filter(|kind| kind != "session/isReadChanged")
        .collect();
    let place = |kind: &str| kinds.iter().position(|it| it == kind).unwrap();
    assert!(
        place("session/turnComplete") < place("session/modelChanged"),
        "{kinds:?}"
    );
    assert!(
        place("session/modelChanged") < place("session/turnStarted"),
        "{kinds:?}"
    );
    let Some(AgentCommand::Prompt(prompt)) = host.commands.last() else {
        panic!(
            "the queued message is a turn now: {:?}",
            host.commands.last()
        );
    };
    let model = prompt.message.model.as_ref().unwrap();
    assert_eq!(model.id, "large");
}

#[test]
fn a_client_that_lost_half_of_an_action_is_told_the_other_half() {
    let mut host = Host::with_session(Limits::default());
    host.enter_as(Version::V0_4, 2, "old", &[ROOT, SESSION, &chat()]);
    host.heard.clear();
    let message = json!({"text": "Do", "origin": {"kind": "user"}, "model": {"id": "large"}});
    let start = json!({"type": "chat/turnStarted", "turnId": "t", "message": message});
    host.dispatch(1, &chat(), start);
    let frames: Vec<Value> = host.heard[&2]
        .iter()
        .filter(|frame| frame["method"] == "action")
        .cloned()
        .collect();
    assert_eq!(
        frames[0]["params"]["action"]["type"],
        "session/modelChanged"
    );
    assert_eq!(frames[1]["params"]["action"]["type"], "chat/turnStarted");
    let seen = frames[0]["params"]["serverSeq"].as_u64().unwrap();
    assert!(seen < frames[1]["params"]["serverSeq"].as_u64().unwrap());
    host.leave(2);
    host.connect(2);
    let back = json!({"clientId": "old", "lastSeenServerSeq": seen,
                      "subscriptions": [ROOT, SESSION, chat()]});
    let back = host.ok(2, "reconnect", back);
    let again = back["actions"].as_array().unwrap();
    assert_eq!(again[0], frames[1]["params"]);
}
