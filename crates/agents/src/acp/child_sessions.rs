//! Sub-agents that have sessions of their own (`subagent_update`, a draft of
//! the protocol): which there are, what they work on, and what that is shown as.
//!
//! A sub-agent's work is a turn of its own, which a call of whoever it works for
//! points to. The agent shows no such call, so the host makes one. It ends with
//! the work or, if that goes on longer, with the turn that it is in; from then
//! on the sub-agent works in the background. An agent that begins another
//! message meanwhile does not wait for it either.
//!
//! *Invariant*: of each turn that is told here, one end is told: when the
//! sub-agent is idle, when somebody stopped it, when the turn that waits for it
//! has ended badly, or when the process is gone.

use agent_client_protocol_schema::v1::ToolCallUpdate;
use innkeeper_protocol::agent::{
    AgentFailure, Approval, Delegation, TOOL_KIND, Teller, ToolReady, ToolStart, ToolVerdict,
    TurnEvent,
};
use innkeeper_protocol::bounds::{MAX_TITLE_BYTES, cut};
use innkeeper_protocol::newest::common::{JsonObject, StringOrMarkdown};
use innkeeper_protocol::newest::state::ToolCallResult;
use innkeeper_protocol::{CallId, TurnId};
use serde_json::{Value, json};

use super::call::Around;
use super::calls::Answered;
use super::permission::PermissionRequest;
use super::rpc::RequestNo;
use super::sub_agents::Spoken;
use super::turn::Turn;
use super::whole_edits::Texts;

/// How many sub-agents of a process are known. What more of them do at the same
/// time is not shown.
const MOST: usize = 256;

/// How deep they may let others work.
const DEEPEST: usize = 8;

#[derive(Debug, Default)]
pub(super) struct ChildSessions {
    /// In the order in which they were announced.
    known: Vec<Child>,
    /// What those have asked that are done.
    dismissed: Vec<PermissionRequest>,
}

#[derive(Debug)]
struct Child {
    /// The agent's name for its session.
    id: String,
    /// Likewise for that of whoever it works for.
    parent: String,
    depth: usize,
    title: Option<String>,
    description: Option<String>,
    can_be_stopped: bool,
    /// What it was told last.
    task: Option<String>,
    /// How often it has begun to work.
    begun: usize,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Idle,
    /// It works; what it was told may still be said.
    Announced,
    Working(Box<Work>),
    /// It may work on, but nobody sees that.
    Unseen,
}

#[derive(Debug)]
struct Work {
    turn: TurnId,
    own: Turn,
    /// The turn that it works for, and the call there.
    of: TurnId,
    call: CallId,
    /// The message that whoever it works for was in when it began.
    during: Option<String>,
    /// The call has not ended.
    is_open: bool,
    in_background: bool,
}

/// The turn of the conversation itself, if one runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Root<'a> {
    pub(super) session: &'a str,
    pub(super) turn: Option<&'a TurnId>,
    /// The message that the agent is in.
    pub(super) message: Option<&'a str>,
}

impl ChildSessions {
    pub(super) fn knows(&self, session: &str) -> bool {
        self.known.iter().any(|child| child.id == session)
    }

    /// Whether one of them works on this turn.
    pub(super) fn work_on(&self, turn: &str) -> bool {
        let mut all = self.known.iter().filter_map(Child::work);
        all.any(|work| *work.turn == *turn || work.own.is_delegated(turn))
    }

    /// What is said of a sub-agent, in the session of whoever it works for.
    pub(super) fn told_of(
        &mut self,
        parent: &str,
        update: &Value,
        root: Root<'_>,
        around: Around<'_>,
    ) -> Vec<Spoken> {
        let Some(id) = update["sessionId"].as_str() else {
            return Vec::new();
        };
        let Some(at) = self.place_of(id, parent, root) else {
            return Vec::new();
        };
        let child = &mut self.known[at];
        let text = |key: &str, now: &mut Option<String>| {
            if let Some(said) = update.get(key) {
                let said = said.as_str().map(|said| cut(said, MAX_TITLE_BYTES));
                *now = said.map(str::to_owned);
            }
        };
        text("title", &mut child.title);
        text("description", &mut child.description);
        if let Some(can) = update.get("capabilities") {
            child.can_be_stopped = can["cancel"].is_object();
        }
        let state = &update["state"];
        match state["state"].as_str() {
            Some("running" | "requires_action") => {
                if matches!(child.stage, Stage::Idle) {
                    child.stage = Stage::Announced;
                }
                Vec::new()
            }
            Some("idle") => {
                let mut spoken = self.begin(at, root);
                spoken.extend(self.end(at, last_of(state), around));
                self.known[at].stage = Stage::Idle;
                spoken
            }
            // Nothing is known, or nothing that was known before it is said.
            _ => Vec::new(),
        }
    }

