//! The configuration file: its tables, their defaults, and what they mean to
//! the host.
//!
//! Reading the file is `config/file`'s business. *Invariant*: a [`Config`]
//! holds only values that are in range; whoever has one need not check it.
//! Every key stands in `docs/configuration.md`, and a test compares the two.

mod file;
mod server;
mod telemetry;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use innkeeper_engine::{GrantPolicy, Limits, QueueAfterCancel};
use innkeeper_protocol::Timestamp;
use innkeeper_protocol::mcp::{ConfiguredServer, Hosting, McpServer, McpTransport};
use innkeeper_store::StoreOptions;
use innkeeper_workspace::CustomizationOptions;
use serde::{Deserialize, Deserializer, Serialize};

use innkeeper::{CustomizationSettings, DeliveryOptions, WorkspaceOptions};

pub(crate) use file::{load, load_or_default};
pub(crate) use server::{LogTable, ServerTable, parse_address};
pub(crate) use telemetry::TelemetryTable;

/// The port that a host listens on if nobody says otherwise.
pub(crate) const DEFAULT_PORT: u16 = 8137;

const MIB: u64 = 1024 * 1024;
const DAY: u64 = 24 * 60 * 60;

/// All that a configuration file can say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Config {
    pub(crate) queue_after_cancel: QueueSetting,
    pub(crate) agent_environment: EnvironmentSetting,
    pub(crate) only_agents: Vec<String>,
    pub(crate) server: ServerTable,
    pub(crate) log: LogTable,
    pub(crate) limits: LimitsTable,
    pub(crate) delivery: DeliveryTable,
    pub(crate) store: StoreTable,
    pub(crate) workspace: WorkspaceTable,
    pub(crate) customizations: CustomizationsTable,
    pub(crate) telemetry: TelemetryTable,
    pub(crate) script: ScriptTable,
    pub(crate) agents: BTreeMap<String, AgentTable>,
    pub(crate) mcp: BTreeMap<String, McpTable>,
}

/// What becomes of queued messages when a turn is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum QueueSetting {
    #[default]
    Wait,
    Continue,
}

/// What agents are started in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EnvironmentSetting {
    #[default]
    User,
    Strict,
}

impl From<QueueSetting> for QueueAfterCancel {
    fn from(setting: QueueSetting) -> Self {
        match setting {
            QueueSetting::Wait => Self::Wait,
            QueueSetting::Continue => Self::Continue,
        }
    }
}

/// What clients are told of where the servers of the configuration are
/// declared. The file is nobody else's business.
const CONFIGURATION: &str = "innkeeper:configuration";

/// `[mcp.NAME]`: an MCP server that every session has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct McpTable {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) url: String,
    pub(crate) sse: bool,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) oauth_client_id: String,
    pub(crate) hosting: HostingSetting,
    pub(crate) enabled: bool,
}

/// Who runs an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HostingSetting {
    #[default]
    Session,
    Directory,
    Agent,
}

impl From<HostingSetting> for Hosting {
    fn from(setting: HostingSetting) -> Self {
        match setting {
            HostingSetting::Session => Self::Session,
            HostingSetting::Directory => Self::Directory,
            HostingSetting::Agent => Self::Agent,
        }
    }
}

impl Default for McpTable {
    fn default() -> Self {
        Self {
            command: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            url: String::new(),
            sse: false,
            headers: BTreeMap::new(),
            oauth_client_id: String::new(),
            hosting: HostingSetting::default(),
            enabled: true,
        }
    }
}

impl McpTable {
    /// How the server is reached: a program wins over an address.
    fn transport(&self) -> Option<McpTransport> {
        if !self.command.is_empty() {
            return Some(McpTransport::Stdio {
                command: self.command.clone(),
                args: self.args.clone(),
                env: self.env.clone(),
                directory: None,
            });
        }
        let (url, headers) = (self.url.clone(), self.headers.clone());
        match self.sse {
            _ if url.is_empty() => None,
            true => Some(McpTransport::Sse { url, headers }),
            false => Some(McpTransport::Http {
                url,
                headers,
                oauth_client: Some(self.oauth_client_id.clone()).filter(|it| !it.is_empty()),
            }),
        }
    }
}

