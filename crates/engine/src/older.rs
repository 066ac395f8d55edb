//! Clients of older protocol versions: what one channel is to them may be
//! several of the house, and what they say in pieces the house says at once.
//! How they say it is the gates' business; here is what only the host knows.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::command::ReadTurns;
use innkeeper_protocol::gates::up::Piece;
use innkeeper_protocol::house::actions::{
    ActionOrigin, ChatDraftChangedAction, SessionActiveClientRemovedAction,
    SessionActiveClientSetAction, StateAction,
};
use innkeeper_protocol::house::state::SessionSummary;
use innkeeper_protocol::outgoing::{Reply, TurnsReply};
use innkeeper_protocol::record::{Context, Selection};
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::snapshot::{Beside, Snapshot, SnapshotState};
use innkeeper_protocol::telemetry::is_telemetry_channel;
use innkeeper_protocol::version::Version;

use crate::chats::Chat;
use crate::{ConnectionId, Engine, changesets};

/// A model or an agent that was selected while a turn ran: up to 0.4 that is
/// a change of the session, and waits for the end of the turn.
#[derive(Debug)]
pub(crate) struct DeferredSelection {
    piece: Piece,
    origin: ActionOrigin,
}

impl Engine {
    pub(crate) fn version_of(&self, connection: ConnectionId) -> Version {
        let connection = self.connections.get(&connection);
        connection.map_or(Version::NEWEST, |it| it.version)
    }

    /// The other channel of the house that a channel is to this client: up to
    /// 0.3 a session is also its default chat.
    pub(crate) fn joined_to(
        &self,
        connection: ConnectionId,
        channel: &ChannelUri,
    ) -> Option<ChannelUri> {
        let joins = !self.version_of(connection).has_chats();
        let is_session =
            *channel != ChannelUri::root() && self.session_of(channel).as_ref() == Some(channel);
        (joins && is_session).then(|| ChannelUri::default_chat_of(channel.as_str()))
    }

    /// Draft 1 has no watches, changesets and telemetry, and no way to be subscribed to
    /// something that it is given no snapshot of.
    pub(crate) fn has_no_word_for(&self, connection: ConnectionId, channel: &ChannelUri) -> bool {
        let newer = self.watches.contains_key(channel)
            || is_telemetry_channel(channel.as_str())
            || changesets::parse(channel).is_some();
        newer && !self.version_of(connection).has_watches()
    }

    /// Adds to a snapshot what older versions show with it.
    pub(crate) fn with_what_is_beside(
        &self,
        connection: ConnectionId,
        mut snapshot: Snapshot,
    ) -> Snapshot {
        if self.version_of(connection).shows_each_state_alone() {
            return snapshot;
        }
        let channel = &snapshot.resource;
        let (session, chat, state) = if let Some(chat) = self.chats.get(channel) {
            let session = self.sessions.get(&chat.session);
            let state = session.map(|it| SnapshotState::Session(Box::new(it.state.clone())));
            (session, Some(chat), state)
        } else {
            let default = ChannelUri::default_chat_of(channel.as_str());
            let chat = self.chats.get(&default);
            let state = chat.map(|chat| SnapshotState::Chat(Box::new(chat.snapshot(None))));
            (self.sessions.get(channel), chat, state)
        };
        // What has changed is told in the catalogue: those versions have no
        // action that would tell it here.
        let summary = session.map(|session| SessionSummary {
            changes: None,
            ..session.published.clone()
        });
        snapshot.beside = Some(Box::new(Beside {
            summary,
            state,
            selection: chat
                .map(|chat| chat.notes.selection.clone())
                .unwrap_or_default(),
        }));
        snapshot
    }

    /// The whole action of which a client said a piece, with its channel.
    pub(crate) fn completed(
        &self,
        channel: ChannelUri,
        client_id: &str,
        piece: &Piece,
    ) -> Option<(ChannelUri, StateAction)> {
        match piece {
            Piece::Model(_) | Piece::Agent(_) => {
                let chat = match self.chats.contains_key(&channel) {
                    true => channel,
                    false => ChannelUri::default_chat_of(channel.as_str()),
                };
                let state = self.chats.get(&chat)?;
                let draft = state.head.draft.as_ref();
                let draft = draft.and_then(|it| serde_json::to_value(it).ok());
                let draft = piece.complete_draft(draft)?;
                let draft = serde_json::from_value(draft.into()).ok()?;
                let action = ChatDraftChangedAction { draft: Some(draft) };
                Some((chat, StateAction::ChatDraftChanged(action)))
            }
            Piece::ActiveClient(_) | Piece::ClientTools(_) => {
                let clients = &self.sessions.get(&channel)?.state.active_clients;
                let mine = clients.iter().find(|client| client.client_id == client_id);
                let mine = mine.and_then(|it| serde_json::to_value(it).ok());
                let action = match piece.complete_client(mine) {
                    Some(client) => {
                        StateAction::SessionActiveClientSet(SessionActiveClientSetAction {
                            active_client: serde_json::from_value(client.into()).ok()?,
                        })
                    }
                    None => {
                        StateAction::SessionActiveClientRemoved(SessionActiveClientRemovedAction {
                            client_id: client_id.to_owned(),
                        })
                    }
                };
                Some((channel, action))
            }
        }
    }

