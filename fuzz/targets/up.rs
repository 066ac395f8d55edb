//! Nothing that a client can send breaks a gate on its way up.
#![no_main]

use innkeeper_fuzz::said;
use innkeeper_protocol::command::ClientMessage;
use innkeeper_protocol::gates::{SnapshotForGates, up};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const METHODS: [&str; 8] = [
    "initialize",
    "reconnect",
    "subscribe",
    "createSession",
    "createChat",
    "fetchTurns",
    "listSessions",
    "completions",
];

fuzz_target!(|data: &[u8]| {
    let Some((version, choice, json)) = said(data) else {
        return;
    };
    up::action(version, "x:c", json.clone());
    up::snapshot(version, SnapshotForGates::new("x:c", json.clone()));
    if let Value::Object(params) = &json {
        let method = METHODS[usize::from(choice) % METHODS.len()];
        up::params(version, method, &mut params.clone());
    }
    for method in METHODS.iter().chain(&["dispatchAction"]) {
        let frame = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": json});
        ClientMessage::decode_in(version, &frame.to_string());
    }
});
