//! Messages that wait: queued ones, which become turns of their own one after
//! the other, and the one steering message, which the agent takes up in the
//! turn that runs.
//!
//! When a turn ends, the message that waited longest follows: a steering
//! message that the agent did not take up, else the first of the queue. After
//! one that failed nothing follows by itself: what was queued was meant to
//! build on what failed, and the failed turn may still be resumed. The same is
//! so after one that was cancelled, unless the host is configured otherwise.
//! It goes on after the next turn that completes, when somebody queues or edits
//! a message, or when somebody confirms the order of the queue as it is. A
//! change of that order starts nothing: it may be one of several.

use std::collections::VecDeque;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::AgentCommand;
use innkeeper_protocol::bounds::MAX_QUEUED_BYTES;
use innkeeper_protocol::newest::actions::{
    ChatPendingMessageRemovedAction, ChatPendingMessageSetAction,
    ChatQueuedMessagesReorderedAction, StateAction,
};
use innkeeper_protocol::newest::state::{
    ChatOrigin, Message, MessageAttachment, PendingMessage, PendingMessageKind,
};
use innkeeper_protocol::outgoing::RejectionCode;
use innkeeper_protocol::steering;

use super::TurnsMut;
use super::attachments::with_data;
use super::dispatch::After;
use super::messages::{check_message, check_takes_messages};
use crate::annotations;
use crate::compat::select;
use crate::core::channels::Chat;
use crate::core::channels::length_of_json;
use crate::core::{Refusal, Verdict};

