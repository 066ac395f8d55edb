//! What customizes a session: its agent's own, what was found for the user,
//! in its working directories and in the plugins of its clients, each switched
//! on or off (`switches`).
//!
//! What a session should show is worked out anew whenever one of these
//! changes, and what differs from its state is emitted. A place that several
//! sessions need is followed once.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use innkeeper_protocol::house::actions::{
    SessionCustomizationRemovedAction, SessionCustomizationUpdatedAction,
    SessionCustomizationsChangedAction, StateAction,
};
use innkeeper_protocol::house::state::{
    ChildCustomization, ClientPluginCustomization, Customization, CustomizationLoadState,
    CustomizationLoadingState, McpServerState,
};
use innkeeper_protocol::workspace::customization::{
    ClientPlugin, CustomizationCommand, CustomizationKind, CustomizationPlace, CustomizationReport,
    EnabledCustomizations, EnabledFile, FoundCustomization, LookoutId, McpServerSpec,
};
use innkeeper_protocol::{ChannelUri, Timestamp};

use crate::client_plugins::bare;
use crate::sessions::Session;
use crate::switches::{self, Published};
use crate::{Effect, Engine};

/// How long an agent's start waits for a place that has not been read yet.
const PATIENCE: Duration = Duration::from_secs(2);

/// More changes than this at once are told as one.
const MOST_UPDATES: usize = 2;

/// How a host treats customizations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CustomizationPolicy {
    /// Whether working directories and clients' plugins are read.
    pub enabled: bool,
    /// Whether there is anything that holds in every session.
    pub host: bool,
    /// Whether MCP servers that came with a working directory are on before
    /// anybody said so.
    pub trust_servers: bool,
}

/// Where customizations of a session come from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Host,
    Directory(String),
    Plugin {
        /// Of this session alone: what is seen of it depends on its client.
        session: ChannelUri,
        client_id: String,
        id: String,
        uri: String,
        name: String,
        nonce: Option<String>,
    },
}

/// A source that is followed.
#[derive(Debug)]
pub(crate) struct Lookout {
    id: LookoutId,
    sessions: usize,
    found: Option<Vec<FoundCustomization>>,
    /// Nobody waits for it longer than this.
    pub(crate) due: Timestamp,
}

impl Engine {
    /// Follows what a session needs to know, if that has changed.
    pub(crate) fn update_customizations(&mut self, uri: &ChannelUri) {
        let Some(session) = self.sessions.get_mut(uri) else {
            return;
        };
        let policy = self.config.workspace.customizations;
        let wanted = sources_of(session, policy);
        if wanted == session.sources {
            return;
        }
        let before = std::mem::replace(&mut session.sources, wanted.clone());
        for source in wanted.iter().filter(|source| !before.contains(source)) {
            self.hold(source);
        }
        for source in before.iter().filter(|source| !wanted.contains(source)) {
            self.let_go(source);
        }
        self.reconcile_customizations(uri);
    }

    /// A session leaves memory.
    pub(crate) fn leave_customizations(&mut self, session: &Session) {
        for source in &session.sources {
            self.let_go(source);
        }
    }

    fn hold(&mut self, source: &Source) {
        if let Some(lookout) = self.lookouts.get_mut(source) {
            lookout.sessions += 1;
            return;
        }
        self.last_lookout += 1;
        let id = LookoutId(self.last_lookout);
        let lookout = Lookout {
            id,
            sessions: 1,
            found: None,
            due: self.now.after(PATIENCE),
        };
        self.lookouts.insert(source.clone(), lookout);
        self.lookout_ids.insert(id, source.clone());
        let place = match source {
            Source::Host => CustomizationPlace::Host,
            Source::Directory(uri) => CustomizationPlace::Directory(uri.clone()),
            Source::Plugin { .. } => {
                if let Some(plugin) = source.client_plugin() {
                    self.read_client_plugin(id, plugin);
                }
                return;
            }
        };
        let command = CustomizationCommand::Follow { lookout: id, place };
        self.step.effects.push(Effect::Customization(command));
    }

    fn let_go(&mut self, source: &Source) {
        let Some(lookout) = self.lookouts.get_mut(source) else {
            return;
        };
        lookout.sessions -= 1;
        if lookout.sessions > 0 {
            return;
        }
        let lookout = lookout.id;
        self.lookouts.remove(source);
        self.lookout_ids.remove(&lookout);
        self.stop_fetching(lookout);
        let command = CustomizationCommand::Forget { lookout };
        self.step.effects.push(Effect::Customization(command));
    }

