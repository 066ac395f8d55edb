//! From the engine to a client: the whole way through the gates.

use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};

use super::nodes::walk;
use super::tree::{self, Value};
use super::{
    Act, ChangesTurns, Gate, LoweredFacts, Node, Object, SnapshotForGates, TurnEdit, between,
    object, turn_text,
};
use crate::ChannelUri;
use crate::newest::actions::StateAction;
use crate::record::{Excerpts, ExtraFacts, GateFacts};
use crate::version::Version;

/// Where a row of the catalogue has what only older versions say of a session,
/// until a gate takes it out: see [`crate::record::SummaryFacts`].
pub const FACTS: &str = "olderFacts";

/// The actions that an action is in an older version: none if that version
/// cannot tell it, or several if it tells it in steps.
pub fn action(
    version: Version,
    channel: &str,
    action: impl Into<Value>,
    facts: &GateFacts,
) -> Vec<Act> {
    let mut acts = vec![Act {
        channel: channel.to_owned(),
        action: object::of(action.into()),
    }];
    let mut known = not_yet_lowered(facts);
    if let Some(extra) = facts.extra.as_deref() {
        known.extra.remove("inputs");
        for act in &mut acts {
            tell_inputs(version, Node::Action, &mut act.action, &extra.inputs);
        }
        tell_inputs(version, Node::ExtraFacts, &mut known.extra, &extra.inputs);
    }
    for gate in between(version) {
        if !known.extra.is_empty() {
            known.newer.clone_from(&known.extra);
            walk(Node::ExtraFacts, &mut known.extra, &mut |node, it| {
                gate.lower(node, it)
            });
        }
        let mut lowered = Vec::with_capacity(acts.len());
        for mut act in acts {
            walk(Node::Action, &mut act.action, &mut |node, it| {
                gate.lower(node, it)
            });
            gate.lower_action(act, &known, &mut lowered);
        }
        acts = lowered;
    }
    acts
}

/// How many actions an action is at most, in the version that tells it in the
/// most steps.
pub fn most_steps(channel: &ChannelUri, newest: &StateAction, facts: &GateFacts) -> usize {
    // All that is told in steps needs to be told something more, but for the
    // content of a changeset, which was told file by file.
    let extra = facts.extra.as_deref();
    let in_steps = extra.is_some_and(ExtraFacts::may_need_steps)
        || matches!(newest, StateAction::ChangesetContentChanged(_));
    let whole = in_steps.then(|| tree::build(newest).ok()).flatten();
    let Some(whole) = whole else {
        return 1;
    };
    let steps =
        Version::ALL.map(|version| action(version, channel.as_str(), whole.clone(), facts).len());
    steps.into_iter().max().unwrap_or(1)
}

fn not_yet_lowered(facts: &GateFacts) -> LoweredFacts {
    let extra = facts.extra.as_deref().map(tree::build);
    LoweredFacts {
        session: facts.session.as_ref().map(|uri| uri.as_str().to_owned()),
        is_default_chat: facts.is_default_chat,
        extra: extra
            .and_then(Result::ok)
            .map(object::of)
            .unwrap_or_default(),
        newer: Object::new(),
    }
}

/// Puts the text of tool input that is kept elsewhere next to the reference to
/// it, for versions that cannot refer to it.
fn tell_inputs(version: Version, node: Node, it: &mut Object, inputs: &Excerpts) {
    if inputs.is_empty() || version.refers_to_tool_input() {
        return;
    }
    walk(node, it, &mut |node, it| {
        if node == Node::ToolInput
            && let Some(text) = object::text(it, "uri").and_then(|uri| inputs.get(uri))
        {
            it.insert("text".into(), text.to_string().into());
        }
        true
    });
}

/// A finished turn as an older version has it; `None` if it has nothing like
/// it. Most are changed as text, or not at all, which costs about a copy of it;
/// only those that have something that a gate looks for are built as a tree.
pub(crate) fn turn_as_text(
    version: Version,
    newest: &Arc<RawValue>,
    inputs: &Excerpts,
) -> serde_json::Result<Option<Arc<RawValue>>> {
    let json = newest.get();
    if !between(version).any(|gate| gate.changes_turns().goes_deeper(json)) {
        let edits = between(version).flat_map(|gate| gate.changes_turns().edits());
        let edits: Vec<TurnEdit> = edits.copied().collect();
        if edits.is_empty() {
            return Ok(Some(Arc::clone(newest)));
        }
        if let Ok(edited) = turn_text::edited(json, &edits) {
            return Ok(Some(edited.into()));
        }
    }
    let lowered = turn(version, serde_json::from_str(json)?, inputs);
    let lowered = lowered.map(|turn| to_raw_value(&turn));
    Ok(lowered.transpose()?.map(Arc::from))
}

/// The same by way of a tree. No gate looks at what surrounds such a turn, or at
/// it from outside.
fn turn(version: Version, mut turn: Object, inputs: &Excerpts) -> Option<Object> {
    tell_inputs(version, Node::Turn, &mut turn, inputs);
    let mut gates = between(version).filter(|it| it.changes_turns() != ChangesTurns::Never);
    let has_it = gates.all(|gate| {
        walk(Node::Turn, &mut turn, &mut |node, it| gate.lower(node, it));
        gate.lower(Node::Turn, &mut turn)
    });
    has_it.then_some(turn)
}

