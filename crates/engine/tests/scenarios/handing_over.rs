//! Chats that go over to another session, or get one of their own.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{AgentCommand, AgentEvent, OpenBackend, TurnEvent};
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::changes::{ChangesEvent, ChangesReport, ChangesTask};
use serde_json::{Value, json};

use crate::editors::{delegation, not_asked, started};
use crate::host::{Host, ROOT, SESSION, agents, chat};

const OTHER: &str = "ahp-session:/2";
const A: &str = "ahp-chat:/a";
const B: &str = "ahp-chat:/b";

/// Two sessions, and two chats in the first of them besides its default chat.
/// Client 1 follows the sessions.
fn host() -> Host {
    with_sessions(Host::new())
}

fn with_sessions(mut host: Host) -> Host {
    let mut profiles = agents();
    let several = json!({"multipleChats": {"fork": true}, "multipleWorkingDirectories": {}});
    profiles[0].info.capabilities = Some(serde_json::from_value(several).unwrap());
    let mut beta = profiles[0].clone();
    beta.info.provider = "beta".to_owned();
    profiles.push(beta);
    host.feed(Input::AgentsChanged(profiles));
    host.enter(1, "a", &[ROOT]);
    for session in [SESSION, OTHER] {
        create(&mut host, session, json!({}));
    }
    for uri in [A, B] {
        host.ok(1, "createChat", json!({"channel": SESSION, "chat": uri}));
    }
    for channel in [SESSION, OTHER] {
        host.ok(1, "subscribe", json!({"channel": channel}));
    }
    host.heard.clear();
    host
}

fn create(host: &mut Host, session: &str, mut params: Value) {
    params["channel"] = session.into();
    if params.get("workingDirectories").is_none() {
        params["workingDirectories"] = json!(["file:///w"]);
    }
    host.ok(1, "createSession", params);
    host.opened();
}

fn to(session: &str, after: Option<&str>) -> Value {
    let mut to = json!({"kind": "session", "session": session});
    if let Some(after) = after {
        to["after"] = json!(after);
    }
    to
}

fn moved(host: &mut Host, chat: &str, destination: Value) -> String {
    let params = json!({"channel": chat, "destination": destination});
    let answer = host.ok(1, "moveChat", params);
    answer["session"].as_str().unwrap().to_owned()
}

fn own() -> Value {
    json!({"kind": "newSession"})
}

fn why_not(host: &mut Host, chat: &str, destination: Value) -> (i64, String) {
    let params = json!({"channel": chat, "destination": destination});
    let answer = host.ask(1, "moveChat", params);
    let error = &answer["error"];
    let code = error["code"].as_i64();
    let code = code.unwrap_or_else(|| panic!("not refused: {answer}"));
    (code, error["message"].as_str().unwrap().to_owned())
}

fn listed(host: &mut Host, session: &str) -> Vec<String> {
    let state = host.state(session);
    let chats = state["chats"].as_array().unwrap().iter();
    chats
        .map(|it| it["resource"].as_str().unwrap().to_owned())
        .collect()
}

fn first_of(session: &str) -> String {
    ChannelUri::default_chat_of(session).to_string()
}

fn say(host: &mut Host, chat: &str, turn: &str) {
    let message = json!({"text": format!("Do {turn}"), "origin": {"kind": "user"}});
    let action = json!({"type": "chat/turnStarted", "turnId": turn, "message": message});
    host.dispatch(1, chat, action);
    assert_eq!(host.rejection(1), "");
}

/// A turn of a chat whose conversation is opened for it.
fn first_turn(host: &mut Host, chat: &str, turn: &str) {
    say(host, chat, turn);
    host.report(AgentEvent::Opened {
        resume: Some(json!({"of": chat})),
    });
    host.in_turn(turn, TurnEvent::Completed);
}

fn last_opened(host: &Host) -> OpenBackend {
    let mut commands = host.commands.iter().rev();
    let open = commands.find_map(|command| match command {
        AgentCommand::Open(open) => Some((**open).clone()),
        _ => None,
    });
    open.unwrap()
}