    pub(crate) fn customizations_reported(&mut self, report: CustomizationReport) {
        self.customizations_found(report.lookout, report.found);
    }

    pub(crate) fn customizations_found(
        &mut self,
        lookout: LookoutId,
        found: Vec<FoundCustomization>,
    ) {
        let Some(source) = self.lookout_ids.get(&lookout).cloned() else {
            return;
        };
        if let Some(lookout) = self.lookouts.get_mut(&source) {
            lookout.found = Some(found);
        }
        let sessions = self.sessions.values();
        let concerned: Vec<ChannelUri> = sessions
            .filter(|session| session.sources.contains(&source))
            .map(|session| session.uri.clone())
            .collect();
        for session in concerned {
            self.reconcile_customizations(&session);
        }
        self.open_held_backends();
    }

    /// Brings a session's state up to what it should be.
    pub(crate) fn reconcile_customizations(&mut self, uri: &ChannelUri) {
        let Some(session) = self.sessions.get(uri) else {
            return;
        };
        let now = session.state.customizations.as_deref().unwrap_or_default();
        let wanted = self.wanted_customizations(session);
        let differs = |it: &&Customization| {
            let id = id_of(it);
            now.iter().find(|known| id_of(known) == id) != Some(*it)
        };
        let updates: Vec<Customization> = wanted.iter().filter(differs).cloned().collect();
        let stays: BTreeSet<&str> = wanted.iter().filter_map(id_of).collect();
        let gone = now
            .iter()
            .filter_map(id_of)
            .filter(|id| !stays.contains(id));
        let gone: Vec<String> = gone.map(str::to_owned).collect();
        if updates.len() + gone.len() > MOST_UPDATES {
            let action = SessionCustomizationsChangedAction {
                customizations: wanted,
            };
            self.emit(uri, StateAction::SessionCustomizationsChanged(action), None);
            return;
        }
        for id in gone {
            let action = SessionCustomizationRemovedAction { id };
            self.emit(uri, StateAction::SessionCustomizationRemoved(action), None);
        }
        for customization in updates {
            let action = Box::new(SessionCustomizationUpdatedAction { customization });
            self.emit(uri, StateAction::SessionCustomizationUpdated(action), None);
        }
    }

    fn wanted_customizations(&self, session: &Session) -> Vec<Customization> {
        let now = session.state.customizations.as_deref().unwrap_or_default();
        let states = server_states(now);
        let mut wanted: Vec<Customization> = Vec::new();
        let mut known: BTreeSet<String> = BTreeSet::new();
        let mut add = |mut it: Customization, published: &Published| {
            let Some(id) = id_of(&it).map(str::to_owned) else {
                return;
            };
            if known.insert(id) {
                self.switches.apply(&mut it, session, published);
                keep_server_states(&mut it, &states);
                wanted.push(it);
            }
        };
        let agent = self.agent_of(session);
        let of_agent = agent.and_then(|agent| agent.info.customizations.as_ref());
        for it in of_agent.into_iter().flatten() {
            add(it.clone(), &Published::default());
        }
        let mut all_known = true;
        for source in &session.sources {
            let published = self.published(session, source);
            let lookout = self.lookouts.get(source);
            match lookout.and_then(|lookout| lookout.found.as_ref()) {
                Some(found) => {
                    for it in found {
                        add(it.customization.clone(), &published);
                    }
                }
                None => match source.client_plugin() {
                    Some(plugin) => {
                        let load = CustomizationLoadState::Loading(CustomizationLoadingState {});
                        add(Customization::Plugin(bare(plugin, load)), &published);
                    }
                    None => all_known = false,
                },
            }
        }
        // What is still to be read may be what was there in an earlier life.
        if !all_known {
            for it in now {
                add(it.clone(), &Published::default());
            }
        }
        wanted
    }

