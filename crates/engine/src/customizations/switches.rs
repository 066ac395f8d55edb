//! What was switched on or off, by whom, for what: a session, all sessions in
//! a directory, or all of them. The nearest decision holds.
//!
//! Decisions for a session are kept with it; the others are the host's and
//! outlive it. What nobody decided is on, but for MCP servers that came with a
//! directory, if the configuration does not trust them.

use std::collections::BTreeMap;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::SessionCustomizationToggledAction;
use innkeeper_protocol::newest::state::{
    ChildCustomization, ClientPluginCustomization, Customization, CustomizationEnablement,
};
use innkeeper_protocol::record::StoreOp;
use serde::{Deserialize, Serialize};

use super::items::{child_id_of, children_of, id_of};
use super::{Customizations, CustomizationsMut};
use crate::core::channels::Session;

/// The decisions that hold in more than one session, by customization.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Switches {
    everywhere: BTreeMap<String, bool>,
    /// By working directory.
    directories: BTreeMap<String, BTreeMap<String, bool>>,
}

/// What whoever brings a customization says about it.
#[derive(Debug, Default)]
pub(super) struct Published {
    pub(super) servers_are_off: bool,
    pub(super) plugin: Option<bool>,
    /// By the name of the child.
    pub(super) children: BTreeMap<String, bool>,
}

/// A client's word is what holds everywhere, for the plugins that it brings.
pub(super) fn published_by_client(plugin: &ClientPluginCustomization) -> Published {
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
    pub(super) fn stored(value: Option<serde_json::Value>) -> Self {
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
        let directory = session.first_directory();
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
    pub(super) fn apply(&self, it: &mut Customization, session: &Session, said: &Published) {
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

impl Customizations {
    /// The decisions about a customization that hold in more than one session.
    pub(crate) fn decisions_beyond(
        &self,
        session: &Session,
        id: &str,
    ) -> impl Iterator<Item = CustomizationEnablement> {
        let all = self.switches.decisions(session, id, None).into_iter();
        all.filter(|it| !matches!(it, CustomizationEnablement::Session { .. }))
    }
}

impl CustomizationsMut<'_> {
    /// Somebody decided about a customization.
    pub(crate) fn switched(
        &mut self,
        uri: &ChannelUri,
        toggled: &SessionCustomizationToggledAction,
    ) {
        let Some(session) = self.core.channels.session_mut(uri) else {
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
        if let Some(directory) = session.first_directory().map(str::to_owned) {
            let all = &mut self.own.switches.directories;
            let in_directory = all.entry(directory.clone()).or_default();
            shared |= set(in_directory, id, for_directory);
            all.retain(|_, switches| !switches.is_empty());
        }
        shared |= set(&mut self.own.switches.everywhere, id, everywhere);
        if !shared {
            return self.reconcile(uri);
        }
        if let Ok(values) = serde_json::to_value(&self.own.switches) {
            self.core.store(StoreOp::PutSwitches { values });
        }
        self.reconcile_all();
    }
}

/// Whether a decision of a client can hold, or why not. A client to whom
/// children are always on with their container must not switch one: nobody of
/// its version could see that, or switch it on again.
pub(crate) fn judge_switch(
    session: &Session,
    toggled: &SessionCustomizationToggledAction,
    switches_children: bool,
) -> Result<(), String> {
    let id = toggled.id.as_str();
    let mut all = session.state.customizations.iter().flatten();
    let has_child = |it: &Customization| {
        let mut children = children_of(it).iter();
        children.any(|child| child_id_of(child) == Some(id))
    };
    if !all.clone().any(|it| id_of(it) == Some(id)) {
        match all.find(|it| has_child(it)).and_then(id_of) {
            Some(_) if switches_children => {}
            Some(container) => {
                return Err(format!(
                    "`{id}` is on whenever its container is; switch `{container}`"
                ));
            }
            None => return Err(format!("the session has no customization `{id}`")),
        }
    }
    let mut last = 0;
    for decision in &toggled.enablement {
        let place = match decision {
            CustomizationEnablement::Session { .. } => 1,
            CustomizationEnablement::Workspace { uri, .. } => {
                if session.first_directory() != Some(uri.as_str()) {
                    return Err(format!("`{uri}` is not the session's first directory"));
                }
                2
            }
            CustomizationEnablement::Global { .. } => 3,
            CustomizationEnablement::Unknown(_) => {
                let why = "this host knows decisions for session, workspace and global only";
                return Err(why.to_owned());
            }
        };
        if place <= last {
            let why = "decisions must come in the order session, workspace, global";
            return Err(why.to_owned());
        }
        last = place;
    }
    Ok(())
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

/// Returns whether that is different from before.
fn set(switches: &mut BTreeMap<String, bool>, id: &str, decided: Option<bool>) -> bool {
    let before = match decided {
        Some(enabled) => switches.insert(id.to_owned(), enabled),
        None => switches.remove(id),
    };
    before != decided
}
