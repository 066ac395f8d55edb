//! Sessions of which something can never be stored. What the host holds of them
//! is more than what is stored, and so is what their clients hold: the session
//! leaves memory and is read anew, and whoever follows it comes back for what
//! is there.

use std::collections::BTreeSet;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::notifications::{SessionAddedParams, SessionRemovedParams};
use innkeeper_protocol::newest::state::SessionSummary;
use innkeeper_protocol::outgoing::Notification;
use innkeeper_protocol::record::{LoadedSession, StoreOp, SummaryFacts};
use innkeeper_protocol::rpc::RpcError;

use super::{SessionsMut, everything};
use crate::compat;
use crate::core::Deadline;
use crate::effect::{CloseReason, ConnectionId, Effect};

/// How many disposals are remembered with those who followed what went: more
/// than are ever on their way to the store at once.
const MOST_DEPARTED: usize = 1_000;

impl SessionsMut<'_> {
    /// Takes sessions back to what is stored of them.
    pub(crate) fn not_stored(&mut self, sessions: Vec<ChannelUri>) {
        // Of one that is on its way already, more may come in that was said before.
        let news = sessions.into_iter();
        let news: Vec<ChannelUri> = news
            .filter(|uri| self.own.reread.insert(uri.clone()))
            .collect();
        if news.is_empty() {
            return;
        }
        let below = self.core().forget_replay();
        let mut outdated = BTreeSet::new();
        for uri in news {
            outdated.extend(self.followers_of(&uri));
            let departed = self.own.departed.iter();
            let departed = departed.filter(|(session, _)| *session == uri);
            outdated.extend(departed.flat_map(|(_, followers)| followers));
            self.abandon(&uri);
            let session = uri.clone();
            self.core().store(StoreOp::Reread { session, below });
            self.start_loading(&uri);
        }
        for connection in outdated {
            self.send_back(connection);
        }
    }

    /// Has a client come back, for the state as it is.
    fn send_back(&mut self, connection: ConnectionId) {
        let reason = CloseReason::NotStored;
        self.core().effect(Effect::Close { connection, reason });
    }

    /// Those of which it is being found out what is stored of them.
    pub(crate) fn reread_now(&self) -> BTreeSet<ChannelUri> {
        self.own.reread.clone()
    }

    /// Some of a session is disposed of. If that cannot be stored, it comes
    /// back, and those who followed it have to come back for it before they
    /// hear anything else.
    pub(super) fn note_departed(&mut self, session: &ChannelUri, channels: &[ChannelUri]) {
        let subscriptions = &self.turns.core.subscriptions;
        let followers = channels
            .iter()
            .filter_map(|it| subscriptions.of_channel(it));
        let followers = followers.flat_map(|followers| followers.to_vec());
        let followers: BTreeSet<ConnectionId> = followers.map(|it| it.connection).collect();
        if followers.is_empty() {
            return;
        }
        if self.own.departed.len() >= MOST_DEPARTED {
            self.own.departed.pop_front();
        }
        self.own.departed.push_back((session.clone(), followers));
    }

    /// The connections that follow a session, one of its chats or what has
    /// changed in it.
    fn followers_of(&self, uri: &ChannelUri) -> BTreeSet<ConnectionId> {
        let (core, catalogue) = (&*self.turns.core, &*self.turns.catalogue);
        let is_its = |channel: &&ChannelUri| {
            *channel == uri
                || core.channels.session_of(channel).as_ref() == Some(uri)
                || catalogue.session_of(core, channel).as_ref() == Some(uri)
                || channel.session_of_default_chat().as_ref() == Some(uri)
                || channel.session_of_annotations().as_ref() == Some(uri)
        };
        let channels = core.subscriptions.channels().filter(is_its);
        let followers = channels.filter_map(|channel| core.subscriptions.of_channel(channel));
        let followers = followers.flat_map(|followers| followers.to_vec());
        followers.map(|follower| follower.connection).collect()
    }

    /// Takes a session out of memory as it is, whatever goes on in it.
    fn abandon(&mut self, uri: &ChannelUri) {
        let why = "the session could not be stored; see the host's log, and create it again";
        self.check_fails(uri, &RpcError::internal(why));
        for chat in self.core().channels.chats_of(uri) {
            self.turns.abandon_turn(&chat);
        }
        let held = Deadline::SummaryIsHeld(uri.clone());
        self.core().deadlines.clear(&held);
        self.release(uri);
    }

    /// A session that was read anew: everybody learns what there is of it.
    /// Returns it if there is something of it.
    pub(super) fn reread(
        &mut self,
        uri: &ChannelUri,
        loaded: Option<Box<LoadedSession>>,
    ) -> Option<Box<LoadedSession>> {
        let stored: BTreeSet<ChannelUri> = loaded
            .iter()
            .flat_map(|loaded| &loaded.chats)
            .map(|chat| chat.record.uri.clone())
            .collect();
        let known = self.turns.catalogue.contains(uri);
        let listed = self.turns.catalogue.further_chats_of(uri);
        for chat in listed.iter().filter(|chat| !stored.contains(*chat)) {
            self.forget_chat(chat);
        }
        let default = ChannelUri::default_chat_of(uri.as_str());
        let further: Vec<&ChannelUri> = stored.iter().filter(|it| **it != default).collect();
        let is_back = loaded.is_some() && !known;
        if is_back || further.iter().any(|chat| !listed.contains(chat)) {
            // Something was disposed of and is there again. Nobody knows any
            // more who followed it.
            for connection in self.turns.clients.connections() {
                self.send_back(connection);
            }
        }
        let seq = self.core().server_seq();
        match &loaded {
            Some(loaded) => {
                for chat in further {
                    self.turns.catalogue.add_further_chat(chat, uri);
                }
                let summary = loaded.session.summary.clone();
                let before = self.turns.catalogue.told(uri);
                let is_less = before.is_some_and(|before| says_less(&before, &summary));
                let row = (&summary, &loaded.session.facts);
                self.turns.catalogue.set_live(uri, row, seq);
                if known && !is_less {
                    let news = everything(&summary);
                    let facts = SummaryFacts::default();
                    self.core()
                        .notify_root(Notification::SessionSummaryChanged(news, facts));
                } else {
                    self.tell_of_end(uri);
                    let channel = ChannelUri::root().to_string();
                    let added = SessionAddedParams { channel, summary };
                    let facts = loaded.session.facts.clone();
                    compat::announce_session(self.turns.core, self.turns.clients, added, facts);
                }
            }
            None if known => {
                self.turns.catalogue.remove(uri);
                self.core().end_progress(uri);
                self.forget_chat(&default);
                self.core().subscriptions.remove_channel(uri);
                let annotations = ChannelUri::annotations_of(uri.as_str());
                self.core().subscriptions.remove_channel(&annotations);
                self.tell_of_end(uri);
            }
            None => {}
        }
        if known != loaded.is_some() {
            self.count(uri);
        }
        loaded
    }

    fn tell_of_end(&mut self, uri: &ChannelUri) {
        let params = SessionRemovedParams {
            channel: ChannelUri::root().to_string(),
            session: uri.to_string(),
        };
        self.core()
            .notify_root(Notification::SessionRemoved(params));
    }
}

/// Whether a summary lacks something that the one before had: a change of a
/// summary cannot say that.
fn says_less(before: &SessionSummary, after: &SessionSummary) -> bool {
    fn gone<T>(before: &Option<T>, after: &Option<T>) -> bool {
        before.is_some() && after.is_none()
    }
    gone(&before.origin, &after.origin)
        || gone(&before.project, &after.project)
        || gone(&before.working_directories, &after.working_directories)
        || gone(&before.annotations, &after.annotations)
        || gone(&before.changes, &after.changes)
        || gone(&before.meta, &after.meta)
        || gone(&before.chats, &after.chats)
        || gone(&before.default_chat, &after.default_chat)
}
