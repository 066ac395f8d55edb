//! 0.4 → 0.3: there were no chats. A session and its default chat are one
//! channel; every other chat is a session of its own. No annotations either,
//! and no snapshot of a watch.

use super::tree::{Value, json};

use super::object::{self, drop_keys, has};
use super::{Act, ChangesTurns, Gate, LoweredFacts, Node, Object, SnapshotForGates, Text};
use crate::ChannelUri;
use crate::version::Version;

pub(super) struct Changes;

/// The part of a chat's state that was the session's.
const OF_THE_CHAT: [&str; 5] = [
    "turns",
    "activeTurn",
    "steeringMessage",
    "queuedMessages",
    "inputRequests",
];

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_3
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::With(&["\"error\"", "\"annotations\""])
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::RootState | Node::Error => drop_keys(it, &["_meta"]),
            Node::ConfigProperty => drop_keys(it, &["additionalProperties"]),
            Node::Summary | Node::SummaryChanges => drop_keys(it, &["annotations"]),
            Node::ChangesetOperation => {
                drop_keys(it, &["group"]);
                object::replace(it, "status", "disabled", "idle");
            }
            Node::Attachment if has(it, "type", "annotations") => {
                it.insert("type".into(), "simple".into());
                drop_keys(it, &["resource", "annotationIds"]);
            }
            _ => {}
        }
        true
    }

    fn lower_action(&self, mut act: Act, known: &LoweredFacts, out: &mut Vec<Act>) {
        match (act.family(), act.verb()) {
            ("annotations", _)
            | ("session", "chatAdded" | "chatRemoved" | "chatUpdated" | "defaultChatChanged") => {}
            ("chat", verb) => {
                let is_about_tool = verb.starts_with("toolCall");
                act.set_kind(format!("session/{verb}"));
                if !is_about_tool {
                    drop_keys(&mut act.action, &["_meta"]);
                }
                if let Some(session) = known.session.as_ref().filter(|_| known.is_default_chat) {
                    act.channel.clone_from(session);
                }
                out.push(act);
            }
            ("changeset", "contentChanged") => spell_out_content(&act, out),
            ("changeset", "operationStatusChanged") => {
                object::replace(&mut act.action, "status", "disabled", "idle");
                out.push(act);
            }
            _ => out.push(act),
        }
    }

    fn lower_text(&self, text: &mut Text<'_>) {
        text.is_in_chat = false;
        text.channel = text.session.unwrap_or(text.channel);
    }

    fn raise_action(&self, act: &mut Act) {
        let verb = act.verb().to_owned();
        if act.family() == "session" && IN_CHATS.contains(&verb.as_str()) {
            act.set_kind(format!("chat/{verb}"));
            act.channel = chat_of(&act.channel);
        }
    }

    fn lower_snapshot(&self, snapshot: &mut SnapshotForGates) {
        match snapshot.node {
            Some(Node::SessionState) => {
                let mut chat = snapshot.chat.take().unwrap_or_default();
                let activity = object::number(&chat, "status");
                for key in OF_THE_CHAT {
                    object::hand_over(&mut chat, &mut snapshot.state, key);
                }
                drop_keys(&mut snapshot.state, &["chats", "defaultChat"]);
                object::default(&mut snapshot.state, "turns", json!([]));
                if let Some(summary) = object::child_mut(&mut snapshot.state, "summary") {
                    let activity = if activity == 0 {
                        object::IDLE
                    } else {
                        activity
                    };
                    object::set_status(summary, object::ACTIVITY, activity);
                    drop_keys(summary, &["annotations"]);
                }
            }
            Some(Node::ChatState) => show_as_session(snapshot),
            // There was such a state, and snapshots could not hold it.
            Some(Node::WatchState) => snapshot.unseen = true,
            _ => {}
        }
    }

    fn raise_snapshot(&self, snapshot: &mut SnapshotForGates) {
        if snapshot.node != Some(Node::SessionState) {
            return;
        }
        let mut chat = Object::new();
        let chat_uri = chat_of(&snapshot.resource);
        for key in OF_THE_CHAT {
            object::hand_over(&mut snapshot.state, &mut chat, key);
        }
        let summary = snapshot.state.get("summary").and_then(Value::as_object);
        let status = summary.map_or(object::IDLE, |it| object::number(it, "status"));
        object::default(&mut chat, "turns", json!([]));
        chat.insert("resource".into(), chat_uri.clone().into());
        chat.insert("title".into(), "".into());
        chat.insert("status".into(), status.into());
        chat.insert("modifiedAt".into(), "1970-01-01T00:00:00.000Z".into());
        snapshot.chat = Some(chat);
        snapshot.state.insert("chats".into(), json!([]));
        snapshot.state.insert("defaultChat".into(), chat_uri.into());
    }

    fn raise_params(&self, method: &str, params: &mut Object) {
        // These were asked of a session and are asked of its chat.
        if matches!(method, "fetchTurns" | "completions")
            && let Some(session) = object::text(params, "channel").map(chat_of)
        {
            params.insert("channel".into(), session.into());
        }
    }
}

