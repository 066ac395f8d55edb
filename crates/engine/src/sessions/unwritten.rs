//! Sessions that nobody wrote in. Editors create a session for every view that
//! is opened, before a word is typed; what was opened and forgotten goes when
//! nobody has had it open for a while, and clients are told so.
//!
//! *Invariant*: a session with a turn, a draft, a title, a setting, an
//! annotation or a terminal of its own never goes by itself.

use innkeeper_protocol::newest::state::{Message, SessionStatus};
use innkeeper_protocol::{ChannelUri, Timestamp};

use super::SessionsMut;
use crate::core::channels::Session;
use crate::core::{Core, Deadline};

/// Has a session looked at that may be unwritten, given since when nobody is
/// known to have had it open.
pub(super) fn look_at_later(core: &mut Core, session: ChannelUri, since: Timestamp) {
    let patience = core.config.limits.empty_session;
    if !patience.is_zero() {
        let deadline = Deadline::SessionIsUnwritten(session);
        core.deadlines.set(deadline, since.after(patience));
    }
}

impl SessionsMut<'_> {
    /// A session goes if nobody wrote in it and nobody has it open.
    pub(crate) fn review_unwritten(&mut self, uri: ChannelUri) {
        if !self.turns.catalogue.contains(&uri) {
            return;
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
            tracing::debug!(session = %uri, "no one wrote in it, and no client has it open");
            let _ = self.dispose(uri);
        } else {
            look_at_later(self.core(), uri.clone(), since);
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
            || subscriptions.has_channel(&ChannelUri::annotations_of(session.uri.as_str()))
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
            && session.annotations.is_none()
            && session.notes.title_is_open
            && session.state.status & SessionStatus::IsArchived.bits() == 0
            && session.chat_uris().iter().all(untouched)
            && !self
                .turns
                .terminals
                .has_running(self.turns.core, &session.uri)
    }
}
