//! What it costs to say something in an older version, counted in
//! instructions. It is paid once for each version in use, however many
//! subscribers speak it.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::outgoing::{HostMessage, encode_each};
use innkeeper_protocol::record::{GateFacts, Sequenced};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::callgrind::instructions;

const TIMES: u64 = 1_000;

/// Streamed text, text that is not plain, and something that all gates look
/// into.
const KINDS: [&str; 3] = ["text", "text with _meta", "tool call"];

pub(crate) fn run() -> Result<()> {
    println!("\nInstructions to encode one action (callgrind)\n");
    println!("| version | {} |", KINDS.join(" | "));
    println!("| ---: | ---: | ---: | ---: |");
    for version in Version::ALL.into_iter().rev() {
        let mut row = format!("| {version} |");
        for kind in KINDS {
            let count = |times: u64| {
                instructions(&["encode", &version.to_string(), kind, &times.to_string()])
            };
            let each = (count(2 * TIMES)? as f64 - count(TIMES)? as f64) / TIMES as f64;
            let _ = write!(row, " {each:.0} |");
        }
        println!("{row}");
    }
    Ok(())
}

/// The part that is counted.
pub(crate) fn encode(version: &str, kind: &str, times: u64) -> Result<()> {
    let version = Version::from_name(version).context("a version")?;
    let action: StateAction = serde_json::from_value(action(kind))?;
    let message = HostMessage::Action(Arc::new(Sequenced {
        seq: 123_456.into(),
        channel: "ahp-chat://default/YWhwLXNlc3Npb246L2JlbmNo".into(),
        action,
        origin: None,
        facts: GateFacts {
            session: Some("ahp-session:/bench".into()),
            is_default_chat: true,
            extra: None,
        },
    }));
    let mut bytes = 0;
    for _ in 0..times {
        encode_each(&message, version, |frame| bytes += frame.len());
    }
    std::hint::black_box(bytes);
    Ok(())
}

fn action(kind: &str) -> Value {
    let mut text = json!({
        "type": "chat/delta", "turnId": "turn-1", "partId": "p1",
        "content": "the quick brown fox ",
    });
    match kind {
        "text" => text,
        "text with _meta" => {
            text["_meta"] = json!({"by": "somebody"});
            text
        }
        _ => json!({
            "type": "chat/toolCallReady", "turnId": "turn-1", "toolCallId": "c1",
            "invocationMessage": {"markdown": "Run `make`"}, "toolInput": "{\"command\":\"make\"}",
            "confirmationTitle": "Run a command?", "editable": true,
            "options": [
                {"id": "yes", "label": "Yes", "kind": "approve"},
                {"id": "no", "label": "No", "kind": "deny"},
            ],
        }),
    }
}
