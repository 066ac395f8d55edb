//! What the engine is told about its surroundings, and its limits.

use std::collections::HashMap;
use std::time::Duration;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{AgentProfile, string_property};
use innkeeper_protocol::house::actions::{
    RootActiveSessionsChangedAction, RootAgentsChangedAction, RootConfigChangedAction,
    RootTerminalsChangedAction, StateAction,
};
use innkeeper_protocol::house::commands::Implementation;
use innkeeper_protocol::house::common::JsonObject;
use innkeeper_protocol::house::state::{
    ConfigPropertySchema, ConfigSchema, RootConfigState, RootState, SessionConfigPropertySchema,
};
use innkeeper_protocol::settings::{Synonym, former_names};
use innkeeper_protocol::workspace::resource::Root;
use serde_json::Value;

use crate::catalogue::Catalogue;
use crate::{CustomizationPolicy, Engine, GrantPolicy};

/// The property of the root configuration that names the agent of sessions
/// that are created without one.
pub(crate) const DEFAULT_AGENT: &str = "defaultAgent";

#[derive(Debug, Clone)]
pub struct EngineConfig {
    pub server_info: Implementation,
    /// Where a remote file picker begins.
    pub default_directory: Option<String>,
    /// Distinguishes what this life of the host names from what others named.
    pub nonce: String,
    pub limits: Limits,
    /// How many sequence numbers are reserved at a time: at least 8.
    pub number_block: u64,
    pub workspace: WorkspaceConfig,
}

/// What clients may reach of the machine beside the directories of sessions.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceConfig {
    pub roots: Vec<Root>,
    pub grants: GrantPolicy,
    /// Whether the changes in the directories of sessions are told.
    pub changes: bool,
    /// Where the working trees of sessions are made, each in a directory of
    /// its own: a `file:` URI.
    pub worktrees: Option<String>,
    pub customizations: CustomizationPolicy,
}

impl EngineConfig {
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
    /// Messages that wait in one chat's queue.
    pub queued_messages: usize,
    /// Tool input and results that are larger are kept beside the state.
    pub inline_bytes: usize,
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
    /// Conversations with agents that are open at once. Those that work may be
    /// more.
    pub backends: usize,
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
            queued_messages: 1_000,
            inline_bytes: 64 * 1024,
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
            backends: 32,
            page_turns: 50,
            page_sessions: 1_000,
        }
    }
}

/// The root state of a host that begins: its agents, its sessions, and its
/// configuration with the values that were stored.
pub(crate) fn root_state(
    agents: &[AgentProfile],
    catalogue: &Catalogue,
    stored: Option<Value>,
) -> RootState {
    let schema = root_schema();
    let stored = match stored {
        Some(Value::Object(stored)) => stored,
        _ => JsonObject::new(),
    };
    // What an older or newer host stored and this one does not know stays in
    // the store and out of the state.
    let known = stored.into_iter();
    let mut values: JsonObject = known
        .filter(|(key, value)| check_root_value(&schema, agents, key, value).is_ok())
        .collect();
    if !values.contains_key(DEFAULT_AGENT)
        && let Some(provider) = first_that_works(agents)
    {
        values.insert(DEFAULT_AGENT.to_owned(), provider.into());
    }
    RootState {
        agents: agents.iter().map(|agent| agent.info.clone()).collect(),
        active_sessions: Some(i64::try_from(catalogue.len()).unwrap_or(i64::MAX)),
        terminals: None,
        config: Some(RootConfigState { schema, values }),
        meta: None,
    }
}

/// The agent that a session gets if nobody chose one: the first, but for
/// those of which it is known that they do not start.
fn first_that_works(agents: &[AgentProfile]) -> Option<&str> {
    let first = agents.iter().find(|agent| agent.works);
    let first = first.or(agents.first())?;
    Some(&first.info.provider)
}

/// Whether the stored configuration says which of the agents is the default.
pub(crate) fn names_default_agent(stored: Option<&Value>, agents: &[AgentProfile]) -> bool {
    let named = stored.and_then(|stored| stored.get(DEFAULT_AGENT)?.as_str());
    let mut providers = agents.iter().map(|agent| &*agent.info.provider);
    named.is_some_and(|named| providers.any(|provider| provider == named))
}

impl Engine {
    /// What is known of agents has changed: if nobody chose the default one,
    /// it is one that works.
    pub(crate) fn review_default_agent(&mut self) {
        let config = self.root.config.as_ref();
        let current = config.and_then(|config| config.values.get(DEFAULT_AGENT)?.as_str());
        let mut agents = self.agents.iter();
        let works = agents.any(|agent| agent.works && Some(&*agent.info.provider) == current);
        let first = first_that_works(&self.agents).map(str::to_owned);
        let Some(first) = first.filter(|_| !works && !self.default_agent_is_chosen) else {
            return;
        };
        if current != Some(&first) {
            let config = [(DEFAULT_AGENT.to_owned(), first.into())];
            let change = RootConfigChangedAction {
                config: config.into_iter().collect(),
                replace: None,
            };
            let root = ChannelUri::root();
            self.emit(&root, StateAction::RootConfigChanged(change), None);
        }
    }

