//! What clients dispatch to a session: whether it is accepted, and what follows
//! from it.

use std::collections::HashSet;

use innkeeper_protocol::bounds::check_title;
use innkeeper_protocol::newest::actions::{SessionCustomizationToggledAction, StateAction};
use innkeeper_protocol::newest::state::{
    McpServerCustomization, McpServerState, SessionActiveClient,
};
use innkeeper_protocol::version::Version;
use innkeeper_protocol::{ChannelUri, ClientId};

use super::SessionsMut;
use crate::agents::{Agents, judge_settings};
use crate::core::channels::Session;
use crate::core::{Sender, Verdict};
use crate::customizations::judge_switch;
use crate::servers::{Wanted, server_in};

/// What follows from an action that was accepted.
#[derive(Debug)]
enum After {
    Nothing,
    Renamed,
    Configured,
    Switched(SessionCustomizationToggledAction),
    ServerStart(Box<Wanted>),
    ServerStop { id: String },
    ServerInBackground { id: String },
    ClientSet,
    ClientRemoved { client: ClientId },
}

impl SessionsMut<'_> {
    pub(crate) fn dispatched(&mut self, uri: &ChannelUri, action: StateAction, sender: Sender) {
        let Some(session) = self.turns.core.channels.session(uri) else {
            return;
        };
        let speaks = sender
            .connection
            .map(|it| self.turns.clients.version_of(it));
        let switches_children = speaks.is_none_or(Version::switches_children);
        let speaker = (sender.origin.client_id.as_str(), switches_children);
        let action = match (action, sender.connection) {
            (StateAction::SessionActiveClientSet(mut set), Some(connection)) => {
                let clients = &self.turns.clients;
                set.active_client = clients.named(connection, set.active_client);
                StateAction::SessionActiveClientSet(set)
            }
            (action, _) => action,
        };
        let verdict = match action {
            StateAction::SessionMcpServerStartRequested(asked) => {
                let (core, customizations) = (&*self.turns.core, &*self.turns.customizations);
                let found = customizations.server_to_start(core, session, &asked.id);
                let action = StateAction::SessionMcpServerStartRequested(asked);
                match found {
                    Ok(wanted) => Verdict::Apply(action, After::ServerStart(Box::new(wanted))),
                    Err(reason) => Verdict::reject(action, reason),
                }
            }
            action => judge(session, self.turns.agents, speaker, action),
        };
        if let Some(after) = self.core().carry_out(uri, sender, verdict) {
            self.follow_up(uri, after);
        }
    }

    fn follow_up(&mut self, uri: &ChannelUri, after: After) {
        match after {
            After::Nothing => {}
            After::Renamed => {
                if let Some(session) = self.core().channels.session_mut(uri) {
                    session.notes.title_is_open = false;
                }
            }
            After::Configured => self.turns.configure_backends(uri),
            After::Switched(toggled) => self.customizations().switched(uri, &toggled),
            After::ServerStart(wanted) => {
                if let Some(session) = self.core().channels.session_mut(uri) {
                    session.notes.stopped_servers.remove(&wanted.id);
                }
                self.turns.servers.start(self.turns.core, uri, *wanted);
            }
            After::ServerStop { id } => {
                if let Some(session) = self.core().channels.session_mut(uri) {
                    session.notes.stopped_servers.insert(id.clone());
                }
                self.turns.servers.stop(self.turns.core, uri, &id);
            }
            After::ServerInBackground { id } => {
                self.turns.servers.background(self.turns.core, uri, &id);
            }
            After::ClientSet => self.turns.offer_client_tools(uri),
            After::ClientRemoved { client } => self.active_client_left(uri, &client),
        }
    }
}

