//! What the engine hands to the store and gets back from it: a log of
//! sequenced actions, and a snapshot for each channel. Nothing else crosses
//! that boundary. [`store`] is the door in it: what any store must do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::newest::actions::{ActionOrigin, StateAction};
use crate::newest::state::{
    AgentSelection, Annotation, AutomationEntry, AutomationRunState, ChangesSummary, Changeset,
    ChatState, FileEdit, ModelSelection, SessionState, SessionSummary,
};
use crate::record::pressed::Pressed;
use crate::snapshot::StoredTurn;
use crate::version::Version;
use crate::{ChannelUri, ClientId, Seq, Timestamp};

mod batch;
pub mod merge;
pub mod pressed;
pub mod search;
pub mod store;

pub use merge::{Cut, LogEntry};

/// What a gate must know about the channel of an action. It travels with the
/// action, so that gates are functions of the message alone.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GateFacts {
    /// The session that a chat belongs to; on the root channel, the session
    /// that came or went with the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<ChannelUri>,
    /// Whether the chat is that session's default chat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_default_chat: bool,
    /// What only some actions need, see [`ExtraFacts`]. What is stored calls it
    /// `context`, as earlier releases did.
    #[serde(rename = "context", default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Box<ExtraFacts>>,
}

/// What older versions must be told with an action and the action itself does
/// not say. Each field belongs to few types of actions; it is left out for all
/// others. The values are those of the newest version.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExtraFacts {
    /// `chat/draftChanged`, `chat/turnStarted`: the model that is selected in
    /// the chat from now on, if this action changed it, or if to select it is
    /// all that a client said. A selection outlives the draft that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Value>,
    /// The same for the agent; `null` when none is selected any more.
    #[serde(skip_serializing_if = "Option::is_none", with = "explicit_null")]
    pub agent: Option<Value>,
    /// `session/activeClientSet`, `session/activeClientRemoved`: the first of
    /// the active clients before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_after: Option<Value>,
    /// Likewise: the type of the action as a client of a version with one
    /// active client said it, who waits for an answer in these words even if
    /// nothing has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// `session/customizationToggled`, `…Updated`, `…Removed`: all of them,
    /// after the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customizations: Option<Vec<Value>>,
    /// `session/chatsReordered`: the summaries in their new order, and the
    /// default chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chats: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_chat: Option<String>,
    /// `session/workingDirectoryReplaced`: the list before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directories_before: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directories_after: Option<Vec<String>>,
    /// `chat/turnResume`: the turn as it is active again, and the id of the
    /// turn before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_before: Option<String>,
    /// Actions with the input of a tool call that is kept elsewhere: what is
    /// shown of it where nobody can refer to it.
    #[serde(skip_serializing_if = "Excerpts::is_empty")]
    pub inputs: Excerpts,
    /// `session/changesetsChanged`: how much has changed in the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Value>,
    /// Likewise, for versions without changesets: the files that have changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diffs: Option<Vec<Value>>,
    /// `changeset/contentChanged`: the error that the changeset has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// `session/ready`: what the session and its default chat do by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u32>,
}

impl ExtraFacts {
    /// Whether some version may tell an action in several steps because of them.
    pub fn may_need_steps(&self) -> bool {
        let inputs = self.inputs.clone();
        *self
            != Self {
                inputs,
                ..Self::default()
            }
    }
}

/// What is shown of contents where nobody can refer to them, by URI.
pub type Excerpts = BTreeMap<String, Arc<str>>;

/// About how much memory they take.
pub fn weight_of_excerpts(excerpts: &Excerpts) -> usize {
    excerpts.values().map(|text| text.len()).sum()
}

/// Keeps `null` apart from "left out".
mod explicit_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub(super) fn serialize<S: Serializer>(it: &Option<Value>, to: S) -> Result<S::Ok, S::Error> {
        it.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Value>, D::Error> {
        Value::deserialize(from).map(Some)
    }
}

/// An action that the host accepted: it has a place in the one sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Sequenced {
    pub seq: Seq,
    pub channel: ChannelUri,
    pub action: StateAction,
    /// The client that dispatched it; `None` if the host did.
    pub origin: Option<ActionOrigin>,
    pub facts: GateFacts,
}

