//! The tool calls of one turn: what the agent says about them, in whatever
//! order and however completely, becomes the orderly life of a tool call.
//!
//! *Invariant*: of each call the host hears a beginning, at most one answer to
//! "may it run" at a time, and at most one end. A call that was denied has
//! ended, whatever the agent says about it afterwards.

use std::collections::HashMap;
use std::path::PathBuf;

use agent_client_protocol_schema::v1::{ToolCallContent, ToolCallStatus, ToolCallUpdate};
use innkeeper_protocol::CallId;
use innkeeper_protocol::agent::{
    Approval, ApprovalOption, ApprovalRequest, ToolVerdict, TurnEvent,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use serde_json::Value;

use super::call::{Around, Call, Phase, diffs};
use super::permission::{self, PermissionRequest};
use super::presented;
use super::whole_edits::{Stage, Texts, WholeEdits};
use super::written::Written;

#[derive(Debug, Default)]
pub(super) struct Calls {
    /// By the agent's name for them.
    known: HashMap<String, Call>,
    /// In the order in which they began.
    order: Vec<String>,
    /// How many names of calls were used again.
    reused: usize,
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

    /// Whether a call has ended.
    pub(super) fn has_ended(&self, name: &str) -> bool {
        let call = self.known.get(name);
        call.is_some_and(|call| call.phase == Phase::Over)
    }

    /// The calls that may have begun an agent of this name: the one that says so
    /// in what came of it or, if none does, those that have yet to end.
    pub(super) fn may_have_begun(&self, agent: &str) -> Vec<&String> {
        let names = || self.order.iter().filter(|name| self.known[*name].is_task());
        let mut named = names().filter(|name| self.known[*name].mentions(agent));
        match named.next() {
            Some(name) => vec![name],
            None => names().filter(|name| !self.has_ended(name)).collect(),
        }
    }

    /// What somebody else is to do for a call.
    pub(super) fn task(&self, name: &str) -> Option<Task> {
        let call = self.known.get(name)?;
        let title = call.title_or_kind();
        let prompt = call.said_in_input("prompt");
        Some(Task {
            id: call.id.clone(),
            agent: call.agent_type(),
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
