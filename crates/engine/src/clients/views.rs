//! Views of chats: a connection may have been given only the last turns of a
//! chat, and is given older ones page by page.

use std::ops::Range;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{ChatTurnsLoadedAction, StateAction};
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::version::Version;

use super::Clients;
use crate::core::Core;
use crate::core::history::{cursor_before, turn_of_cursor};
use crate::effect::ConnectionId;

/// In place of the number of turns that a view lacks: the view is from an earlier connection, and where
/// it begins is known to the client only.
pub(crate) const UNKNOWN_VIEW: usize = usize::MAX;

impl Clients {
    /// How many older turns of a chat a connection was not given.
    pub(crate) fn hidden_turns(&self, connection: ConnectionId, chat: &ChannelUri) -> usize {
        let windows = self.connections.get(&connection).map(|it| &it.windows);
        let hidden = windows.and_then(|windows| windows.get(chat));
        hidden.copied().unwrap_or(0)
    }

    pub(crate) fn set_hidden_turns(
        &mut self,
        connection: ConnectionId,
        chat: &ChannelUri,
        hidden: usize,
    ) {
        if let Some(connection) = self.connections.get_mut(&connection) {
            match hidden {
                0 => connection.windows.remove(chat),
                hidden => connection.windows.insert(chat.clone(), hidden),
            };
        }
    }

    /// All that a connection could be missing of a chat is gone.
    pub(crate) fn forget_views(&mut self, chat: &ChannelUri) {
        for connection in self.connections.values_mut() {
            connection.windows.remove(chat);
        }
    }

    /// The views of a chat that begin at this turn or later, with what their
    /// connections speak.
    pub(crate) fn views_from(
        &self,
        chat: &ChannelUri,
        turn: usize,
    ) -> impl Iterator<Item = (ConnectionId, Version, usize)> {
        let connections = self.connections.iter();
        let views = connections.filter_map(|(id, connection)| {
            let hidden = *connection.windows.get(chat)?;
            Some((*id, connection.version, hidden))
        });
        views.filter(move |(_, _, hidden)| *hidden >= turn)
    }

    /// Loads an older page of turns into one subscriber's view of a chat.
    pub(crate) fn fetch_turns(
        &mut self,
        core: &mut Core,
        connection: ConnectionId,
        channel: &ChannelUri,
        cursor: Option<&str>,
    ) -> Result<(), RpcError> {
        let Some(chat) = core.channels.chat(channel) else {
            return Err(RpcError::session_not_found(channel.as_str()));
        };
        let window = self.hidden_turns(connection, channel);
        let at = match cursor {
            Some(cursor) => turn_of_cursor(cursor)
                .and_then(|turn| chat.place_of(&turn))
                .ok_or_else(|| {
                    RpcError::invalid_params("the cursor is not one that this chat has given out")
                })?,
            None => window.min(chat.turns.len()),
        };
        if !core.subscriptions.contains(connection, channel) {
            return Err(RpcError::invalid_params(format!(
                "subscribe to `{channel}` before fetching its turns"
            )));
        }
        // Whatever the cursor, the view stays without a gap.
        let begins = if window == UNKNOWN_VIEW { at } else { window };
        let start = at.saturating_sub(core.config.limits.page_turns).min(begins);
        self.load_turns_for(core, connection, channel, start..at.max(begins));
        Ok(())
    }

    /// Before history is cut at `keep` turns: a subscriber whose view begins
    /// later is given what it lacks, else its reducer would miss the cut.
    pub(crate) fn widen_views(&mut self, core: &mut Core, channel: &ChannelUri, keep: usize) {
        if keep == 0 {
            // Everything goes, and with it what some had not been given.
            return self.forget_views(channel);
        }
        self.widen_views_of(core, channel, keep, |_| true);
    }

    /// Before the last turn is resumed: up to 0.8 that is told as a cut before
    /// it, and a new start.
    pub(crate) fn widen_older_views(&mut self, core: &mut Core, channel: &ChannelUri) {
        let turns = core
            .channels
            .chat(channel)
            .map_or(0, |chat| chat.turns.len());
        if turns > 1 {
            self.widen_views_of(core, channel, turns - 1, |version| !version.resumes_turns());
        }
    }

    fn widen_views_of(
        &mut self,
        core: &mut Core,
        channel: &ChannelUri,
        keep: usize,
        whose: impl Fn(Version) -> bool,
    ) {
        let narrow: Vec<(ConnectionId, usize)> = self
            .views_from(channel, keep)
            .filter(|(_, version, _)| whose(*version))
            .map(|(connection, _, first)| (connection, first))
            .collect();
        for (connection, first) in narrow {
            let start = if first == UNKNOWN_VIEW { 0 } else { keep - 1 };
            self.load_turns_for(core, connection, channel, start..first);
        }
    }

    fn load_turns_for(
        &mut self,
        core: &mut Core,
        connection: ConnectionId,
        channel: &ChannelUri,
        turns: Range<usize>,
    ) {
        let Some(chat) = core.channels.chat(channel) else {
            return;
        };
        let end = turns.end.min(chat.turns.len());
        let start = turns.start.min(end);
        let turns = chat.turns[start..end].iter().map(StoredTurn::decode);
        let action = StateAction::ChatTurnsLoaded(ChatTurnsLoadedAction {
            turns: turns.filter_map(Result::ok).collect(),
            turns_next_cursor: (start > 0).then(|| cursor_before(&chat.turns[start])),
        });
        self.set_hidden_turns(connection, channel, start);
        core.emit_to(connection, channel, action);
    }
}
