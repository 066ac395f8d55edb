//! 0.8 → 0.7: a customization was on or off, and not on or off for somebody;
//! no working directory could be replaced; tools that a client runs counted as
//! waiting for the user.

use super::tree::{Value, json};

use super::object::{self, drop_keys, has};
use super::{Act, ChangesTurns, Gate, LoweredFacts, Node, Object};
use crate::version::Version;

pub(super) struct Changes;

/// The kind of what waits because a client runs a tool.
const CLIENT_RUNS: &str = "toolClientExecution";

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_7
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::Never
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::Customization | Node::ChildCustomization | Node::ClientCustomization
                if is_scoped(node, it) =>
            {
                lower_enablement(it);
                drop_keys(it, &["childEnablement"]);
            }
            Node::Capabilities => {
                if let Some(many) = object::child_mut(it, "multipleWorkingDirectories") {
                    drop_keys(many, &["primaryReplacement"]);
                }
            }
            Node::SessionState => {
                if let Some(needed) = object::list_mut(it, "inputNeeded") {
                    needed.retain(|entry| entry["kind"] != CLIENT_RUNS);
                }
                object::drop_empty(it, "inputNeeded");
            }
            _ => {}
        }
        true
    }

    fn raise(&self, node: Node, it: &mut Object) -> bool {
        let custom = matches!(
            node,
            Node::Customization | Node::ChildCustomization | Node::ClientCustomization
        );
        if custom && is_scoped(node, it) {
            raise_enablement(it);
            // Off is said for the session; on is what an absent list means.
            if it.get("enablement").is_some_and(is_on) {
                it.remove("enablement");
            }
        }
        true
    }

    fn lower_action(&self, mut act: Act, known: &LoweredFacts, out: &mut Vec<Act>) {
        match act.kind() {
            "session/customizationToggled" => lower_enablement(&mut act.action),
            "session/workingDirectoryReplaced" => return replace_directory(&act, known, out),
            // It is not shown; what was shown under its name is over.
            "session/inputNeededSet" => {
                if let Some(request) = act.action.get("request")
                    && request["kind"] == CLIENT_RUNS
                {
                    let id = request["id"].clone();
                    act = act.sibling(json!({"type": "session/inputNeededRemoved", "id": id}));
                }
            }
            _ => {}
        }
        out.push(act);
    }

    fn raise_action(&self, act: &mut Act) {
        if act.kind() == "session/customizationToggled" {
            raise_enablement(&mut act.action);
        }
    }

    fn lower_notification(&self, method: &mut String, params: &mut Object) -> bool {
        if method == "auth/required"
            && let Some(name) = params
                .get("resource")
                .and_then(|it| it.get("resource"))
                .cloned()
        {
            params.insert("resource".into(), name);
        }
        true
    }
}

/// Whether this kind of customization has its switch for each scope in 0.8.
fn is_scoped(node: Node, it: &Object) -> bool {
    node == Node::ClientCustomization || has(it, "type", "plugin") || has(it, "type", "mcpServer")
}

fn is_on(enablement: &Value) -> bool {
    let first = enablement.as_array().and_then(|list| list.first());
    first.is_none_or(|first| first.get("enabled") == Some(&Value::Bool(true)))
}

fn lower_enablement(it: &mut Object) {
    let enabled = it.remove("enablement").is_none_or(|list| is_on(&list));
    it.insert("enabled".into(), enabled.into());
}

fn raise_enablement(it: &mut Object) {
    if let Some(enabled) = it.remove("enabled") {
        it.insert(
            "enablement".into(),
            json!([{"kind": "session", "enabled": enabled}]),
        );
    }
}

/// Takes away everything from the replaced directory on, and adds it again.
fn replace_directory(act: &Act, known: &LoweredFacts, out: &mut Vec<Act>) {
    let list = |key: &str| {
        let list = known.extra.get(key).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let (before, after) = (list("directoriesBefore"), list("directoriesAfter"));
    let same = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    for (verb, directories) in [("Removed", &before[same..]), ("Set", &after[same..])] {
        out.extend(directories.iter().map(|directory| {
            let kind = format!("session/workingDirectory{verb}");
            act.sibling(json!({"type": kind, "directory": directory}))
        }));
    }
}
