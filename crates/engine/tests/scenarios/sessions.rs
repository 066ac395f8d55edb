//! Sessions: their creation, names and summaries, and where they are kept.

use std::collections::BTreeSet;
use std::time::Duration;

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{AgentActivity, AgentCommand, AgentEvent, PastTurn, TurnEvent};
use serde_json::json;

use crate::host::{Host, ROOT, SESSION, chat};

#[test]
fn thousands_of_sessions_that_nobody_needs_leave_memory_soon() {
    let limits = Limits::default();
    let (most, patience) = (limits.idle_sessions, limits.idle_session);
    let mut host = Host::with(limits);
    host.enter(1, "a", &[]);
    for number in 0..3 * most {
        let session = format!("ahp-session:/{number}");
        host.ok(1, "createSession", json!({"channel": session}));
        host.opened();
    }
    assert_eq!(host.engine.resident_sessions(), 3 * most);
    host.wait(patience / 10);
    assert_eq!(host.engine.resident_sessions(), most);
}

#[test]
fn sessions_that_cannot_be_created_say_why() {
    let mut host = Host::with_session(Limits::default());
    let default_chat = ChannelUri::default_chat_of("x:later").to_string();
    let stranger = json!({"clientId": "stranger", "tools": []});
    for (params, code) in [
        (json!({"channel": SESSION}), -32003),
        (json!({"channel": chat()}), -32602),
        (json!({"channel": "x:2", "provider": "nobody"}), -32002),
        (json!({"channel": "x:2", "activeClient": stranger}), -32602),
        (json!({"channel": "no uri"}), -32602),
        (json!({"channel": ROOT}), -32602),
        (json!({"channel": default_chat}), -32602),
        // Names that the host gives out itself.
        (json!({"channel": "ahp-terminal:/1"}), -32602),
        (json!({"channel": "ahp-resource-watch:/1"}), -32602),
        (json!({"channel": "ahp-changeset:/1/session"}), -32602),
        (json!({"channel": "innkeeper-content:/1"}), -32602),
        (json!({"channel": "ahp-otlp:/traces"}), -32602),
    ] {
        assert_eq!(
            host.refused(1, "createSession", params.clone()),
            code,
            "{params}"
        );
    }
    assert_eq!(
        host.refused(1, "disposeSession", json!({"channel": "x:2"})),
        -32001
    );
    assert_eq!(
        host.refused(1, "subscribe", json!({"channel": "x:2"})),
        -32001
    );
}

#[test]
fn the_first_message_names_a_session_until_somebody_does() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t1");
    assert_eq!(host.state(SESSION)["title"], "Do t1");
    host.report(AgentEvent::Title("By the agent".to_owned()));
    assert_eq!(host.state(SESSION)["title"], "By the agent");
    // Some clients rename over the channel of the chat.
    let title = json!({"type": "session/titleChanged", "title": "By hand"});
    host.dispatch(1, &chat(), title);
    host.report(AgentEvent::Title("By the agent again".to_owned()));
    assert_eq!(host.state(SESSION)["title"], "By hand");
    host.dispatch(
        1,
        SESSION,
        json!({"type": "session/titleChanged", "title": " "}),
    );
    assert!(host.rejection(1).contains("must not be empty"));
}

#[test]
fn what_an_agent_tells_of_the_past_becomes_turns_and_nobody_is_prompted() {
    let mut host = Host::new();
    host.enter(1, "a", &[ROOT]);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    let said = |asked: &str, answered: &str| PastTurn {
        asked: asked.to_owned(),
        events: vec![TurnEvent::Text(answered.to_owned())],
    };
    let past = vec![said("What is beer?", "A drink."), said("And wine?", "Too.")];
    host.report(AgentEvent::Past(past));
    host.opened();
    let state = host.state(&chat());
    let turns = state["turns"].as_array().unwrap();
    let words: Vec<_> = turns
        .iter()
        .map(|turn| {
            let answer = &turn["responseParts"][0]["content"];
            (
                turn["message"]["text"].as_str(),
                answer.as_str(),
                &turn["state"],
            )
        })
        .collect();
    let complete = &json!("complete");
    assert_eq!(
        words,
        [
            (Some("What is beer?"), Some("A drink."), complete),
            (Some("And wine?"), Some("Too."), complete),
        ]
    );
    assert_eq!(host.state(SESSION)["title"], "What is beer?");
    let prompted = |command: &&AgentCommand| matches!(command, AgentCommand::Prompt(_));
    assert_eq!(host.commands.iter().find(prompted).map(|_| ()), None);
}

#[test]
fn a_turn_makes_its_session_unread() {
    let mut host = Host::with_session(Limits::default());
    let is_read = |host: &mut Host| host.state(SESSION)["status"].as_u64().unwrap() & 32 != 0;
    assert!(is_read(&mut host));
    host.start_turn(1, "t");
    assert!(!is_read(&mut host));
    host.dispatch(
        1,
        SESSION,
        json!({"type": "session/isReadChanged", "isRead": true}),
    );
    assert!(is_read(&mut host));
}

