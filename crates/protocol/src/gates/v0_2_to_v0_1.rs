//! 0.2 → draft 1: actions said themselves what they are about, and requests
//! had no channel; the root had another name; notifications came wrapped;
//! customizations were references; there were no changesets and no watches.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};

use super::object::{self, drop_keys, has, rename};
use super::{Act, Gate, LoweredFacts, Node, Object, SnapshotForGates, Text};
use crate::version::{self, Version};

pub(super) struct Changes;

/// The root channel of draft 1.
const ROOT: &str = "agenthost:/root";

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_1
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
            Node::Message => {
                drop_keys(it, &["_meta"]);
                object::drop_empty(it, "attachments");
            }
            Node::Attachment => return lower_attachment(it),
            Node::Usage | Node::Model => drop_keys(it, &["_meta"]),
            Node::Summary | Node::SummaryChanges => drop_keys(it, &["agent", "changesets"]),
            Node::SessionState => {
                if let Some(summary) = object::child_mut(it, "summary") {
                    drop_keys(summary, &["agent", "changesets"]);
                }
            }
            Node::Customization => *it = lower_customization(it),
            Node::ClientCustomization => *it = reference(it),
            Node::Agent => {
                for custom in object::list_mut(it, "customizations").into_iter().flatten() {
                    let reference = custom.get_mut("customization").map(Value::take);
                    *custom = reference.unwrap_or_default();
                }
            }
            _ => {}
        }
        true
    }

    fn raise(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::Attachment => raise_attachment(it),
            Node::Customization => *it = raise_customization(it),
            Node::ClientCustomization => {
                *it = raise_customization(&object::of(json!({"customization": it.clone()})));
            }
            _ => {}
        }
        true
    }

    fn lower_action(&self, mut act: Act, known: &LoweredFacts, out: &mut Vec<Act>) {
        match (act.family(), act.verb()) {
            ("changeset" | "resourceWatch", _)
            | ("session", "agentChanged" | "changesetsChanged") => return,
            ("session", "customizationUpdated" | "customizationRemoved") => {
                let all = known.extra.get("customizations");
                act = act.sibling(json!({
                    "type": "session/customizationsChanged",
                    "customizations": all.unwrap_or(&json!([])),
                }));
            }
            ("session", "customizationToggled") => {
                let id = act.action.remove("id").unwrap_or_default();
                let all = known.newer.get("customizations").and_then(Value::as_array);
                let uri = all.into_iter().flatten().find(|it| it["id"] == id);
                let uri = uri.map_or(id, |it| it["uri"].clone());
                act.action.insert("uri".into(), uri);
            }
            _ => {}
        }
        let subject = match act.family() {
            "terminal" => "terminal",
            "session" => "session",
            _ => {
                out.push(act);
                return;
            }
        };
        act.action
            .insert(subject.into(), act.channel.clone().into());
        out.push(act);
    }

    fn lower_text(&self, text: &mut Text<'_>) {
        text.names_channel = true;
    }

    fn raise_action(&self, act: &mut Act) {
        for subject in ["session", "terminal"] {
            // A terminal's claim may name a session; that is no subject.
            if act.family() == subject
                && let Some(Value::String(channel)) = act.action.remove(subject)
            {
                act.channel = channel;
            }
        }
        if act.family() == "root" {
            act.channel = crate::newest::ROOT_RESOURCE_URI.to_owned();
        }
        if act.kind() == "session/customizationToggled" {
            rename(&mut act.action, "uri", "id");
        }
    }

    fn lower_snapshot(&self, snapshot: &mut SnapshotForGates) {
        snapshot.resource = lower_channel(&snapshot.resource);
    }

    fn raise_params(&self, method: &str, params: &mut Object) {
        if let Some(draft) = params.remove("protocolVersion").and_then(|it| it.as_i64()) {
            params.insert("protocolVersions".into(), json!([version::draft(draft)]));
        }
        let subject = match method {
            "subscribe" | "unsubscribe" => Some("resource"),
            "createSession" | "disposeSession" | "fetchTurns" => Some("session"),
            "createTerminal" | "disposeTerminal" => Some("terminal"),
            _ => None,
        };
        if let Some(subject) = subject {
            rename(params, subject, "channel");
        }
        if let Some(Value::String(channel)) = params.get_mut("channel") {
            *channel = raise_channel(channel);
        }
        object::default(params, "channel", crate::newest::ROOT_RESOURCE_URI);
        for key in ["initialSubscriptions", "subscriptions"] {
            for channel in object::list_mut(params, key).into_iter().flatten() {
                if let Value::String(channel) = channel {
                    *channel = raise_channel(channel);
                }
            }
        }
    }

    fn lower_result(&self, method: &str, result: &mut Object) {
        match method {
            "initialize" => {
                drop_keys(result, &["completionTriggerCharacters", "telemetry"]);
                result.insert("protocolVersion".into(), 1.into());
            }
            "reconnect" => drop_keys(result, &["missing"]),
            _ => {}
        }
    }

    fn lower_question(&self, method: &str, params: &mut Object) -> bool {
        drop_keys(params, &["channel"]);
        if method == "resourceWrite" {
            let truncates = object::text(params, "mode").is_none_or(|mode| mode == "truncate");
            let is_whole = truncates && object::number(params, "position") == 0;
            if !is_whole || params.contains_key("ifMatch") {
                return false;
            }
            drop_keys(params, &["mode", "position"]);
        }
        !matches!(
            method,
            "resourceResolve" | "resourceMkdir" | "resourceRequest"
        )
    }

    fn lower_notification(&self, method: &mut String, params: &mut Object) -> bool {
        let kind = match method.as_str() {
            "root/sessionAdded" => "notify/sessionAdded",
            "root/sessionRemoved" => "notify/sessionRemoved",
            "root/sessionSummaryChanged" => "notify/sessionSummaryChanged",
            "auth/required" => "notify/authRequired",
            _ => return false,
        };
        let mut inner = std::mem::take(params);
        drop_keys(&mut inner, &["channel"]);
        inner.insert("type".into(), kind.into());
        params.insert("notification".into(), inner.into());
        *method = "notification".into();
        true
    }
}

