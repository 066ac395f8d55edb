//! The agent's side: it obeys or does not, in any order, at any time.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use innkeeper_protocol::agent::{
    AgentCommand, AgentEvent, AgentProfile, AgentReport, BackendId, TurnEvent,
};
use innkeeper_protocol::house::common::StringOrMarkdown;
use innkeeper_protocol::house::state::{
    AgentCapabilities, AgentInfo, ErrorInfo, MultipleChatsCapability, SessionConfigSchema,
    UsageInfo,
};
use serde_json::json;

use crate::rng::Rng;

#[derive(Debug, Default)]
pub(crate) struct Backends {
    all: BTreeMap<BackendId, Backend>,
    /// Turns that some backend was once given.
    past: Vec<Arc<str>>,
    said: usize,
}

#[derive(Debug, Default)]
struct Backend {
    open: bool,
    turn: Option<Arc<str>>,
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
            AgentCommand::Open(_)
            | AgentCommand::Cancel { .. }
            | AgentCommand::Configure { .. }
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
            self.all.remove(&id);
            let reason = "killed".to_owned();
            ("exited", AgentEvent::Exited { reason })
        } else if rng.chance(3) {
            (
                "title",
                AgentEvent::Title(format!("Named by the agent {said}")),
            )
        } else {
            let turn = backend.turn.clone()?;
            let (kind, event) = within_turn(rng, said);
            if ends(&event) {
                backend.turn = None;
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
                let event = TurnEvent::Completed;
                let event = AgentEvent::Turn { turn, event };
                return Some(AgentReport { backend, event });
            }
        }
        None
    }
}

fn within_turn(rng: &mut Rng, said: usize) -> (&'static str, TurnEvent) {
    let kind = rng.weighted(&[
        (24, "text"),
        (8, "reasoning"),
        (4, "break"),
        (4, "content"),
        (4, "usage"),
        (6, "activity"),
        (3, "notice"),
        (18, "completed"),
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
        "activity" => TurnEvent::Activity(rng.chance(70).then(|| format!("Doing {said}"))),
        "notice" => TurnEvent::Notice(StringOrMarkdown::Plain(format!("n{said}"))),
        "completed" => TurnEvent::Completed,
        "cancelled" => TurnEvent::Cancelled,
        _ => TurnEvent::Failed {
            error: error("it went wrong"),
            resumable: rng.chance(70),
        },
    };
    (kind, event)
}

fn ends(event: &TurnEvent) -> bool {
    matches!(
        event,
        TurnEvent::Completed | TurnEvent::Cancelled | TurnEvent::Failed { .. }
    )
}

fn nonsense(rng: &mut Rng, past: &[Arc<str>]) -> (&'static str, AgentEvent) {
    let turn = match rng.pick(past) {
        Some(turn) if rng.chance(70) => turn.clone(),
        _ => Arc::from("no such turn"),
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

fn error(message: &str) -> ErrorInfo {
    ErrorInfo {
        error_type: "simulated".to_owned(),
        message: message.to_owned(),
        stack: None,
        meta: None,
    }
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
                customizations: None,
                capabilities: (name != "beta").then(|| AgentCapabilities {
                    multiple_chats: Some(MultipleChatsCapability {
                        fork: Some(true),
                        side_chat: None,
                    }),
                    ..AgentCapabilities::default()
                }),
            },
            config: (name != "gamma").then(settings),
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
            "branch": { "type": "string", "title": "Branch" },
        },
    }))
    .unwrap()
}
