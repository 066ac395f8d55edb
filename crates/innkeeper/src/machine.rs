//! What touches the machine, wired to the engine: files, terminals, watches,
//! changes, MCP servers. What they report waits in a bounded queue; while that is
//! full, whoever reports waits too.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use innkeeper_agents::{Environment, McpServers, ServerPatience};
use innkeeper_engine::{CustomizationPolicy, GrantPolicy, Input, WorkspaceConfig};
use innkeeper_protocol::mcp::hosted::McpReport;
use innkeeper_protocol::mcp::{ConfiguredServer, Hosting};
use innkeeper_protocol::workspace::resource::GrantedRoot;
use innkeeper_protocol::workspace::terminal::TerminalId;
use innkeeper_workspace::{
    ChangesService, CustomizationOptions, CustomizationService, FileFinder, Hub, ResourceService,
    TerminalOptions, TerminalService, WatchService, uri_of_path,
};
use tokio::sync::mpsc;

use crate::delivery::OutboundQueue;

/// How many reports may wait for the engine.
const REPORTS_IN_FLIGHT: usize = 64;

/// How much of what was published may wait for a client before the terminals
/// that it listens to wait for the client.
const MOST_WAITING: usize = 512 * 1024;

/// How long a terminal waits for a client that takes nothing. The client is
/// closed when its queue is full; until then, the terminal goes on slowly.
const PATIENCE: Duration = Duration::from_millis(100);

/// What a host may do on the machine that it runs on.
#[derive(Debug, Clone)]
pub struct WorkspaceOptions {
    /// What clients may reach besides the directories of sessions.
    pub roots: Vec<PathBuf>,
    pub grants: GrantPolicy,
    /// The shell of terminals; that of the user, if none is named.
    pub shell: Option<PathBuf>,
    pub shell_arguments: Vec<String>,
    /// Whether shells are made to say where their commands begin and end.
    pub shell_integration: bool,
    /// Whether the changes in the directories of sessions are told and kept.
    pub changes: bool,
    /// Whether requests for approval say what is risky about them.
    pub assess_risk: bool,
    /// For what runs in terminals, besides the host's own.
    pub environment: Vec<(String, String)>,
    pub customizations: CustomizationSettings,
}

/// Where customizations come from, and how they are treated.
#[derive(Debug, Clone)]
pub struct CustomizationSettings {
    /// Whether working directories and clients' plugins are read.
    pub enabled: bool,
    /// Whether the MCP servers of working directories are on by themselves.
    pub trust_servers: bool,
    /// Who runs the MCP servers that are found.
    pub hosting: Hosting,
    /// MCP servers that every session has.
    pub mcp_servers: Vec<ConfiguredServer>,
    /// What holds in every session.
    pub places: CustomizationOptions,
}

impl Default for CustomizationSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            trust_servers: false,
            hosting: Hosting::default(),
            mcp_servers: Vec::new(),
            places: CustomizationOptions::default(),
        }
    }
}

impl CustomizationSettings {
    fn policy(&self, data_dir: Option<&Path>) -> CustomizationPolicy {
        CustomizationPolicy {
            enabled: self.enabled,
            copies: data_dir.is_some(),
            host: self.places.home.is_some() || !self.places.plugins.is_empty(),
            trust_servers: self.trust_servers,
            hosting: self.hosting,
        }
    }
}

impl Default for WorkspaceOptions {
    fn default() -> Self {
        Self {
            roots: Vec::new(),
            grants: GrantPolicy::default(),
            shell: None,
            shell_arguments: Vec::new(),
            shell_integration: true,
            changes: true,
            assess_risk: true,
            environment: Vec::new(),
            customizations: CustomizationSettings::default(),
        }
    }
}

impl WorkspaceOptions {
    /// Without a directory to keep them in there are no changes to speak of.
    pub(crate) fn config(&self, data_dir: Option<&Path>) -> WorkspaceConfig {
        let uris = self.roots.iter().filter_map(|path| uri_of_path(path));
        let roots = uris.map(|uri| GrantedRoot {
            uri,
            writable: true,
        });
        // What is in a copy of a plugin is for everybody to see.
        let copies = data_dir.and_then(|dir| uri_of_path(&copies_in(dir)));
        let copies = copies.map(|uri| GrantedRoot {
            uri,
            writable: false,
        });
        WorkspaceConfig {
            roots: Arc::new(roots.chain(copies).collect()),
            grants: self.grants,
            changes: self.changes && data_dir.is_some(),
            assess_risk: self.assess_risk,
            worktrees: data_dir.and_then(|dir| uri_of_path(&worktrees_in(dir))),
            customizations: self.customizations.policy(data_dir),
            mcp_servers: self.customizations.mcp_servers.as_slice().into(),
            installs_agents: false,
        }
    }

