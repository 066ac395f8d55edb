//! Which sessions are in memory. A session comes from the store when somebody
//! needs it and leaves again when nobody does; what was asked meanwhile waits
//! and is then done in the order in which it came.

use std::collections::BTreeSet;
use std::fmt;

use innkeeper_protocol::house::state::SessionLifecycle;
use innkeeper_protocol::record::{LoadedChat, LoadedSession};
use innkeeper_protocol::{ChannelUri, Timestamp};

use crate::chats::{Chat, RunningTurn};
use crate::labels::Locale;
use crate::sessions::Session;
use crate::{Effect, Engine, changesets, history};

/// A session on its way into memory, and what waits for it.
#[derive(Debug, Default)]
pub(crate) struct Loading {
    waiting: Vec<Continuation>,
}

/// Something to do once certain sessions are in memory, or known to be gone.
pub(crate) struct Continuation {
    /// Those that are still to come.
    sessions: BTreeSet<ChannelUri>,
    run: Box<dyn FnOnce(&mut Engine) + Send>,
}

impl fmt::Debug for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Continuation({:?})", self.sessions)
    }
}

impl Engine {
    /// The session that a channel belongs to: itself, or that of the chat or
    /// the changeset.
    pub(crate) fn session_of(&self, channel: &ChannelUri) -> Option<ChannelUri> {
        if self.catalogue.contains(channel) {
            return Some(channel.clone());
        }
        self.session_of_chat(channel)
    }

    pub(crate) fn session_of_chat(&self, chat: &ChannelUri) -> Option<ChannelUri> {
        if let Some(chat) = self.chats.get(chat) {
            return Some(chat.session.clone());
        }
        let home = self
            .homes
            .get(chat)
            .cloned()
            .or_else(|| chat.session_of_default_chat())
            .or_else(|| Some(changesets::parse(chat)?.0));
        home.filter(|session| self.catalogue.contains(session))
    }

