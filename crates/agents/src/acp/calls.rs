//! The tool calls of one turn: what the agent says about them, in whatever
//! order and however completely, becomes the orderly life of a tool call.
//!
//! *Invariant*: of each call the host hears a beginning, at most one answer to
//! "may it run" at a time, and at most one end. A call that was denied has
//! ended, whatever the agent says about it afterwards.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    Diff, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use innkeeper_protocol::CallId;
use innkeeper_protocol::agent::{
    Approval, ApprovalOption, ApprovalRequest, TERMINAL_TOOL, TOOL_KIND, ToolReady, ToolStart,
    ToolVerdict, TurnEvent,
};
use innkeeper_protocol::bounds::{MAX_TITLE_BYTES, cut};
use innkeeper_protocol::newest::common::{JsonObject, StringOrMarkdown};
use innkeeper_protocol::newest::state::{FileEditCollection, ToolCallResult, ToolResultContent};
use serde_json::{Value, json};

use super::content;
use super::output::Output;
use super::permission::{self, PermissionRequest};
use super::presented::{self, Command, as_text};
use super::whole_edits::{Stage, Texts, WholeEdits};
use super::written::{OfCall, Written};
use crate::edits;

#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By the agent's name for them.
    known: HashMap<String, Call>,
    /// In the order in which they began.
    order: Vec<String>,
    /// How many names of calls were used again.
    reused: usize,
}

#[derive(Debug)]
struct Call {
    /// The host's name for it.
    id: CallId,
    title: String,
    name: Option<String>,
    kind: ToolKind,
    input: Option<Value>,
    told_input: String,
    content: Vec<ToolCallContent>,
    raw_output: Option<Value>,
    locations: Vec<ToolCallLocation>,
    output: Output,
    whole_edits: WholeEdits,
    /// Files that the agent wrote through the host.
    written: OfCall,
    phase: Phase,
    /// The host knows of it.
    started: bool,
    /// Its start was put off once.
    waited: bool,
    /// Requests of the agent that wait for the same decision.
    asked: Vec<PermissionRequest>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Streaming,
    Asking,
    Running,
    Over,
}

/// What a call hands over to another agent.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: CallId,
    pub(super) title: String,
    pub(super) agent: Option<String>,
    pub(super) description: Option<String>,
    pub(super) prompt: String,
}

/// A request of the agent, and the option that was chosen.
pub(super) type Answered = (PermissionRequest, Option<ApprovalOption>);

/// What calls show that the agent does not say itself.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    /// Terminals of the host as calls show them, by the agent's names for them.
    pub(super) terminals: &'a dyn Fn(&str) -> Option<ToolResultContent>,
    /// What the files hold that the agent tells of.
    pub(super) texts: &'a Texts,
}

impl Calls {
    /// A call begins, or something about it changes.
    pub(super) fn update(&mut self, update: ToolCallUpdate, around: Around<'_>) -> Vec<TurnEvent> {
        let mut events = Vec::new();
        let status = update.fields.status;
        let call = self.upsert(update);
        if !call.started && !call.may_tell_its_command(status) {
            events.push(call.start());
        }
        match status {
            _ if call.phase == Phase::Over || !call.started => events.clear(),
            Some(ToolCallStatus::Completed) => call.finish(true, around, &mut events),
            Some(ToolCallStatus::Failed) => call.finish(false, around, &mut events),
            Some(ToolCallStatus::InProgress) => call.run(around, &mut events),
            // Input that is still being written, or news of a running call.
            _ if call.phase == Phase::Running => call.run(around, &mut events),
            _ => call.tell_input(&mut events),
        }
        events
    }

    /// The agent asks whether a call may run. This may be the first that is
    /// heard of the call.
    pub(super) fn ask(
        &mut self,
        mut update: ToolCallUpdate,
        request: PermissionRequest,
        texts: &Texts,
    ) -> Vec<TurnEvent> {
        // A request names a call; what it leaves empty is as it was.
        let fields = &mut update.fields;
        fields.content = fields.content.take().filter(|content| !content.is_empty());
        fields.locations = fields.locations.take().filter(|list| !list.is_empty());
        let mut events = Vec::new();
        let key = update.tool_call_id.0.to_string();
        if self
            .known
            .get(&key)
            .is_some_and(|call| call.phase == Phase::Over)
        {
            // A name that was used before: for the host it is another call.
            self.reused += 1;
            self.known.remove(&key);
        }
        let call = self.upsert(update);
        if !call.started {
            events.push(call.start());
        }
        if call.phase != Phase::Asking {
            call.phase = Phase::Asking;
            call.make_edits_whole(Stage::Before, texts);
            let edits = call.edits();
            let heading = presented::heading(&call.title_or_kind(), call.command().as_ref());
            let approval = Approval::Needed(ApprovalRequest {
                title: heading.map(StringOrMarkdown::Plain),
                edits: (!edits.items.is_empty()).then_some(edits),
                editable: false,
                options: request.options.clone(),
            });
            events.push(call.ready(approval));
        }
        call.asked.push(request);
        events
    }

