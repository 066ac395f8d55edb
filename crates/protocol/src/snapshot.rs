//! Snapshots: the state of a channel as a client gets it when it subscribes.
//!
//! A chat's finished turns are kept and sent as the JSON they were stored as:
//! a long transcript costs a copy of its bytes, not a parse and a print.

use std::sync::{Arc, Mutex, PoisonError};

use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use crate::gates::down;
use crate::newest::state::{
    AnnotationsState, AutomationRunState, AutomationState, CanvasState, ChangesSummary,
    ChangesetState, ChatState, FileEdit, ResourceWatchState, RootState, SessionState,
    SessionSummary, TerminalState, Turn,
};
use crate::record::{Excerpts, Selection};
use crate::version::Version;
use crate::{ChannelUri, Seq, TurnId};

/// How many versions a turn is kept in besides the newest. Each form takes
/// about as much memory as the turn itself, if the two differ.
const FORMS_KEPT: usize = 4;

/// A finished turn: its id, and the rest as JSON.
#[derive(Debug, Clone)]
pub struct StoredTurn {
    pub id: TurnId,
    pub json: Arc<RawValue>,
    /// The turn as clients of older versions were given it. It never changes,
    /// so going through the gates once is enough for each version.
    older: Arc<Mutex<Vec<OlderForm>>>,
}

/// What a version has of a turn, if anything.
type OlderForm = (Version, Option<Arc<RawValue>>);

impl StoredTurn {
    pub fn new(turn: &Turn) -> serde_json::Result<Self> {
        let json = Arc::from(to_raw_value(turn)?);
        Ok(Self::from_json(TurnId::from(&turn.id), json))
    }

    pub fn from_json(id: TurnId, json: Arc<RawValue>) -> Self {
        Self {
            id,
            json,
            older: Arc::default(),
        }
    }

    /// The turn as a version reads it; `None` if that version has nothing like
    /// it. `inputs` are those of its chat, which do not change either.
    pub(crate) fn lowered(
        &self,
        version: Version,
        inputs: &Excerpts,
    ) -> serde_json::Result<Option<Arc<RawValue>>> {
        let mut older = self.older.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, form)) = older.iter().find(|(known, _)| *known == version) {
            return Ok(form.clone());
        }
        let form = down::turn_as_text(version, &self.json, inputs)?;
        if older.len() == FORMS_KEPT {
            older.remove(0);
        }
        older.push((version, form.clone()));
        Ok(form)
    }

    pub fn decode(&self) -> serde_json::Result<Turn> {
        serde_json::from_str(self.json.get())
    }
}

impl Serialize for StoredTurn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StoredTurn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Named {
            id: String,
        }
        let json = Box::<RawValue>::deserialize(deserializer)?;
        let named: Named = serde_json::from_str(json.get()).map_err(serde::de::Error::custom)?;
        Ok(Self::from_json(TurnId::from(named.id), Arc::from(json)))
    }
}

impl PartialEq for StoredTurn {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.json.get() == other.json.get()
    }
}

/// The state of one channel at one number of the sequence.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    pub resource: ChannelUri,
    pub state: SnapshotState,
    pub from_seq: Seq,
    /// For clients of versions up to 0.4.
    #[serde(skip)]
    pub extra: Option<Box<ExtraState>>,
    /// For clients that cannot be shown a reference in place of the input of a
    /// tool call.
    #[serde(skip)]
    pub inputs: Arc<Excerpts>,
}

/// What older versions show together with a state, because one channel of
/// theirs is made of several of the newest.
#[derive(Debug, Clone, Default)]
pub struct ExtraState {
    /// The session's row in the catalogue.
    pub summary: Option<SessionSummary>,
    /// With a session, its default chat; with a chat, its session.
    pub state: Option<SnapshotState>,
    /// What is selected in the chat, or in the session's default chat.
    pub selection: Selection,
    /// How much has changed in the session.
    pub changes: Option<ChangesSummary>,
    /// For versions without changesets: the files that have changed in it.
    pub diffs: Option<Vec<FileEdit>>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum SnapshotState {
    Root(Box<RootState>),
    Session(Box<SessionState>),
    Chat(Box<ChatSnapshot>),
    Terminal(Box<TerminalState>),
    ResourceWatch(Box<ResourceWatchState>),
    Canvas(Box<CanvasState>),
    Changeset(Box<ChangesetState>),
    Annotations(Box<AnnotationsState>),
    Automations(Box<AutomationState>),
    AutomationRun(Box<AutomationRunState>),
}

/// A chat's state: `head` is all of it but the finished turns.
#[derive(Debug, Clone)]
pub struct ChatSnapshot {
    pub head: ChatState,
    pub turns: Vec<StoredTurn>,
}

impl ChatSnapshot {
    /// The state with its turns decoded.
    pub fn decode(self) -> serde_json::Result<ChatState> {
        let Self { mut head, turns } = self;
        head.turns = turns
            .iter()
            .map(StoredTurn::decode)
            .collect::<Result<_, _>>()?;
        Ok(head)
    }
}

impl Serialize for ChatSnapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize_with(&self.turns, serializer)
    }
}

