//! One tool call: what the agent has said about it so far, and what is shown
//! of it.
//!
//! *Boundary*: the calls of a turn, and which of them the agent means, are in
//! `calls`.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    Diff, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use innkeeper_protocol::CallId;
use innkeeper_protocol::agent::{
    Approval, TERMINAL_TOOL, TOOL_KIND, ToolReady, ToolStart, TurnEvent,
};
use innkeeper_protocol::bounds::{MAX_TITLE_BYTES, cut};
use innkeeper_protocol::newest::common::{JsonObject, StringOrMarkdown};
use innkeeper_protocol::newest::state::{FileEditCollection, ToolCallResult, ToolResultContent};
use serde_json::{Value, json};

use super::content;
use super::output::Output;
use super::permission::PermissionRequest;
use super::presented::{self, Command, as_text};
use super::results;
use super::whole_edits::{Stage, Texts, WholeEdits};
use super::written::OfCall;
use crate::edits;

#[derive(Debug)]
pub(super) struct Call {
    /// The host's name for it.
    pub(super) id: CallId,
    pub(super) title: String,
    pub(super) name: Option<String>,
    pub(super) kind: ToolKind,
    pub(super) input: Option<Value>,
    pub(super) told_input: String,
    pub(super) content: Vec<ToolCallContent>,
    pub(super) raw_output: Option<Value>,
    pub(super) locations: Vec<ToolCallLocation>,
    pub(super) output: Output,
    pub(super) whole_edits: WholeEdits,
    /// Files that the agent wrote through the host.
    pub(super) written: OfCall,
    pub(super) phase: Phase,
    /// The host knows of it.
    pub(super) started: bool,
    /// Its start was put off once.
    pub(super) waited: bool,
    /// Requests of the agent that wait for the same decision.
    pub(super) asked: Vec<PermissionRequest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Streaming,
    Asking,
    Running,
    Over,
}

/// What calls show that the agent does not say itself.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// Terminals of the host as calls show them, by the agent's names for them.
    pub(super) terminals: &'a dyn Fn(&str) -> Option<ToolResultContent>,
    /// What the files hold that the agent tells of.
    pub(super) texts: &'a Texts,
}

impl Call {
    pub(super) fn new(id: CallId) -> Self {
        Self {
            id,
            title: String::new(),
            name: None,
            kind: ToolKind::default(),
            input: None,
            told_input: String::new(),
            content: Vec::new(),
            raw_output: None,
            locations: Vec::new(),
            output: Output::default(),
            whole_edits: WholeEdits::default(),
            written: OfCall::default(),
            phase: Phase::Streaming,
            started: false,
            waited: false,
            asked: Vec::new(),
        }
    }

    pub(super) fn learn(&mut self, update: ToolCallUpdate) {
        let fields = update.fields;
        if let Some(title) = fields.title.filter(|title| !title.trim().is_empty()) {
            self.title = title;
        }
        self.name = fields.name.or(self.name.take());
        self.kind = fields.kind.unwrap_or(self.kind);
        // An input is written; it does not become nothing again.
        let input = fields.raw_input.filter(|input| !is_nothing(input));
        self.input = input.or(self.input.take());
        self.raw_output = fields.raw_output.or(self.raw_output.take());
        self.content = fields.content.unwrap_or(std::mem::take(&mut self.content));
        self.locations = fields
            .locations
            .unwrap_or(std::mem::take(&mut self.locations));
        if let Some(meta) = &update.meta {
            self.output.take_in(meta);
        }
    }

    /// Whether the next word about the call may say which command it runs. What
    /// a call is can be said with its start only, so that one word is worth
    /// waiting for.
    pub(super) fn may_tell_its_command(&mut self, status: Option<ToolCallStatus>) -> bool {
        let is_begun = !matches!(status, None | Some(ToolCallStatus::Pending));
        let waited = std::mem::replace(&mut self.waited, true);
        self.kind == ToolKind::Execute && self.input.is_none() && !is_begun && !waited
    }

    pub(super) fn start(&mut self) -> TurnEvent {
        self.started = true;
        TurnEvent::ToolStarted(Box::new(ToolStart {
            call: self.id.clone(),
            name: self.name.clone().unwrap_or_else(|| self.kind_name()),
            display_name: self.title_or_kind(),
            intention: None,
            contributor: None,
            meta: self.meta(),
        }))
    }

