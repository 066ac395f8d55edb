//! What fuzzers reach of the server: one connection, without its socket.

use innkeeper_protocol::agent::{ClientTool, ToolOwner};
use innkeeper_protocol::rpc::ClientFrame;
use serde_json::json;

use super::mcp::{Heard, Peer};

/// Takes in lines as a connection does. A request is answered, or asks for a
/// call that is.
pub(crate) fn hear(lines: &str) {
    let definition = json!({"name": "look", "inputSchema": {"type": "object"}});
    let Ok(definition) = serde_json::from_value(definition) else {
        return;
    };
    let tools = [ClientTool {
        owner: ToolOwner::Client("client".into()),
        definition,
    }];
    let mut peer = Peer::new("innkeeper".into());
    for line in lines.lines() {
        let is_request = matches!(ClientFrame::parse(line), Ok(ClientFrame::Request { .. }));
        match peer.hear(line, &tools) {
            Heard::Call(call) => drop(call.asked.answer(json!({"content": []}))),
            Heard::Say(_) => {}
            Heard::Nothing | Heard::Cancelled(_) => assert!(!is_request, "{line}"),
        }
        assert!(peer.news().len() <= 17, "what listens is bounded");
    }
}
