//! Sessions that nobody wrote in. Editors create a session for every view that
//! is opened, before a word is typed; what was opened and forgotten goes when
//! nobody has had it open for a while, and clients are told so.
//!
//! *Invariant*: a session with a turn, a draft, a title, a setting or a
//! terminal of its own never goes by itself.

use std::collections::BTreeSet;

use innkeeper_protocol::house::state::{Message, SessionStatus};
use innkeeper_protocol::{ChannelUri, Timestamp};

use super::SessionsMut;
use crate::core::Core;
use crate::core::channels::Session;

/// How many are looked at in one step: each may have to be loaded.
const AT_ONCE: usize = 64;

/// Sessions that may be unwritten, by the time since when nobody is known to
/// have had them open.
#[derive(Debug, Default)]
pub(super) struct Unwritten(BTreeSet<(Timestamp, ChannelUri)>);

impl Unwritten {
    /// Those that were stored without a turn when the host began.
    pub(super) fn stored(sessions: Vec<ChannelUri>, now: Timestamp) -> Self {
        Self(sessions.into_iter().map(|uri| (now, uri)).collect())
    }

    pub(super) fn add(&mut self, session: ChannelUri, since: Timestamp) {
        self.0.insert((since, session));
    }

    /// When the next such session is to be looked at.
    pub(super) fn due(&self, core: &Core) -> Option<Timestamp> {
        let patience = core.config.limits.empty_session;
        let (since, _) = self.0.first().filter(|_| !patience.is_zero())?;
        Some(since.after(patience))
    }
}

impl SessionsMut<'_> {
    pub(super) fn let_unwritten_sessions_go(&mut self) {
        for _ in 0..AT_ONCE {
            let core = &*self.turns.core;
            if self
                .own
                .unwritten
                .due(core)
                .is_none_or(|due| due > core.now)
            {
                return;
            }
            let Some((_, uri)) = self.own.unwritten.0.pop_first() else {
                return;
            };
            if !self.turns.catalogue.contains(&uri) {
                continue;
            }
            let stored = self.to_load([&uri]);
            match self.load(stored) {
                // What is not in memory was not open since it left.
                Some(ticket) => {
                    self.own.looked_at.insert(ticket, uri);
                }
                None => self.look_at_unwritten(&uri, false),
            }
        }
    }

    pub(super) fn look_at_unwritten(&mut self, uri: &ChannelUri, was_stored: bool) {
        let core = &*self.turns.core;
        let Some(session) = core.channels.session(uri) else {
            return;
        };
        if !self.is_unwritten(session) {
            return;
        }
        let is_open = self.is_open(session);
        let since = match is_open {
            true => core.now,
            false => session.last_used,
        };
        let forgotten = since.after(core.config.limits.empty_session) <= core.now;
        if forgotten || (was_stored && !is_open) {
            tracing::debug!(session = %uri, "nobody wrote in it, and nobody has it open");
            let _ = self.dispose(uri);
        } else {
            self.own.unwritten.add(uri.clone(), since);
        }
    }

    /// Whether some client follows a session or one of its chats, or it is not
    /// even there yet.
    fn is_open(&self, session: &Session) -> bool {
        let mut chats = session.chat_uris().into_iter();
        let subscriptions = &self.turns.core.subscriptions;
        session.is_being_created()
            || subscriptions.has_channel(&session.uri)
            || self.turns.changes.are_looked_at(&session.uri)
            || chats.any(|chat| subscriptions.has_channel(&chat))
    }

    fn is_unwritten(&self, session: &Session) -> bool {
        let is_empty = |message: &Message| message.text.is_empty() && message.attachments.is_none();
        let untouched = |uri: &ChannelUri| {
            self.turns.core.channels.chat(uri).is_some_and(|chat| {
                let head = &chat.head;
                let waiting = head.queued_messages.iter().flatten().count();
                chat.turns.is_empty()
                    && chat.is_default
                    && head.active_turn.is_none()
                    && head.steering_message.is_none()
                    && waiting == 0
                    && head.draft.as_ref().is_none_or(is_empty)
            })
        };
        let config = session.state.config.as_ref();
        let as_given = config.is_none_or(|config| {
            config.values.iter().all(|(key, value)| {
                let property = config.schema.properties.get(key);
                property.and_then(|it| it.default.as_ref()) == Some(value)
            })
        });
        as_given
            && session.notes.title_is_open
            && session.state.status & SessionStatus::IsArchived.bits() == 0
            && session.chat_uris().iter().all(untouched)
            && !self
                .turns
                .terminals
                .has_running(self.turns.core, &session.uri)
    }
}