/// The state without its finished turns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChatHead<'a>(pub(crate) &'a ChatSnapshot);

impl Serialize for ChatHead<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_with(&[], serializer)
    }
}

impl ChatSnapshot {
    fn serialize_with<S: Serializer>(
        &self,
        turns: &[StoredTurn],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        // Taken apart by name, so that a field that a newer protocol adds
        // cannot be forgotten here.
        let ChatState {
            resource,
            title,
            status,
            activity,
            modified_at,
            changes,
            origin,
            movable,
            interactivity,
            working_directories,
            changesets,
            background_work,
            canvases,
            turns: _,
            turns_next_cursor,
            active_turn,
            steering_message,
            queued_messages,
            draft,
            meta,
        } = &self.head;
        let mut state = serializer.serialize_struct("ChatState", 20)?;
        state.serialize_field("resource", resource)?;
        state.serialize_field("title", title)?;
        state.serialize_field("status", status)?;
        state.serialize_field("modifiedAt", modified_at)?;
        state.serialize_field("turns", turns)?;
        macro_rules! optional {
            ($($name:literal: $field:ident),* $(,)?) => {
                $(if let Some(value) = $field {
                    state.serialize_field($name, value)?;
                })*
            };
        }
        optional! {
            "activity": activity,
            "changes": changes,
            "origin": origin,
            "movable": movable,
            "interactivity": interactivity,
            "workingDirectories": working_directories,
            "changesets": changesets,
            "backgroundWork": background_work,
            "canvases": canvases,
            "turnsNextCursor": turns_next_cursor,
            "activeTurn": active_turn,
            "steeringMessage": steering_message,
            "queuedMessages": queued_messages,
            "draft": draft,
            "_meta": meta,
        }
        state.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_chat_snapshot_is_written_as_the_protocols_own_type_is() {
        let message = json!({"text": "hi", "origin": {"kind": "user"}});
        let turn = json!({
            "id": "t1", "startedAt": "2026-01-01T00:00:00.000Z", "duration": 3,
            "message": message, "responseParts": [], "state": "complete",
        });
        let whole = json!({
            "resource": "ahp-chat:/1", "title": "T", "status": 8, "activity": "thinking",
            "modifiedAt": "2026-01-01T00:00:00.000Z",
            "changes": {"additions": 1}, "origin": {"kind": "user"}, "movable": false,
            "interactivity": "full", "workingDirectories": ["file:///x"], "changesets": [],
            "backgroundWork": [], "canvases": [{"resource": "ahp-canvas:/1"}],
            "turns": [turn], "turnsNextCursor": "c",
            "activeTurn": {
                "id": "t2", "startedAt": "2026-01-01T00:00:00.000Z",
                "message": message, "responseParts": [],
            },
            "steeringMessage": {"id": "s", "message": message},
            "queuedMessages": [{"id": "q", "message": message}],
            "draft": message, "_meta": {"k": 1},
        });
        let mut head: ChatState = serde_json::from_value(whole.clone()).unwrap();
        let turns = head
            .turns
            .drain(..)
            .map(|turn| StoredTurn::new(&turn).unwrap());
        let snapshot = ChatSnapshot {
            turns: turns.collect(),
            head,
        };
        // Through text, as a raw value cannot pass through a `Value`.
        let text = serde_json::to_string(&snapshot).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), whole);
        let decoded = snapshot.decode().unwrap();
        assert_eq!(serde_json::to_value(decoded).unwrap(), whole);
    }
}
