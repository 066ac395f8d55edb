//! What was switched on or off, by whom, for what: a session, all sessions in
//! a directory, or all of them. The nearest decision holds.
//!
//! Decisions for a session are kept with it; the others are the host's and
//! outlive it. What nobody decided is on, but for MCP servers that came with a
//! directory, if the configuration does not trust them.

use std::collections::BTreeMap;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::actions::{SessionCustomizationToggledAction, StateAction};
use innkeeper_protocol::house::state::{
    ChildCustomization, ClientPluginCustomization, Customization, CustomizationEnablement,
};
use innkeeper_protocol::record::StoreOp;
use serde::{Deserialize, Serialize};

use crate::customizations::{child_id_of, children_of, id_of};
use crate::dispatch::{Verdict, reject};
use crate::sessions::Session;
use crate::{ConnectionId, Engine};

/// The decisions that hold in more than one session, by customization.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Switches {
    everywhere: BTreeMap<String, bool>,
    /// By working directory.
    directories: BTreeMap<String, BTreeMap<String, bool>>,
}

/// What whoever brings a customization says about it.
#[derive(Debug, Default)]
pub(crate) struct Published {
    pub(crate) servers_are_off: bool,
    pub(crate) plugin: Option<bool>,
    /// By the name of the child.
    pub(crate) children: BTreeMap<String, bool>,
}

/// A client's word is what holds everywhere, for the plugins that it brings.
pub(crate) fn published_by_client(plugin: &ClientPluginCustomization) -> Published {
    let everywhere = |list: &[CustomizationEnablement]| {
        list.iter().find_map(|it| match it {
            CustomizationEnablement::Global { enabled } => Some(*enabled),
            _ => None,
        })
    };
    let children = plugin.child_enablement.iter().flatten();
    Published {
        servers_are_off: false,
        plugin: plugin.enablement.as_deref().and_then(everywhere),
        children: children
            .filter_map(|(name, list)| Some((name.clone(), everywhere(list)?)))
            .collect(),
    }
}

impl Switches {
    pub(crate) fn stored(value: Option<serde_json::Value>) -> Self {
        let stored = value.map(serde_json::from_value).transpose();
        stored.ok().flatten().unwrap_or_default()
    }

    /// The decisions about a customization in a session, the nearest first.
    fn decisions(
        &self,
        session: &Session,
        id: &str,
        published: Option<bool>,
    ) -> Vec<CustomizationEnablement> {
        let mut list = Vec::new();
        if let Some(&enabled) = session.notes.switches.get(id) {
            list.push(CustomizationEnablement::Session { enabled });
        }
        let directory = primary_directory(session);
        let in_directory = directory.and_then(|uri| self.directories.get(uri));
        if let Some((uri, &enabled)) = directory.zip(in_directory.and_then(|all| all.get(id))) {
            let uri = uri.to_owned();
            list.push(CustomizationEnablement::Workspace { uri, enabled });
        }
        let everywhere = published.or_else(|| self.everywhere.get(id).copied());
        if let Some(enabled) = everywhere {
            list.push(CustomizationEnablement::Global { enabled });
        }
        list
    }

    /// Writes the decisions into a customization that was found.
    pub(crate) fn apply(&self, it: &mut Customization, session: &Session, said: &Published) {
        let Some(id) = id_of(it).map(str::to_owned) else {
            return;
        };
        let list = self.decisions(session, &id, said.plugin);
        let children = match it {
            Customization::Plugin(plugin) => {
                plugin.enablement = non_empty(list);
                plugin.children.as_deref_mut()
            }
            Customization::Directory(directory) => {
                directory.enabled = holds(&list);
                directory.children.as_deref_mut()
            }
            Customization::McpServer(server) => {
                server.enablement = non_empty(list);
                None
            }
            Customization::Unknown(_) => None,
        };
        for child in children.unwrap_or_default() {
            self.apply_to_child(child, session, said);
        }
    }

