//! What customizes a session: its agent's own, what was found for the user,
//! in its working directories and in the plugins of its clients, each switched
//! on or off (`switches`).
//!
//! What a session should show is worked out anew whenever one of these
//! changes, and what differs from its state is emitted. A place that several
//! sessions need is followed once.

mod client_plugins;
mod delivery;
mod hosted;
mod items;
mod switches;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use foldhash::HashMap;
use innkeeper_protocol::newest::actions::{
    SessionCustomizationRemovedAction, SessionCustomizationUpdatedAction,
    SessionCustomizationsChangedAction, StateAction,
};
use innkeeper_protocol::newest::state::{
    AutomationEntry, ClientPluginCustomization, Customization, CustomizationLoadState,
    CustomizationLoadingState, SessionOrigin,
};
use innkeeper_protocol::workspace::customization::{
    ClientPlugin, CustomizationCommand, CustomizationPlace, CustomizationReport,
    EnabledCustomizations, FoundCustomization, SourceId,
};
use innkeeper_protocol::{ChannelUri, ClientId};
use serde_json::Value;

use crate::agents::Agents;
use crate::client_calls::{ClientCalls, HostCall};
use crate::clients::Clients;
use crate::config::CustomizationPolicy;
use crate::core::channels::Session;
use crate::core::{Core, Deadline};
use crate::effect::{Effect, Subscriber};
use crate::resources::Resources;
use crate::servers::Servers;

pub(crate) use client_plugins::Copied;
pub(crate) use items::{children_of, id_of_uri, invocable};
pub(crate) use switches::{child_is_on, is_on, judge_switch};

use client_plugins::{Fetching, Visit, bare};
use items::{file_of, id_of};
use switches::{Published, Switches};

/// How long an agent's start waits for a place that has not been read yet.
const PATIENCE: Duration = Duration::from_secs(2);

/// More changes than this at once are told as one.
const MOST_UPDATES: usize = 2;

#[derive(Debug, Default)]
pub(crate) struct Customizations {
    /// Where the customizations of each session in memory come from.
    sources: HashMap<ChannelUri, Vec<Source>>,
    followed: BTreeMap<Source, Followed>,
    by_id: HashMap<SourceId, Source>,
    /// Plugins that are being fetched from clients, and what is asked for.
    fetching: HashMap<SourceId, Fetching>,
    visits: HashMap<HostCall, Visit>,
    /// Copies that were made, or not, and nobody has heard of yet.
    copied: Vec<Copied>,
    switches: Switches,
    /// Sessions that a client has opened that can show MCP apps.
    shows_apps: BTreeSet<ChannelUri>,
    last: u64,
}

/// The customizations, with what they need of the modules below.
pub(crate) struct CustomizationsMut<'a> {
    pub(crate) own: &'a mut Customizations,
    pub(crate) core: &'a mut Core,
    pub(crate) clients: &'a Clients,
    pub(crate) calls: &'a mut ClientCalls,
    pub(crate) resources: &'a Resources,
    pub(crate) agents: &'a Agents,
    pub(crate) servers: &'a mut Servers,
}

/// Where customizations of a session come from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Host,
    Directory(String),
    Plugin {
        /// Of this session alone: what is seen of it depends on its client.
        session: ChannelUri,
        client_id: ClientId,
        id: String,
        uri: String,
        name: String,
        nonce: Option<String>,
    },
    /// A copy of a plugin that the runs of an automation have.
    Copy {
        id: String,
        uri: String,
        name: String,
    },
}

/// A source that is followed.
#[derive(Debug)]
struct Followed {
    id: SourceId,
    sessions: usize,
    found: Option<Vec<FoundCustomization>>,
}

impl Customizations {
    pub(crate) fn new(switches: Option<Value>) -> Self {
        Self {
            switches: Switches::stored(switches),
            ..Self::default()
        }
    }

    /// What came of copies since this was last asked.
    pub(crate) fn take_copied(&mut self) -> Vec<Copied> {
        std::mem::take(&mut self.copied)
    }

    fn sources_of(&self, session: &ChannelUri) -> &[Source] {
        self.sources.get(session).map_or(&[], |sources| sources)
    }

    /// Whether the agent of a session should wait until more is known.
    pub(crate) fn are_awaited(&self, core: &Core, session: &ChannelUri) -> bool {
        self.sources_of(session).iter().any(|source| {
            let followed = self.followed.get(source);
            let waits = |it: &Followed| core.deadlines.is_set(&Deadline::SourceIsUnread(it.id));
            followed.is_some_and(waits)
        })
    }

