//! What was said in a conversation so far, for an agent that does not remember
//! it by itself: after its own memory was lost, in a fork, after a cut.

use std::fmt::Write as _;

use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::{ReferredChat, TurnEvent};
use innkeeper_protocol::newest::state::{
    Message, MessageAttachment, ResponsePart, SimpleMessageAttachment, ToolCallState, Turn,
};
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::steering;

/// How much of a long conversation an agent is given: its end.
const MOST: usize = 200 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Transcript(Vec<Told>);

#[derive(Debug)]
struct Told {
    id: TurnId,
    asked: String,
    answered: String,
}

impl Transcript {
    pub(crate) fn new(turns: &[StoredTurn]) -> Self {
        let told = |stored: &StoredTurn| match stored.decode() {
            Ok(turn) => Told::of(&turn),
            Err(error) => {
                tracing::warn!(turn = &*stored.id, %error, "a stored turn could not be read");
                Told {
                    id: stored.id.clone(),
                    asked: String::new(),
                    answered: String::new(),
                }
            }
        };
        Self(turns.iter().map(told).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A turn ended. One that was taken up again is in here once.
    pub(crate) fn add(&mut self, id: &TurnId, asked: String, answered: String) {
        self.remove(id);
        let id = id.clone();
        self.0.push(Told {
            id,
            asked,
            answered,
        });
    }

    /// A turn is taken up again: it is not over.
    pub(crate) fn remove(&mut self, id: &str) {
        self.0.retain(|told| *told.id != *id);
    }

    /// The conversation as a text for the agent, if there was any.
    pub(crate) fn as_context(&self) -> Option<String> {
        (!self.is_empty()).then(|| {
            format!(
                "This continues an earlier conversation. What was said in it so far:\n\n{}\n\n\
                 Do not answer it again. The user's next message follows.",
                self.told()
            )
        })
    }

    /// The same for an agent whose user refers to it in another conversation.
    fn as_reference(&self, label: &str) -> String {
        match self.is_empty() {
            true => format!("Attached is the conversation \"{label}\", in which nothing was said."),
            false => format!(
                "Attached is the conversation \"{label}\":\n\n{}",
                self.told()
            ),
        }
    }

    /// All of it, or the end of it if that is too much.
    fn told(&self) -> String {
        let mut said = Vec::new();
        let mut room = MOST;
        for told in self.0.iter().rev() {
            let text = format!("User:\n{}\n\nAssistant:\n{}\n", told.asked, told.answered);
            room = match room.checked_sub(text.len()) {
                Some(room) => room,
                None => break,
            };
            said.push(text);
        }
        let left_out = match self.0.len() - said.len() {
            0 => "",
            _ => "(The beginning is left out.)\n\n",
        };
        said.reverse();
        format!(
            "<conversation>\n{left_out}{}</conversation>",
            said.join("\n")
        )
    }
}

/// The message with what was said in the chats that it refers to, in words.
pub(crate) fn with_chats(mut message: Message, chats: &[ReferredChat]) -> Message {
    for attachment in message.attachments.iter_mut().flatten() {
        let MessageAttachment::Chat(reference) = attachment else {
            continue;
        };
        let mut chats = chats.iter();
        let chat = chats.find(|chat| {
            chat.resource == reference.resource && chat.end_turn == reference.end_turn
        });
        if let Some(chat) = chat {
            let text = Transcript::new(&chat.turns).as_reference(&reference.label);
            *attachment = MessageAttachment::Simple(SimpleMessageAttachment {
                label: reference.label.clone(),
                range: reference.range.clone(),
                display_kind: reference.display_kind.clone(),
                meta: reference.meta.clone(),
                model_representation: Some(text),
            });
        }
    }
    message
}

/// What the model is shown of an attachment that is described in words. One
/// that came with a completion, a command for instance, need not be: it stands
/// in the message already.
pub(crate) fn shown_of<'a>(attached: &'a SimpleMessageAttachment, text: &str) -> Option<&'a str> {
    let label = attached.label.as_str();
    match &attached.model_representation {
        Some(shown) => Some(shown),
        None => (!text.contains(label)).then_some(label),
    }
}

impl Told {
    fn of(turn: &Turn) -> Self {
        Self {
            id: TurnId::from(&turn.id),
            asked: turn.message.text.clone(),
            answered: answer(&turn.response_parts),
        }
    }
}

/// What an agent said and did, in words.
pub(crate) fn answer(parts: &[ResponsePart]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            ResponsePart::Markdown(part) => text.push_str(&part.content),
            ResponsePart::ToolCall(part) => {
                let (name, how) = outcome(&part.tool_call);
                let _ = write!(text, "\n[{name}: {how}]\n");
            }
            ResponsePart::Error(part) => {
                let _ = write!(text, "\n[error: {}]\n", part.error.message);
            }
            ResponsePart::SystemNotification(part) => {
                if let Some(words) = steering::words(part) {
                    let _ = write!(text, "\n[meanwhile the user said: {words}]\n");
                }
            }
            ResponsePart::ContentRef(_)
            | ResponsePart::Reasoning(_)
            | ResponsePart::InputRequest(_)
            | ResponsePart::Unknown(_) => {}
        }
    }
    text
}

