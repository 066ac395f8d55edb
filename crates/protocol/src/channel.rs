//! Channel URIs: the names of everything that a client can subscribe to.
//!
//! A session's URI is chosen by the client and may have any scheme, so the
//! kind of a channel is never read off its URI: the engine's tables know it.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

/// The URI of a channel. Cloning it is cheap: one is attached to every action.
#[derive(Clone, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
#[expect(
    clippy::derived_hash_with_manual_eq,
    reason = "equality is the same, only faster"
)]
pub struct ChannelUri(Arc<str>);

/// Most URIs that are compared are clones of one.
impl PartialEq for ChannelUri {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

/// What a session's URI and that of its annotations differ in. Clients of older
/// versions compute it.
const ANNOTATIONS: &str = "/annotations";

/// The catalogue of automations.
const AUTOMATIONS: &str = "ahp-automations://";

impl ChannelUri {
    /// The channel that every host has.
    pub fn root() -> Self {
        Self::from(crate::newest::ROOT_RESOURCE_URI)
    }

    /// The catalogue of automations, which every host has.
    pub fn automations() -> Self {
        Self::from(AUTOMATIONS)
    }

    /// The chat that a session starts with.
    ///
    /// Clients compute this URI themselves instead of reading it from the
    /// session's state, so its form is fixed.
    pub fn default_chat_of(session: &str) -> Self {
        Self::from(format!(
            "ahp-chat://default/{}",
            URL_SAFE_NO_PAD.encode(session)
        ))
    }

    /// The session whose default chat this would be, if it has that form.
    pub fn session_of_default_chat(&self) -> Option<Self> {
        let encoded = self.0.strip_prefix("ahp-chat://default/")?;
        let bytes = URL_SAFE_NO_PAD.decode(encoded).ok()?;
        String::from_utf8(bytes).ok().map(Self::from)
    }

    /// Where a session's annotations are.
    pub fn annotations_of(session: &str) -> Self {
        Self::from(format!("{session}{ANNOTATIONS}"))
    }

    /// The session whose annotations these would be, if it has that form.
    pub fn session_of_annotations(&self) -> Option<Self> {
        self.0.strip_suffix(ANNOTATIONS).map(Self::from)
    }

    /// The chat in which another agent works for a tool call. Clients compute
    /// this URI, too.
    pub fn of_delegate(session: &str, call: &str) -> Self {
        let session = URL_SAFE_NO_PAD.encode(session);
        Self::from(format!(
            "ahp-chat://subagent/{session}/{}",
            path_segment(call)
        ))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Any text as one segment of a URI's path.
pub fn path_segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                segment.push(char::from(byte));
            }
            other => segment.push_str(&format!("%{other:02X}")),
        }
    }
    segment
}

impl fmt::Debug for ChannelUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ChannelUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for ChannelUri {
    fn from(uri: &str) -> Self {
        Self(Arc::from(uri))
    }
}

impl From<String> for ChannelUri {
    fn from(uri: String) -> Self {
        Self(Arc::from(uri))
    }
}

impl Borrow<str> for ChannelUri {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_chat_is_the_session_in_unpadded_base64url() {
        let chat = ChannelUri::default_chat_of("ahp-session:/1");
        assert_eq!(chat.as_str(), "ahp-chat://default/YWhwLXNlc3Npb246LzE");
        assert_eq!(
            chat.session_of_default_chat(),
            Some(ChannelUri::from("ahp-session:/1"))
        );
    }

    #[test]
    fn other_uris_are_nobodys_default_chat() {
        for uri in ["ahp-chat:/x", "ahp-chat://default/%", "ahp-root://"] {
            assert_eq!(ChannelUri::from(uri).session_of_default_chat(), None);
        }
    }
}
