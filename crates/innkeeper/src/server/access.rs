//! Who may talk to the host: the connection token, and the `Host` and
//! `Origin` headers that tell a program of the user from a web page somewhere
//! that tries to reach a local port.

mod devices;

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use axum::http::{HeaderMap, StatusCode, header};
use subtle::ConstantTimeEq as _;

pub(crate) use devices::Caller;
pub use devices::DeviceToken;

/// The secret that a client must present. Never printed by accident.
#[derive(Clone)]
pub struct ConnectionToken(String);

impl ConnectionToken {
    /// A token that has fewer characters is for this machine only.
    pub const SHORTEST: usize = 16;

    pub fn new(secret: impl Into<String>) -> Option<Self> {
        let secret = secret.into();
        // What stands in an address as it is, so that nobody has to escape it.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
        let usable = !secret.is_empty() && secret.chars().all(plain);
        usable.then_some(Self(secret))
    }

    /// The token of a data directory: made once, then kept.
    pub fn of_directory(directory: &Path) -> io::Result<Self> {
        let path = directory.join("token");
        match fs::read_to_string(&path) {
            Ok(text) => Self::new(text.trim()).ok_or_else(|| {
                let reason = format!("{} holds no token; delete it", path.display());
                io::Error::new(io::ErrorKind::InvalidData, reason)
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::create(&path),
            Err(error) => Err(error),
        }
    }

    fn create(path: &Path) -> io::Result<Self> {
        let token = Self::random()?;
        write_private(path, &token.0)?;
        Ok(token)
    }

    /// A token that nobody has.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self(secret))
    }

    /// Whether it is so short that somebody could find it by trying.
    pub fn is_short(&self) -> bool {
        self.0.len() < Self::SHORTEST
    }

    /// The secret itself, for the addresses that are shown to the user.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn matches(&self, presented: &str) -> bool {
        self.0.as_bytes().ct_eq(presented.as_bytes()).into()
    }
}

impl fmt::Debug for ConnectionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectionToken(…)")
    }
}

/// Writes a new file that only its owner may read, without a moment in which
/// others could. What is there already is neither written to nor followed.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}

/// What is let in.
#[derive(Debug, Clone)]
pub struct AccessPolicy {
    pub token: Option<ConnectionToken>,
    /// Others that are let in, where a token is needed.
    pub devices: Vec<DeviceToken>,
    /// Names by which this host may be called, besides those it knows.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may connect, besides the host's own.
    pub allowed_origins: Vec<String>,
}

/// A request that is turned away, with what its sender can do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Refusal {
    fn forbidden(message: String) -> Self {
        let status = StatusCode::FORBIDDEN;
        Self { status, message }
    }
}

/// By which a proxy says for whom it asks.
const OF_PROXIES: [&str; 6] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
];

