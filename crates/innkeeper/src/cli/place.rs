//! Where things are: the data directory and the configuration file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use clap::{Args, ValueHint};
use directories::{BaseDirs, ProjectDirs};
use innkeeper_agents::Environment;
use innkeeper_agents::registry::{self, Registry};
use innkeeper_protocol::record::store::Store;
use innkeeper_store::SqliteStore;
use innkeeper_workspace::uri_of_path;

use crate::config::{self, Config};
use innkeeper::now;
use innkeeper::{CustomizationSettings, HostOptions, LogFeed, WorkspaceOptions};

const CONFIG_FILE: &str = "innkeeper.toml";

#[derive(Debug, Clone, Args)]
pub(crate) struct PlaceArgs {
    /// Where the host keeps everything it owns [default: the platform's data directory]
    #[arg(long, value_name = "DIR", env = "INNKEEPER_DATA_DIR", value_hint = ValueHint::DirPath)]
    data_dir: Option<PathBuf>,
    /// The configuration file [default: innkeeper.toml in the platform's config directory]
    #[arg(long, value_name = "FILE", env = "INNKEEPER_CONFIG", value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
}

impl PlaceArgs {
    /// Where no flags are known.
    pub(crate) fn of_environment() -> Self {
        let named = |name| std::env::var_os(name).map(PathBuf::from);
        Self {
            data_dir: named("INNKEEPER_DATA_DIR"),
            config: named("INNKEEPER_CONFIG"),
        }
    }

    pub(crate) fn data_dir(&self) -> Result<PathBuf> {
        match &self.data_dir {
            Some(dir) => std::path::absolute(dir)
                .with_context(|| format!("the data directory {} cannot be used", dir.display())),
            None => Ok(project_dirs()?.data_dir().to_owned()),
        }
    }

    /// The configuration file that a flag names.
    pub(crate) fn given_config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    pub(crate) fn config_file(&self) -> Result<PathBuf> {
        match &self.config {
            Some(file) => Ok(file.clone()),
            None => Ok(project_dirs()?.config_dir().join(CONFIG_FILE)),
        }
    }

    /// The agents that are known, with those of the user's own file, which
    /// stands next to the configuration.
    pub(crate) fn registry(&self) -> Result<Registry> {
        let file = self.config_file()?.with_file_name(registry::FILE);
        Ok(Registry::with_file(&file))
    }

    pub(crate) fn config(&self) -> Result<Config> {
        let file = self.config_file()?;
        Ok(match self.config {
            Some(_) => config::load(&file)?,
            None => config::load_or_default(&file)?,
        })
    }
}

fn project_dirs() -> Result<ProjectDirs> {
    ProjectDirs::from("", "", "innkeeper")
        .context("there is no home directory; say where to keep data with --data-dir, and where the configuration is with --config")
}

/// The options of a host that keeps its data in `data_dir`.
pub(crate) fn host_options(
    config: &Config,
    data_dir: &Path,
    environment: &Arc<Environment>,
    logs: Option<LogFeed>,
) -> Result<HostOptions> {
    Ok(HostOptions {
        data_dir: Some(data_dir.to_owned()),
        limits: config.limits.limits(),
        delivery: config.delivery.options(),
        queue_after_cancel: config.queue_after_cancel.into(),
        default_directory: BaseDirs::new().and_then(|dirs| uri_of_path(dirs.home_dir())),
        workspace: WorkspaceOptions {
            customizations: CustomizationSettings {
                mcp_servers: config.mcp_servers(),
                ..config.customizations.settings(
                    BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()),
                    |name| std::env::var(name).ok(),
                )
            },
            ..config.workspace.options()
        },
        environment: Arc::clone(environment),
        telemetry: config
            .telemetry
            .with_variables(|name| std::env::var(name).ok())
            .options(logs)
            .context(
                "the table [telemetry] of the configuration, or a variable OTEL_*, is wrong",
            )?,
    })
}

/// The store in `data_dir`, which is created if there is none.
pub(crate) fn opened_store(config: &Config, data_dir: &Path) -> Result<impl Store + use<>> {
    Ok(SqliteStore::open(data_dir, config.store.options(now()))?)
}
