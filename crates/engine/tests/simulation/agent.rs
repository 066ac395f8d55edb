//! The agent's side: it obeys or does not, in any order, at any time.

use std::collections::BTreeMap;

use bytes::Bytes;
use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::{
    AgentActivity, AgentCommand, AgentEnd, AgentEvent, AgentFailure, AgentNotice, AgentProfile,
    AgentReport, Approval, ApprovalLabel, ApprovalOption, ApprovalRequest, BackendId, CommandRun,
    Decision, Delegation, Teller, ToolReady, ToolStart, TurnEvent,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    AgentCapabilities, AgentInfo, ConfirmationOptionKind, ErrorInfo, MultipleChatsCapability,
    MultipleWorkingDirectoriesCapability, SessionConfigSchema, ToolCallClientContributor,
    ToolCallContributor, ToolCallMcpContributor, ToolCallResult, ToolResultContent,
    ToolResultTextContent, UsageInfo,
};
use innkeeper_protocol::settings::{MODE, Synonym, auto_approve};
use innkeeper_protocol::workspace::terminal::TerminalProgram;
use serde_json::json;

use crate::rng::Rng;
use crate::servers;

#[derive(Debug, Default)]
pub(crate) struct Backends {
    all: BTreeMap<BackendId, Backend>,
    /// Turns that some backend was once given.
    past: Vec<TurnId>,
    said: usize,
}

#[derive(Debug, Default)]
struct Backend {
    open: bool,
    turn: Option<TurnId>,
    /// Turns that it delegated and that have not ended.
    delegated: Vec<TurnId>,
    /// The last steering message that it was given.
    steering: Option<String>,
    /// The last command that it had run.
    run: Option<String>,
    /// It has said something that no backend should.
    unruly: bool,
}

impl Backends {
    /// Takes a command. An error is one that the engine should not have given.
    pub(crate) fn command(&mut self, command: &AgentCommand) -> Result<(), String> {
        if let AgentCommand::Open(open) = command {
            let known = self.all.insert(open.backend, Backend::default());
            return match known {
                Some(_) => Err(format!("{:?} was opened twice", open.backend)),
                None => Ok(()),
            };
        }
        // A backend that ended may still be told things.
        let Some(backend) = self.all.get_mut(&command.backend()) else {
            return Ok(());
        };
        match command {
            AgentCommand::Prompt(prompt) => {
                if !backend.unruly && (!backend.open || backend.turn.is_some()) {
                    return Err(format!("a prompt for {backend:?}"));
                }
                backend.turn = Some(prompt.turn.clone());
                self.past.push(prompt.turn.clone());
            }
            AgentCommand::Close { backend } => {
                self.all.remove(backend);
            }
            AgentCommand::Steer { message, .. } => {
                backend.steering = message.as_ref().map(|message| message.id.clone());
            }
            AgentCommand::Cancel { turn, .. } => backend.delegated.retain(|id| id != turn),
            AgentCommand::Open(_)
            | AgentCommand::Configure { .. }
            | AgentCommand::Decide { .. }
            | AgentCommand::OfferTools { .. }
            | AgentCommand::Authenticate { .. }
            | AgentCommand::Forget { .. }
            | AgentCommand::Truncate { .. } => {}
        }
        Ok(())
    }

    /// Something that an agent might say now, and what kind of thing it is.
    pub(crate) fn speak(&mut self, rng: &mut Rng) -> Option<(&'static str, AgentReport)> {
        // Mostly one that has something to do.
        let idle = rng.chance(10);
        let all = self.all.iter();
        let ids: Vec<BackendId> = all
            .filter(|(_, backend)| idle || !backend.open || backend.turn.is_some())
            .map(|(id, _)| *id)
            .collect();
        let id = *rng.pick(&ids)?;
        self.said += 1;
        let said = self.said;
        let backend = self.all.get_mut(&id)?;
        let (kind, event) = if rng.chance(3) {
            backend.unruly = true;
            nonsense(rng, &self.past)
        } else if !backend.open {
            match rng.weighted(&[(8, "opened"), (1, "openFailed")]) {
                "opened" => {
                    backend.open = true;
                    let resume = rng.chance(50).then(|| json!({ "thread": said }));
                    ("opened", AgentEvent::Opened { resume })
                }
                kind => {
                    self.all.remove(&id);
                    (kind, AgentEvent::OpenFailed(error("it would not start")))
                }
            }
        } else if rng.chance(2) {
            let idle = backend.turn.is_none();
            self.all.remove(&id);
            let end = AgentEnd::Stopped;
            ("exited", AgentEvent::Exited { end, idle })
        } else if rng.chance(3) {
            let bytes = rng.below(120) as u64;
            ("memory", AgentEvent::Memory { bytes })
        } else if rng.chance(3) {
            (
                "title",
                AgentEvent::Title(format!("Named by the agent {said}")),
            )
        } else {
            let own = backend.turn.clone();
            let turn = match (rng.pick(&backend.delegated), &own) {
                (Some(delegated), None) => delegated.clone(),
                (Some(delegated), _) if rng.chance(40) => delegated.clone(),
                (_, own) => own.clone()?,
            };
            let (kind, event) = within_turn(rng, said, backend, &turn);
            if ends(&event) {
                backend.delegated.retain(|id| *id != turn);
                if own == Some(turn.clone()) {
                    backend.turn = None;
                    backend.delegated.retain(works_in_background);
                }
            }
            (kind, AgentEvent::Turn { turn, event })
        };
        let backend = id;
        Some((kind, AgentReport { backend, event }))
    }

