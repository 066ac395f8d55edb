//! Sessions that nobody wrote in. Editors create a session for every view that
//! is opened, before a word is typed; what was opened and forgotten goes when
//! nobody has had it open for a while, and clients are told so.
//!
//! *Invariant*: a session with a turn, a draft, a title, a setting or a
//! terminal of its own never goes by itself.

use std::collections::BTreeSet;

use innkeeper_protocol::house::state::{Message, SessionLifecycle, SessionStatus};
use innkeeper_protocol::{ChannelUri, Timestamp};

use crate::Engine;
use crate::sessions::Session;

/// How many are looked at in one step: each may have to be loaded.
const AT_ONCE: usize = 64;

/// Sessions that may be unwritten, by the time since when nobody is known to
/// have had them open.
#[derive(Debug, Default)]
pub(crate) struct Unwritten(BTreeSet<(Timestamp, ChannelUri)>);

impl Unwritten {
    /// Those that were stored without a turn when the host began.
    pub(crate) fn stored(sessions: Vec<ChannelUri>, now: Timestamp) -> Self {
        Self(sessions.into_iter().map(|uri| (now, uri)).collect())
    }

    pub(crate) fn add(&mut self, session: ChannelUri, since: Timestamp) {
        self.0.insert((since, session));
    }
}

impl Engine {
    /// When the next such session is to be looked at.
    pub(crate) fn unwritten_due(&self) -> Option<Timestamp> {
        let patience = self.config.limits.empty_session;
        let (since, _) = self.unwritten.0.first().filter(|_| !patience.is_zero())?;
        Some(since.after(patience))
    }

    pub(crate) fn let_unwritten_sessions_go(&mut self) {
        for _ in 0..AT_ONCE {
            if self.unwritten_due().is_none_or(|due| due > self.now) {
                return;
            }
            let Some((_, uri)) = self.unwritten.0.pop_first() else {
                return;
            };
            if !self.catalogue.contains(&uri) {
                continue;
            }
            // What is not in memory was not open since it left.
            let stored = self.sessions_to_load([&uri]);
            let was_stored = !stored.is_empty();
            self.when_loaded(stored, move |engine| {
                engine.look_at_unwritten(&uri, was_stored);
            });
        }
    }

    fn look_at_unwritten(&mut self, uri: &ChannelUri, was_stored: bool) {
        let Some(session) = self.sessions.get(uri) else {
            return;
        };
        if !self.is_unwritten(session) {
            return;
        }
        let since = match self.is_open(session) {
            true => self.now,
            false => session.last_used,
        };
        let forgotten = since.after(self.config.limits.empty_session) <= self.now;
        if forgotten || (was_stored && !self.is_open(session)) {
            tracing::debug!(session = %uri, "nobody wrote in it, and nobody has it open");
            let _ = self.dispose_session(uri);
        } else {
            self.unwritten.add(uri.clone(), since);
        }
    }

    /// Whether some client follows a session or one of its chats, or it is not
    /// even there yet.
    fn is_open(&self, session: &Session) -> bool {
        let mut chats = session.chat_uris().into_iter();
        session.state.lifecycle == SessionLifecycle::Creating
            || self.subscriptions.has_channel(&session.uri)
            || self.has_changesets(&session.uri)
            || chats.any(|chat| self.subscriptions.has_channel(&chat))
    }

    fn is_unwritten(&self, session: &Session) -> bool {
        let is_empty = |message: &Message| message.text.is_empty() && message.attachments.is_none();
        let untouched = |uri: &ChannelUri| {
            self.chats.get(uri).is_some_and(|chat| {
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
            && !self.has_running_terminal(&session.uri)
    }
}
