//! Innkeeper as a library: a [`Host`] in your own process, and the servers
//! that put sockets around it. The `innkeeper` program is a thin layer on top.
//!
//! [`Host::start`] opens a data directory and runs the agents it is given;
//! [`Host::connect`] gives a connection that speaks the Agent Host Protocol,
//! one JSON-RPC message a string; [`server::Server`] listens for clients over
//! WebSocket. *Invariant*: nothing in here decides anything about sessions;
//! that is the engine's business.

mod client_versions;
mod delivery;
mod engine_loop;
mod host;
mod machine;
mod outbox;
mod telemetry;

pub mod cli;
pub mod config;
pub mod server;

pub use delivery::DeliveryOptions;
pub use host::{Host, HostConnection, HostError, HostOptions};
pub use machine::{CustomizationSettings, WorkspaceOptions};
pub use telemetry::{EndpointError, ExportOptions, LogFeed, TelemetryOptions};
