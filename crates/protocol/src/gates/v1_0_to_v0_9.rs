//! 1.0 → 0.9: background work, canvases, moving and reordering chats,
//! changesets and read marks of single chats, blocking MCP starts and limits
//! of automations are all new in 1.0.

use super::tree::{Value, json};

use super::object::{self, drop_keys, replace};
use super::{Act, ChangesTurns, Gate, LoweredFacts, Node, Object};
use crate::version::Version;

pub(super) struct Changes;

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_9
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::Never
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::ChatState => {
                let new = [
                    "changes",
                    "movable",
                    "changesets",
                    "backgroundWork",
                    "canvases",
                ];
                drop_keys(it, &new);
                // No action of 0.9 sets the flags of a chat.
                object::set_status(it, object::FLAGS, 0);
            }
            Node::ChatSummary | Node::ChatChanges => drop_keys(it, &["changes", "movable"]),
            Node::Summary | Node::SummaryChanges => drop_keys(it, &["chats", "defaultChat"]),
            Node::ConfigProperty => drop_keys(it, &["minItems", "maxItems"]),
            Node::McpState => drop_keys(it, &["blocking"]),
            Node::ChangesetState => replace(it, "status", "recomputing", "computing"),
            Node::AutomationDefinition => drop_keys(it, &["disableConditions"]),
            Node::AutomationTemplate => drop_keys(it, &["customizations"]),
            Node::AutomationEntry => drop_keys(it, &["runCount", "customizations"]),
            _ => {}
        }
        true
    }

    fn raise(&self, node: Node, it: &mut Object) -> bool {
        if node == Node::ClientCustomization {
            object::default(it, "type", "plugin");
        }
        true
    }

    fn lower_action(&self, mut act: Act, known: &LoweredFacts, out: &mut Vec<Act>) {
        match act.kind() {
            "session/chatsReordered" => reorder(&act, known, out),
            "chat/isReadChanged" | "chat/isArchivedChanged" => {
                // The flags of a default chat are the session's business. Of
                // another chat, 0.3 and older show them: it is a session there.
                if !known.is_default_chat {
                    act.set_kind(format!("session/{}", act.verb()));
                    out.push(act);
                }
            }
            "chat/backgroundWorkSet"
            | "chat/backgroundWorkRemoved"
            | "chat/movableChanged"
            | "chat/changesetsChanged"
            | "chat/canvasesChanged"
            | "canvas/stateChanged"
            | "session/mcpServerBackgroundRequested" => {}
            "changeset/statusChanged" => {
                replace(&mut act.action, "status", "recomputing", "computing");
                out.push(act);
            }
            _ => out.push(act),
        }
    }

    fn lower_result(&self, method: &str, result: &mut Object) {
        if method == "initialize"
            && let Some(automations) = object::child_mut(result, "automations")
        {
            drop_keys(automations, &["customizations"]);
        }
    }
}

/// Puts the chats into their order by taking each out and adding it again.
fn reorder(act: &Act, known: &LoweredFacts, out: &mut Vec<Act>) {
    let summaries = known.extra.get("chats").and_then(Value::as_array);
    for summary in summaries.into_iter().flatten() {
        let chat = summary.get("resource").cloned().unwrap_or_default();
        out.push(act.sibling(json!({"type": "session/chatRemoved", "chat": chat})));
        out.push(act.sibling(json!({"type": "session/chatAdded", "summary": summary})));
    }
    if let Some(chat) = known.extra.get("defaultChat") {
        out.push(act.sibling(json!({"type": "session/defaultChatChanged", "defaultChat": chat})));
    }
}
