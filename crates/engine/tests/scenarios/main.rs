//! The rules of the engine as short scenarios, one file a subject.

#![expect(clippy::unwrap_used, clippy::panic, reason = "all of this is tests")]

mod agents;
mod annotations;
mod answered;
mod automation_events;
mod automation_runs;
mod automation_schedules;
mod automations;
mod canvases;
mod changes;
mod client_resources;
mod comments;
mod creation;
mod delegates;
mod drafts;
mod editors;
mod handshake;
mod host;
mod large_input;
mod long_names;
mod lookups;
mod malformed;
mod messages;
mod moving;
mod not_stored;
mod older;
mod older_manners;
mod older_rows;
mod queue;
mod releases;
mod rules;
mod scopes;
mod selections;
mod server_calls;
mod servers;
mod sessions;
mod state_before;
mod take_backs;
mod terminal_titles;
mod turn_size;
mod turns;
mod views;
mod words;
mod working_directories;
