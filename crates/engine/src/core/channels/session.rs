//! A session in memory.

use innkeeper_protocol::newest::state::{
    AnnotationsSummary, ChangesSummary, ChatSummary, FileEdit, SessionChatSummary,
    SessionLifecycle, SessionState, SessionSummary,
};
use innkeeper_protocol::record::{SessionNotes, SessionRecord, SummaryFacts};
use innkeeper_protocol::{ChannelUri, Timestamp};

use crate::labels::Locale;

/// Keys of a session's `_meta` that stand in its summary too, as editors in the
/// field name them: that it works in no directory, and what it has brought about.
pub(crate) const WORKSPACELESS: &str = "workspaceless";
pub(crate) const ARTIFACTS: &str = "agentHost/sessionArtifacts";

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) uri: ChannelUri,
    pub(crate) state: SessionState,
    pub(crate) notes: SessionNotes,
    /// The summary as clients of the root channel know it.
    pub(crate) published: SessionSummary,
    /// Likewise, what only older versions say of it.
    pub(crate) facts: SummaryFacts,
    /// How much has changed in its directory since it began.
    pub(crate) changes: Option<ChangesSummary>,
    /// Which files those are, as far as anybody has looked: the first of them.
    pub(crate) diffs: Vec<FileEdit>,
    /// How much was written about its files, once anything was.
    pub(crate) annotations: Option<AnnotationsSummary>,
    pub(crate) last_used: Timestamp,
    /// The row in the store is older than the state.
    pub(crate) dirty: bool,
}

impl Session {
    /// The chats of the session, in the order of its catalogue.
    pub(crate) fn chat_uris(&self) -> Vec<ChannelUri> {
        self.state
            .chats
            .iter()
            .map(|chat| ChannelUri::from(chat.resource.as_str()))
            .collect()
    }

    /// Whether it has the chat that sessions begin with and that is named after
    /// them. One that was made for a chat has not.
    pub(crate) fn has_first_chat(&self) -> bool {
        let first = ChannelUri::default_chat_of(self.uri.as_str());
        let mut chats = self.state.chats.iter();
        chats.any(|chat| *chat.resource == *first.as_str())
    }

    /// Whether this chat is the one that the session shows first.
    pub(crate) fn is_led_by(&self, chat: &ChannelUri) -> bool {
        self.state.default_chat.as_deref() == Some(chat.as_str())
    }

    /// Where it works, if it works in a directory.
    pub(crate) fn first_directory(&self) -> Option<&str> {
        let directories = self.state.working_directories.as_ref()?;
        directories.first().map(String::as_str)
    }

    /// The language of whoever created it: what the host writes in it for all.
    pub(crate) fn locale(&self) -> Locale {
        Locale::of_tag(self.notes.language.as_deref())
    }

    pub(crate) fn is_being_created(&self) -> bool {
        self.state.lifecycle == SessionLifecycle::Creating
    }

    pub(crate) fn record(&self) -> SessionRecord {
        SessionRecord {
            uri: self.uri.clone(),
            summary: self.published.clone(),
            state: self.state.clone(),
            notes: self.notes.clone(),
            facts: SummaryFacts {
                diffs: None,
                ..self.facts.clone()
            },
        }
    }
}

/// Those of a session's directories that a chat works in: all, unless it has a
/// list of its own. The order is the session's.
pub(crate) fn directories_in<'a>(
    session: &'a SessionState,
    of_chat: Option<&[String]>,
) -> Vec<&'a String> {
    let all = session.working_directories.iter().flatten();
    let is_its = |it: &&String| of_chat.is_none_or(|own| own.contains(it));
    all.filter(is_its).collect()
}

/// A chat as it is listed in a session's summary.
pub(crate) fn compact(chat: &ChatSummary) -> SessionChatSummary {
    SessionChatSummary {
        resource: chat.resource.clone(),
        title: chat.title.clone(),
        origin: chat.origin.clone(),
        interactivity: chat.interactivity,
        status: Some(chat.status),
        changes: chat.changes.clone(),
    }
}