impl TurnsMut<'_> {
    pub(super) fn judge_pending_set(
        &mut self,
        chat: &ChannelUri,
        mut action: ChatPendingMessageSetAction,
    ) -> Verdict<After> {
        match self.check_pending_set(chat, &action) {
            Ok(()) => {
                action.message = self.as_kept(chat, action.message);
                let (id, kind) = (action.id.clone(), action.kind);
                let action = StateAction::ChatPendingMessageSet(action);
                Verdict::Apply(action, After::PendingSet { id, kind })
            }
            Err(reason) => Verdict::reject(StateAction::ChatPendingMessageSet(action), reason),
        }
    }

    fn check_pending_set(
        &self,
        chat: &ChannelUri,
        action: &ChatPendingMessageSetAction,
    ) -> Result<(), Refusal> {
        let Some(chat) = self.core.channels.chat(chat) else {
            return Err(format!("unknown chat `{chat}`").into());
        };
        if action.id.is_empty() {
            return Err("a pending message needs an id".into());
        }
        check_takes_messages(&chat.head)?;
        check_message(self.core, self.agents, &chat.session, &action.message)?;
        let queue = chat.head.queued_messages.as_deref().unwrap_or_default();
        let steering = chat.head.steering_message.as_ref();
        let taken = match action.kind {
            PendingMessageKind::Queued => steering.is_some_and(|other| other.id == action.id),
            PendingMessageKind::Steering => queue.iter().any(|other| other.id == action.id),
        };
        if taken {
            // A turn that begins with the one would take the other along.
            return Err(format!("another pending message has the id `{}`", action.id).into());
        }
        if action.kind != PendingMessageKind::Queued {
            return Ok(());
        }
        let is_new = !queue.iter().any(|queued| queued.id == action.id);
        let limit = self.core.config.limits.queued_messages;
        if is_new && queue.len() >= limit {
            let reason = format!(
                "a chat has at most {limit} queued messages; remove some, or raise \
                 limits.queued_messages"
            );
            return Err(Refusal::new(RejectionCode::LimitReached, reason));
        }
        let others = chat.queue_bytes_without(&action.id);
        if others + length_of_json(&action.message) > MAX_QUEUED_BYTES {
            let reason = format!(
                "the queued messages of a chat have at most {MAX_QUEUED_BYTES} bytes in total; \
                 remove some, or wait until some have started"
            );
            return Err(Refusal::new(RejectionCode::LimitReached, reason));
        }
        Ok(())
    }

    /// Remembers whether a message that waits is for what its sender said, or
    /// for what is selected `later`, when its turn begins.
    pub(super) fn note_when_to_select(&mut self, chat: &ChannelUri, id: &str, later: bool) {
        let Some(chat) = self.core.channels.chat_mut(chat) else {
            return;
        };
        let noted = &mut chat.notes.without_selection;
        chat.dirty |= match later {
            true => noted.insert(id.to_owned()),
            false => noted.remove(id),
        };
    }

    /// Gives the agent the steering message of the turn that it works on, or
    /// takes it back.
    pub(super) fn steer(&mut self, uri: &ChannelUri) {
        let works = self.own.turn(uri).is_some_and(|turn| turn.prompted);
        let Some(backend) = self.backend_at_work(uri).filter(|_| works) else {
            return;
        };
        if !self.fetch_attached_content(uri) {
            return;
        }
        let known = self.core.channels.chat(uri).zip(self.own.turn_mut(uri));
        let Some((chat, turn)) = known else {
            return;
        };
        let Some(news) = turn.steering.give(chat.head.steering_message.as_ref()) else {
            return;
        };
        let mut left_out = 0;
        let message = news.map(|PendingMessage { id, message }| {
            let message = annotations::told(self.core, message);
            let (message, missing) = with_data(message, &turn.attached);
            left_out = missing;
            Box::new(PendingMessage { id, message })
        });
        turn.attached.clear();
        let turn = turn.id.clone();
        self.core.tell_agent(AgentCommand::Steer {
            backend,
            turn,
            message,
        });
        self.say_left_out(uri, left_out);
    }

    /// The agent took up a steering message, in the version that it names: the
    /// message stands in the conversation from now on. What was added to it
    /// since then goes on waiting.
    pub(super) fn steered(&mut self, uri: &ChannelUri, version: &str) {
        let turn = self.own.turn_mut(uri);
        let Some(taken) = turn.and_then(|turn| turn.steering.take(version)) else {
            return;
        };
        let chat = self.core.channels.chat(uri);
        let waiting = chat.and_then(|chat| chat.head.steering_message.clone());
        self.add_part(uri, steering::part(&taken));
        if let Some(waiting) = waiting {
            let rest = left_of(&waiting, &taken);
            let (kind, id) = (PendingMessageKind::Steering, waiting.id);
            let action = match rest {
                Rest::Nothing => {
                    let removed = ChatPendingMessageRemovedAction { kind, id };
                    Some(StateAction::ChatPendingMessageRemoved(removed))
                }
                Rest::Some(message) => {
                    let message = *message;
                    let set = ChatPendingMessageSetAction { kind, id, message };
                    Some(StateAction::ChatPendingMessageSet(set))
                }
                Rest::All => None,
            };
            if let Some(action) = action {
                self.core.emit(uri, action, None);
            }
        }
        self.steer(uri);
    }

    /// What somebody says with a denial is for the agent to hear. No agent
    /// reads it with the decision, so it is said as everything else is: to the
    /// turn if the agent listens while it works, else with the next one.
    pub(super) fn say_with_denial(&mut self, uri: &ChannelUri, said: Message) {
        let Some(uri) = self.chat_that_takes_messages(uri) else {
            return;
        };
        let waiting = self.core.channels.chat(&uri);
        let waiting = waiting.and_then(|chat| chat.head.steering_message.clone());
        let is_new = waiting.is_none();
        let (id, message) = match waiting {
            Some(waiting) => (waiting.id, joined(waiting.message, said)),
            None => (self.core.new_name(), said),
        };
        let message = self.as_kept(&uri, message);
        let kind = PendingMessageKind::Steering;
        let set = ChatPendingMessageSetAction {
            kind,
            id: id.clone(),
            message,
        };
        self.core
            .emit(&uri, StateAction::ChatPendingMessageSet(set), None);
        if is_new {
            // Whoever denies a call selects nothing with it.
            self.note_when_to_select(&uri, &id, true);
        }
        self.steer(&uri);
    }

    /// A chat, or the one that delegated its work if nobody can speak to it.
    fn chat_that_takes_messages(&self, uri: &ChannelUri) -> Option<ChannelUri> {
        let mut chat = self.core.channels.chat(uri)?;
        while check_takes_messages(&chat.head).is_err() {
            match &chat.head.origin {
                Some(ChatOrigin::Tool { chat: parent, .. }) => {
                    chat = self.core.channels.chat(parent.as_str())?;
                }
                _ => return None,
            }
        }
        Some(chat.uri.clone())
    }

    /// Starts the turn of the message that waited longest, if the chat is free.
    pub(super) fn next_pending_turn(&mut self, uri: &ChannelUri, next: Next) {
        let Some(chat) = self.core.channels.chat(uri) else {
            return;
        };
        if self.why_no_turn(chat).is_some() || self.core.store_failure.is_some() {
            return;
        }
        let queue = chat.head.queued_messages.as_deref().unwrap_or_default();
        let steering = chat.head.steering_message.as_ref();
        let left_over = steering.filter(|_| next != Next::Queued);
        let queued = queue.first().filter(|_| next != Next::LeftOver);
        let next = left_over.or(queued).cloned();
        let kind = match left_over {
            Some(_) => PendingMessageKind::Steering,
            None => PendingMessageKind::Queued,
        };
        // Who queued it is not known any more.
        let locale = self.core.channels.locale_of(&chat.session);
        if let Some(PendingMessage { id, mut message }) = next {
            if chat.notes.without_selection.contains(&id) {
                select(&mut message, &chat.notes.selection);
            }
            let removed = ChatPendingMessageRemovedAction {
                kind,
                id: id.clone(),
            };
            self.core
                .emit(uri, StateAction::ChatPendingMessageRemoved(removed), None);
            self.start_turn(uri, message, Some(id), locale);
        }
    }
}

