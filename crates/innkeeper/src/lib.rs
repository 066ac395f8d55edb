//! Innkeeper as a library: a [`Host`] in your own process, and the servers
//! that put sockets around it. The `innkeeper` program is a thin layer on top.
//!
//! [`Host::start`] runs the agents that it is given on what a store holds;
//! [`Host::connect`] gives a connection that speaks the Agent Host Protocol,
//! one JSON-RPC message a string; [`InProcess`] is such a connection for the
//! protocol's own client; [`server::Server`] listens for clients over
//! WebSocket.
//!
//! ```
//! use std::sync::Arc;
//!
//! use innkeeper::ahp::{Client, ClientConfig};
//! use innkeeper::protocol::version::Version;
//! use innkeeper::{Host, HostOptions, InProcess, MemoryStore, ScriptAgent};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let agent = Arc::new(ScriptAgent::default());
//! let host = Host::start(HostOptions::default(), vec![agent], MemoryStore::default()).await?;
//! let client = Client::connect(InProcess::new(host.connect()), ClientConfig::default()).await?;
//! let versions = Version::supported();
//! let hello = client.initialize("embedder".to_owned(), versions, Vec::new()).await?;
//! assert_eq!(hello.protocol_version, "1.0.0");
//! host.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! `examples/embed.rs` goes on to a whole turn.
//!
//! # Features
//!
//! All are on by default; `default-features = false` leaves all of them out.
//!
//! | feature | what it brings |
//! | --- | --- |
//! | `web` | the web client, out of the binary, at `/` |
//! | `tls` | [`server::TlsFiles`]: HTTPS and WSS |
//! | `terminals` | terminals, and the commands that agents run in them |
//! | `telemetry` | [`ExportOptions`] and [`LogFeed`]: export over OTLP, and the log in the protocol's telemetry |
//! | `postgres` | [`PostgresStore`]: a store that outlives its machine |
//! | `cli` | the program; it brings all of the others |
//!
//! *Invariant*: nothing in here decides anything about sessions; that is the
//! engine's business.

mod client_versions;
mod clock;
mod delivery;
mod engine_loop;
mod host;
mod in_process;
mod machine;
mod outbox;
mod read_only;
mod readiness;
mod telemetry;
mod tenure;

pub mod leftovers;
pub mod server;

pub use clock::now;
pub use delivery::DeliveryOptions;
pub use host::{Host, HostConnection, HostError, HostOptions};
pub use in_process::InProcess;
pub use machine::{CustomizationSettings, WorkspaceOptions};
pub use telemetry::{EndpointError, ExportOptions, LogFeed, TelemetryOptions};

// What the options above need, so that an embedder names one crate.
pub use ahp;
pub use innkeeper_agents::{self as agents, Agent, ScriptAgent};
pub use innkeeper_engine::{GrantPolicy, Leftovers, Limits, QueueAfterCancel};
pub use innkeeper_protocol as protocol;
#[cfg(feature = "postgres")]
pub use innkeeper_store::{Candidate, PostgresAddress, PostgresOptions, PostgresStore};
pub use innkeeper_store::{
    MemoryDisk, MemoryStore, SqliteStore, StoreError, StoreOptions, SyncMode,
};
pub use innkeeper_workspace::CustomizationOptions;
