//! How pi is talked to: what differs from other agents that are child
//! processes.

use std::collections::HashMap;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::{AgentEvent, AgentFailure, Decision, OpenBackend};
use innkeeper_protocol::newest::state::{
    ChatInputResponseKind, Message, MessageAttachment, MessageEmbeddedResourceAttachment,
    PendingMessage,
};
use serde_json::{Value, json};

use super::dialogs;
use super::session::{Request, Session};
use super::turn::Turn;
use crate::child::{Access, Conversation, Given, Opened, Speech, Start};
use crate::knowledge::{Abilities, Knowledge};
use crate::process::{self, Line};
use crate::transcript::shown_of;

/// The key of pi's file in what is kept for resuming.
const FILE: &str = "pi";

/// A conversation with pi.
pub(super) type Talk = Conversation<PiSpeech>;

#[derive(Debug)]
pub(super) struct PiSpeech {
    /// Where pi works.
    directory: Option<PathBuf>,
    /// Its file of the conversation that was asked for.
    resume: Option<String>,
}

impl PiSpeech {
    pub(super) fn for_conversation(open: &OpenBackend) -> Self {
        let resume = open.resume.as_ref();
        Self {
            directory: process::paths(&open.directories).into_iter().next(),
            resume: resume.and_then(|resume| Some(resume[FILE].as_str()?.to_owned())),
        }
    }

    pub(super) fn just_to_meet() -> Self {
        Self {
            directory: Some(std::env::temp_dir()),
            resume: None,
        }
    }
}

impl Speech for PiSpeech {
    type Session = Session;
    type Turn = Turn;
    type Said = Value;

    async fn open(
        &mut self,
        access: &Access,
        start: Start<'_, Session>,
    ) -> Result<Opened<Session>, AgentFailure> {
        let resume = match start {
            Start::AsAsked => self.resume.as_deref(),
            Start::TakeUp(before) => before.file.as_deref(),
            Start::Anew => None,
        };
        Session::open(access, self.directory.as_deref(), resume).await
    }

    fn learn(session: &Session, knowledge: &Knowledge) {
        let models = session.model_infos(knowledge.provider());
        knowledge.learn(None, models, session.schema(), None, Abilities::default());
    }

    fn found_by(session: &Session) -> Option<Value> {
        session.file.as_ref().map(|file| json!({FILE: file}))
    }

    async fn opened(talk: &mut Talk) {
        let commands = talk.session.commands.clone();
        talk.events.emit(AgentEvent::Commands(commands)).await;
    }

    async fn next(&mut self, session: &mut Session) -> Option<Value> {
        loop {
            match session.lines.next().await? {
                Line::Json(message) => return Some(message),
                Line::Noise(text) => tracing::debug!(text, "pi said what is not JSON"),
                Line::TooLong => tracing::warn!("pi said more on one line than is read"),
            }
        }
    }

    async fn said(talk: &mut Talk, message: Value) {
        talk.said(&message).await;
    }

    fn configure(talk: &mut Talk) {
        talk.set(None);
    }

    /// pi takes commands in order, so that nothing has to be waited for.
    async fn settle_settings(talk: &mut Talk, model: Option<&str>) {
        talk.set(model);
    }

    fn prompt(talk: &mut Talk, given: Given<'_>) -> Turn {
        let said = given.message.map(text_of);
        let texts = [given.context, said, given.interrupted];
        let text: Vec<String> = texts.into_iter().flatten().collect();
        let prompt = json!({
            "type": "prompt", "message": text.join("\n\n"),
            "images": given.message.map(images).unwrap_or_default(),
        });
        talk.session.ask(prompt, Request::Prompt);
        Turn::new(talk.speech.directory.clone().unwrap_or_default())
    }

    fn cancel(talk: &mut Talk) {
        let session = &mut talk.session;
        for dialog in std::mem::take(&mut session.dialogs) {
            let cancel = ChatInputResponseKind::Cancel;
            let answer = dialogs::answer(&dialog, &cancel, &HashMap::new());
            session.writer.write(&answer);
        }
        // Without this, it would go on with what waits.
        session.ask(json!({"type": "clear_queue"}), Request::Setting);
        session.ask(json!({"type": "abort"}), Request::Abort);
    }

