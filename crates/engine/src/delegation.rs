//! Turns that an agent gives to another one. They run in chats of their own,
//! which a tool call of the delegating chat points to, and are reported over
//! the backend that delegated them.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{BackendId, Delegation};
use innkeeper_protocol::house::actions::{
    ChatTurnStartedAction, SessionChatAddedAction, StateAction,
};
use innkeeper_protocol::house::state::{
    ChatInteractivity, ChatOrigin, MessageKind, ToolCallState, ToolResultContent,
    ToolResultSubagentContent,
};

use crate::Engine;
use crate::chats::{Chat, RunningTurn, plain_message};
use crate::turns::Ending;

/// A channel's name goes along with everything that happens in it.
const LONGEST_URI: usize = 1024;

impl Engine {
    pub(crate) fn delegate(&mut self, parent: &ChannelUri, delegation: Delegation) {
        let Some(chat) = self.chats.get(parent) else {
            return;
        };
        let session = chat.session.clone();
        let (Some(locale), Some(backend)) = (
            chat.turn.as_ref().map(|turn| turn.locale),
            self.backend_at_work(parent),
        ) else {
            return;
        };
        let key = (backend, delegation.turn.clone());
        if self.delegates.contains_key(&key) {
            tracing::warn!(chat = %parent, turn = &*delegation.turn, "delegated twice");
            return;
        }
        let mut uri = ChannelUri::of_delegate(session.as_str(), &delegation.call);
        if self.exists(&uri) || uri.as_str().len() > LONGEST_URI {
            // A call that lets several others work, or has an endless name.
            let (nonce, number) = (&self.config.nonce, self.server_seq());
            uri = ChannelUri::from(format!("ahp-chat:/{nonce}-{number}"));
        }
        let origin = ChatOrigin::Tool {
            chat: parent.to_string(),
            tool_call_id: delegation.call.clone(),
        };
        let title = delegation.title.clone();
        let mut child = Chat::new(uri.clone(), session.clone(), title, origin, self.now);
        child.head.interactivity = Some(ChatInteractivity::ReadOnly);
        child.dirty = true;
        let summary = child.summary();
        self.chats.insert(uri.clone(), child);
        self.homes.insert(uri.clone(), session.clone());
        self.delegates.insert(key, uri.clone());
        let added = SessionChatAddedAction { summary };
        self.emit(&session, StateAction::SessionChatAdded(added), None);

        let started = ChatTurnStartedAction {
            turn_id: delegation.turn.to_string(),
            started_at: self.now.to_string(),
            message: plain_message(MessageKind::Tool, delegation.message.clone()),
            queued_message_id: None,
            meta: None,
        };
        self.emit(&uri, StateAction::ChatTurnStarted(started), None);
        if let Some(child) = self.chats.get_mut(&uri) {
            child.turn = Some(RunningTurn {
                prompted: true,
                delegated_by: Some(backend),
                ..RunningTurn::new(&delegation.turn, self.now, locale)
            });
        }
        // The other agent works already: nothing waits for this.
        self.keep_state_before(&uri, &delegation.turn);
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
    pub(crate) fn end_delegates(
        &mut self,
        backend: BackendId,
        parent: Option<&ChannelUri>,
        ending: &Ending,
    ) {
        if self.delegates.is_empty() {
            return;
        }
        let is_child = |chat: &ChannelUri| match (parent, self.chats.get(chat)) {
            (None, _) => true,
            (Some(parent), Some(child)) => matches!(
                &child.head.origin,
                Some(ChatOrigin::Tool { chat, .. }) if *chat == parent.as_str()
            ),
            (Some(_), None) => false,
        };
        let mut children: Vec<ChannelUri> = self
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
