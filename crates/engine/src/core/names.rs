//! Names that the host gives out: no session or chat can have one of them.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::telemetry::is_telemetry_channel;

use super::changeset_uri::CHANGESET_SCHEME;
use super::content::CONTENT_SCHEME;

pub(crate) const TERMINAL_SCHEME: &str = "ahp-terminal:";
pub(crate) const WATCH_SCHEME: &str = "ahp-resource-watch:";
pub(crate) const AUTOMATION_SCHEME: &str = "ahp-automation:";
pub(crate) const RUN_SCHEME: &str = "ahp-automation-run:";

/// Whether a name can only be that of something that is the host's own.
pub(crate) fn is_of_host(uri: &ChannelUri) -> bool {
    let schemes = [
        TERMINAL_SCHEME,
        WATCH_SCHEME,
        CHANGESET_SCHEME,
        CONTENT_SCHEME,
        AUTOMATION_SCHEME,
        RUN_SCHEME,
    ];
    *uri == ChannelUri::root()
        || *uri == ChannelUri::automations()
        || is_telemetry_channel(uri.as_str())
        || uri.session_of_annotations().is_some()
        || schemes
            .iter()
            .any(|scheme| uri.as_str().starts_with(scheme))
}
