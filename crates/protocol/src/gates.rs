//! The gates: one for each step between two neighbouring protocol versions.
//!
//! A gate knows only the difference between its two versions, in both
//! directions: it *raises* what a client sends and *lowers* what it is sent. A
//! client of the newest version passes no gate. The law that every gate keeps:
//! folding the lowered actions with the older version's own reducers gives the
//! lowered state.
//!
//! Each gate is a file that reads as the list of what changed. Most changes
//! are about one kind of object wherever it occurs (a turn, a tool call, a
//! message …): [`nodes`] knows where that is, a gate only says what becomes of
//! it. [`down`] and [`up`] lead a message through the whole chain.
//!
//! *Invariant*: a gate is a function of the message and the facts that travel
//! with it. It never looks into a state, so it can run on any core.

use std::sync::Arc;

use crate::record::Excerpts;
use crate::version::Version;

pub mod down;
pub mod following;
pub(crate) mod nodes;
pub(crate) mod object;
pub(crate) mod text;
pub mod tree;
mod turn_text;
pub mod up;

mod v0_1_to_draft_1;
mod v0_2_to_v0_1;
mod v0_3_to_v0_2;
mod v0_4_to_v0_3;
mod v0_5_0_to_v0_4;
mod v0_5_1_to_v0_5_0;
mod v0_5_2_to_v0_5_1;
mod v0_6_to_v0_5;
mod v0_7_to_v0_6;
mod v0_8_to_v0_7;
mod v0_9_to_v0_8;
mod v1_0_to_v0_9;

pub(crate) use nodes::Node;
pub(crate) use text::Text;
pub use tree::Object;
use tree::Value;
pub(crate) use turn_text::TurnEdit;
use up::PartialAction;

/// An action on its way through the gates.
#[derive(Debug, Clone, PartialEq)]
pub struct Act {
    pub channel: String,
    /// The action with its `type`.
    pub action: Object,
}

impl Act {
    pub(crate) fn kind(&self) -> &str {
        object::text(&self.action, "type").unwrap_or_default()
    }

    /// The part of the type behind the slash: what is done.
    pub(crate) fn verb(&self) -> &str {
        let kind = self.kind();
        kind.split_once('/').map_or(kind, |(_, verb)| verb)
    }

    /// The part of the type before the slash: the kind of channel.
    pub(crate) fn family(&self) -> &str {
        let kind = self.kind();
        kind.split_once('/').map_or("", |(family, _)| family)
    }

    pub(crate) fn set_kind(&mut self, kind: impl Into<tree::Text>) {
        self.action
            .insert("type".into(), Value::String(kind.into()));
    }

    /// Another action on the same channel.
    pub(crate) fn sibling(&self, action: Value) -> Self {
        Self {
            channel: self.channel.clone(),
            action: object::of(action),
        }
    }
}

/// What a gate may know about an action besides the action: the host's facts,
/// already in the gate's older version.
#[derive(Debug, Clone, Default)]
pub(crate) struct LoweredFacts {
    pub(crate) session: Option<String>,
    pub(crate) is_default_chat: bool,
    /// See [`crate::record::ExtraFacts`]; a node of its own, lowered with the rest.
    pub(crate) extra: Object,
    /// The same in the gate's newer version, for what the older has no name.
    pub(crate) newer: Object,
}

/// A state with its channel, and with what must be known besides it where one
/// channel of an old version is made of several of the newest.
#[derive(Debug, Clone, Default)]
pub struct SnapshotForGates {
    pub resource: String,
    pub state: Object,
    pub(crate) node: Option<Node>,
    /// The row of the session in the catalogue: versions up to 0.4 repeat it
    /// within the session's state.
    pub summary: Option<Object>,
    /// The default chat of a session: up to 0.3 it is part of the session.
    pub chat: Option<Object>,
    /// The session of a chat: up to 0.3 a chat that is not the default one is
    /// shown as a session, with the session's circumstances.
    pub session: Option<Object>,
    /// The model and agent that are selected in the (default) chat, and in
    /// versions without changesets the files that have changed.
    pub selection: Object,
    /// What is shown of the input of tool calls that is kept elsewhere: up to
    /// 0.6 nobody can refer to it.
    pub inputs: Arc<Excerpts>,
    /// How much has changed in the session.
    pub changes: Object,
    /// `IsRead` and `IsArchived` of a chat, which 0.4 to 0.9 do not have.
    pub(crate) chat_flags: u64,
    /// The version cannot be shown this state: whoever subscribes to the
    /// channel is told what happens on it, and given no snapshot.
    pub unseen: bool,
}