    /// What brings everything that is under way to its end.
    pub(crate) fn finish(&mut self) -> Option<AgentReport> {
        for (&backend, state) in &mut self.all {
            if !state.open {
                state.open = true;
                let event = AgentEvent::Opened { resume: None };
                return Some(AgentReport { backend, event });
            }
            if let Some(turn) = state.turn.take() {
                state.delegated.retain(works_in_background);
                let event = TurnEvent::Completed;
                let event = AgentEvent::Turn { turn, event };
                return Some(AgentReport { backend, event });
            }
            if let Some(turn) = state.delegated.pop() {
                let event = TurnEvent::Completed;
                let event = AgentEvent::Turn { turn, event };
                return Some(AgentReport { backend, event });
            }
        }
        None
    }
}

/// The end of the name of a turn that goes on without the one that delegated it.
const BACKGROUND: &str = "&";

fn works_in_background(turn: &TurnId) -> bool {
    turn.ends_with(BACKGROUND)
}

fn within_turn(
    rng: &mut Rng,
    said: usize,
    backend: &mut Backend,
    turn: &TurnId,
) -> (&'static str, TurnEvent) {
    let kind = rng.weighted(&[
        (24, "text"),
        (8, "reasoning"),
        (4, "break"),
        (4, "content"),
        (4, "usage"),
        (6, "activity"),
        (3, "notice"),
        (9, "toolStarted"),
        (5, "toolInput"),
        (14, "toolReady"),
        (7, "toolContent"),
        (12, "toolFinished"),
        (6, "ask"),
        (2, "withdrawn"),
        (4, "steered"),
        (3, "delegated"),
        (5, "runCommand"),
        (1, "readCommand"),
        (1, "writeFile"),
        (2, "stopCommand"),
        (9, "completed"),
        (2, "cancelled"),
        (4, "failed"),
    ]);
    let event = match kind {
        "text" => TurnEvent::Text(if rng.chance(5) {
            String::new()
        } else {
            format!("t{said} ")
        }),
        "reasoning" => TurnEvent::Reasoning(format!("r{said} ")),
        "break" => TurnEvent::Break,
        "content" => TurnEvent::Content {
            data: Bytes::from(vec![if rng.chance(50) { b'x' } else { 0xff }; said % 7]),
            content_type: "text/plain".to_owned(),
        },
        "usage" => TurnEvent::Usage(UsageInfo {
            input_tokens: Some(said as i64),
            ..UsageInfo::default()
        }),
        "activity" => TurnEvent::Activity(
            rng.chance(70)
                .then(|| AgentActivity::Own(format!("Doing {said}"))),
        ),
        "notice" => TurnEvent::Notice(AgentNotice::own(format!("n{said}"))),
        "toolStarted" | "toolInput" | "toolReady" | "toolContent" | "toolFinished" => {
            tool_event(rng, kind, said)
        }
        "ask" => TurnEvent::Ask(Box::new(
            serde_json::from_value(json!({
                "id": format!("q{}", rng.below(2)), "message": format!("What {said}?"),
                "questions": [
                    {"kind": "text", "id": "a", "message": "?", "required": true},
                    {"kind": "boolean", "id": "b", "message": "?"},
                ],
            }))
            .unwrap(),
        )),
        "withdrawn" => TurnEvent::AskWithdrawn {
            request: format!("q{}", rng.below(2)),
        },
        "steered" => TurnEvent::Steered {
            message: backend.steering.take().unwrap_or_default(),
        },
        "delegated" => {
            let in_background = rng.chance(30);
            let mark = if in_background { BACKGROUND } else { "" };
            let delegated: TurnId = format!("{turn}/{said}{mark}").into();
            backend.delegated.push(delegated.clone());
            TurnEvent::Delegated(Box::new(Delegation {
                call: any_call(rng).into(),
                turn: delegated,
                title: format!("Helper {said}"),
                agent_name: None,
                description: None,
                message: "help".to_owned(),
                told_by: match said % 2 {
                    0 => Teller::Tool,
                    _ => Teller::Agent,
                },
                in_background,
            }))
        }
        "runCommand" => {
            let run = format!("run-{said}");
            backend.run = Some(run.clone());
            TurnEvent::RunCommand(Box::new(CommandRun {
                run,
                call: rng.chance(70).then(|| any_call(rng).into()),
                program: TerminalProgram::Command(format!("make {said}")),
                title: rng.chance(50).then(|| "Make".to_owned()),
                directory: None,
                environment: None,
                output_bytes: None,
            }))
        }
        "readCommand" => TurnEvent::ReadCommand {
            run: backend.run.clone().unwrap_or_default(),
        },
        "writeFile" => TurnEvent::WriteFile {
            write: said.to_string(),
        },
        "stopCommand" => TurnEvent::StopCommand {
            run: backend.run.clone().unwrap_or_default(),
        },
        "completed" => TurnEvent::Completed,
        "cancelled" => TurnEvent::Cancelled,
        _ => TurnEvent::Failed {
            failure: error("it went wrong"),
            resumable: rng.chance(70),
        },
    };
    (kind, event)
}

