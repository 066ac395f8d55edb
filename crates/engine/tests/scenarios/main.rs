//! The rules of the engine as short scenarios, one file a subject.

#![expect(clippy::unwrap_used, clippy::panic, reason = "all of this is tests")]

mod agents;
mod changes;
mod client_resources;
mod creation;
mod editors;
mod handshake;
mod host;
mod large_input;
mod malformed;
mod messages;
mod older;
mod older_manners;
mod releases;
mod sessions;
mod turns;
mod views;