impl Config {
    /// Whether another configuration has changes that a running host does not
    /// take up.
    pub(crate) fn needs_restart_for(&self, other: &Self) -> bool {
        let taken_up = |config: &Self| Self {
            agents: BTreeMap::new(),
            server: ServerTable {
                allowed_hosts: Vec::new(),
                allowed_origins: Vec::new(),
                ..config.server.clone()
            },
            ..config.clone()
        };
        taken_up(self) != taken_up(other)
    }

    /// The MCP servers that every session has.
    pub(crate) fn mcp_servers(&self) -> Vec<ConfiguredServer> {
        let enabled = self.mcp.iter().filter(|(_, table)| table.enabled);
        let server = |(name, table): (&String, &McpTable)| {
            let (name, transport) = (name.clone(), table.transport()?);
            Some(ConfiguredServer {
                server: McpServer { name, transport },
                uri: CONFIGURATION.to_owned(),
                hosting: table.hosting.into(),
            })
        };
        enabled.filter_map(server).collect()
    }
}

/// `[agents.NAME]`: an agent of the user's own, or what is different about one
/// that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct AgentTable {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) pass_env: Vec<String>,
    pub(crate) cwd: String,
    pub(crate) name: String,
    pub(crate) auth_method: String,
    pub(crate) reads: Vec<String>,
    pub(crate) default: bool,
    pub(crate) enabled: bool,
}

impl Default for AgentTable {
    fn default() -> Self {
        Self {
            command: String::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            cwd: String::new(),
            name: String::new(),
            auth_method: String::new(),
            reads: Vec::new(),
            default: false,
            enabled: true,
        }
    }
}

/// `[workspace]`: what clients and agents may do on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct WorkspaceTable {
    #[serde(deserialize_with = "absolute_paths")]
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) grants: Grants,
    pub(crate) shell: PathBuf,
    pub(crate) shell_arguments: Vec<String>,
    pub(crate) shell_integration: bool,
    pub(crate) changes: bool,
    pub(crate) assess_risk: bool,
}

/// What a client is granted that asks for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Grants {
    None,
    Read,
    Write,
}

impl Default for WorkspaceTable {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            grants: Grants::Read,
            shell: PathBuf::new(),
            shell_arguments: Vec::new(),
            shell_integration: true,
            changes: true,
            assess_risk: true,
        }
    }
}

impl WorkspaceTable {
    /// The shell of the user, unless the configuration names another.
    pub(crate) fn shell(&self) -> PathBuf {
        let configured = Some(self.shell.clone()).filter(|shell| !shell.as_os_str().is_empty());
        configured.unwrap_or_else(innkeeper_workspace::shell_of_user)
    }

    pub(crate) fn options(&self) -> WorkspaceOptions {
        WorkspaceOptions {
            roots: self.roots.clone(),
            grants: match self.grants {
                Grants::None => GrantPolicy::None,
                Grants::Read => GrantPolicy::Read,
                Grants::Write => GrantPolicy::Write,
            },
            shell: Some(self.shell.clone()).filter(|shell| !shell.as_os_str().is_empty()),
            shell_arguments: self.shell_arguments.clone(),
            shell_integration: self.shell_integration,
            changes: self.changes,
            assess_risk: self.assess_risk,
            environment: Vec::new(),
            customizations: CustomizationSettings::default(),
        }
    }
}

/// `[customizations]`: the agents, skills, rules and servers that people have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CustomizationsTable {
    pub(crate) enabled: bool,
    pub(crate) user: bool,
    #[serde(deserialize_with = "absolute_paths")]
    pub(crate) plugins: Vec<PathBuf>,
    pub(crate) trust_mcp_servers: bool,
    pub(crate) hosting: HostingSetting,
    pub(crate) pass_env: Vec<String>,
}

impl Default for CustomizationsTable {
    fn default() -> Self {
        Self {
            enabled: true,
            user: true,
            plugins: Vec::new(),
            trust_mcp_servers: false,
            hosting: HostingSetting::default(),
            pass_env: Vec::new(),
        }
    }
}

impl CustomizationsTable {
    /// For a user with this home directory and this environment.
    pub(crate) fn settings(
        &self,
        home: Option<PathBuf>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> CustomizationSettings {
        let passed = self.pass_env.iter();
        let variables = passed.filter_map(|name| Some((name.clone(), environment(name)?)));
        CustomizationSettings {
            enabled: self.enabled,
            trust_servers: self.trust_mcp_servers,
            hosting: self.hosting.into(),
            mcp_servers: Vec::new(),
            places: match self.enabled {
                true => CustomizationOptions {
                    home: home.filter(|_| self.user),
                    plugins: self.plugins.clone(),
                    variables: variables.collect(),
                    copies: None,
                },
                false => CustomizationOptions::default(),
            },
        }
    }
}

/// `[script]`: the agent that plays scenarios.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ScriptTable {
    pub(crate) token_for: String,
}