/// Which of the messages that wait may become a turn. A steering message waits
/// for a turn to steer; it becomes one itself if a turn should have taken it up
/// and did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// What a turn left over, else what is queued.
    AfterTurn,
    /// What a turn left over.
    LeftOver,
    /// What is queued.
    Queued,
}

pub(super) fn judge_pending_removed(
    chat: &Chat,
    action: ChatPendingMessageRemovedAction,
) -> Verdict<After> {
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
    let gone = format!("the pending message `{}` no longer exists", action.id);
    let action = StateAction::ChatPendingMessageRemoved(action);
    match known {
        true => Verdict::Apply(action, After::PendingRemoved),
        false => Verdict::reject(action, Refusal::new(RejectionCode::AlreadyDone, gone)),
    }
}

/// The order is completed before it is echoed: reducers do not agree on where
/// messages go that it does not name.
pub(super) fn judge_reorder(
    chat: &Chat,
    action: ChatQueuedMessagesReorderedAction,
) -> Verdict<After> {
    let queue = chat.head.queued_messages.as_deref().unwrap_or_default();
    let before: Vec<&String> = queue.iter().map(|message| &message.id).collect();
    let mut order: Vec<String> = Vec::with_capacity(before.len());
    let named = action.order.iter().filter(|id| before.contains(id));
    for id in named.chain(before.iter().copied()) {
        if !order.contains(id) {
            order.push(id.clone());
        }
    }
    let after = match before.iter().copied().eq(&order) {
        true => After::QueueConfirmed,
        false => After::Nothing,
    };
    let action = ChatQueuedMessagesReorderedAction { order };
    let action = StateAction::ChatQueuedMessagesReordered(action);
    Verdict::Apply(action, after)
}

/// The versions of the steering message that the agent of a turn was given and
/// has not taken up. The message may change while the agent makes up its mind.
#[derive(Debug, Default)]
pub(super) struct Steering {
    /// The latest last, under its number; nothing where it was taken back.
    given: VecDeque<(u64, Option<PendingMessage>)>,
    last: u64,
}

/// How many versions an agent may be behind.
const VERSIONS: usize = 8;

impl Steering {
    /// What the agent is to be given now, if that is news to it.
    fn give(&mut self, waiting: Option<&PendingMessage>) -> Option<Option<PendingMessage>> {
        let known = self.given.back().and_then(|(_, given)| given.as_ref());
        if known == waiting {
            return None;
        }
        self.last += 1;
        self.given.push_back((self.last, waiting.cloned()));
        if self.given.len() > VERSIONS {
            self.given.pop_front();
        }
        Some(waiting.map(|waiting| PendingMessage {
            id: self.last.to_string(),
            message: waiting.message.clone(),
        }))
    }

    /// The message of a version that was taken up. Whatever waits then is news.
    fn take(&mut self, version: &str) -> Option<PendingMessage> {
        let version: u64 = version.parse().ok()?;
        let at = self.given.iter().position(|(of, _)| *of == version)?;
        let (_, taken) = self.given.remove(at)?;
        self.given.clear();
        taken
    }
}

/// What stands between messages that are said as one.
const BETWEEN: &str = "\n\n";

/// Two messages said as one.
fn joined(mut first: Message, second: Message) -> Message {
    first.text = format!("{}{BETWEEN}{}", first.text, second.text);
    let more = second.attachments.into_iter().flatten();
    let all: Vec<MessageAttachment> = first
        .attachments
        .into_iter()
        .flatten()
        .chain(more)
        .collect();
    first.attachments = (!all.is_empty()).then_some(all);
    first
}

/// What of a message that waits was not taken up.
enum Rest {
    Nothing,
    Some(Box<Message>),
    /// It is another message.
    All,
}

/// Clients join what they add to what waits, with a blank line between, under
/// the same name or another.
fn left_of(waiting: &PendingMessage, taken: &PendingMessage) -> Rest {
    let message = &waiting.message;
    let Some(rest) = message.text.strip_prefix(&taken.message.text) else {
        return Rest::All;
    };
    if waiting.id != taken.id && !rest.starts_with(BETWEEN) {
        return Rest::All;
    }
    let known: Vec<&MessageAttachment> = taken.message.attachments.iter().flatten().collect();
    let attachments = message.attachments.iter().flatten();
    let attachments: Vec<MessageAttachment> = attachments
        .filter(|attachment| !known.contains(attachment))
        .cloned()
        .collect();
    let text = rest.trim_start();
    if text.is_empty() && attachments.is_empty() {
        return Rest::Nothing;
    }
    Rest::Some(Box::new(Message {
        text: text.to_owned(),
        attachments: (!attachments.is_empty()).then_some(attachments),
        ..message.clone()
    }))
}