    /// Input that grows can be shown as it does; other input waits until it is
    /// complete.
    pub(super) fn tell_input(&mut self, events: &mut Vec<TurnEvent>) {
        let text = self.input_text().unwrap_or_default();
        if self.phase != Phase::Streaming || !matches!(self.input, Some(Value::String(_))) {
            return;
        }
        if let Some(more) = text
            .strip_prefix(&self.told_input)
            .filter(|more| !more.is_empty())
        {
            let (call, content) = (self.id.clone(), more.to_owned());
            events.push(TurnEvent::ToolInput { call, content });
            self.told_input = text;
        }
    }

    pub(super) fn run(&mut self, around: Around<'_>, events: &mut Vec<TurnEvent>) {
        match self.phase {
            Phase::Streaming => {
                self.phase = Phase::Running;
                events.push(self.ready(Approval::NotNeeded));
            }
            Phase::Running => {}
            // Said to be running while the question whether it may is open.
            Phase::Asking | Phase::Over => return,
        }
        self.make_edits_whole(Stage::During, around.texts);
        let content = self.shown(around);
        if !content.is_empty() {
            let call = self.id.clone();
            events.push(TurnEvent::ToolContent { call, content });
        }
    }

    pub(super) fn finish(
        &mut self,
        success: bool,
        around: Around<'_>,
        events: &mut Vec<TurnEvent>,
    ) {
        if self.phase == Phase::Streaming {
            events.push(self.ready(Approval::NotNeeded));
        }
        self.phase = Phase::Over;
        let stage = match success {
            true => Stage::After,
            false => Stage::During,
        };
        self.make_edits_whole(stage, around.texts);
        let content = self.shown(around);
        let message = self.title_or_kind();
        let error = (!success).then(|| {
            let said = match (self.command(), self.exit_code()) {
                // What it has put out is shown as that.
                (_, Some(code)) => Some(format!("Exit code {code}")),
                (Some(_), None) => None,
                (None, None) => content.iter().find_map(|block| match block {
                    ToolResultContent::Text(text) => Some(text.text.clone()),
                    _ => None,
                }),
            };
            json!({"message": said.unwrap_or_else(|| format!("{message} failed"))})
        });
        let result = ToolCallResult {
            success,
            past_tense_message: StringOrMarkdown::Plain(message),
            content: Some(content),
            structured_content: self.structured(),
            error,
        };
        events.push(TurnEvent::ToolFinished {
            call: self.id.clone(),
            result: Box::new(result),
            confirm: false,
        });
    }

    pub(super) fn ready(&self, approval: Approval) -> TurnEvent {
        let command = self.command();
        let input = match &command {
            Some(command) => Some(command.line.clone()),
            None => self.input_text(),
        };
        let title = self.title_or_kind();
        let message = match &approval {
            Approval::NotNeeded => StringOrMarkdown::Plain(title),
            Approval::Needed(_) => {
                presented::message(&title, command.as_ref(), input.as_deref(), &self.content)
            }
        };
        TurnEvent::ToolReady(Box::new(ToolReady {
            call: self.id.clone(),
            input,
            message,
            approval,
            meta: self.meta(),
        }))
    }

    /// The command that the call runs, if it is known.
    pub(super) fn command(&self) -> Option<Command> {
        Command::of(self.kind, self.input.as_ref()?)
    }

    /// All that the call has to show.
    pub(super) fn shown(&self, around: Around<'_>) -> Vec<ToolResultContent> {
        let mut shown = Vec::new();
        let mut has_terminal = false;
        for block in &self.content {
            match block {
                ToolCallContent::Content(block) => {
                    let block = results::unwrapped(self.kind, block.content.clone());
                    shown.extend(content::shown(block));
                }
                ToolCallContent::Diff(diff) => {
                    shown.push(edits::as_content(self.whole_edits.shown(diff)));
                }
                // Ours, or one that only the agent knows: then its output
                // comes apart from the content.
                ToolCallContent::Terminal(terminal) => {
                    if let Some(terminal) = (around.terminals)(&terminal.terminal_id.0) {
                        has_terminal = true;
                        shown.push(terminal);
                    }
                }
                _ => {}
            }
        }
        let written = self.written.besides(|path| self.shows_edit_of(path));
        shown.extend(written.map(|file| {
            let edit = edits::edit(&file.path, file.before.as_deref(), &file.after);
            edits::as_content(edit)
        }));
        if !has_terminal && let Some(output) = self.output.text() {
            let output = results::without_exit_code(&output, self.output.exit_code());
            shown.push(content::text(output.to_owned()));
        }
        if shown.is_empty() {
            shown.extend(
                self.raw_output
                    .as_ref()
                    .map(|raw| content::text(results::text_of(raw))),
            );
        }
        shown
    }