    fn apply_to_child(&self, child: &mut ChildCustomization, session: &Session, said: &Published) {
        let Some(id) = child_id_of(child).map(str::to_owned) else {
            return;
        };
        let list = |name: &str| self.decisions(session, &id, said.children.get(name).copied());
        let enabled = match child {
            ChildCustomization::McpServer(server) => {
                let mut list = list(&server.name);
                let decided = |it: &CustomizationEnablement| {
                    matches!(it, CustomizationEnablement::Global { .. })
                };
                if said.servers_are_off && !list.iter().any(decided) {
                    list.push(CustomizationEnablement::Global { enabled: false });
                }
                server.enablement = non_empty(list);
                return;
            }
            ChildCustomization::Agent(it) => (list(&it.name), &mut it.enabled),
            ChildCustomization::Skill(it) => (list(&it.name), &mut it.enabled),
            ChildCustomization::Prompt(it) => (list(&it.name), &mut it.enabled),
            ChildCustomization::Rule(it) => (list(&it.name), &mut it.enabled),
            ChildCustomization::Hook(it) => (list(&it.name), &mut it.enabled),
            ChildCustomization::Unknown(_) => return,
        };
        let (list, enabled) = enabled;
        if !list.is_empty() {
            *enabled = Some(holds(&list));
        }
    }
}

impl Engine {
    /// Up to 0.7 a switch was on or off: what was decided for more than the
    /// session stays. In draft 1 it was named by URI.
    pub(crate) fn whole_switch(
        &self,
        connection: ConnectionId,
        channel: &ChannelUri,
        action: StateAction,
    ) -> StateAction {
        let version = self.version_of(connection);
        let session = self.sessions.get(channel);
        match (action, session) {
            (StateAction::SessionCustomizationToggled(mut toggled), Some(session))
                if !version.switches_in_scopes() =>
            {
                if !version.switches_by_id() {
                    let all = session.state.customizations.iter().flatten();
                    let named = all.filter(|it| uri_of(it) == Some(toggled.id.as_str()));
                    let id = named.filter_map(id_of).next().map(str::to_owned);
                    toggled.id = id.unwrap_or(toggled.id);
                }
                let others = self.switches.decisions(session, &toggled.id, None);
                let others = others
                    .into_iter()
                    .filter(|it| !matches!(it, CustomizationEnablement::Session { .. }));
                toggled.enablement.extend(others);
                StateAction::SessionCustomizationToggled(toggled)
            }
            (action, _) => action,
        }
    }

    /// Somebody decided about a customization.
    pub(crate) fn customization_switched(
        &mut self,
        uri: &ChannelUri,
        toggled: &SessionCustomizationToggledAction,
    ) {
        let Some(session) = self.sessions.get_mut(uri) else {
            return;
        };
        let decided = |wanted: fn(&CustomizationEnablement) -> Option<bool>| {
            toggled.enablement.iter().find_map(wanted)
        };
        let for_session = decided(|it| match it {
            CustomizationEnablement::Session { enabled } => Some(*enabled),
            _ => None,
        });
        let for_directory = decided(|it| match it {
            CustomizationEnablement::Workspace { enabled, .. } => Some(*enabled),
            _ => None,
        });
        let everywhere = decided(|it| match it {
            CustomizationEnablement::Global { enabled } => Some(*enabled),
            _ => None,
        });
        let id = &toggled.id;
        set(&mut session.notes.switches, id, for_session);
        let mut shared = false;
        if let Some(directory) = primary_directory(session).map(str::to_owned) {
            let all = &mut self.switches.directories;
            let in_directory = all.entry(directory.clone()).or_default();
            shared |= set(in_directory, id, for_directory);
            all.retain(|_, switches| !switches.is_empty());
        }
        shared |= set(&mut self.switches.everywhere, id, everywhere);
        if !shared {
            return self.reconcile_customizations(uri);
        }
        if let Ok(values) = serde_json::to_value(&self.switches) {
            self.step.store.ops.push(StoreOp::PutSwitches { values });
        }
        let sessions: Vec<ChannelUri> = self.sessions.keys().cloned().collect();
        for session in sessions {
            self.reconcile_customizations(&session);
        }
    }
}