    /// What is said about what comes from a source, before anybody decides.
    fn published(&self, session: &Session, source: &Source) -> Published {
        match source {
            Source::Host => Published::default(),
            Source::Directory(_) => Published {
                servers_are_off: !self.config.workspace.customizations.trust_servers,
                ..Published::default()
            },
            Source::Plugin { client_id, id, .. } => {
                let clients = session.state.active_clients.iter();
                let mut client = clients.filter(|client| client.client_id == *client_id);
                let plugins = client
                    .next()
                    .and_then(|client| client.customizations.as_ref());
                let plugin = plugins
                    .into_iter()
                    .flatten()
                    .find(|plugin| plugin.id == *id);
                plugin
                    .map(switches::published_by_client)
                    .unwrap_or_default()
            }
        }
    }

    /// Whether the agent of a session should wait until more is known.
    pub(crate) fn awaits_customizations(&self, session: &Session) -> bool {
        session.sources.iter().any(|source| {
            let lookout = self.lookouts.get(source);
            let waits = |it: &Lookout| it.found.is_none() && it.due > self.now;
            source.client_plugin().is_none() && lookout.is_some_and(waits)
        })
    }

    /// Opens the backends that waited, of sessions that need not any more.
    pub(crate) fn open_held_backends(&mut self) {
        for chat in std::mem::take(&mut self.held_backends) {
            self.open_backend(&chat);
        }
    }

    /// When backends that wait are opened at the latest.
    pub(crate) fn held_until(&self) -> Option<Timestamp> {
        let waiting = self.lookouts.values().filter(|it| it.found.is_none());
        let due = waiting.map(|it| it.due).filter(|due| *due > self.now);
        due.min().filter(|_| !self.held_backends.is_empty())
    }

    /// What is on in a session: the one place where agents, completions and
    /// whoever else needs to know should ask.
    pub(crate) fn enabled_customizations(&self, session: &Session) -> EnabledCustomizations {
        let mut enabled = EnabledCustomizations::default();
        let specs = self.server_specs(session);
        let mut add_server = |id: &str| {
            let server = specs.get(id).map(|spec| spec.server.clone());
            enabled.mcp_servers.extend(server);
        };
        for container in session.state.customizations.iter().flatten() {
            if !switches::is_on(container) {
                continue;
            }
            if let Customization::McpServer(server) = container {
                add_server(&server.id);
            }
            for child in children_of(container)
                .iter()
                .filter(|it| switches::child_is_on(it))
            {
                match child {
                    ChildCustomization::McpServer(server) => add_server(&server.id),
                    other => enabled.files.extend(file_of(other)),
                }
            }
        }
        enabled
    }

    fn server_specs(&self, session: &Session) -> BTreeMap<&str, &McpServerSpec> {
        let lookouts = session.sources.iter();
        let lookouts = lookouts.filter_map(|source| self.lookouts.get(source));
        let found = lookouts.flat_map(|lookout| lookout.found.iter().flatten());
        let specs = found.flat_map(|found| &found.servers);
        specs.map(|spec| (spec.id.as_str(), spec)).collect()
    }
}

impl Source {
    fn client_plugin(&self) -> Option<ClientPlugin> {
        match self {
            Self::Host | Self::Directory(_) => None,
            Self::Plugin {
                client_id,
                id,
                uri,
                name,
                ..
            } => Some(ClientPlugin {
                id: id.clone(),
                uri: uri.clone(),
                name: name.clone(),
                client_id: client_id.clone(),
            }),
        }
    }
}

fn sources_of(session: &Session, policy: CustomizationPolicy) -> Vec<Source> {
    let mut sources = Vec::new();
    if policy.host {
        sources.push(Source::Host);
    }
    if !policy.enabled {
        return sources;
    }
    for directory in session.state.working_directories.iter().flatten() {
        let source = Source::Directory(directory.clone());
        if directory.starts_with("file:") && !sources.contains(&source) {
            sources.push(source);
        }
    }
    for client in &session.state.active_clients {
        for plugin in client.customizations.iter().flatten() {
            sources.push(plugin_source(&session.uri, &client.client_id, plugin));
        }
    }
    sources
}

fn plugin_source(
    session: &ChannelUri,
    client_id: &str,
    plugin: &ClientPluginCustomization,
) -> Source {
    Source::Plugin {
        session: session.clone(),
        client_id: client_id.to_owned(),
        id: plugin.id.clone(),
        uri: plugin.uri.clone(),
        name: plugin.name.clone(),
        nonce: plugin.nonce.clone(),
    }
}

pub(crate) fn id_of(it: &Customization) -> Option<&str> {
    match it {
        Customization::Plugin(it) => Some(&it.id),
        Customization::Directory(it) => Some(&it.id),
        Customization::McpServer(it) => Some(&it.id),
        Customization::Unknown(_) => None,
    }
}

