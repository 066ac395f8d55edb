//! The commands of the engine to a conversation, in order; some are heard in the
//! middle of something else.

use std::collections::VecDeque;

use innkeeper_protocol::agent::{AgentCommand, Decision};

use super::conversation::NotOpened;
use crate::CommandStream;

#[derive(Debug)]
pub(crate) struct Inbox {
    commands: CommandStream,
    /// Commands that came while nobody had time for them.
    early: VecDeque<AgentCommand>,
    pub(super) closed: bool,
}

impl Inbox {
    pub(super) fn new(commands: CommandStream, early: VecDeque<AgentCommand>) -> Self {
        Self {
            commands,
            early,
            closed: false,
        }
    }

    /// The next command; those that came early come first.
    pub(super) async fn next(&mut self) -> Option<AgentCommand> {
        match self.early.pop_front() {
            Some(command) => Some(command),
            None => self.commands.next().await,
        }
    }

    /// Waits for the end of the conversation; all else is heard later.
    pub(super) async fn until_closed(&mut self) -> NotOpened {
        self.commands.until_closed(&mut self.early).await;
        self.closed = true;
        NotOpened::Closed
    }

    /// What somebody decides in a turn, unless they stop it or the engine closes
    /// the conversation; all else is heard later. Waiting may be given up at any
    /// time without losing a command.
    pub(crate) async fn decision(&mut self, turn: &str) -> Result<Decision, NotOpened> {
        let concerns = |command: &AgentCommand| match command {
            AgentCommand::Cancel { turn: of, .. } | AgentCommand::Decide { turn: of, .. } => {
                **of == *turn
            }
            _ => false,
        };
        let mut waiting = self.early.iter().position(concerns);
        loop {
            let command = match waiting.take() {
                Some(at) => self.early.remove(at),
                None => self.commands.next().await,
            };
            match command {
                None | Some(AgentCommand::Close { .. }) => {
                    self.closed = true;
                    return Err(NotOpened::Closed);
                }
                Some(AgentCommand::Decide {
                    turn: of, decision, ..
                }) if *of == *turn => return Ok(*decision),
                Some(AgentCommand::Cancel { turn: of, .. }) if *of == *turn => {
                    return Err(NotOpened::Cancelled);
                }
                Some(other) => self.early.push_back(other),
            }
        }
    }
}
