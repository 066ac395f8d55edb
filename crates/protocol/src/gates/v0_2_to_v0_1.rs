//! 0.2 → 0.1: actions said themselves what they are about, and requests had no
//! channel; the root had another name; notifications came wrapped;
//! customizations were references; there were no changesets and no watches.

use super::tree::{Value, json};

use super::down::FACTS;
use super::object::{self, drop_keys, rename};
use super::{
    Act, ChangesTurns, Gate, LoweredFacts, Node, Object, SnapshotForGates, Text, TurnEdit,
};
use crate::version::Version;

pub(super) struct Changes;

/// The root channel of the drafts.
const ROOT: &str = "agenthost:/root";

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_1
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::Edits(&[TurnEdit::DropOfMessage("_meta")], &["\"userSuggestion\""])
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::Message => drop_keys(it, &["_meta"]),
            Node::Summary | Node::SummaryChanges => {
                drop_keys(it, &["agent", "changesets"]);
                object::take_facts(it, &["diffs"]);
                drop_keys(it, &[FACTS]);
            }
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
            ("changeset" | "resourceWatch", _) | ("session", "agentChanged") => return,
            // The list of changesets is nothing to 0.1; what is in them is.
            ("session", "changesetsChanged") => {
                let Some(diffs) = known.extra.get("diffs") else {
                    return;
                };
                act = act.sibling(json!({"type": "session/diffsChanged", "diffs": diffs}));
            }
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
            ("session", "ready") => {
                let status = object::number(&known.extra, "status");
                let session = act.channel.clone();
                name_subject(&mut act, "session");
                out.push(act);
                repeat_status(&session, status, out);
                return;
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
        name_subject(&mut act, subject);
        out.push(act);
    }

    fn lower_text(&self, text: &mut Text<'_>) {
        text.names_channel = true;
    }

    fn raise_action(&self, act: &mut Act) {
        for subject in ["session", "terminal"] {
            // A terminal's claim may name a session; that is not a subject.
            if act.family() == subject
                && let Some(Value::String(channel)) = act.action.remove(subject)
            {
                act.channel = channel.into_owned();
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
        if let Some(summary) = object::child_mut(&mut snapshot.state, "summary")
            && let Some(diffs) = snapshot.selection.remove("diffs")
        {
            summary.insert("diffs".into(), diffs);
        }
    }

    fn raise_params(&self, method: &str, params: &mut Object) {
        let subject = match method {
            "subscribe" | "unsubscribe" => Some("resource"),
            "createSession" | "disposeSession" | "fetchTurns" | "completions" => Some("session"),
            "createTerminal" | "disposeTerminal" => Some("terminal"),
            _ => None,
        };
        if let Some(subject) = subject {
            rename(params, subject, "channel");
        }
        if let Some(Value::String(channel)) = params.get_mut("channel") {
            *channel = raise_channel(channel).into();
        }
        object::default(params, "channel", crate::newest::ROOT_RESOURCE_URI);
        for key in ["initialSubscriptions", "subscriptions"] {
            for channel in object::list_mut(params, key).into_iter().flatten() {
                if let Value::String(channel) = channel {
                    *channel = raise_channel(channel).into();
                }
            }
        }
    }

    fn lower_result(&self, method: &str, result: &mut Object) {
        if method == "initialize" {
            drop_keys(result, &["telemetry"]);
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
        !matches!(method, "resourceResolve" | "resourceMkdir")
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

/// An action says what it is about.
fn name_subject(act: &mut Act, subject: &'static str) {
    let channel = act.channel.clone();
    act.action.insert(subject.into(), channel.into());
}

/// Reducers of 0.1 take a session that is ready for idle and unread. So it is
/// told again what it is: its flags, and that somebody works, by an action that
/// changes nothing and makes them look at what goes on.
fn repeat_status(session: &str, status: u64, out: &mut Vec<Act>) {
    let mut tell = |action: Value| {
        let mut act = Act {
            channel: session.to_owned(),
            action: object::of(action),
        };
        name_subject(&mut act, "session");
        out.push(act);
    };
    if status & object::IS_READ != 0 {
        tell(json!({"type": "session/isReadChanged", "isRead": true}));
    }
    if status & object::IS_ARCHIVED != 0 {
        tell(json!({"type": "session/isArchivedChanged", "isArchived": true}));
    }
    if status & object::IN_PROGRESS != 0 {
        tell(json!({
            "type": "session/toolCallResultConfirmed",
            "turnId": "",
            "toolCallId": "",
            "approved": true,
        }));
    }
}

/// What 0.1 tells of a customization itself.
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