/// Few names, so that calls are met in every state.
fn any_call(rng: &mut Rng) -> String {
    format!("c{}", rng.below(2))
}

fn tool_event(rng: &mut Rng, kind: &str, said: usize) -> TurnEvent {
    let call = any_call(rng);
    let text = |length: usize| {
        ToolResultContent::Text(ToolResultTextContent {
            text: "x".repeat(length),
        })
    };
    match kind {
        "toolStarted" => TurnEvent::ToolStarted(Box::new(ToolStart {
            call: call.into(),
            name: "tool".to_owned(),
            display_name: "Tool".to_owned(),
            intention: None,
            contributor: match rng.below(10) {
                0..4 => Some(ToolCallContributor::Client(ToolCallClientContributor {
                    client_id: format!("client-{}", rng.below(4)),
                })),
                4..6 => Some(ToolCallContributor::Mcp(ToolCallMcpContributor {
                    customization_id: rng.pick(&servers::IDS).unwrap().to_string(),
                })),
                _ => None,
            },
            meta: None,
        })),
        "toolInput" => TurnEvent::ToolInput {
            call: call.into(),
            content: format!("i{said} "),
        },
        "toolReady" => TurnEvent::ToolReady(Box::new(ToolReady {
            call: call.into(),
            input: rng.chance(70).then(|| format!("input {said}")),
            message: StringOrMarkdown::Plain(format!("Do {said}")),
            approval: match rng.chance(65) {
                true => Approval::Needed(ApprovalRequest {
                    editable: rng.chance(50),
                    options: vec![
                        option(
                            "yes",
                            ApprovalLabel::AllowOnce,
                            ConfirmationOptionKind::Approve,
                        ),
                        option("no", ApprovalLabel::DenyOnce, ConfirmationOptionKind::Deny),
                    ],
                    ..ApprovalRequest::default()
                }),
                false => Approval::NotNeeded,
            },
            meta: None,
        })),
        "toolContent" => TurnEvent::ToolContent {
            call: call.into(),
            content: vec![text(rng.below(40))],
        },
        _ => TurnEvent::ToolFinished {
            call: call.into(),
            result: Box::new(ToolCallResult {
                success: rng.chance(80),
                past_tense_message: StringOrMarkdown::Plain(format!("Did {said}")),
                content: rng.chance(60).then(|| vec![text(rng.below(40))]),
                structured_content: None,
                error: None,
            }),
            confirm: rng.chance(70),
        },
    }
}

fn ends(event: &TurnEvent) -> bool {
    matches!(
        event,
        TurnEvent::Completed | TurnEvent::Cancelled | TurnEvent::Failed { .. }
    )
}

