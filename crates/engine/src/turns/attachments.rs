//! What users attach to their messages. Large data leaves the state, as large
//! results of tools do: the attachment becomes a reference to content that the
//! host keeps, and everything else about it stays. An agent is given the data
//! itself: it comes back from the store before the message goes out.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::ReferredChat;
use innkeeper_protocol::bounds::{MAX_ATTACHED, MAX_ATTACHED_BYTES};
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    Message, MessageAttachment, MessageEmbeddedResourceAttachment, MessageResourceAttachment,
};
use innkeeper_protocol::record::ContentRecord;

use super::TurnsMut;
use crate::core::Core;
use crate::core::content::CONTENT_SCHEME;
use crate::effect::{Effect, Ticket};
use crate::labels::Label;

/// Content that a turn's message refers to, by URI: on its way from the store,
/// there, or not to be had.
pub(super) type AttachedContent = HashMap<String, Option<ContentRecord>>;

/// For whom content is on its way.
#[derive(Debug)]
pub(super) struct AwaitedContent {
    chat: ChannelUri,
    turn: String,
    uri: String,
}

impl TurnsMut<'_> {
    /// A message as the state has it: without large data, and with references
    /// to chats that say how far they reach.
    pub(super) fn as_kept(&mut self, chat: &ChannelUri, mut message: Message) -> Message {
        let limit = self.core.config.limits.inline_bytes;
        for attachment in message.attachments.iter_mut().flatten() {
            match attachment {
                MessageAttachment::EmbeddedResource(embedded) if embedded.data.len() > limit => {
                    if let Some(reference) = self.keep_attached(chat, embedded) {
                        *attachment = MessageAttachment::Resource(reference);
                    }
                }
                // The protocol wants it fixed when the message is accepted.
                MessageAttachment::Chat(reference) if reference.end_turn.is_none() => {
                    let chat = self.core.channels.chat(reference.resource.as_str());
                    let last = chat.and_then(|chat| chat.turns.last());
                    reference.end_turn = last.map(|turn| turn.id.to_string());
                }
                _ => {}
            }
        }
        message
    }

    fn keep_attached(
        &mut self,
        chat: &ChannelUri,
        embedded: &MessageEmbeddedResourceAttachment,
    ) -> Option<MessageResourceAttachment> {
        let data = STANDARD.decode(&embedded.data).ok()?;
        let kept =
            self.core
                .keep_content(chat, Bytes::from(data), embedded.content_type.clone())?;
        Some(MessageResourceAttachment {
            label: embedded.label.clone(),
            range: embedded.range.clone(),
            display_kind: embedded.display_kind.clone(),
            meta: embedded.meta.clone(),
            uri: kept.uri,
            size_hint: kept.size_hint,
            content_type: kept.content_type,
            nonce: None,
            selection: embedded.selection.clone(),
        })
    }

    /// What was said in the chats that the message of a chat's turn refers to.
    /// One that has left memory meanwhile is left out: the agent is told only
    /// what it is called.
    pub(super) fn chats_referred_to_in(&self, uri: &ChannelUri) -> Vec<ReferredChat> {
        let chat = self.core.channels.chat(uri);
        let active = chat.and_then(|chat| chat.head.active_turn.as_ref());
        let attachments = active.and_then(|active| active.message.attachments.as_ref());
        let referred = attachments.into_iter().flatten().filter_map(|attachment| {
            let MessageAttachment::Chat(reference) = attachment else {
                return None;
            };
            let chat = self.core.channels.chat(reference.resource.as_str())?;
            // Without one there was none when the message was accepted.
            let turns = match &reference.end_turn {
                Some(last) => chat.turns.get(..=chat.position_of(last)?)?,
                None => &[],
            };
            Some(ReferredChat {
                resource: reference.resource.clone(),
                end_turn: reference.end_turn.clone(),
                turns: turns.to_vec(),
            })
        });
        referred.collect()
    }

    /// Asks for what the agent is about to be given and is not here: what the
    /// message of a chat's turn refers to, or what the steering message does
    /// once it has that. Returns whether all is here; if not,
    /// [`TurnsMut::content_loaded`] goes on.
    pub(super) fn fetch_attached_content(&mut self, uri: &ChannelUri) -> bool {
        let chat = self.core.channels.chat(uri);
        let Some((turn, message)) = chat.and_then(|chat| {
            let turn = self.own.turn(uri)?;
            let active = chat.head.active_turn.as_ref();
            let steering = chat.head.steering_message.as_ref();
            let message = match turn.prompted {
                false => active.map(|active| &active.message),
                true => steering.map(|steering| &steering.message),
            };
            Some((turn, message?))
        }) else {
            return true;
        };
        // One after the other: nobody knows how large they are.
        let loaded = turn.attached.values().flatten();
        let bytes: usize = loaded.map(|content| content.data.len()).sum();
        let has_room = bytes < MAX_ATTACHED_BYTES && turn.attached.len() < MAX_ATTACHED;
        let missing = kept_by_host(message)
            .map(|it| &it.uri)
            .find(|uri| !turn.attached.contains_key(*uri))
            .filter(|_| has_room)
            .cloned();
        let (turn, is_here) = (turn.id.to_string(), missing.is_none());
        if let Some(content) = missing {
            let ticket = self.core.next_ticket();
            let awaited = AwaitedContent {
                chat: uri.clone(),
                turn: turn.clone(),
                uri: content.clone(),
            };
            self.own.awaited.insert(ticket, awaited);
            self.core.effect(Effect::LoadContent {
                ticket,
                uri: content.clone(),
            });
            if let Some(turn) = self.own.turn_mut(uri) {
                turn.attached.insert(content, None);
            }
        }
        let awaits = |it: &AwaitedContent| it.chat == *uri && it.turn == turn;
        is_here && !self.own.awaited.values().any(awaits)
    }

    /// Says that the agent was not given all that is attached to a message.
    pub(super) fn say_left_out(&mut self, uri: &ChannelUri, count: usize) {
        if count == 0 {
            return;
        }
        let notice = Label::AttachmentsLeftOut { count }.text(self.locale_of_turn(uri));
        self.add_notice(uri, StringOrMarkdown::Plain(notice));
    }

    /// Returns whether it was for a message.
    pub(crate) fn content_loaded(
        &mut self,
        ticket: Ticket,
        content: &Result<Option<ContentRecord>, String>,
    ) -> bool {
        let Some(AwaitedContent { chat, turn, uri }) = self.own.awaited.remove(&ticket) else {
            return false;
        };
        if let Err(reason) = content {
            tracing::error!(reason, "an attachment cannot be read");
        }
        let running = self.own.turn_mut(&chat);
        if let Some(running) = running.filter(|running| *running.id == *turn) {
            let content = content.as_ref().ok().cloned().flatten();
            running.attached.insert(uri, content);
            match running.prompted {
                false => self.prompt(&chat),
                true => self.steer(&chat),
            }
        }
        true
    }
}

