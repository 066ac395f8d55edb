//! The command line: what can be called, and what a call ends with.
//!
//! Each command has a file of its own below `cli/`. *Invariant*: a call ends
//! with 0 if it did what it was asked, with 2 if it was asked wrongly, and
//! otherwise with 1 and one line on standard error that says what to do.

mod agents;
mod announcement;
mod backup;
mod bridge;
mod client;
mod decisions;
mod doctor;
mod environment;
mod export;
mod garbage;
mod gc;
mod logging;
mod migrate;
mod place;
mod run;
mod serve;
mod sessions;
mod standby;
mod text;
mod transcript;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

/// An agent host: AI coding agents behind the Agent Host Protocol.
#[derive(Debug, Parser)]
#[command(name = "innkeeper", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::ServeArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the host until it is told to stop (the default)
    Serve(serve::ServeArgs),
    /// Run one turn without a client and print the answer
    Run(run::RunArgs),
    /// List the agents that were found, and install others
    Agents(agents::AgentsArgs),
    /// List, show, export, delete and restore sessions
    Sessions(sessions::SessionsArgs),
    /// Write a copy of all sessions to a file, also while a host runs
    Backup(backup::BackupArgs),
    /// Put a backup in the place of all sessions
    Restore(backup::RestoreArgs),
    /// Move all sessions into PostgreSQL, or from there into a data directory
    Migrate(migrate::MigrateArgs),
    /// Free disk space that nothing uses any more
    Gc(gc::GcArgs),
    /// Check the installation and suggest fixes
    Doctor(doctor::DoctorArgs),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Connect standard input and output with a host's socket (for agents)
    #[command(hide = true)]
    Bridge { socket: std::path::PathBuf },
    /// Write down the variables of a login shell (for the host)
    #[command(hide = true)]
    Environment { shell: Option<std::path::PathBuf> },
}

/// Why a call did not do what it was asked.
#[derive(Debug)]
enum Failure {
    /// The flags do not fit together, or one has a value that cannot be used.
    Usage(String),
    Failed(anyhow::Error),
    /// The user stopped it.
    Interrupted,
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

type Outcome = Result<(), Failure>;

/// Runs the program with the arguments of this process.
pub(crate) fn main() -> ExitCode {
    let Cli { command, serve } = Cli::parse();
    let outcome = match command.unwrap_or(Command::Serve(serve)) {
        Command::Serve(args) => on_runtime(serve::serve(args)),
        Command::Run(args) => on_runtime(run::run(args)),
        Command::Agents(args) => on_runtime(agents::agents(args)),
        Command::Sessions(args) => on_runtime(sessions::sessions(args)),
        Command::Backup(args) => backup::backup(&args),
        Command::Restore(args) => backup::restore(&args),
        Command::Migrate(args) => migrate::migrate(&args),
        Command::Gc(args) => gc::gc(&args),
        Command::Doctor(args) => on_runtime(doctor::doctor(args)),
        Command::Completions { shell } => completions(shell),
        Command::Bridge { socket } => on_runtime(bridge::run(socket)),
        Command::Environment { shell } => environment::report(shell),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            complain(&message);
            ExitCode::from(2)
        }
        Err(Failure::Failed(error)) => {
            complain(&text::told(&error));
            ExitCode::FAILURE
        }
        Err(Failure::Interrupted) => ExitCode::from(130),
    }
}

fn on_runtime(command: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(command);
    // A thread that waits for standard input would hold up the end.
    runtime.shutdown_background();
    outcome
}

fn complain(message: &str) {
    let line = text::one_line(message);
    let _ = writeln!(io::stderr(), "innkeeper: {line}");
}

/// Prints to standard output. A reader that has seen enough is not a failure.
fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn completions(shell: clap_complete::Shell) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "innkeeper", &mut script);
    print(&String::from_utf8_lossy(&script))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_flag_is_documented() {
        let docs = include_str!("../../../docs/command-line.md");
        let mut commands = vec![Cli::command()];
        while let Some(command) = commands.pop() {
            for argument in command.get_arguments() {
                if let Some(flag) = argument.get_long().filter(|flag| *flag != "help") {
                    assert!(docs.contains(&format!("`--{flag}")), "--{flag}");
                }
            }
            for inner in command.get_subcommands() {
                let name = inner.get_name();
                assert!(docs.contains(name), "{name}");
                commands.push(inner.clone());
            }
        }
    }
}
