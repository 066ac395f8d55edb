//! Customizations: where the engine wants them looked for, and what is found.
//! What clients see of them is in the protocol's own types; how an MCP server
//! is started is kept apart from that, because it may hold secrets.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::mcp::McpServer;
use crate::newest::state::{Customization, PluginCustomization};
use crate::workspace::resource::Scope;

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
    /// Make a copy of a plugin that no client is needed for.
    Copy {
        copy: CopyId,
        plugin: ClientPlugin,
        /// What the copy is called; no other was ever called so.
        name: String,
        from: CopyFrom,
    },
    /// Remove all copies but these, by their addresses. None is being made.
    KeepCopies { copies: Vec<String> },
    /// Remove a copy, by its address.
    RemoveCopy { copy: String },
}

/// A copy of a plugin that is being made. The engine gives these out, each
/// only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CopyId(pub u64);

/// Where the files of a copy come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyFrom {
    /// The plugin's own directory on this machine, if its client may reach it.
    Directory(Scope),
    /// What its client gave.
    Files(BTreeMap<String, String>),
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
    /// Nobody, for a copy that the host made.
    pub client_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CustomizationReport {
    /// All that was found at one place.
    Found {
        source: SourceId,
        found: Vec<FoundCustomization>,
    },
    /// What is in a copy, under its own address; or why there is none.
    Copied {
        copy: CopyId,
        outcome: Result<Box<PluginCustomization>, String>,
    },
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

/// How customizations come to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reach {
    /// Those that it reads by itself: files, and directories with a slash at the
    /// end. `~/` in front of one means that of the user's home directory only,
    /// `./` those of working directories only.
    pub reads: Vec<String>,
    /// The URI of the user's home directory.
    pub home: Option<String>,
    /// The host tells it of agents, rules and skills that it does not read.
    pub is_told: bool,
    /// It uses MCP servers that the host names to it.
    pub takes_servers: bool,
}

impl Reach {
    /// Whether an agent reads a file by itself. What only a client has, it
    /// cannot read.
    pub fn reads(&self, uri: &str) -> bool {
        uri.starts_with("file:") && self.reads.iter().any(|read| self.is_at(uri, read))
    }

    fn is_at(&self, uri: &str, read: &str) -> bool {
        let of_home = |place: &str| {
            let home = self.home.as_deref().unwrap_or_default();
            let rest = uri.strip_prefix(home).and_then(|it| it.strip_prefix('/'));
            !home.is_empty() && rest.is_some_and(|rest| is_or_is_below(rest, place))
        };
        match (read.strip_prefix("~/"), read.strip_prefix("./")) {
            (Some(place), _) => of_home(place),
            (None, Some(place)) => is_somewhere(uri, place) && !of_home(place),
            (None, None) => is_somewhere(uri, read),
        }
    }
}

fn is_or_is_below(path: &str, place: &str) -> bool {
    match place.ends_with('/') {
        true => path.starts_with(place),
        false => path == place,
    }
}

fn is_somewhere(uri: &str, place: &str) -> bool {
    if place.ends_with('/') {
        return uri.contains(&format!("/{place}"));
    }
    // What another tool keeps in its own directory only has the same name.
    let parent = uri.strip_suffix(&format!("/{place}"));
    parent.is_some_and(|parent| !parent.rsplit('/').next().unwrap_or(parent).starts_with('.'))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_reads_what_is_at_its_places_and_on_this_machine() {
        let reads = [".claude/", "CLAUDE.md", "./.cursor/", "~/.codex/AGENTS.md"];
        let reach = Reach {
            reads: reads.map(str::to_owned).to_vec(),
            home: Some("file:///user".to_owned()),
            ..Reach::default()
        };
        for (uri, is_read) in [
            ("file:///w/CLAUDE.md", true),
            ("file:///w/sub/CLAUDE.md", true),
            ("file:///w/NOT-CLAUDE.md", false),
            ("file:///w/.claude/skills/a/SKILL.md", true),
            ("file:///user/.claude/skills/a/SKILL.md", true),
            ("file:///w/.claude-plugin/skills/a/SKILL.md", false),
            ("file:///user/.codex/CLAUDE.md", false),
            ("file:///user/.codex/AGENTS.md", true),
            ("file:///w/.codex/AGENTS.md", false),
            ("file:///user/w/.cursor/rules/a.mdc", true),
            ("file:///user/.cursor/rules/a.mdc", false),
            ("file:///w/AGENTS.md", false),
            ("virtual://client/.claude/skills/a/SKILL.md", false),
        ] {
            assert_eq!(reach.reads(uri), is_read, "{uri}");
        }
    }
}
