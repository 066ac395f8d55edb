//! Installing for those who name an agent: what a host offers to its clients.

use std::path::Path;
use std::sync::Arc;

use innkeeper_protocol::agent::{InstallFailure, InstallableAgent, InstalledAgent};

use super::{Done, Installed, Tell, install};
use crate::environment::Environment;
use crate::registry::{Registry, Row, Source};

/// Installs agents of a registry into a data directory.
#[derive(Debug)]
pub struct Installer {
    registry: Registry,
    installed: Installed,
    environment: Arc<Environment>,
}

impl Installer {
    pub fn new(registry: Registry, data_dir: &Path, environment: Arc<Environment>) -> Self {
        Self {
            registry,
            installed: Installed::in_data(data_dir),
            environment,
        }
    }

    /// The agents that are packages. This looks at files.
    pub fn installable(&self) -> Vec<InstallableAgent> {
        let rows = self.registry.rows().iter();
        rows.filter_map(|row| self.described(row)).collect()
    }

    fn described(&self, row: &Row) -> Option<InstallableAgent> {
        let package = row.package()?;
        Some(InstallableAgent {
            provider: row.provider().to_owned(),
            name: row.name.clone(),
            description: row.description.clone(),
            source: match package.source {
                Source::Npm => "npm",
                Source::PyPi => "PyPI",
            },
            package: package.spec(),
            version: package.version.clone(),
            installed: self.installed.version(&row.id),
            installing: false,
        })
    }

    /// Installs an agent in the version that is known. Dropping this ends it,
    /// and leaves nothing behind.
    pub async fn install(
        &self,
        provider: &str,
        tell: &Tell,
    ) -> Result<InstalledAgent, InstallFailure> {
        let row = self.registry.row(provider).ok_or_else(|| {
            InstallFailure::Unknown(format!(
                "unknown agent `{provider}`; `innkeeper agents --all` lists those \
                 that are known"
            ))
        })?;
        let done = install(row, None, &self.installed, &self.environment, tell).await;
        let done = done.map_err(|error| InstallFailure::Failed(error.to_string()))?;
        let (version, already_there) = match done {
            Done::AlreadyThere { version } => (version, true),
            Done::Installed { version } => (version, false),
        };
        Ok(InstalledAgent {
            provider: row.provider().to_owned(),
            version,
            already_there,
        })
    }
}