fn outcome(call: &ToolCallState) -> (&str, &str) {
    match call {
        ToolCallState::Completed(call) if call.success => (&call.display_name, "done"),
        ToolCallState::Completed(call) => (&call.display_name, "failed"),
        ToolCallState::Cancelled(call) => (&call.display_name, "not run"),
        ToolCallState::Streaming(call) => (&call.display_name, "interrupted"),
        ToolCallState::PendingConfirmation(call) => (&call.display_name, "interrupted"),
        ToolCallState::Running(call) => (&call.display_name, "approved, interrupted"),
        ToolCallState::AuthRequired(call) => (&call.display_name, "interrupted"),
        ToolCallState::PendingResultConfirmation(call) => (&call.display_name, "interrupted"),
        ToolCallState::Unknown(_) => ("tool", "unknown"),
    }
}

/// What an agent is told that takes up an interrupted turn.
pub(crate) fn taken_up(parts: &[ResponsePart]) -> String {
    let so_far = match answer(parts).trim() {
        "" => String::new(),
        said => format!(" So far you said and did:\n\n{said}\n"),
    };
    format!("(The turn was interrupted.{so_far} Continue where it stopped; do not start over.)")
}

/// The end of what an interrupted turn was waiting for: it will be asked again,
/// if at all.
pub(crate) fn closing(parts: &[ResponsePart]) -> Vec<TurnEvent> {
    let interrupted = |call: &str| {
        let call = call.to_owned();
        Some(TurnEvent::ToolInterrupted { call: call.into() })
    };
    let closing = parts.iter().filter_map(|part| match part {
        ResponsePart::ToolCall(part) => match &part.tool_call {
            ToolCallState::Streaming(call) => interrupted(&call.tool_call_id),
            ToolCallState::PendingConfirmation(call) => interrupted(&call.tool_call_id),
            ToolCallState::Running(call) => interrupted(&call.tool_call_id),
            ToolCallState::AuthRequired(_)
            | ToolCallState::PendingResultConfirmation(_)
            | ToolCallState::Completed(_)
            | ToolCallState::Cancelled(_)
            | ToolCallState::Unknown(_) => None,
        },
        ResponsePart::InputRequest(part) if part.response.is_none() => {
            let request = part.request.id.clone();
            Some(TurnEvent::AskWithdrawn { request })
        }
        _ => None,
    });
    closing.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::stored_turn;

    #[test]
    fn a_long_conversation_loses_its_beginning() {
        let mut transcript = Transcript::default();
        assert_eq!(transcript.as_context(), None);
        for number in 0..5 {
            let id = TurnId::from(format!("turn-{number}"));
            transcript.add(&id, format!("question {number}"), "x".repeat(MOST / 3));
        }
        let context = transcript.as_context().unwrap();
        assert!(context.len() < MOST + 1_000);
        assert!(!context.contains("question 0"));
        assert!(context.contains("question 4") && context.contains("left out"));
        transcript.remove("turn-4");
        let context = transcript.as_context().unwrap();
        assert!(context.contains("question 3") && !context.contains("question 4"));
    }

    #[test]
    fn a_command_that_stands_in_the_message_is_not_said_again() {
        let simple = |representation: Option<&str>| SimpleMessageAttachment {
            label: "/review".to_owned(),
            range: None,
            display_kind: None,
            meta: None,
            model_representation: representation.map(str::to_owned),
        };
        for (representation, text, shown) in [
            (None, "/review this", None),
            (None, "look", Some("/review")),
            (Some("Review it."), "/review this", Some("Review it.")),
        ] {
            assert_eq!(shown_of(&simple(representation), text), shown, "{text}");
        }
    }

    #[test]
    fn a_chat_that_a_message_refers_to_is_told_as_far_as_it_is_meant() {
        let chat = |resource: &str, turns: Vec<StoredTurn>| ReferredChat {
            resource: resource.to_owned(),
            end_turn: None,
            turns,
        };
        let chats = [
            chat("x:said", vec![stored_turn("t", "what is hops?")]),
            chat("x:empty", Vec::new()),
        ];
        let told = |resource: &str| {
            let attachment = json!({"type": "chat", "label": "Beer", "resource": resource});
            let message = json!({"text": "go on", "origin": {"kind": "user"},
                                 "attachments": [attachment]});
            let message = with_chats(serde_json::from_value(message).unwrap(), &chats);
            serde_json::to_value(&message.attachments.unwrap()[0]).unwrap()
        };
        let text = told("x:said")["modelRepresentation"].to_string();
        assert!(
            text.contains("Beer") && text.contains("what is hops?"),
            "{text}"
        );
        let text = told("x:empty")["modelRepresentation"].to_string();
        assert!(text.contains("nothing was said"), "{text}");
        assert_eq!(told("x:unknown")["type"], "chat");
    }
}