/// `[limits]`: what one host, one client or one session may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct LimitsTable {
    #[serde(deserialize_with = "within::<_, 1, 1_000_000>")]
    pub(crate) connections: u64,
    #[serde(deserialize_with = "within::<_, 1, 10_000_000>")]
    pub(crate) sessions: u64,
    #[serde(deserialize_with = "within::<_, 1, 1_000_000>")]
    pub(crate) chats: u64,
    #[serde(deserialize_with = "within::<_, 1, 1_000>")]
    pub(crate) directories: u64,
    #[serde(deserialize_with = "within::<_, 1, 100_000>")]
    pub(crate) queued_messages: u64,
    #[serde(deserialize_with = "within::<_, 1024, { 16 * MIB }>")]
    pub(crate) inline_bytes: u64,
    #[serde(deserialize_with = "within::<_, { MIB }, { 512 * MIB }>")]
    pub(crate) turn_bytes: u64,
    #[serde(deserialize_with = "within::<_, 1, 10_000_000>")]
    pub(crate) subscriptions: u64,
    #[serde(deserialize_with = "within::<_, 0, 1_000_000_000>")]
    pub(crate) replay_actions: u64,
    #[serde(deserialize_with = "within::<_, 0, { 64 * 1024 * MIB }>")]
    pub(crate) replay_bytes: u64,
    #[serde(deserialize_with = "within::<_, 0, 10_000_000>")]
    pub(crate) idle_sessions: u64,
    #[serde(deserialize_with = "within::<_, 1, { 365 * DAY }>")]
    pub(crate) idle_session_seconds: u64,
    #[serde(deserialize_with = "within::<_, 0, { 365 * DAY }>")]
    pub(crate) empty_session_seconds: u64,
    #[serde(deserialize_with = "within::<_, 0, 60_000>")]
    pub(crate) summary_delay_ms: u64,
    #[serde(deserialize_with = "within::<_, 0, DAY>")]
    pub(crate) client_grace_seconds: u64,
    #[serde(deserialize_with = "within::<_, 1, DAY>")]
    pub(crate) client_answer_seconds: u64,
    #[serde(deserialize_with = "within::<_, 1024, { 1024 * MIB }>")]
    pub(crate) resource_bytes: u64,
    #[serde(deserialize_with = "within::<_, 0, 10_000>")]
    pub(crate) terminals: u64,
    #[serde(deserialize_with = "within::<_, 4096, { 64 * MIB }>")]
    pub(crate) scrollback_bytes: u64,
    #[serde(deserialize_with = "within::<_, 0, 10_000>")]
    pub(crate) watches: u64,
    #[serde(deserialize_with = "within::<_, 0, 10_000>")]
    pub(crate) automations: u64,
    #[serde(deserialize_with = "within::<_, 1, 10_000>")]
    pub(crate) backends: u64,
    #[serde(deserialize_with = "within::<_, { 64 * MIB }, { 1024 * 1024 * MIB }>")]
    pub(crate) backend_bytes: u64,
    #[serde(deserialize_with = "within::<_, 0, 10_000>")]
    pub(crate) mcp_servers: u64,
    #[serde(deserialize_with = "within::<_, 1, 100_000>")]
    pub(crate) page_turns: u64,
    #[serde(deserialize_with = "within::<_, 1, 100_000>")]
    pub(crate) page_sessions: u64,
}

