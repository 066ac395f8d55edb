//! The script agent: it plays scenarios, deterministically and offline.
//!
//! - `scenario`: what a message asks for; `step`: the steps and how they are read;
//! - `builtin`: the scenarios that have names;
//! - `player`: how a step is played; `calls`: those that wait for somebody;
//!   `files`: those that touch the machine; `pieces`: how a text is cut for streaming; `tool`: tool calls as written;
//!   `inbox`: what a turn waits for; `progress`: how far a
//!   turn had come that is taken up again;
//! - `backend`: the conversation around the turns; `history`: what it remembers;
//! - `profile`: what clients see of it.
//!
//! *Invariant*: a scenario is understood completely before any of it is
//! played, and a turn ends with exactly one event, unless the backend dies.

mod backend;
mod builtin;
mod calls;
mod files;
mod history;
mod inbox;
mod pieces;
mod player;
mod profile;
mod progress;
mod scenario;
mod step;
#[cfg(test)]
mod tests;
mod tool;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innkeeper_protocol::agent::{AgentProfile, ConfigQuery, OpenBackend};
use innkeeper_protocol::newest::commands::SessionConfigValueItem;

use crate::{Agent, CommandStream, EventSink};

/// The provider name of the script agent.
pub const PROVIDER: &str = "script";

/// The agent that plays scenarios.
#[derive(Debug, Clone, Default)]
pub struct ScriptAgent {
    /// A protected resource that it pretends to need a token for.
    token_for: Option<String>,
}

impl ScriptAgent {
    /// One that wants a token before it plays anything.
    pub fn that_needs_a_token_for(resource: String) -> Self {
        Self {
            token_for: Some(resource),
        }
    }
}

impl Agent for ScriptAgent {
    fn profile(&self) -> AgentProfile {
        profile::profile(self.token_for.as_deref())
    }

    fn complete_config(
        &self,
        query: ConfigQuery,
    ) -> BoxFuture<'static, Vec<SessionConfigValueItem>> {
        std::future::ready(profile::complete(&query)).boxed()
    }

    fn run(
        &self,
        open: OpenBackend,
        commands: CommandStream,
        events: EventSink,
    ) -> BoxFuture<'static, ()> {
        backend::run(open, commands, events).boxed()
    }
}
