//! Where chats stand: the order of a session's chats, and chats that go over to
//! another session. The order is that of the session's catalogue, and stored
//! with the session. Every chat can be moved but the one that is the session's
//! default: clients show that one first.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    ChatMovableChangedAction, SessionChatsReorderedAction, StateAction,
};
use innkeeper_protocol::newest::commands::{ChatMoveDestination, MoveChatParams, MoveChatResult};
use innkeeper_protocol::rpc::RpcError;

use super::SessionsMut;

impl SessionsMut<'_> {
    pub(crate) fn move_chat(&mut self, params: MoveChatParams) -> Result<MoveChatResult, RpcError> {
        let uri = ChannelUri::from(params.channel);
        let Some(chat) = self.turns.core.channels.chat(&uri) else {
            return Err(RpcError::session_not_found(uri.as_str()));
        };
        if chat.head.movable != Some(true) {
            return Err(RpcError::invalid_params(
                "the default chat of a session cannot be moved; move the others, or make another \
                 chat the default one first",
            ));
        }
        let from = chat.session.clone();
        let session = match params.destination {
            ChatMoveDestination::Session(to) => {
                let session = ChannelUri::from(to.session);
                let after = to.after.map(ChannelUri::from);
                match session == from {
                    true => self.put_after(&session, &uri, after)?,
                    false => self.hand_over(&uri, &session, after)?,
                }
                session
            }
            ChatMoveDestination::NewSession(_) => self.give_session_of_its_own(&uri)?,
            ChatMoveDestination::Unknown(_) => {
                return Err(RpcError::invalid_params(
                    "this host knows the destinations `session` and `newSession` only",
                ));
            }
        };
        self.core().step.durable_first = true;
        Ok(MoveChatResult {
            session: session.to_string(),
        })
    }

    /// Puts a chat into another place of its session's catalogue.
    fn put_after(
        &mut self,
        session: &ChannelUri,
        uri: &ChannelUri,
        after: Option<ChannelUri>,
    ) -> Result<(), RpcError> {
        let mut chats = self.core().channels.chats_of(session);
        chats.retain(|it| it != uri);
        let place = place_after(&chats, after.as_ref())?;
        chats.insert(place, uri.clone());
        self.reorder(session, &chats);
        Ok(())
    }

    /// The chats of a session stand in this order.
    pub(super) fn reorder(&mut self, session: &ChannelUri, chats: &[ChannelUri]) {
        if self.core().channels.chats_of(session) != chats {
            let chats = chats.iter().map(ChannelUri::to_string).collect();
            let action = SessionChatsReorderedAction { chats };
            self.core()
                .emit(session, StateAction::SessionChatsReordered(action), None);
        }
    }

    /// The chats of a session say whether they can be moved.
    pub(super) fn update_movable(&mut self, uri: &ChannelUri) {
        let channels = &self.turns.core.channels;
        let Some(session) = channels.session(uri) else {
            return;
        };
        let mut changed = Vec::new();
        for chat in session.chat_uris() {
            let movable = !session.is_led_by(&chat);
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

/// Where a chat is put into a list: first, or behind another one of it.
pub(super) fn place_after(
    chats: &[ChannelUri],
    after: Option<&ChannelUri>,
) -> Result<usize, RpcError> {
    let Some(after) = after else {
        return Ok(0);
    };
    let place = chats.iter().position(|it| it == after);
    place.map(|at| at + 1).ok_or_else(|| {
        RpcError::invalid_params(format!(
            "`after` must be another chat of the session; `{after}` is not"
        ))
    })
}
