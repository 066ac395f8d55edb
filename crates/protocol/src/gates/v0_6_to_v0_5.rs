//! 0.6 → 0.5: open questions were a list on the chat and became parts of the
//! turn when they were answered; turns had no times; no tool call waited for a
//! sign-in.

use super::tree::{Value, json};

use super::object::{self, drop_keys, has, rename};
use super::{Act, ChangesTurns, Gate, LoweredFacts, Node, Object, TurnEdit};
use crate::version::Version;

pub(super) struct Changes;

/// What the start of a turn was, where nobody said so.
const UNKNOWN_TIME: &str = "1970-01-01T00:00:00.000Z";

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_5
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::Edits(
            &[TurnEdit::Drop("startedAt"), TurnEdit::Drop("duration")],
            &[
                "\"inputRequest\"",
                "\"systemNotification\"",
                "\"riskAssessment\"",
                "\"auth\"",
                "\"auth-required\"",
            ],
        )
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::ChatState => {
                let open = take_open_questions(it);
                if !open.is_empty() {
                    it.insert("inputRequests".into(), open.into());
                }
                lower_status(it);
            }
            // A question that nobody answered leaves no trace.
            Node::Turn => {
                drop_keys(it, &["startedAt", "duration"]);
                if let Some(parts) = object::list_mut(it, "responseParts") {
                    parts.retain(|part| !is_open_question(part));
                }
            }
            Node::ActiveTurn => drop_keys(it, &["startedAt"]),
            Node::Part if has(it, "kind", "systemNotification") => drop_keys(it, &["_meta"]),
            Node::ToolCall => {
                drop_keys(it, &["riskAssessment", "auth"]);
                object::replace(it, "status", "auth-required", "running");
            }
            Node::InputNeeded if has(it, "kind", "toolAuthentication") => {
                it.insert("kind".into(), "toolConfirmation".into());
                if let Some(call) = object::child_mut(it, "toolCall") {
                    call.insert("status".into(), "pending-confirmation".into());
                    drop_keys(call, &["confirmed", "selectedOption", "content"]);
                }
            }
            Node::McpState => drop_keys(it, &["oauthClient"]),
            Node::Changeset => drop_keys(it, &["capabilities"]),
            _ => {}
        }
        true
    }

    fn raise(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::ActiveTurn => object::default(it, "startedAt", UNKNOWN_TIME),
            Node::ChatState => {
                let open = it.remove("inputRequests");
                let parts = object::child_mut(it, "activeTurn")
                    .and_then(|turn| object::list_mut(turn, "responseParts"));
                if let (Some(Value::Array(open)), Some(parts)) = (open, parts) {
                    let part = |request| json!({"kind": "inputRequest", "request": request});
                    parts.extend(open.into_iter().map(part));
                }
            }
            _ => {}
        }
        true
    }

    fn lower_action(&self, mut act: Act, _known: &LoweredFacts, out: &mut Vec<Act>) {
        match act.kind() {
            "chat/toolCallAuthRequired" | "chat/toolCallAuthResolved" => return,
            "chat/turnStarted" => drop_keys(&mut act.action, &["startedAt"]),
            "chat/turnComplete" | "chat/turnCancelled" | "chat/error" => {
                drop_keys(&mut act.action, &["duration"]);
            }
            "chat/toolCallReady" => drop_keys(&mut act.action, &["riskAssessment"]),
            "chat/responsePart" if act.action.get("part").is_some_and(is_open_question) => {
                let part = act.action.get_mut("part");
                let request = part.map(|it| it.take_field("request"));
                act = act.sibling(json!({"type": "chat/inputRequested", "request": request}));
            }
            "changeset/filesReviewChanged" => {
                act.set_kind("changeset/filesReviewedChanged");
                rename(&mut act.action, "files", "fileIds");
            }
            _ => {}
        }
        out.push(act);
    }

    fn raise_action(&self, act: &mut Act) {
        if act.kind() == "changeset/filesReviewedChanged" {
            act.set_kind("changeset/filesReviewChanged");
            rename(&mut act.action, "fileIds", "files");
        }
    }
}

fn is_open_question(part: &Value) -> bool {
    part["kind"] == "inputRequest" && part.get("response").is_none_or(Value::is_null)
}

fn take_open_questions(chat: &mut Object) -> Vec<Value> {
    let parts = object::child_mut(chat, "activeTurn")
        .and_then(|turn| object::list_mut(turn, "responseParts"));
    let Some(parts) = parts else {
        return Vec::new();
    };
    let (open, rest): (Vec<_>, Vec<_>) = parts.drain(..).partition(is_open_question);
    *parts = rest;
    open.into_iter()
        .map(|mut part| part.take_field("request"))
        .collect()
}

/// A call that waits for a sign-in waits for nobody here.
fn lower_status(chat: &mut Object) {
    if object::number(chat, "status") & object::ACTIVITY != object::INPUT_NEEDED {
        return;
    }
    let asks = chat.contains_key("inputRequests");
    let confirms = chat
        .get("activeTurn")
        .and_then(|turn| turn["responseParts"].as_array())
        .into_iter()
        .flatten()
        .filter_map(|part| part["toolCall"]["status"].as_str())
        .any(|status| status.starts_with("pending-"));
    if !asks && !confirms {
        object::set_status(chat, object::ACTIVITY, object::IN_PROGRESS);
    }
}