#[test]
fn a_chat_goes_over_with_all_that_it_has() {
    let mut host = host();
    first_turn(&mut host, A, "t1");
    let message = json!({"text": "Later", "origin": {"kind": "user"}});
    for action in [
        json!({"type": "chat/draftChanged", "draft": message}),
        json!({"type": "chat/isArchivedChanged", "isArchived": true}),
    ] {
        host.dispatch(1, A, action);
    }
    let before = host.state(A);
    let first = first_of(OTHER);
    assert_eq!(moved(&mut host, A, to(OTHER, Some(&first))), OTHER);
    for _ in 0..2 {
        assert_eq!(host.state(A), before);
        assert_eq!(listed(&mut host, SESSION), [chat(), B.to_owned()]);
        assert_eq!(listed(&mut host, OTHER), [first.as_str(), A]);
        let title = host.state(OTHER)["chats"][1]["title"].clone();
        assert_eq!(title, "Do t1");
        host.restart(Limits::default());
    }
}

#[test]
fn the_agent_goes_on_with_the_conversation_that_it_had() {
    let mut host = host();
    first_turn(&mut host, A, "t1");
    moved(&mut host, A, to(OTHER, None));
    say(&mut host, A, "t2");
    let open = last_opened(&host);
    assert_eq!(open.session.as_str(), OTHER);
    assert_eq!(open.resume, Some(json!({"of": A})));
    assert_eq!(open.transcript.len(), 1);
}

#[test]
fn a_chat_is_placed_where_it_was_wanted_in_the_other_session() {
    let mut host = host();
    let first = first_of(OTHER);
    moved(&mut host, A, to(OTHER, None));
    assert_eq!(listed(&mut host, OTHER), [A, &first]);
    moved(&mut host, B, to(OTHER, Some(A)));
    assert_eq!(listed(&mut host, OTHER), [A, B, &first]);
}

#[test]
fn followers_hear_of_it_in_this_order_and_go_on_hearing_the_chat() {
    let mut host = host();
    host.ok(1, "subscribe", json!({"channel": A}));
    host.heard.clear();
    moved(&mut host, A, to(OTHER, None));
    let mut told = host.news(1);
    told.retain(|it| it.starts_with("session/chat"));
    let expected = [
        "session/chatRemoved",
        "session/chatAdded",
        "session/chatsReordered",
    ];
    assert_eq!(told, expected);
    host.dispatch(
        1,
        A,
        json!({"type": "chat/isArchivedChanged", "isArchived": true}),
    );
    let heard = host.news(1);
    assert!(
        heard.contains(&"chat/isArchivedChanged".to_owned()),
        "{heard:?}"
    );
}

#[test]
fn a_chat_gets_a_session_of_its_own() {
    let mut host = host();
    first_turn(&mut host, A, "t1");
    let session = moved(&mut host, A, own());
    let told = host.news(1);
    assert!(told.contains(&"root/sessionAdded".to_owned()), "{told:?}");
    for _ in 0..2 {
        let state = host.state(&session);
        assert_eq!(state["lifecycle"], "ready");
        assert_eq!(state["title"], "Do t1");
        assert_eq!(state["provider"], "alpha");
        assert_eq!(state["workingDirectories"], json!(["file:///w"]));
        assert_eq!(state["defaultChat"], A);
        assert_eq!(state["chats"].as_array().unwrap().len(), 1);
        assert_ne!(state["chats"][0]["movable"], true);
        assert_ne!(host.state(A)["movable"], true);
        assert_eq!(listed(&mut host, SESSION), [chat(), B.to_owned()]);
        host.restart(Limits::default());
        host.enter(1, "a", &[ROOT]);
    }
    say(&mut host, A, "t2");
    let open = last_opened(&host);
    assert_eq!(open.session.as_str(), session);
    assert_eq!(open.resume, Some(json!({"of": A})));
}

#[test]
fn a_session_that_was_made_for_a_chat_goes_with_it_and_not_without_it() {
    let mut host = host();
    let session = moved(&mut host, A, own());
    let dispose = |host: &mut Host, chat| host.ask(1, "disposeChat", json!({"channel": chat}));
    let answer = dispose(&mut host, A);
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    // With another chat there, that one takes its place.
    moved(&mut host, B, to(&session, Some(A)));
    dispose(&mut host, A);
    assert_eq!(host.state(&session)["defaultChat"], B);
    host.ok(1, "disposeSession", json!({"channel": session}));
    assert_eq!(host.refused(1, "subscribe", json!({"channel": B})), -32001);
    assert_eq!(listed(&mut host, SESSION), [chat()]);
}

