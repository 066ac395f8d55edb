//! The command line: what can be called, and what a call ends with.
//!
//! Each command has a file of its own below `cli/`. *Invariant*: a call ends
//! with 0 if it did what it was asked, with 2 if it was asked wrongly, and
//! otherwise with 1 and one line on standard error that says what to do.

mod agents;
mod announcement;
mod background;
mod backup;
mod bridge;
mod client;
mod completing;
mod config_command;
mod control;
mod control_socket;
mod conversation;
mod decisions;
mod doctor;
mod environment;
mod export;
mod garbage;
mod gc;
mod life;
mod log_file;
mod logging;
mod migrate;
mod place;
mod report;
mod run;
mod search;
mod serve;
mod service;
mod sessions;
mod signals;
mod standby;
mod steer;
mod text;
mod token;
mod transcript;

use std::io::{self, Write as _};
use std::process::ExitCode;

pub(crate) use logging::{LogDefaults, LogFormat};

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
    /// Start the host in the background and say where it listens
    Up(Box<life::UpArgs>),
    /// Show whether a host runs, and where
    Status(life::StatusArgs),
    /// Stop the host
    Stop(life::LifeArgs),
    /// Restart the host with the flags that it was started with
    Restart(life::LifeArgs),
    /// Let the host read its configuration and certificate again
    Reload(life::LifeArgs),
    /// Open the web client
    Open(life::OpenArgs),
    /// Print what the host has logged
    Logs(life::LogsArgs),
    /// Let the system start the host and keep it running
    Service(service::ServiceArgs),
    /// Run one turn without a client and print the answer
    Run(run::RunArgs),
    /// Say something in a session
    Send(steer::SendArgs),
    /// Print the last turns of a session, and what happens in it
    Tail(steer::TailArgs),
    /// Approve a tool call that waits
    Approve(steer::ApproveArgs),
    /// Deny a tool call that waits
    Deny(steer::ApproveArgs),
    /// Answer a question of an agent
    Answer(steer::AnswerArgs),
    /// Cancel the turn that runs in a session
    Cancel(steer::SessionArgs),
    /// Resume the last turn of a session, which was interrupted
    Resume(steer::SessionArgs),
    /// Give a session another title
    Rename(steer::RenameArgs),
    /// Archive a session
    Archive(steer::ArchiveArgs),
    /// List the agents that were found, and install others
    Agents(agents::AgentsArgs),
    /// List, show, export, delete and restore sessions
    Sessions(sessions::SessionsArgs),
    /// Find what was said in all sessions
    Search(search::SearchArgs),
    /// Write a copy of all sessions to a file, also while a host runs
    Backup(backup::BackupArgs),
    /// Put a backup in the place of all sessions
    Restore(backup::RestoreArgs),
    /// Move all sessions into PostgreSQL, or from there into a data directory
    Migrate(migrate::MigrateArgs),
    /// Free disk space that nothing uses any more
    Gc(gc::GcArgs),
    /// Make, list and revoke the tokens of devices
    Token(token::TokenArgs),
    /// Check and show the configuration
    Config(config_command::ConfigArgs),
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
    /// The same with an exit code of its own.
    Told(u8, String),
    /// All is said; this is the exit code.
    Exit(u8),
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
    // Asked by a shell what to complete, this ends here.
    clap_complete::CompleteEnv::with_factory(Cli::command).complete();
    let Cli { command, serve } = Cli::parse();
    let outcome = match command.unwrap_or(Command::Serve(serve)) {
        Command::Serve(args) => on_runtime(serve::serve(args)),
        Command::Up(args) => on_runtime(life::up(*args)),
        Command::Status(args) => on_runtime(life::status(args)),
        Command::Stop(args) => on_runtime(life::stop(args)),
        Command::Restart(args) => on_runtime(life::restart(args)),
        Command::Reload(args) => on_runtime(life::reload(args)),
        Command::Open(args) => on_runtime(life::open(args)),
        Command::Logs(args) => on_runtime(life::logs(args)),
        Command::Service(args) => on_runtime(service::service(args)),
        Command::Run(args) => on_runtime(run::run(args)),
        Command::Send(args) => on_runtime(steer::send(args)),
        Command::Tail(args) => on_runtime(steer::tail(args)),
        Command::Approve(args) => on_runtime(steer::approve(args)),
        Command::Deny(args) => on_runtime(steer::deny(args)),
        Command::Answer(args) => on_runtime(steer::answer(args)),
        Command::Cancel(args) => on_runtime(steer::cancel(args)),
        Command::Resume(args) => on_runtime(steer::resume(args)),
        Command::Rename(args) => on_runtime(steer::rename(args)),
        Command::Archive(args) => on_runtime(steer::archive(args)),
        Command::Agents(args) => on_runtime(agents::agents(args)),
        Command::Sessions(args) => on_runtime(sessions::sessions(args)),
        Command::Search(args) => on_runtime(search::search(args)),
        Command::Backup(args) => backup::backup(&args),
        Command::Restore(args) => on_runtime(backup::restore(args)),
        Command::Migrate(args) => migrate::migrate(&args),
        Command::Gc(args) => on_runtime(gc::gc(args)),
        Command::Token(args) => on_runtime(token::token(args)),
        Command::Config(args) => config_command::config(args),
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
        Err(Failure::Told(code, message)) => {
            complain(&message);
            ExitCode::from(code)
        }
        Err(Failure::Exit(code)) => ExitCode::from(code),
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
    // In one piece, so that those of several programs do not mix.
    let line = format!("innkeeper: {}\n", text::one_line(message));
    let _ = io::stderr().write_all(line.as_bytes());
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

/// The script asks this program for what it completes, so it knows the
/// sessions, agents and models of the moment.
fn completions(shell: clap_complete::Shell) -> Outcome {
    use clap_complete::env::Shells;
    let shells = Shells::builtins();
    let Some(completer) = shells.completer(&shell.to_string()) else {
        return Err(anyhow::anyhow!("there is no completion for {shell}").into());
    };
    let mut script = Vec::new();
    completer.write_registration(
        "COMPLETE",
        "innkeeper",
        "innkeeper",
        "innkeeper",
        &mut script,
    )?;
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
            for argument in command
                .get_arguments()
                .filter(|argument| !argument.is_hide_set())
            {
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