/// One change to what is durable.
#[derive(Debug, Clone)]
pub enum StoreOp {
    /// Adds an action to the end of the log.
    Append(Arc<Sequenced>),
    /// Writes a session's row in the catalogue and its state.
    PutSession(Box<SessionRecord>),
    /// Takes a session out of the catalogue; its transcript is kept for a while.
    DisposeSession { session: ChannelUri, at: Timestamp },
    /// Writes a chat's state, without its finished turns.
    PutChat(Box<ChatRecord>),
    /// Removes a chat with its turns.
    DeleteChat { chat: ChannelUri },
    /// Adds a finished turn at `index`, the number of turns before it.
    AppendTurn {
        chat: ChannelUri,
        index: u64,
        turn: StoredTurn,
    },
    /// Keeps the first `keep` turns of a chat and removes the others.
    TruncateTurns { chat: ChannelUri, keep: u64 },
    /// Remembers a client over restarts of the host.
    PutClient(ClientRecord),
    /// Forgets a client that has not been here for long.
    ForgetClient { client_id: ClientId },
    /// Writes the values of the host's configuration that clients may change.
    PutRootConfig { values: Value },
    /// Writes which customizations are on or off in more than one session.
    PutSwitches { values: Value },
    /// Stores large content that the state refers to by URI.
    PutContent(ContentRecord),
    /// The contents of a session belong to a copy of it as well.
    ShareContent { from: ChannelUri, with: ChannelUri },
    /// Writes an annotation of a session: over the one with its id, or behind
    /// all others.
    PutAnnotation {
        session: ChannelUri,
        annotation: Box<Annotation>,
    },
    /// Removes one of them.
    RemoveAnnotation { session: ChannelUri, id: String },
    /// Writes an automation: over the one with its URI, or behind all others.
    PutAutomation(Box<AutomationRecord>),
    /// Removes an automation with its runs.
    RemoveAutomation { automation: ChannelUri },
    /// Writes a run of an automation.
    PutAutomationRun(Box<AutomationRunRecord>),
    /// Removes one that is too old.
    RemoveAutomationRun { run: ChannelUri },
    /// Promises that no number up to `until` is given out a second time.
    ReserveSeq { until: Seq },
    /// Allows the store to forget log entries whose numbers are all below.
    TrimLog { below: Seq },
    /// A session of which something could not be stored is read anew behind
    /// this: what is said about it from here on builds on what is there, and
    /// the journal takes it in again. Nobody can be given what happened below
    /// this number one by one, since some of it is not there.
    Reread { session: ChannelUri, below: Seq },
}

/// The changes of one step of the engine: all of them become durable, or none.
#[derive(Debug, Clone, Default)]
pub struct StoreBatch {
    pub ops: Vec<StoreOp>,
}

/// A session as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    pub uri: ChannelUri,
    pub summary: SessionSummary,
    pub state: SessionState,
    pub notes: SessionNotes,
    pub facts: SummaryFacts,
}

/// What older versions say of a session in the catalogue and the newest does
/// not. It stands next to the summary, in memory and in the store.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SummaryFacts {
    /// Up to 0.4: what is selected in the session's default chat.
    #[serde(flatten)]
    pub selection: Selection,
    /// In 0.2: the changesets, with what the host has counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changesets: Option<Vec<CountedChangeset>>,
    /// In the drafts: the files that have changed, as far as that is known. Not
    /// stored: it is found out anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diffs: Option<Vec<FileEdit>>,
    /// Up to 0.3, where every other chat is a session: what is selected there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub chats: BTreeMap<String, Selection>,
}

impl SummaryFacts {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The facts of a chat that is shown as a session.
    pub fn of_chat(&self, chat: &str) -> Self {
        Self {
            selection: self.chats.get(chat).cloned().unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// A changeset, with how much there is in it where that is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedChangeset {
    #[serde(flatten)]
    pub changeset: Changeset,
    #[serde(flatten)]
    pub counts: ChangesSummary,
}

/// What the host remembers about a session and no client sees.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionNotes {
    /// Nobody chose the title yet: the first message, or the agent, may.
    #[serde(default)]
    pub title_is_open: bool,
    /// The session's own working tree, where it has one: its directory there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The directory that the working tree was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_of: Option<String>,
    /// The language of whoever created it, in which its changesets are named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Turns of other sessions whose checkpoints are still to be taken over.
    /// Earlier releases stored at most one, and not as a list.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "one_or_several"
    )]
    pub inherits: Vec<Inheritance>,
    /// The files that were looked at: by changeset and file, what was seen.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reviewed: BTreeMap<String, BTreeMap<String, String>>,
    /// What was switched on or off in this session alone, by customization.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub switches: BTreeMap<String, bool>,
    /// MCP servers that somebody stopped: they begin when somebody starts them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub stopped_servers: BTreeSet<String>,
    /// What is being taken back, until that is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taking_back: Option<TakingBack>,
}

/// A chat that is taken back to before one of its turns, or returned to what it
/// was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TakingBack {
    pub chat: ChannelUri,
    /// The first turn that is taken back.
    pub turn: String,
    /// The chat that keeps all of it.
    pub fork: ChannelUri,
    pub is_undo: bool,
}

fn one_or_several<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Inheritance>, D::Error> {
    let stored = match Value::deserialize(from)? {
        Value::Null => Value::Array(Vec::new()),
        list @ Value::Array(_) => list,
        one => Value::Array(vec![one]),
    };
    serde_json::from_value(stored).map_err(serde::de::Error::custom)
}

/// What a session takes over from one that it is a copy of, or that a chat came
/// from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inheritance {
    pub session: ChannelUri,
    pub directories: Vec<String>,
    pub turns: Vec<String>,
}

