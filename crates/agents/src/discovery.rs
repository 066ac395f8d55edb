//! Which agents are installed: the known ones, found on `PATH`, with the
//! arguments that make them speak a protocol that the host understands.
//!
//! *Boundary*: this is the only place where agents have names. Finding one
//! starts nothing; what it can do is learned when it runs.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::child::TokenFor;
use crate::process::Program;

/// The language that a program speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// The Agent Client Protocol.
    Acp,
    /// pi's own.
    Pi,
}

/// A program that is a known agent.
#[derive(Debug, Clone)]
pub struct FoundAgent {
    pub provider: &'static str,
    pub display_name: &'static str,
    pub protocol: Protocol,
    pub program: Program,
    /// The customizations that it reads by itself.
    pub reads: &'static [&'static str],
    /// Whether it starts the MCP servers that a session is given, as its protocol
    /// obliges it to. One that does not can only reach them over HTTP.
    pub starts_servers: bool,
}

/// Agents that refuse MCP servers which they would have to start.
const START_NO_SERVERS: &[&str] = &["copilot"];

/// Agents that can use a token that clients have. None of them needs it: they can
/// be signed in otherwise.
const USE_TOKENS: &[(&str, TokenFor)] = &[(
    "copilot",
    TokenFor {
        resource: "https://api.github.com",
        name: "GitHub",
        authorization_server: "https://github.com/login/oauth",
        scopes: &["read:user", "user:email"],
        variable: "GH_TOKEN",
    },
)];

/// The token of clients that an agent can use.
pub(crate) fn token_for(provider: &str) -> Option<TokenFor> {
    let known = USE_TOKENS.iter().find(|(agent, _)| *agent == provider);
    known.map(|(_, token)| *token)
}

/// An agent that is installed without the program that lets the host talk to
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingAdapter {
    pub display_name: &'static str,
    pub command: &'static str,
    /// What to do about it.
    pub hint: &'static str,
}

struct Known {
    provider: &'static str,
    display_name: &'static str,
    /// The first of these that is installed.
    commands: &'static [&'static str],
    protocol: Protocol,
    args: &'static [&'static str],
    /// What it reads from the environment.
    env: &'static [&'static str],
    /// The customizations that it reads by itself: files, and directories with a
    /// slash at the end, of a working directory or of the user's home.
    reads: &'static [&'static str],
}

const KNOWN: &[Known] = &[
    Known {
        provider: "claude",
        display_name: "Claude Code",
        commands: &["claude-agent-acp", "claude-code-acp"],
        protocol: Protocol::Acp,
        args: &[],
        env: &[
            "ANTHROPIC_*",
            "CLAUDE_*",
            "AWS_*",
            "CLOUD_ML_REGION",
            "DISABLE_*",
        ],
        reads: &[".claude/", "CLAUDE.md", "CLAUDE.local.md"],
    },
    Known {
        provider: "codex",
        display_name: "Codex",
        commands: &["codex-acp"],
        protocol: Protocol::Acp,
        args: &[],
        env: &["CODEX_*", "OPENAI_*"],
        reads: &["AGENTS.md", ".codex/", ".agents/skills/"],
    },
    Known {
        provider: "gemini",
        display_name: "Gemini CLI",
        commands: &["gemini"],
        protocol: Protocol::Acp,
        args: &["--experimental-acp"],
        env: &["GEMINI_*", "GOOGLE_*"],
        reads: &["GEMINI.md"],
    },
    Known {
        provider: "copilot",
        display_name: "GitHub Copilot",
        commands: &["copilot"],
        protocol: Protocol::Acp,
        args: &["--acp"],
        env: &["COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"],
        reads: &["AGENTS.md", ".github/", ".copilot/"],
    },
    Known {
        provider: "opencode",
        display_name: "opencode",
        commands: &["opencode"],
        protocol: Protocol::Acp,
        args: &["acp"],
        env: &[
            "OPENCODE_*",
            "ANTHROPIC_*",
            "OPENAI_*",
            "GEMINI_*",
            "OPENROUTER_*",
        ],
        reads: &["AGENTS.md"],
    },
    Known {
        provider: "goose",
        display_name: "goose",
        commands: &["goose"],
        protocol: Protocol::Acp,
        args: &["acp"],
        env: &[
            "GOOSE_*",
            "OPENAI_*",
            "ANTHROPIC_*",
            "GOOGLE_*",
            "OPENROUTER_*",
            "DATABRICKS_*",
        ],
        reads: &["AGENTS.md"],
    },
    Known {
        provider: "qwen",
        display_name: "Qwen Code",
        commands: &["qwen"],
        protocol: Protocol::Acp,
        args: &["--acp"],
        env: &["QWEN_*", "DASHSCOPE_*", "OPENAI_*"],
        reads: &[],
    },
    Known {
        provider: "kimi",
        display_name: "Kimi CLI",
        commands: &["kimi"],
        protocol: Protocol::Acp,
        args: &["acp"],
        env: &["KIMI_*", "MOONSHOT_*"],
        reads: &["AGENTS.md"],
    },
    Known {
        provider: "vibe",
        display_name: "Mistral Vibe",
        commands: &["vibe-acp"],
        protocol: Protocol::Acp,
        args: &[],
        env: &["MISTRAL_*", "VIBE_*"],
        reads: &["AGENTS.md"],
    },
    Known {
        provider: "pi",
        display_name: "pi",
        commands: &["pi"],
        protocol: Protocol::Pi,
        args: &["--mode", "rpc"],
        env: &[
            "PI_*",
            "ANTHROPIC_*",
            "OPENAI_*",
            "GEMINI_*",
            "OPENROUTER_*",
        ],
        reads: &["AGENTS.md", "CLAUDE.md"],
    },
];

