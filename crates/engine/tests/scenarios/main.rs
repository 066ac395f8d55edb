//! The rules of the engine as short scenarios, one file a subject.

#![expect(clippy::unwrap_used, clippy::panic, reason = "all of this is tests")]

mod agents;
mod answered;
mod changes;
mod client_resources;
mod creation;
mod drafts;
mod editors;
mod handshake;
mod host;
mod large_input;
mod malformed;
mod messages;
mod older;
mod older_manners;
mod older_rows;
mod queue;
mod releases;
mod rules;
mod scopes;
mod selections;
mod sessions;
mod terminal_titles;
mod turns;
mod views;
mod words;
