//! The channels of servers (`mcp:`), on which clients ask a server something
//! themselves and hear what it says of its own accord. They have no state.
//!
//! What is passed on is what the server offers, and nothing that would begin
//! or end its conversation with the host.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::command::McpRequest;
use innkeeper_protocol::mcp::hosted::{McpCommand, ServerRun};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::outgoing::{HostMessage, McpNotificationParams, Notification};
use innkeeper_protocol::rpc::{RequestId, RpcError};

use super::{Phase, Servers};
use crate::core::Core;
use crate::effect::{ConnectionId, Effect};

/// What each capability of a server lets clients ask.
const METHODS: &[(&str, &[&str])] = &[
    ("tools", &["tools/list", "tools/call"]),
    (
        "resources",
        &[
            "resources/list",
            "resources/read",
            "resources/templates/list",
        ],
    ),
    ("prompts", &["prompts/list", "prompts/get"]),
    ("completions", &["completion/complete"]),
    ("logging", &["logging/setLevel"]),
];

/// What clients may tell a server.
const NOTIFICATIONS: &[&str] = &["notifications/message"];

/// What servers say that is for clients.
const SAID: &[&str] = &[
    "notifications/message",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/tools/list_changed",
];

/// The channel of a run. No other run has had it, in any life.
pub(super) fn uri_of(core: &Core, run: ServerRun) -> ChannelUri {
    ChannelUri::from(format!("mcp://{}/{}", core.config.nonce, run.0))
}

/// Those who listen hear what a server said.
pub(super) fn publish(core: &mut Core, run: ServerRun, method: String, params: Option<JsonObject>) {
    if !SAID.contains(&method.as_str()) {
        return;
    }
    let channel = uri_of(core, run);
    if let Some(to) = core.subscriptions.of_channel(&channel) {
        let params = McpNotificationParams {
            channel: channel.to_string(),
            method,
            params,
        };
        let message = HostMessage::Notification(Box::new(Notification::Mcp(params)));
        core.effect(Effect::Publish { to, message });
    }
}

impl Servers {
    /// Whether there is such a channel.
    pub(crate) fn has_channel(&self, core: &Core, channel: &str) -> bool {
        self.run_of(core, channel).is_some()
    }

    fn run_of(&self, core: &Core, channel: &str) -> Option<ServerRun> {
        let (nonce, run) = channel.strip_prefix("mcp://")?.split_once('/')?;
        let run = ServerRun(run.parse().ok().filter(|_| nonce == core.config.nonce)?);
        let server = self.known.get(self.by_run.get(&run)?)?;
        (server.phase == Phase::Ready).then_some(run)
    }

    /// A client asks a server something, or tells it.
    pub(crate) fn pass_on(
        &mut self,
        core: &mut Core,
        (connection, id): (ConnectionId, Option<RequestId>),
        request: McpRequest,
    ) {
        let passed = self.try_to_pass_on(core, (connection, id.clone()), request);
        if let Err(error) = passed {
            core.answer(connection, id, Err(error));
        }
    }

    fn try_to_pass_on(
        &mut self,
        core: &mut Core,
        (connection, id): (ConnectionId, Option<RequestId>),
        request: McpRequest,
    ) -> Result<(), RpcError> {
        let McpRequest {
            channel,
            method,
            params,
        } = request;
        let run = self.run_of(core, &channel);
        let run = run.ok_or_else(|| RpcError::not_found(&channel))?;
        let Some(id) = id else {
            if NOTIFICATIONS.contains(&method.as_str()) {
                let command = McpCommand::Notify {
                    run,
                    method,
                    params,
                };
                core.effect(Effect::Mcp(command));
            }
            return Ok(());
        };
        let place = self.by_run.get(&run);
        let server = place.and_then(|place| self.known.get(place));
        let offers =
            |name: &str| server.is_some_and(|server| server.offer.capabilities.contains_key(name));
        let mut offered = METHODS.iter().filter(|(name, _)| offers(name));
        if method != "ping" && !offered.any(|(_, methods)| methods.contains(&method.as_str())) {
            return Err(RpcError::new(
                innkeeper_protocol::newest::errors::json_rpc_error_codes::METHOD_NOT_FOUND,
                format!("the MCP server offers no `{method}` on this channel"),
            ));
        }
        self.ask_for_client(core, run, (connection, id), (method, params))
    }
}
