//! Which sessions are in memory. A session comes from the store when somebody
//! needs it and leaves again when nobody does; what was asked meanwhile waits
//! and is then done in the order in which it came.

use std::collections::BTreeSet;

use innkeeper_protocol::record::{LoadedChat, LoadedSession};
use innkeeper_protocol::{ChannelUri, ClientId, Timestamp};

use super::{SessionsMut, next_sweep, sweep_if_crowded};
use crate::compat;
use crate::core::Deadline;
use crate::core::channels::{Annotations, Chat, Session};
use crate::core::history;
use crate::effect::{Effect, Ticket};
use crate::labels::Label;

/// What waits for a session that is on its way into memory.
#[derive(Debug, Default)]
pub(super) struct Loading {
    waiting: Vec<Waiting>,
}

/// Something to do once certain sessions are in memory, or known to be gone.
#[derive(Debug)]
struct Waiting {
    ticket: Ticket,
    /// Those that are still to come.
    sessions: BTreeSet<ChannelUri>,
}

impl SessionsMut<'_> {
    /// Those sessions of some channels that exist and are not in memory.
    pub(crate) fn to_load<'a>(
        &self,
        channels: impl IntoIterator<Item = &'a ChannelUri>,
    ) -> BTreeSet<ChannelUri> {
        let (core, catalogue) = (&*self.turns.core, &*self.turns.catalogue);
        channels
            .into_iter()
            .filter_map(|channel| catalogue.session_of(core, channel))
            .filter(|session| core.channels.session(session).is_none())
            .collect()
    }

    /// The session of a channel, if it is on its way into memory.
    pub(crate) fn on_their_way(&self, channel: &ChannelUri) -> BTreeSet<ChannelUri> {
        let session = self.turns.catalogue.session_of(self.turns.core, channel);
        session
            .into_iter()
            .filter(|session| self.own.loading.contains_key(session))
            .collect()
    }

    /// Has sessions loaded. Returns the ticket of whoever waits for them; none
    /// if there is nothing to wait for.
    pub(crate) fn load(&mut self, sessions: BTreeSet<ChannelUri>) -> Option<Ticket> {
        let first = sessions.first()?.clone();
        for session in &sessions {
            self.start_loading(session);
        }
        let ticket = self.core().next_ticket();
        let waiting = Waiting { ticket, sessions };
        if let Some(loading) = self.own.loading.get_mut(&first) {
            loading.waiting.push(waiting);
        }
        Some(ticket)
    }

    pub(crate) fn start_loading(&mut self, session: &ChannelUri) {
        if !self.own.loading.contains_key(session) {
            self.own.loading.insert(session.clone(), Loading::default());
            let core = self.core();
            core.loading += 1;
            // What was last said about it must be in the store to be read.
            core.step.durable_first = true;
            core.effect(Effect::LoadSession {
                session: session.clone(),
            });
        }
    }

    /// Takes in a session that was loaded. Returns those who need not wait any
    /// longer, in the order in which they came.
    pub(crate) fn loaded(
        &mut self,
        uri: &ChannelUri,
        loaded: Result<Option<Box<LoadedSession>>, String>,
    ) -> Vec<Ticket> {
        let Some(loading) = self.own.loading.remove(uri) else {
            return Vec::new();
        };
        self.core().loading -= 1;
        let is_reread = self.own.reread.remove(uri);
        let loaded = match is_reread {
            true => loaded.map(|loaded| self.reread(uri, loaded)),
            false => loaded,
        };
        match loaded {
            // Disposed of while it was on its way.
            Ok(Some(_)) if !self.turns.catalogue.contains(uri) => {}
            Ok(Some(loaded)) => self.take_in(*loaded, is_reread),
            Ok(None) => {}
            Err(reason) => tracing::error!(session = %uri, reason, "a session cannot be loaded"),
        }
        let mut ready = Vec::new();
        for mut waiting in loading.waiting {
            waiting.sessions.remove(uri);
            // Others that it waits for may have come by now.
            let (core, loading) = (&*self.turns.core, &mut self.own.loading);
            waiting.sessions.retain(|session| {
                core.channels.session(session).is_none() && loading.contains_key(session)
            });
            let next = waiting.sessions.first();
            match next.and_then(|next| loading.get_mut(next)) {
                None => ready.push(waiting.ticket),
                Some(next) => next.waiting.push(waiting),
            }
        }
        ready
    }

    /// Goes on with what the sessions themselves waited for. Returns whether
    /// it was that.
    pub(crate) fn go_on(&mut self, ticket: Ticket) -> bool {
        let Some(session) = self.own.looked_at.remove(&ticket) else {
            return false;
        };
        self.look_at_unwritten(&session, true);
        true
    }

    fn take_in(&mut self, loaded: LoadedSession, is_reread: bool) {
        let LoadedSession {
            session,
            chats,
            annotations,
            excerpts,
        } = loaded;
        let uri = session.uri;
        self.core().inputs.take_in(&uri, excerpts.into());
        let session = Session {
            uri: uri.clone(),
            state: session.state,
            notes: session.notes,
            changes: session.summary.changes.clone(),
            diffs: Vec::new(),
            annotations: session.summary.annotations.clone(),
            published: session.summary,
            facts: session.facts,
            last_used: self.turns.core.now,
            dirty: false,
        };
        let never_ready = session.is_being_created();
        self.core().channels.insert_session(session);
        let annotations = Annotations::new(&uri, annotations);
        self.core().channels.insert_annotations(annotations);
        sweep_if_crowded(self.core());
        for chat in chats {
            let chat = stored_chat(chat);
            let uri = chat.uri.clone();
            self.core().channels.insert_chat(chat);
            // A turn that never began was not interrupted.
            self.turns.take_in(&uri, !never_ready);
        }
        compat::tell_counts(self.turns.core, self.turns.clients, &uri);
        compat::tell_diffs(self.turns.core, self.turns.clients, &uri);
        self.core().touch(&uri);
        self.turns.changes.track(self.turns.core, &uri);
        for client_id in self.absent_active_clients(&uri) {
            self.remove_active_client(&uri, &client_id);
        }
        self.customizations().update(&uri);
        self.customizations().reconcile(&uri);
        for chat in self.core().channels.chats_of(&uri) {
            self.turns.check_selected_model(&chat);
            let turns = &mut self.turns;
            turns.terminals.check_background(turns.core, &chat);
            turns.servers.check_canvases(turns.core, &chat);
        }
        if never_ready {
            // The host ended while the agent was starting: start it again.
            return self.begin(&uri);
        }
        let why = match is_reread {
            true => Label::TurnNotStored,
            false => Label::HostInterrupted,
        };
        for chat in self.core().channels.chats_of(&uri) {
            self.turns.interrupt(&chat, why);
        }
        self.resume_take_back(&uri);
    }

    /// Active clients of a session from an earlier life that are not here.
    fn absent_active_clients(&self, session: &ChannelUri) -> Vec<ClientId> {
        let session = self.turns.core.channels.session(session);
        let active = session.into_iter().flat_map(|it| &it.state.active_clients);
        active
            .map(|client| &client.client_id)
            .filter(|id| !self.turns.clients.is_here(id))
            .map(ClientId::from)
            .collect()
    }

    /// Lets sessions go that nobody watches and nothing happens in: those that
    /// have been idle for long, and the longest idle of too many.
    pub(crate) fn release_idle_sessions(&mut self) {
        next_sweep(self.core());
        let core = &*self.turns.core;
        let mut idle: Vec<(Timestamp, ChannelUri)> = core
            .channels
            .sessions()
            .filter(|session| self.is_idle(session))
            .map(|session| (session.last_used, session.uri.clone()))
            .collect();
        idle.sort();
        let limits = &core.config.limits;
        let (now, patience) = (core.now, limits.idle_session);
        let surplus = idle.len().saturating_sub(limits.idle_sessions);
        for (index, (last_used, uri)) in idle.into_iter().enumerate() {
            if index < surplus || last_used.after(patience) <= now {
                self.release(&uri);
            }
        }
    }

    fn is_idle(&self, session: &Session) -> bool {
        let subscriptions = &self.turns.core.subscriptions;
        let quiet =
            |uri: &ChannelUri| !self.turns.own.runs_in(uri) && !subscriptions.has_channel(uri);
        let held = Deadline::SummaryIsHeld(session.uri.clone());
        !self.turns.core.deadlines.is_set(&held)
            && !session.is_being_created()
            && session.notes.taking_back.is_none()
            && !subscriptions.has_channel(&session.uri)
            && !self.turns.changes.are_looked_at(&session.uri)
            && !subscriptions.has_channel(&ChannelUri::annotations_of(session.uri.as_str()))
            && session.chat_uris().iter().all(quiet)
    }

    pub(super) fn release(&mut self, uri: &ChannelUri) {
        let Some(session) = self.core().channels.remove_session(uri) else {
            return;
        };
        self.turns.catalogue.rest(uri);
        self.core().inputs.forget(uri);
        self.turns.changes.untrack(self.turns.core, uri);
        self.customizations().leave(uri);
        for chat in session.chat_uris() {
            self.turns.forget_chat(&chat);
            self.core().channels.remove_chat(&chat);
        }
    }
}

/// A chat as it was when the host ended.
fn stored_chat(mut loaded: LoadedChat) -> Chat {
    history::fold_log(&mut loaded);
    let LoadedChat { record, turns, .. } = loaded;
    let mut head = record.head;
    head.turns.clear();
    let mut chat = Chat::from_parts(record.uri, record.session, head, turns, record.notes);
    chat.stored_at = record.seq;
    chat
}
