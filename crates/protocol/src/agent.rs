//! The vocabulary between the engine and agents. A backend translates its own
//! protocol into these events and these commands into its own protocol; the
//! engine turns the events into actions. Neither knows who the other is. What
//! happens in a turn is in `turn_event`, what people are told in `telling`.

mod installing;
mod sign_in;
mod telling;
mod turn_event;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::newest::common::JsonObject;
use crate::newest::state::{
    AgentInfo, ChatInputAnswer, ChatInputResponseKind, ConfigPropertySchema, ConfirmationOption,
    Message, PendingMessage, ResponsePart, SessionConfigPropertySchema, SessionConfigSchema,
    ToolCallCancellationReason, ToolCallClientContributor, ToolCallContributor,
    ToolCallMcpContributor, ToolCallResult, ToolDefinition,
};
use crate::settings::Synonym;
use crate::snapshot::StoredTurn;
use crate::workspace::customization::{EnabledCustomizations, Reach};
use crate::{CallId, ChannelUri, ClientId, TurnId};

pub use installing::{InstallFailure, InstallableAgent, InstallableAgents, InstalledAgent};
pub use sign_in::{
    KEEP_IN_FILE, KEEP_IN_MEMORY, SECRET_FORMAT, SIGN_IN_KEEP, SIGN_IN_WAY, SignInQuestion,
    SignInValue, SignInWants, SignInWay,
};
pub use telling::{
    AgentActivity, AgentEnd, AgentFailure, AgentNotice, ApprovalLabel, ApprovalOption, HowEnded,
    NotTakenUp, ProcessEnd,
};
pub use turn_event::{
    Approval, ApprovalRequest, CommandRun, Delegation, EditedFile, Teller, ToolReady, ToolStart,
    TurnEvent,
};

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
    /// Other names for values of that configuration.
    pub synonyms: Vec<Synonym>,
    /// Nothing is known that keeps it from starting.
    pub works: bool,
    /// It remembers a conversation that is closed and opened again.
    pub resumes: bool,
    /// How customizations come to it.
    pub reach: Reach,
}

/// What `_meta` of a tool call says about its kind, as editors in the field
/// name kinds; and the kind of those that run a command.
pub const TOOL_KIND: &str = "toolKind";
pub const TERMINAL_TOOL: &str = "terminal";

/// Whether a tool call runs a command, which then is its input.
pub fn runs_command(meta: &JsonObject) -> bool {
    meta.get(TOOL_KIND).and_then(Value::as_str) == Some(TERMINAL_TOOL)
}

/// Whether another agent works for a call.
pub fn lets_another_work(meta: &JsonObject) -> bool {
    meta.get(TOOL_KIND).and_then(Value::as_str) == Some("subagent")
}

/// Whether a call says of itself that it only looks at something.
pub fn only_looks(meta: &JsonObject) -> bool {
    let kind = meta.get(TOOL_KIND).and_then(Value::as_str);
    kind.is_some_and(|kind| ["read", "search"].contains(&kind))
}

/// A setting of sessions of which nothing but its kind and its title is said.
pub fn setting(kind: &str, title: &str) -> SessionConfigPropertySchema {
    SessionConfigPropertySchema {
        r#type: kind.to_owned(),
        title: title.to_owned(),
        description: None,
        default: None,
        r#enum: None,
        enum_labels: None,
        enum_descriptions: None,
        read_only: None,
        items: None,
        min_items: None,
        max_items: None,
        properties: None,
        required: None,
        additional_properties: None,
        enum_dynamic: None,
        session_mutable: None,
    }
}

/// Likewise a text in the configuration of the host or of a model.
pub fn string_property(title: &str, description: &str) -> ConfigPropertySchema {
    ConfigPropertySchema {
        r#type: "string".to_owned(),
        title: title.to_owned(),
        description: Some(description.to_owned()),
        default: None,
        r#enum: None,
        enum_labels: None,
        enum_descriptions: None,
        read_only: None,
        items: None,
        min_items: None,
        max_items: None,
        properties: None,
        required: None,
        additional_properties: None,
    }
}

