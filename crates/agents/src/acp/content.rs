//! Content blocks of the agent's protocol and of the host, in both directions.

use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResourceResource, PromptCapabilities, ResourceLink,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use innkeeper_protocol::agent::TurnEvent;
use innkeeper_protocol::newest::state::{
    Message, MessageAttachment, ToolResultContent, ToolResultEmbeddedResourceContent,
    ToolResultTextContent,
};
use serde_json::{Value, json};

use crate::transcript::shown_of;

/// What a piece of the agent's message becomes: text is streamed, the rest is
/// kept as content of its own.
pub(super) fn spoken(block: ContentBlock) -> Option<TurnEvent> {
    let (data, content_type) = match block {
        ContentBlock::Text(text) => return Some(TurnEvent::Text(text.text)),
        ContentBlock::ResourceLink(link) => return Some(TurnEvent::Text(as_link(&link))),
        ContentBlock::Image(image) => (STANDARD.decode(image.data).ok()?, image.mime_type),
        ContentBlock::Audio(audio) => (STANDARD.decode(audio.data).ok()?, audio.mime_type),
        ContentBlock::Resource(resource) => match resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                return Some(TurnEvent::Text(text.text));
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                let kind = blob.mime_type.unwrap_or_else(unknown_kind);
                (STANDARD.decode(blob.blob).ok()?, kind)
            }
            _ => return None,
        },
        _ => return None,
    };
    Some(TurnEvent::Content {
        data: Bytes::from(data),
        content_type,
    })
}

/// A block as part of a tool's result.
pub(super) fn shown(block: ContentBlock) -> Option<ToolResultContent> {
    let embedded = |data, content_type| {
        let embedded = ToolResultEmbeddedResourceContent { data, content_type };
        ToolResultContent::EmbeddedResource(embedded)
    };
    Some(match block {
        ContentBlock::Text(block) => text(block.text),
        ContentBlock::ResourceLink(link) => text(as_link(&link)),
        ContentBlock::Image(image) => embedded(image.data, image.mime_type),
        ContentBlock::Audio(audio) => embedded(audio.data, audio.mime_type),
        ContentBlock::Resource(resource) => match resource.resource {
            EmbeddedResourceResource::TextResourceContents(block) => text(block.text),
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                embedded(blob.blob, blob.mime_type.unwrap_or_else(unknown_kind))
            }
            _ => return None,
        },
        _ => return None,
    })
}

pub(super) fn text(text: String) -> ToolResultContent {
    ToolResultContent::Text(ToolResultTextContent { text })
}

pub(super) fn as_link(link: &ResourceLink) -> String {
    let name = link.title.as_ref().unwrap_or(&link.name);
    format!("[{name}]({})", link.uri)
}

fn unknown_kind() -> String {
    "application/octet-stream".to_owned()
}

/// A user's message as the blocks of a prompt. What the agent cannot take in as
/// it is becomes text that says what was there.
pub(super) fn prompt(message: &Message, can: &PromptCapabilities) -> Vec<ContentBlock> {
    let mut blocks = vec![ContentBlock::from(message.text.clone())];
    for attachment in message.attachments.iter().flatten() {
        blocks.extend(attached(attachment, &message.text, can));
    }
    blocks
}

fn attached(
    attachment: &MessageAttachment,
    text: &str,
    can: &PromptCapabilities,
) -> Option<ContentBlock> {
    match attachment {
        MessageAttachment::Simple(simple) => shown_of(simple, text).map(ContentBlock::from),
        MessageAttachment::Resource(resource) => Some(ContentBlock::ResourceLink(
            ResourceLink::new(resource.label.clone(), resource.uri.clone()),
        )),
        MessageAttachment::EmbeddedResource(embedded) => {
            let (kind, data) = (&embedded.content_type, &embedded.data);
            if kind.starts_with("image/") && can.image {
                return typed(json!({"type": "image", "data": data, "mimeType": kind}));
            }
            if kind.starts_with("audio/") && can.audio {
                return typed(json!({"type": "audio", "data": data, "mimeType": kind}));
            }
            let decoded = STANDARD.decode(data).ok();
            let as_text = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
            let label = &embedded.label;
            match (as_text, can.embedded_context) {
                (Some(text), true) => typed(json!({"type": "resource", "resource": {
                    "uri": format!("attachment:{label}"), "mimeType": kind, "text": text,
                }})),
                (Some(text), false) => Some(ContentBlock::from(format!("{label}:\n\n{text}"))),
                (None, true) => typed(json!({"type": "resource", "resource": {
                    "uri": format!("attachment:{label}"), "mimeType": kind, "blob": data,
                }})),
                (None, false) => Some(ContentBlock::from(format!(
                    "({label}, {kind}, was attached, but cannot be passed on to you)"
                ))),
            }
        }
        MessageAttachment::Annotations(annotations) => {
            Some(ContentBlock::from(annotations.label.clone()))
        }
        MessageAttachment::Chat(chat) => Some(ContentBlock::from(chat.label.clone())),
        MessageAttachment::Unknown(_) => None,
    }
}

fn typed(block: Value) -> Option<ContentBlock> {
    serde_json::from_value(block).ok()
}
