//! From a client to the house: the whole way through the gates.

use serde_json::Value;

use super::nodes::walk;
use super::{Act, Node, Object, Picture, between, object};
use crate::version::Version;

/// What an action of an older version is in the house. What the older version
/// says in pieces, where the house says it at once, is one of the
/// [`Piece`]s of a whole that only the host can complete.
pub fn action(version: Version, channel: &str, action: Value) -> (Act, Option<Piece>) {
    let mut act = Act {
        channel: channel.to_owned(),
        action: object::of(action),
    };
    forget_nulls(Node::Action, &mut act.action);
    let mut piece = None;
    for gate in between(version).rev() {
        gate.raise_action(&mut act);
        walk(Node::Action, &mut act.action, &mut |node, it| {
            gate.raise(node, it)
        });
        piece = piece.or_else(|| gate.piece_of(&act));
    }
    (act, piece)
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

/// A part of something that the house changes as a whole: the other parts stay
/// as they are.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// The model of a chat's draft.
    Model(Value),
    /// The agent of a chat's draft; `null` for none.
    Agent(Value),
    /// The active client of a session, or `null` if there is to be none.
    ActiveClient(Value),
    /// The tools of the active client.
    ClientTools(Value),
}

impl Piece {
    /// The whole draft that this piece makes of the present one.
    pub fn complete_draft(&self, draft: Option<Value>) -> Option<Object> {
        let mut draft = draft.map(object::of).unwrap_or_default();
        object::default(&mut draft, "text", "");
        object::default(&mut draft, "origin", serde_json::json!({"kind": "user"}));
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

    /// The whole active client that this piece makes of the present one.
    pub fn complete_client(&self, client: Option<Value>) -> Option<Object> {
        match self {
            Self::ActiveClient(Value::Object(client)) => Some(client.clone()),
            Self::ClientTools(tools) => {
                let mut client = object::of(client?);
                client.insert("tools".into(), tools.clone());
                Some(client)
            }
            Self::ActiveClient(_) | Self::Model(_) | Self::Agent(_) => None,
        }
    }
}

/// The state of a channel of an older version, as the house has it.
pub fn picture(version: Version, mut picture: Picture) -> Picture {
    picture.node = super::down::kind_of(&picture.state);
    for gate in between(version).rev() {
        gate.raise_picture(&mut picture);
        let raise = |node, it: &mut Object| {
            walk(node, it, &mut |node, it| gate.raise(node, it));
            gate.raise(node, it);
        };
        if let Some(node) = picture.node {
            raise(node, &mut picture.state);
        }
        if let Some(chat) = &mut picture.chat {
            raise(Node::ChatState, chat);
        }
        if let Some(summary) = &mut picture.summary {
            raise(Node::Summary, summary);
        }
    }
    picture
}

/// The parameters of a request.
pub fn params(version: Version, method: &str, params: &mut Object) {
    forget_nulls(Node::Call, params);
    for gate in between(version).rev() {
        gate.raise_params(method, params);
        walk(Node::Call, params, &mut |node, it| gate.raise(node, it));
    }
}
