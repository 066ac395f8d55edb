//! Chats that go over to another session, or get one of their own. A chat takes
//! along what belongs to it: its turns, its agent's conversation, its draft and
//! queue, its marks, the chats of agents that work for it, and the checkpoints
//! of its turns. Comments stay in the session that they were written in.
//!
//! *Invariant*: a chat is in one session at any moment. All that a move changes
//! is in one step, and so in one batch of the store.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    SessionChatAddedAction, SessionChatRemovedAction, StateAction,
};
use innkeeper_protocol::newest::notifications::SessionAddedParams;
use innkeeper_protocol::newest::state::{
    ChatOrigin, ChatSummary, SessionLifecycle, SessionState, SessionStatus,
};
use innkeeper_protocol::record::{Inheritance, SessionNotes, StoreOp, SummaryFacts};
use innkeeper_protocol::rpc::RpcError;

use super::creation::{project_of, workspaceless};
use super::further_chats::title_of;
use super::moving::place_after;
use super::take_back::taken_back;
use super::{SessionsMut, summary, sweep_if_crowded};
use crate::compat;
use crate::core::Core;
use crate::core::channels::{Annotations, Chat, Session, directories_in};

/// A chat that leaves its session, and who goes with it.
struct Leaving {
    from: ChannelUri,
    /// The chat itself, and then those of agents that worked for it.
    chats: Vec<ChannelUri>,
    /// As they are listed where they go.
    summaries: Vec<ChatSummary>,
    turns: Vec<String>,
}

