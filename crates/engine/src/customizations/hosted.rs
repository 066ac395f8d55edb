//! The MCP servers of sessions: those that the configuration gives to all of
//! them, those that were found, and which of them the host runs.

use std::collections::{BTreeMap, BTreeSet};

use innkeeper_protocol::mcp::{ConfiguredServer, Hosting, McpServer};
use innkeeper_protocol::newest::state::{
    ChildCustomization, Customization, McpServerCustomization, McpServerState,
    McpServerStoppedState,
};

use super::Customizations;
use super::items::{children_of, children_of_mut};
use super::switches::{child_is_on, is_on};
use crate::core::Core;
use crate::core::channels::Session;
use crate::servers::{Servers, Wanted, server_in};

/// How a server is started or reached, and by whom.
#[derive(Debug, Clone, Copy)]
struct Declared<'a> {
    server: &'a McpServer,
    hosting: Hosting,
}

impl Customizations {
    /// The servers that are on in a session and that the host runs.
    pub(crate) fn servers_to_run(&self, core: &Core, session: &Session) -> Vec<Wanted> {
        let on = self.servers_on(core, session).into_iter();
        let hosted = on.filter(|(_, declared)| declared.hosting != Hosting::Agent);
        hosted
            .map(|(id, declared)| wanted(session, id, declared))
            .collect()
    }

    /// A server that somebody wants to be started, or why it cannot be.
    pub(crate) fn server_to_start(
        &self,
        core: &Core,
        session: &Session,
        id: &str,
    ) -> Result<Wanted, String> {
        if server_in(&session.state, id).is_none() {
            return Err(format!("the session has no MCP server `{id}`"));
        }
        let declared = self.declared(core, session).get(id).copied();
        let declared = declared
            .ok_or("how this MCP server is started is not known; see what its container says")?;
        if declared.hosting == Hosting::Agent {
            return Err(
                "the agent runs this MCP server; switch it on or off, and it holds when the agent \
                 starts the next time"
                    .to_owned(),
            );
        }
        if !self.ids_on(session).contains(id) {
            return Err("this MCP server is off; switch it on first".to_owned());
        }
        Ok(wanted(session, id, declared))
    }

    /// The servers that are on in a session: of several with the same name, the
    /// first, which is the configuration's where that has one.
    fn servers_on<'a>(
        &'a self,
        core: &'a Core,
        session: &'a Session,
    ) -> BTreeMap<&'a str, Declared<'a>> {
        let declared = self.declared(core, session);
        let on = self.ids_on(session);
        let mut names = BTreeSet::new();
        let configured = core.config.workspace.mcp_servers.iter();
        for (id, server) in configured.map(|it| (id_of(it), &it.server)) {
            if on.contains(id.as_str()) {
                names.insert((server.name.as_str(), Some(id)));
            }
        }
        let is_taken = |id: &str, name: &str| {
            let mut same = names.iter().filter(|(known, _)| *known == name);
            same.any(|(_, of)| of.as_deref() != Some(id))
        };
        let mut seen = BTreeSet::new();
        let all = declared.into_iter();
        all.filter(|(id, it)| on.contains(id) && !is_taken(id, &it.server.name))
            .filter(|(_, it)| seen.insert(it.server.name.as_str()))
            .collect()
    }

    /// How the servers of a session are started, by customization.
    fn declared<'a>(
        &'a self,
        core: &'a Core,
        session: &'a Session,
    ) -> BTreeMap<&'a str, Declared<'a>> {
        let sources = self.sources_of(&session.uri).iter();
        let followed = sources.filter_map(|source| self.followed.get(source));
        let found = followed.flat_map(|followed| followed.found.iter().flatten());
        let specs = found.flat_map(|found| &found.servers);
        let hosting = core.config.workspace.customizations.hosting;
        let mut declared: BTreeMap<&str, Declared<'_>> = specs
            .map(|spec| (spec.id.as_str(), declared_as(&spec.server, hosting)))
            .collect();
        let shown = session.state.customizations.iter().flatten();
        for shown in shown {
            if let Customization::McpServer(shown) = shown {
                let mut configured = core.config.workspace.mcp_servers.iter();
                if let Some(it) = configured.find(|it| id_of(it) == shown.id) {
                    declared.insert(&shown.id, declared_as(&it.server, it.hosting));
                }
            }
        }
        declared
    }

    fn ids_on<'a>(&self, session: &'a Session) -> BTreeSet<&'a str> {
        let mut on = BTreeSet::new();
        let containers = session.state.customizations.iter().flatten();
        for container in containers.filter(|it| is_on(it)) {
            if let Customization::McpServer(server) = container {
                on.insert(server.id.as_str());
            }
            for child in children_of(container).iter().filter(|it| child_is_on(it)) {
                if let ChildCustomization::McpServer(server) = child {
                    on.insert(server.id.as_str());
                }
            }
        }
        on
    }

    /// The servers for an agent: those that it runs itself, and the names of
    /// those that the host runs.
    pub(super) fn servers_for_agent(
        &self,
        core: &Core,
        session: &Session,
    ) -> (Vec<McpServer>, BTreeMap<String, String>) {
        let (mut own, mut hosted) = (Vec::new(), BTreeMap::new());
        for (id, declared) in self.servers_on(core, session) {
            match declared.hosting {
                Hosting::Agent => own.push(declared.server.clone()),
                Hosting::Session | Hosting::Directory => {
                    hosted.insert(id.to_owned(), declared.server.name.clone());
                }
            }
        }
        (own, hosted)
    }
}

/// The host does not speak all that agents do.
fn declared_as(server: &McpServer, hosting: Hosting) -> Declared<'_> {
    let hosting = match server.can_be_hosted() {
        true => hosting,
        false => Hosting::Agent,
    };
    Declared { server, hosting }
}

fn wanted(session: &Session, id: &str, declared: Declared<'_>) -> Wanted {
    Wanted {
        id: id.to_owned(),
        server: declared.server.clone(),
        hosting: declared.hosting,
        directory: session.first_directory().map(str::to_owned),
    }
}

/// The customization that a server of the configuration is.
fn id_of(configured: &ConfiguredServer) -> String {
    format!("{}#{}", configured.uri, configured.server.name)
}

/// What a session shows of a server of the configuration.
pub(super) fn shown(configured: &ConfiguredServer) -> Customization {
    Customization::McpServer(Box::new(McpServerCustomization {
        id: id_of(configured),
        uri: configured.uri.clone(),
        name: configured.server.name.clone(),
        icons: None,
        range: None,
        meta: None,
        enablement: None,
        state: McpServerState::Stopped(McpServerStoppedState {}),
        channel: None,
        mcp_app: None,
    }))
}

/// Writes into a customization how its servers are, which no file says, and
/// whether they have apps, if anybody can show them.
pub(super) fn show_states(
    it: &mut Customization,
    servers: &Servers,
    core: &Core,
    session: &Session,
    shows_apps: bool,
) {
    let show = |server: &mut McpServerCustomization| {
        let (state, channel) = servers.state_of(core, &session.uri, &server.id);
        (server.state, server.channel) = (state, channel);
        let looks = servers.looks_of(&session.uri, &server.id);
        server.mcp_app = looks.apps.filter(|_| shows_apps);
        if !looks.icons.is_empty() {
            server.icons = Some(looks.icons);
        }
    };
    if let Customization::McpServer(server) = it {
        return show(server);
    }
    for child in children_of_mut(it) {
        if let ChildCustomization::McpServer(server) = child {
            show(server);
        }
    }
}
