//! Names that are too long, whoever chose them.

use innkeeper_engine::Limits;
use innkeeper_protocol::agent::{AgentCommand, AgentEvent, CommandRun, ToolStart, TurnEvent};
use innkeeper_protocol::newest::state::ChatInputRequest;
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::terminal::TerminalProgram;
use serde_json::{Value, json};

use crate::host::{Host, SESSION, chat};
use crate::words::{in_words_of, place};

fn long() -> String {
    "x".repeat(257)
}

fn start(call: &str, name: &str) -> TurnEvent {
    TurnEvent::ToolStarted(Box::new(ToolStart {
        call: call.into(),
        name: name.into(),
        display_name: "Build".into(),
        intention: None,
        contributor: None,
        meta: None,
    }))
}

#[test]
fn an_id_of_an_agent_that_is_too_long_ends_the_turn_with_a_word() {
    let question = json!({"kind": "text", "id": long(), "message": "?"});
    let asks = |request: Value| {
        let request: ChatInputRequest = serde_json::from_value(request).unwrap();
        TurnEvent::Ask(Box::new(request))
    };
    for event in [
        start(&long(), "build"),
        asks(json!({"id": long()})),
        asks(json!({"id": "r", "questions": [question]})),
        TurnEvent::RunCommand(Box::new(CommandRun {
            run: long(),
            call: None,
            program: TerminalProgram::Shell,
            title: None,
            directory: None,
            environment: None,
            output_bytes: None,
        })),
    ] {
        let mut host = Host::with_session(Limits::default());
        host.start_turn(1, "t");
        host.in_turn("t", TurnEvent::Text("Well,".into()));
        host.in_turn("t", event);
        let turn = host.state(&chat())["turns"][0].clone();
        let error = &turn["responseParts"][1]["error"];
        assert_eq!(error["errorType"], "idTooLong", "{turn}");
        let said = error["message"].as_str().unwrap();
        assert!(said.contains("256 bytes"), "{said}");
        let last = host.commands.last().unwrap();
        assert!(matches!(last, AgentCommand::Cancel { .. }), "{last:?}");
    }
}

#[test]
fn a_long_name_of_a_tool_is_cut() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.in_turn("t", start("c", &long()));
    let part = host.state(&chat())["activeTurn"]["responseParts"][0].clone();
    let name = part["toolCall"]["toolName"].as_str().unwrap();
    assert_eq!(name.len(), 256);
}

#[test]
fn tools_whose_names_are_too_long_are_left_out() {
    let mut host = Host::with_session(Limits::default());
    let tools = json!([{"name": long()}, {"name": "build"}]);
    host.report(AgentEvent::Tools(serde_json::from_value(tools).unwrap()));
    let tools = host.state(SESSION)["serverTools"].clone();
    assert_eq!(
        (&tools[0]["name"], &tools[1]),
        (&json!("build"), &Value::Null)
    );
}

#[test]
fn an_action_with_a_long_id_is_rejected_in_every_version() {
    let message = json!({"text": "Hello", "origin": {"kind": "user"}});
    let started = json!({"type": "chat/turnStarted", "turnId": long(), "message": message});
    for version in Version::ALL {
        let mut host = Host::with_session(Limits::default());
        host.enter_as(version, 2, "other", &[]);
        let action = in_words_of(version, "turnStarted", started.clone());
        host.dispatch(2, &place(version), action);
        let reason = host.rejection(2);
        assert!(
            reason.contains("an id has at most 256"),
            "{version}: {reason}"
        );
        assert_eq!(host.state(&chat())["activeTurn"], Value::Null, "{version}");
    }
}

#[test]
fn a_title_has_at_most_a_kibibyte() {
    let mut host = Host::with_session(Limits::default());
    let rename = |title: String| json!({"type": "session/titleChanged", "title": title});
    host.dispatch(1, SESSION, rename("é".repeat(513)));
    let refused = host.heard[&1].last().unwrap();
    let reason = refused["params"]["rejectionReason"].as_str().unwrap();
    assert!(reason.contains("a title has at most 1024"), "{reason}");
    host.dispatch(1, SESSION, rename("é".repeat(512)));
    assert_eq!(host.state(SESSION)["title"], "é".repeat(512));
}

#[test]
fn a_title_that_an_agent_gives_is_cut() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.report(AgentEvent::Title("é".repeat(5_000)));
    assert_eq!(host.state(SESSION)["title"], "é".repeat(512));
}
