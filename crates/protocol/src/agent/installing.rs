//! Agents that the host can install: what clients are told of them, and what
//! comes of an installation.

use serde::Serialize;

/// An agent that is a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstallableAgent {
    pub provider: String,
    pub name: String,
    pub description: String,
    /// Where the package comes from: `npm` or `PyPI`.
    pub source: &'static str,
    /// The package in the version that is installed, such as `name@1.2.3`.
    pub package: String,
    pub version: String,
    /// The version that the host has installed, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed: Option<String>,
    /// It is being installed for a client.
    pub installing: bool,
}

/// All agents that can be installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstallableAgents {
    pub items: Vec<InstallableAgent>,
}

/// An agent that was installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstalledAgent {
    pub provider: String,
    pub version: String,
    /// It was there in this version.
    pub already_there: bool,
}

/// Why an agent was not installed. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallFailure {
    /// The host knows no such agent.
    Unknown(String),
    Failed(String),
}
