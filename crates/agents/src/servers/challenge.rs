//! What a server says that wants a sign-in: RFC 6750's challenge, and the
//! description of the protected resource that it refers to (RFC 9728).
//!
//! *Invariant*: the resource that somebody is asked to sign in for is at the
//! server's own origin. A server could otherwise name another one's resource,
//! and be given the token for that.

use std::time::Duration;

use bytes::Bytes;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, StatusCode};
use innkeeper_protocol::newest::state::{
    McpAuthRequiredReason, McpAuthRequirement, ProtectedResourceMetadata,
};
use url::Url;

use super::web::{self, Answer, is_same_origin};

/// The largest description, and how long it may take.
const LARGEST: usize = 64 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);

/// The most scopes, and the longest text, that are passed on.
const MOST_SCOPES: usize = 64;
const LONGEST_TEXT: usize = 500;

/// What a challenge says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    metadata: Option<String>,
    scopes: Option<Vec<String>>,
    error: Option<String>,
    description: Option<String>,
}

/// The challenge in an answer, if it is one.
pub(super) fn of(answer: &Answer) -> Option<Challenge> {
    let said = answer
        .header(WWW_AUTHENTICATE)
        .map(read)
        .unwrap_or_default();
    match answer.response.status() {
        StatusCode::UNAUTHORIZED => Some(said),
        StatusCode::FORBIDDEN if said.error.as_deref() == Some("insufficient_scope") => Some(said),
        _ => None,
    }
}

/// What somebody has to sign in for, and why.
pub(super) async fn explained(url: &Url, said: Challenge, had_token: bool) -> McpAuthRequirement {
    let reason = match said.error.as_deref() {
        Some("insufficient_scope") => McpAuthRequiredReason::InsufficientScope,
        _ if had_token => McpAuthRequiredReason::Expired,
        _ => McpAuthRequiredReason::Required,
    };
    let mut resource = described(url, said.metadata.as_deref()).await;
    if let Some(scopes) = &mut resource.scopes_supported {
        scopes.truncate(MOST_SCOPES);
    }
    McpAuthRequirement {
        reason,
        oauth_client: None,
        required_scopes: said.scopes.or_else(|| resource.scopes_supported.clone()),
        resource,
        description: said.description,
    }
}

/// The description of the resource: where the challenge says that it is, else
/// where such descriptions are, else what can be said without one.
async fn described(url: &Url, said: Option<&str>) -> ProtectedResourceMetadata {
    let mut places: Vec<Url> = Vec::new();
    places.extend(said.and_then(|text| web::address(text).ok()));
    let path = url.path().trim_end_matches('/');
    for path in [path, ""] {
        let mut place = url.clone();
        place.set_query(None);
        place.set_path(&format!("/.well-known/oauth-protected-resource{path}"));
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for place in places.iter().filter(|place| is_same_origin(place, url)) {
        let fetched = tokio::time::timeout(PATIENCE, fetch(place)).await;
        if let Ok(Some(found)) = fetched
            && Url::parse(&found.resource).is_ok_and(|it| is_same_origin(&it, url))
        {
            return found;
        }
    }
    let mut resource = url.clone();
    resource.set_query(None);
    resource.set_fragment(None);
    ProtectedResourceMetadata {
        resource: resource.to_string(),
        authorization_servers: Some(vec![url.origin().ascii_serialization()]),
        resource_name: None,
        jwks_uri: None,
        scopes_supported: None,
        bearer_methods_supported: None,
        resource_signing_alg_values_supported: None,
        resource_documentation: None,
        resource_policy_uri: None,
        resource_tos_uri: None,
        required: None,
    }
}

async fn fetch(place: &Url) -> Option<ProtectedResourceMetadata> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let answer = web::send(Method::GET, place, headers, Bytes::new())
        .await
        .ok()?;
    if !answer.response.status().is_success() {
        return None;
    }
    let body = answer.body(LARGEST).await.ok()?;
    serde_json::from_slice(&body).ok()
}

/// Reads `Bearer name="value", …`.
fn read(header: &str) -> Challenge {
    let mut said = Challenge::default();
    let Some((scheme, mut rest)) = header.trim().split_once(' ') else {
        return said;
    };
    if !scheme.eq_ignore_ascii_case("bearer") {
        return said;
    }
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', ',']).to_ascii_lowercase();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        rest = after;
        let value = || Some(value.trim().chars().take(LONGEST_TEXT).collect::<String>());
        match name.as_str() {
            "resource_metadata" => said.metadata = value(),
            "error" => said.error = value(),
            "error_description" => said.description = value(),
            "scope" => {
                let value = value().unwrap_or_default();
                let scopes = value.split_whitespace().take(MOST_SCOPES);
                said.scopes = Some(scopes.map(str::to_owned).collect());
            }
            _ => {}
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_as_they_are_written_in_the_field() {
        let text = |text: &str| Some(text.to_owned());
        let cases = [
            ("Basic realm=\"x\"", Challenge::default()),
            ("Bearer", Challenge::default()),
            (
                "Bearer resource_metadata=\"https://a.example/.well-known/x\"",
                Challenge {
                    metadata: text("https://a.example/.well-known/x"),
                    ..Challenge::default()
                },
            ),
            (
                "bearer error=insufficient_scope, scope=\"a b\", error_description=\"More, please\"",
                Challenge {
                    error: text("insufficient_scope"),
                    scopes: Some(vec!["a".to_owned(), "b".to_owned()]),
                    description: text("More, please"),
                    ..Challenge::default()
                },
            ),
            (
                "Bearer error=\"invalid_token",
                Challenge {
                    error: text("invalid_token"),
                    ..Challenge::default()
                },
            ),
        ];
        for (header, expected) in cases {
            assert_eq!(read(header), expected, "{header}");
        }
    }
}