impl Default for LimitsTable {
    fn default() -> Self {
        // By name, so that a limit that the engine adds cannot be forgotten.
        let Limits {
            sessions,
            chats,
            directories,
            queued_messages,
            inline_bytes,
            turn_bytes,
            subscriptions,
            replay_actions,
            replay_bytes,
            idle_sessions,
            idle_session,
            empty_session,
            summary_delay,
            client_grace,
            client_answer,
            resource_bytes,
            terminals,
            scrollback_bytes,
            watches,
            automations,
            backends,
            backend_bytes,
            mcp_servers,
            page_turns,
            page_sessions,
        } = Limits::default();
        Self {
            connections: 1_000,
            sessions: sessions as u64,
            chats: chats as u64,
            directories: directories as u64,
            queued_messages: queued_messages as u64,
            inline_bytes: inline_bytes as u64,
            turn_bytes: turn_bytes as u64,
            subscriptions: subscriptions as u64,
            replay_actions,
            replay_bytes: replay_bytes as u64,
            idle_sessions: idle_sessions as u64,
            idle_session_seconds: idle_session.as_secs(),
            empty_session_seconds: empty_session.as_secs(),
            summary_delay_ms: millis(summary_delay),
            client_grace_seconds: client_grace.as_secs(),
            client_answer_seconds: client_answer.as_secs(),
            resource_bytes: resource_bytes as u64,
            terminals: terminals as u64,
            scrollback_bytes: scrollback_bytes as u64,
            watches: watches as u64,
            automations: automations as u64,
            backends: backends as u64,
            backend_bytes,
            mcp_servers: mcp_servers as u64,
            page_turns: page_turns as u64,
            page_sessions: page_sessions as u64,
        }
    }
}

impl LimitsTable {
    /// Not among the limits of the engine: whoever listens keeps it.
    pub(crate) fn connections(&self) -> usize {
        size(self.connections)
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
            sessions: size(self.sessions),
            chats: size(self.chats),
            directories: size(self.directories),
            queued_messages: size(self.queued_messages),
            inline_bytes: size(self.inline_bytes),
            turn_bytes: size(self.turn_bytes),
            subscriptions: size(self.subscriptions),
            replay_actions: self.replay_actions,
            replay_bytes: size(self.replay_bytes),
            idle_sessions: size(self.idle_sessions),
            idle_session: Duration::from_secs(self.idle_session_seconds),
            empty_session: Duration::from_secs(self.empty_session_seconds),
            summary_delay: Duration::from_millis(self.summary_delay_ms),
            client_grace: Duration::from_secs(self.client_grace_seconds),
            client_answer: Duration::from_secs(self.client_answer_seconds),
            resource_bytes: size(self.resource_bytes),
            terminals: size(self.terminals),
            scrollback_bytes: size(self.scrollback_bytes),
            watches: size(self.watches),
            automations: size(self.automations),
            backends: size(self.backends),
            backend_bytes: self.backend_bytes,
            mcp_servers: size(self.mcp_servers),
            page_turns: size(self.page_turns),
            page_sessions: size(self.page_sessions),
        }
    }
}

/// `[delivery]`: how messages wait for a client that reads slowly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct DeliveryTable {
    pub(crate) merge: bool,
    #[serde(deserialize_with = "within::<_, 0, 1_000_000>")]
    pub(crate) merge_after: u64,
    #[serde(deserialize_with = "within::<_, { 64 * 1024 }, { 64 * 1024 * MIB }>")]
    pub(crate) queue_bytes: u64,
}

impl Default for DeliveryTable {
    fn default() -> Self {
        let DeliveryOptions {
            merge,
            merge_after,
            queue_bytes,
        } = DeliveryOptions::default();
        Self {
            merge,
            merge_after: merge_after as u64,
            queue_bytes: queue_bytes as u64,
        }
    }
}

impl DeliveryTable {
    pub(crate) fn options(&self) -> DeliveryOptions {
        DeliveryOptions {
            merge: self.merge,
            merge_after: size(self.merge_after),
            queue_bytes: size(self.queue_bytes),
        }
    }
}

/// `[store]`: how what happens is kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct StoreTable {
    /// Where the store is, if not in the data directory. It may hold a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// Where clients reach this host, for the others on the same store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advertise: Option<String>,
    #[serde(deserialize_with = "within::<_, 3, 600>")]
    pub(crate) lease_seconds: u64,
    pub(crate) sync: SyncSetting,
    #[serde(deserialize_with = "within::<_, 0, 36_500>")]
    pub(crate) keep_disposed_days: u64,
    #[serde(deserialize_with = "within::<_, 1_048_576, 68_719_476_736>")]
    pub(crate) log_bytes: u64,
    #[serde(deserialize_with = "within::<_, 0, 10_000>")]
    pub(crate) group_commit_ms: u64,
}

/// When a commit counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SyncSetting {
    Normal,
    Full,
}