    /// A message from one session to another: what a sub-agent is told.
    pub(super) fn message(&mut self, update: &Value, root: Root<'_>) -> Vec<Spoken> {
        let to = update["recipientSessionId"].as_str();
        let to = to.and_then(|to| self.known.iter().position(|child| child.id == to));
        let Some(at) = to else {
            return Vec::new();
        };
        let blocks = update["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        if !texts.is_empty() {
            self.known[at].task = Some(texts.join("\n"));
        }
        self.begin(at, root)
    }

    /// Something that a sub-agent says in its session.
    pub(super) fn hear(
        &mut self,
        session: &str,
        kind: &str,
        update: &Value,
        root: Root<'_>,
        around: Around<'_>,
    ) -> Vec<Spoken> {
        let mut spoken = match kind {
            "subagent_update" => return self.told_of(session, update, root, around),
            "session_message" => return self.message(update, root),
            "agent_message_chunk" => self.speaks(session, update["messageId"].as_str()),
            _ => Vec::new(),
        };
        if let Some(at) = self.known.iter().position(|child| child.id == session) {
            spoken.extend(self.begin(at, root));
            if let Stage::Working(work) = &mut self.known[at].stage {
                let Work { turn, own, .. } = &mut **work;
                spoken.extend(own.hear(turn, kind, update, around));
            }
        }
        spoken
    }

    /// Somebody begins a message: those of its sub-agents that were there before
    /// it are not waited for.
    pub(super) fn speaks(&mut self, session: &str, message: Option<&str>) -> Vec<Spoken> {
        if message.is_none() {
            return Vec::new();
        }
        let children = self.known.iter_mut().filter(|it| it.parent == session);
        let works = children.filter_map(Child::work_mut);
        let left = works.filter(|work| work.during.as_deref() != message);
        left.filter_map(Work::goes_to_background).collect()
    }

    /// A turn that sub-agents may work for is over.
    pub(super) fn turn_ends(
        &mut self,
        turn: &TurnId,
        well: bool,
        around: Around<'_>,
    ) -> Vec<Spoken> {
        let mut spoken = Vec::new();
        for at in 0..self.known.len() {
            let child = &mut self.known[at];
            let title = child_title(child);
            let Some(work) = child.work_mut().filter(|work| work.of == *turn) else {
                continue;
            };
            if well {
                spoken.extend(work.goes_to_background());
                spoken.extend(work.ends_call(title, true));
            } else if !work.in_background {
                spoken.extend(self.end(at, TurnEvent::Cancelled, around));
            } else {
                work.is_open = false;
            }
        }
        spoken
    }

    /// The process is gone, and they with it.
    pub(super) fn all_end(&mut self, around: Around<'_>) -> Vec<Spoken> {
        let all = 0..self.known.len();
        all.flat_map(|at| self.end(at, TurnEvent::Cancelled, around))
            .collect()
    }

    /// Somebody stops the turn of a sub-agent: its session, if the agent can be
    /// told. Nothing, if that means the turn that it works for.
    pub(super) fn stop(&mut self, turn: &str) -> Option<Option<String>> {
        let mut all = self.known.iter();
        let child = all.find(|child| child.work().is_some_and(|work| *work.turn == *turn))?;
        let in_background = child.work()?.in_background;
        if !in_background && !child.can_be_stopped {
            return None;
        }
        let stopped = child.can_be_stopped.then(|| child.id.clone());
        self.not_seen(&TurnId::from(turn));
        Some(stopped)
    }

    /// A turn of the conversation was cancelled.
    pub(super) fn turn_cancelled(&mut self, turn: &TurnId) {
        for below in self.waited_for_by(turn) {
            self.not_seen(&below);
        }
    }

    /// The engine has ended a turn, and those that it waited for.
    fn not_seen(&mut self, turn: &TurnId) {
        for below in self.waited_for_by(turn) {
            self.not_seen(&below);
        }
        for child in &mut self.known {
            if let Some(work) = child.work_mut().filter(|work| work.turn == *turn) {
                self.dismissed.extend(work.own.abandon());
                child.stage = Stage::Unseen;
            }
        }
    }

    fn waited_for_by(&self, turn: &TurnId) -> Vec<TurnId> {
        let all = self.known.iter().filter_map(Child::work);
        let below = all.filter(|work| work.of == *turn && !work.in_background);
        below.map(|work| work.turn.clone()).collect()
    }

