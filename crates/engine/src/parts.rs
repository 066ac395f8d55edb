//! The parts of a running turn: text that streams, content by reference, and
//! the smaller reports of an agent.

use bytes::Bytes;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::actions::{
    ChatDeltaAction, ChatReasoningAction, ChatResponsePartAction, StateAction,
};
use innkeeper_protocol::house::state::{
    MarkdownResponsePart, ReasoningResponsePart, ResourceResponsePart, ResponsePart,
};
use innkeeper_protocol::record::{ContentRecord, StoreOp};

use crate::Engine;
use crate::chats::{OpenPart, PartKind};
use crate::requests::CONTENT_SCHEME;

impl Engine {
    /// Puts content beside the state and gives what refers to it.
    pub(crate) fn keep_content(
        &mut self,
        chat: &ChannelUri,
        data: Bytes,
        content_type: String,
    ) -> Option<ResourceResponsePart> {
        self.keep_named_content(chat, data, content_type, None)
    }

    /// Likewise under a URI that ends in a name: clients call it that, and
    /// colour it accordingly.
    pub(crate) fn keep_named_content(
        &mut self,
        chat: &ChannelUri,
        data: Bytes,
        content_type: String,
        name: Option<&str>,
    ) -> Option<ResourceResponsePart> {
        let session = self.chats.get(chat)?.session.clone();
        self.last_content += 1;
        let nonce = &self.config.nonce;
        let mut uri = format!("{CONTENT_SCHEME}/{nonce}/{}", self.last_content);
        if let Some(name) = name {
            uri = format!("{uri}/{name}");
        }
        let reference = ResourceResponsePart {
            uri: uri.clone(),
            size_hint: i64::try_from(data.len()).ok(),
            content_type: Some(content_type.clone()),
            nonce: None,
        };
        let content = ContentRecord {
            uri,
            session,
            content_type,
            data,
        };
        self.step.store.ops.push(StoreOp::PutContent(content));
        Some(reference)
    }

    /// Appends streamed text to the open part, beginning one if needed.
    pub(crate) fn stream(&mut self, uri: &ChannelUri, kind: PartKind, mut content: String) {
        if content.is_empty() {
            return;
        }
        let Some(chat) = self.chats.get_mut(uri) else {
            return;
        };
        let Some(turn) = &mut chat.turn else {
            return;
        };
        let turn_id = turn.id.to_string();
        let part_id = match &turn.open_part {
            Some(part) if part.kind == kind => part.id.clone(),
            _ => {
                let active = chat.head.active_turn.as_ref();
                let parts = active.map_or(&[][..], |turn| &turn.response_parts);
                // Some clients show neighbouring texts as one.
                if kind == PartKind::Markdown
                    && let Some(ResponsePart::Markdown(before)) = parts.last()
                    && !before.content.ends_with("\n\n")
                {
                    content.insert_str(0, "\n\n");
                }
                let id = format!("p{}", parts.len() + 1);
                turn.open_part = Some(OpenPart {
                    kind,
                    id: id.clone(),
                });
                let (id_of_part, content) = (id.clone(), String::new());
                let part = match kind {
                    PartKind::Markdown => ResponsePart::Markdown(MarkdownResponsePart {
                        id: id_of_part,
                        content,
                    }),
                    PartKind::Reasoning => ResponsePart::Reasoning(ReasoningResponsePart {
                        id: id_of_part,
                        content,
                    }),
                };
                self.emit_part(uri, turn_id.clone(), part);
                id
            }
        };
        let meta = None;
        let action = match kind {
            PartKind::Markdown => StateAction::ChatDelta(ChatDeltaAction {
                turn_id,
                part_id,
                content,
                meta,
            }),
            PartKind::Reasoning => StateAction::ChatReasoning(ChatReasoningAction {
                turn_id,
                part_id,
                content,
                meta,
            }),
        };
        self.emit(uri, action, None);
    }

    pub(crate) fn add_part(&mut self, uri: &ChannelUri, part: ResponsePart) {
        self.close_part(uri);
        if let Some(turn_id) = self.running_turn_id(uri) {
            self.emit_part(uri, turn_id, part);
        }
    }

    fn emit_part(&mut self, uri: &ChannelUri, turn_id: String, part: ResponsePart) {
        let meta = None;
        let action = ChatResponsePartAction {
            turn_id,
            part,
            meta,
        };
        self.emit(uri, StateAction::ChatResponsePart(action), None);
    }

    pub(crate) fn close_part(&mut self, uri: &ChannelUri) {
        if let Some(turn) = self.chats.get_mut(uri).and_then(|chat| chat.turn.as_mut()) {
            turn.open_part = None;
        }
    }

    pub(crate) fn running_turn_id(&self, uri: &ChannelUri) -> Option<String> {
        let turn = self.chats.get(uri)?.turn.as_ref()?;
        Some(turn.id.to_string())
    }
}
