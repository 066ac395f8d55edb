//! `innkeeper agents install` and `uninstall`, and what can be installed.

use std::io::{self, Write as _};

use anyhow::anyhow;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use innkeeper_agents::install::{self, Done, Installed};
use innkeeper_agents::registry::{Registry, Row, Source};
use serde_json::json;

use super::super::done::DoneArgs;
use super::super::environment::environment;
use super::super::place::PlaceArgs;
use super::super::{Failure, Outcome, completing, text};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Install an agent from npm or PyPI
    Install(InstallArgs),
    /// Remove an agent that was installed with `install`
    Uninstall(UninstallArgs),
}

#[derive(Debug, Args)]
pub(super) struct InstallArgs {
    /// The agent, as `innkeeper agents --all` names it
    #[arg(add = ArgValueCompleter::new(completing::installable))]
    name: String,
    /// Install this version instead of the one that is known to work
    #[arg(long, value_name = "V")]
    version: Option<String>,
    #[command(flatten)]
    done: DoneArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(super) struct UninstallArgs {
    /// The agent
    #[arg(add = ArgValueCompleter::new(completing::installable))]
    name: String,
    #[command(flatten)]
    done: DoneArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) async fn run(command: Command) -> Outcome {
    match command {
        Command::Install(args) => install(args).await,
        Command::Uninstall(args) => uninstall(args).await,
    }
}

async fn install(args: InstallArgs) -> Outcome {
    let registry = args.place.registry()?;
    let row = known(&registry, &args.name)?;
    let config = args.place.config()?;
    let installed = Installed::in_data(&args.place.data_dir()?);
    let environment = environment(&config);
    let version = args.version.as_deref();
    let installing = install::install(row, version, &installed, &environment, &tell);
    // Whoever stops it ends the installer too, and what it began is removed.
    let done = tokio::select! {
        done = installing => done?,
        _ = tokio::signal::ctrl_c() => return Err(Failure::Interrupted),
    };
    let name = row.provider();
    let (sentence, version, is_new) = match done {
        Done::AlreadyThere { version } => (
            format!("{name} {version} is already installed"),
            version,
            false,
        ),
        Done::Installed { version } => (format!("{name} {version} was installed"), version, true),
    };
    let object = json!({"agent": name, "version": version, "installed": is_new});
    args.done.say(&sentence, &object)
}

async fn uninstall(args: UninstallArgs) -> Outcome {
    let registry = args.place.registry()?;
    let row = known(&registry, &args.name)?;
    let installed = Installed::in_data(&args.place.data_dir()?);
    let name = row.provider();
    match install::uninstall(row, &installed, &tell).await? {
        true => {
            let object = json!({"agent": name, "status": "removed"});
            args.done.say(&format!("{name} was removed"), &object)
        }
        false => Err(anyhow!("{name} was not installed by innkeeper; nothing was removed").into()),
    }
}

/// Progress is not what the command prints, so it goes to standard error.
fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{}", text::one_line(line));
}

fn known<'a>(registry: &'a Registry, name: &str) -> Result<&'a Row, Failure> {
    let unknown = || {
        Failure::Usage(format!(
            "unknown agent `{name}`; `innkeeper agents --all` lists those that are known"
        ))
    };
    registry.row(name).ok_or_else(unknown)
}

/// The agents that are known and not among those that are there.
pub(super) fn table(registry: &Registry, there: &[String]) -> String {
    let mut rows = vec![["PROVIDER", "NAME", "INSTALLS", "ABOUT"].map(str::to_owned)];
    let missing = |row: &&Row| !there.iter().any(|provider| provider == row.provider());
    for row in registry.rows().iter().filter(missing) {
        let package = row.package().map(|package| match package.source {
            Source::Npm => format!("npm {}", package.spec()),
            Source::PyPi => format!("PyPI {}", package.spec()),
        });
        rows.push([
            row.provider().to_owned(),
            row.name.clone(),
            package.unwrap_or_else(|| "manually".to_owned()),
            row.description.clone(),
        ]);
    }
    format!(
        "\nNot installed; `innkeeper agents install PROVIDER` installs those with a \
         package:\n\n{}",
        text::table(&rows)
    )
}