#[test]
fn sessions_are_listed_page_by_page() {
    let limits = Limits {
        page_sessions: 2,
        ..Limits::default()
    };
    let mut host = Host::with(limits);
    host.enter(1, "a", &[ROOT]);
    for session in ["x:1", "x:2", "x:3", "x:4", "x:5"] {
        host.ok(1, "createSession", json!({"channel": session}));
    }
    let (mut pages, mut all) = (Vec::new(), BTreeSet::new());
    let mut asked = json!({"channel": ROOT});
    loop {
        let page = host.ok(1, "listSessions", asked.clone());
        let items = page["items"].as_array().unwrap();
        pages.push(items.len());
        all.extend(items.iter().map(|item| item["resource"].to_string()));
        match page.get("nextCursor") {
            Some(cursor) => asked["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert_eq!((pages, all.len()), (vec![2, 2, 1], 5));
}

#[test]
fn an_activity_waits_for_company_and_a_status_does_not() {
    let mut host = Host::with_session(Limits::default());
    let changed = "root/sessionSummaryChanged".to_owned();
    host.start_turn(1, "t");
    assert!(host.news(1).contains(&changed));
    host.in_turn(
        "t",
        TurnEvent::Activity(Some(AgentActivity::Own("Reading".to_owned()))),
    );
    let told = host.news(1);
    assert!(
        told.contains(&"chat/activityChanged".to_owned()),
        "{told:?}"
    );
    assert!(!told.contains(&changed));
    assert_eq!(host.state(&chat())["activity"], "Reading");
    host.wait(Duration::from_millis(250));
    assert!(host.news(1).contains(&changed));
    assert_eq!(host.state(SESSION)["activity"], "Reading");
    host.in_turn("t", TurnEvent::Completed);
    host.wait(Duration::from_millis(250));
    assert_eq!(host.state(&chat()).get("activity"), None);
    assert_eq!(host.state(SESSION).get("activity"), None);
}

#[test]
fn while_the_store_cannot_write_work_is_refused_and_pings_are_answered() {
    let mut host = Host::with_session(Limits::default());
    let reason = "full".to_owned();
    host.feed(Input::StoreFailing { reason });
    host.start_turn(1, "t");
    assert!(host.rejection(1).contains("full"));
    assert_eq!(
        host.refused(1, "createSession", json!({"channel": "x:2"})),
        -32603
    );
    host.ok(1, "ping", json!({}));
    host.feed(Input::StoreRecovered);
    host.start_turn(1, "t");
    assert_eq!(host.rejection(1), "");
}

#[test]
fn a_log_that_is_too_large_goes_up_to_where_the_store_says_and_clients_know() {
    let mut host = Host::with_session(Limits::default());
    host.enter(2, "away", &[]);
    host.leave(2);
    host.whole_turns(4);
    let numbers = host.stored_numbers();
    let below = numbers[numbers.len() / 2];
    host.feed(Input::LogTooLarge { below });
    assert_eq!(host.stored_numbers()[0], below);
    host.restart(Limits::default());
    for (connection, seen, kind) in [(3, below.back(2), "snapshot"), (4, below, "replay")] {
        host.connect(connection);
        let back = json!({
            "clientId": "away", "lastSeenServerSeq": seen, "subscriptions": [chat()],
        });
        let answer = host.ok(connection, "reconnect", back);
        assert_eq!(answer["type"], kind, "{answer}");
        host.leave(connection);
    }
}

#[test]
fn a_session_that_nobody_needs_leaves_memory_and_comes_back_on_demand() {
    let limits = Limits {
        idle_sessions: 0,
        idle_session: Duration::from_secs(1),
        ..Limits::default()
    };
    let mut host = Host::with_session(limits);
    host.whole_turns(1);
    host.wait(Duration::from_secs(5));
    assert_eq!(host.engine.resident_sessions(), 1);
    host.leave(1);
    host.wait(Duration::from_secs(5));
    assert_eq!(host.engine.resident_sessions(), 0);
    assert!(matches!(
        host.commands.last(),
        Some(AgentCommand::Close { .. })
    ));
    assert_eq!(host.state(&chat())["turns"][0]["id"], "t1");
    assert_eq!(host.engine.resident_sessions(), 1);
}

#[test]
fn how_many_sessions_there_are_is_told_when_one_comes_or_goes() {
    let mut host = Host::new();
    host.enter(1, "a", &[ROOT]);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    host.ok(1, "disposeSession", json!({"channel": SESSION}));
    let told = host.actions(1);
    let counts = told.iter().filter_map(|(_, action)| {
        let is_it = action["type"] == "root/activeSessionsChanged";
        is_it.then(|| action["activeSessions"].clone())
    });
    assert_eq!(counts.collect::<Vec<_>>(), [json!(1), json!(0)]);
}