/// What is done in a chat, from 0.4 on.
const IN_CHATS: [&str; 22] = [
    "turnStarted",
    "delta",
    "responsePart",
    "toolCallStart",
    "toolCallDelta",
    "toolCallReady",
    "toolCallConfirmed",
    "toolCallComplete",
    "toolCallResultConfirmed",
    "toolCallContentChanged",
    "turnComplete",
    "turnCancelled",
    "error",
    "usage",
    "reasoning",
    "pendingMessageSet",
    "pendingMessageRemoved",
    "queuedMessagesReordered",
    "inputRequested",
    "inputAnswerChanged",
    "inputCompleted",
    "truncated",
];

/// The chat that a session of 0.3 stands for. It may be a chat already that is
/// shown as a session; only the host can know that.
fn chat_of(session: &str) -> String {
    ChannelUri::default_chat_of(session).as_str().to_owned()
}

/// A chat that is not the default one, as a session in its session's
/// circumstances.
fn show_as_session(snapshot: &mut SnapshotForGates) {
    let mut chat = std::mem::take(&mut snapshot.state);
    snapshot.session = None;
    let mut summary = match snapshot.summary.take() {
        Some(summary) => summary,
        None => Object::new(),
    };
    drop_keys(&mut summary, &["changes", "activity", "annotations"]);
    let status = object::number(&chat, "status") & object::ACTIVITY | snapshot.chat_flags;
    summary.insert("resource".into(), snapshot.resource.clone().into());
    summary.insert("status".into(), status.into());
    object::hand_over(&mut chat, &mut summary, "title");
    object::hand_over(&mut chat, &mut summary, "workingDirectory");
    object::default(&mut summary, "provider", "");
    object::default(&mut summary, "createdAt", 0);
    object::default(&mut summary, "modifiedAt", 0);
    for key in ["model", "agent"] {
        if let Some(selected) = snapshot.selection.get(key).filter(|it| !it.is_null()) {
            summary.insert(key.into(), selected.clone());
        }
    }
    // Whether its session came into being is told there.
    let mut state = object::of(json!({"lifecycle": "ready"}));
    for key in OF_THE_CHAT {
        object::hand_over(&mut chat, &mut state, key);
    }
    object::default(&mut state, "turns", json!([]));
    state.insert("summary".into(), summary.into());
    snapshot.state = state;
    snapshot.node = Some(Node::SessionState);
}

/// The files of a changeset were told one by one.
fn spell_out_content(act: &Act, out: &mut Vec<Act>) {
    out.push(act.sibling(json!({"type": "changeset/cleared"})));
    let files = act.action.get("files").and_then(Value::as_array);
    out.extend(
        files
            .into_iter()
            .flatten()
            .map(|file| act.sibling(json!({"type": "changeset/fileSet", "file": file}))),
    );
    if let Some(operations) = act.action.get("operations") {
        let action = json!({"type": "changeset/operationsChanged", "operations": operations});
        out.push(act.sibling(action));
    }
}
