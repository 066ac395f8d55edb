//! The host from outside: over sockets and pipes, as a library and as the
//! program. All of it is one binary, as linking the host takes longer than most
//! of these tests.
//!
//! - `common` and `stage`: a host with its clients, for most of the others;
//! - `session`, `workspace`, `agents`, `automations`, `customizations`, `mcp`, `versions`: what it
//!   does;
//! - `socket`, `compression`, `tls`, `slow`, `hostile`, `newcomers`, `introductions`, `standby`: who
//!   reaches it, and how;
//! - `cli`, `crash`, `database`, `database_away`, `soak`, `upgrade`, `telemetry`: the program, and how it lives and dies;
//! - `embedded`: the library.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "all of this is tests"
)]

mod agents;
mod automations;
mod cli;
mod common;
mod compression;
mod crash;
mod customizations;
mod database;
mod database_away;
mod embedded;
mod examples;
mod hostile;
mod introductions;
mod mcp;
mod newcomers;
mod session;
mod slow;
mod soak;
mod socket;
mod stage;
mod standby;
mod telemetry;
mod tls;
mod told_is_stored;
mod upgrade;
mod versions;
mod workspace;
