//! Which shell runs in a terminal, and how it is made to say where its
//! commands begin and end.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use innkeeper_protocol::workspace::terminal::{OpenTerminal, TerminalProgram};
use portable_pty::CommandBuilder;

use crate::terminal_options::TerminalOptions;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bash,
    Zsh,
    Fish,
    Other,
}

const BASH: &str = include_str!("shells/innkeeper.bash");
const ZSHENV: &str = include_str!("shells/zshenv.zsh");
const ZSHRC: &str = include_str!("shells/zshrc.zsh");
const FISH: &str = include_str!("shells/innkeeper.fish");

/// What `SHELL` names; where that is not set (a service, a container) or cannot
/// be run, what the account has; without that, `/bin/sh`.
#[must_use]
pub fn shell_of_user() -> PathBuf {
    CommandBuilder::new_default_prog().get_shell().into()
}

impl TerminalOptions {
    fn shell(&self) -> PathBuf {
        self.shell.clone().unwrap_or_else(shell_of_user)
    }

    /// The command that runs in a terminal, and what to call the terminal.
    pub(super) fn command(&self, open: &OpenTerminal, nonce: &str) -> (CommandBuilder, String) {
        let shell = self.shell();
        let mut command = match &open.program {
            TerminalProgram::Direct { program, .. } => CommandBuilder::new(program),
            TerminalProgram::Command(_) | TerminalProgram::Shell => CommandBuilder::new(&shell),
        };
        if let Some(environment) = &open.environment {
            command.env_clear();
            for (name, value) in environment {
                command.env(name, value);
            }
        }
        let name = shell.file_name().unwrap_or(OsStr::new("shell"));
        let mut title = name.to_string_lossy().into_owned();
        match &open.program {
            TerminalProgram::Direct { args, .. } => {
                command.args(args);
                title = open.program.line();
            }
            TerminalProgram::Command(line) => {
                command.arg("-c");
                command.arg(line);
                title.clone_from(line);
            }
            TerminalProgram::Shell => {
                let integrated = self.integrate(kind_of(&shell), nonce, &mut command);
                if !integrated {
                    command.args(&self.shell_arguments);
                }
            }
        }
        command.env("TERM", "xterm-256color");
        command.env("COLORTERM", "truecolor");
        command.env("TERM_PROGRAM", "innkeeper");
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        (command, title)
    }

    /// Makes a shell read our script. Returns whether the arguments are given.
    fn integrate(&self, kind: Kind, nonce: &str, command: &mut CommandBuilder) -> bool {
        let Some(scripts) = self.scripts.as_deref().filter(|_| kind != Kind::Other) else {
            return false;
        };
        if let Err(error) = write_scripts(scripts) {
            tracing::warn!(%error, "no shell integration: its scripts cannot be written");
            return false;
        }
        command.env("INNKEEPER_SHELL_NONCE", nonce);
        // Our script stands in for the user's, and reads that: an argument
        // that says not to read it is meant for the script.
        let is_norc =
            |argument: &&String| matches!(argument.as_str(), "--norc" | "--no-rcs" | "-f");
        if self
            .shell_arguments
            .iter()
            .any(|argument| is_norc(&argument))
        {
            command.env("INNKEEPER_SHELL_NORC", "1");
        }
        let others = self.shell_arguments.iter().filter(|one| !is_norc(one));
        match kind {
            Kind::Bash => {
                command.args(long_options_first(others));
                command.arg("--init-file");
                command.arg(scripts.join("innkeeper.bash"));
                command.arg("-i");
            }
            Kind::Zsh => {
                let own = scripts.join("zsh");
                if let Some(of_user) = std::env::var_os("ZDOTDIR") {
                    command.env("INNKEEPER_USER_ZDOTDIR", of_user);
                }
                command.env("INNKEEPER_SHELL_ZDOTDIR", &own);
                command.env("ZDOTDIR", &own);
                command.args(others);
                command.arg("-i");
            }
            Kind::Fish => {
                let script = scripts.join("innkeeper.fish");
                command.args(others);
                command.arg("--init-command");
                let mut source = OsString::from("source '");
                source.push(script.to_string_lossy().replace('\'', "\\'"));
                source.push("'");
                command.arg(source);
            }
            Kind::Other => {}
        }
        true
    }
}

/// Bash wants its long options before the short ones.
fn long_options_first<'a>(arguments: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut arguments: Vec<&String> = arguments.collect();
    arguments.sort_by_key(|argument| !argument.starts_with("--"));
    arguments
}

fn kind_of(shell: &Path) -> Kind {
    match shell.file_name().and_then(OsStr::to_str) {
        Some("bash") => Kind::Bash,
        Some("zsh") => Kind::Zsh,
        Some("fish") => Kind::Fish,
        _ => Kind::Other,
    }
}

fn write_scripts(directory: &Path) -> io::Result<()> {
    let mut private = std::fs::DirBuilder::new();
    private.recursive(true).mode(0o700);
    private.create(directory.join("zsh"))?;
    for (name, script) in [
        ("innkeeper.bash", BASH),
        ("zsh/.zshenv", ZSHENV),
        ("zsh/.zshrc", ZSHRC),
        ("innkeeper.fish", FISH),
    ] {
        let path = directory.join(name);
        if std::fs::read_to_string(&path).ok().as_deref() != Some(script) {
            // A shell that starts right now must not read half of it.
            let new = path.with_extension("new");
            std::fs::write(&new, script)?;
            std::fs::rename(&new, &path)?;
        }
    }
    Ok(())
}