    /// What is on in a session: the one place where agents, completions and
    /// whoever else needs to know should ask.
    pub(crate) fn enabled_in(&self, core: &Core, session: &Session) -> EnabledCustomizations {
        let (mcp_servers, hosted_servers) = self.servers_for_agent(core, session);
        let sources = self.sources_of(&session.uri).iter();
        let followed = sources.filter_map(|source| self.followed.get(source));
        let found = followed.flat_map(|followed| followed.found.iter().flatten());
        let texts = found.flat_map(|found| &found.texts);
        let texts = texts.map(|(uri, text)| (uri.as_str(), text)).collect();
        let mut enabled = EnabledCustomizations {
            mcp_servers,
            hosted_servers,
            files: Vec::new(),
        };
        for container in session.state.customizations.iter().flatten() {
            if !is_on(container) {
                continue;
            }
            let children = children_of(container).iter();
            let on = children.filter(|it| child_is_on(it));
            enabled
                .files
                .extend(on.filter_map(|it| file_of(it, &texts)));
        }
        enabled
    }
}

impl CustomizationsMut<'_> {
    /// Follows what a session needs to know, if that has changed.
    pub(crate) fn update(&mut self, uri: &ChannelUri) {
        let Some(session) = self.core.channels.session(uri) else {
            return;
        };
        let mut wanted = wanted_sources(session, self.core.config.workspace.customizations);
        wanted.extend(copies_for(self.core, session));
        if self.own.sources.get(uri) == Some(&wanted) {
            return;
        }
        let before = self.own.sources.insert(uri.clone(), wanted.clone());
        let before = before.unwrap_or_default();
        for source in wanted.iter().filter(|source| !before.contains(source)) {
            self.hold(source);
        }
        for source in before.iter().filter(|source| !wanted.contains(source)) {
            self.let_go(source);
        }
        self.reconcile(uri);
    }

    /// A client that can show MCP apps opens a session: what there is to know
    /// about them is in its state from now on. The others need not care.
    pub(crate) fn show_apps_in(&mut self, session: &ChannelUri) {
        if self.core.channels.session(session).is_some()
            && self.own.shows_apps.insert(session.clone())
        {
            self.reconcile(session);
        }
    }

    /// A session leaves memory.
    pub(crate) fn leave(&mut self, session: &ChannelUri) {
        self.own.shows_apps.remove(session);
        for source in self.own.sources.remove(session).unwrap_or_default() {
            self.let_go(&source);
        }
        self.servers.leave(self.core, session);
    }

    fn hold(&mut self, source: &Source) {
        if let Some(followed) = self.own.followed.get_mut(source) {
            followed.sessions += 1;
            return;
        }
        self.own.last += 1;
        let id = SourceId(self.own.last);
        let followed = Followed {
            id,
            sessions: 1,
            found: None,
        };
        self.own.followed.insert(source.clone(), followed);
        self.own.by_id.insert(id, source.clone());
        let place = match source {
            Source::Host => CustomizationPlace::Host,
            Source::Directory(uri) => CustomizationPlace::Directory(uri.clone()),
            Source::Plugin { .. } => {
                if let Some(plugin) = source.client_plugin() {
                    self.read_client_plugin(id, plugin);
                }
                return;
            }
            Source::Copy { .. } => match source.client_plugin() {
                Some(copy) => CustomizationPlace::Plugin(copy),
                None => return,
            },
        };
        let due = self.core.now.after(PATIENCE);
        self.core.deadlines.set(Deadline::SourceIsUnread(id), due);
        self.follow(id, place);
    }

    fn follow(&mut self, id: SourceId, place: CustomizationPlace) {
        let command = CustomizationCommand::Follow { source: id, place };
        self.core.effect(Effect::Customization(command));
    }

    fn let_go(&mut self, source: &Source) {
        let Some(followed) = self.own.followed.get_mut(source) else {
            return;
        };
        followed.sessions -= 1;
        if followed.sessions > 0 {
            return;
        }
        let id = followed.id;
        self.own.followed.remove(source);
        self.own.by_id.remove(&id);
        self.own.fetching.remove(&id);
        self.core.deadlines.clear(&Deadline::SourceIsUnread(id));
        let command = CustomizationCommand::Forget { source: id };
        self.core.effect(Effect::Customization(command));
    }

    pub(crate) fn reported(&mut self, report: CustomizationReport) {
        match report {
            CustomizationReport::Found { source, found } => self.found(source, found),
            CustomizationReport::Copied { copy, outcome } => {
                self.own.copied.push((copy, outcome));
            }
        }
    }

    fn found(&mut self, id: SourceId, found: Vec<FoundCustomization>) {
        let Some(source) = self.own.by_id.get(&id).cloned() else {
            return;
        };
        if let Some(followed) = self.own.followed.get_mut(&source) {
            followed.found = Some(found);
        }
        self.core.deadlines.clear(&Deadline::SourceIsUnread(id));
        let sessions = self.own.sources.iter();
        let concerned: Vec<ChannelUri> = sessions
            .filter(|(_, sources)| sources.contains(&source))
            .map(|(session, _)| session.clone())
            .collect();
        for session in concerned {
            self.reconcile(&session);
        }
    }

    /// What is known of agents or was decided for all sessions has changed.
    pub(crate) fn reconcile_all(&mut self) {
        for session in self.core.channels.session_uris() {
            self.reconcile(&session);
        }
    }

    /// Brings a session's state up to what it should be, and ends the servers
    /// that are not on in it any more.
    pub(crate) fn reconcile(&mut self, uri: &ChannelUri) {
        let shows_apps = |it: &Subscriber| {
            let introduced = self.clients.introduction(it.connection);
            introduced.is_some_and(|it| it.shows_apps)
        };
        let listening = self.core.subscriptions.of_channel(uri);
        if listening.is_some_and(|all| all.iter().any(shows_apps)) {
            self.own.shows_apps.insert(uri.clone());
        }
        self.bring_up_to_date(uri);
        if let Some(session) = self.core.channels.session(uri) {
            let wanted = self.own.servers_to_run(self.core, session);
            self.servers.keep(self.core, uri, &wanted);
        }
    }

    fn bring_up_to_date(&mut self, uri: &ChannelUri) {
        let Some(session) = self.core.channels.session(uri) else {
            return;
        };
        let now = session.state.customizations.as_deref().unwrap_or_default();
        let wanted = self.wanted(session);
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
            self.core
                .emit(uri, StateAction::SessionCustomizationsChanged(action), None);
            return;
        }
        for id in gone {
            let action = SessionCustomizationRemovedAction { id };
            self.core
                .emit(uri, StateAction::SessionCustomizationRemoved(action), None);
        }
        for customization in updates {
            let action = Box::new(SessionCustomizationUpdatedAction { customization });
            self.core
                .emit(uri, StateAction::SessionCustomizationUpdated(action), None);
        }
    }

    fn wanted(&self, session: &Session) -> Vec<Customization> {
        let now = session.state.customizations.as_deref().unwrap_or_default();
        let shows_apps = self.own.shows_apps.contains(&session.uri);
        let mut wanted: Vec<Customization> = Vec::new();
        let mut known: BTreeSet<String> = BTreeSet::new();
        let agent = self.agents.of_session(&session.state);
        let mut add = |mut it: Customization, published: &Published| {
            let Some(id) = id_of(&it).map(str::to_owned) else {
                return;
            };
            if known.insert(id) {
                self.own.switches.apply(&mut it, session, published);
                hosted::show_states(&mut it, self.servers, self.core, session, shows_apps);
                if let Some(agent) = agent {
                    delivery::show(&mut it, agent);
                }
                wanted.push(it);
            }
        };
        for configured in self.core.config.workspace.mcp_servers.iter() {
            add(hosted::shown(configured), &Published::default());
        }
        let of_agent = agent.and_then(|agent| agent.info.customizations.as_ref());
        for it in of_agent.into_iter().flatten() {
            add(it.clone(), &Published::default());
        }
        let mut all_known = true;
        for source in self.own.sources_of(&session.uri) {
            let published = self.published(session, source);
            let followed = self.own.followed.get(source);
            match followed.and_then(|it| it.found.as_ref()) {
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
                servers_are_off: !self.core.config.workspace.customizations.trust_servers,
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
            Source::Copy { id, .. } => {
                let automation = automation_of(self.core, session);
                let template = automation.map(|it| &it.definition.session);
                let plugins = template.and_then(|it| it.customizations.as_ref());
                let plugin = plugins.into_iter().flatten().find(|it| it.id == *id);
                plugin
                    .map(switches::published_by_client)
                    .unwrap_or_default()
            }
        }
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
                client_id: Some(client_id.to_string()),
            }),
            Self::Copy { id, uri, name } => Some(ClientPlugin {
                id: id.clone(),
                uri: uri.clone(),
                name: name.clone(),
                client_id: None,
            }),
        }
    }
}

