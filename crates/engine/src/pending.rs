//! Messages that wait: queued ones, which become turns of their own one after
//! the other, and the one steering message, which the agent takes up in the
//! turn that runs.
//!
//! When a turn ends, the message that waited longest follows: a steering
//! message that the agent did not take up, else the first of the queue. That
//! is so after a turn that was cancelled, too. After one that failed nothing
//! follows by itself: what was queued was meant to build on what failed, and
//! the failed turn may still be resumed. It goes on with the next turn, or
//! when somebody touches the queue.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::AgentCommand;
use innkeeper_protocol::house::actions::{
    ChatPendingMessageRemovedAction, ChatPendingMessageSetAction,
    ChatQueuedMessagesReorderedAction, ChatTurnStartedAction, StateAction,
};
use innkeeper_protocol::house::state::{Message, PendingMessage, PendingMessageKind};

use crate::Engine;
use crate::attachments::with_data;
use crate::chats::Chat;
use crate::dispatch::Verdict::{self, Apply, Reject};
use crate::dispatch::reject;
use crate::labels::Locale;

impl Engine {
    pub(crate) fn judge_pending_set(
        &self,
        chat: &Chat,
        action: &ChatPendingMessageSetAction,
    ) -> Verdict {
        if action.id.is_empty() {
            return reject("a pending message needs an id");
        }
        if let Err(reason) = self.check_takes_messages(chat) {
            return Reject(reason);
        }
        if let Err(reason) = self.check_message(&chat.session, &action.message) {
            return Reject(reason);
        }
        let queue = chat.head.queued_messages.as_deref().unwrap_or_default();
        let steering = chat.head.steering_message.as_ref();
        let taken = match action.kind {
            PendingMessageKind::Queued => steering.is_some_and(|other| other.id == action.id),
            PendingMessageKind::Steering => queue.iter().any(|other| other.id == action.id),
        };
        if taken {
            // A turn that begins with the one would take the other along.
            return reject(format!(
                "another pending message has the id `{}`",
                action.id
            ));
        }
        let is_new = !queue.iter().any(|queued| queued.id == action.id);
        let limit = self.config.limits.queued_messages;
        if action.kind == PendingMessageKind::Queued && is_new && queue.len() >= limit {
            return reject(format!(
                "a chat has at most {limit} queued messages; remove some, or raise \
                 limits.queued_messages"
            ));
        }
        Apply(StateAction::ChatPendingMessageSet(action.clone()))
    }

    pub(crate) fn judge_pending_removed(
        &self,
        chat: &Chat,
        action: &ChatPendingMessageRemovedAction,
    ) -> Verdict {
        let known = match action.kind {
            PendingMessageKind::Steering => {
                let steering = chat.head.steering_message.as_ref();
                steering.is_some_and(|message| message.id == action.id)
            }
            PendingMessageKind::Queued => {
                let queue = chat.head.queued_messages.as_deref().unwrap_or_default();
                queue.iter().any(|message| message.id == action.id)
            }
        };
        match known {
            true => Apply(StateAction::ChatPendingMessageRemoved(action.clone())),
            false => reject(format!(
                "there is no pending message `{}` any more",
                action.id
            )),
        }
    }

    /// The order is completed before it is echoed: reducers do not agree on
    /// where messages go that it does not name.
    pub(crate) fn judge_reorder(
        &self,
        chat: &Chat,
        action: &ChatQueuedMessagesReorderedAction,
    ) -> Verdict {
        let queue = chat.head.queued_messages.as_deref().unwrap_or_default();
        let before: Vec<&String> = queue.iter().map(|message| &message.id).collect();
        let mut order: Vec<String> = Vec::with_capacity(before.len());
        let named = action.order.iter().filter(|id| before.contains(id));
        for id in named.chain(before.iter().copied()) {
            if !order.contains(id) {
                order.push(id.clone());
            }
        }
        Apply(StateAction::ChatQueuedMessagesReordered(
            ChatQueuedMessagesReorderedAction { order },
        ))
    }

    /// Gives the agent the steering message of the turn that it works on, or
    /// takes it back.
    pub(crate) fn steer(&mut self, uri: &ChannelUri) {
        let has_turn = |chat: &Chat| chat.turn.as_ref().is_some_and(|turn| turn.prompted);
        let backend = self.backend_at_work(uri);
        let Some(backend) = backend.filter(|_| self.chats.get(uri).is_some_and(has_turn)) else {
            return;
        };
        if !self.has_attached_content(uri) {
            return;
        }
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        let Some(turn) = &mut chat.turn else {
            return;
        };
        let steering = chat.head.steering_message.as_ref();
        if steering.is_none() && !turn.steered {
            return;
        }
        turn.steered = true;
        let message = steering.map(|PendingMessage { id, message }| {
            let message = with_data(message.clone(), &turn.attached);
            let id = id.clone();
            Box::new(PendingMessage { id, message })
        });
        turn.attached.clear();
        let turn = turn.id.clone();
        self.tell_agent(AgentCommand::Steer {
            backend,
            turn,
            message,
        });
    }

    /// The agent took up the steering message.
    pub(crate) fn steered(&mut self, uri: &ChannelUri, id: String) {
        let action = ChatPendingMessageRemovedAction {
            kind: PendingMessageKind::Steering,
            id,
        };
        self.emit(uri, StateAction::ChatPendingMessageRemoved(action), None);
    }

    /// Starts the turn of the message that waited longest, if the chat is free.
    /// A steering message waits for a turn to steer; it becomes one itself
    /// when it is `after_turn` that should have taken it up.
    pub(crate) fn next_pending_turn(&mut self, uri: &ChannelUri, after_turn: bool) {
        let Some(chat) = self.chats.get(uri) else {
            return;
        };
        if self.why_no_turn(chat).is_some() || self.store_failure.is_some() {
            return;
        }
        let queue = chat.head.queued_messages.as_deref().unwrap_or_default();
        let steering = chat.head.steering_message.as_ref();
        let left_over = steering.filter(|_| after_turn);
        let next = left_over.or(queue.first()).cloned();
        let kind = match left_over {
            Some(_) => PendingMessageKind::Steering,
            None => PendingMessageKind::Queued,
        };
        if let Some(PendingMessage { id, message }) = next {
            let removed = ChatPendingMessageRemovedAction {
                kind,
                id: id.clone(),
            };
            self.emit(uri, StateAction::ChatPendingMessageRemoved(removed), None);
            self.start_turn(uri, message, Some(id), Locale::default());
        }
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
        let started = ChatTurnStartedAction {
            turn_id: format!("{}-{}", self.config.nonce, self.server_seq()),
            started_at: self.now.to_string(),
            message,
            queued_message_id,
            meta: None,
        };
        self.emit(uri, StateAction::ChatTurnStarted(started.clone()), None);
        self.turn_started(uri, &started, locale);
    }
}
