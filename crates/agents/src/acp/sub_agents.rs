//! Agents that work for a call of the agent. Where it says for which call it
//! says something, that is shown in a chat of its own, and so is what that
//! agent's own calls let others do. An agent that says nothing of the kind is
//! shown as one call.
//!
//! Nobody says when such an agent is done: it is when its call has ended or, if
//! it was left to work on by itself, when the turn has. (Agents that are known to
//! do that answer a prompt only when all are done.)
//!
//! *Boundary*: sub-agents that have sessions of their own are in
//! `child_sessions`.

use innkeeper_protocol::agent::{Delegation, Teller, ToolVerdict, TurnEvent};
use innkeeper_protocol::{CallId, TurnId};
use serde_json::Value;

use super::call::Around;
use super::calls::Answered;
use super::permission::PermissionRequest;
use super::turn::Turn;
use super::whole_edits::Texts;
use agent_client_protocol_schema::v1::{ToolCallStatus, ToolCallUpdate};

/// How many agents may work for the calls of one turn. What more of them say is
/// shown where their calls are.
const MOST: usize = 256;

/// How deep agents may let agents work.
const DEEPEST: usize = 8;

/// An event, and the turn that it belongs to.
pub(super) type Spoken = (TurnId, TurnEvent);

#[derive(Debug)]
pub(super) struct SubAgent {
    /// The agent's name for the call that it works for.
    call: String,
    /// Its name for itself, if it gives one instead of the call's.
    agent: Option<String>,
    turn: TurnId,
    work: Turn,
    is_over: bool,
}

