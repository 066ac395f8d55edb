//! History: folding the stored log into a chat, and paging through its turns.

use ahp::reducers::apply_action_to_chat;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::actions::{ChatTurnsLoadedAction, StateAction};
use innkeeper_protocol::house::state::ChatState;
use innkeeper_protocol::record::LoadedChat;
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::version::Version;

use crate::clients::UNKNOWN_VIEW;
use crate::{ConnectionId, Engine};

/// Whether an action changes nothing but the active turn (and what follows
/// from it). Such actions are not written to the chat's row: the log has them,
/// and [`fold_log`] applies them again.
pub(crate) fn is_within_turn(action: &StateAction) -> bool {
    matches!(
        action,
        StateAction::ChatDelta(_)
            | StateAction::ChatReasoning(_)
            | StateAction::ChatResponsePart(_)
            | StateAction::ChatUsage(_)
            | StateAction::ChatToolCallStart(_)
            | StateAction::ChatToolCallDelta(_)
            | StateAction::ChatToolCallReady(_)
            | StateAction::ChatToolCallConfirmed(_)
            | StateAction::ChatToolCallComplete(_)
            | StateAction::ChatToolCallResultConfirmed(_)
            | StateAction::ChatToolCallContentChanged(_)
            | StateAction::ChatToolCallAuthRequired(_)
            | StateAction::ChatToolCallAuthResolved(_)
            | StateAction::ChatInputRequested(_)
            | StateAction::ChatInputAnswerChanged(_)
            | StateAction::ChatInputCompleted(_)
    )
}

/// Whether an action may change what the session waits for.
pub(crate) fn may_need_somebody(action: &StateAction) -> bool {
    matches!(
        action,
        StateAction::ChatToolCallReady(_)
            | StateAction::ChatToolCallConfirmed(_)
            | StateAction::ChatToolCallComplete(_)
            | StateAction::ChatToolCallResultConfirmed(_)
            | StateAction::ChatInputRequested(_)
            | StateAction::ChatInputAnswerChanged(_)
            | StateAction::ChatInputCompleted(_)
    )
}

/// Brings a stored chat up to the end of the log.
pub fn fold_log(loaded: &mut LoadedChat) {
    let LoadedChat { record, log, .. } = loaded;
    for entry in log.drain(..) {
        let missed = entry.after(record.seq);
        if let Some(missed) = missed.filter(|missed| is_within_turn(&missed.action)) {
            apply_action_to_chat(&mut record.head, &missed.action);
        }
    }
}

/// Stands for "the turns before this one".
pub(crate) fn cursor_before(turn: &StoredTurn) -> String {
    URL_SAFE_NO_PAD.encode(turn.id.as_bytes())
}

fn turn_of_cursor(cursor: &str) -> Option<String> {
    String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()
}

impl Engine {
    /// Loads an older page of turns into one subscriber's view of a chat.
    pub(crate) fn fetch_turns(
        &mut self,
        connection: ConnectionId,
        channel: &ChannelUri,
        cursor: Option<&str>,
    ) -> Result<(), RpcError> {
        let Some(chat) = self.chats.get(channel) else {
            return Err(RpcError::session_not_found(channel.as_str()));
        };
        let window = self
            .connections
            .get(&connection)
            .and_then(|c| c.windows.get(channel));
        let window = window.copied().unwrap_or(0);
        let at = match cursor {
            Some(cursor) => turn_of_cursor(cursor)
                .and_then(|turn| chat.place_of(&turn))
                .ok_or_else(|| {
                    RpcError::invalid_params("the cursor is not one that this chat has given out")
                })?,
            None => window.min(chat.turns.len()),
        };
        if !self.subscriptions.contains(connection, channel) {
            return Err(RpcError::invalid_params(format!(
                "subscribe to `{channel}` before fetching its turns"
            )));
        }
        // Whatever the cursor, the view stays without a gap.
        let begins = if window == UNKNOWN_VIEW { at } else { window };
        let start = at.saturating_sub(self.config.limits.page_turns).min(begins);
        self.load_turns_for(connection, channel, start, at.max(begins));
        Ok(())
    }

