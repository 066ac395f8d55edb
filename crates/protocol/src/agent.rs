//! The vocabulary between the engine and agents. A backend translates its own
//! protocol into these events and these commands into its own protocol; the
//! engine turns the events into actions. Neither knows who the other is.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::ChannelUri;
use crate::house::common::{JsonObject, StringOrMarkdown};
use crate::house::state::{AgentInfo, ErrorInfo, Message, SessionConfigSchema, UsageInfo};
use crate::snapshot::StoredTurn;

/// One opened conversation with an agent. The engine gives these out, each
/// only once, so that the last words of a backend that was closed or died
/// cannot be taken for those of its successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendId(pub u64);

/// What clients may know of an agent before they open anything.
#[derive(Debug, Clone)]
pub struct AgentProfile {
    pub info: AgentInfo,
    /// The configuration that its sessions have, if any.
    pub config: Option<SessionConfigSchema>,
}

/// From the engine to a backend.
#[derive(Debug, Clone)]
pub enum AgentCommand {
    /// Begin, or take up again, the conversation of a chat.
    Open(Box<OpenBackend>),
    /// Run a turn. Sent only when no other turn runs on this backend.
    Prompt(Box<Prompt>),
    /// Stop the turn; the backend still ends it with an event.
    Cancel { backend: BackendId, turn: Arc<str> },
    /// Session configuration changed.
    Configure {
        backend: BackendId,
        values: JsonObject,
    },
    /// Forget all turns but the first `keep`.
    Truncate { backend: BackendId, keep: usize },
    /// End the conversation and all that belongs to it. Nothing follows.
    Close { backend: BackendId },
}

impl AgentCommand {
    pub fn backend(&self) -> BackendId {
        match self {
            Self::Open(open) => open.backend,
            Self::Prompt(prompt) => prompt.backend,
            Self::Cancel { backend, .. }
            | Self::Configure { backend, .. }
            | Self::Truncate { backend, .. }
            | Self::Close { backend } => *backend,
        }
    }
}

#[derive(Debug, Clone)]
pub struct OpenBackend {
    pub backend: BackendId,
    pub provider: String,
    pub session: ChannelUri,
    pub chat: ChannelUri,
    pub directories: Vec<String>,
    pub config: JsonObject,
    /// What the backend gave for finding this conversation again.
    pub resume: Option<Value>,
    /// The finished turns so far, for an agent that cannot resume by itself.
    pub transcript: Vec<StoredTurn>,
}

#[derive(Debug, Clone)]
pub struct Prompt {
    pub backend: BackendId,
    pub turn: Arc<str>,
    pub message: Message,
    /// The turn ended in an error and is taken up again: what it said so far
    /// is known, and the message is not to be repeated.
    pub resumed: bool,
}

/// From a backend to the engine.
#[derive(Debug, Clone)]
pub struct AgentReport {
    pub backend: BackendId,
    pub event: AgentEvent,
}

#[derive(Debug, Clone)]
pub enum AgentEvent {
    /// The conversation is open. `resume` is kept for the next time.
    Opened { resume: Option<Value> },
    /// It could not be opened; nothing follows.
    OpenFailed(ErrorInfo),
    /// Something happened in a turn.
    Turn { turn: Arc<str>, event: TurnEvent },
    /// The agent named the conversation.
    Title(String),
    /// The backend is gone, unasked; nothing follows.
    Exited { reason: String },
}

#[derive(Debug, Clone)]
pub enum TurnEvent {
    /// Markdown, appended to the part that is open if it is of that kind.
    Text(String),
    /// Reasoning, likewise.
    Reasoning(String),
    /// Closes the open part: what follows begins a new one.
    Break,
    /// Content that is kept by reference.
    Content {
        data: Bytes,
        content_type: String,
    },
    Usage(UsageInfo),
    Activity(Option<String>),
    Notice(StringOrMarkdown),
    /// The turn ended well.
    Completed,
    /// The turn ended because it was cancelled.
    Cancelled,
    /// The turn ended in an error.
    Failed {
        error: ErrorInfo,
        resumable: bool,
    },
}
