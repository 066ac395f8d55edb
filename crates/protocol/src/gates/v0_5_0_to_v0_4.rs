//! 0.5.0 → 0.4: model and agent were selected for a session and not with a
//! message; a session had one active client; the catalogue's row was repeated
//! within the session's state; dates there were numbers; drafts were private.

use super::tree::{Value, json};

use super::object::{self, drop_keys};
use super::{
    Act, ChangesTurns, Gate, LoweredFacts, Node, Object, PartialAction, SnapshotForGates, TurnEdit,
};
use crate::Timestamp;
use crate::version::Version;

pub(super) struct Changes;

/// What a session's state shares with its row in the catalogue.
const SHARED: [&str; 7] = [
    "provider",
    "title",
    "status",
    "activity",
    "project",
    "workingDirectory",
    "annotations",
];

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_4
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::Edits(
            &[
                TurnEdit::DropOfMessage("model"),
                TurnEdit::DropOfMessage("agent"),
            ],
            &["\"userSuggestion\""],
        )
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::SessionState => {
                if let Some(Value::Array(clients)) = it.remove("activeClients")
                    && let Some(first) = clients.into_iter().next()
                {
                    it.insert("activeClient".into(), first);
                }
            }
            Node::Summary | Node::SummaryChanges => {
                drop_keys(it, &["_meta"]);
                lower_date(it, "createdAt");
                lower_date(it, "modifiedAt");
                object::take_facts(it, &["model", "agent"]);
            }
            Node::ChatState => drop_keys(it, &["draft", "activity"]),
            Node::Message => drop_keys(it, &["model", "agent"]),
            Node::Model => drop_keys(it, &["maxOutputTokens", "maxPromptTokens"]),
            Node::Selection => {
                let config = object::child_mut(it, "config");
                for value in config.into_iter().flat_map(Object::values_mut) {
                    *value = written(value);
                }
            }
            Node::ConfigProperty => {
                for value in object::list_mut(it, "enum").into_iter().flatten() {
                    *value = written(value);
                }
            }
            _ => {}
        }
        true
    }

    fn raise(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::SessionState => {
                let client = it.remove("activeClient");
                let clients: Vec<Value> = client.into_iter().filter(Value::is_object).collect();
                it.insert("activeClients".into(), clients.into());
            }
            Node::Summary | Node::SummaryChanges => {
                raise_date(it, "createdAt");
                raise_date(it, "modifiedAt");
            }
            _ => {}
        }
        true
    }

    fn lower_action(&self, act: Act, known: &LoweredFacts, out: &mut Vec<Act>) {
        match act.kind() {
            "chat/activityChanged" => {}
            "chat/draftChanged" => tell_selection(&act, known, out),
            "chat/turnStarted" => {
                tell_selection(&act, known, out);
                out.push(act);
            }
            "session/activeClientSet" | "session/activeClientRemoved" => {
                tell_first_client(&act, known, out);
            }
            _ => out.push(act),
        }
    }

    fn partial_action_of(&self, act: &Act) -> Option<PartialAction> {
        let field = |key: &str| serde_json::Value::from(act.action[key].clone());
        Some(match act.kind() {
            "session/modelChanged" => PartialAction::Model(field("model")),
            "session/agentChanged" => PartialAction::Agent(field("agent")),
            "session/activeClientChanged" => PartialAction::ActiveClient(field("activeClient")),
            "session/activeClientToolsChanged" => PartialAction::ClientTools(field("tools")),
            _ => return None,
        })
    }

    /// The state takes the row of the catalogue in.
    fn lower_snapshot(&self, snapshot: &mut SnapshotForGates) {
        if snapshot.node != Some(Node::SessionState) {
            return;
        }
        let mut summary = snapshot.summary.take().unwrap_or_default();
        for key in SHARED {
            summary.remove(key);
            object::hand_over(&mut snapshot.state, &mut summary, key);
        }
        summary.insert("resource".into(), snapshot.resource.clone().into());
        object::default(&mut summary, "createdAt", 0);
        object::default(&mut summary, "modifiedAt", 0);
        for key in ["model", "agent"] {
            if let Some(selected) = snapshot.selection.get(key).filter(|it| !it.is_null()) {
                summary.insert(key.into(), selected.clone());
            }
        }
        snapshot.state.insert("summary".into(), summary.into());
    }

    fn raise_snapshot(&self, snapshot: &mut SnapshotForGates) {
        if let Some(Value::Object(mut summary)) = snapshot.state.remove("summary") {
            for key in ["model", "agent"] {
                object::hand_over(&mut summary, &mut snapshot.selection, key);
            }
            snapshot.summary = Some(summary.clone());
            for key in SHARED {
                object::hand_over(&mut summary, &mut snapshot.state, key);
            }
        }
    }

    fn lower_notification(&self, method: &mut String, _params: &mut Object) -> bool {
        method != "root/progress"
    }
}

fn lower_date(it: &mut Object, key: &'static str) {
    if let Some(at) = object::text(it, key).and_then(Timestamp::parse) {
        it.insert(key.into(), at.as_millis().into());
    }
}

fn raise_date(it: &mut Object, key: &'static str) {
    if let Some(at) = it.get(key).and_then(Value::as_i64) {
        it.insert(key.into(), Timestamp::from_millis(at).to_string().into());
    }
}

/// Values of a form were text.
fn written(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.clone()),
        other => other.to_string().into(),
    }
}

/// The channel on which 0.4 tells of a chat's model: its session's. (A chat
/// that is not the default one becomes a session further down.)
fn selection_channel(act: &Act, known: &LoweredFacts) -> String {
    match &known.session {
        Some(session) if known.is_default_chat => session.clone(),
        _ => act.channel.clone(),
    }
}

fn tell_selection(act: &Act, known: &LoweredFacts, out: &mut Vec<Act>) {
    let channel = selection_channel(act, known);
    let mut tell = |action: Value| {
        out.push(Act {
            channel: channel.clone(),
            action: object::of(action),
        });
    };
    if let Some(model @ Value::Object(_)) = known.extra.get("model") {
        tell(json!({"type": "session/modelChanged", "model": model}));
    }
    match known.extra.get("agent") {
        Some(Value::Null) => tell(json!({"type": "session/agentChanged"})),
        Some(agent) => tell(json!({"type": "session/agentChanged", "agent": agent})),
        None => {}
    }
}

/// The first of the active clients is the one that 0.4 knows of. Whoever said
/// something about it is answered in their own words with what it is now.
fn tell_first_client(act: &Act, known: &LoweredFacts, out: &mut Vec<Act>) {
    const CHANGED: &str = "session/activeClientChanged";
    const TOOLS_CHANGED: &str = "session/activeClientToolsChanged";
    let before = known.extra.get("clientBefore").unwrap_or(&Value::Null);
    let after = known.extra.get("clientAfter").unwrap_or(&Value::Null);
    let said = object::text(&known.extra, "said");
    if before == after && said.is_none() {
        return;
    }
    let without_tools = |client: &Value| {
        let mut client = client.clone();
        if let Some(client) = client.as_object_mut() {
            client.remove("tools");
        }
        client
    };
    out.push(act.sibling(match after {
        Value::Object(client)
            if said != Some(CHANGED) && without_tools(before) == without_tools(after) =>
        {
            json!({"type": TOOLS_CHANGED, "tools": client.get("tools")})
        }
        _ => json!({"type": CHANGED, "activeClient": after}),
    }));
}