/// What values may one setting of a session with this agent have?
#[derive(Debug, Clone)]
pub struct ConfigQuery {
    pub provider: String,
    pub directory: Option<String>,
    /// The values that are chosen so far.
    pub config: JsonObject,
    pub property: String,
    /// What the value begins with or contains; everything, if empty.
    pub query: String,
}

/// From the engine to a backend.
#[derive(Debug, Clone)]
pub enum AgentCommand {
    /// Begin, or take up again, the conversation of a chat.
    Open(Box<OpenBackend>),
    /// Run a turn. Sent only when no other turn runs on this backend.
    Prompt(Box<Prompt>),
    /// Stop the turn; the backend still ends it with an event.
    Cancel { backend: BackendId, turn: TurnId },
    /// Session configuration changed.
    Configure {
        backend: BackendId,
        values: JsonObject,
    },
    /// Forget all turns but these, the first of the chat. (Not all of them
    /// need to have been the agent's.)
    Truncate {
        backend: BackendId,
        transcript: Vec<StoredTurn>,
    },
    /// A message for the turn that runs, to be taken up when it is convenient.
    /// It replaces the one before; `None` takes that back. Its id is for this
    /// version of the message only: what is taken up is reported by it.
    Steer {
        backend: BackendId,
        turn: TurnId,
        message: Option<Box<PendingMessage>>,
    },
    /// What somebody decided about something that the turn waits for.
    Decide {
        backend: BackendId,
        turn: TurnId,
        decision: Box<Decision>,
    },
    /// The tools that clients and MCP servers of the host offer from now on: all
    /// of them.
    OfferTools {
        backend: BackendId,
        tools: Arc<[ClientTool]>,
    },
    /// A client gave a token for a resource that the agent needs.
    Authenticate {
        backend: BackendId,
        credential: Credential,
    },
    /// The chat is gone for good: the agent need not keep its own record of
    /// the conversation. `Close` follows.
    Forget { backend: BackendId },
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
            | Self::Steer { backend, .. }
            | Self::Decide { backend, .. }
            | Self::OfferTools { backend, .. }
            | Self::Authenticate { backend, .. }
            | Self::Forget { backend }
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
    /// What a backend gave for finding the conversation that this one begins as
    /// an exact copy of.
    pub fork_of: Option<Value>,
    /// The finished turns so far, for an agent that cannot resume by itself.
    pub transcript: Vec<StoredTurn>,
    /// The tools that clients and MCP servers of the host offer.
    pub client_tools: Arc<[ClientTool]>,
    pub credentials: Vec<Credential>,
    /// What is switched on in the session as it is opened.
    pub customizations: EnabledCustomizations,
}

/// A tool that an agent can use and that somebody else runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientTool {
    pub owner: ToolOwner,
    pub definition: ToolDefinition,
}

/// Whose tool it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOwner {
    /// A client runs it.
    Client(ClientId),
    /// An MCP server of the host's does: the customization, and its name.
    Server { id: String, name: String },
}

impl ToolOwner {
    /// As clients are told of it.
    pub fn contributor(&self) -> ToolCallContributor {
        match self {
            Self::Client(client) => ToolCallContributor::Client(ToolCallClientContributor {
                client_id: client.to_string(),
            }),
            Self::Server { id, .. } => ToolCallContributor::Mcp(ToolCallMcpContributor {
                customization_id: id.clone(),
            }),
        }
    }
}

/// A token for a protected resource. It is never written down anywhere.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    pub resource: String,
    pub token: String,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credential({})", self.resource)
    }
}

#[derive(Debug, Clone)]
pub struct Prompt {
    pub backend: BackendId,
    pub turn: TurnId,
    pub message: Message,
    /// The turn was interrupted and is taken up again. This is what it said
    /// and did so far, and what was decided about that meanwhile; the message
    /// is not to be repeated.
    pub resumed: Option<Vec<ResponsePart>>,
    pub chats: Vec<ReferredChat>,
}

