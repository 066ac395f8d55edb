//! Signing in to servers: which resources they want tokens for, and who goes
//! on when there is one.

use innkeeper_protocol::mcp::hosted::{BearerToken, McpCommand};
use innkeeper_protocol::newest::commands::AuthenticateParams;
use innkeeper_protocol::newest::errors::{AuthRequiredErrorData, ahp_error_codes};
use innkeeper_protocol::newest::state::{McpAuthRequiredReason, McpAuthRequirement};
use innkeeper_protocol::rpc::RpcError;

use super::{Phase, Place, Servers};
use crate::core::Core;
use crate::effect::Effect;

/// Tokens that are kept at a time; sessions come and go.
const MOST_TOKENS: usize = 256;

/// A token, and what it is good for as far as its client knows.
#[derive(Debug, Clone)]
pub(super) struct Granted {
    pub(super) token: BearerToken,
    scopes: Option<Vec<String>>,
}

impl Granted {
    /// Whether a token may be what a server wants: only the server knows for
    /// sure.
    pub(super) fn satisfies(&self, wants: &McpAuthRequirement) -> bool {
        self.missing(wants).is_empty()
    }

    fn missing<'a>(&self, wants: &'a McpAuthRequirement) -> Vec<&'a str> {
        let Some(scopes) = &self.scopes else {
            return Vec::new();
        };
        let wanted = wants.required_scopes.iter().flatten();
        let missing = wanted.filter(|scope| !scopes.contains(scope));
        missing.map(String::as_str).collect()
    }
}

impl Servers {
    /// Whether a server has asked for a token for this resource.
    pub(crate) fn want_token(&self, resource: &str) -> bool {
        let mut servers = self.known.values();
        servers.any(|server| server.resource.as_deref() == Some(resource))
            || self.tokens.contains_key(resource)
    }

    /// Takes a token, or an empty one for none. Servers that waited for it
    /// begin, and tool calls that did go on, as far as the token is known to
    /// grant what they want. One that is known to be of no use is refused.
    pub(crate) fn authenticate(
        &mut self,
        core: &mut Core,
        params: &AuthenticateParams,
    ) -> Result<(), RpcError> {
        let AuthenticateParams {
            resource,
            token,
            scopes,
            ..
        } = params;
        if token.is_empty() {
            self.tokens.remove(resource);
            return Ok(());
        }
        let granted = Granted {
            token: BearerToken(token.clone()),
            scopes: scopes.clone(),
        };
        self.check_of_use(resource, &granted)?;
        if !self.tokens.contains_key(resource) && self.tokens.len() >= MOST_TOKENS {
            self.tokens.pop_first();
        }
        let token = granted.token.clone();
        self.tokens.insert(resource.clone(), granted.clone());
        let concerned = self.known.iter();
        let concerned: Vec<Place> = concerned
            .filter(|(_, server)| server.resource.as_ref() == Some(resource))
            .map(|(place, _)| place.clone())
            .collect();
        for place in concerned {
            let Some(server) = self.known.get_mut(&place) else {
                continue;
            };
            match (&server.phase, server.run) {
                (Phase::AuthRequired(wants), _) if !granted.satisfies(wants) => {}
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
        Ok(())
    }

    /// A token is of no use if all that waits for it wants more than it grants.
    fn check_of_use(&self, resource: &str, granted: &Granted) -> Result<(), RpcError> {
        let servers = self
            .known
            .values()
            .filter_map(|server| match &server.phase {
                Phase::AuthRequired(wants) => Some(&**wants),
                Phase::Starting { .. } | Phase::Ready | Phase::Failed(_) => None,
            });
        let calls = self.blocked.iter().map(|blocked| &*blocked.wants);
        let waiting = servers.chain(calls);
        let waiting: Vec<&McpAuthRequirement> = waiting
            .filter(|wants| wants.resource.resource == resource)
            .collect();
        let Some(first) = waiting.first() else {
            return Ok(());
        };
        if waiting.iter().any(|wants| granted.satisfies(wants)) {
            return Ok(());
        }
        let missing = granted.missing(first).join(", ");
        let message = format!(
            "the token for {resource} does not grant what the MCP server wants ({missing}); sign in \
             with these scopes"
        );
        Err(auth_required(message, first))
    }

    /// A request was refused for want of a token: one that was good no longer
    /// is forgotten. Returns the error for whoever asked.
    pub(super) fn challenged(&mut self, wants: &McpAuthRequirement) -> RpcError {
        if wants.reason == McpAuthRequiredReason::Expired {
            self.tokens.remove(&wants.resource.resource);
        }
        let resource = &wants.resource.resource;
        let message = format!("the MCP server needs a token for {resource}; send `authenticate`");
        auth_required(message, wants)
    }
}

fn auth_required(message: String, wants: &McpAuthRequirement) -> RpcError {
    let resources = vec![wants.resource.clone()];
    RpcError::new(ahp_error_codes::AUTH_REQUIRED, message)
        .with_data(AuthRequiredErrorData { resources })
}
