//! One conversation with pi, from the host's side.
//!
//! *Invariant*: pi has at most one prompt at a time, and every prompt ends with
//! exactly one last event of its turn, or with the end of the backend.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use innkeeper_protocol::agent::{
    AgentCommand, AgentEvent, Decision, OpenBackend, Prompt, TurnEvent,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{
    ChatInputResponseKind, ErrorInfo, Message, MessageAttachment, PendingMessage,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::session::{OpenError, Session, THINKING, error_of};
use super::turn::{Turn, notice};
use super::{Access, dialogs};
use crate::knowledge::Knowledge;
use crate::process::{self, Line};
use crate::transcript::{self, Transcript};
use crate::{CommandStream, EventSink};

/// The key of pi's file in what is kept for resuming.
const FILE: &str = "pi";

pub(super) async fn run(
    access: Access,
    knowledge: Arc<Knowledge>,
    open: OpenBackend,
    mut commands: CommandStream,
    events: EventSink,
) {
    let directory = process::paths(&open.directories).into_iter().next();
    let resume = open
        .resume
        .as_ref()
        .and_then(|resume| resume[FILE].as_str());
    let mut early = Vec::new();
    let opening = async {
        let _alone = knowledge.alone_at_first(access.patience.opening).await;
        Session::open(&access, directory.as_deref(), resume).await
    };
    let opened = tokio::select! {
        opened = opening => opened,
        () = commands.until_closed(&mut early) => return,
    };
    let session = match opened {
        Ok(session) => session,
        Err(error) => {
            knowledge.failed(error.to_string());
            return events
                .emit(AgentEvent::OpenFailed(error_info(&error)))
                .await;
        }
    };
    let mut backend = Backend {
        access,
        knowledge,
        directory,
        session,
        events,
        transcript: Transcript::new(&open.transcript),
        config: open.config,
        turn: None,
        requests: HashMap::new(),
        dialogs: HashSet::new(),
        notices: Vec::new(),
        begins_anew: false,
        heard: Instant::now(),
        told_of_silence: false,
    };
    backend.opened().await;
    for command in early {
        backend.command(command).await;
    }
    backend.live(&mut commands).await;
}

/// How long the last words of pi may be on their way when it is gone.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_millis(200);

struct Backend {
    access: Access,
    knowledge: Arc<Knowledge>,
    directory: Option<PathBuf>,
    session: Session,
    events: EventSink,
    transcript: Transcript,
    config: JsonObject,
    turn: Option<Turn>,
    /// What was asked of pi and is not answered yet.
    requests: HashMap<String, Request>,
    /// Dialogs that wait for an answer.
    dialogs: HashSet<String>,
    /// What the user is told when the next turn begins.
    notices: Vec<String>,
    /// pi knows more than it should: the next turn is told to a new one.
    begins_anew: bool,
    heard: Instant,
    told_of_silence: bool,
}

#[derive(Debug)]
enum Request {
    Prompt,
    /// Whether a command of pi's own has led to any work.
    StateAfterCommand,
    Abort,
    Steer(String),
    Setting,
}

impl Backend {
    async fn live(mut self, commands: &mut CommandStream) {
        loop {
            let alarm = self.alarm();
            let sleep = tokio::time::sleep_until(alarm.unwrap_or_else(Instant::now));
            tokio::select! {
                biased;
                command = commands.next() => match command {
                    None | Some(AgentCommand::Close { .. }) => break,
                    Some(command) => self.command(command).await,
                },
                line = self.session.lines.next() => match line {
                    Some(Line::Json(message)) => self.said(&message).await,
                    Some(Line::Noise(text)) => tracing::debug!(text, "pi said what is not JSON"),
                    None => return self.gone().await,
                },
                () = self.session.process.exited() => {
                    while let Ok(Some(Line::Json(last))) =
                        tokio::time::timeout(LAST_WORDS, self.session.lines.next()).await
                    {
                        self.said(&last).await;
                    }
                    return self.gone().await;
                }
                () = sleep, if alarm.is_some() => self.alarmed().await,
            }
        }
        self.session.process.end(self.access.patience.ending).await;
    }

    /// The process is gone, unasked.
    async fn gone(mut self) {
        let reason = self.session.process.epitaph().await;
        self.knowledge.ended(&reason);
        self.session.process.end(self.access.patience.ending).await;
        self.events.emit(AgentEvent::Exited { reason }).await;
    }

    async fn opened(&mut self) {
        self.learn();
        if let Some(why) = self.session.forgotten.take()
            && !self.transcript.is_empty()
        {
            self.notices.push(format!(
                "{} did not take up its earlier conversation ({why}). It was given the \
                 transcript instead.",
                self.access.name
            ));
        }
        let file = self.session.file.as_ref();
        let resume = file.map(|file| json!({FILE: file}));
        self.events.emit(AgentEvent::Opened { resume }).await;
        let commands = self.session.commands.clone();
        self.events.emit(AgentEvent::Commands(commands)).await;
    }

    fn learn(&self) {
        let models = self.session.model_infos(self.knowledge.provider());
        self.knowledge
            .learn(None, models, self.session.schema(), None);
    }

    fn ask(&mut self, command: Value, request: Request) {
        let id = self.session.send(command);
        self.requests.insert(id, request);
    }

    // Commands

    async fn command(&mut self, command: AgentCommand) {
        match command {
            AgentCommand::Prompt(prompt) => self.prompt(*prompt).await,
            AgentCommand::Cancel { turn, .. } => self.cancel(&turn),
            AgentCommand::Configure { values, .. } => {
                self.config = values;
                self.configure(None);
            }
            AgentCommand::Truncate { keep, .. } => {
                self.transcript.truncate(keep);
                self.begins_anew = true;
            }
            AgentCommand::Steer { turn, message, .. } => self.steer(&turn, message),
            AgentCommand::Decide { decision, .. } => self.decide(*decision),
            AgentCommand::Authenticate { .. }
            | AgentCommand::OfferTools { .. }
            | AgentCommand::Open(_)
            | AgentCommand::Forget { .. }
            | AgentCommand::Close { .. } => {}
        }
    }

    async fn prompt(&mut self, prompt: Prompt) {
        if self.turn.is_some() {
            tracing::warn!(turn = &*prompt.turn, "prompted while a turn runs; ignored");
            return;
        }
        let Prompt {
            turn,
            message,
            resumed,
            chats,
            ..
        } = prompt;
        let message = transcript::with_chats(message, &chats);
        if std::mem::take(&mut self.begins_anew)
            && let Err(error) = self.replace(None).await
        {
            let error = error_info(&error);
            let failed = TurnEvent::Failed {
                error,
                resumable: true,
            };
            return self.events.turn(&turn, failed).await;
        }
        // pi takes commands in order.
        self.configure(message.model.as_ref().map(|model| model.id.as_str()));
        for text in std::mem::take(&mut self.notices) {
            self.events.turn(&turn, notice(text)).await;
        }
        let mut texts = Vec::new();
        if !self.session.remembers {
            texts.extend(self.transcript.as_context());
        }
        if resumed.is_none() || !self.session.remembers {
            texts.push(text_of(&message));
        }
        if let Some(parts) = &resumed {
            texts.push(transcript::taken_up(parts));
            for event in transcript::closing(parts) {
                self.events.turn(&turn, event).await;
            }
        }
        self.session.remembers = true;
        let answered = resumed
            .as_deref()
            .map(transcript::answer)
            .unwrap_or_default();
        let directory = self.directory.clone().unwrap_or_default();
        self.turn = Some(Turn::new(turn, directory, message.text.clone(), answered));
        (self.heard, self.told_of_silence) = (Instant::now(), false);
        let text = texts.join("\n\n");
        let prompt = json!({"type": "prompt", "message": text, "images": images(&message)});
        self.ask(prompt, Request::Prompt);
    }

    fn configure(&mut self, model: Option<&str>) {
        for change in self.session.changes(model, &self.config) {
            match change["type"].as_str() {
                Some("set_model") => self.session.model = model.map(str::to_owned),
                _ => self.session.level = change["level"].as_str().map(str::to_owned),
            }
            self.ask(change, Request::Setting);
        }
    }

    fn cancel(&mut self, turn: &str) {
        let Some(running) = self.turn.as_mut().filter(|running| *running.id == *turn) else {
            return;
        };
        running.cancelled_at = Some(Instant::now());
        for dialog in std::mem::take(&mut self.dialogs) {
            let cancel = ChatInputResponseKind::Cancel;
            let answer = dialogs::answer(&dialog, &cancel, &HashMap::new());
            self.session.writer.write(&answer);
        }
        // Without this, it would go on with what waits.
        self.ask(json!({"type": "clear_queue"}), Request::Setting);
        self.ask(json!({"type": "abort"}), Request::Abort);
    }

    fn steer(&mut self, turn: &str, message: Option<Box<PendingMessage>>) {
        let runs = self
            .turn
            .as_ref()
            .is_some_and(|running| *running.id == *turn);
        let Some(message) = message.filter(|_| runs) else {
            return;
        };
        // While pi makes up its mind about one version, it is not given the
        // next: the engine says what is left when it has.
        let mut asked = self.requests.values();
        if !asked.any(|request| matches!(request, Request::Steer(_))) {
            let steer = json!({
                "type": "steer", "message": text_of(&message.message),
                "images": images(&message.message),
            });
            self.ask(steer, Request::Steer(message.id));
        }
    }

    fn decide(&mut self, decision: Decision) {
        // pi asks nobody whether its tools may run.
        if let Decision::Answer {
            request,
            response,
            answers,
        } = decision
            && self.dialogs.remove(&request)
        {
            let answer = dialogs::answer(&request, &response, &answers);
            self.session.writer.write(&answer);
        }
    }

    // What pi says

    async fn said(&mut self, message: &Value) {
        self.heard = Instant::now();
        if std::mem::take(&mut self.told_of_silence) {
            self.tell(vec![TurnEvent::Activity(None)]).await;
        }
        let kind = message["type"].as_str().unwrap_or_default();
        match kind {
            "response" => self.answered(message).await,
            "extension_ui_request" => self.dialog(message).await,
            "session_info_changed" => {
                if let Some(name) = message["name"].as_str() {
                    self.events.emit(AgentEvent::Title(name.to_owned())).await;
                }
            }
            "thinking_level_changed" => {
                self.session.level = message["level"].as_str().map(str::to_owned);
                let level = (THINKING.to_owned(), message["level"].clone());
                let values = [level].into_iter().collect();
                self.events.emit(AgentEvent::Configured(values)).await;
            }
            "agent_settled" => {
                if self.turn.as_ref().is_some_and(|turn| turn.begun) {
                    self.end_turn().await;
                }
            }
            _ => {
                let events = self.turn.as_mut().map(|turn| turn.event(kind, message));
                self.tell(events.unwrap_or_default()).await;
            }
        }
    }

    async fn answered(&mut self, answer: &Value) {
        let id = answer["id"].as_str().unwrap_or_default();
        let Some(request) = self.requests.remove(id) else {
            return;
        };
        let success = answer["success"] == true;
        match request {
            Request::Prompt if !success => {
                if let Some(turn) = &mut self.turn {
                    turn.failure = Some(error_of(answer));
                }
                self.end_turn().await;
            }
            Request::Prompt => {
                let turn = self.turn.as_ref().filter(|turn| !turn.begun);
                if turn.is_some_and(|turn| turn.asked.starts_with('/')) {
                    self.ask(json!({"type": "get_state"}), Request::StateAfterCommand);
                }
            }
            Request::StateAfterCommand => {
                let idle = answer["data"]["isStreaming"] != true;
                if idle && self.turn.as_ref().is_some_and(|turn| !turn.begun) {
                    self.end_turn().await;
                }
            }
            Request::Abort => {
                if self.turn.as_ref().is_some_and(Turn::is_cancelled) {
                    self.end_turn().await;
                }
            }
            Request::Steer(message) if success => {
                self.tell(vec![TurnEvent::Steered { message }]).await;
            }
            Request::Setting if !success => {
                let why = error_of(answer);
                let text = format!("{} did not accept a setting: {why}", self.access.name);
                self.notices.push(text);
            }
            Request::Steer(_) | Request::Setting => {}
        }
    }

    async fn dialog(&mut self, request: &Value) {
        match request["method"].as_str().unwrap_or_default() {
            "notify" => {
                let text = request["message"].as_str().unwrap_or_default().to_owned();
                self.tell(vec![notice(text)]).await;
            }
            "setStatus" => {
                let status = request["statusText"].as_str().map(str::to_owned);
                self.tell(vec![TurnEvent::Activity(status)]).await;
            }
            _ => {
                let Some(question) = dialogs::question(request) else {
                    return;
                };
                if self.turn.as_ref().is_some_and(|turn| !turn.is_cancelled()) {
                    self.dialogs.insert(question.id.clone());
                    self.tell(vec![TurnEvent::Ask(Box::new(question))]).await;
                } else {
                    let cancel = ChatInputResponseKind::Cancel;
                    let answer = dialogs::answer(&question.id, &cancel, &HashMap::new());
                    self.session.writer.write(&answer);
                }
            }
        }
    }

    async fn end_turn(&mut self) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        self.dialogs.clear();
        let last = match turn.failure {
            _ if turn.is_cancelled() => TurnEvent::Cancelled,
            None => TurnEvent::Completed,
            Some(message) => TurnEvent::Failed {
                error: ErrorInfo {
                    error_type: "agentError".to_owned(),
                    message,
                    stack: None,
                    meta: None,
                },
                resumable: true,
            },
        };
        self.transcript.add(&turn.id, turn.asked, turn.answered);
        self.events.turn(&turn.id, last).await;
    }

    async fn tell(&self, events: Vec<TurnEvent>) {
        if let Some(turn) = &self.turn {
            for event in events {
                self.events.turn(&turn.id, event).await;
            }
        }
    }

    // Time

    fn alarm(&self) -> Option<Instant> {
        let turn = self.turn.as_ref()?;
        let patience = &self.access.patience;
        // An agent that talks on after a cancel has not obeyed it.
        if let Some(cancelled) = turn.cancelled_at {
            return Some(cancelled + patience.cancelling);
        }
        let quiet = self.dialogs.is_empty() && !self.told_of_silence;
        quiet.then(|| self.heard + patience.silence)
    }

    async fn alarmed(&mut self) {
        if self.turn.as_ref().is_some_and(Turn::is_cancelled) {
            let file = self.session.file.clone();
            self.session.process.kill();
            if let Err(error) = self.replace(file.as_deref()).await {
                tracing::warn!(%error, "pi cannot be restarted");
                self.begins_anew = true;
            }
            return self.end_turn().await;
        }
        self.told_of_silence = true;
        let seconds = self.access.patience.silence.as_secs();
        let text = format!("No word from {} for {seconds} s", self.access.name);
        self.tell(vec![TurnEvent::Activity(Some(text))]).await;
    }

    /// A new process for the same conversation, or for a new one.
    async fn replace(&mut self, resume: Option<&str>) -> Result<(), OpenError> {
        let session = Session::open(&self.access, self.directory.as_deref(), resume).await?;
        let old = std::mem::replace(&mut self.session, session);
        old.process.end(self.access.patience.ending).await;
        self.requests.clear();
        self.opened().await;
        Ok(())
    }
}

/// A message as text, with what is attached to it.
fn text_of(message: &Message) -> String {
    let mut text = message.text.clone();
    for attachment in message.attachments.iter().flatten() {
        let more = match attachment {
            MessageAttachment::Simple(simple) => simple
                .model_representation
                .as_ref()
                .unwrap_or(&simple.label)
                .clone(),
            MessageAttachment::Resource(resource) => {
                format!("{}: {}", resource.label, resource.uri)
            }
            MessageAttachment::EmbeddedResource(embedded) => embedded.label.clone(),
            MessageAttachment::Annotations(annotations) => annotations.label.clone(),
            MessageAttachment::Chat(chat) => chat.label.clone(),
            MessageAttachment::Unknown(_) => continue,
        };
        text.push_str("\n\n");
        text.push_str(&more);
    }
    text
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

fn error_info(error: &OpenError) -> ErrorInfo {
    ErrorInfo {
        error_type: "agentNotStarted".to_owned(),
        message: error.to_string(),
        stack: None,
        meta: None,
    }
}
