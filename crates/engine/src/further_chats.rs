//! Chats beside a session's default one: empty ones, forks, side chats.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::AgentCommand;
use innkeeper_protocol::house::actions::{
    SessionChatAddedAction, SessionChatRemovedAction, SessionDefaultChatChangedAction, StateAction,
};
use innkeeper_protocol::house::commands::{
    ChatSource, CreateChatParams, ForkChatSource, SideChatSource,
};
use innkeeper_protocol::house::errors::ahp_error_codes;
use innkeeper_protocol::house::state::{
    ChatOrigin, MultipleChatsCapability, SessionLifecycle, Turn, TurnState,
};
use innkeeper_protocol::record::StoreOp;
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::snapshot::StoredTurn;
use serde_json::Value;

use crate::chats::Chat;
use crate::labels::{Label, Locale};
use crate::{ConnectionId, Engine};

/// What a new chat has from the start.
struct Beginning {
    origin: ChatOrigin,
    title: String,
    turns: Vec<StoredTurn>,
    /// Turns that the agent knows of and the chat does not show.
    context: Vec<StoredTurn>,
    /// What the agent can copy its own conversation from.
    fork_of: Option<Value>,
}

impl Engine {
    pub(crate) fn create_chat(
        &mut self,
        connection: ConnectionId,
        params: CreateChatParams,
    ) -> Result<(), RpcError> {
        let locale = self.locale_of(connection);
        let session = ChannelUri::from(params.channel);
        let uri = ChannelUri::from(params.chat);
        if let Some(message) = &params.initial_message {
            self.check_message(&session, message)
                .map_err(RpcError::invalid_params)?;
        }
        let several = self.check_new_chat(&session, &uri)?;
        let beginning = match params.source {
            None => Beginning {
                origin: ChatOrigin::User,
                title: Label::NewChat.text(locale),
                turns: Vec::new(),
                context: Vec::new(),
                fork_of: None,
            },
            Some(ChatSource::Fork(source)) if several.fork == Some(true) => {
                self.fork(&session, source, locale)?
            }
            Some(ChatSource::SideChat(source)) if several.side_chat == Some(true) => {
                self.side_chat(&session, source, locale)?
            }
            Some(_) => {
                return Err(RpcError::invalid_params(
                    "this agent cannot begin a chat from such a source",
                ));
            }
        };
        self.add_chat(&session, &uri, beginning);
        if let Some(message) = params.initial_message {
            self.start_turn(&uri, message, None, locale);
        }
        Ok(())
    }

    /// Whether a session can have one more chat of this name.
    fn check_new_chat(
        &self,
        session: &ChannelUri,
        uri: &ChannelUri,
    ) -> Result<MultipleChatsCapability, RpcError> {
        let Some(owner) = self.sessions.get(session) else {
            return Err(RpcError::session_not_found(session.as_str()));
        };
        if owner.state.lifecycle != SessionLifecycle::Ready {
            return Err(RpcError::invalid_params("the session is not ready"));
        }
        let limit = self.config.limits.chats;
        if owner.state.chats.len() >= limit {
            return Err(RpcError::internal(format!(
                "a session has at most {limit} chats; dispose of some, or raise limits.chats"
            )));
        }
        let taken = self.exists(uri) || uri.session_of_default_chat().is_some();
        if taken || !uri.as_str().contains(':') {
            return Err(RpcError::new(
                ahp_error_codes::SESSION_ALREADY_EXISTS,
                format!("`{uri}` cannot name a new chat: it is taken, or reserved"),
            ));
        }
        let agent = self.agent_of(owner);
        let capabilities = agent.and_then(|agent| agent.info.capabilities.as_ref());
        let several = capabilities.and_then(|can| can.multiple_chats.clone());
        several.ok_or_else(|| RpcError::invalid_params("this agent has one chat in a session"))
    }

    /// The turns of a chat up to one that has ended, as another chat has them.
    pub(crate) fn turns_up_to(
        &self,
        source: &ChannelUri,
        turn: &str,
    ) -> Result<Vec<StoredTurn>, RpcError> {
        let chat = self.chats.get(source);
        let index = chat.and_then(|chat| chat.position_of(turn));
        match chat.zip(index) {
            Some((chat, index)) => Ok(chat.turns[..=index].to_vec()),
            None => Err(RpcError::invalid_params(format!(
                "`{source}` has no finished turn `{turn}`"
            ))),
        }
    }

