//! Session summaries: derived from a session and its chats, and published on
//! the root channel when they change.

use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::notifications::{
    PartialSessionSummary, SessionSummaryChangedParams,
};
use innkeeper_protocol::newest::state::{
    AnnotationsSummary, ChangesSummary, Changeset, ChatSummary, SessionLifecycle, SessionState,
    SessionStatus, SessionSummary,
};
use innkeeper_protocol::outgoing::Notification;
use innkeeper_protocol::record::{CountedChangeset, Selection, SummaryFacts};
use innkeeper_protocol::{ChannelUri, Timestamp};

use super::SessionsMut;
use super::attempts::in_summary;
use crate::compat;
use crate::core::channels::{ARTIFACTS, Session, WORKSPACELESS, compact};
use crate::core::{ACTIVITY_BITS, Core, Deadline};

/// The summary of a session that is just being created.
pub(super) fn first(uri: &ChannelUri, state: &SessionState, now: Timestamp) -> SessionSummary {
    derive(uri, state, &now.to_string(), (None, None))
}

impl SessionsMut<'_> {
    /// Publishes the summary if it changed. Changes that matter at a glance go
    /// out at once; the others are collected for a moment.
    pub(super) fn review_summary(&mut self, uri: &ChannelUri) {
        let core = &*self.turns.core;
        let due = core.now.after(core.config.limits.summary_delay);
        let Some(session) = core.channels.session(uri) else {
            return;
        };
        let summary = summary_of(session);
        let same_facts = facts_of(core, session) == session.facts;
        if summary == session.published && same_facts {
            let held = Deadline::SummaryIsHeld(uri.clone());
            self.core().deadlines.clear(&held);
            return;
        }
        let calm = SessionSummary {
            activity: summary.activity.clone(),
            modified_at: summary.modified_at.clone(),
            ..session.published.clone()
        };
        if calm == summary && same_facts {
            let held = Deadline::SummaryIsHeld(uri.clone());
            if !core.deadlines.is_set(&held) {
                self.core().deadlines.set(held, due);
            }
        } else {
            self.publish_summary(uri);
        }
    }

    /// A summary that was held back is published.
    pub(crate) fn publish_held_summary(&mut self, uri: &ChannelUri) {
        self.publish_summary(uri);
        self.core().touch(uri);
    }

    pub(crate) fn publish_all_summaries(&mut self) {
        let deadlines = self.turns.core.deadlines.all();
        let mut held: Vec<ChannelUri> = deadlines
            .filter_map(|deadline| match deadline {
                Deadline::SummaryIsHeld(uri) => Some(uri.clone()),
                _ => None,
            })
            .collect();
        held.sort();
        for uri in held {
            self.publish_held_summary(&uri);
        }
    }

    fn publish_summary(&mut self, uri: &ChannelUri) {
        let core = &mut *self.turns.core;
        core.deadlines.clear(&Deadline::SummaryIsHeld(uri.clone()));
        let seq = core.server_seq();
        let facts = core.channels.session(uri).map(|it| facts_of(core, it));
        let known = core.channels.session_mut(uri).zip(facts);
        let Some((session, facts)) = known else {
            return;
        };
        let summary = summary_of(session);
        let changes = difference(&session.published, &summary);
        let changed_facts = facts_changed(&session.facts, &facts);
        let counts_changed = changes.changes.is_some();
        session.published = summary;
        session.facts = facts;
        session.dirty = true;
        let row = (&session.published, &session.facts);
        self.turns.catalogue.set_live(uri, row, seq);
        // Nobody is told of a change in which there is nothing for them.
        if changes != PartialSessionSummary::default() {
            let params = SessionSummaryChangedParams {
                channel: ChannelUri::root().to_string(),
                session: uri.to_string(),
                changes,
            };
            let news = Notification::SessionSummaryChanged(params, SummaryFacts::default());
            core.notify_root(news);
        }
        if counts_changed {
            compat::tell_counts(core, self.turns.clients, uri);
        }
        if !changed_facts.is_empty() {
            compat::tell_summary_facts(core, self.turns.clients, uri, changed_facts);
        }
    }
}

