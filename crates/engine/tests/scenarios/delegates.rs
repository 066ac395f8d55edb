//! Turns that an agent gives to another one, in chats of their own.

use innkeeper_engine::Limits;
use innkeeper_protocol::agent::{AgentCommand, Delegation, Teller, TurnEvent};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::editors::{delegation, not_asked, started};
use crate::host::{Host, SESSION, chat, killed};

#[test]
fn a_delegates_chat_has_the_name_that_editors_compute() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.in_turn("t", started("call 1"));
    host.in_turn("t", not_asked("call 1"));
    for turn in ["below", "below-2"] {
        let delegation = delegation("call 1", turn);
        host.in_turn("t", TurnEvent::Delegated(Box::new(delegation)));
    }
    let chats = host.state(SESSION)["chats"].clone();
    // base64url of the session, and the call as a segment of a path.
    let expected = "ahp-chat://subagent/YWhwLXNlc3Npb246LzE/call%201";
    assert_eq!(chats[1]["resource"], expected);
    assert_ne!(chats[2]["resource"], expected);
}

#[test]
fn the_message_to_a_delegate_says_whether_a_tool_or_the_agent_wrote_it() {
    let mut host = Host::with_session(Limits::default());
    for (version, connection) in [(Version::V0_4, 2), (Version::NEWEST, 3)] {
        host.enter_as(version, connection, &connection.to_string(), &[SESSION]);
    }
    host.start_turn(1, "t");
    for (told_by, expected) in [(Teller::Tool, "tool"), (Teller::Agent, "agent")] {
        host.in_turn("t", started(expected));
        host.in_turn("t", not_asked(expected));
        let delegation = Delegation {
            told_by,
            ..delegation(expected, &format!("t/{expected}"))
        };
        host.in_turn("t", TurnEvent::Delegated(Box::new(delegation)));
        let chats = host.state(SESSION)["chats"].take();
        let chats = chats.as_array().unwrap();
        let child = json!({"channel": chats.last().unwrap()["resource"]});
        for connection in [2, 3] {
            let answer = host.ok(connection, "subscribe", child.clone());
            let turn = &answer["snapshot"]["state"]["activeTurn"];
            let message = turn.get("message").unwrap_or(&turn["userMessage"]);
            assert_eq!(message["origin"]["kind"], expected, "{turn}");
        }
    }
}

#[test]
fn a_call_says_from_the_start_where_its_delegate_will_work() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    for kind in ["subagent", "read"] {
        let TurnEvent::ToolStarted(mut start) = started(kind) else {
            panic!("it starts");
        };
        start.meta = serde_json::from_value(json!({"toolKind": kind})).unwrap();
        host.in_turn("t", TurnEvent::ToolStarted(start));
    }
    let state = host.state(&chat());
    let parts = &state["activeTurn"]["responseParts"];
    let expected = "ahp-chat://subagent/YWhwLXNlc3Npb246LzE/subagent";
    assert_eq!(parts[0]["toolCall"]["_meta"]["subagentChatUri"], expected);
    assert_eq!(
        parts[1]["toolCall"]["_meta"]["subagentChatUri"],
        Value::Null
    );
}

#[test]
fn the_link_to_a_delegate_stays_whatever_else_the_call_shows() {
    let (mut host, child) = delegating_to_background();
    for text in ["one", "two"] {
        let content = serde_json::from_value(json!([{"type": "text", "text": text}])).unwrap();
        let call = "c".into();
        host.in_turn("t", TurnEvent::ToolContent { call, content });
    }
    let state = host.state(&chat());
    let content = &state["activeTurn"]["responseParts"][0]["toolCall"]["content"];
    assert_eq!(content[0]["resource"], *child);
    assert_eq!(content[1], json!({"type": "text", "text": "two"}));
    assert_eq!(content.as_array().unwrap().len(), 2);
}

#[test]
fn when_the_chat_of_a_delegate_is_disposed_of_its_own_delegates_end() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    for (turn, below) in [("t", "below"), ("below", "lowest")] {
        host.in_turn(turn, started("c"));
        host.in_turn(turn, not_asked("c"));
        let delegation = Delegation {
            title: below.to_owned(),
            ..delegation("c", below)
        };
        host.in_turn(turn, TurnEvent::Delegated(Box::new(delegation)));
    }
    let chats = host.state(SESSION)["chats"].clone();
    let (below, lowest) = (&chats[1]["resource"], chats[2]["resource"].as_str());
    host.ok(1, "disposeChat", json!({"channel": below}));
    let lowest = host.state(lowest.unwrap());
    assert_eq!(lowest["activeTurn"], Value::Null);
    assert_eq!(lowest["turns"][0]["state"], "cancelled");
    assert_eq!(host.state(&chat())["activeTurn"]["id"], "t");
}