#[test]
fn a_chat_without_a_title_names_the_session_that_was_made_for_it() {
    let mut host = host();
    let session = moved(&mut host, A, own());
    say(&mut host, A, "t1");
    assert_eq!(host.state(&session)["title"], "Do t1");
    assert_eq!(host.state(&session)["chats"][0]["title"], "Do t1");
}

#[test]
fn a_move_that_cannot_be_is_refused_with_a_reason_and_changes_nothing() {
    let mut host = host();
    let (foreign, elsewhere) = ("ahp-session:/3", "ahp-session:/4");
    create(&mut host, foreign, json!({"provider": "beta"}));
    create(
        &mut host,
        elsewhere,
        json!({"workingDirectories": ["file:///v"]}),
    );
    say(&mut host, B, "t1");
    let lead = json!({"type": "session/defaultChatChanged", "defaultChat": B});
    let before = (listed(&mut host, SESSION), listed(&mut host, OTHER));
    for (chat, to, code, words) in [
        (A, to("ahp-session:/none", None), -32001, "unknown session"),
        (A, to(OTHER, Some(B)), -32602, "another chat of the session"),
        (A, to(OTHER, Some(A)), -32602, "another chat of the session"),
        (A, to(foreign, None), -32602, "session of `beta`"),
        (A, to(elsewhere, None), -32602, "different directories"),
        (B, to(OTHER, None), -32004, "something is running"),
        (B, own(), -32004, "something is running"),
    ] {
        let (got, why) = why_not(&mut host, chat, to.clone());
        assert_eq!(got, code, "{to}: {why}");
        assert!(why.contains(words), "{to}: {why}");
    }
    host.dispatch(1, SESSION, lead);
    let (code, why) = why_not(&mut host, &chat(), to(OTHER, None));
    assert_eq!(code, -32602);
    assert!(why.contains("began with"), "{why}");
    assert_eq!(
        (listed(&mut host, SESSION), listed(&mut host, OTHER)),
        before
    );
}

#[test]
fn a_session_does_not_get_more_chats_than_it_may_have() {
    let limits = Limits {
        chats: 3,
        ..Limits::default()
    };
    let mut host = with_sessions(Host::with(limits));
    for uri in ["ahp-chat:/c", "ahp-chat:/d"] {
        host.ok(1, "createChat", json!({"channel": OTHER, "chat": uri}));
    }
    let (_, why) = why_not(&mut host, A, to(OTHER, None));
    assert!(why.contains("limits.chats"), "{why}");
}

/// The chat A, for whose turn another agent has worked in a chat of its own.
fn with_delegate(host: &mut Host) -> String {
    say(host, A, "t1");
    host.opened();
    host.in_turn("t1", started("c"));
    host.in_turn("t1", not_asked("c"));
    let delegation = delegation("c", "below");
    host.in_turn("t1", TurnEvent::Delegated(Box::new(delegation)));
    let chats = listed(host, SESSION);
    host.in_turn("below", TurnEvent::Completed);
    host.in_turn("t1", TurnEvent::Completed);
    chats.last().unwrap().clone()
}

#[test]
fn who_worked_for_a_chat_goes_where_the_chat_goes() {
    for destination in [to(OTHER, None), own()] {
        let mut host = host();
        let delegate = with_delegate(&mut host);
        let (code, why) = why_not(&mut host, &delegate, destination.clone());
        assert_eq!(code, -32602);
        assert!(why.contains("move that one"), "{why}");
        let session = moved(&mut host, A, destination);
        let chats = listed(&mut host, &session);
        assert_eq!(chats[..2], [A.to_owned(), delegate.clone()]);
        assert_eq!(listed(&mut host, SESSION), [chat(), B.to_owned()]);
        host.ok(1, "disposeSession", json!({"channel": SESSION}));
        host.restart(Limits::default());
        assert_eq!(host.state(&delegate)["turns"][0]["id"], "below");
    }
}