    fn source_chat(&self, session: &ChannelUri, source: &str) -> Result<&Chat, RpcError> {
        let chat = self.chats.get(source);
        chat.filter(|chat| chat.session == *session)
            .ok_or_else(|| RpcError::invalid_params(format!("the session has no chat `{source}`")))
    }

    /// What a chat is called: its own state has no action that renames it, so
    /// the catalogue of its session says so.
    fn title_of<'a>(&'a self, chat: &'a Chat) -> &'a str {
        let session = self.sessions.get(&chat.session);
        let mut listed = session.into_iter().flat_map(|it| &it.state.chats);
        let listed = listed.find(|listed| *listed.resource == *chat.uri.as_str());
        listed.map_or(&chat.head.title, |listed| &listed.title)
    }

    fn fork(
        &self,
        session: &ChannelUri,
        source: ForkChatSource,
        locale: Locale,
    ) -> Result<Beginning, RpcError> {
        let chat = self.source_chat(session, &source.chat)?;
        Ok(Beginning {
            title: Label::ForkOf(self.title_of(chat)).text(locale),
            turns: self.turns_up_to(&chat.uri, &source.turn_id)?,
            context: chat.notes.context.clone(),
            fork_of: chat.resume_up_to(&source.turn_id),
            origin: ChatOrigin::Fork {
                chat: source.chat,
                turn_id: source.turn_id,
            },
        })
    }

    /// A side chat begins empty: what came before is known to the agent only.
    fn side_chat(
        &self,
        session: &ChannelUri,
        source: SideChatSource,
        locale: Locale,
    ) -> Result<Beginning, RpcError> {
        let chat = self.source_chat(session, &source.chat)?;
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
            None => context.extend(self.turns_up_to(&chat.uri, &source.turn_id)?),
        }
        Ok(Beginning {
            title: Label::SideChatOf(self.title_of(chat)).text(locale),
            turns: Vec::new(),
            context,
            fork_of: chat.resume_up_to(&source.turn_id),
            origin: ChatOrigin::SideChat {
                chat: source.chat,
                turn_id: source.turn_id,
                selection: source.selection,
            },
        })
    }

    fn add_chat(&mut self, session: &ChannelUri, uri: &ChannelUri, beginning: Beginning) {
        let Beginning {
            origin,
            title,
            turns,
            context,
            fork_of,
        } = beginning;
        let mut chat = Chat::new(uri.clone(), session.clone(), title, origin, self.now);
        chat.adopt_turns(&turns);
        chat.notes.context = context;
        chat.notes.fork_of = fork_of;
        chat.dirty = true;
        let summary = chat.summary();
        self.chats.insert(uri.clone(), chat);
        self.homes.insert(uri.clone(), session.clone());
        self.step.durable_first = true;
        let action = SessionChatAddedAction { summary };
        self.emit(session, StateAction::SessionChatAdded(action), None);
    }

    pub(crate) fn dispose_chat(&mut self, uri: &ChannelUri) -> Result<(), RpcError> {
        let Some(chat) = self.chats.get(uri) else {
            return Err(RpcError::session_not_found(uri.as_str()));
        };
        if chat.is_default {
            return Err(RpcError::invalid_params(
                "a session's default chat goes with the session; use `disposeSession`",
            ));
        }
        let session = chat.session.clone();
        let leads = self
            .sessions
            .get(&session)
            .is_some_and(|session| session.state.default_chat.as_deref() == Some(uri.as_str()));
        if leads {
            // A session always has a default chat: the one that stays.
            let stays = ChannelUri::default_chat_of(session.as_str());
            let action = SessionDefaultChatChangedAction {
                default_chat: Some(stays.to_string()),
            };
            self.emit(
                &session,
                StateAction::SessionDefaultChatChanged(action),
                None,
            );
        }
        if let Some(backend) = self.chats.get(uri).and_then(|chat| chat.backend.as_ref()) {
            let backend = backend.id;
            self.tell_agent(AgentCommand::Forget { backend });
        }
        self.forget_chat(uri);
        self.step.durable_first = true;
        self.step
            .store
            .ops
            .push(StoreOp::DeleteChat { chat: uri.clone() });
        let action = SessionChatRemovedAction {
            chat: uri.to_string(),
        };
        self.emit(&session, StateAction::SessionChatRemoved(action), None);
        Ok(())
    }
}
