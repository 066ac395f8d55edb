//! What sessions show of servers.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::mcp::hosted::McpOffer;
use innkeeper_protocol::newest::actions::{SessionMcpServerStateChangedAction, StateAction};
use innkeeper_protocol::newest::state::{
    ChildCustomization, Customization, Icon, McpServerAuthRequiredState, McpServerCustomization,
    McpServerCustomizationApps, McpServerErrorState, McpServerReadyState, McpServerStartingState,
    McpServerState, SessionState,
};

use super::{Phase, Server, apps, channel};
use crate::core::{Core, error_info};

/// What a server says about itself that sessions show.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Looks {
    pub(crate) icons: Vec<Icon>,
    /// For clients that can show such pages.
    pub(crate) apps: Option<McpServerCustomizationApps>,
}

impl Looks {
    pub(super) fn of(offer: &McpOffer) -> Self {
        Self {
            icons: offer.icons.clone(),
            apps: apps::apps_of(offer),
        }
    }
}

impl Server {
    pub(super) fn state(&self) -> McpServerState {
        match &self.phase {
            Phase::Starting { blocking } => McpServerState::Starting(McpServerStartingState {
                blocking: blocking.then_some(true),
            }),
            Phase::Ready => McpServerState::Ready(McpServerReadyState {}),
            Phase::AuthRequired(wants) => {
                let wants = wants.as_ref().clone();
                McpServerState::AuthRequired(Box::new(McpServerAuthRequiredState {
                    reason: wants.reason,
                    oauth_client: wants.oauth_client,
                    resource: wants.resource,
                    required_scopes: wants.required_scopes,
                    description: wants.description,
                }))
            }
            Phase::Failed(failure) => McpServerState::Error(McpServerErrorState {
                error: error_info(failure.code(), failure.to_string()),
            }),
        }
    }

    pub(super) fn channel(&self, core: &Core) -> Option<String> {
        let run = self.run.filter(|_| self.phase == Phase::Ready)?;
        Some(channel::uri_of(core, run).to_string())
    }
}

/// A session shows how a server is, if it shows the server and not that already.
pub(super) fn show(
    core: &mut Core,
    session: &ChannelUri,
    id: &str,
    state: McpServerState,
    channel: Option<String>,
) {
    let known = core.channels.session(session);
    let Some(shown) = known.and_then(|session| server_in(&session.state, id)) else {
        return;
    };
    if shown.state == state && shown.channel == channel {
        return;
    }
    let action = SessionMcpServerStateChangedAction {
        id: id.to_owned(),
        state,
        channel,
    };
    let action = StateAction::SessionMcpServerStateChanged(Box::new(action));
    core.emit(session, action, None);
}

/// A server among the customizations of a session.
pub(crate) fn server_in<'a>(
    session: &'a SessionState,
    id: &str,
) -> Option<&'a McpServerCustomization> {
    session.customizations.iter().flatten().find_map(|it| {
        let children = match it {
            Customization::McpServer(server) if server.id == id => return Some(&**server),
            Customization::Plugin(it) => it.children.as_deref(),
            Customization::Directory(it) => it.children.as_deref(),
            Customization::McpServer(_) | Customization::Unknown(_) => None,
        };
        children?.iter().find_map(|child| match child {
            ChildCustomization::McpServer(server) if server.id == id => Some(&**server),
            _ => None,
        })
    })
}
