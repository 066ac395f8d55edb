//! What an agent reports of a turn.

use bytes::Bytes;
use serde_json::Value;

use super::sign_in::SignInQuestion;
use super::telling::{AgentActivity, AgentFailure, AgentNotice, ApprovalOption};
use crate::newest::common::{JsonObject, StringOrMarkdown};
use crate::newest::state::{
    ChatInputRequest, FileEditCollection, ToolCallContributor, ToolCallResult, ToolResultContent,
    UsageInfo,
};
use crate::workspace::terminal::TerminalProgram;
use crate::{CallId, TurnId};

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
    Activity(Option<AgentActivity>),
    Notice(AgentNotice),
    /// Things that the agent said and nobody here knows: what it calls their
    /// kinds, and all of it as it is.
    Unknown {
        kinds: Vec<String>,
        said: Vec<Value>,
    },
    /// A tool call begins; its input may still be on its way.
    ToolStarted(Box<ToolStart>),
    /// A piece of the input of a tool call.
    ToolInput {
        call: CallId,
        content: String,
    },
    /// The input is complete; or a running call needs approval once more.
    ToolReady(Box<ToolReady>),
    /// What a running tool has produced so far: all of it.
    ToolContent {
        call: CallId,
        content: Vec<ToolResultContent>,
    },
    /// A command is to be run in a terminal. The agent is told where it runs
    /// with [`Decision::CommandStarted`](super::Decision::CommandStarted) and how it ended with
    /// [`Decision::Command`](super::Decision::Command). It ends with the turn at the latest, unless
    /// somebody takes its terminal over.
    RunCommand(Box<CommandRun>),
    /// A file is to be written. The backend does so when it is told
    /// [`Decision::MayWrite`](super::Decision::MayWrite), under the same name.
    WriteFile {
        write: String,
    },
    /// The agent wants to know what a command has said so far. If it has ended
    /// meanwhile, its end is the answer.
    ReadCommand {
        run: String,
    },
    /// A command is to be ended.
    StopCommand {
        run: String,
    },
    /// A running tool has changed a file.
    FileEdited(Box<EditedFile>),
    /// A tool ran.
    ToolFinished {
        call: CallId,
        result: Box<ToolCallResult>,
        /// Somebody has to approve the result before it is used.
        confirm: bool,
    },
    /// A tool will not come to an end any more, because its turn was
    /// interrupted.
    ToolInterrupted {
        call: CallId,
    },
    /// Questions to the user. The turn goes on when they are answered.
    Ask(Box<ChatInputRequest>),
    /// Likewise, about signing in to the agent.
    AskToSignIn(Box<SignInQuestion>),
    /// The answer is not needed any more.
    AskWithdrawn {
        request: String,
    },
    /// The steering message with this id was taken up.
    Steered {
        message: String,
    },
    /// A tool call lets another agent work, in a turn of its own. What happens
    /// in that turn is reported under its id, over the same backend.
    Delegated(Box<Delegation>),
    /// Of a turn that was delegated: it works on when the turn that it was
    /// delegated in has ended.
    InBackground,
    /// Why the turn is about to end, in the agent's own word. It is kept with
    /// the turn's end.
    StopReason(String),
    /// The turn ended well.
    Completed,
    /// The turn ended because it was cancelled.
    Cancelled,
    /// The turn ended in an error.
    Failed {
        failure: AgentFailure,
        resumable: bool,
    },
}

#[derive(Debug, Clone)]
pub struct ToolStart {
    /// Unique in its turn.
    pub call: CallId,
    pub name: String,
    pub display_name: String,
    pub intention: Option<String>,
    pub contributor: Option<ToolCallContributor>,
    pub meta: Option<JsonObject>,
}

#[derive(Debug, Clone)]
pub struct ToolReady {
    pub call: CallId,
    pub input: Option<String>,
    /// What the call does, in a sentence.
    pub message: StringOrMarkdown,
    pub approval: Approval,
    pub meta: Option<JsonObject>,
}

/// Whether a tool call needs approval. If it does, the agent waits for a
/// [`Decision`](super::Decision), whoever or whatever takes it.
#[derive(Debug, Clone)]
pub enum Approval {
    NotNeeded,
    Needed(ApprovalRequest),
}

#[derive(Debug, Clone, Default)]
pub struct ApprovalRequest {
    pub title: Option<StringOrMarkdown>,
    /// The edits that the call would make.
    pub edits: Option<FileEditCollection>,
    /// The input may be changed before it is approved.
    pub editable: bool,
    pub options: Vec<ApprovalOption>,
}

/// A command for a terminal of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRun {
    /// The agent's name for it, unique in its turn.
    pub run: String,
    /// The tool call that shows it, unless the agent shows it by itself.
    pub call: Option<CallId>,
    pub program: TerminalProgram,
    pub title: Option<String>,
    /// A `file:` URI; the session's first working directory if there is none.
    pub directory: Option<String>,
    /// All variables that it gets; those of the host if there are none.
    pub environment: Option<Vec<(String, String)>>,
    /// How much of the end of its output the agent wants, in bytes, if it is
    /// more than usual.
    pub output_bytes: Option<usize>,
}

/// A file before and after a tool changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFile {
    pub call: CallId,
    pub uri: String,
    /// `None` if it was not there.
    pub before: Option<Bytes>,
    pub after: Option<Bytes>,
}

#[derive(Debug, Clone)]
pub struct Delegation {
    /// The tool call that does it, in the turn that reports this.
    pub call: CallId,
    /// The id of the other agent's turn: unique on this backend.
    pub turn: TurnId,
    pub title: String,
    pub agent_name: Option<String>,
    pub description: Option<String>,
    /// What the other agent was told.
    pub message: String,
    pub told_by: Teller,
    /// It works on when the turn that reports this has ended.
    pub in_background: bool,
}

/// Who told another agent what to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Teller {
    /// The tool call that lets it work.
    Tool,
    /// The agent itself, without a tool of its own.
    Agent,
}
