//! How clients of each version say things.

use innkeeper_engine::Limits;
use innkeeper_protocol::version::Version;
use serde_json::Value;

use crate::host::{Host, ROOT, SESSION, chat};

fn is_flat(version: Version) -> bool {
    version <= Version::V0_3
}

/// Where turns live, in a version.
pub(crate) fn place(version: Version) -> String {
    match is_flat(version) {
        true => SESSION.to_owned(),
        false => chat(),
    }
}

/// An action of the conversation in a version's words.
pub(crate) fn in_words_of(version: Version, verb: &str, mut action: Value) -> Value {
    let family = if is_flat(version) { "session" } else { "chat" };
    action["type"] = format!("{family}/{verb}").into();
    action = of_session(version, action);
    if version <= Version::V0_2
        && let Some(message) = action.as_object_mut().unwrap().remove("message")
    {
        action["userMessage"] = message;
    }
    action
}

/// An action of the session, which the drafts name in the action.
pub(crate) fn of_session(version: Version, mut action: Value) -> Value {
    if !version.names_channels_in_envelopes() {
        action["session"] = SESSION.into();
    }
    action
}

/// Connection 2 is of that version and follows the session, as connection 1.
pub(crate) fn with_onlooker(version: Version) -> Host {
    let mut host = Host::with_session(Limits::default());
    host.enter_as(version, 2, "old", &[ROOT, SESSION, &place(version)]);
    host.heard.clear();
    host
}
