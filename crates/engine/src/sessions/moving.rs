//! The order of a session's chats. It is the order of the session's catalogue,
//! and stored with the session. Every chat can be moved but the one that is the
//! session's default: clients show that one first.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    ChatMovableChangedAction, SessionChatsReorderedAction, StateAction,
};
use innkeeper_protocol::newest::commands::{ChatMoveDestination, MoveChatParams, MoveChatResult};
use innkeeper_protocol::rpc::RpcError;

use super::SessionsMut;

impl SessionsMut<'_> {
    /// Puts a chat into another place of its session's catalogue.
    pub(crate) fn move_chat(&mut self, params: MoveChatParams) -> Result<MoveChatResult, RpcError> {
        let uri = ChannelUri::from(params.channel);
        let core = &*self.turns.core;
        let Some(chat) = core.channels.chat(&uri) else {
            return Err(RpcError::session_not_found(uri.as_str()));
        };
        if chat.head.movable != Some(true) {
            return Err(RpcError::invalid_params(
                "the default chat of a session cannot be moved; move the others, or make another \
                 chat the default one first",
            ));
        }
        let session = chat.session.clone();
        let after = match params.destination {
            ChatMoveDestination::Session(to) if *to.session == *session.as_str() => to.after,
            ChatMoveDestination::Session(to) => {
                let to = ChannelUri::from(to.session);
                return Err(match self.turns.catalogue.contains(&to) {
                    true => RpcError::invalid_params(
                        "this host moves chats within their session; to go on elsewhere, create a \
                         chat in the other session and say there what it should know",
                    ),
                    false => RpcError::session_not_found(to.as_str()),
                });
            }
            ChatMoveDestination::NewSession(_) => {
                return Err(RpcError::invalid_params(
                    "this host moves chats within their session; to go on in a session of its own, \
                     create one and say there what it should know",
                ));
            }
            ChatMoveDestination::Unknown(_) => {
                return Err(RpcError::invalid_params(
                    "this host knows the destinations `session` and `newSession` only",
                ));
            }
        };
        let before: Vec<ChannelUri> = core.channels.chats_of(&session);
        let mut chats = before.clone();
        chats.retain(|it| *it != uri);
        let place = match &after {
            None => Some(0),
            Some(after) => chats.iter().position(|it| *it.as_str() == **after),
        };
        let Some(place) = after.as_ref().map_or(place, |_| place.map(|at| at + 1)) else {
            let after = after.unwrap_or_default();
            return Err(RpcError::invalid_params(format!(
                "`after` must be another chat of the session; `{after}` is not"
            )));
        };
        chats.insert(place, uri);
        if chats != before {
            self.core().step.durable_first = true;
            let chats = chats.iter().map(ChannelUri::to_string).collect();
            let action = SessionChatsReorderedAction { chats };
            self.core()
                .emit(&session, StateAction::SessionChatsReordered(action), None);
        }
        Ok(MoveChatResult {
            session: session.to_string(),
        })
    }

    /// The chats of a session say whether they can be moved.
    pub(super) fn update_movable(&mut self, uri: &ChannelUri) {
        let channels = &self.turns.core.channels;
        let Some(session) = channels.session(uri) else {
            return;
        };
        let default = session.state.default_chat.as_deref();
        let mut changed = Vec::new();
        for chat in session.chat_uris() {
            let movable = default != Some(chat.as_str());
            let known = channels.chat(&chat);
            if known.is_some_and(|it| (it.head.movable == Some(true)) != movable) {
                changed.push((chat, movable));
            }
        }
        for (chat, movable) in changed {
            let action = ChatMovableChangedAction { movable };
            self.core()
                .emit(&chat, StateAction::ChatMovableChanged(action), None);
        }
    }
}
