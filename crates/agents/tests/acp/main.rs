//! The backend for the Agent Client Protocol, behind the real supervisor, with
//! a real process on the other side: the test agent, which does what the
//! prompt says.
//!
//! - `mapping`: what agents say, row by row;
//! - `requests`: what agents ask for;
//! - `quirks`: what real agents do that the protocol does not prepare for;
//! - `edits`: what calls show of the files that they change;
//! - `continuity`: conversations that outlive their process;
//! - `restarts`: processes that end, and that do not start;
//! - `sub_agents`: agents that work for a call;
//! - `child_sessions`: agents that work in sessions of their own;
//! - `sign_in`: what becomes of agents that want somebody to sign in;
//! - `crowd`: many processes, half of which are killed.

#![expect(clippy::unwrap_used, reason = "all of this is tests")]

mod child_sessions;
mod continuity;
mod crowd;
mod edits;
mod mapping;
#[path = "../programs/mod.rs"]
mod programs;
mod quirks;
mod requests;
mod restarts;
mod sign_in;
mod sub_agents;
#[path = "../../src/testing.rs"]
#[expect(dead_code, reason = "shared with the tests beside the code")]
mod testing;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use innkeeper_agents::{AcpAgent, AcpOptions, Agent, Patience, Program, ScriptAgent, Supervisor};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::{
    AgentCommand, AgentEvent, CommandOutcome, CommandRun, ConfigQuery, Decision, OpenBackend,
    ToolVerdict, TurnEvent,
};
use innkeeper_protocol::newest::state::{
    ConfirmationOption, ToolCallCancellationReason, ToolResultContent,
};
use programs::test_program;
use serde_json::{Value, json};
use testing::{BACKEND, Conversation, line, open, scenario};

/// An agent that starts as `behaviour` says.
fn options(behaviour: &Value) -> AcpOptions {
    let mut program = Program::new(test_program("test-agent"));
    program
        .env
        .insert("TEST_AGENT".to_owned(), behaviour.to_string());
    AcpOptions::new("test", program)
}

fn patient(behaviour: &Value, patience: Patience) -> AcpAgent {
    AcpAgent::new(AcpOptions {
        patience,
        ..options(behaviour)
    })
}

fn asked_to_open() -> OpenBackend {
    open("test")
}

/// A conversation that is open; `Opened` has been heard.
async fn opened(agent: AcpAgent, open: OpenBackend) -> Conversation {
    let mut conversation = Conversation::with(agent, 1024);
    conversation.command(AgentCommand::Open(Box::new(open)));
    let first = line(&conversation.next().await);
    assert_eq!(first, "opened");
    conversation
}

/// An open conversation with an agent that behaves as it is told.
async fn with(behaviour: Value) -> Conversation {
    opened(AcpAgent::new(options(&behaviour)), asked_to_open()).await
}

/// An open conversation in a directory of its own.
async fn in_directory() -> (tempfile::TempDir, Conversation) {
    let directory = tempfile::tempdir().unwrap();
    let mut open = asked_to_open();
    open.directories = vec![format!("file://{}", directory.path().display())];
    let agent = AcpAgent::new(options(&json!({})));
    let conversation = opened(agent, open).await;
    (directory, conversation)
}

/// A step that reads or writes a file through the host.
fn about_file(method: &str, path: &Path, content: &str) -> Value {
    json!({"request": {"method": method, "say": true,
                       "params": {"path": path, "content": content}}})
}

/// What is heard of a turn with these steps and an agent that has no quirks.
async fn turn(steps: Value) -> Vec<String> {
    with(json!({})).await.play(steps).await
}

/// Checks what is heard of a turn that ends as most do.
async fn check(steps: Value, expected: &[&str]) {
    let mut expected: Vec<&str> = expected.to_vec();
    expected.extend(["because: end_turn", "completed"]);
    assert_eq!(turn(steps).await, expected);
}

/// Plays the host's part for a command that the agent wants to be run: it has
/// a terminal, says something and ends.
async fn run_command(
    conversation: &mut Conversation,
    turn: &TurnId,
    outcome: CommandOutcome,
) -> CommandRun {
    let run = until(conversation, |event| match of_turn(event) {
        Some(TurnEvent::RunCommand(run)) => Some((**run).clone()),
        _ => None,
    })
    .await;
    let terminal = format!("ahp-terminal:/{}", run.run);
    let name = run.run.clone();
    conversation.decide(
        turn,
        Decision::CommandStarted {
            run: name,
            terminal,
        },
    );
    let name = run.run.clone();
    conversation.decide(turn, Decision::Command { run: name, outcome });
    run
}

fn exited(code: i64, output: &str) -> CommandOutcome {
    CommandOutcome {
        exit_code: Some(code),
        output: output.to_owned(),
        ..CommandOutcome::default()
    }
}

/// Hears events until one that is wanted.
async fn until<T>(conversation: &mut Conversation, wanted: impl Fn(&AgentEvent) -> Option<T>) -> T {
    loop {
        let event = conversation.next().await;
        if let Some(found) = wanted(&event) {
            return found;
        }
        let line = line(&event);
        assert!(!line.starts_with("exited"), "{line}");
    }
}

async fn until_line(conversation: &mut Conversation, beginning: &str) -> String {
    until(conversation, |event| {
        Some(line(event)).filter(|line| line.starts_with(beginning))
    })
    .await
}

fn of_turn(event: &AgentEvent) -> Option<&TurnEvent> {
    match event {
        AgentEvent::Turn { event, .. } => Some(event),
        _ => None,
    }
}

fn approve(call: &str, option: Option<ConfirmationOption>) -> Decision {
    Decision::Tool {
        call: call.into(),
        verdict: ToolVerdict::Approved {
            edited_input: None,
            option,
        },
    }
}

fn deny(call: &str) -> Decision {
    Decision::Tool {
        call: call.into(),
        verdict: ToolVerdict::Denied {
            reason: ToolCallCancellationReason::Denied,
            option: None,
        },
    }
}

/// The text that a tool shows.
fn shown(content: &[ToolResultContent]) -> String {
    let texts = content.iter().map(|block| match block {
        ToolResultContent::Text(text) => text.text.clone(),
        ToolResultContent::Terminal(terminal) => {
            let result = terminal.result.as_ref();
            let code = result.and_then(|result| result.exit_code);
            format!("{} in {}: {code:?}", terminal.title, terminal.resource)
        }
        other => format!("{other:?}"),
    });
    texts.collect::<Vec<_>>().join("|")
}

fn said(text: &str) -> Value {
    json!({"update": {
        "sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text},
    }})
}

fn call(fields: Value) -> Value {
    updated("tool_call", fields)
}

fn call_update(fields: Value) -> Value {
    updated("tool_call_update", fields)
}

fn updated(kind: &str, mut fields: Value) -> Value {
    fields["sessionUpdate"] = json!(kind);
    json!({"update": fields})
}

/// A step that asks for permission and says what was answered.
fn permission(call: Value) -> Value {
    json!({"request": {"method": "session/request_permission", "say": true, "params": {
        "toolCall": call,
        "options": [
            {"optionId": "yes!", "name": "Always", "kind": "allow_always"},
            {"optionId": "yes", "name": "Once", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ],
    }}})
}
