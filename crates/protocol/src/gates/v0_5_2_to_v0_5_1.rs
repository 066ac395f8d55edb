//! 0.5.2 → 0.5.1: an answered question left no trace in its turn; the end of a
//! command in a terminal was not told; only what stood at the top of the
//! customizations could be switched; nobody asked for an MCP server to be
//! started; files were not reviewed; the two sides did not say who they are.

use super::tree::{Value, json};

use super::object::{self, drop_keys, has};
use super::{Act, ChangesTurns, Gate, LoweredFacts, Node, Object};
use crate::version::Version;

pub(super) struct Changes;

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_5_1
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::With(&["\"inputRequest\"", "\"terminal\""])
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::Part => return !has(it, "kind", "inputRequest"),
            Node::ToolContent if has(it, "type", "terminalComplete") => {
                drop_keys(it, &["exitCode", "cwd", "preview", "truncated"]);
                it.insert("type".into(), "terminal".into());
                object::default(it, "resource", "");
                object::default(it, "title", "Terminal");
            }
            Node::Customization | Node::ClientCustomization => drop_keys(it, &["_meta", "version"]),
            Node::ChildCustomization => lower_child(it),
            Node::ChangesetFile => drop_keys(it, &["reviewed"]),
            _ => {}
        }
        true
    }

    fn lower_action(&self, act: Act, known: &LoweredFacts, out: &mut Vec<Act>) {
        match act.kind() {
            "changeset/filesReviewedChanged" => {}
            "chat/responsePart" => {
                // A question that was answered before it was shown.
                if act.action.contains_key("part") {
                    out.push(act);
                }
            }
            "session/mcpServerStartRequested" => out.push(mcp_state(&act, "starting")),
            "session/mcpServerStopRequested" => out.push(mcp_state(&act, "stopped")),
            "session/customizationToggled" => out.push(toggle(act, known)),
            _ => out.push(act),
        }
    }

    fn lower_result(&self, method: &str, result: &mut Object) {
        if method == "initialize" {
            drop_keys(result, &["serverInfo", "terminalCommandPrefix"]);
        }
    }
}

fn lower_child(it: &mut Object) {
    let is_server = has(it, "type", "mcpServer");
    if !is_server {
        drop_keys(it, &["enabled"]);
    }
    if !has(it, "type", "agent") {
        drop_keys(it, &["_meta"]);
    }
    drop_keys(it, &["disableUserInvocation"]);
    if has(it, "type", "agent") {
        drop_keys(it, &["disableModelInvocation"]);
    }
}

fn mcp_state(act: &Act, kind: &str) -> Act {
    let id = act.action.get("id");
    act.sibling(json!({
        "type": "session/mcpServerStateChanged",
        "id": id,
        "state": {"kind": kind},
    }))
}

/// Only what stands at the top could be switched: a child's switch is told by
/// sending its parent again.
fn toggle(act: Act, known: &LoweredFacts) -> Act {
    let id = act.action.get("id");
    let all = known.extra.get("customizations").and_then(Value::as_array);
    let parent = all.into_iter().flatten().find(|parent| {
        let children = parent["children"].as_array();
        children
            .into_iter()
            .flatten()
            .any(|child| child.get("id") == id)
    });
    match parent {
        Some(parent) => act.sibling(json!({
            "type": "session/customizationUpdated",
            "customization": parent,
        })),
        None => act,
    }
}
