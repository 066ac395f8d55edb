//! MCP servers, wherever they were declared: how they are started or reached,
//! and what the engine and whoever runs them tell each other ([`hosted`]).

pub mod hosted;

use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct McpServer {
    pub name: String,
    pub transport: McpTransport,
}

/// How an MCP server is started or reached.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum McpTransport {
    /// A program that the host or the agent starts.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        /// Where it starts, if not in the session's directory: a path of this
        /// machine.
        directory: Option<String>,
    },
    Http {
        url: String,
        headers: BTreeMap<String, String>,
        /// The OAuth client that is registered where people sign in, if that
        /// registers none by itself.
        oauth_client: Option<String>,
    },
    /// As before there was a better way over HTTP. The host does not speak it;
    /// agents may.
    Sse {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

impl McpServer {
    /// Whether the host knows how to talk to it.
    pub fn can_be_hosted(&self) -> bool {
        !matches!(self.transport, McpTransport::Sse { .. })
    }
}

/// Arguments, variables and headers hold keys often enough: none is shown.
impl fmt::Debug for McpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Stdio { .. } => "Stdio",
            Self::Http { .. } => "Http",
            Self::Sse { .. } => "Sse",
        };
        f.debug_struct(kind).finish_non_exhaustive()
    }
}

/// An MCP server of the host's configuration, which every session has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredServer {
    pub server: McpServer,
    /// Where it is declared.
    pub uri: String,
    pub hosting: Hosting,
}

/// Who runs an MCP server, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hosting {
    /// The host, for each session on its own.
    #[default]
    Session,
    /// The host, once for all sessions with the same first directory.
    Directory,
    /// The agent, which is told how to start or reach it.
    Agent,
}