impl SessionsMut<'_> {
    /// Moves a chat to another session that there is.
    pub(super) fn hand_over(
        &mut self,
        uri: &ChannelUri,
        to: &ChannelUri,
        after: Option<ChannelUri>,
    ) -> Result<(), RpcError> {
        let Some(target) = self.turns.core.channels.session(to) else {
            return Err(RpcError::session_not_found(to.as_str()));
        };
        let leaving = self.leaving(uri)?;
        check_fits(self.turns.core, uri, target)?;
        self.check_is_settled(to)?;
        let limit = self.turns.core.config.limits.chats;
        if target.state.chats.len() + leaving.chats.len() > limit {
            return Err(RpcError::internal(format!(
                "a session has at most {limit} chats; dispose of some there, or raise limits.chats"
            )));
        }
        let mut order = target.chat_uris();
        let place = place_after(&order, after.as_ref())?;
        order.splice(place..place, leaving.chats.iter().cloned());
        self.leave(&leaving, to);
        for summary in leaving.summaries.clone() {
            let added = StateAction::SessionChatAdded(SessionChatAddedAction { summary });
            self.emit_about_chats(to, added);
        }
        self.reorder(to, &order);
        self.arrive(leaving, to);
        Ok(())
    }

    /// Makes a session for a chat, which is its default chat.
    pub(super) fn give_session_of_its_own(
        &mut self,
        uri: &ChannelUri,
    ) -> Result<ChannelUri, RpcError> {
        let leaving = self.leaving(uri)?;
        let core = &*self.turns.core;
        let known = core.channels.chat(uri);
        let known = known.zip(core.channels.session(&leaving.from));
        let Some((chat, source)) = known else {
            return Err(RpcError::session_not_found(uri.as_str()));
        };
        let to = ChannelUri::from(format!("ahp-session:/{}", core.new_name()));
        self.check_new_session_uri(&to)?;
        let title = leaving.summaries.first().map(|it| it.title.clone());
        let flags = (SessionStatus::IsRead | SessionStatus::IsArchived).bits();
        let own = chat.head.working_directories.as_deref();
        let directories = directories_in(&source.state, own);
        let directories: Vec<String> = directories.into_iter().cloned().collect();
        let is_workspaceless = directories.is_empty();
        let state = SessionState {
            title: title.unwrap_or_default(),
            status: SessionStatus::Idle.bits() | chat.head.status & flags,
            activity: None,
            origin: None,
            project: directories.first().and_then(|first| project_of(first)),
            working_directories: (!directories.is_empty()).then_some(directories),
            annotations: None,
            lifecycle: SessionLifecycle::Ready,
            creation_error: None,
            server_tools: None,
            active_clients: Vec::new(),
            chats: leaving.summaries.clone(),
            default_chat: Some(uri.to_string()),
            changesets: None,
            input_needed: None,
            meta: is_workspaceless.then(|| workspaceless(true)),
            ..source.state.clone()
        };
        let session = Session {
            published: summary::first(&to, &state, core.now),
            uri: to.clone(),
            state,
            notes: SessionNotes {
                title_is_open: chat.turns.is_empty(),
                language: source.notes.language.clone(),
                switches: source.notes.switches.clone(),
                ..SessionNotes::default()
            },
            facts: SummaryFacts::default(),
            changes: None,
            diffs: Vec::new(),
            annotations: None,
            last_used: core.now,
            dirty: true,
        };
        self.leave(&leaving, &to);
        let summary = session.published.clone();
        let core = self.core();
        core.channels.insert_session(session);
        core.channels
            .insert_annotations(Annotations::new(&to, Vec::new()));
        sweep_if_crowded(core);
        let seq = core.server_seq();
        let facts = SummaryFacts::default();
        self.turns.catalogue.set_live(&to, (&summary, &facts), seq);
        let added = SessionAddedParams {
            channel: ChannelUri::root().to_string(),
            summary,
        };
        compat::announce_session(self.turns.core, self.turns.clients, added, facts);
        for summary in &leaving.summaries {
            compat::announce_chat(self.turns.core, self.turns.clients, &to, summary);
        }
        self.count(&to);
        self.arrive(leaving, &to);
        Ok(to)
    }

    /// Who goes, if it may.
    fn leaving(&self, uri: &ChannelUri) -> Result<Leaving, RpcError> {
        let core = &*self.turns.core;
        let known = core.channels.chat(uri);
        let known = known.and_then(|chat| Some((chat, core.channels.session(&chat.session)?)));
        let Some((chat, session)) = known else {
            return Err(RpcError::session_not_found(uri.as_str()));
        };
        if chat.is_default {
            return Err(RpcError::invalid_params(
                "the chat that a session began with stays in it; fork it into a new chat and move \
                 that one",
            ));
        }
        let all = session.chat_uris();
        if let Some(parent) = parent_of(chat).filter(|it| all.contains(it)) {
            return Err(RpcError::invalid_params(format!(
                "this is the work of an agent for the chat `{parent}`, and goes where that one \
                 goes; move that one"
            )));
        }
        let is_archived = chat.head.status & SessionStatus::IsArchived.bits() != 0;
        if is_archived && let Some((cut, ..)) = taken_back(chat) {
            return Err(RpcError::invalid_params(format!(
                "this chat keeps what was taken back of `{cut}`, whose files are those of this \
                 session; return to it first, or mark it as not archived"
            )));
        }
        self.check_is_settled(&session.uri)?;
        let mut leaving = Leaving {
            from: session.uri.clone(),
            chats: with_descendants(core, uri.clone(), &all),
            summaries: Vec::new(),
            turns: Vec::new(),
        };
        for chat in leaving.chats.iter().filter_map(|it| core.channels.chat(it)) {
            let works = chat.head.background_work.as_ref();
            if chat.head.active_turn.is_some() || works.is_some_and(|works| !works.is_empty()) {
                return Err(RpcError::turn_in_progress(format!(
                    "something is running in `{}`; wait until it has ended, or stop it",
                    chat.uri
                )));
            }
            let ids = chat.turns.iter().map(|turn| turn.id.to_string());
            leaving.turns.extend(ids);
            leaving.summaries.push(ChatSummary {
                title: title_of(core, chat).to_owned(),
                ..chat.summary()
            });
        }
        Ok(leaving)
    }

    /// Whether it is known where a session works, now and in a moment.
    fn check_is_settled(&self, session: &ChannelUri) -> Result<(), RpcError> {
        let known = self.turns.core.channels.session(session);
        let why = match known {
            Some(known) if known.state.lifecycle == SessionLifecycle::Ready => {
                if known.notes.taking_back.is_some() {
                    "something of it is being taken back; try again in a moment"
                } else if self.own.changing.contains_key(session) {
                    "its directories are being changed; try again in a moment"
                } else {
                    return Ok(());
                }
            }
            _ => "it is not ready",
        };
        Err(RpcError::invalid_params(format!(
            "chats cannot be moved from or to `{session}` now: {why}"
        )))
    }

    /// Takes chats out of their session, for another one.
    fn leave(&mut self, leaving: &Leaving, to: &ChannelUri) {
        let Leaving { from, chats, .. } = leaving;
        self.note_departed(from, chats);
        for uri in chats {
            compat::end_as_session(self.turns.core, self.turns.clients, uri);
            if let Some(chat) = self.core().channels.chat_mut(uri) {
                chat.move_to(to);
            }
            self.turns.catalogue.add_further_chat(uri, to);
            let chat = uri.to_string();
            let removed = StateAction::SessionChatRemoved(SessionChatRemovedAction { chat });
            self.emit_about_chats(from, removed);
        }
        let core = self.core();
        core.inputs.share(from, to);
        core.store(StoreOp::ShareContent {
            from: from.clone(),
            with: to.clone(),
        });
    }

    /// The chats are listed in their new session: the rest follows from that.
    fn arrive(&mut self, leaving: Leaving, to: &ChannelUri) {
        for chat in &leaving.chats {
            self.turns.open_anew(chat);
        }
        let core = &mut *self.turns.core;
        // They work in the same directories, as far as the chats do.
        let target = core.channels.session(to);
        let directories = target.and_then(|it| it.state.working_directories.clone());
        let theirs = Inheritance {
            session: leaving.from.clone(),
            directories: directories.unwrap_or_default(),
            turns: leaving.turns,
        };
        self.turns.changes.take_over(core, to, theirs);
        core.touch(&leaving.from);
        core.touch(to);
    }
}

