//! The store through its public face, one file a concern.

#![expect(clippy::unwrap_used, clippy::panic, reason = "all of this is tests")]

mod common;
mod directory;
mod log;
mod migrations;
mod model;
mod sequence;
mod sessions;
