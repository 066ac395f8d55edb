//! The order of a session's chats, and who may change it.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::agent::AgentEvent;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, agents, chat};

const A: &str = "ahp-chat:/a";
const B: &str = "ahp-chat:/b";

/// A session with two chats besides its default one.
fn with_chats() -> Host {
    let mut host = Host::new();
    let mut profiles = agents();
    let several = json!({"multipleChats": {"fork": true}});
    profiles[0].info.capabilities = Some(serde_json::from_value(several).unwrap());
    host.feed(Input::AgentsChanged(profiles));
    host.enter(1, "a", &[ROOT]);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    host.opened();
    for uri in [A, B] {
        host.ok(1, "createChat", json!({"channel": SESSION, "chat": uri}));
    }
    host.ok(1, "subscribe", json!({"channel": SESSION}));
    host.heard.clear();
    host
}

fn to(session: &str, after: Option<&str>) -> Value {
    let mut to = json!({"kind": "session", "session": session});
    if let Some(after) = after {
        to["after"] = json!(after);
    }
    to
}

fn order(host: &mut Host) -> Vec<String> {
    listed(&host.state(SESSION))
}

fn listed(session: &Value) -> Vec<String> {
    let chats = session["chats"].as_array().unwrap().iter();
    chats
        .map(|it| it["resource"].as_str().unwrap().to_owned())
        .collect()
}

fn movable(host: &mut Host, uri: &str) -> (bool, bool) {
    let own = host.state(uri)["movable"] == true;
    let session = host.state(SESSION);
    let mut chats = session["chats"].as_array().unwrap().iter();
    let listed = chats.find(|it| it["resource"] == uri).unwrap();
    (own, listed["movable"] == true)
}

#[test]
fn a_chat_is_placed_after_another_or_first() {
    let mut host = with_chats();
    let first = chat();
    for (moved, after, expected) in [
        (A, Some(B), [first.as_str(), B, A]),
        (A, None, [A, &first, B]),
        (A, None, [A, &first, B]),
        (B, Some(A), [A, B, &first]),
    ] {
        let params = json!({"channel": moved, "destination": to(SESSION, after)});
        let answer = host.ok(1, "moveChat", params);
        assert_eq!(answer, json!({"session": SESSION}));
        assert_eq!(order(&mut host), expected);
    }
    let mut told = host.news(1);
    told.retain(|it| it == "session/chatsReordered");
    assert_eq!(told.len(), 3, "what changes nothing is not told");
}

#[test]
fn the_order_of_chats_is_the_same_in_the_next_life() {
    let mut host = with_chats();
    let params = json!({"channel": B, "destination": to(SESSION, None)});
    host.ok(1, "moveChat", params);
    host.restart(Limits::default());
    assert_eq!(order(&mut host), [B, &chat(), A]);
}

#[test]
fn a_move_that_cannot_be_is_refused_and_changes_nothing() {
    let mut host = with_chats();
    let before = order(&mut host);
    let first = chat();
    let cases = [
        (first.as_str(), to(SESSION, Some(A)), -32602),
        ("ahp-chat:/none", to(SESSION, None), -32001),
        (A, to(SESSION, Some(A)), -32602),
        (A, to(SESSION, Some("ahp-chat:/none")), -32602),
        (A, to("ahp-session:/none", None), -32001),
        (A, json!({"kind": "elsewhere"}), -32602),
    ];
    for (moved, destination, code) in cases {
        let params = json!({"channel": moved, "destination": destination});
        assert_eq!(
            host.refused(1, "moveChat", params.clone()),
            code,
            "{params}"
        );
    }
    assert_eq!(order(&mut host), before);
}

#[test]
fn every_chat_can_be_moved_but_the_default_one() {
    let mut host = with_chats();
    let first = chat();
    assert_eq!(movable(&mut host, &first), (false, false));
    assert_eq!(movable(&mut host, A), (true, true));
    let lead = json!({"type": "session/defaultChatChanged", "defaultChat": A});
    host.dispatch(1, SESSION, lead);
    assert_eq!(movable(&mut host, &first), (true, true));
    assert_eq!(movable(&mut host, A), (false, false));
    let params = json!({"channel": A, "destination": to(SESSION, None)});
    assert_eq!(host.refused(1, "moveChat", params), -32602);
}

