//! The program as its users call it: the real binary, in data directories of
//! its own, on free ports.

#![expect(clippy::unwrap_used, reason = "in a test, that is how things fail")]

mod ending;
mod harness;
mod private;
mod run;
mod serve;
mod sessions;
mod usage;