impl SnapshotForGates {
    pub fn new(resource: &str, state: impl Into<Value>) -> Self {
        Self {
            resource: resource.to_owned(),
            state: object::of(state.into()),
            ..Self::default()
        }
    }
}

/// Which finished turns differ between two neighbouring versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangesTurns {
    Never,
    /// Only those with one of these in their JSON, which has no spaces between
    /// its tokens. Some have it and need no change.
    With(&'static [&'static str]),
    /// All of them, in this way and no other, but for those that have one of the
    /// marks.
    Edits(&'static [TurnEdit], &'static [&'static str]),
    Always,
}

impl ChangesTurns {
    /// Whether it may change more about a turn than its edits say.
    fn goes_deeper(self, json: &str) -> bool {
        match self {
            Self::Never => false,
            Self::With(marks) | Self::Edits(_, marks) => {
                marks.iter().any(|mark| json.contains(mark))
            }
            Self::Always => true,
        }
    }

    fn edits(self) -> &'static [TurnEdit] {
        match self {
            Self::Edits(edits, _) => edits,
            Self::Never | Self::With(_) | Self::Always => &[],
        }
    }
}

/// The difference between two neighbouring versions. "Lower" is towards the
/// older one. Whatever a gate says nothing about is the same in both.
pub(crate) trait Gate: Sync {
    /// The older of the two.
    fn older(&self) -> Version;

    /// Lowers one object, its parts first. `false`: the older version has
    /// nothing like it, leave it out.
    fn lower(&self, _node: Node, _object: &mut Object) -> bool {
        true
    }

    fn raise(&self, _node: Node, _object: &mut Object) -> bool {
        true
    }

    /// When [`Gate::lower`] changes a finished turn. What needs no change is
    /// passed on unread.
    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::Always
    }

    /// Lowers a whole action, when its objects are lowered already, to none,
    /// one or several older ones.
    fn lower_action(&self, act: Act, _known: &LoweredFacts, out: &mut Vec<Act>) {
        out.push(act);
    }

    /// The same for streamed text, which is most of what is said. A gate that
    /// changes anything about it says so in both places.
    fn lower_text(&self, _text: &mut Text<'_>) {}

    /// Raises a whole action, before its objects are raised.
    fn raise_action(&self, _act: &mut Act) {}

    /// What part of an action a raised one is, if the newer version says at
    /// once what the older says in parts.
    fn partial_action_of(&self, _act: &Act) -> Option<PartialAction> {
        None
    }

    /// Joins or parts what is divided differently into channels.
    fn lower_snapshot(&self, _snapshot: &mut SnapshotForGates) {}

    /// The way back. Clients send no states: only tests and fuzz targets need it.
    fn raise_snapshot(&self, _snapshot: &mut SnapshotForGates) {}

    fn raise_params(&self, _method: &str, _params: &mut Object) {}

    fn lower_result(&self, _method: &str, _result: &mut Object) {}

    /// Lowers what the host asks of a client. `false`: it cannot be asked.
    fn lower_question(&self, _method: &str, _params: &mut Object) -> bool {
        true
    }

    /// Lowers a notification of the host. `false`: there is none like it.
    fn lower_notification(&self, _method: &mut String, _params: &mut Object) -> bool {
        true
    }
}

/// All gates, newest first.
static GATES: [&dyn Gate; 12] = [
    &v1_0_to_v0_9::Changes,
    &v0_9_to_v0_8::Changes,
    &v0_8_to_v0_7::Changes,
    &v0_7_to_v0_6::Changes,
    &v0_6_to_v0_5::Changes,
    &v0_5_2_to_v0_5_1::Changes,
    &v0_5_1_to_v0_5_0::Changes,
    &v0_5_0_to_v0_4::Changes,
    &v0_4_to_v0_3::Changes,
    &v0_3_to_v0_2::Changes,
    &v0_2_to_v0_1::Changes,
    &v0_1_to_draft_1::Changes,
];

/// The gates that lie between the newest version and another, from the newest on.
fn between(version: Version) -> impl DoubleEndedIterator<Item = &'static dyn Gate> {
    GATES
        .iter()
        .copied()
        .filter(move |gate| gate.older() >= version)
}
