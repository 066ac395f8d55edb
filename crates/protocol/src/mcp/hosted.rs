//! MCP servers that the host runs: what the engine wants of them, and what
//! becomes of it.

use std::fmt;

use serde_json::Value;

use super::McpServer;
use crate::newest::common::JsonObject;
use crate::newest::state::{Icon, McpAuthRequirement, ToolDefinition};
use crate::rpc::RpcError;

/// A run of a server, from its start to its end. The engine gives these out,
/// each only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerRun(pub u64);

/// Something that is asked of a server. The engine gives these out, each only
/// once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct McpCallId(pub u64);

/// What servers are asked for their tokens with. It is never written down.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken(pub String);

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken")
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum McpCommand {
    Start(Box<StartServer>),
    /// End it. Nothing follows, not even answers.
    Stop {
        run: ServerRun,
    },
    /// A request of the protocol; answered by [`McpEvent::Answered`].
    Call {
        run: ServerRun,
        call: McpCallId,
        method: String,
        params: Option<JsonObject>,
    },
    /// Nobody waits for the answer any more.
    Cancel {
        run: ServerRun,
        call: McpCallId,
    },
    Notify {
        run: ServerRun,
        method: String,
        params: Option<JsonObject>,
    },
    /// What requests are authorized with from now on.
    Authorize {
        run: ServerRun,
        token: BearerToken,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct StartServer {
    pub run: ServerRun,
    pub server: McpServer,
    /// The first directory of the session that it is for: a `file:` URI.
    pub directory: Option<String>,
    pub token: Option<BearerToken>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct McpReport {
    pub run: ServerRun,
    pub event: McpEvent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum McpEvent {
    /// It can be used.
    Ready(Box<McpOffer>),
    /// It has other tools now: these are all.
    Tools(Vec<ToolDefinition>),
    /// It serves nobody without a token, or without another one. The run is
    /// over.
    AuthRequired(Box<McpAuthRequirement>),
    /// The run is over.
    Failed(McpFailure),
    Answered {
        call: McpCallId,
        outcome: Result<Value, McpCallError>,
    },
    /// It said something of its own accord.
    Said {
        method: String,
        params: Option<JsonObject>,
    },
}

/// What a server has to offer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct McpOffer {
    pub tools: Vec<ToolDefinition>,
    /// As the server says it.
    pub capabilities: JsonObject,
    /// Of the server itself.
    pub icons: Vec<Icon>,
}

/// Why a server cannot be used, as a sentence that says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum McpFailure {
    #[error("`{command}` cannot be started: {why}")]
    NotStarted { command: String, why: String },
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("it did not answer within {seconds} seconds; see whether it runs by itself")]
    NoAnswer { seconds: u64 },
    #[error("{0}")]
    Ended(String),
    #[error("it does not speak MCP as this host does: {0}")]
    Strange(String),
    #[error("it refused to begin: {0}")]
    Refused(String),
    #[error("{0} MCP servers run already; stop one, or raise `limits.mcp_servers`")]
    TooMany(usize),
}

impl McpFailure {
    /// What programs tell failures apart by.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotStarted { .. } => "notStarted",
            Self::Unreachable(_) => "unreachable",
            Self::NoAnswer { .. } => "noAnswer",
            Self::Ended(_) => "ended",
            Self::Strange(_) => "notUnderstood",
            Self::Refused(_) => "refused",
            Self::TooMany(_) => "tooMany",
        }
    }
}

/// Why a request to a server has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum McpCallError {
    /// The server says so.
    #[error("{}", .0.message)]
    Said(RpcError),
    #[error("the MCP server wants a sign-in")]
    AuthRequired(Box<McpAuthRequirement>),
    #[error("{0}")]
    Lost(String),
}
