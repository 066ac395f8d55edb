//! 0.3 → 0.2: every message was the user's; a tool was the host's or a
//! client's; changesets belonged to the catalogue's row; MCP servers had no
//! state, and operations of changesets neither.

use super::tree::{Value, json};

use super::object::{self, drop_keys, has, rename};
use super::{Act, ChangesTurns, Gate, LoweredFacts, Node, Object, SnapshotForGates, TurnEdit};
use crate::version::Version;

pub(super) struct Changes;

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_2
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::Edits(
            &[
                TurnEdit::DropOfMessage("origin"),
                TurnEdit::RenameMessage("userMessage"),
            ],
            &["\"contributor\"", "\"userSuggestion\""],
        )
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::Message => drop_keys(it, &["origin"]),
            Node::Turn | Node::ActiveTurn | Node::Pending => rename(it, "message", "userMessage"),
            Node::ToolCall => lower_contributor(it),
            Node::SessionState => {
                let changesets = it.remove("changesets");
                if let (Some(changesets), Some(summary)) =
                    (changesets, object::child_mut(it, "summary"))
                {
                    summary.insert("changesets".into(), changesets);
                }
                if let Some(summary) = object::child_mut(it, "summary") {
                    drop_keys(summary, &["changes"]);
                }
            }
            Node::Summary | Node::SummaryChanges => {
                drop_keys(it, &["changes"]);
                object::take_facts(it, &["changesets"]);
                lower_changesets(it, &Object::new());
            }
            Node::ChangesetOperation => drop_keys(it, &["status", "error"]),
            // A server could only be part of something.
            Node::Customization => return !has(it, "type", "mcpServer"),
            Node::ChildCustomization => {
                drop_keys(it, &["_meta"]);
                if has(it, "type", "mcpServer") {
                    drop_keys(it, &["enabled", "state", "channel", "mcpApp"]);
                }
            }
            _ => {}
        }
        true
    }

    fn raise(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::Message => object::default(it, "origin", json!({"kind": "user"})),
            Node::Turn | Node::ActiveTurn | Node::Pending => rename(it, "userMessage", "message"),
            Node::ToolCall => raise_contributor(it),
            Node::Changeset => {
                drop_keys(it, &["additions", "deletions", "files"]);
                object::default(it, "changeKind", "session");
            }
            Node::ChangesetOperation => object::default(it, "status", "idle"),
            Node::ChildCustomization if has(it, "type", "mcpServer") => {
                object::default(it, "enabled", true);
                object::default(it, "state", json!({"kind": "ready"}));
            }
            _ => {}
        }
        true
    }

    fn lower_action(&self, mut act: Act, known: &LoweredFacts, out: &mut Vec<Act>) {
        match act.kind() {
            "session/mcpServerStateChanged" | "changeset/operationStatusChanged" => return,
            // About a server of its own: the list as it is without it.
            "session/customizationUpdated" if !act.action.contains_key("customization") => {
                let all = known.extra.get("customizations");
                act = act.sibling(json!({
                    "type": "session/customizationsChanged",
                    "customizations": all.unwrap_or(&json!([])),
                }));
            }
            "session/turnStarted" | "session/pendingMessageSet" => {
                rename(&mut act.action, "message", "userMessage");
            }
            "session/toolCallStart" => lower_contributor(&mut act.action),
            "session/changesetsChanged" => {
                let counts = known.extra.get("changes").and_then(Value::as_object);
                lower_changesets(&mut act.action, counts.unwrap_or(&Object::new()));
            }
            _ => {}
        }
        out.push(act);
    }

    fn raise_action(&self, act: &mut Act) {
        match act.kind() {
            "session/turnStarted" | "session/pendingMessageSet" => {
                rename(&mut act.action, "userMessage", "message");
            }
            "session/toolCallStart" => raise_contributor(&mut act.action),
            _ => {}
        }
    }

    fn lower_snapshot(&self, snapshot: &mut SnapshotForGates) {
        if let Some(summary) = object::child_mut(&mut snapshot.state, "summary") {
            lower_changesets(summary, &snapshot.changes);
        }
    }

    fn raise_snapshot(&self, snapshot: &mut SnapshotForGates) {
        let changesets = object::child_mut(&mut snapshot.state, "summary")
            .and_then(|summary| summary.remove("changesets"));
        if let Some(changesets) = changesets {
            snapshot.state.insert("changesets".into(), changesets);
        }
    }
}

/// A changeset said how much there is in it, and not of what kind it is. Only
/// that of the whole session is counted while nobody looks at it.
fn lower_changesets(it: &mut Object, counts: &Object) {
    for changeset in object::list_mut(it, "changesets").into_iter().flatten() {
        if let Some(changeset) = changeset.as_object_mut()
            && changeset
                .remove("changeKind")
                .is_some_and(|it| it == "session")
        {
            changeset.extend(counts.clone());
        }
    }
}

fn lower_contributor(it: &mut Object) {
    if let Some(Value::Object(mut contributor)) = it.remove("contributor")
        && has(&contributor, "kind", "client")
        && let Some(client) = contributor.remove("clientId")
    {
        it.insert("toolClientId".into(), client);
    }
}

fn raise_contributor(it: &mut Object) {
    if let Some(client) = it.remove("toolClientId") {
        it.insert(
            "contributor".into(),
            json!({"kind": "client", "clientId": client}),
        );
    }
}