pub(crate) fn judge_switch(
    session: &Session,
    toggled: &SessionCustomizationToggledAction,
) -> Verdict {
    let mut all = session.state.customizations.iter().flatten();
    let is_it = |it: &Customization| {
        let mut children = children_of(it).iter();
        id_of(it) == Some(toggled.id.as_str())
            || children.any(|child| child_id_of(child) == Some(toggled.id.as_str()))
    };
    if !all.any(is_it) {
        return reject(format!("the session has no customization `{}`", toggled.id));
    }
    let mut last = 0;
    for decision in &toggled.enablement {
        let place = match decision {
            CustomizationEnablement::Session { .. } => 1,
            CustomizationEnablement::Workspace { uri, .. } => {
                if primary_directory(session) != Some(uri.as_str()) {
                    return reject(format!("`{uri}` is not the session's first directory"));
                }
                2
            }
            CustomizationEnablement::Global { .. } => 3,
            CustomizationEnablement::Unknown(_) => {
                return reject("this host knows decisions for session, workspace and global only");
            }
        };
        if place <= last {
            return reject("decisions must come in the order session, workspace, global");
        }
        last = place;
    }
    Verdict::Apply(StateAction::SessionCustomizationToggled(toggled.clone()))
}

/// Whether a container is on, with all that is in it.
pub(crate) fn is_on(it: &Customization) -> bool {
    match it {
        Customization::Plugin(plugin) => holds(plugin.enablement.as_deref().unwrap_or_default()),
        Customization::Directory(directory) => directory.enabled,
        Customization::McpServer(server) => holds(server.enablement.as_deref().unwrap_or_default()),
        Customization::Unknown(_) => false,
    }
}

/// Whether a child is on, in a container that is.
pub(crate) fn child_is_on(child: &ChildCustomization) -> bool {
    let enabled = match child {
        ChildCustomization::Agent(it) => it.enabled,
        ChildCustomization::Skill(it) => it.enabled,
        ChildCustomization::Prompt(it) => it.enabled,
        ChildCustomization::Rule(it) => it.enabled,
        ChildCustomization::Hook(it) => it.enabled,
        ChildCustomization::McpServer(server) => {
            return holds(server.enablement.as_deref().unwrap_or_default());
        }
        ChildCustomization::Unknown(_) => Some(false),
    };
    enabled.unwrap_or(true)
}

/// What the nearest decision says.
fn holds(list: &[CustomizationEnablement]) -> bool {
    match list.first() {
        None => true,
        Some(
            CustomizationEnablement::Session { enabled }
            | CustomizationEnablement::Workspace { enabled, .. }
            | CustomizationEnablement::Global { enabled },
        ) => *enabled,
        Some(CustomizationEnablement::Unknown(_)) => false,
    }
}

fn non_empty(list: Vec<CustomizationEnablement>) -> Option<Vec<CustomizationEnablement>> {
    Some(list).filter(|list| !list.is_empty())
}

fn primary_directory(session: &Session) -> Option<&str> {
    let directories = session.state.working_directories.as_ref()?;
    directories.first().map(String::as_str)
}

fn uri_of(it: &Customization) -> Option<&str> {
    match it {
        Customization::Plugin(it) => Some(&it.uri),
        Customization::Directory(it) => Some(&it.uri),
        Customization::McpServer(it) => Some(&it.uri),
        Customization::Unknown(_) => None,
    }
}

/// Returns whether that is different from before.
fn set(switches: &mut BTreeMap<String, bool>, id: &str, decided: Option<bool>) -> bool {
    let before = match decided {
        Some(enabled) => switches.insert(id.to_owned(), enabled),
        None => switches.remove(id),
    };
    before != decided
}