pub(crate) fn child_id_of(it: &ChildCustomization) -> Option<&str> {
    match it {
        ChildCustomization::Agent(it) => Some(&it.id),
        ChildCustomization::Skill(it) => Some(&it.id),
        ChildCustomization::Prompt(it) => Some(&it.id),
        ChildCustomization::Rule(it) => Some(&it.id),
        ChildCustomization::Hook(it) => Some(&it.id),
        ChildCustomization::McpServer(it) => Some(&it.id),
        ChildCustomization::Unknown(_) => None,
    }
}

pub(crate) fn children_of(it: &Customization) -> &[ChildCustomization] {
    let children = match it {
        Customization::Plugin(it) => it.children.as_deref(),
        Customization::Directory(it) => it.children.as_deref(),
        Customization::McpServer(_) | Customization::Unknown(_) => None,
    };
    children.unwrap_or_default()
}

fn children_of_mut(it: &mut Customization) -> &mut [ChildCustomization] {
    let children = match it {
        Customization::Plugin(it) => it.children.as_deref_mut(),
        Customization::Directory(it) => it.children.as_deref_mut(),
        Customization::McpServer(_) | Customization::Unknown(_) => None,
    };
    children.unwrap_or_default()
}

/// A skill or a prompt that the user may call by name.
pub(crate) struct Invocable {
    pub(crate) kind: CustomizationKind,
    pub(crate) name: String,
    pub(crate) uri: String,
    pub(crate) description: Option<String>,
}

/// What is on in a session and may be called. What is in a plugin is named
/// after the plugin, too.
pub(crate) fn invocable(session: &Session) -> Vec<Invocable> {
    let mut all = Vec::new();
    let containers = session.state.customizations.iter().flatten();
    for container in containers.filter(|it| switches::is_on(it)) {
        let prefix = match container {
            Customization::Plugin(plugin) => format!("{}:", plugin.name),
            _ => String::new(),
        };
        for child in children_of(container)
            .iter()
            .filter(|it| switches::child_is_on(it))
        {
            let (kind, name, uri, description) = match child {
                ChildCustomization::Skill(it) if it.disable_user_invocation != Some(true) => {
                    (CustomizationKind::Skill, &it.name, &it.uri, &it.description)
                }
                ChildCustomization::Prompt(it) => (
                    CustomizationKind::Prompt,
                    &it.name,
                    &it.uri,
                    &it.description,
                ),
                _ => continue,
            };
            all.push(Invocable {
                kind,
                name: format!("{prefix}{name}"),
                uri: uri.clone(),
                description: description.clone(),
            });
        }
    }
    all
}

fn file_of(child: &ChildCustomization) -> Option<EnabledFile> {
    let (kind, name, uri) = match child {
        ChildCustomization::Agent(it) => (CustomizationKind::Agent, &it.name, &it.uri),
        ChildCustomization::Skill(it) => (CustomizationKind::Skill, &it.name, &it.uri),
        ChildCustomization::Prompt(it) => (CustomizationKind::Prompt, &it.name, &it.uri),
        ChildCustomization::Rule(it) => (CustomizationKind::Rule, &it.name, &it.uri),
        ChildCustomization::Hook(it) => (CustomizationKind::Hook, &it.name, &it.uri),
        ChildCustomization::McpServer(_) | ChildCustomization::Unknown(_) => return None,
    };
    Some(EnabledFile {
        kind,
        name: name.clone(),
        uri: uri.clone(),
    })
}

/// How the MCP servers are, which no file says.
fn server_states(all: &[Customization]) -> BTreeMap<String, (McpServerState, Option<String>)> {
    let mut states = BTreeMap::new();
    for container in all {
        for child in children_of(container) {
            if let ChildCustomization::McpServer(it) = child {
                states.insert(it.id.clone(), (it.state.clone(), it.channel.clone()));
            }
        }
    }
    states
}

fn keep_server_states(
    it: &mut Customization,
    states: &BTreeMap<String, (McpServerState, Option<String>)>,
) {
    for child in children_of_mut(it) {
        if let ChildCustomization::McpServer(it) = child
            && let Some((state, channel)) = states.get(&it.id)
        {
            it.state.clone_from(state);
            it.channel.clone_from(channel);
        }
    }
}
