//! A turn that becomes too large ends, whatever it grows by.

use bytes::Bytes;
use innkeeper_engine::Limits;
use innkeeper_protocol::agent::{
    AgentCommand, AgentNotice, Approval, Delegation, ToolReady, ToolStart, TurnEvent,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{ToolCallResult, ToolResultContent, ToolResultTextContent};
use serde_json::{Value, json};

use crate::editors::delegation;
use crate::host::{Host, SESSION, chat};

const MOST: usize = 10_000;

fn host() -> Host {
    let mut host = Host::with_session(Limits {
        turn_bytes: MOST,
        inline_bytes: 1_000,
        ..Limits::default()
    });
    host.start_turn(1, "t");
    host.commands.clear();
    // Something to know the backend by.
    host.dispatch(
        1,
        &chat(),
        json!({
            "type": "chat/pendingMessageSet", "kind": "steering", "id": "s",
            "message": {"text": "Be brief", "origin": {"kind": "user"}},
        }),
    );
    host
}

fn call(host: &mut Host, id: &str) {
    let start = ToolStart {
        call: id.into(),
        name: "build".into(),
        display_name: "Build".into(),
        intention: None,
        contributor: None,
        meta: None,
    };
    host.in_turn("t", TurnEvent::ToolStarted(start.into()));
}

fn running(host: &mut Host, id: &str) {
    call(host, id);
    let ready = ToolReady {
        call: id.into(),
        input: None,
        message: StringOrMarkdown::Plain("Build it".into()),
        approval: Approval::NotNeeded,
        meta: None,
    };
    host.in_turn("t", TurnEvent::ToolReady(ready.into()));
}

fn text(length: usize) -> ToolResultContent {
    ToolResultContent::Text(ToolResultTextContent {
        text: "x".repeat(length),
    })
}

fn finished(id: &str, content: Vec<ToolResultContent>) -> TurnEvent {
    let result = ToolCallResult {
        success: true,
        past_tense_message: StringOrMarkdown::Plain("Built".into()),
        content: Some(content),
        structured_content: None,
        error: None,
    };
    TurnEvent::ToolFinished {
        call: id.into(),
        result: result.into(),
        confirm: false,
    }
}

fn last_turn(host: &mut Host, chat: &str) -> Value {
    let mut state = host.state(chat);
    let turns = state["turns"].as_array_mut().unwrap();
    turns.pop().unwrap_or_default()
}

/// Why the last turn ended in an error; empty if it did not.
fn error(host: &mut Host, chat: &str) -> String {
    let turn = last_turn(host, chat);
    let parts = turn["responseParts"].as_array().cloned();
    let last = parts.into_iter().flatten().next_back();
    let kind = last.map(|part| part["error"]["errorType"].clone());
    kind.and_then(|kind| kind.as_str().map(str::to_owned))
        .unwrap_or_default()
}

#[test]
fn whatever_a_turn_grows_by_it_ends_when_it_is_too_large() {
    type Grow = fn(&mut Host, usize);
    let ways: [(&str, Grow); 8] = [
        ("text", |host, _| {
            host.in_turn("t", TurnEvent::Text("x".repeat(900)));
        }),
        ("reasoning", |host, _| {
            host.in_turn("t", TurnEvent::Reasoning("x".repeat(900)));
        }),
        ("text to be escaped", |host, _| {
            host.in_turn("t", TurnEvent::Text("\u{1}".repeat(150)));
        }),
        ("input that streams", |host, times| {
            if times == 0 {
                call(host, "c");
            }
            let (call, content) = ("c".into(), "x".repeat(900));
            host.in_turn("t", TurnEvent::ToolInput { call, content });
        }),
        ("results", |host, times| {
            let id = format!("c{times}");
            running(host, &id);
            host.in_turn("t", finished(&id, vec![text(700)]));
        }),
        ("results kept outside the state", |host, times| {
            let id = format!("c{times}");
            running(host, &id);
            host.in_turn("t", finished(&id, vec![text(2_000)]));
        }),
        ("content", |host, _| {
            let (data, content_type) = (Bytes::from(vec![0; 900]), "image/png".into());
            host.in_turn("t", TurnEvent::Content { data, content_type });
        }),
        ("notices", |host, _| {
            let said = StringOrMarkdown::Plain("x".repeat(900));
            host.in_turn("t", TurnEvent::Notice(AgentNotice::Own(said)));
        }),
    ];
    for (what, grow) in ways {
        let mut host = host();
        let ended = (0..20).find(|times| {
            grow(&mut host, *times);
            host.state(&chat())["activeTurn"].is_null()
        });
        assert!(ended.is_some_and(|times| times > 2), "{what}: {ended:?}");
        assert_eq!(error(&mut host, &chat()), "turnTooLarge", "{what}");
        let cancelled = |command: &AgentCommand| matches!(command, AgentCommand::Cancel { turn, .. } if **turn == *"t");
        assert!(host.commands.iter().any(cancelled), "{what}");
    }
}

#[test]
fn the_error_names_the_limit_and_what_to_do() {
    let mut host = host();
    host.in_turn("t", TurnEvent::Text("x".repeat(MOST + 1)));
    let turn = last_turn(&mut host, &chat());
    let parts = turn["responseParts"].as_array().unwrap();
    let said = parts.last().unwrap()["error"]["message"].as_str().unwrap();
    for word in ["10000 bytes", "limits.turn_bytes", "Ask for less"] {
        assert!(said.contains(word), "{said}");
    }
    assert_eq!(parts.last().unwrap()["resumable"], false);
}

#[test]
fn what_an_agent_says_after_its_turn_became_too_large_is_dropped() {
    let mut host = host();
    host.in_turn("t", TurnEvent::Text("x".repeat(MOST + 1)));
    host.heard.clear();
    host.in_turn("t", TurnEvent::Text("more".into()));
    call(&mut host, "late");
    assert_eq!(host.news(1), [""; 0]);
    // When it has stopped, it is given the next turn.
    host.start_turn(1, "u");
    host.in_turn("t", TurnEvent::Cancelled);
    host.in_turn("u", TurnEvent::Text("Hello".into()));
    host.in_turn("u", TurnEvent::Completed);
    assert_eq!(last_turn(&mut host, &chat())["state"], "complete");
}

#[test]
fn what_a_call_has_shown_before_does_not_count_when_it_is_replaced() {
    let mut host = host();
    running(&mut host, "c");
    for _ in 0..100 {
        // One of them in the state, one beside it.
        let content = vec![text(900), text(1_100)];
        let call = "c".into();
        host.in_turn("t", TurnEvent::ToolContent { call, content });
    }
    host.in_turn("t", finished("c", vec![text(900)]));
    host.in_turn("t", TurnEvent::Completed);
    assert_eq!(last_turn(&mut host, &chat())["state"], "complete");
}

#[test]
fn a_delegated_turn_has_a_count_of_its_own() {
    let mut host = host();
    running(&mut host, "c");
    let delegation = Delegation {
        title: "Look".into(),
        message: "Look around".into(),
        ..delegation("c", "sub")
    };
    host.in_turn("t", TurnEvent::Delegated(delegation.into()));
    host.in_turn("t", TurnEvent::Text("x".repeat(MOST * 2 / 3)));
    host.in_turn("sub", TurnEvent::Text("x".repeat(MOST * 2 / 3)));
    let chats = host.state(SESSION)["chats"].clone();
    let sub = chats[1]["resource"].as_str().unwrap().to_owned();
    assert_eq!(host.state(&sub)["activeTurn"]["id"], "sub");
    host.in_turn("sub", TurnEvent::Text("x".repeat(MOST)));
    assert_eq!(error(&mut host, &sub), "turnTooLarge");
    assert_eq!(host.state(&chat())["activeTurn"]["id"], "t");
}

#[test]
fn a_turn_that_is_resumed_goes_on_counting_where_it_was() {
    let limits = Limits {
        turn_bytes: MOST,
        ..Limits::default()
    };
    let mut host = host();
    host.in_turn("t", TurnEvent::Text("x".repeat(MOST * 2 / 3)));
    host.restart(limits);
    assert_eq!(error(&mut host, &chat()), "hostInterrupted");
    host.enter(1, "a", &[&chat()]);
    host.dispatch(
        1,
        &chat(),
        json!({"type": "chat/turnResume", "turnId": "t"}),
    );
    host.opened();
    host.in_turn("t", TurnEvent::Text("x".repeat(MOST * 2 / 3)));
    assert_eq!(error(&mut host, &chat()), "turnTooLarge");
}