/// The state of a channel as an older version has it.
pub fn snapshot(version: Version, mut snapshot: SnapshotForGates) -> SnapshotForGates {
    snapshot.node = kind_of(&snapshot.state);
    // Some versions in between do not have them, and those below do again.
    let chat = snapshot.chat.as_ref().unwrap_or(&snapshot.state);
    snapshot.chat_flags = object::number(chat, "status") & object::FLAGS;
    let inputs = Arc::clone(&snapshot.inputs);
    if let Some(node) = snapshot.node {
        tell_inputs(version, node, &mut snapshot.state, &inputs);
    }
    if let Some(chat) = &mut snapshot.chat {
        tell_inputs(version, Node::ChatState, chat, &inputs);
    }
    if let Some(session) = &mut snapshot.session {
        tell_inputs(version, Node::SessionState, session, &inputs);
    }
    for gate in between(version) {
        let lower = |node, it: &mut Object| {
            walk(node, it, &mut |node, it| gate.lower(node, it));
            gate.lower(node, it);
        };
        if let Some(summary) = &mut snapshot.summary {
            lower(Node::Summary, summary);
        }
        if let Some(chat) = &mut snapshot.chat {
            lower(Node::ChatState, chat);
        }
        if let Some(session) = &mut snapshot.session {
            lower(Node::SessionState, session);
        }
        lower(Node::ExtraFacts, &mut snapshot.selection);
        if let Some(node) = snapshot.node {
            lower(node, &mut snapshot.state);
        }
        gate.lower_snapshot(&mut snapshot);
    }
    snapshot
}

/// States are told apart by the fields that only they have.
pub(super) fn kind_of(state: &Object) -> Option<Node> {
    let has = |key: &str| state.contains_key(key);
    Some(if has("lifecycle") && (has("chats") || has("summary")) {
        Node::SessionState
    } else if has("turns") {
        Node::ChatState
    } else if has("agents") {
        Node::RootState
    } else if has("claim") {
        Node::TerminalState
    } else if has("files") {
        Node::ChangesetState
    } else if has("recursive") {
        Node::WatchState
    } else if has("annotations") {
        Node::AnnotationsState
    } else if has("canvasId") {
        Node::CanvasState
    } else if has("entries") {
        Node::AutomationState
    } else if has("automation") {
        Node::AutomationRunState
    } else {
        return None;
    })
}

/// A row of the catalogue.
pub fn summary(version: Version, summary: &mut Object) {
    lower_all(version, Node::Summary, summary);
}

fn lower_all(version: Version, node: Node, object: &mut Object) {
    for gate in between(version) {
        walk(node, object, &mut |node, it| gate.lower(node, it));
        gate.lower(node, object);
    }
}

/// The result of a request. Snapshots and actions within it are lowered by
/// [`snapshot`] and [`action`].
pub fn result(version: Version, method: &str, result: &mut Object) {
    let items = match method {
        "listSessions" => Some(Node::Summary),
        "completions" => Some(Node::CompletionItem),
        _ => None,
    };
    for gate in between(version) {
        if let Some(node) = items {
            for item in object::list_mut(result, "items").into_iter().flatten() {
                if let Value::Object(item) = item {
                    lower_row(gate, node, item, version);
                }
            }
        }
        walk(Node::Call, result, &mut |node, it| gate.lower(node, it));
        gate.lower_result(method, result);
    }
}

/// What no gate has taken out on the way is nothing that the version says.
fn lower_row(gate: &dyn Gate, node: Node, row: &mut Object, version: Version) {
    walk(node, row, &mut |node, it| gate.lower(node, it));
    gate.lower(node, row);
    if gate.older() == version {
        row.remove(FACTS);
    }
}

/// A notification of the host; `None` if the version has none like it.
pub fn notification(
    version: Version,
    method: &str,
    params: impl Into<Value>,
) -> Option<(String, Object)> {
    let mut method = method.to_owned();
    let mut params = object::of(params.into());
    for gate in between(version) {
        let node = match method.as_str() {
            "root/sessionAdded" => Some((Node::Summary, "summary")),
            "root/sessionSummaryChanged" => Some((Node::SummaryChanges, "changes")),
            _ => None,
        };
        if let Some((node, key)) = node
            && let Some(row) = object::child_mut(&mut params, key)
        {
            lower_row(gate, node, row, version);
            // What changed is nothing that the version has.
            if row.is_empty() {
                return None;
            }
        }
        if !gate.lower_notification(&mut method, &mut params) {
            return None;
        }
    }
    Some((method, params))
}

/// What the host asks of a client; `None` if the version cannot be asked it.
pub fn question(version: Version, method: &str, params: Value) -> Option<Object> {
    let mut params = object::of(params);
    let asked = between(version).all(|gate| gate.lower_question(method, &mut params));
    asked.then_some(params)
}