    fn terminals(self, data_dir: Option<&Path>) -> TerminalOptions {
        let scripts = data_dir.filter(|_| self.shell_integration);
        TerminalOptions {
            shell: self.shell,
            shell_arguments: self.shell_arguments,
            scripts: scripts.map(|dir| dir.join("shell")),
            environment: self.environment,
        }
    }
}

/// Where the states of sessions' directories are kept.
pub(crate) fn changes_in(data_dir: &Path) -> PathBuf {
    data_dir.join("changes")
}

/// Where copies of clients' plugins are kept.
fn copies_in(data_dir: &Path) -> PathBuf {
    data_dir.join("plugins")
}

/// Where the working trees of sessions are.
pub(crate) fn worktrees_in(data_dir: &Path) -> PathBuf {
    data_dir.join("worktrees")
}

/// Where MCP servers report, on the way to the engine.
fn mcp_reports(to: mpsc::Sender<Input>) -> mpsc::Sender<McpReport> {
    let (reports, mut inbox) = mpsc::channel(1);
    tokio::spawn(async move {
        while let Some(report) = inbox.recv().await {
            if to.send(Input::Mcp(report)).await.is_err() {
                return;
            }
        }
    });
    reports
}

#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) finder: FileFinder,
    pub(crate) resources: ResourceService,
    pub(crate) terminals: TerminalService,
    pub(crate) watches: WatchService,
    pub(crate) changes: Option<ChangesService>,
    pub(crate) customizations: CustomizationService,
    pub(crate) servers: McpServers,
}

impl Machine {
    /// To be called within a tokio runtime.
    pub(crate) fn new(
        options: WorkspaceOptions,
        environment: Arc<Environment>,
        data_dir: Option<&Path>,
    ) -> (Arc<Self>, mpsc::Receiver<Input>) {
        let (reports, inbox) = mpsc::channel(REPORTS_IN_FLIGHT);
        let of_terminals = reports.clone();
        let of_changes = reports.clone();
        let of_customizations = reports.clone();
        let servers = McpServers::new(
            mcp_reports(reports.clone()),
            data_dir.map(|dir| dir.join("agents")),
            environment,
            ServerPatience::default(),
        );
        let files = Hub::default();
        let places = CustomizationOptions {
            copies: data_dir.map(copies_in),
            ..options.customizations.places.clone()
        };
        let changes = data_dir.map(|dir| {
            ChangesService::new(
                changes_in(dir),
                worktrees_in(dir),
                files.clone(),
                Arc::new(move |report| of_changes.blocking_send(Input::Changes(report)).is_ok()),
            )
        });
        let machine = Self {
            changes,
            servers,
            finder: FileFinder::default(),
            resources: ResourceService::default(),
            terminals: TerminalService::new(
                options.terminals(data_dir),
                Arc::new(move |report| of_terminals.blocking_send(Input::Terminal(report)).is_ok()),
            ),
            customizations: CustomizationService::new(
                places,
                Arc::new(move |report| {
                    let input = Input::Customization(report);
                    of_customizations.blocking_send(input).is_ok()
                }),
            ),
            watches: WatchService::new(
                files,
                Arc::new(move |report| reports.blocking_send(Input::Watch(report)).is_ok()),
            ),
        };
        (Arc::new(machine), inbox)
    }

    /// Lets a terminal read on when those who listen have room for more.
    /// Returns what there is to wait for, if they have not.
    pub(crate) fn taken(
        self: &Arc<Self>,
        terminal: TerminalId,
        bytes: usize,
        listeners: Vec<Arc<OutboundQueue>>,
    ) -> Option<impl Future<Output = ()> + Send + use<>> {
        let mut behind = listeners;
        behind.retain(|queue| queue.is_behind(MOST_WAITING));
        if behind.is_empty() {
            self.terminals.taken(terminal, bytes);
            return None;
        }
        let this = Arc::clone(self);
        Some(async move {
            let caught_up = async {
                for queue in behind {
                    queue.caught_up(MOST_WAITING).await;
                }
            };
            let _ = tokio::time::timeout(PATIENCE, caught_up).await;
            this.terminals.taken(terminal, bytes);
        })
    }
}
