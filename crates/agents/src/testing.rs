//! A conversation for tests: an agent behind the real supervisor, driven by
//! commands, heard as short lines.

use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::agent::{
    AgentCommand, AgentEvent, AgentReport, Approval, BackendId, Decision, OpenBackend, Prompt,
    TurnEvent,
};
use innkeeper_protocol::newest::state::{Message, ResponsePart};
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::{ChannelUri, TurnId};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{Agent, ScriptAgent, Supervisor};

pub(crate) const BACKEND: BackendId = BackendId(7);

pub(crate) struct Conversation {
    pub(crate) agents: Supervisor,
    pub(crate) reports: mpsc::Receiver<AgentReport>,
    turns: usize,
}

impl Conversation {
    /// With the script agent, already open.
    pub(crate) async fn open() -> Self {
        Self::open_as(open("script")).await
    }

    pub(crate) async fn open_as(open: OpenBackend) -> Self {
        let mut conversation = Self::with(ScriptAgent::default(), 1024);
        conversation.command(AgentCommand::Open(Box::new(open)));
        for expected in ["opened", "tools", "commands"] {
            let line = line(&conversation.next().await);
            assert!(line.starts_with(expected), "{line}");
        }
        conversation
    }

    /// With any agent, not yet open, and with room for so many reports.
    pub(crate) fn with(agent: impl Agent, room: usize) -> Self {
        let (sender, reports) = mpsc::channel(room);
        Self {
            agents: Supervisor::new(vec![Arc::new(agent)], sender),
            reports,
            turns: 0,
        }
    }

    pub(crate) fn command(&self, command: AgentCommand) {
        self.agents.command(command);
    }

    pub(crate) fn prompt(&mut self, text: &str) -> TurnId {
        self.prompt_with(json!({"text": text, "origin": {"kind": "user"}}))
    }

    pub(crate) fn prompt_with(&mut self, message: Value) -> TurnId {
        self.turns += 1;
        let turn: TurnId = format!("turn-{}", self.turns).into();
        let message: Message = serde_json::from_value(message).unwrap();
        self.send_prompt(&turn, message, None);
        turn
    }

    /// Takes up a turn that was begun with a text and has come this far.
    pub(crate) fn resume(&mut self, turn: &TurnId, text: &str, parts: Value) {
        let message = json!({"text": text, "origin": {"kind": "user"}});
        let message = serde_json::from_value(message).unwrap();
        let parts = serde_json::from_value(parts).unwrap();
        self.send_prompt(turn, message, Some(parts));
    }

    pub(crate) fn decide(&self, turn: &TurnId, decision: Decision) {
        self.command(AgentCommand::Decide {
            backend: BACKEND,
            turn: turn.clone(),
            decision: Box::new(decision),
        });
    }

    fn send_prompt(&self, turn: &TurnId, message: Message, resumed: Option<Vec<ResponsePart>>) {
        self.command(AgentCommand::Prompt(Box::new(Prompt {
            backend: BACKEND,
            turn: turn.clone(),
            message,
            resumed,
            chats: Vec::new(),
        })));
    }

    pub(crate) fn cancel(&self, turn: &TurnId) {
        let turn = turn.clone();
        self.command(AgentCommand::Cancel {
            backend: BACKEND,
            turn,
        });
    }

    pub(crate) fn close(&self) {
        self.command(AgentCommand::Close { backend: BACKEND });
    }

    pub(crate) async fn next(&mut self) -> AgentEvent {
        self.heard().await.unwrap()
    }

    /// What is said next, but for how much memory is held: that may come at any
    /// time.
    async fn heard(&mut self) -> Option<AgentEvent> {
        loop {
            let report = self.reports.recv().await?;
            assert_eq!(report.backend, BACKEND);
            if !matches!(report.event, AgentEvent::Memory { .. }) {
                return Some(report.event);
            }
        }
    }

    /// What is said up to the end of the turn, or of the backend.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let event = self.next().await;
            lines.push(line(&event));
            if is_end(&event) {
                return lines;
            }
        }
    }

    pub(crate) async fn play(&mut self, steps: Value) -> Vec<String> {
        self.prompt(&scenario(steps));
        self.rest().await
    }

    pub(crate) async fn say(&mut self, text: &str) -> Vec<String> {
        self.prompt(text);
        self.rest().await
    }

    /// Waits until nothing more can happen, and gives what was said by then.
    pub(crate) async fn silence(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let day = Duration::from_secs(86_400);
        while let Ok(Some(event)) = tokio::time::timeout(day, self.heard()).await {
            lines.push(line(&event));
        }
        lines
    }
}

pub(crate) fn open(provider: &str) -> OpenBackend {
    let config = json!({"autoApprove": "ask"});
    OpenBackend {
        backend: BACKEND,
        provider: provider.to_owned(),
        session: ChannelUri::from("ahp-session:/1"),
        chat: ChannelUri::from("ahp-chat:/1"),
        directories: Vec::new(),
        config: config.as_object().unwrap().clone(),
        resume: None,
        fork_of: None,
        transcript: Vec::new(),
        client_tools: Vec::new().into(),
        credentials: Vec::new(),
        customizations: Default::default(),
    }
}