/// What was said in a chat that a message refers to, as far as it is meant.
#[derive(Debug, Clone)]
pub struct ReferredChat {
    pub resource: String,
    /// The last turn that is meant.
    pub end_turn: Option<String>,
    pub turns: Vec<StoredTurn>,
}

/// What a turn waited for.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Whether a tool call may run.
    Tool { call: CallId, verdict: ToolVerdict },
    /// Whether the result of a tool call may be used.
    ToolResult { call: CallId, approved: bool },
    /// A client ran its tool, or an MCP server did.
    ClientTool {
        call: CallId,
        result: ToolCallResult,
    },
    /// A file may be written: the state before the turn is kept, or nobody
    /// waits for that any longer.
    MayWrite { write: String },
    /// A command has a terminal now, which clients can subscribe to.
    CommandStarted { run: String, terminal: String },
    /// What a command has said so far, for whoever asked.
    CommandOutput {
        run: String,
        output: String,
        truncated: bool,
    },
    /// A command in a terminal has ended, or goes on by itself.
    Command {
        run: String,
        outcome: CommandOutcome,
    },
    /// Questions were answered, declined or dismissed.
    Answer {
        request: String,
        response: ChatInputResponseKind,
        answers: HashMap<String, ChatInputAnswer>,
    },
}

/// What came of a command that ran in a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandOutcome {
    /// `None` if it was killed, goes on, or never ran.
    pub exit_code: Option<i64>,
    /// The end of what it said.
    pub output: String,
    /// It said more than that.
    pub truncated: bool,
    /// Somebody let it go on in the background.
    pub detached: bool,
    /// Why it could not be run, if it could not.
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ToolVerdict {
    Approved {
        /// The input as a person changed it, if somebody did.
        edited_input: Option<String>,
        option: Option<ConfirmationOption>,
    },
    Denied {
        reason: ToolCallCancellationReason,
        option: Option<ConfirmationOption>,
    },
}

/// From a backend to the engine.
#[derive(Debug, Clone)]
pub struct AgentReport {
    pub backend: BackendId,
    pub event: AgentEvent,
}

#[derive(Debug, Clone)]
pub enum AgentEvent {
    /// The conversation is open. `resume` is kept for the next time. It may be
    /// said again when the conversation is to be found elsewhere from now on.
    Opened { resume: Option<Value> },
    /// What was said before the host had this conversation, of one that the
    /// agent had without it. Said before `Opened`, and only of a new chat.
    Past(Vec<PastTurn>),
    /// It could not be opened; nothing follows.
    OpenFailed(AgentFailure),
    /// Something happened in a turn.
    Turn { turn: TurnId, event: TurnEvent },
    /// The agent named the conversation.
    Title(String),
    /// The tools that the agent has by itself: all of them.
    Tools(Vec<ToolDefinition>),
    /// The commands that a message may begin with: all of them.
    Commands(Vec<AgentCommandInfo>),
    /// The model that works on the next message, unless that says otherwise.
    Model(Option<String>),
    /// How much memory the agent holds at present.
    Memory { bytes: u64 },
    /// The agent changed these session settings by itself.
    Configured(JsonObject),
    /// It cannot go on without a new token for this resource.
    AuthRequired {
        resource: String,
        reason: AuthReason,
    },
    /// The backend is gone, unasked; nothing follows. If it had no turn, a
    /// prompt that is on its way to it has reached nobody.
    Exited { end: AgentEnd, idle: bool },
}

/// A turn that is over already.
#[derive(Debug, Clone)]
pub struct PastTurn {
    /// What the user said.
    pub asked: String,
    /// What happened then, without an end.
    pub events: Vec<TurnEvent>,
}

/// A command of the agent's own, such as `/compact`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommandInfo {
    /// Without the slash.
    pub name: String,
    pub description: Option<String>,
    /// What may follow the name.
    pub hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthReason {
    Missing,
    Expired,
}
