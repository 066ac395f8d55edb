//! Nobody is sent what their version does not have: everything in a lowered
//! message is something that the version's own types keep.

use std::collections::BTreeSet;

use innkeeper_protocol::gates::down;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::model_host::{CHANGESET, ModelHost, default_chat};
use crate::releases::{self, judge};
use crate::square::channels;

/// The paths in `told` that are not in `kept`, with `[]` for every list.
fn lost(path: &str, told: &Value, kept: &Value, all: &mut BTreeSet<String>) {
    match (told, kept) {
        (Value::Object(told), Value::Object(kept)) => {
            for (key, value) in told {
                let path = format!("{path}.{key}");
                match kept.get(key) {
                    Some(kept) => lost(&path, value, kept, all),
                    None if value.is_null() => {}
                    None => {
                        all.insert(path);
                    }
                }
            }
        }
        (Value::Array(told), Value::Array(kept)) => {
            for (told, kept) in told.iter().zip(kept) {
                lost(&format!("{path}[]"), told, kept, all);
            }
        }
        _ => {}
    }
}

/// What versions are sent though their types in Rust do not keep it.
const EXCEPTIONS: [&str; 3] = [
    // The protocol's text has it, and the type is the only one there is.
    "activeClient.customizations[].type",
    "activeClients[].customizations[].type",
    // Of a command's end in 0.5 and 0.6, for the gate to 0.4, which needs it.
    "content[].title",
];

#[test]
fn what_is_sent_is_what_the_version_has() {
    let mut all = BTreeSet::new();
    for seed in 0..150 {
        let mut host = ModelHost::new(seed);
        for _ in 0..24 {
            host.step();
        }
        for version in releases::all() {
            let types = judge(version);
            for event in &host.events {
                let action = event.action.clone();
                for act in down::action(version, &event.channel, action, &event.facts) {
                    let told = Value::from(act.action);
                    let kept = types.read_action(told.clone()).unwrap();
                    let kind = told["type"].as_str().unwrap();
                    lost(&format!("{version} {kind}"), &told, &kept, &mut all);
                }
            }
            for channel in channels(version) {
                let told = Value::from(down::snapshot(version, host.snapshot(&channel)).state);
                let kept = types.read(told.clone()).unwrap();
                lost(&format!("{version} state"), &told, &kept, &mut all);
            }
        }
    }
    all.retain(|path| !EXCEPTIONS.iter().any(|it| path.ends_with(it)));
    assert!(all.is_empty(), "{all:#?}");
}

/// A place in which a reference to content stands that has a nonce.
fn places() -> Vec<(String, Value)> {
    let content = json!({"uri": "x:content", "contentType": "text/plain", "nonce": "secret"});
    let side = json!({"uri": "file:///w/a", "content": content});
    let edit = json!({"before": side, "after": side, "diff": {"added": 1}});
    let file = json!({"id": "f", "edit": edit});
    let mut file_edit = edit.clone();
    file_edit["type"] = "fileEdit".into();
    let result = json!({
        "success": true, "pastTenseMessage": "Done",
        "content": [file_edit, {"type": "resource", "uri": "x:r", "nonce": "secret"}],
    });
    let call = json!({"turnId": "t", "toolCallId": "c"});
    let of_call = |kind: &str, fields: Value| {
        let mut action = call.clone();
        action["type"] = kind.into();
        for (key, value) in fields.as_object().unwrap() {
            action[key] = value.clone();
        }
        (default_chat(), action)
    };
    vec![
        (
            CHANGESET.to_owned(),
            json!({"type": "changeset/fileSet", "file": file}),
        ),
        (
            CHANGESET.to_owned(),
            json!({"type": "changeset/contentChanged", "files": [file]}),
        ),
        of_call(
            "chat/toolCallReady",
            json!({"invocationMessage": "Edit", "edits": {"items": [edit]}}),
        ),
        of_call(
            "chat/toolCallContentChanged",
            json!({"content": result["content"]}),
        ),
        of_call("chat/toolCallComplete", json!({"result": result})),
        (
            default_chat(),
            json!({"type": "chat/responsePart", "turnId": "t", "part": {
                "kind": "contentRef", "uri": "x:content", "nonce": "secret"}}),
        ),
    ]
}

#[test]
fn the_nonce_of_content_is_told_where_the_version_has_it_and_nowhere_else() {
    let host = ModelHost::new(1);
    for version in releases::all() {
        for (channel, action) in places() {
            let facts = host.facts_of(&channel);
            let acts = down::action(version, &channel, action.clone(), &facts);
            let told = acts.iter().any(|act| {
                let text = Value::from(act.action.clone()).to_string();
                text.contains("secret")
            });
            let kind = action["type"].as_str().unwrap();
            assert_eq!(told, version >= Version::V0_5_1, "{version} {kind}");
        }
    }
}