    /// What somebody decided about a call: the requests that are answered, each
    /// with the option that was chosen, and what is shown of it from now on.
    pub(super) fn decide(
        &mut self,
        id: &str,
        verdict: &ToolVerdict,
        around: Around<'_>,
    ) -> (Vec<Answered>, Vec<TurnEvent>) {
        let Some(call) = self.known.values_mut().find(|call| call.id.as_str() == id) else {
            return (Vec::new(), Vec::new());
        };
        let mut events = Vec::new();
        match verdict {
            ToolVerdict::Approved { .. } => {
                call.phase = Phase::Running;
                call.run(around, &mut events);
            }
            ToolVerdict::Denied { .. } => call.phase = Phase::Over,
        }
        let asked = std::mem::take(&mut call.asked).into_iter();
        let answered = asked.map(|request| {
            let chosen = permission::choose(&request.options, verdict);
            (request, chosen)
        });
        (answered.collect(), events)
    }

    /// The requests that are still open: the turn is over for them.
    pub(super) fn abandon(&mut self) -> Vec<PermissionRequest> {
        let calls = self.known.values_mut();
        calls
            .flat_map(|call| std::mem::take(&mut call.asked))
            .collect()
    }

    /// The agent takes a request back. Whether there was one.
    pub(super) fn withdraw(&mut self, request: &Value) -> bool {
        for call in self.known.values_mut() {
            let before = call.asked.len();
            call.asked.retain(|asked| asked.request != *request);
            if call.asked.len() < before {
                return true;
            }
        }
        false
    }

    /// The turn ended well: what the agent left open has ended with it.
    pub(super) fn close(&mut self, around: Around<'_>) -> Vec<TurnEvent> {
        let mut events = Vec::new();
        for key in &self.order {
            if let Some(call) = self.known.get_mut(key)
                && call.phase == Phase::Running
            {
                call.finish(true, around, &mut events);
            }
        }
        events
    }

    /// There is news of a terminal: the running calls that show it show that.
    pub(super) fn terminal_changed(
        &mut self,
        terminal: &str,
        around: Around<'_>,
    ) -> Vec<TurnEvent> {
        let shows = |block: &ToolCallContent| matches!(block, ToolCallContent::Terminal(shown) if *shown.terminal_id.0 == *terminal);
        let mut events = Vec::new();
        for key in &self.order {
            if let Some(call) = self.known.get_mut(key)
                && call.phase == Phase::Running
                && call.content.iter().any(shows)
            {
                call.run(around, &mut events);
            }
        }
        events
    }

    /// The files whose texts are of use for what the agent says of calls now: of
    /// the one that it tells of or, where it tells of none, of all that run.
    pub(super) fn wanted_texts(&self, update: Option<&ToolCallUpdate>) -> Vec<PathBuf> {
        let Some(update) = update else {
            let running = self.known.values();
            let running = running.filter(|call| call.phase == Phase::Running);
            let wanted = running.flat_map(|call| call.whole_edits.wanted(diffs(&call.content)));
            return wanted.collect();
        };
        let call = self.known.get(&*update.tool_call_id.0);
        let content = update.fields.content.as_ref();
        let content = content.or(call.map(|call| &call.content));
        let told = diffs(content.map_or(&[][..], Vec::as_slice));
        match call {
            Some(call) if call.phase == Phase::Over => Vec::new(),
            Some(call) => call.whole_edits.wanted(told),
            None => WholeEdits::default().wanted(told),
        }
    }

    /// The agent has written a file through the host: in the running call that
    /// is about it, else in the one that began last.
    pub(super) fn wrote(&mut self, written: Written) {
        let running: Vec<&String> = {
            let order = self.order.iter().rev();
            let runs = |key: &&String| {
                let call = self.known.get(*key);
                // Some agents never say that a call runs.
                let may_write = |phase| matches!(phase, Phase::Streaming | Phase::Running);
                call.is_some_and(|call| may_write(call.phase))
            };
            order.filter(runs).collect()
        };
        let is_about = |key: &&&String| self.known[**key].is_about(&written.path);
        let key = running.iter().find(is_about).or(running.first());
        let key = key.map(|key| (*key).clone());
        if let Some(call) = key.and_then(|key| self.known.get_mut(&key)) {
            call.written.add(written);
        }
    }

