//! Chats besides a session's default one: empty ones, forks, side chats.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    SessionChatAddedAction, SessionChatRemovedAction, SessionDefaultChatChangedAction, StateAction,
};
use innkeeper_protocol::newest::commands::{
    ChatSource, CreateChatParams, ForkChatSource, SideChatSource,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::errors::ahp_error_codes;
use innkeeper_protocol::newest::state::{
    ChatOrigin, MultipleChatsCapability, SessionLifecycle, SessionStatus, Turn, TurnState,
};
use innkeeper_protocol::record::StoreOp;
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::snapshot::StoredTurn;
use serde_json::Value;

use super::SessionsMut;
use crate::compat;
use crate::core::channels::Chat;
use crate::core::{Core, is_of_host};
use crate::effect::ConnectionId;
use crate::labels::{Label, Locale};
use crate::turns::check_message;

/// What a new chat has from the start.
pub(super) struct Beginning {
    origin: ChatOrigin,
    title: String,
    turns: Vec<StoredTurn>,
    /// Turns that the agent knows of and the chat does not show.
    context: Vec<StoredTurn>,
    /// What the agent can copy its own conversation from.
    fork_of: Option<Value>,
    /// Those of the session's that it works in, if not in all.
    directories: Option<Vec<String>>,
    /// What the chat says of the one that was taken back, if it keeps that.
    pub(super) kept_by_take_back: Option<JsonObject>,
}

impl SessionsMut<'_> {
    pub(crate) fn create_chat(
        &mut self,
        connection: ConnectionId,
        params: CreateChatParams,
    ) -> Result<(), RpcError> {
        let locale = self.turns.clients.locale_of(connection);
        let session = ChannelUri::from(params.channel);
        let uri = ChannelUri::from(params.chat);
        if let Some(message) = &params.initial_message {
            check_message(self.turns.core, self.turns.agents, &session, message)
                .map_err(|refusal| RpcError::invalid_params(refusal.reason))?;
        }
        let several = self.check_new_chat(&session, &uri)?;
        let is_fork = matches!(params.source, Some(ChatSource::Fork(_)));
        let directories = params.working_directories.filter(|_| !is_fork);
        let directories = self.check_directories_of_chat(&session, directories)?;
        let beginning = match params.source {
            None => Beginning {
                origin: ChatOrigin::User,
                title: Label::NewChat.text(locale),
                turns: Vec::new(),
                context: Vec::new(),
                fork_of: None,
                directories,
                kept_by_take_back: None,
            },
            Some(ChatSource::Fork(source)) if several.fork == Some(true) => {
                fork(self.turns.core, &session, source, locale)?
            }
            Some(ChatSource::SideChat(source)) if several.side_chat == Some(true) => Beginning {
                directories,
                ..side_chat(self.turns.core, &session, source, locale)?
            },
            Some(_) => {
                return Err(RpcError::invalid_params(
                    "this agent cannot begin a chat from such a source",
                ));
            }
        };
        self.add_chat(&session, &uri, beginning);
        if let Some(message) = params.initial_message {
            self.turns.start_turn(&uri, message, None, locale);
        }
        Ok(())
    }

    /// Whether a session can have one more chat of this name.
    pub(super) fn check_new_chat(
        &self,
        session: &ChannelUri,
        uri: &ChannelUri,
    ) -> Result<MultipleChatsCapability, RpcError> {
        let (core, catalogue) = (&*self.turns.core, &*self.turns.catalogue);
        let Some(owner) = core.channels.session(session) else {
            return Err(RpcError::session_not_found(session.as_str()));
        };
        if owner.state.lifecycle != SessionLifecycle::Ready {
            return Err(RpcError::invalid_params("the session is not ready"));
        }
        let limit = core.config.limits.chats;
        if owner.state.chats.len() >= limit {
            return Err(RpcError::internal(format!(
                "a session has at most {limit} chats; dispose of some, or raise limits.chats"
            )));
        }
        let taken = catalogue.exists(core, uri)
            || catalogue.was_elsewhere(uri, session)
            || uri.session_of_default_chat().is_some()
            || is_of_host(uri)
            || owner
                .notes
                .taking_back
                .as_ref()
                .is_some_and(|it| it.fork == *uri);
        if taken || !uri.as_str().contains(':') {
            return Err(RpcError::new(
                ahp_error_codes::SESSION_ALREADY_EXISTS,
                format!("`{uri}` cannot name a new chat: it is taken, or reserved"),
            ));
        }
        let agent = self.turns.agents.of_session(&owner.state);
        let capabilities = agent.and_then(|agent| agent.info.capabilities.as_ref());
        let several = capabilities.and_then(|can| can.multiple_chats.clone());
        several.ok_or_else(|| RpcError::invalid_params("this agent has one chat in a session"))
    }

    pub(super) fn add_chat(
        &mut self,
        session: &ChannelUri,
        uri: &ChannelUri,
        beginning: Beginning,
    ) {
        let Beginning {
            origin,
            title,
            turns,
            context,
            fork_of,
            directories,
            kept_by_take_back,
        } = beginning;
        let now = self.turns.core.now;
        let mut chat = Chat::new(uri.clone(), session.clone(), title, origin, now);
        chat.adopt_turns(&turns);
        chat.notes.context = context;
        chat.notes.fork_of = fork_of;
        chat.head.working_directories = directories;
        if kept_by_take_back.is_some() {
            chat.head.status |= SessionStatus::IsArchived.bits();
            chat.head.meta = kept_by_take_back;
        }
        chat.dirty = true;
        let summary = chat.summary();
        let core = self.core();
        core.channels.insert_chat(chat);
        core.step.durable_first = true;
        self.turns.catalogue.add_further_chat(uri, session);
        let added = StateAction::SessionChatAdded(SessionChatAddedAction { summary });
        self.emit_about_chats(session, added);
    }

    /// Emits an action on a session's list of chats.
    pub(super) fn emit_about_chats(&mut self, session: &ChannelUri, action: StateAction) {
        let turns = &mut self.turns;
        compat::emit_about_chats(turns.core, turns.clients, turns.catalogue, session, action);
    }

    pub(crate) fn dispose_chat(&mut self, uri: &ChannelUri) -> Result<(), RpcError> {
        let Some(chat) = self.core().channels.chat(uri) else {
            return Err(RpcError::session_not_found(uri.as_str()));
        };
        if chat.is_default {
            return Err(RpcError::invalid_params(
                "a session's default chat goes with the session; use `disposeSession`",
            ));
        }
        let session = chat.session.clone();
        let known = self.turns.core.channels.session(&session);
        if known.is_some_and(|it| it.notes.taking_back.is_some()) {
            return Err(RpcError::invalid_request(
                "something of this session is being taken back; try again in a moment",
            ));
        }
        let leads = self
            .core()
            .channels
            .session(&session)
            .is_some_and(|session| session.state.default_chat.as_deref() == Some(uri.as_str()));
        if leads {
            // A session always has a default chat: the one that stays.
            let stays = ChannelUri::default_chat_of(session.as_str());
            let action = SessionDefaultChatChangedAction {
                default_chat: Some(stays.to_string()),
            };
            let action = StateAction::SessionDefaultChatChanged(action);
            self.core().emit(&session, action, None);
        }
        self.note_departed(&session, std::slice::from_ref(uri));
        self.turns.forget_conversation(uri);
        self.forget_chat(uri);
        let core = self.core();
        core.step.durable_first = true;
        core.store(StoreOp::DeleteChat { chat: uri.clone() });
        let action = SessionChatRemovedAction {
            chat: uri.to_string(),
        };
        self.emit_about_chats(&session, StateAction::SessionChatRemoved(action));
        Ok(())
    }
}

