//! Tokens of clients that an agent takes from its environment.

use innkeeper_protocol::agent::Credential;
use innkeeper_protocol::newest::state::ProtectedResourceMetadata;

use super::Access;

/// A token that an agent can use, and the variable in which it looks for it. It
/// can be signed in without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenFor {
    pub resource: &'static str,
    pub name: &'static str,
    /// Who gives out such tokens.
    pub authorization_server: &'static str,
    pub scopes: &'static [&'static str],
    pub variable: &'static str,
}

impl TokenFor {
    /// What clients are told of it.
    pub(crate) fn as_resource(&self) -> ProtectedResourceMetadata {
        let scopes = self.scopes.iter().map(|&scope| scope.to_owned());
        ProtectedResourceMetadata {
            resource: self.resource.to_owned(),
            resource_name: Some(self.name.to_owned()),
            authorization_servers: Some(vec![self.authorization_server.to_owned()]),
            scopes_supported: Some(scopes.collect()),
            required: Some(false),
            jwks_uri: None,
            bearer_methods_supported: None,
            resource_signing_alg_values_supported: None,
            resource_documentation: None,
            resource_policy_uri: None,
            resource_tos_uri: None,
        }
    }
}

impl Access {
    /// A client gave a token; processes that start from now on have it.
    pub(super) fn take_token(&self, credential: &Credential) {
        let meant = self.token_for.as_ref();
        if let Some(meant) = meant.filter(|it| it.resource == credential.resource) {
            self.keys.take_token(meant.variable, &credential.token);
        }
    }
}
