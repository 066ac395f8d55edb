//! The agents behind the host: one trait, the supervisor that runs their
//! backends, and the agents themselves.
//!
//! - [`Agent`]: what an agent has to offer, and the life of one backend;
//! - [`CommandStream`] and [`EventSink`]: the two ends that a backend holds;
//! - [`Agents`]: starts backends, hands them their commands, reports their end;
//! - [`script`]: the agent that plays scenarios.
//!
//! *Invariant*: a backend knows its own conversation and nothing else; what it
//! may say and hear is the vocabulary of [`innkeeper_protocol::agent`].
//! *Boundary*: nothing here decides what an event means; that is the engine's.

mod link;
pub mod script;
mod supervisor;
#[cfg(test)]
mod testing;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innkeeper_protocol::agent::{AgentProfile, ConfigQuery, OpenBackend};
use innkeeper_protocol::house::commands::SessionConfigValueItem;

pub use link::{CommandStream, EventSink};
pub use script::ScriptAgent;
pub use supervisor::Agents;

/// Something that can hold conversations.
pub trait Agent: Send + Sync + 'static {
    /// What clients may know of it before they open anything.
    fn profile(&self) -> AgentProfile;

    /// Values for a setting whose choices are not all known beforehand.
    fn complete_config(
        &self,
        _query: ConfigQuery,
    ) -> BoxFuture<'static, Vec<SessionConfigValueItem>> {
        std::future::ready(Vec::new()).boxed()
    }

    /// The whole life of one backend. The future first says `Opened` or
    /// `OpenFailed`, then serves `commands` until `Close` or their end.
    /// Whatever belongs to the backend is gone when the future is: it may be
    /// dropped at any point of waiting.
    fn run(
        &self,
        open: OpenBackend,
        commands: CommandStream,
        events: EventSink,
    ) -> BoxFuture<'static, ()>;
}