/// Whether this is what a machine calls itself.
fn is_this_machine(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl AccessPolicy {
    /// Whether a request comes from where requests may come from.
    pub(crate) fn check_source(
        &self,
        bound: SocketAddr,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        let host = headers
            .get(header::HOST)
            .and_then(|host| host.to_str().ok());
        let Some(host) = host else {
            return Err(Refusal {
                status: StatusCode::BAD_REQUEST,
                message: "the request names no host".to_owned(),
            });
        };
        if !self.knows_host(bound.ip(), host_name(host)) {
            return Err(Refusal::forbidden(format!(
                "this host does not answer to `{host}`; add the name to server.allowed_hosts"
            )));
        }
        let Some(origin) = headers.get(header::ORIGIN) else {
            return Ok(());
        };
        let origin = origin.to_str().unwrap_or("null");
        if self.knows_origin(host, origin) {
            return Ok(());
        }
        Err(Refusal::forbidden(format!(
            "web pages from `{origin}` may not connect; add it to server.allowed_origins"
        )))
    }

    fn knows_host(&self, bound: IpAddr, name: &str) -> bool {
        let listed = self
            .allowed_hosts
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(name));
        // Whoever names an address does not depend on a name service that
        // somebody else controls.
        let by_address = !bound.is_loopback() && name.parse::<IpAddr>().is_ok();
        let own_name = || {
            let own = gethostname::gethostname();
            own.to_str()
                .is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        listed || is_this_machine(name) || by_address || (!bound.is_loopback() && own_name())
    }

    /// Whether a request was meant for this machine by whoever made it. One
    /// that was made elsewhere tells of the proxy that passed it on, or calls
    /// this host by a name that others know it by.
    pub(crate) fn is_from_here(headers: &HeaderMap) -> bool {
        let host = headers.get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok());
        !OF_PROXIES.iter().any(|name| headers.contains_key(*name))
            && host.is_some_and(|host| is_this_machine(host_name(host)))
    }

    fn knows_origin(&self, host: &str, origin: &str) -> bool {
        let own = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        let editor =
            origin.starts_with("vscode-webview://") || origin == "vscode-file://vscode-app";
        own.is_some_and(|own| own.eq_ignore_ascii_case(host))
            || editor
            || self.allowed_origins.iter().any(|allowed| allowed == origin)
    }

    /// Whose token a request carries, in its query or its header.
    pub(crate) fn check_token(
        &self,
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Caller, Refusal> {
        let Some(token) = &self.token else {
            return Ok(Caller::Owner);
        };
        let bearer = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        let in_query = query
            .unwrap_or_default()
            .split('&')
            .find_map(|pair| pair.strip_prefix("tkn="));
        let presented = bearer.map(str::trim).or(in_query);
        if presented.is_some_and(|presented| token.matches(presented)) {
            return Ok(Caller::Owner);
        }
        let device = presented.and_then(|presented| DeviceToken::find(&self.devices, presented));
        if let Some(device) = device {
            return Ok(Caller::Device(device.clone()));
        }
        Err(Refusal {
            status: StatusCode::UNAUTHORIZED,
            message: "the connection token is missing or wrong; present it as ?tkn=… or as \
                      `Authorization: Bearer …`"
                .to_owned(),
        })
    }
}

/// The name in a `Host` header, without port and brackets.
fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').map_or(rest, |(name, _)| name);
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> AccessPolicy {
        AccessPolicy {
            token: ConnectionToken::new("secret"),
            devices: Vec::new(),
            allowed_hosts: vec!["box.example".to_owned()],
            allowed_origins: vec!["https://app.example".to_owned()],
        }
    }

    fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), value.parse().unwrap()))
            .collect()
    }

    fn source(bound: &str, host: &str, origin: Option<&str>) -> bool {
        let mut pairs = vec![(header::HOST, host)];
        pairs.extend(origin.map(|origin| (header::ORIGIN, origin)));
        access()
            .check_source(bound.parse().unwrap(), &headers(&pairs))
            .is_ok()
    }

    #[test]
    fn a_local_host_answers_to_local_names_only() {
        let here = "127.0.0.1:8137";
        for host in [
            "127.0.0.1:8137",
            "localhost:8137",
            "[::1]:8137",
            "a.localhost",
            "box.example",
        ] {
            assert!(source(here, host, None), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8137",
            "192.0.2.1",
            "localhost.evil.example",
            "",
        ] {
            assert!(!source(here, host, None), "{host}");
        }
    }

    #[test]
    fn an_open_host_answers_to_its_addresses() {
        assert!(source("0.0.0.0:8137", "192.0.2.1:8137", None));
        assert!(!source("0.0.0.0:8137", "evil.example", None));
    }

    #[test]
    fn web_pages_connect_from_the_host_itself_or_from_where_it_was_allowed() {
        let from = |origin| source("127.0.0.1:1", "127.0.0.1:1", Some(origin));
        for origin in [
            "http://127.0.0.1:1",
            "https://app.example",
            "vscode-webview://x",
        ] {
            assert!(from(origin), "{origin}");
        }
        for origin in [
            "http://127.0.0.1:2",
            "http://localhost:1",
            "https://evil.example",
            "null",
        ] {
            assert!(!from(origin), "{origin}");
        }
    }

    #[test]
    fn the_token_is_taken_from_the_query_or_the_header() {
        let ok = |query, pairs| access().check_token(query, &headers(pairs)).is_ok();
        assert!(ok(Some("tkn=secret"), &[]));
        assert!(ok(Some("a=b&tkn=secret&c=d"), &[]));
        assert!(ok(None, &[(header::AUTHORIZATION, "Bearer secret")]));
        for query in [
            "tkn=",
            "tkn=secre",
            "tkn=secrets",
            "token=secret",
            "xtkn=secret",
        ] {
            assert!(!ok(Some(query), &[]), "{query}");
        }
        assert!(!ok(None, &[]));
        assert!(!ok(None, &[(header::AUTHORIZATION, "Basic secret")]));
    }

    #[test]
    fn a_device_is_known_by_its_own_token() {
        let phone = ConnectionToken::new("of-the-phone").unwrap();
        let device = DeviceToken::new("phone", &phone, true);
        let access = AccessPolicy {
            devices: vec![device.clone()],
            ..access()
        };
        let whose = |query| access.check_token(Some(query), &HeaderMap::new()).ok();
        assert_eq!(whose("tkn=secret"), Some(Caller::Owner));
        assert_eq!(whose("tkn=of-the-phone"), Some(Caller::Device(device)));
        assert_eq!(whose("tkn=of-the-phon"), None);
        assert!(!format!("{access:?}").contains("of-the-phone"));
    }

    #[test]
    fn a_token_can_stand_in_an_address_as_it_is() {
        assert!(ConnectionToken::new("aZ0-._~").is_some());
        for secret in ["", "a b", "a&b", "a#b", "a%20", "a+b", "é", "a\n"] {
            assert!(ConnectionToken::new(secret).is_none(), "{secret}");
        }
    }

    #[test]
    fn a_token_is_made_once_and_only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let first = ConnectionToken::of_directory(directory.path()).unwrap();
        let second = ConnectionToken::of_directory(directory.path()).unwrap();
        assert_eq!(first.reveal(), second.reveal());
        assert!(first.reveal().len() >= 32);
        let mode = fs::metadata(directory.path().join("token"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(!format!("{first:?}").contains(first.reveal()));
    }
}
