//! Turns that an agent gives to another one. They run in chats of their own,
//! which a tool call of the delegating chat points to, and are reported over
//! the backend that delegated them.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{BackendId, Delegation};
use innkeeper_protocol::newest::actions::{
    ChatTurnStartedAction, SessionChatAddedAction, StateAction,
};
use innkeeper_protocol::newest::state::{
    ChatInteractivity, ChatOrigin, MessageKind, ToolCallState, ToolResultContent,
    ToolResultSubagentContent,
};

use super::running::RunningTurn;
use super::{Ending, TurnsMut};
use crate::compat;
use crate::core::channels::{Chat, plain_message};

/// A channel's name goes along with everything that happens in it.
const LONGEST_URI: usize = 1024;

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
        let mut uri = ChannelUri::of_delegate(session.as_str(), &delegation.call);
        if self.catalogue.exists(self.core, &uri) || uri.as_str().len() > LONGEST_URI {
            // A call that lets several others work, or has an endless name.
            uri = ChannelUri::from(format!("ahp-chat:/{}", self.core.new_name()));
        }
        let origin = ChatOrigin::Tool {
            chat: parent.to_string(),
            tool_call_id: delegation.call.to_string(),
        };
        let title = delegation.title.clone();
        let mut child = Chat::new(uri.clone(), session.clone(), title, origin, self.core.now);
        child.head.interactivity = Some(ChatInteractivity::ReadOnly);
        child.dirty = true;
        let summary = child.summary();
        self.core.channels.insert_chat(child);
        self.catalogue.add_further_chat(&uri, &session);
        self.own.delegates.insert(key, uri.clone());
        let added = StateAction::SessionChatAdded(SessionChatAddedAction { summary });
        compat::emit_about_chats(self.core, self.clients, self.catalogue, &session, added);

        let started = ChatTurnStartedAction {
            turn_id: delegation.turn.to_string(),
            started_at: self.core.now.to_string(),
            message: plain_message(MessageKind::Tool, delegation.message.clone()),
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
        self.link_to_delegate(parent, delegation, &uri);
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

    /// Ends the turns that a backend delegated: those of one chat, or all.
    pub(super) fn end_delegates(
        &mut self,
        backend: BackendId,
        parent: Option<&ChannelUri>,
        ending: &Ending,
    ) {
        if self.own.delegates.is_empty() {
            return;
        }
        let is_child = |chat: &ChannelUri| match (parent, self.core.channels.chat(chat)) {
            (None, _) => true,
            (Some(parent), Some(child)) => matches!(
                &child.head.origin,
                Some(ChatOrigin::Tool { chat, .. }) if *chat == parent.as_str()
            ),
            (Some(_), None) => false,
        };
        let mut children: Vec<ChannelUri> = self
            .own
            .delegates
            .iter()
            .filter(|((by, _), chat)| *by == backend && is_child(chat))
            .map(|(_, chat)| chat.clone())
            .collect();
        children.sort();
        for child in children {
            self.end_turn(&child, ending.clone());
        }
    }
}
