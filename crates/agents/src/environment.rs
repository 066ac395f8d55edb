//! The environment of what the host starts for its user: agents, the commands
//! that they run, and MCP servers.
//!
//! - [`login_shell`]: what the user's login shell sets, taken once;
//! - `direnv`: what the user has allowed `direnv` to set in a directory;
//! - `strict`: the short list, for those who do not want that.
//!
//! *Invariant*: the host's own variables (`INNKEEPER_*`) and its secrets reach
//! none of them, whatever a shell, a file or the configuration says.

mod direnv;
pub mod login_shell;
mod strict;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OnceCell;

pub use login_shell::LoginShell;

/// The names of the host's own variables begin like this.
const OWN: &str = "INNKEEPER_";

/// Variables that speak of the shell that they were taken from, or of the
/// session of another agent that the host was started in, and of nothing else.
const OF_THE_SHELL: &[&str] = &[
    "_",
    "CLAUDECODE",
    "COLUMNS",
    "LINES",
    "OLDPWD",
    "PWD",
    "SHLVL",
];

pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// Where variables come from, and what never passes.
#[derive(Debug, Default)]
pub struct Environment {
    /// Without one, only the strict list passes.
    user: Option<(LoginShell, OnceCell<Taken>)>,
    secrets: Mutex<Vec<String>>,
}

/// What a login shell gave, or why it gave nothing.
#[derive(Debug)]
struct Taken {
    variables: Variables,
    trouble: Option<String>,
}

/// The environment of programs in one directory.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Surroundings {
    /// What all of them get.
    for_all: Variables,
    /// What else there is, for those that ask for it by name.
    on_request: Variables,
}

impl Environment {
    /// Only what every program needs, and what is named for each.
    #[must_use]
    pub fn strict() -> Self {
        Self::default()
    }

    /// What the user's login shell sets.
    #[must_use]
    pub fn of_user(shell: LoginShell) -> Self {
        Self {
            user: Some((shell, OnceCell::new())),
            secrets: Mutex::default(),
        }
    }

    /// From here on, no variable passes that holds this text.
    pub fn keep_secret(&self, secret: &str) {
        if !secret.is_empty() {
            self.secrets().push(secret.to_owned());
        }
    }

    /// Where programs are found. The first time, this waits for the login shell.
    pub async fn path(&self) -> OsString {
        let in_path = |variables: &Variables| variables.get(OsStr::new("PATH")).cloned();
        let path = match self.taken().await {
            Some(taken) => in_path(&taken.variables),
            None => std::env::var_os("PATH"),
        };
        path.unwrap_or_default()
    }

    /// Why the login shell gave nothing, if it should have. The first time, this
    /// waits for it.
    pub async fn trouble(&self) -> Option<String> {
        self.taken().await?.trouble.clone()
    }

    /// What programs get that start in a directory.
    pub(crate) async fn surroundings(&self, directory: Option<&Path>) -> Surroundings {
        let own = self.passing(std::env::vars_os());
        let Some(taken) = self.taken().await else {
            let is_for_all = |name: &OsString| name.to_str().is_some_and(strict::is_for_all);
            let (for_all, on_request) = own.into_iter().partition(|(name, _)| is_for_all(name));
            return Surroundings {
                for_all,
                on_request,
            };
        };
        let mut for_all = self.passing(taken.variables.clone());
        if let Some(directory) = directory {
            let changes = direnv::changes(&for_all, directory).await;
            let (set, unset): (Vec<_>, Vec<_>) =
                changes.into_iter().partition(|(_, value)| value.is_some());
            for (name, _) in unset {
                for_all.remove(&name);
            }
            let set = set
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)));
            for_all.extend(self.passing(set));
        }
        Surroundings {
            for_all,
            on_request: own,
        }
    }

    async fn taken(&self) -> Option<&Taken> {
        let (shell, taken) = self.user.as_ref()?;
        let take = || async {
            let own = self.passing(std::env::vars_os());
            match shell.take(&own).await {
                Ok(variables) => Taken {
                    variables: with_path_of(self.passing(variables), &own),
                    trouble: None,
                },
                Err(trouble) => {
                    let shell = shell.shell.display();
                    tracing::warn!(%shell, trouble, "agents get the host's own environment");
                    Taken {
                        variables: own,
                        trouble: Some(trouble),
                    }
                }
            }
        };
        Some(taken.get_or_init(take).await)
    }

    fn passing(&self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Variables {
        let secrets = self.secrets();
        let passes = |(name, value): &(OsString, OsString)| {
            let name = name.to_string_lossy();
            let value = value.to_string_lossy();
            !name.starts_with(OWN)
                && !OF_THE_SHELL.contains(&&*name)
                && !secrets.iter().any(|secret| value.contains(secret))
        };
        variables.into_iter().filter(passes).collect()
    }

    fn secrets(&self) -> MutexGuard<'_, Vec<String>> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Surroundings {
    /// What a program gets that asks for some by name.
    pub(crate) fn with(&self, also: &[String]) -> Variables {
        let named = |name: &OsString| {
            name.to_str()
                .is_some_and(|name| strict::is_one_of(name, also))
        };
        let requested = self.on_request.iter().filter(|(name, _)| named(name));
        let mut variables: Variables = requested
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        variables.extend(self.for_all.clone());
        variables
    }

    /// What a command gets.
    pub(crate) fn for_commands(&self) -> impl Iterator<Item = (String, String)> {
        self.for_all.iter().filter_map(|(name, value)| {
            Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
        })
    }
}

/// A login shell often sets `PATH` anew. What the host was started with comes
/// first then: a toolchain that was switched on in a terminal, for example.
fn with_path_of(mut variables: Variables, own: &Variables) -> Variables {
    let name = OsStr::new("PATH");
    let (Some(taken), Some(own)) = (variables.get(name), own.get(name)) else {
        return variables;
    };
    let taken: Vec<_> = std::env::split_paths(taken).collect();
    let lost = std::env::split_paths(own).filter(|place| !taken.contains(place));
    let all: Vec<_> = lost.chain(taken.iter().cloned()).collect();
    if let Ok(path) = std::env::join_paths(all) {
        variables.insert(name.to_owned(), path);
    }
    variables
}

/// The environment of programs of which nobody said anything else.
pub(crate) fn usual() -> Arc<Environment> {
    Arc::new(Environment::strict())
}

#[cfg(test)]
mod tests;