/// The chat that an agent works for in this one.
fn parent_of(chat: &Chat) -> Option<ChannelUri> {
    match chat.head.origin.as_ref()? {
        ChatOrigin::Tool { chat, .. } => Some(ChannelUri::from(chat.as_str())),
        ChatOrigin::User
        | ChatOrigin::Fork { .. }
        | ChatOrigin::SideChat { .. }
        | ChatOrigin::Unknown(_) => None,
    }
}

/// A chat and those of `all` in which agents work for it, or for one of these.
fn with_descendants(core: &Core, uri: ChannelUri, all: &[ChannelUri]) -> Vec<ChannelUri> {
    let mut found = vec![uri];
    let mut at = 0;
    while let Some(parent) = found.get(at).cloned() {
        at += 1;
        let children = all.iter().filter(|it| {
            let chat = core.channels.chat(it.as_str());
            chat.and_then(parent_of).as_ref() == Some(&parent) && !found.contains(it)
        });
        let children: Vec<ChannelUri> = children.cloned().collect();
        found.extend(children);
    }
    found
}

/// An agent remembers a conversation where it began: a chat goes on only with
/// the same agent in the same directories.
fn check_fits(core: &Core, uri: &ChannelUri, to: &Session) -> Result<(), RpcError> {
    let known = core.channels.chat(uri);
    let known = known.and_then(|chat| Some((chat, core.channels.session(&chat.session)?)));
    let Some((chat, from)) = known else {
        return Err(RpcError::session_not_found(uri.as_str()));
    };
    if from.state.provider != to.state.provider {
        return Err(RpcError::invalid_params(format!(
            "this chat is one with the agent `{}`, and `{}` is a session of `{}`",
            from.state.provider, to.uri, to.state.provider
        )));
    }
    let own = chat.head.working_directories.as_deref();
    if directories_in(&from.state, own) != directories_in(&to.state, own) {
        return Err(RpcError::invalid_params(format!(
            "this chat and the session `{}` work in different directories, and an agent remembers \
             a conversation for the directories that it was in; move the chat to a new session, \
             or to one that works in the same directories",
            to.uri
        )));
    }
    Ok(())
}
