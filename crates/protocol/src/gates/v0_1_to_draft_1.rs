//! 0.1 → draft 1: the version was a number; attachments were files, directories
//! or selections; the host's notices, completions and what is missing after a
//! reconnect had no shape of their own.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::tree::json;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::object::{self, drop_keys, has};
use super::{ChangesTurns, Gate, Node, Object};
use crate::version::{self, Version};

pub(super) struct Changes;

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::Draft1
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::With(&["\"systemNotification\"", "\"attachments\"", "\"_meta\""])
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::Part if has(it, "kind", "systemNotification") => {
                let content = it.get("content").map(object::plain).unwrap_or_default();
                *it = object::of(json!({
                    "kind": "markdown",
                    "id": name_of_notice(&content),
                    "content": content,
                }));
            }
            Node::Attachment => lower_attachment(it),
            Node::Usage | Node::Model => drop_keys(it, &["_meta"]),
            _ => {}
        }
        true
    }

    fn raise(&self, node: Node, it: &mut Object) -> bool {
        if node == Node::Attachment {
            raise_attachment(it);
        }
        true
    }

    fn raise_params(&self, _method: &str, params: &mut Object) {
        if let Some(draft) = params.remove("protocolVersion").and_then(|it| it.as_i64()) {
            params.insert("protocolVersions".into(), json!([version::draft(draft)]));
        }
    }

    fn lower_result(&self, method: &str, result: &mut Object) {
        match method {
            "initialize" => {
                drop_keys(result, &["completionTriggerCharacters"]);
                result.insert("protocolVersion".into(), 1.into());
            }
            "reconnect" => drop_keys(result, &["missing"]),
            _ => {}
        }
    }

    fn lower_question(&self, method: &str, _params: &mut Object) -> bool {
        method != "resourceRequest"
    }
}

/// A notice has no name of its own, and a Markdown part needs one: the same in
/// the action and in the state.
fn name_of_notice(content: &str) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("notice-{:016x}", hasher.finish())
}

/// What is not in a file has a URI that holds it.
fn lower_attachment(it: &mut Object) {
    let held = |kind: &str, data: &str| json!(format!("data:{kind};base64,{data}"));
    let uri = match object::text(it, "type") {
        Some("resource") => it.remove("uri").unwrap_or_default(),
        Some("embeddedResource") => {
            let data = object::text(it, "data").unwrap_or_default();
            held(object::text(it, "contentType").unwrap_or_default(), data)
        }
        _ => {
            let text = object::text(it, "modelRepresentation").unwrap_or_default();
            held("text/plain;charset=utf-8", &BASE64.encode(text))
        }
    };
    let kind = match object::text(it, "displayKind") {
        Some("directory") => "directory",
        Some("selection") => "selection",
        _ => "file",
    };
    let label = it.remove("label");
    *it = object::of(json!({"type": kind, "uri": uri, "displayName": label}));
}

/// Clients of the time between the two drafts send the kinds of the later one.
fn raise_attachment(it: &mut Object) {
    let Some(kind @ ("file" | "directory" | "selection")) = object::text(it, "type") else {
        return;
    };
    let mut raised = object::of(json!({"type": "resource"}));
    if kind != "file" {
        raised.insert("displayKind".into(), kind.to_owned().into());
    }
    let uri = it.remove("uri");
    if let Some(label) = it.remove("displayName").or_else(|| uri.clone()) {
        raised.insert("label".into(), label);
    }
    if let Some(uri) = uri {
        raised.insert("uri".into(), uri);
    }
    *it = raised;
}