impl Default for StoreTable {
    fn default() -> Self {
        let StoreOptions {
            sync,
            keep_disposed_days,
            log_bytes,
            now: _,
            group_commit,
        } = StoreOptions::default();
        Self {
            url: None,
            advertise: None,
            lease_seconds: 10,
            sync: match sync {
                innkeeper_store::SyncMode::Normal => SyncSetting::Normal,
                innkeeper_store::SyncMode::Full => SyncSetting::Full,
            },
            keep_disposed_days,
            log_bytes,
            group_commit_ms: millis(group_commit),
        }
    }
}

impl std::fmt::Debug for StoreTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreTable").finish_non_exhaustive()
    }
}

impl StoreTable {
    /// The options of a store that is opened `now`.
    pub(crate) fn options(&self, now: Timestamp) -> StoreOptions {
        StoreOptions {
            sync: match self.sync {
                SyncSetting::Normal => innkeeper_store::SyncMode::Normal,
                SyncSetting::Full => innkeeper_store::SyncMode::Full,
            },
            keep_disposed_days: self.keep_disposed_days,
            log_bytes: self.log_bytes,
            now,
            group_commit: Duration::from_millis(self.group_commit_ms),
        }
    }
}

fn absolute_paths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    let paths = Vec::<PathBuf>::deserialize(deserializer)?;
    match paths.iter().find(|path| !path.is_absolute()) {
        None => Ok(paths),
        Some(path) => Err(serde::de::Error::custom(format!(
            "`{}` is not an absolute path; write it from `/` on",
            path.display()
        ))),
    }
}

/// A number from `LEAST` to `MOST`.
fn within<'de, D: Deserializer<'de>, const LEAST: u64, const MOST: u64>(
    deserializer: D,
) -> Result<u64, D::Error> {
    let number = u64::deserialize(deserializer)?;
    if (LEAST..=MOST).contains(&number) {
        return Ok(number);
    }
    Err(serde::de::Error::custom(format!(
        "{number} is out of range; give a number from {LEAST} to {MOST}"
    )))
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_parts() {
        let config = Config::default();
        let (ours, theirs) = (config.limits.limits(), Limits::default());
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        let (ours, theirs) = (config.delivery.options(), DeliveryOptions::default());
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
        let (ours, theirs) = (
            config.store.options(Timestamp::default()),
            StoreOptions::default(),
        );
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
    }

    #[test]
    fn mcp_servers_are_programs_or_addresses() {
        let config: Config = toml::from_str(
            "[mcp.files]\ncommand = 'files'\nargs = ['-v']\n\
             [mcp.far]\nurl = 'https://mcp.example'\nheaders = { A = 'b' }\n\
             [mcp.old]\nurl = 'https://old.example'\nsse = true\n\
             [mcp.off]\ncommand = 'off'\nenabled = false\n\
             [mcp.nothing]\n",
        )
        .unwrap();
        let shown: Vec<String> = config
            .mcp_servers()
            .iter()
            .map(|it| format!("{} {:?}", it.server.name, it.server.transport))
            .collect();
        let expected = ["far Http { .. }", "files Stdio { .. }", "old Sse { .. }"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn every_key_is_documented_with_its_default() {
        let docs = include_str!("../../../docs/configuration.md");
        let toml::Value::Table(tables) = toml::Value::try_from(Config::default()).unwrap() else {
            panic!("a table");
        };
        let agent = toml::Value::try_from(AgentTable::default()).unwrap();
        let agent = ("agents.NAME".to_owned(), agent);
        let server = toml::Value::try_from(McpTable::default()).unwrap();
        let server = ("mcp.NAME".to_owned(), server);
        let tables = tables.into_iter();
        let tables = tables.filter(|(table, _)| table != "agents" && table != "mcp");
        for (table, keys) in tables.chain([agent, server]) {
            if keys.as_table().is_none() {
                let (_, section) = docs.split_once("## Before the tables").unwrap();
                let section = section.split("\n## ").next().unwrap();
                let row = format!("| `{table}` | `{keys}` |");
                assert!(section.contains(&row), "no row `{row}` before the tables");
                continue;
            }
            let (_, section) = docs.split_once(&format!("## `[{table}]`")).unwrap();
            let section = section.split("\n## ").next().unwrap();
            for (key, default) in keys.as_table().unwrap() {
                let row = format!("| `{key}` | `{default}` |");
                assert!(section.contains(&row), "no row `{row}` in [{table}]");
            }
        }
    }
}
