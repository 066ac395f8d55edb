//! The agents that there are, which of them is the default, and the host's own
//! configuration on the root channel.

mod later_settings;
mod settings;
mod tokens;

use std::collections::HashMap;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{AgentProfile, string_property};
use innkeeper_protocol::newest::actions::{
    RootActiveSessionsChangedAction, RootAgentsChangedAction, RootConfigChangedAction,
    RootTerminalsChangedAction, StateAction,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::errors::ahp_error_codes;
use innkeeper_protocol::newest::state::{
    AgentInfo, ConfigPropertySchema, ConfigSchema, ModelSelection, RootConfigState, RootState,
    SessionState,
};
use innkeeper_protocol::record::StoreOp;
use innkeeper_protocol::rpc::RpcError;
use serde_json::Value;

use crate::core::{Core, Sender, Verdict};

pub(crate) use later_settings::{setting_of, tell_model};
pub(crate) use settings::{judge_settings, resolve_settings, schema_of_sessions};

use settings::check_value;
use tokens::Token;

/// The property of the root configuration that names the agent of sessions
/// that are created without one.
const DEFAULT_AGENT: &str = "defaultAgent";

#[derive(Debug)]
pub(crate) struct Agents {
    profiles: Vec<AgentProfile>,
    /// Somebody chose the default agent.
    default_is_chosen: bool,
    /// The tokens for the protected resources that agents need, by resource.
    tokens: foldhash::HashMap<String, Token>,
}

/// What follows from a change of the host's configuration.
#[derive(Debug)]
enum After {
    Configured { chooses_default: bool },
}

impl Agents {
    pub(crate) fn new(profiles: Vec<AgentProfile>, stored: Option<&Value>) -> Self {
        Self {
            default_is_chosen: names_default_agent(stored, &profiles),
            profiles,
            tokens: foldhash::HashMap::default(),
        }
    }

    /// The root state of a host that begins: its agents, its sessions, and its
    /// configuration with the values that were stored.
    pub(crate) fn root_state(
        &self,
        sessions: usize,
        stored: Option<Value>,
        meta: Option<JsonObject>,
    ) -> RootState {
        let schema = root_schema();
        let stored = match stored {
            Some(Value::Object(stored)) => stored,
            _ => JsonObject::new(),
        };
        // What an older or newer host stored and this one does not know stays
        // in the store and out of the state.
        let profiles = &self.profiles;
        let mut values: JsonObject = stored
            .into_iter()
            .filter(|(key, value)| check_root_value(&schema, profiles, key, value).is_ok())
            .collect();
        if !values.contains_key(DEFAULT_AGENT)
            && let Some(provider) = first_that_works(profiles)
        {
            values.insert(DEFAULT_AGENT.to_owned(), provider.into());
        }
        RootState {
            agents: profiles.iter().map(|agent| agent.info.clone()).collect(),
            active_sessions: Some(i64::try_from(sessions).unwrap_or(i64::MAX)),
            terminals: None,
            config: Some(RootConfigState { schema, values }),
            meta,
        }
    }

    /// The agent that a session has, if the host still has it.
    pub(crate) fn of_session(&self, session: &SessionState) -> Option<&AgentProfile> {
        self.profile(&session.provider)
    }

    fn profile(&self, provider: &str) -> Option<&AgentProfile> {
        let mut profiles = self.profiles.iter();
        profiles.find(|agent| agent.info.provider == provider)
    }

    /// The agent that somebody wants, or the default one.
    pub(crate) fn wanted(
        &self,
        core: &Core,
        provider: Option<&str>,
    ) -> Result<&AgentProfile, RpcError> {
        let wanted = provider.or(default_agent(core));
        let found = match wanted {
            Some(wanted) => self.profile(wanted),
            None => self.profiles.first(),
        };
        found.ok_or_else(|| {
            let known = self.profiles.iter();
            let known: Vec<&str> = known.map(|agent| agent.info.provider.as_str()).collect();
            RpcError::new(
                ahp_error_codes::PROVIDER_NOT_FOUND,
                format!(
                    "unknown agent `{}`; this host has: {}",
                    wanted.unwrap_or("(default)"),
                    known.join(", ")
                ),
            )
        })
    }

    pub(crate) fn changed(&mut self, core: &mut Core, profiles: Vec<AgentProfile>) {
        self.profiles = profiles;
        let agents = self.profiles.iter().map(|agent| agent.info.clone());
        let agents = agents.collect();
        let action = StateAction::RootAgentsChanged(RootAgentsChangedAction { agents });
        core.emit(&ChannelUri::root(), action, None);
        self.review_default(core);
    }

    /// What is known of agents has changed: if nobody chose the default one,
    /// it is one that works.
    fn review_default(&self, core: &mut Core) {
        let current = default_agent(core);
        let mut agents = self.profiles.iter();
        let works = agents.any(|agent| agent.works && Some(&*agent.info.provider) == current);
        let first = first_that_works(&self.profiles).map(str::to_owned);
        let Some(first) = first.filter(|_| !works && !self.default_is_chosen) else {
            return;
        };
        if current != Some(&first) {
            let config = [(DEFAULT_AGENT.to_owned(), first.into())];
            let change = RootConfigChangedAction {
                config: config.into_iter().collect(),
                replace: None,
            };
            let change = StateAction::RootConfigChanged(change);
            core.emit(&ChannelUri::root(), change, None);
        }
    }

    /// Takes what a client dispatched to the root channel: it may configure the
    /// host.
    pub(crate) fn dispatched(&mut self, core: &mut Core, action: StateAction, sender: Sender) {
        let verdict = self.judge(core, action);
        if let Some(after) = core.carry_out(&ChannelUri::root(), sender, verdict) {
            self.follow_up(core, &after);
        }
    }

    fn judge(&self, core: &Core, action: StateAction) -> Verdict<After> {
        let StateAction::RootConfigChanged(mut change) = action else {
            return Verdict::NotAccepted(action);
        };
        let config = core.channels.root().and_then(|root| root.config.as_ref());
        let Some(RootConfigState { schema, .. }) = config else {
            let action = StateAction::RootConfigChanged(change);
            return Verdict::reject(action, "this host has no settings");
        };
        let asked = change.clone();
        // Clients tell every host all of their own settings: those that this
        // one does not have are none of its business.
        change
            .config
            .retain(|key, _| schema.properties.contains_key(key));
        if !asked.config.is_empty() && change.config.is_empty() {
            // Nothing of it is for this host, so nothing takes its place.
            change.replace = None;
        }
        let mut values = change.config.iter();
        let checked = values
            .try_for_each(|(key, value)| check_root_value(schema, &self.profiles, key, value));
        match checked {
            Ok(()) => {
                let chooses_default = change.config.contains_key(DEFAULT_AGENT);
                let after = After::Configured { chooses_default };
                Verdict::Apply(StateAction::RootConfigChanged(change), after)
            }
            Err(reason) => Verdict::reject(StateAction::RootConfigChanged(asked), reason),
        }
    }

    /// The configuration is stored as somebody chose it.
    fn follow_up(&mut self, core: &mut Core, after: &After) {
        let After::Configured { chooses_default } = after;
        self.default_is_chosen |= chooses_default;
        let root = core.channels.root();
        let Some(config) = root.and_then(|root| root.config.as_ref()) else {
            return;
        };
        let mut values = config.values.clone();
        if !self.default_is_chosen {
            values.remove(DEFAULT_AGENT);
        }
        let values = Value::Object(values);
        core.store(StoreOp::PutRootConfig { values });
    }
}

fn default_agent(core: &Core) -> Option<&str> {
    let config = core.channels.root()?.config.as_ref()?;
    config.values.get(DEFAULT_AGENT)?.as_str()
}

/// The agent that a session gets if nobody chose one: the first, but for
/// those of which it is known that they do not start.
fn first_that_works(agents: &[AgentProfile]) -> Option<&str> {
    let first = agents.iter().find(|agent| agent.works);
    let first = first.or(agents.first())?;
    Some(&first.info.provider)
}

/// Whether an agent has a model. One whose models are not known yet may have
/// any.
pub(crate) fn check_model(
    agent: &AgentProfile,
    model: Option<&ModelSelection>,
) -> Result<(), String> {
    let AgentInfo {
        display_name,
        models,
        ..
    } = &agent.info;
    let Some(model) = model.filter(|_| !models.is_empty()) else {
        return Ok(());
    };
    if models.iter().any(|known| known.id == model.id) {
        return Ok(());
    }
    let known: Vec<&str> = models.iter().map(|known| known.id.as_str()).collect();
    Err(format!(
        "{display_name} has no model `{}`; choose one of: {}",
        model.id,
        known.join(", ")
    ))
}

/// Whether the stored configuration says which of the agents is the default.
fn names_default_agent(stored: Option<&Value>, agents: &[AgentProfile]) -> bool {
    let named = stored.and_then(|stored| stored.get(DEFAULT_AGENT)?.as_str());
    let mut providers = agents.iter().map(|agent| &*agent.info.provider);
    named.is_some_and(|named| providers.any(|provider| provider == named))
}

/// Says what the root channel holds now. A client that knows it from an earlier
/// life is given actions, and no action told of what changed while the host was
/// away.
pub(crate) fn announce_root(core: &mut Core) {
    let Some(state) = core.channels.root().cloned() else {
        return;
    };
    let RootState {
        agents,
        active_sessions,
        config,
        ..
    } = state;
    let root = ChannelUri::root();
    let agents = RootAgentsChangedAction { agents };
    core.emit(&root, StateAction::RootAgentsChanged(agents), None);
    if let Some(active_sessions) = active_sessions {
        let count = RootActiveSessionsChangedAction { active_sessions };
        core.emit(&root, StateAction::RootActiveSessionsChanged(count), None);
    }
    if let Some(config) = config {
        let values = RootConfigChangedAction {
            config: config.values,
            replace: Some(true),
        };
        core.emit(&root, StateAction::RootConfigChanged(values), None);
    }
    // Terminals end with the life that they were opened in.
    let terminals = RootTerminalsChangedAction {
        terminals: Vec::new(),
    };
    core.emit(&root, StateAction::RootTerminalsChanged(terminals), None);
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
        "Used for sessions that are created without naming an agent",
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
fn check_root_value(
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
