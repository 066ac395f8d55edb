//! Nothing that the host can say breaks a gate on its way down, whatever the
//! facts that travel with it.
#![no_main]

use innkeeper_fuzz::said;
use innkeeper_protocol::gates::{Object, SnapshotForGates, down};
use innkeeper_protocol::record::GateFacts;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let Some((version, choice, json)) = said(data) else {
        return;
    };
    let object = |key: &str| {
        let object = json.get(key).and_then(Value::as_object);
        object.cloned().map(Object::from)
    };
    let facts = GateFacts {
        session: (choice & 1 == 0).then(|| "x:session".into()),
        is_default_chat: choice & 2 == 0,
        extra: json
            .get("context")
            .and_then(|it| serde_json::from_value(it.clone()).ok()),
    };
    down::action(version, "x:c", json.clone(), &facts);
    let mut snapshot = SnapshotForGates::new("x:c", json.clone());
    snapshot.chat = object("chat");
    snapshot.session = object("session");
    snapshot.summary = object("summary");
    snapshot.selection = object("selection").unwrap_or_default();
    down::snapshot(version, snapshot);
    for method in ["initialize", "reconnect", "listSessions", "fetchTurns"] {
        if let Value::Object(result) = &json {
            down::result(version, method, &mut result.clone().into());
        }
    }
    for method in [
        "root/sessionAdded",
        "root/sessionRemoved",
        "root/sessionSummaryChanged",
        "auth/required",
    ] {
        down::notification(version, method, json.clone());
    }
});
