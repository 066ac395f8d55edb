//! The state before a turn, and what waits until it is kept.

use std::time::Duration;

use innkeeper_protocol::agent::{AgentCommand, CommandRun, Decision, TurnEvent};
use innkeeper_protocol::workspace::changes::{ChangesEvent, ChangesTask, Moment};
use innkeeper_protocol::workspace::terminal::TerminalProgram;
use serde_json::{Value, json};

use crate::editors::{asks, not_asked, started};
use crate::host::{Host, SESSION, chat};

fn asks_to_run(host: &mut Host) {
    host.in_turn("t1", started("c"));
    host.in_turn("t1", asks("c", json!({}), json!([])));
}

fn kept(host: &mut Host, turn: &str) {
    host.changes_reported(ChangesEvent::Checkpointed {
        at: Moment::BeforeTurn(turn.to_owned()),
        failure: None,
    });
}

#[test]
fn a_prompt_does_not_wait_until_the_state_before_its_turn_is_kept() {
    let mut host = Host::in_a_directory();
    host.tasks();
    host.start_turn(1, "t1");
    let before = Moment::BeforeTurn("t1".to_owned());
    assert_eq!(host.tasks(), [ChangesTask::Checkpoint(before)]);
    assert_eq!(host.prompts(), 1);
    kept(&mut host, "t1");
    assert_eq!(host.prompts(), 1, "it is given to the agent once");
    host.in_turn("t1", TurnEvent::Completed);
    let after = Moment::AfterTurn("t1".to_owned());
    assert_eq!(host.tasks(), [ChangesTask::Checkpoint(after)]);
}

/// What an agent can have the host do to files.
fn wishes() -> [TurnEvent; 2] {
    let run = CommandRun {
        run: "r".to_owned(),
        call: None,
        program: TerminalProgram::Command("make".to_owned()),
        title: None,
        directory: None,
        environment: None,
        output_bytes: None,
    };
    let write = TurnEvent::WriteFile {
        write: "w".to_owned(),
    };
    [TurnEvent::RunCommand(Box::new(run)), write]
}

/// A turn that has asked for approval of a call, which was given, and for
/// everything else that an agent can have done.
fn with_everything_wanted() -> Host {
    let mut host = Host::in_a_directory();
    host.tasks();
    host.start_turn(1, "t1");
    asks_to_run(&mut host);
    let approved = json!({"type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "c",
                          "approved": true, "confirmed": "user-action"});
    host.dispatch(1, &chat(), approved);
    assert_eq!(host.rejection(1), "");
    for wish in wishes() {
        host.in_turn("t1", wish);
    }
    host
}

fn granted(host: &Host) -> Vec<&'static str> {
    let commands = host.commands.iter();
    let decisions = commands.filter_map(|command| match command {
        AgentCommand::Decide { decision, .. } => Some(&**decision),
        _ => None,
    });
    let names = decisions.map(|decision| match decision {
        Decision::Tool { .. } => "tool",
        Decision::CommandStarted { .. } => "command",
        Decision::MayWrite { .. } => "write",
        _ => "other",
    });
    names.collect()
}

#[test]
fn what_the_host_does_to_files_for_a_turn_waits_until_the_state_before_it_is_kept() {
    let mut host = with_everything_wanted();
    assert!(granted(&host).is_empty(), "{:?}", granted(&host));
    kept(&mut host, "t1");
    assert_eq!(granted(&host), ["tool", "command", "write"]);
    // From now on nothing waits.
    host.in_turn("t1", wishes()[1].clone());
    assert_eq!(granted(&host).len(), 4);
    assert!(!host.tasks().iter().any(is_marked));
}