/// The second of `client` is whether it knows that children have switches.
fn judge(
    session: &Session,
    agents: &Agents,
    (client, switches_children): (&str, bool),
    action: StateAction,
) -> Verdict<After> {
    match action {
        StateAction::SessionTitleChanged(change) => {
            let checked = check_title("session", &change.title);
            let action = StateAction::SessionTitleChanged(change);
            match checked {
                Ok(()) => Verdict::Apply(action, After::Renamed),
                Err(reason) => Verdict::reject(action, reason),
            }
        }
        StateAction::SessionIsReadChanged(_) | StateAction::SessionIsArchivedChanged(_) => {
            Verdict::Apply(action, After::Nothing)
        }
        StateAction::SessionConfigChanged(change) => {
            let agent = agents.of_session(&session.state);
            let synonyms = agent.map_or(&[][..], |agent| &agent.synonyms);
            let mut meant = change.clone();
            match judge_settings(&session.state, synonyms, &mut meant) {
                Ok(()) => {
                    Verdict::Apply(StateAction::SessionConfigChanged(meant), After::Configured)
                }
                Err(reason) => Verdict::reject(StateAction::SessionConfigChanged(change), reason),
            }
        }
        StateAction::SessionCustomizationToggled(toggled) => {
            let checked = judge_switch(session, &toggled, switches_children);
            let after = After::Switched(toggled.clone());
            let action = StateAction::SessionCustomizationToggled(toggled);
            match checked {
                Ok(()) => Verdict::Apply(action, after),
                Err(reason) => Verdict::reject(action, reason),
            }
        }
        StateAction::SessionMcpServerStopRequested(asked) => {
            let id = asked.id.clone();
            let checked = check_has_server(session, &id).map(|_| ());
            let action = StateAction::SessionMcpServerStopRequested(asked);
            match checked {
                Ok(()) => Verdict::Apply(action, After::ServerStop { id }),
                Err(reason) => Verdict::reject(action, reason),
            }
        }
        StateAction::SessionMcpServerBackgroundRequested(asked) => {
            let id = asked.id.clone();
            let checked = check_has_server(session, &id).and_then(|server| match &server.state {
                McpServerState::Starting(state) if state.blocking == Some(true) => Ok(()),
                _ => Err("this MCP server is not waiting to be started".to_owned()),
            });
            let action = StateAction::SessionMcpServerBackgroundRequested(asked);
            match checked {
                Ok(()) => Verdict::Apply(action, After::ServerInBackground { id }),
                Err(reason) => Verdict::reject(action, reason),
            }
        }
        StateAction::SessionActiveClientSet(set) => {
            let checked = match set.active_client.client_id == client {
                true => check_tools(&set.active_client),
                false => Err("a client can only add itself to the active clients".to_owned()),
            };
            let is_known = session.state.active_clients.contains(&set.active_client);
            let action = StateAction::SessionActiveClientSet(set);
            match (checked, is_known) {
                (Ok(()), false) => Verdict::Apply(action, After::ClientSet),
                // Clients that say it again whenever they hear it must not
                // hear of each other.
                (Ok(()), true) => Verdict::Confirm(action, After::Nothing),
                (Err(reason), _) => Verdict::reject(action, reason),
            }
        }
        StateAction::SessionActiveClientRemoved(removed) => {
            let is_own = removed.client_id == client;
            let client = ClientId::from(&removed.client_id);
            let action = StateAction::SessionActiveClientRemoved(removed);
            match is_own {
                true => Verdict::Apply(action, After::ClientRemoved { client }),
                false => Verdict::reject(
                    action,
                    "a client can only remove itself from the active clients",
                ),
            }
        }
        StateAction::SessionDefaultChatChanged(change) => {
            let mut chats = session.state.chats.iter();
            let reason = match &change.default_chat {
                Some(uri) if chats.any(|chat| chat.resource == *uri) => None,
                Some(uri) => Some(format!("the session has no chat `{uri}`")),
                None => Some("a session always has a default chat".to_owned()),
            };
            let action = StateAction::SessionDefaultChatChanged(change);
            match reason {
                None => Verdict::Apply(action, After::Nothing),
                Some(reason) => Verdict::reject(action, reason),
            }
        }
        _ => Verdict::NotAccepted(action),
    }
}

fn check_has_server<'a>(
    session: &'a Session,
    id: &str,
) -> Result<&'a McpServerCustomization, String> {
    let server = server_in(&session.state, id);
    server.ok_or_else(|| format!("the session has no MCP server `{id}`"))
}

/// A call names its tool, so that each name stands for one of a client's tools.
pub(super) fn check_tools(client: &SessionActiveClient) -> Result<(), String> {
    let mut names = HashSet::new();
    let mut tools = client.tools.iter();
    match tools.find(|tool| !names.insert(tool.name.as_str())) {
        None => Ok(()),
        Some(tool) => Err(format!(
            "there are two tools named `{}`; give each tool of a client a name of its own",
            tool.name
        )),
    }
}
