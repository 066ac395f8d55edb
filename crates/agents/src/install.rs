//! Installing agents that are packages of npm or PyPI, with the user's own
//! installers, into the host's data directory.
//!
//! - `place`: where an agent is installed, and what counts as installed;
//! - `npm` and `pypi`: how a package gets into a directory;
//! - `commands`: running the installers;
//! - `installer`: all of it for a host, whose clients name agents.
//!
//! *Invariant*: what is used was installed to the end and checked. A package is
//! put together in a directory of its own, which takes its place by a rename;
//! only then does [`Installed`] know of it. One installation of an agent runs
//! at a time, whoever began it.

mod commands;
mod installer;
mod npm;
mod place;
mod pypi;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::environment::{Environment, Variables};
use crate::registry::{Row, Source};

use commands::Commands;
pub use installer::Installer;
pub use place::Installed;

/// Takes lines about how far an installation is.
pub type Tell = dyn Fn(&str) + Send + Sync;

/// Why an agent was not installed. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{0} comes in no package that the host can install; see its own instructions")]
    NoPackage(String),
    #[error("`{0}` is not an exact version, such as 1.2.3")]
    Version(String),
    #[error("{what} is needed to install it, and was not found; install {what} and try again")]
    Missing { what: &'static str },
    #[error(
        "{spec} needs Python {wanted}, and none was found; install such a Python, or uv, \
         which can fetch one, and try again"
    )]
    Python { spec: String, wanted: String },
    #[error("{command} {how}{}", quoted(said))]
    Failed {
        command: String,
        how: String,
        said: Vec<String>,
    },
    #[error("{spec} is not what was expected: its hash is {is}, and should be {should}")]
    WrongHash {
        spec: String,
        is: String,
        should: String,
    },
    #[error("{0} has no program that starts the agent")]
    NoProgram(String),
    #[error("{what}: {source}")]
    Files { what: String, source: io::Error },
}

fn quoted(said: &[String]) -> String {
    match said.is_empty() {
        true => String::new(),
        false => format!(": {}", said.join(" / ")),
    }
}

/// What an installation came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// It was there in this version.
    AlreadyThere {
        version: String,
    },
    Installed {
        version: String,
    },
}

/// Installs an agent, in the version of its row if no other is wanted.
pub async fn install(
    row: &Row,
    version: Option<&str>,
    installed: &Installed,
    environment: &Environment,
    tell: &Tell,
) -> Result<Done, InstallError> {
    let path = environment.path().await;
    let variables = environment.surroundings(None).await.with(&[]);
    install_with(row, version, installed, (path, variables), tell).await
}

/// Likewise, with a `PATH` and the variables of the installers.
async fn install_with(
    row: &Row,
    version: Option<&str>,
    installed: &Installed,
    (path, variables): (OsString, Variables),
    tell: &Tell,
) -> Result<Done, InstallError> {
    let no_package = || InstallError::NoPackage(row.name.clone());
    let named = row.package().ok_or_else(no_package)?;
    let wrong = |version: &str| InstallError::Version(version.to_owned());
    let package = match version {
        Some(version) => named.in_version(version).ok_or_else(|| wrong(version))?,
        None => named.clone(),
    };
    let _lock = installed.lock(&row.id, tell).await?;
    let version = package.version.clone();
    if installed.version(&row.id).as_deref() == Some(&version) {
        return Ok(Done::AlreadyThere { version });
    }
    let new = installed.new_directory(&row.id, &version)?;
    let commands = Commands {
        path,
        variables,
        directory: new.path().to_owned(),
        tell,
    };
    // Hashes are those of the row's own version.
    let is_named = package == named;
    let extra = row.extra();
    let program = match package.source {
        Source::Npm => {
            let integrity = extra.integrity.as_deref().filter(|_| is_named);
            let names = row.commands();
            npm::install(&commands, &package, integrity, extra.scripts, &names).await?
        }
        Source::PyPi => {
            let hashes = if is_named { &extra.sha256[..] } else { &[] };
            let place = installed.place(&row.id, &version);
            pypi::install(&commands, &package, hashes, &place, &row.commands()).await?
        }
    };
    installed.take(&row.id, &version, new, &program)?;
    tell(&format!("{} {version} is installed", row.name));
    Ok(Done::Installed { version })
}

/// Removes what was installed. Says whether there was something.
pub async fn uninstall(
    row: &Row,
    installed: &Installed,
    tell: &Tell,
) -> Result<bool, InstallError> {
    let _lock = installed.lock(&row.id, tell).await?;
    installed.remove(&row.id)
}

fn at(path: &Path) -> impl Fn(io::Error) -> InstallError + use<> {
    let what = format!("{} cannot be written", path.display());
    move |source| InstallError::Files {
        what: what.clone(),
        source,
    }
}

#[cfg(test)]
mod tests;