/// The turns of a chat up to one that has ended, as another chat has them.
pub(super) fn turns_up_to(
    core: &Core,
    source: &ChannelUri,
    turn: &str,
) -> Result<Vec<StoredTurn>, RpcError> {
    let chat = core.channels.chat(source);
    if chat.and_then(Chat::active_turn_id) == Some(turn) {
        return Err(RpcError::turn_in_progress(format!(
            "turn `{turn}` is still running; wait until it has ended, or take an earlier one"
        )));
    }
    let index = chat.and_then(|chat| chat.position_of(turn));
    match chat.zip(index) {
        Some((chat, index)) => Ok(chat.turns[..=index].to_vec()),
        None => Err(RpcError::invalid_params(format!(
            "`{source}` has no finished turn `{turn}`"
        ))),
    }
}

fn source_chat<'a>(
    core: &'a Core,
    session: &ChannelUri,
    source: &str,
) -> Result<&'a Chat, RpcError> {
    let chat = core.channels.chat(source);
    chat.filter(|chat| chat.session == *session)
        .ok_or_else(|| RpcError::invalid_params(format!("the session has no chat `{source}`")))
}

/// What a chat is called: its own state has no action that renames it, so
/// the catalogue of its session says so.
fn title_of<'a>(core: &'a Core, chat: &'a Chat) -> &'a str {
    let session = core.channels.session(&chat.session);
    let mut listed = session.into_iter().flat_map(|it| &it.state.chats);
    let listed = listed.find(|listed| *listed.resource == *chat.uri.as_str());
    listed.map_or(&chat.head.title, |listed| &listed.title)
}

pub(super) fn fork(
    core: &Core,
    session: &ChannelUri,
    source: ForkChatSource,
    locale: Locale,
) -> Result<Beginning, RpcError> {
    let chat = source_chat(core, session, &source.chat)?;
    Ok(Beginning {
        title: Label::ForkOf(title_of(core, chat)).text(locale),
        turns: turns_up_to(core, &chat.uri, &source.turn_id)?,
        context: chat.notes.context.clone(),
        fork_of: chat.resume_up_to(&source.turn_id),
        directories: chat.head.working_directories.clone(),
        kept_by_take_back: None,
        origin: ChatOrigin::Fork {
            chat: source.chat,
            turn_id: source.turn_id,
        },
    })
}

/// A side chat begins empty: what came before is known to the agent only.
fn side_chat(
    core: &Core,
    session: &ChannelUri,
    source: SideChatSource,
    locale: Locale,
) -> Result<Beginning, RpcError> {
    let chat = source_chat(core, session, &source.chat)?;
    let mut context = chat.notes.context.clone();
    let active = chat.head.active_turn.as_ref();
    match active.filter(|turn| turn.id == source.turn_id) {
        Some(active) => {
            context.extend(chat.turns.iter().cloned());
            let so_far = Turn {
                id: active.id.clone(),
                started_at: Some(active.started_at.clone()),
                duration: None,
                message: active.message.clone(),
                response_parts: active.response_parts.clone(),
                usage: active.usage.clone(),
                state: TurnState::Cancelled,
            };
            context.extend(StoredTurn::new(&so_far));
        }
        None => context.extend(turns_up_to(core, &chat.uri, &source.turn_id)?),
    }
    Ok(Beginning {
        title: Label::SideChatOf(title_of(core, chat)).text(locale),
        turns: Vec::new(),
        context,
        fork_of: chat.resume_up_to(&source.turn_id),
        directories: None,
        kept_by_take_back: None,
        origin: ChatOrigin::SideChat {
            chat: source.chat,
            turn_id: source.turn_id,
            selection: source.selection,
        },
    })
}