    fn steer(talk: &mut Talk, message: &PendingMessage) -> bool {
        let steer = json!({
            "type": "steer", "message": text_of(&message.message),
            "images": images(&message.message),
        });
        talk.session.ask(steer, Request::Steer(message.id.clone()));
        true
    }

    async fn decide(talk: &mut Talk, _turn: &TurnId, decision: Decision) {
        // pi asks nobody whether its tools may run.
        if let Decision::Answer {
            request,
            response,
            answers,
        } = decision
            && talk.session.dialogs.remove(&request)
        {
            let answer = dialogs::answer(&request, &response, &answers);
            talk.session.writer.write(&answer);
        }
    }

    fn waits_for_somebody(talk: &Talk) -> bool {
        !talk.session.dialogs.is_empty()
    }
}

impl Talk {
    /// Asks for this model and for the settings that the session should have.
    fn set(&mut self, model: Option<&str>) {
        let session = &mut self.session;
        for change in session.changes(model, &self.config) {
            match change["type"].as_str() {
                Some("set_model") => session.model = model.map(str::to_owned),
                _ => session.level = change["level"].as_str().map(str::to_owned),
            }
            session.ask(change, Request::Setting);
        }
    }
}

/// A message as text, with what is attached to it.
fn text_of(message: &Message) -> String {
    let mut text = message.text.clone();
    for attachment in message.attachments.iter().flatten() {
        let more = match attachment {
            MessageAttachment::Simple(simple) => match shown_of(simple, &message.text) {
                Some(shown) => shown.to_owned(),
                None => continue,
            },
            MessageAttachment::Resource(resource) => {
                format!("{}: {}", resource.label, resource.uri)
            }
            MessageAttachment::EmbeddedResource(embedded) => embedded_text(embedded),
            MessageAttachment::Annotations(annotations) => annotations.label.clone(),
            MessageAttachment::Chat(chat) => chat.label.clone(),
            MessageAttachment::Unknown(_) => continue,
        };
        text.push_str("\n\n");
        text.push_str(&more);
    }
    text
}

/// A file that is text as such. Of others, pi is told that they are there;
/// pictures are sent apart from the text.
fn embedded_text(embedded: &MessageEmbeddedResourceAttachment) -> String {
    let label = &embedded.label;
    let is_text = embedded.content_type.starts_with("text/");
    let decoded = is_text.then(|| STANDARD.decode(&embedded.data).ok());
    match decoded.flatten().map(String::from_utf8) {
        Some(Ok(text)) => format!("{label}:\n\n{text}"),
        _ => label.clone(),
    }
}

fn images(message: &Message) -> Vec<Value> {
    let attachments = message.attachments.iter().flatten();
    let images = attachments.filter_map(|attachment| match attachment {
        MessageAttachment::EmbeddedResource(image) if image.content_type.starts_with("image/") => {
            Some(json!({"type": "image", "data": image.data, "mimeType": image.content_type}))
        }
        _ => None,
    });
    images.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attached_text_is_part_of_what_is_said() {
        let attached = |label: &str, kind: &str, bytes: &[u8]| {
            json!({"type": "embeddedResource", "label": label, "contentType": kind,
                   "data": STANDARD.encode(bytes)})
        };
        let message = json!({"text": "Look", "origin": {"kind": "user"}, "attachments": [
            attached("menu.txt:2-3", "text/plain", b"soup"),
            attached("photo.png", "image/png", b"soup"),
            attached("broken.txt", "text/plain", &[0xff]),
        ]});
        let message: Message = serde_json::from_value(message).unwrap();
        let expected = "Look\n\nmenu.txt:2-3:\n\nsoup\n\nphoto.png\n\nbroken.txt";
        assert_eq!(text_of(&message), expected);
    }
}