    /// In 0.4 the model and the agent are the session's, and are told with its
    /// default chat: whoever follows the session and comes to follow the chat
    /// is told what they are now.
    pub(crate) fn tell_selection(&mut self, connection: ConnectionId, channel: &ChannelUri) {
        let Some(chat) = self.chats.get(channel).filter(|chat| chat.is_default) else {
            return;
        };
        let version = self.version_of(connection);
        let is_concerned = version.has_chats()
            && !version.selects_per_message()
            && self.subscriptions.contains(connection, &chat.session);
        if is_concerned {
            let Selection { model, agent } = &chat.notes.selection;
            let context = Context {
                model: model.as_ref().and_then(|it| serde_json::to_value(it).ok()),
                agent: serde_json::to_value(agent).ok(),
                ..Context::default()
            };
            let action = StateAction::ChatDraftChanged(ChatDraftChangedAction { draft: None });
            self.emit_to_about(connection, channel, action, Some(Box::new(context)));
        }
    }

    /// Keeps a selection for after the turn, if one is running.
    pub(crate) fn defer_selection(
        &mut self,
        chat: &ChannelUri,
        piece: Piece,
        origin: &ActionOrigin,
    ) -> bool {
        let chat = self.chats.get_mut(chat);
        let Some(chat) = chat.filter(|chat| chat.head.active_turn.is_some()) else {
            return false;
        };
        let origin = origin.clone();
        chat.deferred.push(DeferredSelection { piece, origin });
        true
    }

    /// The turn has ended: what was selected meanwhile counts from now on.
    pub(crate) fn apply_deferred_selections(&mut self, uri: &ChannelUri) {
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        for DeferredSelection { piece, origin } in std::mem::take(&mut chat.deferred) {
            if let Some((chat, action)) = self.completed(uri.clone(), &origin.client_id, &piece) {
                self.emit(&chat, action, Some(origin));
            }
        }
    }

    /// Up to 0.4 a message does not say which model it is for: it is the one
    /// that is selected.
    pub(crate) fn with_selection(
        &self,
        connection: ConnectionId,
        channel: &ChannelUri,
        mut action: StateAction,
    ) -> StateAction {
        if self.version_of(connection).selects_per_message() {
            return action;
        }
        let message = match &mut action {
            StateAction::ChatTurnStarted(started) => &mut started.message,
            StateAction::ChatPendingMessageSet(set) => &mut set.message,
            _ => return action,
        };
        if let Some(chat) = self.chats.get(channel) {
            let Selection { model, agent } = selection_after_turn(chat);
            message.model = model;
            message.agent = agent;
        }
        action
    }

    /// Up to 0.4 one client at a time is active in a session.
    pub(crate) fn why_not_active(
        &self,
        connection: ConnectionId,
        channel: &ChannelUri,
        client_id: &str,
        action: &StateAction,
    ) -> Option<String> {
        let StateAction::SessionActiveClientSet(_) = action else {
            return None;
        };
        if self.version_of(connection).has_many_active_clients() {
            return None;
        }
        let clients = &self.sessions.get(channel)?.state.active_clients;
        let other = clients
            .iter()
            .find(|client| client.client_id != client_id)?;
        Some(format!(
            "client `{}` is active in this session; it has to leave first",
            other.client_id
        ))
    }

    /// History as versions up to 0.4 ask for it.
    pub(crate) fn read_turns(&self, asked: &ReadTurns) -> Result<Reply, RpcError> {
        let Some(chat) = self.chats.get(&asked.channel) else {
            return Err(RpcError::session_not_found(asked.channel.as_str()));
        };
        let end = match &asked.before {
            Some(turn) => chat
                .place_of(turn)
                .ok_or_else(|| RpcError::invalid_params(format!("there is no turn `{turn}`")))?,
            None => chat.turns.len(),
        };
        let most = self.config.limits.page_turns;
        let limit = asked.limit.and_then(|limit| usize::try_from(limit).ok());
        let start = end.saturating_sub(limit.unwrap_or(most).min(most));
        Ok(Reply::Turns(TurnsReply {
            turns: chat.turns[start..end].to_vec(),
            has_more: start > 0,
        }))
    }
}

/// What will be selected when the running turn has ended, if one runs: a
/// message that waits for that is meant for it.
fn selection_after_turn(chat: &Chat) -> Selection {
    let mut selection = chat.notes.selection.clone();
    for DeferredSelection { piece, .. } in &chat.deferred {
        match piece {
            Piece::Model(model) => selection.model = serde_json::from_value(model.clone()).ok(),
            Piece::Agent(agent) => selection.agent = serde_json::from_value(agent.clone()).ok(),
            Piece::ActiveClient(_) | Piece::ClientTools(_) => {}
        }
    }
    selection
}