/// What only older versions say of a session.
fn facts_of(core: &Core, session: &Session) -> SummaryFacts {
    let selected = |chat: &str| {
        let chat = core.channels.chat(chat);
        chat.map(|chat| chat.notes.selection.clone())
            .unwrap_or_default()
    };
    let default = ChannelUri::default_chat_of(session.uri.as_str());
    let chats = session.state.chats.iter().map(|chat| &chat.resource);
    let further = chats.filter(|chat| chat.as_str() != default.as_str());
    let counted = |changeset: &Changeset| CountedChangeset {
        counts: session
            .changes
            .clone()
            .filter(|_| changeset.change_kind == "session")
            .unwrap_or_default(),
        changeset: changeset.clone(),
    };
    let changesets = session.state.changesets.as_ref();
    SummaryFacts {
        selection: selected(default.as_str()),
        changesets: changesets.map(|all| all.iter().map(counted).collect()),
        // Once any have been seen, also that there are none any more.
        diffs: (!session.diffs.is_empty() || session.facts.diffs.is_some())
            .then(|| session.diffs.clone()),
        chats: further
            .map(|chat| (chat.clone(), selected(chat)))
            .filter(|(_, selection)| !selection.is_empty())
            .collect(),
    }
}

/// The facts that changed. A selection that is gone cannot be said.
fn facts_changed(before: &SummaryFacts, after: &SummaryFacts) -> SummaryFacts {
    let selection = |before: &Selection, after: &Selection| Selection {
        model: after.model.clone().filter(|_| before.model != after.model),
        agent: after.agent.clone().filter(|_| before.agent != after.agent),
    };
    let chats = after.chats.iter().map(|(chat, now)| {
        let before = before.chats.get(chat).cloned().unwrap_or_default();
        (chat.clone(), selection(&before, now))
    });
    let changesets = after.changesets.clone().unwrap_or_default();
    SummaryFacts {
        selection: selection(&before.selection, &after.selection),
        changesets: (before.changesets != after.changesets).then_some(changesets),
        diffs: after.diffs.clone().filter(|_| before.diffs != after.diffs),
        chats: chats.filter(|(_, changed)| !changed.is_empty()).collect(),
    }
}

fn summary_of(session: &Session) -> SessionSummary {
    let counts = (session.changes.as_ref(), session.annotations.as_ref());
    derive(
        &session.uri,
        &session.state,
        &session.published.created_at,
        counts,
    )
}

/// What a session amounts to: its own facts, and its chats taken together.
fn derive(
    uri: &ChannelUri,
    state: &SessionState,
    created_at: &str,
    (changes, annotations): (Option<&ChangesSummary>, Option<&AnnotationsSummary>),
) -> SessionSummary {
    let leading = leading_chat(state);
    let of_chats = leading.map_or(SessionStatus::Idle.bits(), |chat| chat.status) & ACTIVITY_BITS;
    // Nothing happens in a session that could not be created, so no chat says so.
    let is_failed = state.lifecycle == SessionLifecycle::Failed;
    let activity_bits = match is_failed && of_chats == SessionStatus::Idle.bits() {
        true => SessionStatus::Error.bits(),
        false => of_chats,
    };
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
        // No action can put the counts into the session's own state.
        annotations: annotations.cloned(),
        resource: uri.to_string(),
        created_at: created_at.to_owned(),
        modified_at: newest.unwrap_or(created_at).to_owned(),
        changes: changes.cloned(),
        meta: told_in_summary(state),
        chats: Some(state.chats.iter().map(compact).collect()),
        default_chat: state.default_chat.clone(),
    }
}

/// What clients want to know of a session before they open it.
fn told_in_summary(state: &SessionState) -> Option<JsonObject> {
    let meta = state.meta.as_ref()?;
    let told = [WORKSPACELESS, ARTIFACTS].into_iter();
    let told = told.filter_map(|key| Some((key.to_owned(), meta.get(key)?.clone())));
    let told: JsonObject = told.chain(in_summary(meta).into_iter().flatten()).collect();
    Some(told).filter(|told| !told.is_empty())
}

/// The chat whose activity stands for the session's: one that needs somebody,
/// else one that failed, else the default chat, else the latest.
pub(super) fn leading_chat(state: &SessionState) -> Option<&ChatSummary> {
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