fn nonsense(rng: &mut Rng, past: &[TurnId]) -> (&'static str, AgentEvent) {
    let turn = match rng.pick(past) {
        Some(turn) if rng.chance(70) => turn.clone(),
        _ => TurnId::from("no such turn"),
    };
    let event = match rng.below(4) {
        0 => AgentEvent::Opened { resume: None },
        1 => AgentEvent::Turn {
            turn,
            event: TurnEvent::Completed,
        },
        2 => AgentEvent::Turn {
            turn,
            event: TurnEvent::Text("out of turn ".to_owned()),
        },
        _ => AgentEvent::Title(String::new()),
    };
    ("nonsense", event)
}

fn option(id: &str, label: ApprovalLabel, kind: ConfirmationOptionKind) -> ApprovalOption {
    ApprovalOption {
        id: id.to_owned(),
        label,
        kind,
        group: None,
    }
}

fn error(message: &str) -> AgentFailure {
    AgentFailure::Own(Box::new(ErrorInfo {
        error_type: "simulated".to_owned(),
        message: message.to_owned(),
        stack: None,
        meta: None,
    }))
}

/// The agents that the host has: the first always, others come and go.
pub(crate) fn profiles(count: usize) -> Vec<AgentProfile> {
    ["alpha", "beta", "gamma"][..count]
        .iter()
        .map(|&name| AgentProfile {
            info: AgentInfo {
                provider: name.to_owned(),
                display_name: name.to_uppercase(),
                description: String::new(),
                models: Vec::new(),
                protected_resources: None,
                customizations: Some(vec![
                    serde_json::from_value(json!({
                        "type": "plugin", "id": "p", "uri": "x:plugin", "name": "Plugin",
                        "children": [
                            {"type": "agent", "id": "a", "uri": "x:agent", "name": "Agent"},
                        ],
                    }))
                    .unwrap(),
                ]),
                capabilities: (name != "beta").then(|| AgentCapabilities {
                    multiple_chats: Some(MultipleChatsCapability {
                        fork: Some(true),
                        side_chat: Some(true),
                    }),
                    multiple_working_directories: Some(MultipleWorkingDirectoriesCapability {
                        immutable_primary: Some(true),
                        primary_replacement: (name != "gamma").then_some(true),
                    }),
                }),
            },
            config: (name != "gamma").then(settings),
            synonyms: vec![Synonym::new(MODE, "ask", "careful")],
            works: true,
            resumes: true,
            reach: Default::default(),
        })
        .collect()
}

fn settings() -> SessionConfigSchema {
    serde_json::from_value(json!({
        "type": "object",
        "properties": {
            "mode": {
                "type": "string", "title": "Mode", "default": "ask",
                "enum": ["ask", "do"], "sessionMutable": true,
            },
            "autoApprove": auto_approve(),
            "branch": { "type": "string", "title": "Branch", "enumDynamic": true },
        },
    }))
    .unwrap()
}

/// A name for what an agent is told, to count how often each kind occurs.
pub(crate) fn kind_of(command: &AgentCommand) -> &'static str {
    match command {
        AgentCommand::Open(_) => "told to open",
        AgentCommand::Prompt(prompt) if prompt.resumed.is_some() => "told to resume",
        AgentCommand::Prompt(_) => "told to run",
        AgentCommand::Cancel { .. } => "told to cancel",
        AgentCommand::Configure { .. } => "told to configure",
        AgentCommand::Truncate { .. } => "told to truncate",
        AgentCommand::Steer { message: None, .. } => "told to forget steering",
        AgentCommand::Steer { .. } => "told to steer",
        AgentCommand::Decide { decision, .. } => match **decision {
            Decision::Tool { .. } => "told about a call",
            Decision::ToolResult { .. } => "told about a result",
            Decision::ClientTool { .. } => "told what a client did",
            Decision::MayWrite { .. } => "told to write",
            Decision::CommandStarted { .. } => "told where a command runs",
            Decision::CommandOutput { .. } => "told what a command said",
            Decision::Command { .. } => "told what a command did",
            Decision::Answer { .. } => "told the answer",
        },
        AgentCommand::OfferTools { .. } => "told of tools",
        AgentCommand::Authenticate { .. } => "told a token",
        AgentCommand::Forget { .. } => "told to forget",
        AgentCommand::Close { .. } => "told to close",
    }
}
