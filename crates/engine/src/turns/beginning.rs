//! How a turn begins: it waits until its session is there; then it is given to
//! whoever does it, while the state before it is kept.

use innkeeper_protocol::newest::actions::{
    ChatTurnStartedAction, PartialChatSummary, SessionChatUpdatedAction, StateAction,
};
use innkeeper_protocol::newest::state::{ChatOrigin, Message};
use innkeeper_protocol::{ChannelUri, Timestamp};

use super::TurnsMut;
use super::input_needed::waits_for_a_person;
use super::running::RunningTurn;
use super::waiting::waited_in;
use crate::compat;
use crate::core::channels::Chat;
use crate::labels::Locale;

impl TurnsMut<'_> {
    /// A turn was put into the state: everything else that makes it run.
    pub(super) fn turn_started(
        &mut self,
        uri: &ChannelUri,
        turn_id: &str,
        text: &str,
        locale: Locale,
    ) {
        let Some(chat) = self.core.channels.chat(uri) else {
            return;
        };
        let is_first = chat.turns.is_empty();
        let names_session = self.names_session(chat);
        // A fork and a question on the side are named after their source.
        let is_unnamed = matches!(chat.head.origin, Some(ChatOrigin::User));
        let session = chat.session.clone();
        let turn = RunningTurn::new(turn_id, self.core.measured(), locale);
        self.own.set_turn(uri, turn);
        self.mark_unread(&session);
        self.say_what_is_unsaid(uri);
        if is_first && let Some(title) = title_from(text) {
            match names_session {
                true => self.set_title(&session, title),
                false if is_unnamed => self.name_chat(uri, title),
                false => {}
            }
        }
        self.begin_work(uri);
    }

    /// Whether a session that has no title yet is called after this chat.
    pub(super) fn names_session(&self, chat: &Chat) -> bool {
        let session = self.core.channels.session(&chat.session);
        chat.is_default || session.is_some_and(|it| !it.has_first_chat() && it.is_led_by(&chat.uri))
    }

    /// A chat besides the first one has a title. It lives in the catalogue of
    /// the session: a chat's own state has no action that renames it.
    pub(super) fn name_chat(&mut self, uri: &ChannelUri, title: String) {
        let Some(session) = self.core.channels.session_of(uri) else {
            return;
        };
        let known = self.core.channels.session(&session);
        let mut listed = known.into_iter().flat_map(|it| &it.state.chats);
        let listed = listed.find(|listed| *listed.resource == *uri.as_str());
        // The default chat is called what its session is called.
        let leads = known.is_some_and(|it| it.is_led_by(uri));
        if leads || listed.is_none_or(|listed| listed.title == title) {
            return;
        }
        let changes = PartialChatSummary {
            title: Some(title),
            ..PartialChatSummary::default()
        };
        let chat = uri.to_string();
        let renamed = StateAction::SessionChatUpdated(SessionChatUpdatedAction { chat, changes });
        compat::emit_about_chats(self.core, self.clients, self.catalogue, &session, renamed);
    }

    /// Starts a turn that no client dispatched itself.
    pub(crate) fn start_turn(
        &mut self,
        uri: &ChannelUri,
        message: Message,
        queued_message_id: Option<String>,
        locale: Locale,
    ) {
        let message = self.as_kept(uri, message);
        let (turn_id, text) = (self.core.new_name(), message.text.clone());
        let started = ChatTurnStartedAction {
            turn_id: turn_id.clone(),
            started_at: self.core.now.to_string(),
            message,
            queued_message_id,
            meta: None,
        };
        let started = StateAction::ChatTurnStarted(started);
        self.core.emit(uri, started, None);
        self.turn_started(uri, &turn_id, &text, locale);
    }

    /// A turn waits until its session is there.
    pub(super) fn begin_work(&mut self, uri: &ChannelUri) {
        let Some(chat) = self.core.channels.chat(uri) else {
            return;
        };
        let waits = self.own.turn(uri).is_some_and(|turn| !turn.prompted);
        if waits && !self.core.channels.is_being_created(&chat.session) {
            self.keep_state_before(uri);
            self.set_going(uri);
        }
    }

    /// Has the running turn done by whoever does it. A command of the user's
    /// waits until the state before it is kept.
    pub(super) fn set_going(&mut self, uri: &ChannelUri) {
        let Some(turn) = self.own.turn(uri).filter(|turn| !turn.prompted) else {
            return;
        };
        match (self.is_own_command(uri), turn.awaited.is_some()) {
            (true, true) => {}
            (true, false) => self.run_own_command(uri),
            (false, _) => self.prompt(uri),
        }
    }

    pub(super) fn turn_resumed(&mut self, uri: &ChannelUri, turn_id: &str, locale: Locale) {
        let Some(chat) = self.core.channels.chat(uri) else {
            return;
        };
        // What the turn took so far is not in the state of an active turn.
        let earlier_millis = chat
            .head
            .active_turn
            .as_ref()
            .and_then(|turn| Timestamp::parse(&turn.started_at))
            .zip(Timestamp::parse(&chat.head.modified_at))
            .map_or(0, |(started, modified)| modified.millis_since(started));
        let active = chat.head.active_turn.as_ref();
        let turn = RunningTurn {
            earlier_millis,
            waited_millis: waited_in(active.and_then(|turn| turn.usage.as_ref())),
            resumed: true,
            ..RunningTurn::new(turn_id, self.core.measured(), locale)
        };
        let session = chat.session.clone();
        self.own.set_turn(uri, turn);
        self.mark_unread(&session);
        self.begin_work(uri);
    }

    /// Takes over the turn that a stored chat was in the middle of. If it goes on
    /// at all, then as one that was interrupted, unless it had not begun.
    pub(crate) fn take_in(&mut self, uri: &ChannelUri, had_begun: bool) {
        let Some(chat) = self.core.channels.chat(uri) else {
            return;
        };
        let Some(active) = chat.head.active_turn.as_ref() else {
            return;
        };
        let locale = self.core.channels.locale_of(&chat.session);
        let began = Timestamp::parse(&active.started_at).unwrap_or(self.core.now);
        let began = self.core.as_measured(began);
        // What waits has waited since the chat last changed, also while there
        // was no host.
        let changed = Timestamp::parse(&chat.head.modified_at);
        let waits_since = changed
            .filter(|_| waits_for_a_person(&chat.head))
            .map(|changed| self.core.as_measured(changed));
        let turn = RunningTurn {
            resumed: had_begun,
            waits_since,
            waited_millis: waited_in(active.usage.as_ref()),
            ..RunningTurn::new(&active.id, began, locale)
        };
        self.own.set_turn(uri, turn);
    }
}

/// The text of a chat's first message, as a title.
pub(super) fn title_from(text: &str) -> Option<String> {
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