fn lower_channel(channel: &str) -> String {
    match channel == crate::newest::ROOT_RESOURCE_URI {
        true => ROOT.to_owned(),
        false => channel.to_owned(),
    }
}

fn raise_channel(channel: &str) -> String {
    match channel == ROOT {
        true => crate::newest::ROOT_RESOURCE_URI.to_owned(),
        false => channel.to_owned(),
    }
}

/// A notice has no name of its own, and a Markdown part needs one: the same in
/// the action and in the state.
fn name_of_notice(content: &str) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("notice-{:016x}", hasher.finish())
}

/// Attachments were files, directories or selections in files.
fn lower_attachment(it: &mut Object) -> bool {
    let uri = match object::text(it, "type") {
        Some("resource") => it.remove("uri"),
        Some("embeddedResource") => {
            let data = object::text(it, "data").unwrap_or_default();
            let kind = object::text(it, "contentType").unwrap_or_default();
            Some(format!("data:{kind};base64,{data}").into())
        }
        _ => None,
    };
    let Some(uri) = uri else {
        return false;
    };
    let kind = match object::text(it, "displayKind") {
        Some("directory") => "directory",
        Some("selection") => "selection",
        _ => "file",
    };
    let label = it.remove("label");
    *it = object::of(json!({"type": kind, "uri": uri, "displayName": label}));
    true
}

fn raise_attachment(it: &mut Object) {
    let kind = it.remove("type");
    let uri = it.remove("uri").unwrap_or_default();
    let label = match it.remove("displayName") {
        Some(name) => name,
        None => uri.clone(),
    };
    *it = object::of(json!({"type": "resource", "uri": uri, "label": label}));
    if let Some(kind) = kind.filter(|kind| kind != "file") {
        it.insert("displayKind".into(), kind);
    }
}

/// What draft 1 tells of a customization itself.
fn reference(it: &Object) -> Object {
    let mut reference = object::of(json!({"uri": it.get("uri"), "displayName": it.get("name")}));
    for key in ["icons", "nonce"] {
        if let Some(value) = it.get(key) {
            reference.insert(key.into(), value.clone());
        }
    }
    reference
}

/// What it tells of a customization in a session.
fn lower_customization(it: &Object) -> Object {
    let mut lowered = object::of(json!({
        "customization": reference(it),
        "enabled": it.get("enabled").unwrap_or(&Value::Bool(true)),
    }));
    if let Some(client) = it.get("clientId") {
        lowered.insert("clientId".into(), client.clone());
    }
    if let Some(load) = it.get("load") {
        lowered.insert("status".into(), load["kind"].clone());
        if let Some(message) = load.get("message") {
            lowered.insert("statusMessage".into(), message.clone());
        }
    }
    lowered
}

fn raise_customization(it: &Object) -> Object {
    // An agent's list holds the bare references.
    let bare = it.get("customization").and_then(Value::as_object);
    let reference = bare.unwrap_or(it);
    let mut raised = object::of(json!({
        "type": "plugin",
        "id": reference.get("uri"),
        "uri": reference.get("uri"),
        "name": reference.get("displayName"),
        "enabled": it.get("enabled").unwrap_or(&Value::Bool(true)),
    }));
    for (from, key) in [(reference, "icons"), (reference, "nonce"), (it, "clientId")] {
        if let Some(value) = from.get(key) {
            raised.insert(key.into(), value.clone());
        }
    }
    if let Some(status) = it.get("status") {
        let mut load = object::of(json!({"kind": status}));
        if let Some(message) = it.get("statusMessage") {
            load.insert("message".into(), message.clone());
        }
        raised.insert("load".into(), load.into());
    }
    raised
}
