//! The agents behind the host: one trait, the supervisor that runs their
//! backends, and the agents themselves.
//!
//! - [`Agent`]: what an agent has to offer, and the life of one backend;
//! - [`CommandStream`] and [`EventSink`]: the two ends that a backend holds;
//! - [`Supervisor`]: starts backends, hands them their commands, reports their end;
//! - [`script`]: the agent that plays scenarios;
//! - `child`: the frame for agents that are child processes, whatever their
//!   language is;
//! - [`acp`]: any agent that speaks the Agent Client Protocol;
//! - [`pi`]: the agent pi, in its own language;
//! - [`registry`]: those that are known, [`discovery`]: which of them are there,
//!   and [`install`]: how one gets there;
//! - [`servers`]: the MCP servers that the host runs for them.
//!
//! *Invariant*: a backend knows its own conversation and nothing else; what it
//! may say and hear is the vocabulary of [`innkeeper_protocol::agent`].
//! *Boundary*: nothing here decides what an event means; that is the engine's.

pub mod acp;
mod child;
mod client_tools;
pub mod discovery;
mod edits;
pub mod environment;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod install;
mod keys;
mod knowledge;
mod link;
pub mod pi;
mod private;
mod process;
pub mod registry;
pub mod script;
pub mod servers;
mod session_config;
mod supervisor;
#[cfg(test)]
mod testing;
mod transcript;
mod usage;
mod whole_file;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innkeeper_protocol::agent::{AgentProfile, ConfigQuery, OpenBackend};
use innkeeper_protocol::newest::commands::SessionConfigValueItem;
use tokio::sync::watch;

pub use acp::{AcpAgent, AcpOptions};
pub use child::TokenFor;
pub use client_tools::HttpTools;
pub use environment::Environment;
pub use link::{CommandStream, EventSink};
pub use pi::{PiAgent, PiOptions};
pub use process::{Patience, Program};
pub use script::ScriptAgent;
pub use servers::{McpServers, ServerPatience};
pub use supervisor::{ProfileChanges, Supervisor};

/// Something that can hold conversations.
pub trait Agent: Send + Sync + 'static {
    /// What clients may know of it before they open anything.
    fn profile(&self) -> AgentProfile;

    /// Changes whenever the profile does, for an agent whose profile can.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Whether the profile says all that can be said.
    fn is_known(&self) -> bool {
        true
    }

    /// Why it did not start the last time, if it did not.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Starts the agent for a moment to complete its profile, or says why that
    /// is not possible.
    fn get_to_know(&self) -> BoxFuture<'static, Result<(), String>> {
        std::future::ready(Ok(())).boxed()
    }

    /// Values for a setting whose choices are not all known beforehand.
    fn complete_config(
        &self,
        _query: ConfigQuery,
    ) -> BoxFuture<'static, Vec<SessionConfigValueItem>> {
        std::future::ready(Vec::new()).boxed()
    }

    /// The whole life of one backend. The future first says `Opened` (after
    /// `Past`, where there is one) or `OpenFailed`, then serves `commands` until `Close` or their end.
    /// Whatever belongs to the backend is gone when the future is: it may be
    /// dropped at any point of waiting.
    fn run(
        &self,
        open: OpenBackend,
        commands: CommandStream,
        events: EventSink,
    ) -> BoxFuture<'static, ()>;
}