    /// The host's configuration as it is stored: what somebody chose.
    pub(crate) fn chosen_root_config(&self) -> Option<Value> {
        let mut values = self.root.config.as_ref()?.values.clone();
        if !self.default_agent_is_chosen {
            values.remove(DEFAULT_AGENT);
        }
        Some(Value::Object(values))
    }

    /// Says what the root channel holds now. A client that knows it from an
    /// earlier life is given actions, and no action told of what changed
    /// while the host was away.
    pub(crate) fn announce_root(&mut self) {
        let RootState {
            agents,
            active_sessions,
            config,
            ..
        } = self.root.clone();
        let root = ChannelUri::root();
        let agents = RootAgentsChangedAction { agents };
        self.emit(&root, StateAction::RootAgentsChanged(agents), None);
        if let Some(active_sessions) = active_sessions {
            let count = RootActiveSessionsChangedAction { active_sessions };
            self.emit(&root, StateAction::RootActiveSessionsChanged(count), None);
        }
        if let Some(config) = config {
            let values = RootConfigChangedAction {
                config: config.values,
                replace: Some(true),
            };
            self.emit(&root, StateAction::RootConfigChanged(values), None);
        }
        // Terminals end with the life that they were opened in.
        let terminals = RootTerminalsChangedAction {
            terminals: Vec::new(),
        };
        self.emit(&root, StateAction::RootTerminalsChanged(terminals), None);
    }
}

/// What follows the user to every client: the host keeps it and does nothing
/// else with it.
const CLIENT_SETTINGS: [(&str, &str, &str, &[&str]); 2] = [
    (
        "appearance",
        "Appearance",
        "How clients that offer a choice look",
        &["system", "light", "dark"],
    ),
    (
        "diffView",
        "Differences",
        "How clients that offer a choice show what changed in a file",
        &["unified", "split"],
    ),
];

/// No action changes a schema, and agents come and go: so it does not list
/// them. They are in the same state, where `root/agentsChanged` finds them.
fn root_schema() -> ConfigSchema {
    let default_agent = string_property(
        "Default agent",
        "The agent of sessions that are created without one: the provider of one of the host's \
         agents",
    );
    let mut properties = HashMap::from([(DEFAULT_AGENT.to_owned(), default_agent)]);
    for (key, title, description, choices) in CLIENT_SETTINGS {
        let property = ConfigPropertySchema {
            default: choices.first().map(|first| (*first).into()),
            r#enum: Some(choices.iter().map(|choice| (*choice).into()).collect()),
            ..string_property(title, description)
        };
        properties.insert(key.to_owned(), property);
    }
    ConfigSchema {
        r#type: "object".to_owned(),
        properties,
        required: None,
    }
}

/// Whether the root configuration may have this value, or why not.
pub(crate) fn check_root_value(
    schema: &ConfigSchema,
    agents: &[AgentProfile],
    key: &str,
    value: &Value,
) -> Result<(), String> {
    let Some(property) = schema.properties.get(key) else {
        return Err(format!("the host has no setting `{key}`"));
    };
    let providers = agents.iter().map(|agent| agent.info.provider.as_str());
    let providers: Vec<Value> = providers.map(Value::from).collect();
    let allowed = match key {
        DEFAULT_AGENT => Some(&providers[..]),
        _ => property.r#enum.as_deref(),
    };
    check_value(key, &property.r#type, allowed, value)
}

/// The value that a client means for a setting of a session, under the name
/// that the schema has for it; or why there is none.
pub(crate) fn fitting_value(
    key: &str,
    property: &SessionConfigPropertySchema,
    synonyms: &[Synonym],
    value: &Value,
) -> Result<Value, String> {
    // The values of a dynamic enumeration are not all known beforehand.
    let allowed = match property.enum_dynamic {
        Some(true) => None,
        _ => property.r#enum.as_deref(),
    };
    let fits = |value: &Value| check_value(key, &property.r#type, allowed, value);
    let Err(reason) = fits(value) else {
        return Ok(value.clone());
    };
    let former = former_names();
    let names = synonyms.iter().chain(&former);
    let mut meant = names.filter_map(|name| name.other_name(key, value));
    meant.find(|value| fits(value).is_ok()).ok_or(reason)
}

/// Whether a property of this type and these allowed values may have `value`.
pub(crate) fn check_value(
    key: &str,
    kind: &str,
    allowed: Option<&[Value]>,
    value: &Value,
) -> Result<(), String> {
    let fits = match kind {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if !fits {
        return Err(format!("`{key}` must be of type {kind}"));
    }
    match allowed {
        Some(allowed) if !allowed.contains(value) => {
            let choices: Vec<String> = allowed.iter().map(Value::to_string).collect();
            Err(format!("`{key}` must be one of {}", choices.join(", ")))
        }
        _ => Ok(()),
    }
}