/// A turn that has delegated another one to the background.
fn delegating_to_background() -> (Host, String) {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.in_turn("t", started("c"));
    host.in_turn("t", not_asked("c"));
    let delegation = Delegation {
        title: "Watch the build".to_owned(),
        in_background: true,
        ..delegation("c", "below")
    };
    host.in_turn("t", TurnEvent::Delegated(Box::new(delegation)));
    let below = host.state(SESSION)["chats"][1]["resource"].clone();
    (host, below.as_str().unwrap().to_owned())
}

#[test]
fn a_delegate_in_the_background_outlives_the_turn_and_is_listed_until_it_ends() {
    let (mut host, below) = delegating_to_background();
    host.in_turn("t", TurnEvent::Completed);
    let work = host.state(&chat())["backgroundWork"].clone();
    assert_eq!(work[0]["kind"], "subagent");
    assert_eq!(work[0]["label"], "Watch the build");
    assert_eq!(work[0]["chat"], *below);
    host.in_turn("below", TurnEvent::Text("It is green.".to_owned()));
    host.in_turn("below", TurnEvent::Completed);
    let ended = host.state(&below)["turns"][0].clone();
    assert_eq!(ended["state"], "complete");
    assert_eq!(ended["responseParts"][0]["content"], "It is green.");
    assert_eq!(host.state(&chat())["backgroundWork"], json!([]));
}

#[test]
fn a_delegate_that_is_not_waited_for_any_more_goes_to_the_background() {
    let (mut host, below) = delegating_to_background();
    host.in_turn("below", TurnEvent::Completed);
    host.in_turn("t", started("d"));
    host.in_turn("t", not_asked("d"));
    let delegation = Delegation {
        title: "Look around".to_owned(),
        ..delegation("d", "beside")
    };
    host.in_turn("t", TurnEvent::Delegated(Box::new(delegation)));
    assert_eq!(host.state(&chat())["backgroundWork"], json!([]));
    host.in_turn("beside", TurnEvent::InBackground);
    host.in_turn("beside", TurnEvent::InBackground);
    host.in_turn("t", TurnEvent::Completed);
    let work = host.state(&chat())["backgroundWork"].clone();
    assert_eq!(work.as_array().unwrap().len(), 1);
    assert_eq!(work[0]["label"], "Look around");
    assert_ne!(work[0]["chat"], *below);
    host.in_turn("beside", TurnEvent::Completed);
    assert_eq!(host.state(&chat())["backgroundWork"], json!([]));
    // A turn that nobody delegated has nowhere to go.
    host.start_turn(1, "u");
    host.in_turn("u", TurnEvent::InBackground);
    assert_eq!(host.state(&chat())["backgroundWork"], json!([]));
}

#[test]
fn anybody_can_stop_a_delegate_in_the_background() {
    let (mut host, below) = delegating_to_background();
    host.in_turn("t", TurnEvent::Completed);
    host.enter(2, "b", &[&below]);
    host.dispatch(
        2,
        &below,
        json!({"type": "chat/turnCancelled", "turnId": "below"}),
    );
    assert_eq!(host.rejection(2), "");
    assert_eq!(host.state(&chat())["backgroundWork"], json!([]));
    let told = host.commands.last();
    assert!(matches!(told, Some(AgentCommand::Cancel { turn, .. }) if **turn == *"below"));
}

#[test]
fn what_ends_a_delegate_in_the_background_takes_it_off_the_list() {
    type End = fn(&mut Host, &str);
    let disposed: End = |host, below| {
        host.ok(1, "disposeChat", json!({"channel": below}));
    };
    let exited: End = |host, _| host.report(killed());
    let ends = [
        ("its chat is disposed of", disposed),
        ("its agent exits", exited),
    ];
    for (what, end) in ends {
        let (mut host, below) = delegating_to_background();
        host.in_turn("t", TurnEvent::Completed);
        end(&mut host, &below);
        assert_eq!(host.state(&chat())["backgroundWork"], json!([]), "{what}");
    }
}
