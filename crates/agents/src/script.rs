//! The script agent: it plays scenarios, deterministically and offline.
//!
//! - `scenario`: what a message asks for; `step`: the steps and how they are read;
//! - `builtin`: the scenarios that have names;
//! - `player`: how a step is played; `pieces`: how a text is cut for streaming;
//! - `backend`: the conversation around the turns; `history`: what it remembers;
//! - `profile`: what clients see of it.
//!
//! *Invariant*: a scenario is understood completely before any of it is
//! played, and a turn ends with exactly one event, unless the backend dies.

mod backend;
mod builtin;
mod history;
mod pieces;
mod player;
mod profile;
mod scenario;
mod step;
#[cfg(test)]
mod tests;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innkeeper_protocol::agent::{AgentProfile, OpenBackend};

use crate::{Agent, CommandStream, EventSink};

/// The provider name of the script agent.
pub const PROVIDER: &str = "script";

/// The agent that plays scenarios.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScriptAgent;

impl Agent for ScriptAgent {
    fn profile(&self) -> AgentProfile {
        profile::profile()
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
