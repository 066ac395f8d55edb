//! The stores through their public face: what every store must do, and what is
//! the one on disk's own affair.

#![expect(clippy::unwrap_used, reason = "all of this is tests")]

mod backup;
mod conformance;
mod directory;
mod log;
mod lost_log;
mod migrations;
mod place;
mod space;