    /// Whether the agent has told of a call of this name.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// What somebody else is to do for a call.
    pub(super) fn task(&self, name: &str) -> Option<Task> {
        let call = self.known.get(name)?;
        let title = call.title_or_kind();
        let prompt = call.said_in_input("prompt");
        Some(Task {
            id: call.id.clone(),
            agent: call.said_in_input("subagent_type"),
            description: call.said_in_input("description"),
            prompt: prompt.unwrap_or_else(|| title.clone()),
            title,
        })
    }

    /// Whether a person is asked about a call.
    pub(super) fn waits(&self) -> bool {
        self.known.values().any(|call| !call.asked.is_empty())
    }

    fn upsert(&mut self, update: ToolCallUpdate) -> &mut Call {
        let key = update.tool_call_id.0.to_string();
        let id = match self.reused {
            0 => CallId::of_agent(&key),
            times => CallId::of_agent(&format!("{key}~{times}")),
        };
        if !self.known.contains_key(&key) {
            self.order.push(key.clone());
        }
        let call = self.known.entry(key).or_insert_with(|| Call::new(id));
        call.learn(update);
        call
    }
}

impl Call {
    fn new(id: CallId) -> Self {
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

    fn learn(&mut self, update: ToolCallUpdate) {
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
    fn may_tell_its_command(&mut self, status: Option<ToolCallStatus>) -> bool {
        let is_begun = !matches!(status, None | Some(ToolCallStatus::Pending));
        let waited = std::mem::replace(&mut self.waited, true);
        self.kind == ToolKind::Execute && self.input.is_none() && !is_begun && !waited
    }

    fn start(&mut self) -> TurnEvent {
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
    fn tell_input(&mut self, events: &mut Vec<TurnEvent>) {
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

    fn run(&mut self, around: Around<'_>, events: &mut Vec<TurnEvent>) {
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

    fn finish(&mut self, success: bool, around: Around<'_>, events: &mut Vec<TurnEvent>) {
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
            let said = content.iter().find_map(|block| match block {
                ToolResultContent::Text(text) => Some(text.text.clone()),
                _ => None,
            });
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

    fn ready(&self, approval: Approval) -> TurnEvent {
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
    fn command(&self) -> Option<Command> {
        Command::of(self.kind, self.input.as_ref()?)
    }

    /// All that the call has to show.
    fn shown(&self, around: Around<'_>) -> Vec<ToolResultContent> {
        let mut shown = Vec::new();
        let mut has_terminal = false;
        for block in &self.content {
            match block {
                ToolCallContent::Content(block) => {
                    shown.extend(content::shown(block.content.clone()));
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
            shown.push(content::text(output));
        }
        if shown.is_empty() {
            shown.extend(
                self.raw_output
                    .as_ref()
                    .map(|raw| content::text(as_text(raw))),
            );
        }
        shown
    }

    fn structured(&self) -> Option<JsonObject> {
        let mut structured = match &self.raw_output {
            Some(Value::Object(object)) => object.clone(),
            _ => JsonObject::new(),
        };
        if let Some(code) = self.output.exit_code() {
            structured.insert("exitCode".to_owned(), code.into());
        }
        (!structured.is_empty()).then_some(structured)
    }

    fn edits(&self) -> FileEditCollection {
        let diffs = diffs(&self.content);
        FileEditCollection {
            items: diffs.map(|diff| self.whole_edits.shown(diff)).collect(),
        }
    }

    fn make_edits_whole(&mut self, stage: Stage, texts: &Texts) {
        self.whole_edits.learn(diffs(&self.content), stage, texts);
    }

    /// Whether the agent tells of the file, in the call's locations or its edits.
    fn is_about(&self, path: &Path) -> bool {
        self.locations.iter().any(|it| it.path == path) || self.shows_edit_of(path)
    }

    fn shows_edit_of(&self, path: &Path) -> bool {
        diffs(&self.content).any(|diff| diff.path == path)
    }

    /// A text in the input, by its key.
    fn said_in_input(&self, key: &str) -> Option<String> {
        let said = self.input.as_ref()?.get(key)?.as_str()?;
        (!said.trim().is_empty()).then(|| said.to_owned())
    }

    fn input_text(&self) -> Option<String> {
        self.input.as_ref().map(as_text)
    }

    fn title_or_kind(&self) -> String {
        match self.title.as_str() {
            "" => self.name.clone().unwrap_or_else(|| self.kind_name()),
            title => title.to_owned(),
        }
    }

    fn kind_name(&self) -> String {
        let kind = serde_json::to_value(self.kind).ok();
        let name = kind.as_ref().and_then(Value::as_str);
        name.filter(|name| *name != "other")
            .unwrap_or("tool")
            .to_owned()
    }

    fn meta(&self) -> Option<JsonObject> {
        let mut meta = JsonObject::new();
        meta.insert("kind".to_owned(), json!(self.kind));
        let agent = self.said_in_input("subagent_type");
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

fn diffs(content: &[ToolCallContent]) -> impl Iterator<Item = &Diff> {
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