fn wanted_sources(session: &Session, policy: CustomizationPolicy) -> Vec<Source> {
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

/// The automation that a session is a run of.
fn automation_of<'a>(core: &'a Core, session: &Session) -> Option<&'a AutomationEntry> {
    let SessionOrigin::Automation(origin) = session.state.origin.as_ref()? else {
        return None;
    };
    let all = core.channels.automations(&ChannelUri::automations())?;
    let mut entries = all.entries.iter();
    entries.find(|entry| entry.resource == origin.automation)
}

/// The copies of plugins that the host keeps for a session.
fn copies_for(core: &Core, session: &Session) -> Vec<Source> {
    if !core.config.workspace.customizations.enabled {
        return Vec::new();
    }
    let automation = automation_of(core, session);
    let copies = automation.and_then(|it| it.customizations.as_ref());
    let copies = copies.into_iter().flatten().map(|copy| Source::Copy {
        id: copy.id.clone(),
        uri: copy.uri.clone(),
        name: copy.name.clone(),
    });
    copies.collect()
}

fn plugin_source(
    session: &ChannelUri,
    client_id: &str,
    plugin: &ClientPluginCustomization,
) -> Source {
    Source::Plugin {
        session: session.clone(),
        client_id: client_id.into(),
        id: plugin.id.clone(),
        uri: plugin.uri.clone(),
        name: plugin.name.clone(),
        nonce: plugin.nonce.clone(),
    }
}