    /// Before history is cut at `keep` turns: a subscriber whose view begins
    /// later is given what it lacks, else its reducer would miss the cut.
    pub(crate) fn widen_views(&mut self, channel: &ChannelUri, keep: usize) {
        if keep == 0 {
            // Everything goes, and with it what some had not been given.
            for connection in self.connections.values_mut() {
                connection.windows.remove(channel);
            }
            return;
        }
        self.widen_views_of(channel, keep, |_| true);
    }

    /// Before the last turn is resumed: up to 0.8 that is told as a cut before
    /// it, and a new start.
    pub(crate) fn widen_older_views(&mut self, channel: &ChannelUri) {
        let turns = self.chats.get(channel).map_or(0, |chat| chat.turns.len());
        if turns > 1 {
            self.widen_views_of(channel, turns - 1, |version| !version.resumes_turns());
        }
    }

    fn widen_views_of(
        &mut self,
        channel: &ChannelUri,
        keep: usize,
        whose: impl Fn(Version) -> bool,
    ) {
        let narrow: Vec<(ConnectionId, usize)> = self
            .connections
            .iter()
            .filter(|(_, connection)| whose(connection.version))
            .filter_map(|(id, connection)| Some((*id, *connection.windows.get(channel)?)))
            .filter(|(_, first)| *first >= keep)
            .collect();
        for (connection, first) in narrow {
            let start = if first == UNKNOWN_VIEW { 0 } else { keep - 1 };
            self.load_turns_for(connection, channel, start, first);
        }
    }

    fn load_turns_for(
        &mut self,
        connection: ConnectionId,
        channel: &ChannelUri,
        start: usize,
        end: usize,
    ) {
        let Some(chat) = self.chats.get(channel) else {
            return;
        };
        let end = end.min(chat.turns.len());
        let start = start.min(end);
        let turns = chat.turns[start..end].iter().map(StoredTurn::decode);
        let action = StateAction::ChatTurnsLoaded(ChatTurnsLoadedAction {
            turns: turns.filter_map(Result::ok).collect(),
            turns_next_cursor: (start > 0).then(|| cursor_before(&chat.turns[start])),
        });
        if let Some(connection) = self.connections.get_mut(&connection) {
            if start > 0 {
                connection.windows.insert(channel.clone(), start);
            } else {
                connection.windows.remove(channel);
            }
        }
        self.emit_to(connection, channel, action);
    }
}

/// The text of a chat's first message, as a title.
pub(crate) fn title_from(text: &str) -> Option<String> {
    const LONGEST: usize = 60;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    if line.chars().count() <= LONGEST {
        return Some(line.to_owned());
    }
    let cut: String = line.chars().take(LONGEST).collect();
    // Not in the middle of a word, unless that word is most of it.
    let end = cut
        .rfind(' ')
        .filter(|&end| end > LONGEST / 2)
        .unwrap_or(cut.len());
    Some(format!("{}…", cut[..end].trim_end()))
}

/// What a restart found running, and where it had got to.
pub(crate) fn interrupted_turn(head: &ChatState) -> Option<(String, String)> {
    let turn = head.active_turn.as_ref()?;
    Some((turn.id.clone(), turn.started_at.clone()))
}

#[cfg(test)]
mod tests {
    use super::title_from;

    #[test]
    fn a_title_is_the_first_line_cut_between_words() {
        assert_eq!(
            title_from("\n  Fix the build \nplease").as_deref(),
            Some("Fix the build")
        );
        assert_eq!(title_from(" \n\t"), None);
        let long = "Refactor the authentication middleware so that it supports tokens";
        assert_eq!(
            title_from(long).as_deref(),
            Some("Refactor the authentication middleware so that it supports…")
        );
        let word = "é".repeat(80);
        assert_eq!(title_from(&word), Some(format!("{}…", "é".repeat(60))));
    }
}
