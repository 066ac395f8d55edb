//! One conversation with the script agent: commands in, turns played, until it
//! is closed or a scenario lets it die.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::agent::{
    AgentCommand, AgentCommandInfo, AgentEvent, AgentFailure, ClientTool, OpenBackend, Prompt,
    TurnEvent,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{ErrorInfo, ToolCallContributor};
use innkeeper_protocol::workspace::customization::EnabledCustomizations;
use serde_json::{Value, json};

use super::history::History;
use super::inbox::Inbox;
use super::player::{Answers, Outcome, Player};
use super::progress::{self, Remaining};
use super::{builtin, profile, scenario};
use crate::{CommandStream, EventSink};

pub(super) async fn run(open: OpenBackend, commands: CommandStream, events: EventSink) {
    let resume = Some(json!({"script": 1}));
    events.emit(AgentEvent::Opened { resume }).await;
    events.emit(AgentEvent::Tools(profile::tools())).await;
    events.emit(AgentEvent::Commands(commands_offered())).await;
    let mut backend = Backend {
        commands,
        events,
        memory: Memory::new(open),
    };
    while let Some(command) = backend.commands.next().await {
        let life = match command {
            AgentCommand::Prompt(prompt) => backend.turn(*prompt).await,
            AgentCommand::Close { .. } => Life::Over,
            other => {
                backend.memory.learn(other);
                Life::GoesOn
            }
        };
        if let Life::Over = life {
            return;
        }
    }
}

fn commands_offered() -> Vec<AgentCommandInfo> {
    vec![AgentCommandInfo {
        name: builtin::LIST.to_owned(),
        description: Some("Lists the scenarios that have names".to_owned()),
        hint: None,
    }]
}

enum Life {
    GoesOn,
    Over,
}

struct Backend {
    commands: CommandStream,
    events: EventSink,
    memory: Memory,
}

/// Why a turn is not played any further.
enum Stop {
    Cancelled,
    Ended(Outcome),
    BackendOver,
}

impl Backend {
    async fn turn(&mut self, prompt: Prompt) -> Life {
        let steps = match self.steps_for(&prompt) {
            Ok(steps) => steps,
            Err(failed) => return self.end(prompt, *failed).await,
        };
        let last = match self.play(&prompt, steps).await {
            Stop::BackendOver | Stop::Ended(Outcome::Crashed) => return Life::Over,
            Stop::Cancelled => TurnEvent::Cancelled,
            Stop::Ended(Outcome::Completed) => TurnEvent::Completed,
            Stop::Ended(Outcome::Failed(failure)) => {
                failed(&failure.error_type, failure.message, true)
            }
        };
        self.end(prompt, last).await
    }

    fn steps_for(&self, prompt: &Prompt) -> Result<Vec<Remaining>, Box<TurnEvent>> {
        let steps = scenario::of_message(&prompt.message.text)
            .map_err(|error| Box::new(failed(error.error_type(), error.to_string(), false)))?;
        Ok(match &prompt.resumed {
            None => Remaining::all(steps),
            Some(parts) => {
                self.memory.lock().history.take_up(&prompt.turn);
                progress::remaining(steps, parts)
            }
        })
    }

    /// Plays while listening, so that a command is heard at any step.
    async fn play(&mut self, prompt: &Prompt, steps: Vec<Remaining>) -> Stop {
        let inbox = Inbox::new();
        let before = prompt.resumed.as_deref().unwrap_or_default();
        let player = Player {
            events: &self.events,
            turn: prompt.turn.clone(),
            message: &prompt.message,
            memory: &self.memory,
            inbox: &inbox,
            part_open: prompt.resumed.is_some(),
            calls: before.len(),
            answers: Answers::of(before),
        };
        let mut playing = player.play(steps);
        loop {
            let command = tokio::select! {
                biased;
                command = self.commands.next() => command,
                outcome = &mut playing => return Stop::Ended(outcome),
            };
            match command {
                None | Some(AgentCommand::Close { .. }) => return Stop::BackendOver,
                Some(AgentCommand::Cancel { turn, .. }) if turn == prompt.turn => {
                    return Stop::Cancelled;
                }
                Some(AgentCommand::Cancel { turn, .. }) => inbox.cancel(turn),
                Some(AgentCommand::Decide { turn, decision, .. }) => {
                    inbox.decided(turn, *decision);
                }
                Some(AgentCommand::Steer { message, .. }) => {
                    inbox.steer(message.map(|message| *message));
                }
                Some(AgentCommand::Prompt(other)) => {
                    tracing::warn!(turn = &*other.turn, "prompted while a turn runs; ignored");
                }
                Some(other) => self.memory.learn(other),
            }
        }
    }

    async fn end(&self, prompt: Prompt, last: TurnEvent) -> Life {
        let Prompt { turn, message, .. } = prompt;
        let known = turn.clone();
        self.memory.lock().history.add(known, message.text);
        self.events.turn(&turn, last).await;
        Life::GoesOn
    }
}

/// What a backend knows besides the turn that runs. It may change while a step
/// is being played, hence the lock, which is never held while waiting.
#[derive(Debug)]
pub(super) struct Memory(Mutex<Known>);

#[derive(Debug)]
pub(super) struct Known {
    pub(super) config: JsonObject,
    pub(super) history: History,
    /// What it was given to be customized with, as `echo` says it.
    pub(super) customizations: Value,
    client_tools: Arc<[ClientTool]>,
    /// Where it works, as `file:` URIs.
    pub(super) directories: Vec<String>,
}

impl Memory {
    fn new(open: OpenBackend) -> Self {
        Self(Mutex::new(Known {
            config: open.config,
            history: History::new(open.transcript),
            customizations: told(&open.customizations),
            client_tools: open.client_tools,
            directories: open.directories,
        }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what changes what the backend knows. What was meant for a
    /// turn that has just ended changes nothing.
    fn learn(&self, command: AgentCommand) {
        match command {
            AgentCommand::Configure { values, .. } => self.lock().config = values,
            AgentCommand::Truncate { transcript, .. } => {
                self.lock().history = History::new(transcript);
            }
            AgentCommand::OfferTools { tools, .. } => self.lock().client_tools = tools,
            _ => {}
        }
    }
}

/// By name only: how an MCP server is started is nobody's business.
fn told(customizations: &EnabledCustomizations) -> Value {
    let servers = customizations.mcp_servers.iter().map(|it| &it.name);
    let servers = servers.chain(customizations.hosted_servers.values());
    let files = customizations.files.iter();
    let files = files.map(|it| json!({"type": it.kind.name(), "name": it.name, "uri": it.uri}));
    json!({
        "mcpServers": servers.collect::<Vec<_>>(),
        "files": files.collect::<Vec<_>>(),
    })
}

impl Known {
    /// Who offers a tool, and what the tool is called.
    pub(super) fn owner_of(&self, name: &str) -> Option<(ToolCallContributor, String)> {
        let mut tools = self.client_tools.iter();
        let tool = tools.find(|tool| tool.definition.name == name)?;
        let title = tool.definition.title.as_deref().unwrap_or(name);
        Some((tool.owner.contributor(), title.to_owned()))
    }
}

pub(super) fn failed(error_type: &str, message: String, resumable: bool) -> TurnEvent {
    let failure = AgentFailure::Own(Box::new(ErrorInfo {
        error_type: error_type.to_owned(),
        message,
        stack: None,
        meta: None,
    }));
    TurnEvent::Failed { failure, resumable }
}
