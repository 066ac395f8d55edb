//! Everything that a session can do, each rule played over a real socket with
//! the script agent and the protocol's own client. Whatever a test does, its
//! client ends with the state that a newcomer is given.

mod auth;
mod client_tools;
mod completions;
mod config;
mod creation;
mod directories;
mod forks;
mod history;
mod labels;
mod limits;
mod moving;
mod not_stored;
mod pending;
mod questions;
mod races;
mod restart;
mod search;
mod selection;
mod subagents;
mod tools;
mod validation;