/// Agents that need another program: their own command, that program,
/// and how to get it.
const ADAPTED: &[(&str, &str, &[&str], &str)] = &[
    (
        "Claude Code",
        "claude",
        &["claude-agent-acp", "claude-code-acp"],
        "npm install -g @agentclientprotocol/claude-agent-acp",
    ),
    (
        "Codex",
        "codex",
        &["codex-acp"],
        "npm install -g @agentclientprotocol/codex-acp",
    ),
    (
        "Mistral Vibe",
        "vibe",
        &["vibe-acp"],
        "update it: vibe-acp comes with it",
    ),
];

/// The known agents in the directories of a `PATH`.
pub fn find(path: &OsStr) -> Vec<FoundAgent> {
    let found = KNOWN.iter().filter_map(|known| {
        let command = first_of(path, known.commands)?;
        let strings = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        Some(FoundAgent {
            provider: known.provider,
            display_name: known.display_name,
            protocol: known.protocol,
            program: Program {
                args: strings(known.args),
                pass_env: strings(known.env),
                ..Program::new(command)
            },
            reads: known.reads,
            starts_servers: !START_NO_SERVERS.contains(&known.provider),
        })
    });
    found.collect()
}

/// Agents that are there and cannot be talked to.
pub fn missing_adapters(path: &OsStr) -> Vec<MissingAdapter> {
    let missing = ADAPTED.iter().filter(|(_, command, adapters, _)| {
        first_of(path, &[command]).is_some() && first_of(path, adapters).is_none()
    });
    missing
        .map(|&(display_name, command, _, hint)| MissingAdapter {
            display_name,
            command,
            hint,
        })
        .collect()
}

/// A command as the shell would find it: as it is if it is a path, else the
/// first of its name in `PATH`.
pub fn which(path: &OsStr, command: &Path) -> Option<PathBuf> {
    if command.components().count() > 1 {
        return is_executable(command).then(|| command.to_owned());
    }
    // What is found from where the host is might be another program elsewhere.
    let directories = std::env::split_paths(path).filter(|directory| directory.is_absolute());
    let mut places = directories.map(|directory| directory.join(command));
    places.find(|place| is_executable(place))
}

fn first_of(path: &OsStr, commands: &[&str]) -> Option<PathBuf> {
    commands
        .iter()
        .find_map(|command| which(path, Path::new(command)))
}

fn is_executable(path: &Path) -> bool {
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(directory: &Path, name: &str, mode: u32) {
        let path = directory.join(name);
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn known_agents_are_found_with_their_arguments() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        install(two.path(), "goose", 0o755);
        install(one.path(), "goose", 0o644);
        install(two.path(), "claude-code-acp", 0o755);
        install(two.path(), "codex", 0o755);
        let path = std::env::join_paths([one.path(), two.path()]).unwrap();
        let found = find(&path);
        let names: Vec<&str> = found.iter().map(|agent| agent.provider).collect();
        assert_eq!(names, ["claude", "goose"]);
        assert_eq!(found[1].program.command, two.path().join("goose"));
        assert_eq!(found[1].program.args, ["acp"]);
        let missing: Vec<&str> = missing_adapters(&path).iter().map(|m| m.command).collect();
        assert_eq!(missing, ["codex"]);
        assert!(find(OsStr::new("")).is_empty());
    }

    #[test]
    fn names_are_used_once() {
        let mut names: Vec<&str> = KNOWN.iter().map(|known| known.provider).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KNOWN.len());
    }
}
