//! What fuzzers reach of this language: what is said during a turn, without
//! the process that says it.

use std::path::PathBuf;

use serde_json::Value;

use super::turn::Turn;
use super::{dialogs, session};

pub(crate) fn hear(lines: &str) {
    let mut turn = Turn::new(PathBuf::from("/"));
    for line in lines.lines() {
        let Ok(said) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        dialogs::question(&said);
        session::error_of(&said);
        turn.event(said["type"].as_str().unwrap_or_default(), &said);
    }
}
