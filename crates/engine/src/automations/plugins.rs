//! Plugins of clients that the runs of an automation have. The client may be
//! gone when a run begins, so the host makes a copy of each before it takes a
//! definition, and keeps the copy as long as the definition names the plugin.
//!
//! While copies are made, whatever else is said about the automation waits, so
//! that all of it happens in the order in which it was said.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::state::{
    AutomationDefinition, AutomationEntry, ClientPluginCustomization, PluginCustomization,
    SessionOrigin,
};
use innkeeper_protocol::outgoing::RejectionCode;
use innkeeper_protocol::workspace::customization::{ClientPlugin, CopyId, CustomizationCommand};

use super::AutomationsMut;
use crate::core::channels::length_of_json;
use crate::core::{Core, Refusal, Sender};
use crate::customizations::Copied;
use crate::effect::Effect;

/// How many plugins one automation has.
const MOST_PLUGINS: usize = 8;

/// How much may be said about what is in them: it is told with every change of
/// the automation.
const MOST_BYTES: usize = 256 * 1024;

/// For how many automations copies are made at once.
const MOST_COPYING: usize = 4;

/// How many changes of one automation wait for its copies.
const MOST_WAITING: usize = 16;

/// Copies by the id of their plugin.
pub(super) type Copies = BTreeMap<String, PluginCustomization>;

/// Something that a client said about an automation.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) action: StateAction,
    pub(super) sender: Sender,
}

/// An automation for which copies are made.
#[derive(Debug)]
pub(super) struct Copying {
    asked: Asked,
    /// The plugins that are not copied yet.
    open: BTreeMap<CopyId, String>,
    made: Copies,
    failed: Option<String>,
    /// What was said after it.
    waiting: VecDeque<Asked>,
}

/// Whether the plugins of a template can be copied at all.
pub(super) fn check(core: &Core, plugins: &[ClientPluginCustomization]) -> Result<(), Refusal> {
    if plugins.is_empty() {
        return Ok(());
    }
    let policy = core.config.workspace.customizations;
    if !(policy.enabled && policy.copies) {
        return Err(
            "this host keeps no copies of clients' plugins; put what the runs need into their \
             working directory"
                .into(),
        );
    }
    if plugins.len() > MOST_PLUGINS {
        let reason = format!("the runs of an automation have at most {MOST_PLUGINS} plugins");
        return Err(Refusal::new(RejectionCode::LimitReached, reason));
    }
    let mut ids = BTreeSet::new();
    for plugin in plugins {
        if plugin.id.is_empty() {
            return Err("every plugin needs an id".into());
        }
        if !ids.insert(&plugin.id) {
            let id = &plugin.id;
            return Err(format!("two plugins have the id `{id}`; each needs its own").into());
        }
    }
    Ok(())
}

fn plugins_of(definition: &AutomationDefinition) -> &[ClientPluginCustomization] {
    let plugins = definition.session.customizations.as_deref();
    plugins.unwrap_or_default()
}

/// The copy that there is of a plugin, if it is the same plugin still.
fn kept_copy<'a>(
    entry: &'a AutomationEntry,
    plugin: &ClientPluginCustomization,
) -> Option<&'a PluginCustomization> {
    let mut before = plugins_of(&entry.definition).iter();
    before.find(|it| it.id == plugin.id && it.uri == plugin.uri && it.nonce == plugin.nonce)?;
    let mut copies = entry.customizations.iter().flatten();
    copies.find(|copy| copy.id == plugin.id)
}

/// The copies for a definition that takes the place of an entry's, and those
/// of which nothing is needed any more.
pub(super) fn exchanged(
    entry: &AutomationEntry,
    definition: &AutomationDefinition,
    mut made: Copies,
) -> (Option<Vec<PluginCustomization>>, Vec<String>) {
    let copies = plugins_of(definition).iter().filter_map(|plugin| {
        let new = made.remove(&plugin.id);
        new.or_else(|| kept_copy(entry, plugin).cloned())
    });
    let copies: Vec<PluginCustomization> = copies.collect();
    let before = entry.customizations.iter().flatten();
    let before = before.chain(made.values()).map(|it| it.uri.clone());
    let stays = |uri: &String| copies.iter().any(|it| it.uri == *uri);
    let gone = before.filter(|uri| !stays(uri)).collect();
    ((!copies.is_empty()).then_some(copies), gone)
}

