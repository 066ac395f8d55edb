//! Signing in to servers: which resources they want tokens for, and who goes
//! on when there is one.

use innkeeper_protocol::mcp::hosted::{BearerToken, McpCommand};
use innkeeper_protocol::newest::errors::{AuthRequiredErrorData, ahp_error_codes};
use innkeeper_protocol::newest::state::{McpAuthRequiredReason, McpAuthRequirement};
use innkeeper_protocol::rpc::RpcError;

use super::{Phase, Place, Servers};
use crate::core::Core;
use crate::effect::Effect;

/// Tokens that are kept at a time; sessions come and go.
const MOST_TOKENS: usize = 256;

impl Servers {
    /// Whether a server has asked for a token for this resource.
    pub(crate) fn want_token(&self, resource: &str) -> bool {
        let mut servers = self.known.values();
        servers.any(|server| server.resource.as_deref() == Some(resource))
            || self.tokens.contains_key(resource)
    }

    /// Takes a token, or an empty one for none. Servers that waited for it
    /// begin, and tool calls that did go on.
    pub(crate) fn authenticate(&mut self, core: &mut Core, resource: &str, token: &str) {
        if token.is_empty() {
            self.tokens.remove(resource);
            return;
        }
        if !self.tokens.contains_key(resource) && self.tokens.len() >= MOST_TOKENS {
            self.tokens.pop_first();
        }
        let token = BearerToken(token.to_owned());
        self.tokens.insert(resource.to_owned(), token.clone());
        let concerned = self.known.iter();
        let concerned: Vec<Place> = concerned
            .filter(|(_, server)| server.resource.as_deref() == Some(resource))
            .map(|(place, _)| place.clone())
            .collect();
        for place in concerned {
            let Some(server) = self.known.get_mut(&place) else {
                continue;
            };
            match (&server.phase, server.run) {
                (Phase::AuthRequired(_), _) => self.begin_run(core, &place, false),
                (_, Some(run)) => {
                    server.has_token = true;
                    let token = token.clone();
                    core.effect(Effect::Mcp(McpCommand::Authorize { run, token }));
                }
                (_, None) => {}
            }
        }
        self.call_again(core);
    }

    /// A request was refused for want of a token: one that was good no longer
    /// is forgotten. Returns the error for whoever asked.
    pub(super) fn challenged(&mut self, wants: &McpAuthRequirement) -> RpcError {
        if wants.reason == McpAuthRequiredReason::Expired {
            self.tokens.remove(&wants.resource.resource);
        }
        let resource = &wants.resource.resource;
        let message = format!("the MCP server needs a token for {resource}; send `authenticate`");
        let resources = vec![wants.resource.clone()];
        RpcError::new(ahp_error_codes::AUTH_REQUIRED, message)
            .with_data(AuthRequiredErrorData { resources })
    }
}
