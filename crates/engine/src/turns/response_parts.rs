//! The parts of a running turn: text that streams, content by reference, and
//! the smaller reports of an agent.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    ChatDeltaAction, ChatReasoningAction, ChatResponsePartAction, StateAction,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    MarkdownResponsePart, ReasoningResponsePart, ResponsePart, SystemNotificationResponsePart,
};

use super::TurnsMut;
use super::running::{OpenPart, PartKind};

impl TurnsMut<'_> {
    /// Appends streamed text to the open part, beginning one if needed.
    pub(super) fn stream(
        &mut self,
        uri: &ChannelUri,
        turn: &str,
        kind: PartKind,
        mut content: String,
    ) {
        let running = self.own.turn_mut(uri);
        let Some(turn) = running.filter(|running| running.is_at_work(turn)) else {
            return;
        };
        if content.is_empty() {
            return;
        }
        // Not by way of `Display`, which costs more than the copy.
        let turn_id = String::from(&*turn.id);
        let part_id = match &turn.open_part {
            Some(part) if part.kind == kind => part.id.clone(),
            _ => {
                let chat = self.core.channels.chat(uri);
                let active = chat.and_then(|chat| chat.head.active_turn.as_ref());
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
        self.core.emit(uri, action, None);
    }

    pub(super) fn add_part(&mut self, uri: &ChannelUri, part: ResponsePart) {
        self.close_part(uri);
        if let Some(turn_id) = self.running_turn_id(uri) {
            self.emit_part(uri, turn_id, part);
        }
    }

    /// Says something that is the host's own, within the turn.
    pub(super) fn add_notice(&mut self, uri: &ChannelUri, content: StringOrMarkdown) {
        let part = SystemNotificationResponsePart {
            content,
            meta: None,
        };
        self.add_part(uri, ResponsePart::SystemNotification(part));
    }

    fn emit_part(&mut self, uri: &ChannelUri, turn_id: String, part: ResponsePart) {
        let meta = None;
        let action = ChatResponsePartAction {
            turn_id,
            part,
            meta,
        };
        self.core
            .emit(uri, StateAction::ChatResponsePart(action), None);
    }

    pub(super) fn close_part(&mut self, uri: &ChannelUri) {
        if let Some(turn) = self.own.turn_mut(uri) {
            turn.open_part = None;
        }
    }

    pub(super) fn running_turn_id(&self, uri: &ChannelUri) -> Option<String> {
        let turn = self.own.turn(uri)?;
        Some(turn.id.to_string())
    }
}
