//! MCP servers that agents are given, wherever they were declared.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    pub transport: McpTransport,
}

/// How an MCP server is started or reached.
#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that the agent starts.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        /// Where it starts, if not where the agent is: a path of this machine.
        directory: Option<String>,
    },
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
    /// As before there was a better way over HTTP.
    Sse {
        url: String,
        headers: BTreeMap<String, String>,
    },
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
