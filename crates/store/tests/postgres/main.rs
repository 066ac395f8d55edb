//! The store in PostgreSQL, on a cluster of the tests' own.

#![expect(clippy::unwrap_used, reason = "all of this is tests")]

mod common;
mod conformance;
mod faults;
mod lease;
mod pooler;
mod search;
mod tls;
mod transfer;
