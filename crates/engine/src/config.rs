//! What the engine is told about its surroundings, and its limits.

use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::command::extensions;
use innkeeper_protocol::mcp::{ConfiguredServer, Hosting};
use innkeeper_protocol::newest::commands::Implementation;
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::workspace::resource::Roots;
use serde_json::json;

#[derive(Debug, Clone)]
pub struct EngineConfig {
    pub server_info: Implementation,
    pub build: HostBuild,
    /// Where a remote file picker begins.
    pub default_directory: Option<String>,
    /// Distinguishes what this life of the host names from what others named.
    pub nonce: String,
    pub limits: Limits,
    /// How many sequence numbers are reserved at a time: at least 8.
    pub number_block: u64,
    pub queue_after_cancel: QueueAfterCancel,
    pub workspace: WorkspaceConfig,
}

/// The source that a host was built from, as far as its build knew.
#[derive(Debug, Clone, Default)]
pub struct HostBuild {
    /// The commit, in hexadecimal.
    pub commit: Option<String>,
    /// When that commit was made (ISO 8601).
    pub date: Option<String>,
}

/// What becomes of the queued messages of a chat when somebody cancels its
/// turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueAfterCancel {
    /// They wait until somebody goes on: as after a turn that failed.
    #[default]
    Wait,
    /// The next one follows, as after a turn that completed.
    Continue,
}

/// What clients may reach of the machine besides the directories of sessions.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceConfig {
    pub roots: Roots,
    pub grants: GrantPolicy,
    /// Whether the changes in the directories of sessions are told.
    pub changes: bool,
    /// Whether requests for approval say what is risky about them.
    pub assess_risk: bool,
    /// Where the working trees of sessions are made, each in a directory of
    /// its own: a `file:` URI.
    pub worktrees: Option<String>,
    pub customizations: CustomizationPolicy,
    /// The MCP servers that every session has.
    pub mcp_servers: Arc<[ConfiguredServer]>,
    /// Whether the host can install agents.
    pub installs_agents: bool,
}

/// What clients are granted that ask for more than is open to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GrantPolicy {
    /// Nothing.
    None,
    /// Reading, wherever the user of the host may read.
    #[default]
    Read,
    /// Writing as well.
    Write,
}

/// How a host treats customizations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CustomizationPolicy {
    /// Whether working directories and clients' plugins are read.
    pub enabled: bool,
    /// Whether there is anything that holds in every session.
    pub host: bool,
    /// Whether copies of clients' plugins can be kept.
    pub copies: bool,
    /// Whether MCP servers that came with a working directory are on before
    /// anybody said so.
    pub trust_servers: bool,
    /// Who runs the MCP servers that were found.
    pub hosting: Hosting,
}

impl EngineConfig {
    /// What `_meta` of the root state and of the handshake says about the
    /// host, in the words that editors in the field look for.
    pub(crate) fn about_host(&self) -> Option<JsonObject> {
        let own = json!({"extensions": extensions::announced(self.workspace.installs_agents)});
        let mut about = JsonObject::from_iter([("innkeeper".to_owned(), own)]);
        let Some(version) = self.server_info.version.as_ref() else {
            return Some(about);
        };
        let mut build = JsonObject::new();
        build.insert("version".to_owned(), json!(version));
        for (key, value) in [("commit", &self.build.commit), ("date", &self.build.date)] {
            if let Some(value) = value {
                build.insert(key.to_owned(), json!(value));
            }
        }
        about.insert("hostBuild".to_owned(), build.into());
        Some(about)
    }

    /// Large enough that a commit is seldom waited for, small enough that
    /// clients can count in floating point for millions of lives.
    pub const NUMBER_BLOCK: u64 = 1 << 16;
}

/// What one host, one client or one session may use. Each is documented in
/// `docs/configuration.md`; reaching one is an error that says so.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Sessions in the catalogue.
    pub sessions: usize,
    /// Chats in one session.
    pub chats: usize,
    /// Directories that one session works in.
    pub directories: usize,
    /// Messages that wait in one chat's queue.
    pub queued_messages: usize,
    /// Tool input and results that are larger are kept outside the state.
    pub inline_bytes: usize,
    /// How large a turn may become, with all that it says and does.
    pub turn_bytes: usize,
    /// Channels that one connection subscribes to.
    pub subscriptions: usize,
    /// Actions that a client may have missed and still be given one by one.
    pub replay_actions: u64,
    /// Memory for the most recent of them; older ones come from the store.
    pub replay_bytes: usize,
    /// Sessions that are kept in memory although nobody needs them.
    pub idle_sessions: usize,
    /// How long such a session stays at most.
    pub idle_session: Duration,
    /// How long a session stays that nobody wrote in and nobody has open; for
    /// ever if this is nothing.
    pub empty_session: Duration,
    /// How long small changes of a session's summary are collected.
    pub summary_delay: Duration,
    /// How long an active client that lost its connection keeps its role.
    pub client_grace: Duration,
    /// How long a client may take to answer for what it has.
    pub client_answer: Duration,
    /// The largest content that is read or written at once.
    pub resource_bytes: usize,
    /// Terminals of the host, running or not.
    pub terminals: usize,
    /// How much of a terminal's output is kept.
    pub scrollback_bytes: usize,
    /// Watches of the host.
    pub watches: usize,
    /// Automations of the host.
    pub automations: usize,
    /// Conversations with agents that are open at once. Those that work may be
    /// more.
    pub backends: usize,
    /// How much memory agents may hold together before unused ones are ended.
    pub backend_bytes: u64,
    /// MCP servers that run at once.
    pub mcp_servers: usize,
    /// Turns that one page of history holds.
    pub page_turns: usize,
    /// Sessions that one page of the catalogue holds.
    pub page_sessions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 100_000,
            chats: 1_000,
            directories: 32,
            queued_messages: 1_000,
            inline_bytes: 64 * 1024,
            turn_bytes: 256 * 1024 * 1024,
            subscriptions: 10_000,
            replay_actions: 100_000,
            replay_bytes: 512 * 1024,
            idle_sessions: 32,
            idle_session: Duration::from_secs(300),
            empty_session: Duration::from_secs(3_600),
            summary_delay: Duration::from_millis(250),
            client_grace: Duration::from_secs(30),
            client_answer: Duration::from_secs(30),
            resource_bytes: 8 * 1024 * 1024,
            terminals: 100,
            scrollback_bytes: 1024 * 1024,
            watches: 100,
            automations: 200,
            backends: 32,
            backend_bytes: 2 * 1024 * 1024 * 1024,
            mcp_servers: 64,
            page_turns: 50,
            page_sessions: 1_000,
        }
    }
}
