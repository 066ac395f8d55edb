//! The gates, judged by the types and reducers of every published version.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod action_traits;
mod anything;
mod cases_at_random;
mod docs;
mod kept_turns;
mod model_host;
mod reducer_cases;
mod releases;
mod schema;
mod square;
mod steps;
mod strict;
mod words;