/// A chat as it is stored. Its finished turns are rows of their own.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRecord {
    pub uri: ChannelUri,
    pub session: ChannelUri,
    /// The state with `turns` left empty; it may have an active turn.
    pub head: ChatState,
    /// Where `head.active_turn` was taken: what the log has on it after this
    /// number is still to be folded in.
    pub seq: Seq,
    pub notes: ChatNotes,
}

/// What the host remembers about a chat and no client sees.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChatNotes {
    /// How the agent finds its own conversation again, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Value>,
    /// How the agent finds the conversation that this one is a copy of, until
    /// it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<Value>,
    /// What was selected last, which may outlive the draft that said so.
    #[serde(default, skip_serializing_if = "Selection::is_empty")]
    pub selection: Selection,
    /// Messages that wait, by id, and are for whatever is selected when their
    /// turn begins: clients that select for a session said them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub without_selection: BTreeSet<String>,
    /// Turns of another chat that the agent knows of and this one does not show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<StoredTurn>,
}

/// The model and the agent that are selected in a chat. In the newest version
/// they are part of a message; versions up to 0.4 know them as the session's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Selection {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelSelection>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSelection>,
}

impl Selection {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An automation as it is stored: what clients see, and what the host
/// remembers besides.
#[derive(Debug, Clone, PartialEq)]
pub struct AutomationRecord {
    pub entry: AutomationEntry,
    pub notes: AutomationNotes,
}

/// What the host remembers about an automation and no client sees.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutomationNotes {
    /// Up to when its schedules have been followed.
    pub followed: Timestamp,
    /// How many of its runs clients are shown.
    pub shown: usize,
}

/// A run of an automation as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct AutomationRunRecord {
    pub state: AutomationRunState,
    pub notes: AutomationRunNotes,
}

/// What the host remembers about a run and its channel does not show.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AutomationRunNotes {
    /// What a client called its request for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Why the run has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<String>,
}

/// A client that has been here: its next connection keeps its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRecord {
    pub client_id: ClientId,
    /// The version string that was negotiated.
    pub version: String,
    pub seen_at: Timestamp,
}

impl ClientRecord {
    /// Nothing if it is a version of another release of the host.
    pub fn speaks(&self) -> Option<Version> {
        Version::from_name(&self.version)
    }
}

/// Large content that left the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentRecord {
    pub uri: String,
    /// The session it goes away with.
    pub session: ChannelUri,
    pub content_type: String,
    pub data: Bytes,
    /// What is shown of it where nobody can refer to it.
    pub excerpt: Option<Arc<str>>,
}

/// A session that came back from the store.
#[derive(Debug, Clone)]
pub struct LoadedSession {
    pub session: SessionRecord,
    pub chats: Vec<LoadedChat>,
    /// In the order in which they were first written.
    pub annotations: Vec<Annotation>,
    /// Those of its contents, shared ones included.
    pub excerpts: Excerpts,
}

/// A chat that came back from the store.
#[derive(Debug, Clone)]
pub struct LoadedChat {
    pub record: ChatRecord,
    pub turns: Vec<StoredTurn>,
    /// The log of this chat after `record.seq`.
    pub log: Vec<LogEntry>,
}

/// One row of the catalogue, its summary not parsed: most are only passed on.
/// What is in memory of a session that nobody looks at is little more.
#[derive(Debug, Clone)]
pub struct CatalogueRow {
    pub session: ChannelUri,
    pub modified_at: Timestamp,
    pub summary: Pressed,
    /// Its [`SummaryFacts`], if there are any.
    pub facts: Option<Pressed>,
}

/// A run of numbers that one life of the host gave out and stored. Between two
/// of them lie numbers that were given out and lost with the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Epoch {
    pub first: Seq,
    pub last: Seq,
}

/// All that the engine needs of the store to begin.
#[derive(Debug, Clone, Default)]
pub struct Boot {
    /// The first number that no earlier life can have given out.
    pub next_seq: Seq,
    /// The oldest number from which the stored log is complete.
    pub log_start: Seq,
    /// The lives before this one, oldest first.
    pub epochs: Vec<Epoch>,
    pub catalogue: Vec<CatalogueRow>,
    /// Which session a chat belongs to, for chats whose URI does not say so.
    pub chats: Vec<(ChannelUri, ChannelUri)>,
    /// Sessions whose stored state has a running turn.
    pub interrupted: Vec<ChannelUri>,
    /// Sessions that were not modified since they were created, and in which
    /// no turn has ended.
    pub without_turns: Vec<ChannelUri>,
    pub clients: Vec<ClientRecord>,
    pub root_config: Option<Value>,
    /// Which customizations are on or off in more than one session.
    pub switches: Option<Value>,
    /// In the order in which they were created.
    pub automations: Vec<AutomationRecord>,
    /// Likewise.
    pub automation_runs: Vec<AutomationRunRecord>,
}
