//! What the host keeps about the conversation behind a chat: the backend, and
//! the turn that runs.

use innkeeper_protocol::agent::{AgentCommandInfo, BackendId};
use innkeeper_protocol::newest::state::ToolDefinition;
use innkeeper_protocol::{Timestamp, TurnId};

use super::attachments::AttachedContent;
use super::pending::Steering;
use super::secrets::Secrets;
use super::state_before::Awaited;
use crate::labels::Locale;

/// The conversation behind a chat.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) backend: Option<Backend>,
    /// The commands that a message to the agent may begin with.
    pub(super) commands: Vec<AgentCommandInfo>,
    /// The tools that the agent says it has.
    pub(super) tools: Vec<ToolDefinition>,
    pub(super) turn: Option<RunningTurn>,
}

/// The agent's end of it, while there is one.
#[derive(Debug)]
pub(super) struct Backend {
    pub(super) id: BackendId,
    pub(super) phase: BackendPhase,
    /// When it last had something to do.
    pub(super) used: Timestamp,
    /// How much memory it holds, as far as is known.
    pub(super) bytes: u64,
    /// It was opened for other directories than the chat has now.
    pub(super) is_outdated: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum BackendPhase {
    Opening,
    Idle,
    /// It works on this turn, or has still to stop working on it.
    Busy(TurnId),
}

/// What the host keeps about the active turn besides its state.
#[derive(Debug)]
pub(super) struct RunningTurn {
    pub(super) id: TurnId,
    /// By the host's clock: durations are not computed from clients' clocks.
    pub(super) began: Timestamp,
    /// What earlier attempts took, for a turn that was resumed.
    pub(super) earlier_millis: i64,
    /// Since when it waits for a person.
    pub(super) waits_since: Option<Timestamp>,
    /// How long it has waited for a person before.
    pub(super) waited_millis: i64,
    pub(super) resumed: bool,
    /// The agent has been given the turn.
    pub(super) prompted: bool,
    /// The agent that was to be given it was gone before, and another one was
    /// given it.
    pub(super) given_again: bool,
    pub(super) open_part: Option<OpenPart>,
    /// The backend of another chat that works on this turn, if one does.
    pub(super) delegated_by: Option<BackendId>,
    /// It outlives the turn that delegated it, whose chat lists it meanwhile.
    pub(super) in_background: bool,
    /// What the agent was given to take up while it works.
    pub(super) steering: Steering,
    /// The host runs it without the agent.
    pub(super) by_host: bool,
    /// It was over before the host had the conversation.
    pub(super) recounted: bool,
    /// What waits until the state before it is kept, while that goes on.
    pub(super) awaited: Option<Awaited>,
    /// Why the agent will end it, in its own word.
    pub(super) stop_reason: Option<String>,
    /// What its message refers to and the agent must be given.
    pub(super) attached: AttachedContent,
    /// What was answered to questions and is not in the chat's state.
    pub(super) secrets: Secrets,
    /// The language of whoever began the turn.
    pub(super) locale: Locale,
}

impl RunningTurn {
    pub(super) fn new(id: &str, began: Timestamp, locale: Locale) -> Self {
        Self {
            id: TurnId::from(id),
            began,
            earlier_millis: 0,
            waits_since: None,
            waited_millis: 0,
            resumed: false,
            prompted: false,
            given_again: false,
            open_part: None,
            delegated_by: None,
            in_background: false,
            steering: Steering::default(),
            by_host: false,
            recounted: false,
            awaited: None,
            stop_reason: None,
            attached: AttachedContent::new(),
            secrets: Secrets::default(),
            locale,
        }
    }

    /// Whether this is the turn, and the agent has been given it.
    pub(super) fn is_at_work(&self, turn: &str) -> bool {
        *self.id == *turn && self.prompted
    }

    pub(super) fn duration(&self, now: Timestamp) -> i64 {
        self.earlier_millis
            .saturating_add(now.millis_since(self.began))
    }
}

/// The part that streamed text goes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OpenPart {
    pub(super) kind: PartKind,
    pub(super) id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Markdown,
    Reasoning,
}