/// How an agent says for whom something is said.
#[derive(Debug, Clone, Copy)]
enum Mark<'a> {
    /// For this call.
    Call(&'a str),
    /// By an agent of this name.
    Agent(&'a str),
}

impl Turn {
    /// Something that the agent said, or that an agent did which works for one
    /// of its calls.
    pub(super) fn hear(
        &mut self,
        id: &TurnId,
        kind: &str,
        update: &Value,
        around: Around<'_>,
    ) -> Vec<Spoken> {
        self.hear_at(id, kind, update, around, 0)
    }

    fn hear_at(
        &mut self,
        id: &TurnId,
        kind: &str,
        update: &Value,
        around: Around<'_>,
        depth: usize,
    ) -> Vec<Spoken> {
        let call = update["toolCallId"].as_str();
        if depth < DEEPEST {
            // What was said of a call once is said of it ever after.
            let known = call.filter(|call| !self.calls.knows(call));
            if known.is_some_and(|call| self.had_call(call)) {
                return Vec::new();
            }
            let known = known.and_then(|call| self.sub_agent_with(call));
            let mark = mark_of(update);
            let parent = mark.and_then(|mark| self.marked_call(mark));
            let parent = parent.as_deref();
            let below = parent.and_then(|parent| self.sub_agent_with(parent));
            if let Some(at) = known.or(below) {
                let SubAgent { turn, work, .. } = &mut self.sub_agents[at];
                return work.hear_at(&turn.clone(), kind, update, around, depth + 1);
            }
            if let Some(parent) = parent.filter(|parent| self.calls.knows(parent)) {
                let mut spoken = Vec::new();
                if let Some(at) = self.sub_agent_of(parent, id, around, &mut spoken) {
                    let SubAgent {
                        agent, turn, work, ..
                    } = &mut self.sub_agents[at];
                    if let Some(Mark::Agent(name)) = mark {
                        *agent = Some(name.to_owned());
                    }
                    spoken.extend(work.hear_at(&turn.clone(), kind, update, around, depth + 1));
                    return spoken;
                }
            }
        }
        let ended = matches!(update["status"].as_str(), Some("completed" | "failed"));
        let ends = |it: &SubAgent| ended && Some(it.call.as_str()) == call;
        let mut over = self.sub_agents.iter().filter(|it| !it.is_over && ends(it));
        let names_itself = over.any(|it| it.agent.is_some());
        let mut spoken = self.end_sub_agents(&TurnEvent::Completed, around, ends);
        let mut events = self.update(kind, update, around);
        if names_itself {
            // Its words are not marked: they end where the agent's begin.
            events.push(TurnEvent::Break);
        }
        spoken.extend(events.into_iter().map(|event| (id.clone(), event)));
        spoken
    }

    /// The one that works for a call; it begins if nobody does yet.
    fn sub_agent_of(
        &mut self,
        call: &str,
        id: &TurnId,
        around: Around<'_>,
        spoken: &mut Vec<Spoken>,
    ) -> Option<usize> {
        let works = |it: &SubAgent| it.call == call && !it.is_over;
        let known = self.sub_agents.iter().position(works);
        if known.is_some() {
            return known;
        }
        if self.sub_agents.len() >= MOST {
            return None;
        }
        let of_call = self.sub_agents.iter().filter(|it| it.call == call);
        let again = match of_call.count() {
            0 => String::new(),
            times => format!("~{}", times + 1),
        };
        let in_background = self.calls.has_ended(call);
        // Its call runs, whether or not the agent has said so.
        let mut runs = ToolCallUpdate::new(call.to_owned(), Default::default());
        runs.fields.status = Some(ToolCallStatus::InProgress);
        let events = self.calls.update(runs, around);
        let task = self.calls.task(call)?;
        // Those that are deep below have a name that is as short as any.
        let turn = CallId::of_agent(&format!("{id}/{}{again}", task.id));
        let turn = TurnId::from(turn.to_string());
        let delegation = Delegation {
            call: task.id,
            turn: turn.clone(),
            title: task.title,
            agent_name: task.agent,
            description: task.description,
            message: task.prompt,
            told_by: Teller::Tool,
            in_background,
        };
        spoken.extend(events.into_iter().map(|event| (id.clone(), event)));
        spoken.push((id.clone(), TurnEvent::Delegated(Box::new(delegation))));
        self.sub_agents.push(SubAgent {
            call: call.to_owned(),
            agent: None,
            turn,
            work: Turn::new(self.request),
            is_over: false,
        });
        Some(self.sub_agents.len() - 1)
    }

    /// The one that has begun a call, or lets another do so.
    fn sub_agent_with(&self, call: &str) -> Option<usize> {
        let has = |it: &SubAgent| !it.is_over && it.work.has_call(call);
        self.sub_agents.iter().position(has)
    }

    fn has_call(&self, call: &str) -> bool {
        self.calls.knows(call) || self.sub_agent_with(call).is_some()
    }

    /// The call that a mark means, if there is one and no other.
    fn marked_call(&self, mark: Mark<'_>) -> Option<String> {
        let agent = match mark {
            Mark::Call(call) => return Some(call.to_owned()),
            Mark::Agent(agent) => agent,
        };
        if let Some(call) = self.call_of_agent(agent) {
            return Some(call.to_owned());
        }
        let mut begun = self.may_have_begun(agent).into_iter();
        let call = begun.next()?.clone();
        begun.next().is_none().then_some(call)
    }

    fn call_of_agent(&self, agent: &str) -> Option<&str> {
        self.sub_agents.iter().find_map(|it| {
            let is_it = it.agent.as_deref() == Some(agent);
            let below = || it.work.call_of_agent(agent);
            is_it.then_some(it.call.as_str()).or_else(below)
        })
    }

    /// The calls that may have begun an agent, and for which nobody works yet.
    fn may_have_begun(&self, agent: &str) -> Vec<&String> {
        let is_free = |call: &&String| !self.sub_agents.iter().any(|it| it.call == **call);
        let begun = self.calls.may_have_begun(agent).into_iter();
        let mut begun: Vec<&String> = begun.filter(is_free).collect();
        for it in self.sub_agents.iter().filter(|it| !it.is_over) {
            begun.extend(it.work.may_have_begun(agent));
        }
        begun
    }

    /// Whether one that is done has had a call.
    fn had_call(&self, call: &str) -> bool {
        let mut done = self.sub_agents.iter().filter(|it| it.is_over);
        done.any(|it| it.work.has_call(call))
    }

    /// Those that are still at work are done, with this as their end.
    pub(super) fn end_all_sub_agents(
        &mut self,
        last: &TurnEvent,
        around: Around<'_>,
    ) -> Vec<Spoken> {
        self.end_sub_agents(last, around, |_| true)
    }

    fn end_sub_agents(
        &mut self,
        last: &TurnEvent,
        around: Around<'_>,
        which: impl Fn(&SubAgent) -> bool,
    ) -> Vec<Spoken> {
        let mut spoken = Vec::new();
        let ending = self.sub_agents.iter_mut();
        for it in ending.filter(|it| !it.is_over && which(it)) {
            it.is_over = true;
            spoken.extend(it.work.end_all_sub_agents(last, around));
            let mut events = it.work.closing(&Value::Null, around);
            events.push(last.clone());
            spoken.extend(events.into_iter().map(|event| (it.turn.clone(), event)));
        }
        spoken
    }

    /// Whether this is the turn of one of them.
    pub(super) fn is_delegated(&self, turn: &str) -> bool {
        let mut all = self.sub_agents.iter();
        all.any(|it| (!it.is_over && *it.turn == *turn) || it.work.is_delegated(turn))
    }

    /// The agent asks whether a call may run, whoever wants that.
    pub(super) fn ask(
        &mut self,
        id: &TurnId,
        update: ToolCallUpdate,
        request: PermissionRequest,
        texts: &Texts,
    ) -> Vec<Spoken> {
        let call = update.tool_call_id.0.to_string();
        if !self.calls.knows(&call)
            && let Some(at) = self.sub_agent_with(&call)
        {
            let SubAgent { turn, work, .. } = &mut self.sub_agents[at];
            return work.ask(&turn.clone(), update, request, texts);
        }
        let events = self.calls.ask(update, request, texts);
        events
            .into_iter()
            .map(|event| (id.clone(), event))
            .collect()
    }

    /// What somebody decided about a call of this turn.
    pub(super) fn decide(
        &mut self,
        id: &TurnId,
        of: &str,
        call: &str,
        verdict: &ToolVerdict,
        around: Around<'_>,
    ) -> (Vec<Answered>, Vec<Spoken>) {
        if **id == *of {
            let (answered, events) = self.calls.decide(call, verdict, around);
            let spoken = events.into_iter().map(|event| (id.clone(), event));
            return (answered, spoken.collect());
        }
        let mut all = self.sub_agents.iter_mut();
        let meant = all.find(|it| *it.turn == *of || it.work.is_delegated(of));
        match meant {
            Some(it) => it.work.decide(&it.turn.clone(), of, call, verdict, around),
            None => (Vec::new(), Vec::new()),
        }
    }

    /// All requests that are still open: the turn is over for them.
    pub(super) fn abandon(&mut self) -> Vec<PermissionRequest> {
        let mut open = self.calls.abandon();
        for it in &mut self.sub_agents {
            open.extend(it.work.abandon());
        }
        open
    }

    /// The agent takes a request back. Whether there was one.
    pub(super) fn withdraw(&mut self, request: &Value) -> bool {
        let mut all = self.sub_agents.iter_mut();
        self.calls.withdraw(request) || all.any(|it| it.work.withdraw(request))
    }

    /// Whether a person is asked about a call.
    pub(super) fn waits(&self) -> bool {
        self.calls.waits() || self.sub_agents.iter().any(|it| it.work.waits())
    }

    /// There is news of a terminal.
    pub(super) fn terminal_changed(
        &mut self,
        id: &TurnId,
        terminal: &str,
        around: Around<'_>,
    ) -> Vec<Spoken> {
        let events = self.calls.terminal_changed(terminal, around);
        let mut spoken: Vec<Spoken> = events
            .into_iter()
            .map(|event| (id.clone(), event))
            .collect();
        for it in self.sub_agents.iter_mut().filter(|it| !it.is_over) {
            spoken.extend(it.work.terminal_changed(&it.turn.clone(), terminal, around));
        }
        spoken
    }
}

/// For whom something is said, if not for the agent itself.
fn mark_of(update: &Value) -> Option<Mark<'_>> {
    let meta = &update["_meta"];
    let said = |value: &'_ Value| !value.as_str().unwrap_or_default().is_empty();
    let calls = [
        &meta["claudeCode"]["parentToolUseId"],
        // Qwen Code.
        &meta["parentToolCallId"],
    ];
    let call = calls.into_iter().find(|call| said(call));
    let agent = &meta["github.com/copilot"]["agentId"];
    match (call, said(agent)) {
        (Some(call), _) => call.as_str().map(Mark::Call),
        (None, true) => agent.as_str().map(Mark::Agent),
        (None, false) => None,
    }
}
