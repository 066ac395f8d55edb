//! Tokens for the protected resources that agents need. They live in memory
//! only, and go nowhere but to the agents that ask for them.

use std::fmt;
use std::time::Duration;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{AuthReason, Credential};
use innkeeper_protocol::newest::commands::AuthenticateParams;
use innkeeper_protocol::newest::errors::{AuthRequiredErrorData, ahp_error_codes};
use innkeeper_protocol::newest::notifications::{AuthRequiredParams, AuthRequiredReason};
use innkeeper_protocol::newest::state::ProtectedResourceMetadata;
use innkeeper_protocol::outgoing::Notification;
use innkeeper_protocol::rpc::RpcError;

use super::Agents;
use crate::core::{Core, Deadline};

pub(super) struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Agents {
    /// Takes a token. Returns it for the agents that wait for it.
    pub(crate) fn authenticate(
        &mut self,
        core: &mut Core,
        params: AuthenticateParams,
    ) -> Result<Option<Credential>, RpcError> {
        let AuthenticateParams {
            resource,
            token,
            expires_in,
            ..
        } = params;
        if self.protected_resource(&resource).is_none() {
            return Err(RpcError::invalid_params(format!(
                "no agent and no MCP server of this host needs a token for `{resource}`"
            )));
        }
        if token.is_empty() {
            self.remove(core, &resource);
            return Ok(None);
        }
        let expires_at = match expires_in.map(u64::try_from) {
            None => None,
            Some(Ok(seconds)) if seconds > 0 => Some(core.now.after(Duration::from_secs(seconds))),
            Some(_) => {
                return Err(RpcError::invalid_params(
                    "`expiresIn` must be a positive number of seconds",
                ));
            }
        };
        self.remove(core, &resource);
        self.tokens.insert(resource.clone(), Token(token.clone()));
        if let Some(expires_at) = expires_at {
            let deadline = Deadline::TokenExpires(resource.clone());
            core.deadlines.set(deadline, expires_at);
        }
        Ok(Some(Credential { resource, token }))
    }

    /// Whether an agent has the tokens without which it cannot begin.
    pub(crate) fn check_authenticated(&self, provider: &str) -> Result<(), RpcError> {
        let missing: Vec<ProtectedResourceMetadata> = self
            .resources_of(provider)
            .filter(|resource| resource.required != Some(false))
            .filter(|resource| !self.tokens.contains_key(&resource.resource))
            .cloned()
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = missing.iter().map(|r| r.resource.as_str()).collect();
        let message = format!(
            "`{provider}` needs a token for {}; send `authenticate` first",
            names.join(", ")
        );
        Err(RpcError::new(ahp_error_codes::AUTH_REQUIRED, message)
            .with_data(AuthRequiredErrorData { resources: missing }))
    }

    pub(crate) fn credentials_for(&self, provider: &str) -> Vec<Credential> {
        self.resources_of(provider)
            .filter_map(|resource| {
                let token = self.tokens.get(&resource.resource)?;
                Some(Credential {
                    resource: resource.resource.clone(),
                    token: token.0.clone(),
                })
            })
            .collect()
    }

    /// An agent was refused with the token that it had, or has none.
    pub(crate) fn token_refused(&mut self, core: &mut Core, resource: &str, reason: AuthReason) {
        self.remove(core, resource);
        let reason = match reason {
            AuthReason::Missing => AuthRequiredReason::Required,
            AuthReason::Expired => AuthRequiredReason::Expired,
        };
        self.require_token(core, resource, reason);
    }

    pub(crate) fn token_expired(&mut self, core: &mut Core, resource: &str) {
        self.remove(core, resource);
        self.require_token(core, resource, AuthRequiredReason::Expired);
    }

    fn remove(&mut self, core: &mut Core, resource: &str) {
        if self.tokens.remove(resource).is_some() {
            let deadline = Deadline::TokenExpires(resource.to_owned());
            core.deadlines.clear(&deadline);
        }
    }

    fn require_token(&self, core: &mut Core, resource: &str, reason: AuthRequiredReason) {
        if let Some(resource) = self.protected_resource(resource).cloned() {
            core.notify_root(Notification::AuthRequired(AuthRequiredParams {
                channel: ChannelUri::root().to_string(),
                resource,
                reason: Some(reason),
            }));
        }
    }

    fn resources_of(&self, provider: &str) -> impl Iterator<Item = &ProtectedResourceMetadata> {
        let agents = self.profiles.iter();
        agents
            .filter(move |agent| agent.info.provider == provider)
            .flat_map(|agent| agent.info.protected_resources.iter().flatten())
    }

    fn protected_resource(&self, resource: &str) -> Option<&ProtectedResourceMetadata> {
        let agents = self.profiles.iter();
        agents
            .flat_map(|agent| agent.info.protected_resources.iter().flatten())
            .find(|known| known.resource == resource)
    }

    /// Whether an agent needs a token for a resource.
    pub(crate) fn needs_token(&self, provider: &str, resource: &str) -> bool {
        let mut needed = self.resources_of(provider);
        needed.any(|known| known.resource == resource)
    }
}
