//! The environment of agents, as the configuration wants it; and
//! `innkeeper environment`, with which the host asks the user's login shell.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use innkeeper_agents::Environment;
use innkeeper_agents::environment::login_shell::{self, LoginShell};

use super::Outcome;
use crate::config::{Config, EnvironmentSetting};

/// How long a login shell may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// What agents and MCP servers are started in.
pub(crate) fn environment(config: &Config) -> Arc<Environment> {
    let user = || {
        Some(LoginShell {
            shell: config.workspace.shell(),
            reporter: std::env::current_exe().ok()?,
            patience: PATIENCE,
        })
    };
    let shell = match config.agent_environment {
        EnvironmentSetting::User => user(),
        EnvironmentSetting::Strict => None,
    };
    Arc::new(shell.map_or_else(Environment::strict, Environment::of_user))
}

/// Becomes a login shell that calls this again, or writes down what it set.
pub(crate) fn report(shell: Option<PathBuf>) -> Outcome {
    let Some(shell) = shell else {
        return Ok(login_shell::report(&mut io::stdout().lock())?);
    };
    let failed = login_shell::become_login_shell(&shell);
    Err(failed)
        .with_context(|| format!("{} cannot be run", shell.display()))
        .map_err(Into::into)
}