#[test]
fn a_move_that_cannot_be_stored_has_not_happened() {
    for destination in [to(OTHER, None), own()] {
        let mut host = host();
        first_turn(&mut host, A, "t1");
        let before = (listed(&mut host, SESSION), listed(&mut host, OTHER));
        host.refuses = true;
        let params = json!({"channel": A, "destination": destination});
        let text = json!({"jsonrpc": "2.0", "id": 1, "method": "moveChat", "params": params});
        host.say(1, &text.to_string());
        host.refuses = false;
        for _ in 0..2 {
            host.leave(1);
            host.enter(1, "a", &[ROOT]);
            let after = (listed(&mut host, SESSION), listed(&mut host, OTHER));
            assert_eq!(after, before, "{destination}");
            assert_eq!(host.state(A)["turns"][0]["id"], "t1");
            let all = host.ok(1, "listSessions", json!({}));
            assert_eq!(all["items"].as_array().unwrap().len(), 2, "{destination}");
            host.restart(Limits::default());
        }
    }
}

#[test]
fn what_the_turns_of_a_chat_changed_is_known_where_it_goes() {
    let mut host = with_sessions(Host::with_changes());
    let about = |session: &str, event| {
        let session = ChannelUri::from(session);
        Input::Changes(ChangesReport { session, event })
    };
    for session in [SESSION, OTHER] {
        let found = ChangesEvent::Found {
            git: true,
            has_own_work: false,
            undo: false,
        };
        host.feed(about(session, found));
    }
    first_turn(&mut host, A, "t1");
    moved(&mut host, A, to(OTHER, None));
    let theirs = host.state(OTHER)["chats"].clone();
    assert_eq!(theirs[0]["resource"], A);
    let own = &host.state(A)["changesets"][0]["uriTemplate"];
    let of_session = host.state(OTHER)["changesets"].clone();
    let mut of_session = of_session.as_array().unwrap().iter();
    assert!(of_session.any(|it| it["uriTemplate"] == *own), "{own}");
    let inherit = ChangesTask::Inherit {
        from: ChannelUri::from(SESSION),
        directories: vec!["file:///w".to_owned()],
        turns: vec!["t1".to_owned()],
    };
    let asked = |host: &Host| {
        let mut tasks = host.changes.iter();
        tasks.any(|it| it.session.as_str() == OTHER && it.task == inherit)
    };
    assert!(asked(&host));
}

#[test]
fn versions_without_chats_see_the_chat_as_a_session_wherever_it_is() {
    for version in Version::ALL.into_iter().filter(|it| !it.has_chats()) {
        for destination in [to(OTHER, None), own()] {
            let mut host = host();
            first_turn(&mut host, A, "t1");
            host.enter_as(version, 2, "old", &[A]);
            let rows = |host: &mut Host| {
                let listed = host.ok(2, "listSessions", json!({}));
                let rows = listed["items"].as_array().unwrap().iter();
                let mut rows: Vec<(Value, Value)> = rows
                    .map(|row| (row["resource"].clone(), row["title"].clone()))
                    .collect();
                rows.sort_by_key(|row| row.0.to_string());
                rows
            };
            let before = rows(&mut host);
            assert_eq!(before.len(), 4, "{version}: {before:?}");
            let session = moved(&mut host, A, destination.clone());
            assert_eq!(rows(&mut host), before, "{version}, {destination}");
            let channel = match version <= Version::V0_1 {
                true => "resource",
                false => "channel",
            };
            let shown = host.ok(2, "subscribe", json!({channel: A}));
            let turns = &shown["snapshot"]["state"]["turns"];
            assert_eq!(turns[0]["id"], "t1", "{version}: {shown}");
            if destination == own() {
                let hidden = host.refused(2, "subscribe", json!({channel: session}));
                assert_eq!(hidden, -32001, "{version}");
                // To them, this is all that there is of the session.
                let name = match version <= Version::V0_1 {
                    true => "session",
                    false => "channel",
                };
                host.ok(2, "disposeSession", json!({name: A}));
                let gone = host.refused(1, "subscribe", json!({"channel": session}));
                assert_eq!(gone, -32001, "{version}");
            }
        }
    }
}
