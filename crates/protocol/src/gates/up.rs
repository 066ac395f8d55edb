//! From a client to the engine: the whole way through the gates.

use serde_json::{Map, Value, json};

use super::nodes::walk;
use super::{Act, Node, Object, SnapshotForGates, between, object};
use crate::version::Version;

/// What an action of an older version is in the newest. What the older version
/// says in parts, where the newest says it at once, is a [`PartialAction`]: only
/// the host can complete it.
pub fn action(version: Version, channel: &str, action: Value) -> (Act, Option<PartialAction>) {
    let mut act = Act {
        channel: channel.to_owned(),
        action: object::of(action.into()),
    };
    forget_nulls(Node::Action, &mut act.action);
    let mut partial = None;
    for gate in between(version).rev() {
        gate.raise_action(&mut act);
        walk(Node::Action, &mut act.action, &mut |node, it| {
            gate.raise(node, it)
        });
        partial = partial.or_else(|| gate.partial_action_of(&act));
    }
    (act, partial)
}

/// Optional fields may be `null`, which is as good as absent: gates need not
/// know. What is inside settings and the like is left alone.
fn forget_nulls(node: Node, it: &mut Object) {
    let mut forget = |_, it: &mut Object| {
        it.retain(|_, value| !value.is_null());
        true
    };
    walk(node, it, &mut forget);
    forget(node, it);
}

/// A part of something that the newest version changes as a whole: the other
/// parts stay as they are.
#[derive(Debug, Clone, PartialEq)]
pub enum PartialAction {
    /// The model of a chat's draft.
    Model(Value),
    /// The agent of a chat's draft; `null` for none.
    Agent(Value),
    /// The active client of a session, or `null` if there is to be none.
    ActiveClient(Value),
    /// The tools of the active client.
    ClientTools(Value),
}

impl PartialAction {
    /// The whole draft that this part makes of the present one.
    pub fn complete_draft(&self, draft: Option<Value>) -> Option<Map<String, Value>> {
        let mut draft = draft.map(map_of).unwrap_or_default();
        for (key, value) in [("text", json!("")), ("origin", json!({"kind": "user"}))] {
            let field = draft.entry(key).or_insert(Value::Null);
            if field.is_null() {
                *field = value;
            }
        }
        let (key, value) = match self {
            // A session cannot be left without a model, only without an agent.
            Self::Model(Value::Null) => return None,
            Self::Model(model) => ("model", model),
            Self::Agent(agent) => ("agent", agent),
            Self::ActiveClient(_) | Self::ClientTools(_) => return None,
        };
        match value {
            Value::Null => draft.remove(key),
            value => draft.insert(key.into(), value.clone()),
        };
        Some(draft)
    }

    /// The whole active client that this part makes of the present one.
    pub fn complete_client(&self, client: Option<Value>) -> Option<Map<String, Value>> {
        match self {
            Self::ActiveClient(Value::Object(client)) => Some(client.clone()),
            Self::ClientTools(tools) => {
                let mut client = map_of(client?);
                client.insert("tools".into(), tools.clone());
                Some(client)
            }
            Self::ActiveClient(_) | Self::Model(_) | Self::Agent(_) => None,
        }
    }
}

/// The state of a channel of an older version, in the newest. Clients send no
/// states: only tests and fuzz targets need it.
pub fn snapshot(version: Version, mut snapshot: SnapshotForGates) -> SnapshotForGates {
    snapshot.node = super::down::kind_of(&snapshot.state);
    for gate in between(version).rev() {
        gate.raise_snapshot(&mut snapshot);
        let raise = |node, it: &mut Object| {
            walk(node, it, &mut |node, it| gate.raise(node, it));
            gate.raise(node, it);
        };
        if let Some(node) = snapshot.node {
            raise(node, &mut snapshot.state);
        }
        if let Some(chat) = &mut snapshot.chat {
            raise(Node::ChatState, chat);
        }
        if let Some(summary) = &mut snapshot.summary {
            raise(Node::Summary, summary);
        }
    }
    snapshot
}

/// The parameters of a request.
pub fn params(version: Version, method: &str, params: &mut Map<String, Value>) {
    let mut raised = Object::from(std::mem::take(params));
    forget_nulls(Node::Call, &mut raised);
    for gate in between(version).rev() {
        gate.raise_params(method, &mut raised);
        walk(Node::Call, &mut raised, &mut |node, it| {
            gate.raise(node, it)
        });
    }
    *params = raised.into();
}

fn map_of(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
