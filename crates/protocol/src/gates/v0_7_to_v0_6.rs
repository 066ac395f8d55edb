//! 0.7 → 0.6: one working directory and not several; tool input was text; the
//! end of a command in a terminal was content of its own; there were no side
//! chats and no chats as attachments.

use super::tree::{Value, json};

use super::object::{self, drop_keys, has, rename, replace};
use super::{Act, ChangesTurns, Gate, LoweredFacts, Node, Object};
use crate::version::Version;

pub(super) struct Changes;

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_6
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::With(&["\"toolInput\":{", "\"terminal\"", "\"chat\""])
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::SessionState | Node::Summary | Node::SummaryChanges => lower_directories(it),
            Node::ChatState | Node::ChatSummary | Node::ChatChanges => {
                lower_directories(it);
                if let Some(origin) = object::child_mut(it, "origin") {
                    replace(origin, "kind", "sideChat", "fork");
                    drop_keys(origin, &["selection"]);
                }
            }
            Node::ToolCall => show_input(it),
            Node::ToolContent if has(it, "type", "terminal") => lower_terminal_content(it),
            Node::TerminalState => drop_keys(it, &["isPty"]),
            Node::Attachment if has(it, "type", "chat") => {
                it.insert("type".into(), "resource".into());
                rename(it, "resource", "uri");
                drop_keys(it, &["endTurn"]);
            }
            Node::Capabilities => {
                drop_keys(it, &["multipleWorkingDirectories"]);
                if let Some(many) = object::child_mut(it, "multipleChats") {
                    drop_keys(many, &["sideChat"]);
                }
            }
            _ => {}
        }
        true
    }

    fn raise(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::SessionState
            | Node::Summary
            | Node::SummaryChanges
            | Node::ChatState
            | Node::ChatSummary
            | Node::ChatChanges => raise_directory(it),
            Node::ToolContent if has(it, "type", "terminalComplete") => {
                let mut result = Object::new();
                for key in ["exitCode", "preview", "truncated"] {
                    object::hand_over(it, &mut result, key);
                }
                drop_keys(it, &["cwd"]);
                it.insert("type".into(), "terminal".into());
                it.insert("result".into(), result.into());
                object::default(it, "resource", "");
                object::default(it, "title", "Terminal");
            }
            _ => {}
        }
        true
    }

    fn lower_action(&self, mut act: Act, _known: &LoweredFacts, out: &mut Vec<Act>) {
        match act.kind() {
            // The one directory of 0.6 is the first and does not change.
            "session/workingDirectorySet"
            | "session/workingDirectoryRemoved"
            | "chat/workingDirectorySet"
            | "chat/workingDirectoryRemoved" => return,
            "chat/toolCallDelta" => object::default(&mut act.action, "content", ""),
            "chat/toolCallReady" => {
                drop_keys(&mut act.action, &["contributor", "intention"]);
                show_input(&mut act.action);
            }
            _ => {}
        }
        out.push(act);
    }

    fn raise_params(&self, method: &str, params: &mut Object) {
        match method {
            "createSession" => raise_directory(params),
            "createChat" => {
                if let Some(source) = object::child_mut(params, "source") {
                    object::default(source, "kind", "fork");
                }
            }
            _ => {}
        }
    }
}

/// Input that is kept elsewhere is shown as far as the host says, and at least
/// where it can be read: whoever approves a call must see what it is about.
fn show_input(it: &mut Object) {
    if let Some(Value::Object(reference)) = it.get("toolInput") {
        let shown = object::text(reference, "text").map(str::to_owned);
        let shown = shown.unwrap_or_else(|| {
            let uri = object::text(reference, "uri").unwrap_or_default();
            let bytes = reference.get("sizeHint").and_then(Value::as_u64);
            let bytes = bytes.map_or_else(String::new, |bytes| format!(" of {bytes} bytes"));
            format!("… an input{bytes}; read it with resourceRead: {uri} …")
        });
        it.insert("toolInput".into(), shown.into());
    }
}

fn lower_directories(it: &mut Object) {
    if let Some(Value::Array(directories)) = it.remove("workingDirectories")
        && let Some(first) = directories.into_iter().next()
    {
        it.insert("workingDirectory".into(), first);
    }
}

fn raise_directory(it: &mut Object) {
    if let Some(directory) = it.remove("workingDirectory") {
        it.insert("workingDirectories".into(), json!([directory]));
    }
}

/// The title is kept next to what 0.6 reads: 0.4 needs it again.
fn lower_terminal_content(it: &mut Object) {
    drop_keys(it, &["isPty"]);
    if let Some(Value::Object(mut result)) = it.remove("result") {
        it.insert("type".into(), "terminalComplete".into());
        for key in ["exitCode", "preview", "truncated"] {
            object::hand_over(&mut result, it, key);
        }
    }
}