#[test]
fn a_state_that_is_not_kept_in_time_is_not_waited_for_and_marked_as_late() {
    let mut host = with_everything_wanted();
    host.tasks();
    host.wait(Duration::from_secs(4));
    assert!(granted(&host).is_empty());
    host.wait(Duration::from_secs(2));
    assert_eq!(granted(&host), ["tool", "command", "write"]);
    let turn = "t1".to_owned();
    assert_eq!(host.tasks(), [ChangesTask::MarkLate { turn }]);
    kept(&mut host, "t1");
    assert_eq!(granted(&host).len(), 3, "everything is done once");
}

fn is_marked(task: &ChangesTask) -> bool {
    matches!(task, ChangesTask::MarkLate { .. })
}

#[test]
fn a_state_is_marked_as_late_if_the_agent_runs_tools_by_itself_meanwhile() {
    for before in [true, false] {
        let mut host = Host::in_a_directory();
        host.start_turn(1, "t1");
        host.tasks();
        if !before {
            kept(&mut host, "t1");
        }
        host.in_turn("t1", started("c"));
        host.in_turn("t1", not_asked("c"));
        if before {
            kept(&mut host, "t1");
        }
        assert_eq!(host.tasks().iter().any(is_marked), before);
    }
}

#[test]
fn a_tool_that_only_looks_does_not_make_a_state_late() {
    for (kind, late) in [("read", false), ("search", false), ("edit", true)] {
        let mut host = Host::in_a_directory();
        host.start_turn(1, "t1");
        host.tasks();
        host.in_turn("t1", started("c"));
        let TurnEvent::ToolReady(mut ready) = not_asked("c") else {
            panic!("it runs");
        };
        let meta = json!({"toolKind": kind});
        ready.meta = serde_json::from_value(meta).unwrap();
        host.in_turn("t1", TurnEvent::ToolReady(ready));
        kept(&mut host, "t1");
        assert_eq!(host.tasks().iter().any(is_marked), late, "{kind}");
    }
}

#[test]
fn a_denial_does_not_wait() {
    let mut host = Host::in_a_directory();
    host.start_turn(1, "t1");
    asks_to_run(&mut host);
    let denied = json!({"type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "c",
                        "approved": false, "reason": "denied"});
    host.dispatch(1, &chat(), denied);
    assert_eq!(granted(&host), ["tool"]);
}

#[test]
fn a_command_of_the_users_waits_until_the_state_before_it_is_kept() {
    let mut host = Host::in_a_directory();
    let message = json!({"text": "!make", "origin": {"kind": "user"}});
    let started = json!({"type": "chat/turnStarted", "turnId": "t1", "message": message,
                         "startedAt": "2026-01-01T00:00:00.000Z"});
    host.dispatch(1, &chat(), started);
    let parts = |host: &mut Host| host.state(&chat())["activeTurn"]["responseParts"].take();
    assert_eq!(parts(&mut host), json!([]));
    kept(&mut host, "t1");
    assert_eq!(parts(&mut host)[0]["kind"], "toolCall");
    assert_eq!(host.prompts(), 0);
}

#[test]
fn nothing_waits_where_no_changes_can_be_told() {
    let mut host = with_everything_wanted();
    let reason = "too large".to_owned();
    host.changes_reported(ChangesEvent::Unavailable { reason });
    assert_eq!(granted(&host), ["tool", "command", "write"]);
    assert_eq!(host.state(SESSION)["changesets"], Value::Null);
}

#[test]
fn what_waits_goes_with_a_turn_that_is_cancelled() {
    let mut host = with_everything_wanted();
    let cancelled = json!({"type": "chat/turnCancelled", "turnId": "t1", "duration": 0});
    host.dispatch(1, &chat(), cancelled);
    kept(&mut host, "t1");
    assert!(granted(&host).is_empty());
}

#[test]
fn an_agent_that_wants_very_much_meanwhile_is_not_kept_waiting() {
    let mut host = Host::in_a_directory();
    host.start_turn(1, "t1");
    host.tasks();
    for _ in 0..1_000 {
        host.in_turn("t1", wishes()[1].clone());
    }
    assert_eq!(granted(&host).len(), 1_000);
    assert!(host.tasks().iter().any(is_marked));
}