    /// Requests that nobody answers any more.
    pub(super) fn take_dismissed(&mut self) -> Vec<PermissionRequest> {
        std::mem::take(&mut self.dismissed)
    }

    /// A sub-agent asks whether a call may run. Gives the request back if nobody
    /// sees it.
    pub(super) fn ask(
        &mut self,
        session: &str,
        call: ToolCallUpdate,
        request: PermissionRequest,
        texts: &Texts,
        root: Root<'_>,
    ) -> Result<Vec<Spoken>, PermissionRequest> {
        let at = self.known.iter().position(|child| child.id == session);
        let Some(at) = at else {
            return Err(request);
        };
        let mut spoken = self.begin(at, root);
        match &mut self.known[at].stage {
            Stage::Working(work) => {
                let Work { turn, own, .. } = &mut **work;
                spoken.extend(own.ask(turn, call, request, texts));
                Ok(spoken)
            }
            Stage::Idle | Stage::Announced | Stage::Unseen => Err(request),
        }
    }

    /// What somebody decided about a call of a sub-agent.
    pub(super) fn decide(
        &mut self,
        of: &str,
        call: &str,
        verdict: &ToolVerdict,
        around: Around<'_>,
    ) -> (Vec<Answered>, Vec<Spoken>) {
        for work in self.works() {
            if *work.turn == *of || work.own.is_delegated(of) {
                return work.own.decide(&work.turn, of, call, verdict, around);
            }
        }
        (Vec::new(), Vec::new())
    }

    /// The agent takes a request back. Whether there was one.
    pub(super) fn withdraw(&mut self, request: &Value) -> bool {
        self.works().any(|work| work.own.withdraw(request))
    }

    /// Whether a person is asked about a call.
    pub(super) fn wait(&self) -> bool {
        let mut all = self.known.iter().filter_map(Child::work);
        all.any(|work| work.own.waits())
    }

    /// There is news of a terminal.
    pub(super) fn terminal_changed(&mut self, terminal: &str, around: Around<'_>) -> Vec<Spoken> {
        let all = self.works();
        all.flat_map(|work| work.own.terminal_changed(&work.turn, terminal, around))
            .collect()
    }

    /// The files whose texts are of use for what a sub-agent tells of.
    pub(super) fn wanted_texts(&self, session: &str, update: &Value) -> Vec<std::path::PathBuf> {
        let child = self.known.iter().find(|child| child.id == session);
        let work = child.and_then(Child::work);
        work.map(|work| work.own.wanted_texts(Some(update)))
            .unwrap_or_default()
    }

    fn works(&mut self) -> impl Iterator<Item = &mut Work> {
        self.known.iter_mut().filter_map(Child::work_mut)
    }

    /// Where a sub-agent stands in the list. The first word of it adds it.
    fn place_of(&mut self, id: &str, parent: &str, root: Root<'_>) -> Option<usize> {
        let known = self.known.iter().position(|child| child.id == id);
        if known.is_some() || id == root.session {
            return known;
        }
        let above = self.known.iter().find(|child| child.id == parent);
        let depth = above.map_or(1, |above| above.depth + 1);
        if depth > DEEPEST {
            return None;
        }
        if self.known.len() >= MOST {
            // One that has nothing to do makes room.
            let is_idle = |child: &Child| matches!(child.stage, Stage::Idle);
            let idle = self.known.iter().position(is_idle)?;
            self.known.remove(idle);
        }
        self.known.push(Child {
            id: id.to_owned(),
            parent: parent.to_owned(),
            depth,
            title: None,
            description: None,
            can_be_stopped: false,
            task: None,
            begun: 0,
            stage: Stage::Idle,
        });
        Some(self.known.len() - 1)
    }