    /// How the command that the call ran has ended, where the agent says so.
    pub(super) fn exit_code(&self) -> Option<i64> {
        let told = || results::exit_code(self.raw_output.as_ref()?);
        self.output.exit_code().or_else(told)
    }

    pub(super) fn structured(&self) -> Option<JsonObject> {
        let mut structured = match &self.raw_output {
            Some(Value::Object(object)) => object.clone(),
            _ => JsonObject::new(),
        };
        if let Some(code) = self.exit_code() {
            structured.insert("exitCode".to_owned(), code.into());
        }
        (!structured.is_empty()).then_some(structured)
    }

    pub(super) fn edits(&self) -> FileEditCollection {
        let diffs = diffs(&self.content);
        FileEditCollection {
            items: diffs.map(|diff| self.whole_edits.shown(diff)).collect(),
        }
    }

    pub(super) fn make_edits_whole(&mut self, stage: Stage, texts: &Texts) {
        self.whole_edits.learn(diffs(&self.content), stage, texts);
    }

    /// Whether the agent tells of the file, in the call's locations or its edits.
    pub(super) fn is_about(&self, path: &Path) -> bool {
        self.locations.iter().any(|it| it.path == path) || self.shows_edit_of(path)
    }

    pub(super) fn shows_edit_of(&self, path: &Path) -> bool {
        diffs(&self.content).any(|diff| diff.path == path)
    }

    /// A text in the input, by its key.
    pub(super) fn said_in_input(&self, key: &str) -> Option<String> {
        let said = self.input.as_ref()?.get(key)?.as_str()?;
        (!said.trim().is_empty()).then(|| said.to_owned())
    }

    /// The kind of agent that the call lets work.
    pub(super) fn agent_type(&self) -> Option<String> {
        let mut keys = ["subagent_type", "agent_type"].into_iter();
        keys.find_map(|key| self.said_in_input(key))
    }

    /// Whether the call gives a task to another agent.
    pub(super) fn is_task(&self) -> bool {
        self.agent_type().is_some() && self.said_in_input("prompt").is_some()
    }

    /// Whether what came of the call names something.
    pub(super) fn mentions(&self, name: &str) -> bool {
        let output = self.raw_output.as_ref().map(Value::to_string);
        output.is_some_and(|output| output.contains(name))
    }

    pub(super) fn input_text(&self) -> Option<String> {
        self.input.as_ref().map(as_text)
    }

    pub(super) fn title_or_kind(&self) -> String {
        match self.title.as_str() {
            "" => self.name.clone().unwrap_or_else(|| self.kind_name()),
            title => title.to_owned(),
        }
    }

    pub(super) fn kind_name(&self) -> String {
        let kind = serde_json::to_value(self.kind).ok();
        let name = kind.as_ref().and_then(Value::as_str);
        name.filter(|name| *name != "other")
            .unwrap_or("tool")
            .to_owned()
    }

    pub(super) fn meta(&self) -> Option<JsonObject> {
        let mut meta = JsonObject::new();
        meta.insert("kind".to_owned(), json!(self.kind));
        let agent = self.agent_type();
        for (key, said) in [
            ("subagentAgentName", &agent),
            ("subagentDescription", &self.said_in_input("description")),
        ] {
            if let Some(said) = said.as_ref().filter(|_| agent.is_some()) {
                meta.insert(key.to_owned(), json!(cut(said, MAX_TITLE_BYTES)));
            }
        }
        let tool_kind = match self.kind {
            _ if agent.is_some() => Some("subagent"),
            _ if self.command().is_some() => Some(TERMINAL_TOOL),
            ToolKind::Read => Some("read"),
            ToolKind::Search => Some("search"),
            _ => None,
        };
        if let Some(tool_kind) = tool_kind {
            meta.insert(TOOL_KIND.to_owned(), json!(tool_kind));
        }
        if tool_kind == Some(TERMINAL_TOOL) {
            meta.insert("language".to_owned(), json!("shellscript"));
        }
        if !self.locations.is_empty() {
            meta.insert("locations".to_owned(), json!(self.locations));
        }
        Some(meta)
    }
}

pub(super) fn diffs(content: &[ToolCallContent]) -> impl Iterator<Item = &Diff> {
    content.iter().filter_map(|block| match block {
        ToolCallContent::Diff(diff) => Some(diff),
        _ => None,
    })
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(object) => object.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
