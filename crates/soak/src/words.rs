//! What clients say, in the words of each protocol version.

use innkeeper_judges::age;
use innkeeper_protocol::ChannelUri;
use serde_json::{Value, json};

/// How one version says things.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words(pub(crate) &'static str);

impl Words {
    fn before(self, version: &str) -> bool {
        age(self.0) < age(version)
    }

    /// The drafts name what an action is about in the action itself.
    pub(crate) fn is_draft(self) -> bool {
        self.before("0.2")
    }

    /// Whether turns live on the session's own channel.
    pub(crate) fn is_flat(self) -> bool {
        self.before("0.4")
    }

    pub(crate) fn has_drafts_of_messages(self) -> bool {
        !self.before("0.5")
    }

    /// The channel of a session's turns.
    pub(crate) fn place(self, session: &str) -> String {
        match self.is_flat() {
            true => session.to_owned(),
            false => ChannelUri::default_chat_of(session).to_string(),
        }
    }

    pub(crate) fn initialize(self, id: &str) -> Value {
        match self.0 {
            "draft 1" => json!({"clientId": id, "protocolVersion": 1}),
            "0.5" => {
                json!({"channel": "ahp-root://", "clientId": id, "protocolVersions": ["0.5.2"]})
            }
            version => json!({
                "channel": "ahp-root://", "clientId": id,
                "protocolVersions": [format!("{version}.0")],
            }),
        }
    }

    pub(crate) fn reconnect(self, id: &str, seen: u64, channels: &[String]) -> Value {
        let mut params = json!({
            "clientId": id, "lastSeenServerSeq": seen, "subscriptions": channels,
        });
        if !self.is_draft() {
            params["channel"] = "ahp-root://".into();
        }
        params
    }

    pub(crate) fn subscribe(self, channel: &str) -> Value {
        match self.is_draft() {
            true => json!({"resource": channel}),
            false => json!({"channel": channel}),
        }
    }

    /// A request that every version has and that changes nothing.
    pub(crate) fn list(self) -> (&'static str, Value) {
        let params = match self.is_draft() {
            true => json!({}),
            false => json!({"channel": "ahp-root://"}),
        };
        ("listSessions", params)
    }

    pub(crate) fn about(self, session: &str) -> Value {
        match self.is_draft() {
            true => json!({"session": session}),
            false => json!({"channel": session}),
        }
    }

    pub(crate) fn create(self, session: &str, provider: &str, directory: Option<&str>) -> Value {
        let mut params = self.about(session);
        params["provider"] = provider.into();
        if let Some(directory) = directory {
            match self.before("0.7") {
                true => params["workingDirectory"] = directory.into(),
                false => params["workingDirectories"] = json!([directory]),
            }
        }
        params
    }

    /// Channel and action, for something about a session itself.
    pub(crate) fn of_session(
        self,
        session: &str,
        verb: &str,
        mut action: Value,
    ) -> (String, Value) {
        action["type"] = format!("session/{verb}").into();
        if self.is_draft() {
            action["session"] = session.into();
        }
        (session.to_owned(), action)
    }

    /// Channel and action, for something about a session's turns.
    pub(crate) fn of_turns(self, session: &str, verb: &str, mut action: Value) -> (String, Value) {
        let family = if self.is_flat() { "session" } else { "chat" };
        action["type"] = format!("{family}/{verb}").into();
        if self.is_draft() {
            action["session"] = session.into();
        }
        (self.place(session), action)
    }

    fn with_message(self, mut action: Value, text: &str) -> Value {
        match self.before("0.3") {
            true => action["userMessage"] = json!({"text": text}),
            false => action["message"] = message(text),
        }
        action
    }

    pub(crate) fn turn(self, session: &str, turn: &str, text: &str) -> (String, Value) {
        let mut action = self.with_message(json!({"turnId": turn}), text);
        if !self.before("0.6") {
            action["startedAt"] = "2026-01-01T00:00:00.000Z".into();
        }
        self.of_turns(session, "turnStarted", action)
    }

    pub(crate) fn queued(self, session: &str, id: &str, text: &str) -> (String, Value) {
        let action = self.with_message(json!({"kind": "queued", "id": id}), text);
        self.of_turns(session, "pendingMessageSet", action)
    }

    pub(crate) fn cancel(self, session: &str, turn: &str) -> (String, Value) {
        let mut action = json!({"turnId": turn});
        if !self.before("0.6") {
            action["duration"] = 0.into();
        }
        self.of_turns(session, "turnCancelled", action)
    }

    pub(crate) fn confirm(self, session: &str, turn: &str, call: &str) -> (String, Value) {
        let action = json!({
            "turnId": turn, "toolCallId": call, "approved": true, "confirmed": "user-action",
        });
        self.of_turns(session, "toolCallConfirmed", action)
    }

    pub(crate) fn draft(self, session: &str, text: &str) -> (String, Value) {
        self.of_turns(session, "draftChanged", json!({"draft": message(text)}))
    }
}

fn message(text: &str) -> Value {
    json!({"text": text, "origin": {"kind": "user"}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use innkeeper_judges::{VERSIONS, mirror};

    #[test]
    fn every_version_can_read_what_its_clients_say() {
        for version in VERSIONS {
            let (words, judge) = (Words(version), mirror(version).unwrap());
            let mut said = vec![
                words.turn("x:s", "t", "text"),
                words.queued("x:s", "q", "text"),
                words.cancel("x:s", "t"),
                words.confirm("x:s", "t", "c"),
                words.of_session("x:s", "titleChanged", json!({"title": "t"})),
                words.of_session("x:s", "isArchivedChanged", json!({"isArchived": true})),
            ];
            if words.has_drafts_of_messages() {
                said.push(words.draft("x:s", "text"));
            }
            for (_, action) in said {
                let read = judge.read_action(action.clone());
                assert!(read.is_ok(), "{version}: {read:?}");
            }
        }
    }
}
