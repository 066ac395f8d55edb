//! One conversation with the script agent: commands in, turns played, until it
//! is closed or a scenario lets it die.

use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::agent::{AgentCommand, AgentEvent, OpenBackend, Prompt, TurnEvent};
use innkeeper_protocol::house::common::JsonObject;
use innkeeper_protocol::house::state::ErrorInfo;
use serde_json::json;

use super::history::History;
use super::player::{Outcome, Player};
use super::scenario;
use super::step::{Speech, Step};
use crate::{CommandStream, EventSink};

pub(super) async fn run(open: OpenBackend, commands: CommandStream, events: EventSink) {
    let resume = Some(json!({"script": 1}));
    events.emit(AgentEvent::Opened { resume }).await;
    let mut backend = Backend {
        commands,
        events,
        memory: Memory::new(open),
    };
    while let Some(command) = backend.commands.next().await {
        let life = match command {
            AgentCommand::Prompt(prompt) => backend.turn(*prompt).await,
            AgentCommand::Close { .. } => Life::Over,
            AgentCommand::Configure { values, .. } => backend.memory.configure(values),
            AgentCommand::Truncate { keep, .. } => backend.memory.truncate(keep),
            // A turn that has just ended may still be cancelled.
            AgentCommand::Cancel { .. } | AgentCommand::Open(_) => Life::GoesOn,
        };
        if let Life::Over = life {
            return;
        }
    }
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
            Err(failed) => return self.end(prompt, failed, None).await,
        };
        match self.play(&prompt, steps).await {
            Stop::BackendOver | Stop::Ended(Outcome::Crashed) => Life::Over,
            Stop::Cancelled => self.end(prompt, TurnEvent::Cancelled, None).await,
            Stop::Ended(Outcome::Completed) => self.end(prompt, TurnEvent::Completed, None).await,
            Stop::Ended(Outcome::Unavailable(step)) => {
                let message = format!("the step `{step}` is not available yet");
                let failed = failed("notAvailable", message, false);
                self.end(prompt, failed, None).await
            }
            Stop::Ended(Outcome::Failed { failure, rest }) => {
                let failed = failed(&failure.error_type, failure.message, true);
                self.end(prompt, failed, Some(rest)).await
            }
        }
    }

    fn steps_for(&self, prompt: &Prompt) -> Result<Vec<Step>, TurnEvent> {
        if prompt.resumed {
            let rest = self.memory.lock().history.take_up(&prompt.turn);
            // Where an earlier backend stopped is not known to this one.
            let go_on = || vec![Step::Say(Speech::plain("Continuing where it stopped."))];
            return Ok(rest.unwrap_or_else(go_on));
        }
        scenario::of_message(&prompt.message.text)
            .map_err(|error| failed(error.error_type(), error.to_string(), false))
    }

    /// Plays while listening, so that a command is heard at any step.
    async fn play(&mut self, prompt: &Prompt, steps: Vec<Step>) -> Stop {
        let player = Player {
            events: &self.events,
            turn: &prompt.turn,
            message: &prompt.message,
            memory: &self.memory,
            part_open: prompt.resumed,
        };
        let mut playing = pin!(player.play(steps));
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
                Some(AgentCommand::Configure { values, .. }) => _ = self.memory.configure(values),
                Some(AgentCommand::Truncate { keep, .. }) => _ = self.memory.truncate(keep),
                Some(AgentCommand::Prompt(other)) => {
                    tracing::warn!(turn = &*other.turn, "prompted while a turn runs; ignored");
                }
                Some(AgentCommand::Cancel { .. } | AgentCommand::Open(_)) => {}
            }
        }
    }

    async fn end(&self, prompt: Prompt, last: TurnEvent, rest: Option<Vec<Step>>) -> Life {
        let Prompt { turn, message, .. } = prompt;
        let known = turn.clone();
        self.memory.lock().history.add(known, message.text, rest);
        self.events.turn(&turn, last).await;
        Life::GoesOn
    }
}

/// What a backend knows beside the turn that runs. It may change while a step
/// is being played, hence the lock, which is never held while waiting.
#[derive(Debug)]
pub(super) struct Memory(Mutex<Known>);

#[derive(Debug)]
pub(super) struct Known {
    pub(super) config: JsonObject,
    pub(super) history: History,
}

impl Memory {
    fn new(open: OpenBackend) -> Self {
        Self(Mutex::new(Known {
            config: open.config,
            history: History::new(open.transcript),
        }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn configure(&self, values: JsonObject) -> Life {
        self.lock().config = values;
        Life::GoesOn
    }

    fn truncate(&self, keep: usize) -> Life {
        self.lock().history.truncate(keep);
        Life::GoesOn
    }
}

fn failed(error_type: &str, message: String, resumable: bool) -> TurnEvent {
    let error = ErrorInfo {
        error_type: error_type.to_owned(),
        message,
        stack: None,
        meta: None,
    };
    TurnEvent::Failed { error, resumable }
}
