//! Turns that an agent gives to another one. They run in chats of their own,
//! which a tool call of the delegating chat points to, and are reported over
//! the backend that delegated them. They end with the turn that delegated them,
//! unless they work in the background.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{BackendId, Delegation, Teller};
use innkeeper_protocol::bounds::{MAX_TITLE_BYTES, cut};
use innkeeper_protocol::newest::actions::{
    ChatBackgroundWorkRemovedAction, ChatBackgroundWorkSetAction, ChatTurnStartedAction,
    SessionChatAddedAction, StateAction,
};
use innkeeper_protocol::newest::state::{
    BackgroundSubagentWork, BackgroundWork, ChatInteractivity, ChatOrigin, MessageKind,
    ToolCallState, ToolResultContent, ToolResultSubagentContent,
};

use super::running::RunningTurn;
use super::{Ending, TurnsMut};
use crate::compat;
use crate::core::channels::{Chat, plain_message};

/// A channel's name goes along with everything that happens in it.
const LONGEST_URI: usize = 1024;

/// Which of the turns that a backend delegated are to end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Delegates<'a> {
    /// Those that the turn of a chat waits for.
    OfTurn(&'a ChannelUri),
    /// All that a chat delegated.
    OfChat(&'a ChannelUri),
    All,
}

impl TurnsMut<'_> {
    pub(super) fn delegate(&mut self, parent: &ChannelUri, delegation: Delegation) {
        let Some(chat) = self.core.channels.chat(parent) else {
            return;
        };
        let session = chat.session.clone();
        let (Some(locale), Some(backend)) = (
            self.own.turn(parent).map(|turn| turn.locale),
            self.backend_at_work(parent),
        ) else {
            return;
        };
        let key = (backend, delegation.turn.clone());
        if self.own.delegates.contains_key(&key) {
            tracing::warn!(chat = %parent, turn = &*delegation.turn, "delegated twice");
            return;
        }
        // A call may let several others work, or have an endless name.
        let uri = self.chat_of_delegate(&session, &delegation.call);
        let uri = uri.unwrap_or_else(|| format!("ahp-chat:/{}", self.core.new_name()).into());
        let origin = ChatOrigin::Tool {
            chat: parent.to_string(),
            tool_call_id: delegation.call.to_string(),
        };
        let title = cut(&delegation.title, MAX_TITLE_BYTES).to_owned();
        let mut child = Chat::new(uri.clone(), session.clone(), title, origin, self.core.now);
        child.head.interactivity = Some(ChatInteractivity::ReadOnly);
        child.dirty = true;
        let summary = child.summary();
        self.core.channels.insert_chat(child);
        self.catalogue.add_further_chat(&uri, &session);
        self.own.delegates.insert(key, uri.clone());
        let added = StateAction::SessionChatAdded(SessionChatAddedAction { summary });
        compat::emit_about_chats(self.core, self.clients, self.catalogue, &session, added);

        let teller = match delegation.told_by {
            Teller::Tool => MessageKind::Tool,
            Teller::Agent => MessageKind::Agent,
        };
        let started = ChatTurnStartedAction {
            turn_id: delegation.turn.to_string(),
            started_at: self.core.now.to_string(),
            message: plain_message(teller, delegation.message.clone()),
            queued_message_id: None,
            meta: None,
        };
        self.core
            .emit(&uri, StateAction::ChatTurnStarted(started), None);
        let turn = RunningTurn {
            prompted: true,
            delegated_by: Some(backend),
            ..RunningTurn::new(&delegation.turn, self.core.measured(), locale)
        };
        self.own.set_turn(&uri, turn);
        // The other agent works already: nothing waits for this.
        self.changes
            .keep_state_before(self.core, &uri, &delegation.turn);
        if delegation.in_background {
            self.goes_to_background(&uri);
        }
        self.link_to_delegate(parent, delegation, &uri);
    }

    /// The chat in which another agent works for a call, by the name that
    /// editors compute, if that can be its name.
    pub(super) fn chat_of_delegate(&self, session: &ChannelUri, call: &str) -> Option<ChannelUri> {
        let uri = ChannelUri::of_delegate(session.as_str(), call);
        let is_free = !self.catalogue.exists(self.core, &uri);
        Some(uri).filter(|uri| is_free && uri.as_str().len() <= LONGEST_URI)
    }

    /// A turn that another chat delegated is not waited for: that chat lists it
    /// as background work.
    pub(super) fn goes_to_background(&mut self, child: &ChannelUri) {
        let Some((parent, title)) = self.delegating_chat(child) else {
            return;
        };
        match self.own.turn_mut(child) {
            Some(turn) if !turn.in_background => turn.in_background = true,
            _ => return,
        }
        if self.core.channels.chat(&parent).is_none() {
            return;
        }
        let active = self.core.channels.chat(child);
        let active = active.and_then(|chat| chat.head.active_turn.as_ref());
        let began = active.map(|turn| turn.started_at.clone());
        let work = BackgroundWork::Subagent(BackgroundSubagentWork {
            id: child.to_string(),
            label: title,
            started_at: began.unwrap_or_else(|| self.core.now.to_string()),
            meta: None,
            chat: child.to_string(),
        });
        let work = ChatBackgroundWorkSetAction { work };
        self.core
            .emit(&parent, StateAction::ChatBackgroundWorkSet(work), None);
    }

    /// The chat that delegated the turn of another one, and what that is called.
    fn delegating_chat(&self, child: &ChannelUri) -> Option<(ChannelUri, String)> {
        let child = self.core.channels.chat(child)?;
        match &child.head.origin {
            Some(ChatOrigin::Tool { chat, .. }) => {
                Some((ChannelUri::from(chat.as_str()), child.head.title.clone()))
            }
            _ => None,
        }
    }

    /// The turn of a chat has ended, or the chat goes: if it was background work
    /// of another chat, that one no longer lists it.
    pub(super) fn no_longer_in_background(&mut self, child: &ChannelUri) {
        let Some((parent, _)) = self.delegating_chat(child) else {
            return;
        };
        if self.core.channels.chat(&parent).is_some() {
            let id = child.to_string();
            let over = ChatBackgroundWorkRemovedAction { id };
            self.core
                .emit(&parent, StateAction::ChatBackgroundWorkRemoved(over), None);
        }
    }

    /// The tool call shows where the other agent works.
    fn link_to_delegate(&mut self, parent: &ChannelUri, delegation: Delegation, to: &ChannelUri) {
        let Some(ToolCallState::Running(call)) = self.tool_call(parent, &delegation.call) else {
            return;
        };
        let mut content = call.content.clone().unwrap_or_default();
        content.push(ToolResultContent::Subagent(ToolResultSubagentContent {
            resource: to.to_string(),
            title: delegation.title,
            agent_name: delegation.agent_name,
            description: delegation.description,
        }));
        self.tool_content(parent, delegation.call, content);
    }

    /// Ends turns that a backend delegated.
    pub(super) fn end_delegates(
        &mut self,
        backend: BackendId,
        which: Delegates<'_>,
        ending: &Ending,
    ) {
        if self.own.delegates.is_empty() {
            return;
        }
        let is_of = |child: &ChannelUri, parent: &ChannelUri| {
            let child = self.core.channels.chat(child);
            let origin = child.and_then(|child| child.head.origin.as_ref());
            matches!(origin, Some(ChatOrigin::Tool { chat, .. }) if *chat == parent.as_str())
        };
        let goes_on = |child: &ChannelUri| {
            let turn = self.own.turn(child);
            turn.is_some_and(|turn| turn.in_background)
        };
        let is_meant = |child: &ChannelUri| match which {
            Delegates::OfTurn(parent) => is_of(child, parent) && !goes_on(child),
            Delegates::OfChat(parent) => is_of(child, parent),
            Delegates::All => true,
        };
        let mut children: Vec<ChannelUri> = self
            .own
            .delegates
            .iter()
            .filter(|((by, _), chat)| *by == backend && is_meant(chat))
            .map(|(_, chat)| chat.clone())
            .collect();
        children.sort();
        for child in children {
            self.end_turn(&child, ending.clone());
        }
    }
}