pub(crate) fn stored_turn(id: &str, text: &str) -> StoredTurn {
    let turn = json!({
        "id": id, "message": {"text": text, "origin": {"kind": "user"}},
        "responseParts": [], "state": "complete",
    });
    StoredTurn::new(&serde_json::from_value(turn).unwrap()).unwrap()
}

pub(crate) fn scenario(steps: Value) -> String {
    json!({ "steps": steps }).to_string()
}

fn is_end(event: &AgentEvent) -> bool {
    use TurnEvent::{Cancelled, Completed, Failed};
    match event {
        AgentEvent::Turn { event, .. } => {
            matches!(event, Completed | Cancelled | Failed { .. })
        }
        AgentEvent::OpenFailed(_) | AgentEvent::Exited { .. } => true,
        _ => false,
    }
}

pub(crate) fn line(event: &AgentEvent) -> String {
    let event = match event {
        AgentEvent::Opened { .. } => return "opened".to_owned(),
        AgentEvent::Past(turns) => {
            let asked: Vec<&str> = turns.iter().map(|turn| &*turn.asked).collect();
            return format!("past: {}", asked.join(", "));
        }
        AgentEvent::OpenFailed(failure) => return format!("open failed: {failure}"),
        AgentEvent::Title(title) => return format!("title: {title}"),
        AgentEvent::Exited { end, .. } => return format!("exited: {end}"),
        AgentEvent::Model(model) => return format!("model: {model:?}"),
        AgentEvent::Memory { bytes } => return format!("memory: {bytes}"),
        AgentEvent::Tools(tools) => return format!("tools: {}", tools.len()),
        AgentEvent::Commands(commands) => return format!("commands: {}", commands.len()),
        AgentEvent::Configured(values) => return format!("configured: {}", json!(values)),
        AgentEvent::AuthRequired { resource, .. } => return format!("needs auth: {resource}"),
        AgentEvent::Turn { event, .. } => event,
    };
    match event {
        TurnEvent::Text(text) => format!("text: {text}"),
        TurnEvent::Reasoning(text) => format!("reasoning: {text}"),
        TurnEvent::Break => "break".to_owned(),
        TurnEvent::Content { data, content_type } => {
            format!("content: {} bytes of {content_type}", data.len())
        }
        TurnEvent::Usage(usage) => format!("usage: {}", json!(usage)),
        TurnEvent::Activity(None) => "activity over".to_owned(),
        TurnEvent::Activity(Some(activity)) => format!("activity: {activity}"),
        TurnEvent::Notice(notice) => format!("notice: {notice}"),
        TurnEvent::Unknown { kinds, said } => {
            format!("unknown: {} {}", kinds.join(", "), json!(said))
        }
        TurnEvent::ToolStarted(start) => format!("tool {}: {}", start.call, start.name),
        TurnEvent::ToolInput { content, .. } => format!("input: {content}"),
        TurnEvent::ToolReady(ready) => match ready.approval {
            Approval::NotNeeded => format!("ready: {}", ready.message.as_text()),
            Approval::Needed(_) => format!("asks: {}", ready.message.as_text()),
        },
        TurnEvent::ToolContent { content, .. } => format!("{} blocks", content.len()),
        TurnEvent::ToolFinished { result, .. } => {
            format!("finished: {}", result.past_tense_message.as_text())
        }
        TurnEvent::ToolInterrupted { call } => format!("interrupted: {call}"),
        TurnEvent::Ask(request) => format!("ask: {}", request.id),
        TurnEvent::AskToSignIn(question) => format!("sign in: {}", question.request),
        TurnEvent::AskWithdrawn { request } => format!("withdrawn: {request}"),
        TurnEvent::Steered { message } => format!("steered: {message}"),
        TurnEvent::Delegated(delegation) => format!("delegated: {}", delegation.title),
        TurnEvent::InBackground => "in the background".to_owned(),
        TurnEvent::RunCommand(run) => format!("run: {} as {}", run.program.line(), run.run),
        TurnEvent::WriteFile { write } => format!("write: {write}"),
        TurnEvent::ReadCommand { run } => format!("read: {run}"),
        TurnEvent::StopCommand { run } => format!("stop: {run}"),
        TurnEvent::FileEdited(edited) => format!("edited: {}", edited.uri),
        TurnEvent::StopReason(reason) => format!("because: {reason}"),
        TurnEvent::Completed => "completed".to_owned(),
        TurnEvent::Cancelled => "cancelled".to_owned(),
        TurnEvent::Failed { failure, resumable } => {
            let kind = if *resumable { "resumable" } else { "final" };
            format!("failed ({kind}): {}: {failure}", failure.error_type())
        }
    }
}
