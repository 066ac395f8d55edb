//! Session summaries: derived from a session and its chats, and published on
//! the root channel when they change.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::notifications::{
    PartialSessionSummary, SessionSummaryChangedParams,
};
use innkeeper_protocol::house::state::{
    ChangesSummary, ChatSummary, SessionChatSummary, SessionState, SessionStatus, SessionSummary,
};
use innkeeper_protocol::outgoing::Notification;

use crate::Engine;
use crate::sessions::Session;

/// The bits of a status that say what goes on; the others are flags.
const ACTIVITY_BITS: u32 = (1 << 5) - 1;

impl Engine {
    /// The summary of a session that is just being created.
    pub(crate) fn first_summary(&self, uri: &ChannelUri, state: &SessionState) -> SessionSummary {
        derive(uri, state, &self.now.to_string(), None)
    }

    /// Publishes the summary if it changed. Changes that matter at a glance go
    /// out at once; the others are collected for a moment.
    pub(crate) fn review_summary(&mut self, uri: &ChannelUri) {
        let due = self.now.after(self.config.limits.summary_delay);
        let Some(session) = self.sessions.get_mut(uri) else {
            return;
        };
        let summary = session.summary();
        if summary == session.published {
            session.summary_due = None;
            return;
        }
        let calm = SessionSummary {
            activity: summary.activity.clone(),
            modified_at: summary.modified_at.clone(),
            ..session.published.clone()
        };
        if calm == summary {
            session.summary_due.get_or_insert(due);
        } else {
            self.publish_summary(uri);
        }
    }

    pub(crate) fn publish_due_summaries(&mut self) {
        let now = self.now;
        self.publish_summaries(|session| session.summary_due.is_some_and(|due| due <= now));
    }

    pub(crate) fn publish_all_summaries(&mut self) {
        self.publish_summaries(|session| session.summary_due.is_some());
    }

    fn publish_summaries(&mut self, which: impl Fn(&Session) -> bool) {
        let due: Vec<ChannelUri> = self
            .sessions
            .values()
            .filter(|session| which(session))
            .map(|session| session.uri.clone())
            .collect();
        for uri in due {
            self.publish_summary(&uri);
            self.touched.insert(uri);
        }
    }

    fn publish_summary(&mut self, uri: &ChannelUri) {
        let Some(session) = self.sessions.get_mut(uri) else {
            return;
        };
        session.summary_due = None;
        let summary = session.summary();
        let changes = difference(&session.published, &summary);
        session.published = summary;
        session.dirty = true;
        let summary = session.published.clone();
        let seq = self.server_seq();
        self.catalogue.set_live(uri, &summary, seq);
        self.notify_root(Notification::SessionSummaryChanged(
            SessionSummaryChangedParams {
                channel: ChannelUri::root().to_string(),
                session: uri.to_string(),
                changes,
            },
        ));
    }
}

impl Session {
    fn summary(&self) -> SessionSummary {
        let created_at = &self.published.created_at;
        derive(&self.uri, &self.state, created_at, self.changes.as_ref())
    }
}

/// What a session amounts to: its own facts, and its chats taken together.
fn derive(
    uri: &ChannelUri,
    state: &SessionState,
    created_at: &str,
    changes: Option<&ChangesSummary>,
) -> SessionSummary {
    let leading = leading_chat(state);
    let activity_bits =
        leading.map_or(SessionStatus::Idle.bits(), |chat| chat.status) & ACTIVITY_BITS;
    let newest = state
        .chats
        .iter()
        .map(|chat| chat.modified_at.as_str())
        .max();
    SessionSummary {
        provider: state.provider.clone(),
        title: state.title.clone(),
        status: (state.status & !ACTIVITY_BITS) | activity_bits,
        activity: leading.and_then(|chat| chat.activity.clone()),
        origin: state.origin.clone(),
        project: state.project.clone(),
        working_directories: state.working_directories.clone(),
        annotations: state.annotations.clone(),
        resource: uri.to_string(),
        created_at: created_at.to_owned(),
        modified_at: newest.unwrap_or(created_at).to_owned(),
        changes: changes.cloned(),
        meta: None,
        chats: Some(state.chats.iter().map(compact).collect()),
        default_chat: state.default_chat.clone(),
    }
}

/// The chat whose activity stands for the session's: one that needs somebody,
/// else one that failed, else the default chat, else the latest.
pub(crate) fn leading_chat(state: &SessionState) -> Option<&ChatSummary> {
    let with = |status: SessionStatus| {
        let wanted = status.bits();
        move |chat: &&ChatSummary| chat.status & ACTIVITY_BITS == wanted
    };
    let default = |chat: &&ChatSummary| state.default_chat.as_ref() == Some(&chat.resource);
    let chats = || state.chats.iter();
    chats()
        .find(with(SessionStatus::InputNeeded))
        .or_else(|| chats().find(with(SessionStatus::Error)))
        .or_else(|| chats().find(default))
        .or_else(|| chats().max_by(|a, b| a.modified_at.cmp(&b.modified_at)))
}

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

/// All that a summary says, as a change of one that is not known.
pub(crate) fn everything(summary: &SessionSummary) -> SessionSummaryChangedParams {
    let summary = summary.clone();
    SessionSummaryChangedParams {
        channel: ChannelUri::root().to_string(),
        session: summary.resource,
        changes: PartialSessionSummary {
            provider: None,
            title: Some(summary.title),
            status: Some(summary.status),
            activity: Some(summary.activity.unwrap_or_default()),
            origin: summary.origin,
            project: summary.project,
            working_directories: summary.working_directories,
            annotations: summary.annotations,
            resource: None,
            created_at: None,
            modified_at: Some(summary.modified_at),
            changes: summary.changes,
            meta: summary.meta,
            chats: summary.chats,
            default_chat: summary.default_chat,
        },
    }
}

/// The fields that changed. One that is gone cannot be said in a partial
/// summary; for the activity, which comes and goes, the empty text says it.
fn difference(before: &SessionSummary, after: &SessionSummary) -> PartialSessionSummary {
    fn changed<T: Clone + PartialEq>(before: &T, after: &T) -> Option<T> {
        (before != after).then(|| after.clone())
    }
    PartialSessionSummary {
        provider: None,
        title: changed(&before.title, &after.title),
        status: changed(&before.status, &after.status),
        activity: changed(&before.activity, &after.activity).map(Option::unwrap_or_default),
        origin: changed(&before.origin, &after.origin).flatten(),
        project: changed(&before.project, &after.project).flatten(),
        working_directories: changed(&before.working_directories, &after.working_directories)
            .flatten(),
        annotations: changed(&before.annotations, &after.annotations).flatten(),
        resource: None,
        created_at: None,
        modified_at: changed(&before.modified_at, &after.modified_at),
        changes: changed(&before.changes, &after.changes).flatten(),
        meta: changed(&before.meta, &after.meta).flatten(),
        chats: changed(&before.chats, &after.chats).flatten(),
        default_chat: changed(&before.default_chat, &after.default_chat).flatten(),
    }
}
