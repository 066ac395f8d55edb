//! The types that Innkeeper speaks inside, and everything that touches the wire.
//!
//! Inside the host every message, state and action has one shape: that of the
//! newest protocol version, as the crate `ahp-types` defines it ([`newest`]).
//! This crate adds what surrounds those types:
//!
//! - [`rpc`]: JSON-RPC framing, and nothing about what is framed;
//! - [`command`]: what a client may ask, decoded once, at the edge;
//!   [`resource_call`]: the part of it that the host may ask of a client too;
//! - [`outgoing`]: what the host says, encoded once for each version in use;
//! - [`channel`]: channel URIs; [`ids`]: other names and numbers; [`time`]: points
//!   in time; [`version`]: negotiation;
//! - [`bounds`]: how long names may be that come from outside;
//! - [`gates`]: the steps between neighbouring protocol versions;
//! - [`action_traits`]: what is true of each type of action;
//! - [`agent`], [`workspace`] and [`record`]: the vocabularies that the engine
//!   shares with the agents, with what touches the user's machine and with the
//!   store, so that none of them knows another;
//! - [`settings`]: the settings of sessions that every agent has; [`steering`]:
//!   what a user said in the middle of a turn; [`markdown`]: plain text in it.
//!
//! *Invariant*: no I/O, no clock, no randomness. *Boundary*: how JSON-RPC is
//! framed and what protocol versions differ in is known here, nowhere else;
//! whoever has to act differently asks a version what it can do.

pub mod action_traits;
pub mod agent;
pub mod bounds;
pub mod channel;
pub mod command;
pub mod gates;
pub mod ids;
pub mod markdown;
pub mod mcp;
pub mod outgoing;
pub mod record;
pub mod resource_call;
pub mod rpc;
pub mod settings;
pub mod snapshot;
pub mod steering;
pub mod telemetry;
pub mod time;
pub mod version;
pub mod workspace;

/// The types of the newest protocol version, as their owner publishes them.
pub use ahp_types as newest;

pub use channel::ChannelUri;
pub use ids::{CallId, ClientId, Seq, TurnId};
pub use time::Timestamp;