impl AutomationsMut<'_> {
    /// If copies are made for an automation, what is said about it waits.
    pub(super) fn waits_for_copies(&mut self, uri: &ChannelUri, asked: Asked) -> Option<Asked> {
        let Some(copying) = self.own.copying.get_mut(uri) else {
            return Some(asked);
        };
        if copying.waiting.len() < MOST_WAITING {
            copying.waiting.push_back(asked);
            return None;
        }
        let reason = format!(
            "{MOST_WAITING} changes of this automation wait already; send it again when they are \
             done"
        );
        self.refuse(asked, Refusal::new(RejectionCode::LimitReached, reason));
        None
    }

    pub(super) fn refuse(&mut self, asked: Asked, refusal: impl Into<Refusal>) {
        let Asked { action, sender } = asked;
        let catalogue = ChannelUri::automations();
        self.core().reject(catalogue, action, sender, refusal);
    }

    /// The plugins of a definition of which there is no copy yet.
    pub(super) fn not_copied(
        &self,
        uri: &ChannelUri,
        definition: &AutomationDefinition,
        made: &Copies,
    ) -> Vec<ClientPluginCustomization> {
        let entry = self.entry(uri);
        let plugins = plugins_of(definition).iter();
        let missing = plugins.filter(|plugin| {
            let kept = entry.and_then(|entry| kept_copy(entry, plugin));
            !made.contains_key(&plugin.id) && kept.is_none()
        });
        missing.cloned().collect()
    }

    /// Has copies made; what was asked for is taken up again when they are.
    pub(super) fn make_copies(
        &mut self,
        uri: &ChannelUri,
        asked: Asked,
        plugins: Vec<ClientPluginCustomization>,
    ) {
        if self.own.copying.len() >= MOST_COPYING {
            let reason = format!(
                "the plugins of {MOST_COPYING} automations are being copied; send it again when \
                 one of them is there"
            );
            let refusal = Refusal::new(RejectionCode::LimitReached, reason);
            return self.refuse(asked, refusal);
        }
        let client_id = asked.sender.origin.client_id.clone();
        let mut customizations = self.sessions.customizations();
        let open = plugins.into_iter().map(|plugin| {
            let copy = customizations.make_copy(ClientPlugin {
                id: plugin.id.clone(),
                uri: plugin.uri,
                name: plugin.name,
                client_id: Some(client_id.clone()),
            });
            (copy, plugin.id)
        });
        let copying = Copying {
            open: open.collect(),
            asked,
            made: Copies::new(),
            failed: None,
            waiting: VecDeque::new(),
        };
        self.own.copying.insert(uri.clone(), copying);
    }

    /// A copy was made, or cannot be made.
    pub(crate) fn copied(&mut self, (copy, outcome): Copied) {
        let mut all = self.own.copying.iter_mut();
        let found = all.find(|(_, copying)| copying.open.contains_key(&copy));
        let Some((uri, copying)) = found else {
            // Nobody waits for it any more.
            let unneeded = outcome.into_iter().map(|it| it.uri);
            return self.sessions.customizations().remove_copies(unneeded);
        };
        let plugin = copying.open.remove(&copy).unwrap_or_default();
        match outcome {
            Ok(made) => {
                copying.made.insert(plugin, *made);
            }
            Err(why) => {
                let why = format!("the plugin `{plugin}` cannot be copied: {why}");
                copying.failed.get_or_insert(why);
            }
        }
        if copying.open.is_empty() {
            let uri = uri.clone();
            if let Some(copying) = self.own.copying.remove(&uri) {
                self.copies_are_made(copying);
            }
        }
    }

    fn copies_are_made(&mut self, copying: Copying) {
        let Copying {
            asked,
            made,
            failed,
            waiting,
            ..
        } = copying;
        let too_much = length_of_json(&made) > MOST_BYTES;
        let too_much = too_much.then(|| {
            format!(
                "what is in the plugins of an automation takes at most {MOST_BYTES} bytes to \
                 say; leave some of them out"
            )
        });
        match failed.or(too_much) {
            Some(why) => {
                self.refuse(asked, why.as_str());
                self.remove_copies(made);
            }
            None => self.take(asked, made),
        }
        for asked in waiting {
            self.dispatched(asked.action, asked.sender);
        }
    }

    pub(super) fn remove_copies(&mut self, copies: Copies) {
        let copies = copies.into_values().map(|copy| copy.uri);
        self.sessions.customizations().remove_copies(copies);
    }

    /// The copies of an automation are others now: its sessions are to know,
    /// and then nobody needs the ones from before.
    pub(super) fn copies_changed(&mut self, uri: &ChannelUri, gone: Vec<String>) {
        let channels = &self.sessions.turns.core.channels;
        let mut sessions = channels.session_uris();
        sessions.retain(|session| {
            let session = channels.session(session);
            let origin = session.and_then(|it| it.state.origin.as_ref());
            matches!(origin, Some(SessionOrigin::Automation(it)) if it.automation == uri.as_str())
        });
        let mut customizations = self.sessions.customizations();
        for session in sessions {
            customizations.update(&session);
        }
        customizations.remove_copies(gone);
    }

    pub(super) fn copies_of(&self, uri: &ChannelUri) -> Vec<String> {
        let entry = self.entry(uri);
        let copies = entry.and_then(|entry| entry.customizations.as_ref());
        let copies = copies.into_iter().flatten();
        copies.map(|copy| copy.uri.clone()).collect()
    }

    /// An earlier life may have made copies that nobody came to know of.
    pub(super) fn keep_known_copies(&mut self) {
        if !self.core().config.workspace.customizations.copies {
            return;
        }
        let all: Vec<ChannelUri> = self.own.known.keys().cloned().collect();
        let copies = all.iter().flat_map(|uri| self.copies_of(uri)).collect();
        let command = CustomizationCommand::KeepCopies { copies };
        self.core().effect(Effect::Customization(command));
    }
}