fn kept_by_host(message: &Message) -> impl Iterator<Item = &MessageResourceAttachment> {
    let attachments = message.attachments.iter().flatten();
    attachments.filter_map(|attachment| match attachment {
        MessageAttachment::Resource(it) if it.uri.starts_with(CONTENT_SCHEME) => Some(it),
        _ => None,
    })
}

/// A reference to a chat must end with a turn that is there.
pub(super) fn check_references(core: &Core, message: &Message) -> Result<(), String> {
    for attachment in message.attachments.iter().flatten() {
        if let MessageAttachment::Chat(reference) = attachment
            && let Some(chat) = core.channels.chat(reference.resource.as_str())
            && let Some(last) = &reference.end_turn
            && chat.position_of(last).is_none()
        {
            return Err(format!(
                "the attached chat `{}` has no finished turn `{last}`",
                reference.resource
            ));
        }
    }
    Ok(())
}

/// The message with its data in it, as the user sent it; and how many of its
/// attachments are still references because all of them would be too much.
pub(super) fn with_data(mut message: Message, content: &AttachedContent) -> (Message, usize) {
    let (mut bytes, mut left_out) = (0, 0);
    for attachment in message.attachments.iter_mut().flatten() {
        let MessageAttachment::Resource(reference) = attachment else {
            continue;
        };
        if !reference.uri.starts_with(CONTENT_SCHEME) {
            continue;
        }
        let known = content.get(&reference.uri);
        let size = known
            .and_then(|known| known.as_ref())
            .map_or(0, |it| it.data.len());
        if known.is_none() || bytes + size > MAX_ATTACHED_BYTES {
            left_out += 1;
            continue;
        }
        bytes += size;
        if let Some(Some(content)) = known {
            let content_type = reference.content_type.as_ref();
            *attachment = MessageAttachment::EmbeddedResource(MessageEmbeddedResourceAttachment {
                label: reference.label.clone(),
                range: reference.range.clone(),
                display_kind: reference.display_kind.clone(),
                meta: reference.meta.clone(),
                data: STANDARD.encode(&content.data),
                content_type: content_type.unwrap_or(&content.content_type).clone(),
                selection: reference.selection.clone(),
            });
        }
    }
    (message, left_out)
}

/// The channels that a message refers to. Where the history of a chat ends is
/// fixed or checked when the message is accepted, and the agent is told what
/// annotations say.
pub(crate) fn channels_referred_to(action: &StateAction) -> Vec<ChannelUri> {
    let message = match action {
        StateAction::ChatTurnStarted(action) => &action.message,
        StateAction::ChatPendingMessageSet(action) => &action.message,
        _ => return Vec::new(),
    };
    let attachments = message.attachments.iter().flatten();
    let channels = attachments.filter_map(|attachment| match attachment {
        MessageAttachment::Chat(chat) => Some(&chat.resource),
        MessageAttachment::Annotations(annotations) => Some(&annotations.resource),
        _ => None,
    });
    channels.map(|uri| ChannelUri::from(uri.as_str())).collect()
}
