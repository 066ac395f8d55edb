//! Looking into customizations: what they are called, what is in them, and
//! which of it may be called by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_protocol::newest::state::{ChildCustomization, Customization, SessionState};
use innkeeper_protocol::workspace::customization::{CustomizationKind, EnabledFile};

use super::switches;

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

pub(super) fn children_of_mut(it: &mut Customization) -> &mut [ChildCustomization] {
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
pub(crate) fn invocable(session: &SessionState) -> Vec<Invocable> {
    let mut all = Vec::new();
    let containers = session.customizations.iter().flatten();
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

/// What agents are told of a file. Texts are by URI.
pub(super) fn file_of(
    child: &ChildCustomization,
    texts: &BTreeMap<&str, &Arc<str>>,
) -> Option<EnabledFile> {
    use CustomizationKind::{Agent, Hook, Prompt, Rule, Skill};
    let (kind, name, uri, description) = match child {
        ChildCustomization::Agent(it) => (Agent, &it.name, &it.uri, it.description.as_ref()),
        ChildCustomization::Skill(it) => (Skill, &it.name, &it.uri, it.description.as_ref()),
        ChildCustomization::Prompt(it) => (Prompt, &it.name, &it.uri, it.description.as_ref()),
        ChildCustomization::Rule(it) => (Rule, &it.name, &it.uri, it.description.as_ref()),
        ChildCustomization::Hook(it) => (Hook, &it.name, &it.uri, None),
        ChildCustomization::McpServer(_) | ChildCustomization::Unknown(_) => return None,
    };
    let always = matches!(child, ChildCustomization::Rule(it) if it.always_apply == Some(true));
    Some(EnabledFile {
        kind,
        name: name.clone(),
        uri: uri.clone(),
        description: description.cloned(),
        always,
        text: texts.get(uri.as_str()).map(|text| Arc::clone(text)),
    })
}

/// The id of the customization with a URI.
pub(crate) fn id_of_uri<'a>(
    all: impl Iterator<Item = &'a Customization>,
    uri: &str,
) -> Option<&'a str> {
    let mut named = all.filter(|it| uri_of(it) == Some(uri));
    named.find_map(id_of)
}

fn uri_of(it: &Customization) -> Option<&str> {
    match it {
        Customization::Plugin(it) => Some(&it.uri),
        Customization::Directory(it) => Some(&it.uri),
        Customization::McpServer(it) => Some(&it.uri),
        Customization::Unknown(_) => None,
    }
}
