//! Where things are: the data directory and the configuration file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, ValueHint};
use directories::{BaseDirs, ProjectDirs};
use innkeeper_agents::Environment;
use innkeeper_agents::registry::{self, Registry};
use innkeeper_protocol::record::store::{Archive, Store};
use innkeeper_store::{
    PostgresAddress, PostgresError, PostgresOptions, PostgresStore, SqliteStore, StoreError,
    has_password, open_postgres_read_only, open_read_only,
};
use innkeeper_workspace::uri_of_path;

use crate::config::{self, Config};
use innkeeper::now;
use innkeeper::{CustomizationSettings, HostOptions, LogFeed, WorkspaceOptions};

const CONFIG_FILE: &str = "innkeeper.toml";

/// These flags are the same in every command, and come last in its help.
const HEADING: &str = "Data and configuration";

#[derive(Debug, Clone, Args)]
pub(crate) struct PlaceArgs {
    /// Directory for the host's data [default: the platform's data directory]
    #[arg(long, value_name = "DIR", env = "INNKEEPER_DATA_DIR", hide_env_values = true, help_heading = HEADING, value_hint = ValueHint::DirPath)]
    data_dir: Option<PathBuf>,
    /// Configuration file [default: innkeeper.toml in the platform's config directory]
    #[arg(long, value_name = "FILE", env = "INNKEEPER_CONFIG", hide_env_values = true, help_heading = HEADING, value_hint = ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Store sessions in PostgreSQL: postgres://user@host/database, without a password
    /// [env: INNKEEPER_STORE]
    #[arg(long, value_name = "URL", help_heading = HEADING)]
    store: Option<String>,
}

impl PlaceArgs {
    /// Where no flags are known.
    pub(crate) fn of_environment() -> Self {
        let named = |name| std::env::var_os(name).map(PathBuf::from);
        Self {
            data_dir: named("INNKEEPER_DATA_DIR"),
            config: named("INNKEEPER_CONFIG"),
            store: None,
        }
    }

    pub(crate) fn data_dir(&self) -> Result<PathBuf> {
        match &self.data_dir {
            Some(dir) => std::path::absolute(dir)
                .with_context(|| format!("the data directory {} cannot be used", dir.display())),
            None => Ok(project_dirs()?.data_dir().to_owned()),
        }
    }

    /// The database that a flag names.
    pub(crate) fn given_store(&self) -> Option<&str> {
        self.store.as_deref()
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

    /// The database that sessions are kept in, if not in the data directory.
    pub(crate) fn database(&self, config: &Config) -> Result<Option<PostgresAddress>> {
        let variable = std::env::var("INNKEEPER_STORE").ok();
        let variable = variable.filter(|url| !url.is_empty());
        let otherwise = variable.as_ref().or(config.store.url.as_ref());
        let url = match (&self.store, otherwise) {
            (Some(url), _) if has_password(url) => anyhow::bail!(
                "every user of this machine can read a password on the command line; put it \
                 into PGPASSWORD, a file that PGPASSFILE names, or store.url in the configuration"
            ),
            (Some(url), _) | (None, Some(url)) => url,
            (None, None) => return Ok(None),
        };
        let address = PostgresAddress::parse(url, |name| std::env::var(name).ok())?;
        Ok(Some(address))
    }

    /// The data directory, for commands that are about the database in it.
    pub(crate) fn local_data_dir(&self) -> Result<PathBuf> {
        match self.database(&self.config()?)? {
            None => self.data_dir(),
            Some(address) => anyhow::bail!(
                "this command is for a database in the data directory; sessions are kept in \
                 {address}, so use PostgreSQL's own tools, such as pg_dump"
            ),
        }
    }

    /// What is stored; nothing where no host has ever run.
    pub(crate) fn archive(&self) -> Result<Option<Box<dyn Archive>>> {
        match self.database(&self.config()?)? {
            None => match open_read_only(&self.data_dir()?) {
                Ok(reader) => Ok(Some(Box::new(reader))),
                Err(StoreError::Missing { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            },
            Some(address) => match open_postgres_read_only(&address) {
                Ok(reader) => Ok(Some(Box::new(reader))),
                Err(PostgresError::Missing { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// The store, for commands that change something while no host works on it.
    pub(crate) fn store(&self, config: &Config) -> Result<Box<dyn Store>> {
        let data_dir = self.data_dir()?;
        Ok(match self.database(config)? {
            None => Box::new(opened_store(config, &data_dir)?),
            Some(address) => {
                let options = postgres_options(config, &data_dir);
                Box::new(PostgresStore::open(&address, options)?)
            }
        })
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
    ProjectDirs::from("", "", "innkeeper").context(
        "the home directory cannot be determined; set the data directory with --data-dir, and the \
                  configuration file with --config",
    )
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
        installer: None,
        telemetry: config
            .telemetry
            .with_variables(|name| std::env::var(name).ok())
            .options(logs)
            .context(
                "the table [telemetry] of the configuration, or a variable OTEL_*, is wrong",
            )?,
    })
}

/// How a store in PostgreSQL is kept.
pub(crate) fn postgres_options(config: &Config, data_dir: &Path) -> PostgresOptions {
    PostgresOptions {
        store: config.store.options(now()),
        lease: Duration::from_secs(config.store.lease_seconds),
        dir: data_dir.to_owned(),
        advertise: config.store.advertise.clone().unwrap_or_default(),
    }
}

/// The store in `data_dir`, which is created if there is none.
pub(crate) fn opened_store(config: &Config, data_dir: &Path) -> Result<impl Store + use<>> {
    Ok(SqliteStore::open(data_dir, config.store.options(now()))?)
}
