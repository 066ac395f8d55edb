//! Customizations: where the engine wants them looked for, and what is found.
//! What clients see of them is in the protocol's own types; how an MCP server
//! is started is kept apart from that, because it may hold secrets.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::mcp::McpServer;
use crate::newest::state::Customization;

/// A followed source of customizations. The engine gives these out, each only
/// once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CustomizationCommand {
    /// Report what is there, and again whenever it has changed.
    Follow {
        source: SourceId,
        place: CustomizationPlace,
    },
    /// Nobody wants to know any more.
    Forget { source: SourceId },
}

/// Where customizations are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CustomizationPlace {
    /// A working directory: a `file:` URI.
    Directory(String),
    /// What holds in every session: the user's own, and the plugins that the
    /// configuration names.
    Host,
    /// A plugin of a client, in a directory of this machine.
    Plugin(ClientPlugin),
    /// A plugin that only the client has: the files that it gave, by their
    /// path in the plugin, or why it did not.
    Files {
        plugin: ClientPlugin,
        files: GivenFiles,
    },
}

pub type GivenFiles = BTreeMap<String, Result<String, String>>;

/// What a client says of a plugin that it brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientPlugin {
    pub id: String,
    pub uri: String,
    pub name: String,
    pub client_id: String,
}

/// All that was found at one place.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomizationReport {
    pub source: SourceId,
    pub found: Vec<FoundCustomization>,
}

/// A container with its children, and how the MCP servers in it are started.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundCustomization {
    pub customization: Customization,
    pub servers: Vec<McpServerSpec>,
    /// The text of files that are not on this machine, by URI, for agents.
    pub texts: BTreeMap<String, Arc<str>>,
}

/// An MCP server, and the customization that clients see of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServerSpec {
    pub id: String,
    pub server: McpServer,
}

/// What is switched on in a session, for its agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EnabledCustomizations {
    /// Those that the agent itself starts or reaches.
    pub mcp_servers: Vec<McpServer>,
    /// The names of those that the host runs, by customization.
    pub hosted_servers: BTreeMap<String, String>,
    /// Agents, skills, prompts, rules and hooks.
    pub files: Vec<EnabledFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnabledFile {
    pub kind: CustomizationKind,
    pub name: String,
    pub uri: String,
    pub description: Option<String>,
    /// Of a rule: it holds for all that is done.
    pub always: bool,
    /// The text, of a file that is not on this machine.
    pub text: Option<Arc<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CustomizationKind {
    Agent,
    Skill,
    Prompt,
    Rule,
    Hook,
}

impl CustomizationKind {
    /// As the protocol calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Skill => "skill",
            Self::Prompt => "prompt",
            Self::Rule => "rule",
            Self::Hook => "hook",
        }
    }
}
