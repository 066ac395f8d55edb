//! Which agents are installed: the known ones, found on `PATH`, with the
//! arguments that make them speak a protocol that the host understands.
//!
//! *Boundary*: finding an agent starts nothing; what it can do is learned when
//! it runs.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::child::TokenFor;
use crate::install::Installed;
use crate::process::Program;
use crate::registry::{Language, Registry, Row, SignIn};

/// A program that is a known agent.
#[derive(Debug, Clone)]
pub struct FoundAgent {
    pub provider: String,
    pub display_name: String,
    pub protocol: Language,
    pub program: Program,
    /// The customizations that it reads by itself.
    pub reads: Vec<String>,
    /// Whether it starts the MCP servers that a session is given, as its protocol
    /// obliges it to. One that does not can only reach them over HTTP.
    pub starts_servers: bool,
    /// What is special about signing in to it.
    pub sign_in: SignIn,
}

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
    pub display_name: String,
    pub command: String,
    /// What to do about it.
    pub hint: String,
}

/// The URI of the user's home directory.
pub(crate) fn home() -> Option<String> {
    let home = url::Url::from_directory_path(std::env::home_dir()?).ok()?;
    Some(home.as_str().trim_end_matches('/').to_owned())
}

/// The known agents in the directories of a `PATH`, and those that the host
/// installed. What the user has in `PATH` comes first.
pub fn find(registry: &Registry, path: &OsStr, installed: &Installed) -> Vec<FoundAgent> {
    let found = registry.rows().iter().filter_map(|row| {
        let command = first_of(path, &row.commands()).or_else(|| installed.program(&row.id))?;
        let extra = row.extra();
        Some(FoundAgent {
            provider: row.provider().to_owned(),
            display_name: row.name.clone(),
            protocol: extra.protocol,
            program: Program {
                args: row.args().to_vec(),
                env: row.env(),
                pass_env: extra.pass_env.clone(),
                ..Program::new(command)
            },
            reads: extra.reads.clone(),
            starts_servers: extra.starts_servers.unwrap_or(true),
            sign_in: extra.sign_in.clone(),
        })
    });
    found.collect()
}

/// Agents that are there and cannot be talked to.
pub fn missing_adapters(
    registry: &Registry,
    path: &OsStr,
    installed: &Installed,
) -> Vec<MissingAdapter> {
    let missing = registry.rows().iter().filter_map(|row: &Row| {
        let command = row.extra().adapts.clone()?;
        let is_there = which(path, Path::new(&command)).is_some();
        let has_adapter =
            || first_of(path, &row.commands()).is_some() || installed.program(&row.id).is_some();
        (is_there && !has_adapter()).then(|| MissingAdapter {
            display_name: row.name.clone(),
            command,
            hint: format!("innkeeper agents install {}", row.provider()),
        })
    });
    missing.collect()
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

fn first_of(path: &OsStr, commands: &[String]) -> Option<PathBuf> {
    commands
        .iter()
        .find_map(|command| which(path, Path::new(command)))
}

pub(crate) fn is_executable(path: &Path) -> bool {
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
        let (known, none) = (Registry::shipped(), Installed::in_data(one.path()));
        let found = find(&known, &path, &none);
        let names: Vec<&str> = found.iter().map(|agent| agent.provider.as_str()).collect();
        assert_eq!(names, ["claude", "goose"]);
        assert_eq!(found[1].program.command, two.path().join("goose"));
        assert_eq!(found[1].program.args, ["acp"]);
        let missing = missing_adapters(&known, &path, &none);
        let missing: Vec<&str> = missing.iter().map(|m| m.command.as_str()).collect();
        assert_eq!(missing, ["codex"]);
        assert!(find(&known, OsStr::new(""), &none).is_empty());
    }
}