    /// Its work is shown from now on, if it is not yet and there is a turn to
    /// show it in.
    fn begin(&mut self, at: usize, root: Root<'_>) -> Vec<Spoken> {
        let child = &self.known[at];
        if !matches!(child.stage, Stage::Announced) {
            return Vec::new();
        }
        let above = self.known.iter().find(|it| it.id == child.parent);
        let (of, during) = match above {
            Some(above) => {
                let work = above.work();
                let message = work.and_then(|work| work.own.message_id());
                (work.map(|work| &work.turn), message)
            }
            None => (root.turn, root.message),
        };
        let (of, during) = (of.cloned(), during.map(str::to_owned));
        let child = &mut self.known[at];
        let Some(of) = of else {
            child.stage = Stage::Unseen;
            return Vec::new();
        };
        child.begun += 1;
        let call = CallId::of_agent(&match child.begun {
            1 => child.id.clone(),
            times => format!("{}~{times}", child.id),
        });
        let turn = CallId::of_agent(&format!("{of}/{call}"));
        let turn = TurnId::from(turn.to_string());
        let title = child_title(child);
        let delegation = Delegation {
            call: call.clone(),
            turn: turn.clone(),
            title: title.clone(),
            agent_name: None,
            description: child.description.clone(),
            message: child.task.take().unwrap_or_else(|| title.clone()),
            told_by: Teller::Agent,
            in_background: false,
        };
        let meta: JsonObject = [
            ("kind", Some("think")),
            (TOOL_KIND, Some("subagent")),
            ("subagentDescription", child.description.as_deref()),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), json!(value?))))
        .collect();
        child.stage = Stage::Working(Box::new(Work {
            turn,
            own: Turn::new(RequestNo::NONE),
            of: of.clone(),
            call: call.clone(),
            during,
            is_open: true,
            in_background: false,
        }));
        let events = [
            TurnEvent::ToolStarted(Box::new(ToolStart {
                call: call.clone(),
                name: "subagent".to_owned(),
                display_name: title.clone(),
                intention: None,
                contributor: None,
                meta: Some(meta.clone()),
            })),
            TurnEvent::ToolReady(Box::new(ToolReady {
                call,
                input: None,
                message: StringOrMarkdown::Plain(title),
                approval: Approval::NotNeeded,
                meta: Some(meta),
            })),
            TurnEvent::Delegated(Box::new(delegation)),
        ];
        events.map(|event| (of.clone(), event)).into()
    }

    /// Its work is over, and that of those below it unless they go on.
    fn end(&mut self, at: usize, last: TurnEvent, around: Around<'_>) -> Vec<Spoken> {
        let child = &mut self.known[at];
        let title = child_title(child);
        let Stage::Working(work) = std::mem::replace(&mut child.stage, Stage::Unseen) else {
            return Vec::new();
        };
        let mut work = *work;
        let well = matches!(last, TurnEvent::Completed);
        self.dismissed.extend(work.own.abandon());
        let mut spoken = self.turn_ends(&work.turn, well, around);
        spoken.extend(work.own.end_all_sub_agents(&last, around));
        let mut events = work.own.closing(&Value::Null, around);
        events.push(last);
        spoken.extend(events.into_iter().map(|event| (work.turn.clone(), event)));
        spoken.extend(work.ends_call(title, well));
        spoken
    }
}

impl Child {
    fn work(&self) -> Option<&Work> {
        match &self.stage {
            Stage::Working(work) => Some(work),
            Stage::Idle | Stage::Announced | Stage::Unseen => None,
        }
    }

    fn work_mut(&mut self) -> Option<&mut Work> {
        match &mut self.stage {
            Stage::Working(work) => Some(work),
            Stage::Idle | Stage::Announced | Stage::Unseen => None,
        }
    }
}

impl Work {
    fn goes_to_background(&mut self) -> Option<Spoken> {
        let is_new = !std::mem::replace(&mut self.in_background, true);
        is_new.then(|| (self.turn.clone(), TurnEvent::InBackground))
    }

    /// The call that points to it has ended.
    fn ends_call(&mut self, title: String, success: bool) -> Option<Spoken> {
        if !std::mem::replace(&mut self.is_open, false) {
            return None;
        }
        let error = (!success).then(|| json!({"message": format!("{title} did not end well")}));
        let result = ToolCallResult {
            success,
            past_tense_message: StringOrMarkdown::Plain(title),
            content: None,
            structured_content: None,
            error,
        };
        let finished = TurnEvent::ToolFinished {
            call: self.call.clone(),
            result: Box::new(result),
            confirm: false,
        };
        Some((self.of.clone(), finished))
    }
}

fn child_title(child: &Child) -> String {
    let title = child.title.iter().chain(&child.description);
    let mut title = title.filter(|title| !title.trim().is_empty());
    title
        .next()
        .cloned()
        .unwrap_or_else(|| "Sub-agent".to_owned())
}

/// How the work ends of a sub-agent that is idle.
fn last_of(state: &Value) -> TurnEvent {
    match state["stopReason"].as_str() {
        Some("cancelled") => TurnEvent::Cancelled,
        Some("error") => {
            let said = state["error"]["message"].as_str().map(str::to_owned);
            TurnEvent::Failed {
                failure: AgentFailure::TurnFailed { said },
                resumable: false,
            }
        }
        _ => TurnEvent::Completed,
    }
}