#[test]
fn clients_of_older_versions_see_the_new_order() {
    for version in Version::ALL.into_iter().filter(|it| it.has_chats()) {
        let mut host = with_chats();
        host.enter_as(version, 2, "old", &[SESSION]);
        host.heard.clear();
        let params = json!({"channel": B, "destination": to(SESSION, None)});
        host.ok(1, "moveChat", params);
        let told = host.actions(2);
        assert!(!told.is_empty(), "{version} is told");
        host.enter_as(version, 3, "newcomer", &[]);
        let answer = host.ok(3, "subscribe", json!({"channel": SESSION}));
        let shown = listed(&answer["snapshot"]["state"]);
        assert_eq!(shown, [B, &chat(), A], "{version}");
    }
}

// Names

fn titles(host: &mut Host) -> Vec<String> {
    let state = host.state(SESSION);
    let chats = state["chats"].as_array().unwrap().iter();
    let titles = chats.map(|chat| chat["title"].as_str().unwrap().to_owned());
    titles.collect()
}

fn say(host: &mut Host, chat: &str, turn: &str, text: &str) {
    let message = json!({"text": text, "origin": {"kind": "user"}});
    let started = json!({"type": "chat/turnStarted", "turnId": turn, "message": message,
                         "startedAt": "2026-01-01T00:00:00Z"});
    host.dispatch(1, chat, started);
    assert_eq!(host.rejection(1), "");
}

#[test]
fn a_chat_is_called_after_its_first_message() {
    let mut host = with_chats();
    assert_eq!(titles(&mut host)[1], "New chat");
    say(&mut host, A, "t", "Mend the roof\nplease");
    assert_eq!(titles(&mut host)[1..], ["Mend the roof", "New chat"]);
    host.restart(Limits::default());
    host.enter(1, "a", &[SESSION]);
    assert_eq!(titles(&mut host)[1..], ["Mend the roof", "New chat"]);
}

#[test]
fn an_agent_names_the_chat_that_it_is_in() {
    let mut host = with_chats();
    say(&mut host, A, "t", "Mend the roof");
    host.report(AgentEvent::Title(" Roof ".to_owned()));
    assert_eq!(titles(&mut host)[1..], ["Roof", "New chat"]);
    host.report(AgentEvent::Title(" ".to_owned()));
    assert_eq!(titles(&mut host)[1], "Roof");
}

// Marks

/// The bits of a chat's status that are marks of people.
const READ: u64 = 1 << 5;
const ARCHIVED: u64 = 1 << 6;

fn marks(host: &mut Host, chat: &str) -> (u64, u64) {
    let own = host.state(chat)["status"].as_u64().unwrap();
    let state = host.state(SESSION);
    let mut chats = state["chats"].as_array().unwrap().iter();
    let listed = chats.find(|listed| listed["resource"] == chat).unwrap();
    let of_list = listed["status"].as_u64().unwrap();
    (own & (READ | ARCHIVED), of_list & (READ | ARCHIVED))
}

#[test]
fn marks_of_a_chat_are_its_own_and_are_there_after_a_restart() {
    let mut host = with_chats();
    let before = marks(&mut host, B);
    host.dispatch(1, A, json!({"type": "chat/isReadChanged", "isRead": true}));
    host.dispatch(
        1,
        A,
        json!({"type": "chat/isArchivedChanged", "isArchived": true}),
    );
    assert_eq!(host.rejection(1), "");
    let both = READ | ARCHIVED;
    assert_eq!(marks(&mut host, A), (both, both));
    assert_eq!(marks(&mut host, B), before);
    host.restart(Limits::default());
    host.enter(1, "a", &[SESSION]);
    assert_eq!(marks(&mut host, A), (both, both));
    host.dispatch(1, A, json!({"type": "chat/isReadChanged", "isRead": false}));
    host.dispatch(
        1,
        A,
        json!({"type": "chat/isArchivedChanged", "isArchived": false}),
    );
    assert_eq!(marks(&mut host, A), (0, 0));
}
