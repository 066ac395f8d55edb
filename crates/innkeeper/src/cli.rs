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
mod done;
mod environment;
mod export;
mod garbage;
mod gc;
mod life;
mod log_file;
mod logging;
mod logs;
mod manual;
mod migrate;
mod place;
mod report;
mod run;
mod search;
mod serve;
mod service;
mod sessions;
mod sign_in_terminal;
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

const EXAMPLES: &str = "\
Examples:
  innkeeper up                  Start the host in the background
  innkeeper open                Open the web client
  innkeeper run \"Fix the test\"  Run one turn in the terminal
  innkeeper agents              See which agents there are
  innkeeper doctor              Find out what is wrong

Without a command, innkeeper runs the host in the foreground, with the options
of `innkeeper serve`.";

/// Run AI coding agents and share their sessions with any AHP client.
#[derive(Debug, Parser)]
#[command(
    name = "innkeeper",
    version,
    args_conflicts_with_subcommands = true,
    after_help = EXAMPLES,
    mut_args(|arg| arg.hide(true))
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::ServeArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the host in the foreground (the default)
    Serve(serve::ServeArgs),
    /// Start the host in the background
    Up(Box<life::UpArgs>),
    /// Show whether a host is running, and where
    Status(life::StatusArgs),
    /// Stop the host
    Stop(life::LifeArgs),
    /// Restart the host with the same flags
    Restart(life::LifeArgs),
    /// Reload the host's configuration and certificate
    Reload(life::LifeArgs),
    /// Open the web client in a browser
    Open(life::OpenArgs),
    /// Print the host's log
    Logs(logs::LogsArgs),
    /// Run the host as a service, whenever the machine is on
    Service(service::ServiceArgs),
    /// Run one turn and print the answer
    Run(run::RunArgs),
    /// Send a message to a session
    Send(steer::SendArgs),
    /// Print the last turns of a session, or follow it
    Tail(steer::TailArgs),
    /// Approve a pending tool call
    Approve(steer::ApproveArgs),
    /// Deny a pending tool call
    Deny(steer::ApproveArgs),
    /// Answer a pending question
    Answer(steer::AnswerArgs),
    /// Cancel the running turn of a session
    Cancel(steer::SessionArgs),
    /// Resume an interrupted turn
    Resume(steer::SessionArgs),
    /// Rename a session
    Rename(steer::RenameArgs),
    /// Archive a session
    Archive(steer::ArchiveArgs),
    /// List, install and uninstall agents
    Agents(agents::AgentsArgs),
    /// List, show, export, delete and restore sessions
    Sessions(sessions::SessionsArgs),
    /// Search all sessions
    Search(search::SearchArgs),
    /// Back up all sessions to a file
    Backup(backup::BackupArgs),
    /// Replace all sessions with a backup
    Restore(backup::RestoreArgs),
    /// Copy all sessions to PostgreSQL, or back to a data directory
    Migrate(migrate::MigrateArgs),
    /// Free unused disk space
    Gc(gc::GcArgs),
    /// Create, list and revoke device tokens
    Token(token::TokenArgs),
    /// Check and show the configuration
    Config(config_command::ConfigArgs),
    /// Check the installation and suggest fixes
    Doctor(doctor::DoctorArgs),
    /// Print a completion script for a shell
    Completions { shell: clap_complete::Shell },
    /// Write manual pages to a directory
    Man(manual::ManualArgs),
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
        Command::Logs(args) => on_runtime(logs::logs(args)),
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
        Command::Man(args) => manual::write(&args),
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

const UNWRITABLE: &str = "standard output cannot be written";

/// Prints to standard output. A reader that has seen enough is not a failure.
fn print(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context(UNWRITABLE).into())
        }
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
