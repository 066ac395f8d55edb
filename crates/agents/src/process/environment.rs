//! Which variables of the host's environment a program gets: those that any
//! program needs to find its way, and those that were named for it. Everything
//! else, such as secrets that were meant for the host, stays here.

use std::ffi::OsString;

/// What every program may know.
const FOR_ALL: &[&str] = &[
    "COLORTERM",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "PATH",
    "SHELL",
    "SSH_AUTH_SOCK",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "WAYLAND_DISPLAY",
    "XDG_*",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// The host's variables that a program gets.
pub(crate) fn inherited(also: &[String]) -> Vec<(OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(|name| passes(name, also)))
        .collect()
}

fn passes(name: &str, also: &[String]) -> bool {
    let patterns = FOR_ALL.iter().copied();
    patterns
        .chain(also.iter().map(String::as_str))
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == pattern,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_passes() {
        for name in ["PATH", "LC_ALL", "XDG_DATA_HOME"] {
            assert!(passes(name, &[]), "{name}");
        }
        for name in ["PATHOLOGY", "DATABASE_PASSWORD", "AGENT_KEY"] {
            assert!(!passes(name, &[]), "{name}");
        }
        assert!(passes("AGENT_KEY", &["AGENT_*".to_owned()]));
    }
}