    /// Those sessions of some channels that exist and are not in memory.
    pub(crate) fn sessions_to_load<'a>(
        &self,
        channels: impl IntoIterator<Item = &'a ChannelUri>,
    ) -> BTreeSet<ChannelUri> {
        channels
            .into_iter()
            .filter_map(|channel| self.session_of(channel))
            .filter(|session| !self.sessions.contains_key(session))
            .collect()
    }

    /// The session of a channel, if it is on its way into memory.
    pub(crate) fn sessions_on_their_way(&self, channel: &ChannelUri) -> BTreeSet<ChannelUri> {
        let session = self.session_of(channel);
        session
            .into_iter()
            .filter(|session| self.loading.contains_key(session))
            .collect()
    }

    /// Does something as soon as these sessions are in memory: now, if they are.
    pub(crate) fn when_loaded(
        &mut self,
        sessions: BTreeSet<ChannelUri>,
        run: impl FnOnce(&mut Self) + Send + 'static,
    ) {
        let Some(first) = sessions.first().cloned() else {
            return run(self);
        };
        for session in &sessions {
            self.start_loading(session);
        }
        let continuation = Continuation {
            sessions,
            run: Box::new(run),
        };
        if let Some(loading) = self.loading.get_mut(&first) {
            loading.waiting.push(continuation);
        }
    }

    pub(crate) fn start_loading(&mut self, session: &ChannelUri) {
        if !self.loading.contains_key(session) {
            self.loading.insert(session.clone(), Loading::default());
            // What was last said about it must be in the store to be read.
            self.step.durable_first = true;
            self.step.effects.push(Effect::LoadSession {
                session: session.clone(),
            });
        }
    }

    pub(crate) fn session_loaded(
        &mut self,
        uri: &ChannelUri,
        loaded: Result<Option<Box<LoadedSession>>, String>,
    ) {
        let Some(loading) = self.loading.remove(uri) else {
            return;
        };
        match loaded {
            // Disposed of while it was on its way.
            Ok(Some(_)) if !self.catalogue.contains(uri) => {}
            Ok(Some(loaded)) => self.take_in(*loaded),
            Ok(None) => {}
            Err(reason) => tracing::error!(session = %uri, reason, "a session cannot be loaded"),
        }
        for mut continuation in loading.waiting {
            continuation.sessions.remove(uri);
            // Others that it waits for may have come by now.
            let sessions = &self.sessions;
            let loading = &self.loading;
            continuation
                .sessions
                .retain(|session| !sessions.contains_key(session) && loading.contains_key(session));
            match continuation.sessions.first().cloned() {
                None => (continuation.run)(self),
                Some(next) => {
                    if let Some(loading) = self.loading.get_mut(&next) {
                        loading.waiting.push(continuation);
                    }
                }
            }
        }
    }

    fn take_in(&mut self, loaded: LoadedSession) {
        let LoadedSession { session, chats } = loaded;
        let uri = session.uri;
        for chat in chats {
            self.take_in_chat(chat);
        }
        let never_ready = session.state.lifecycle == SessionLifecycle::Creating;
        self.sessions.insert(
            uri.clone(),
            Session {
                uri: uri.clone(),
                state: session.state,
                notes: session.notes,
                sources: Vec::new(),
                changes: session.summary.changes.clone(),
                published: session.summary,
                summary_due: None,
                last_used: self.now,
                dirty: false,
            },
        );
        self.touched.insert(uri.clone());
        self.update_desk(&uri);
        for client_id in self.absent_active_clients(&uri) {
            self.remove_active_client(&uri, &client_id);
        }
        self.update_customizations(&uri);
        self.reconcile_customizations(&uri);
        for chat in self.chats_of(&uri) {
            if never_ready {
                // Its turn never began, so it was not interrupted.
                let chat = self.chats.get_mut(&chat);
                if let Some(turn) = chat.and_then(|chat| chat.turn.as_mut()) {
                    turn.resumed = false;
                }
            } else if !self.waits_for_a_person(&chat) {
                self.end_interrupted_turn(&chat);
            }
        }
        if never_ready {
            // The host ended while the agent was starting: start it again.
            self.begin_session(&uri);
        }
    }

    fn take_in_chat(&mut self, mut loaded: LoadedChat) {
        history::fold_log(&mut loaded);
        let LoadedChat { record, turns, .. } = loaded;
        let mut head = record.head;
        head.turns.clear();
        let mut chat = Chat::from_parts(record.uri, record.session, head, turns, record.notes);
        chat.stored_at = record.seq;
        if let Some((id, started_at)) = history::interrupted_turn(&chat.head) {
            let began = Timestamp::parse(&started_at).unwrap_or(self.now);
            chat.turn = Some(RunningTurn {
                // If it goes on at all, then as one that was interrupted.
                resumed: true,
                ..RunningTurn::new(&id, began, Locale::default())
            });
        }
        self.chats.insert(chat.uri.clone(), chat);
    }

    /// Active clients of a session from an earlier life that are not here.
    fn absent_active_clients(&self, session: &ChannelUri) -> Vec<String> {
        let Some(session) = self.sessions.get(session) else {
            return Vec::new();
        };
        let here = |id: &str| {
            self.clients
                .get(id)
                .is_some_and(|client| client.connection.is_some() || client.leaves_at.is_some())
        };
        let active = session.state.active_clients.iter();
        active
            .map(|client| client.client_id.clone())
            .filter(|id| !here(id))
            .collect()
    }

    /// Lets sessions go that nobody watches and nothing happens in: those that
    /// have been idle for long, and the longest idle of too many.
    pub(crate) fn release_idle_sessions(&mut self) {
        let mut idle: Vec<(Timestamp, ChannelUri)> = self
            .sessions
            .values()
            .filter(|session| self.is_idle(session))
            .map(|session| (session.last_used, session.uri.clone()))
            .collect();
        idle.sort();
        let surplus = idle.len().saturating_sub(self.config.limits.idle_sessions);
        let patience = self.config.limits.idle_session;
        for (index, (last_used, uri)) in idle.into_iter().enumerate() {
            if index < surplus || last_used.after(patience) <= self.now {
                self.release_session(&uri);
            }
        }
    }

    fn is_idle(&self, session: &Session) -> bool {
        let quiet = |uri: &ChannelUri| {
            let running = self.chats.get(uri).is_some_and(|chat| chat.turn.is_some());
            !running && !self.subscriptions.has_channel(uri)
        };
        session.summary_due.is_none()
            && session.state.lifecycle != SessionLifecycle::Creating
            && !self.subscriptions.has_channel(&session.uri)
            && !self.has_changesets(&session.uri)
            && session.chat_uris().iter().all(quiet)
    }

    fn release_session(&mut self, uri: &ChannelUri) {
        if let Some(session) = self.sessions.remove(uri) {
            self.close_desk(uri);
            self.leave_customizations(&session);
            for chat in session.chat_uris() {
                self.close_backend(&chat);
                self.chats.remove(&chat);
            }
        }
    }
}
