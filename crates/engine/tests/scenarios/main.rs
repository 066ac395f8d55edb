//! The rules of the engine as short scenarios, one file a subject.

#![expect(clippy::unwrap_used, clippy::panic, reason = "all of this is tests")]

mod agents;
mod answered;
mod changes;
mod client_resources;
mod drafts;
mod editors;
mod handshake;
mod host;
mod messages;
mod older;
mod older_manners;
mod older_rows;
mod queue;
mod selections;
mod sessions;
mod turns;
mod views;
mod words;
