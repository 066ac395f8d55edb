//! The strict list: the variables that any program needs to find its way, and
//! those that were named for it. Everything else stays with the host.

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

/// Whether every program gets a variable of this name.
pub(super) fn is_for_all(name: &str) -> bool {
    is_one_of(name, FOR_ALL)
}

/// Whether a name is among these; one that ends in `*` stands for all that
/// begin like it.
pub(super) fn is_one_of(name: &str, patterns: &[impl AsRef<str>]) -> bool {
    patterns
        .iter()
        .map(AsRef::as_ref)
        .any(|pattern: &str| match pattern.strip_suffix('*') {
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
            assert!(is_for_all(name), "{name}");
        }
        for name in ["PATHOLOGY", "DATABASE_PASSWORD", "AGENT_KEY"] {
            assert!(!is_for_all(name), "{name}");
        }
        assert!(is_one_of("AGENT_KEY", &["AGENT_*"]));
    }
}
