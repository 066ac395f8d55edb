//! One turn with an agent: what it says becomes the events of the turn.
//!
//! *Boundary*: nothing here talks to anybody. What comes in is what the agent
//! said, what goes out is what the engine is to hear.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    CompactionStatus, CompactionUpdate, ContentBlock, Notice, Plan, PlanEntryStatus,
    ToolCallUpdate, Usage, UsageUpdate,
};
use innkeeper_protocol::CallId;
use innkeeper_protocol::agent::{
    AgentActivity, AgentNotice, Approval, ToolReady, ToolStart, TurnEvent,
};
use innkeeper_protocol::newest::common::{JsonObject, StringOrMarkdown};
use innkeeper_protocol::newest::state::{ToolCallResult, ToolResultContent, UsageInfo};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call::Around;
use super::calls::Calls;
use super::content;
use super::counting::Counting;
use super::rpc::RequestNo;
use super::sub_agents::SubAgent;
use crate::usage::{self, CONTEXT_USED, CONTEXT_WINDOW};

/// The plan is shown as a tool call of its own.
const PLAN: &str = "innkeeper-plan";

/// How much of what nobody understands is kept of one turn.
const UNKNOWN: usize = 32;
const UNKNOWN_BYTES: usize = 4 * 1024;

/// How much of a message is compared with an error.
const LAST_SAID: usize = 4 * 1024;

#[derive(Debug)]
pub(super) struct Turn {
    /// Our request that the agent answers when the turn is over.
    pub(super) request: RequestNo,
    pub(super) calls: Calls,
    /// Those that work for calls, in the order in which they began.
    pub(super) sub_agents: Vec<SubAgent>,
    /// The message that the agent is in the middle of.
    speaking: Option<String>,
    /// What it has said in it, if that is not much.
    last_said: String,
    plan: Option<Vec<ToolResultContent>>,
    usage: UsageInfo,
    cost: Cost,
    /// What the agent's requests to its model took, where it tells of each.
    requests: Option<Usage>,
    /// What the agent said that nobody here understands.
    unknown: Vec<Value>,
}

/// What the conversation has cost, as the agent counts: before this turn, and
/// up to now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) before: Option<f64>,
    now: Option<f64>,
}

impl Cost {
    /// A new conversation has cost nothing; nobody knows that of an older one.
    pub(super) fn of_conversation(is_new: bool) -> Self {
        Self {
            before: is_new.then_some(0.0),
            now: None,
        }
    }

    /// What the next turn begins with.
    fn after(self) -> Self {
        Self {
            before: self.now.or(self.before),
            now: None,
        }
    }

    /// Some agents count anew when they start again.
    fn of_turn(self) -> Option<f64> {
        let cost = self.now? - self.before?;
        (cost >= 0.0).then_some(cost)
    }
}

impl Turn {
    pub(super) fn new(request: RequestNo) -> Self {
        Self::of(request, None, Cost::default())
    }

    /// With the model that works on it, if that is known.
    pub(super) fn of(request: RequestNo, model: Option<String>, cost: Cost) -> Self {
        Self {
            request,
            calls: Calls::default(),
            sub_agents: Vec::new(),
            speaking: None,
            last_said: String::new(),
            plan: None,
            usage: UsageInfo {
                input_tokens: None,
                output_tokens: None,
                model,
                cache_read_tokens: None,
                meta: None,
            },
            cost: cost.after(),
            requests: None,
            unknown: Vec::new(),
        }
    }

    /// Something that the agent said in the course of the turn.
    pub(super) fn update(
        &mut self,
        kind: &str,
        update: &Value,
        around: Around<'_>,
    ) -> Vec<TurnEvent> {
        match kind {
            "agent_message_chunk" => {
                let mut events = self.message(update);
                events.extend(self.request_spent(update));
                events
            }
            "agent_thought_chunk" => {
                let thought = text_of(&update["content"]);
                thought.map(TurnEvent::Reasoning).into_iter().collect()
            }
            "tool_call" | "tool_call_update" => match read::<ToolCallUpdate>(update) {
                Some(update) => self.calls.update(update, around),
                None => self.not_understood(kind, update),
            },
            "plan" => read(update)
                .map(|plan| self.plan(&plan))
                .unwrap_or_default(),
            "usage_update" => read(update)
                .map(|usage| self.context(&usage))
                .unwrap_or_default(),
            "notice" => read(update).map(notice).into_iter().collect(),
            "compaction_update" => read(update)
                .and_then(|update| compaction(&update))
                .into_iter()
                .collect(),
            // What the user said is known, and summaries are for the agent.
            "user_message_chunk" | "compaction_summary_chunk" => Vec::new(),
            unknown => self.not_understood(unknown, update),
        }
    }

    /// The agent's name for the message that it is in.
    pub(super) fn message_id(&self) -> Option<&str> {
        self.speaking.as_deref()
    }

    /// The files whose texts are of use for this update, or for the end of the
    /// turn.
    pub(super) fn wanted_texts(&self, update: Option<&Value>) -> Vec<PathBuf> {
        let Some(update) = update else {
            return self.calls.wanted_texts(None);
        };
        let call = read::<ToolCallUpdate>(update);
        call.map(|call| self.calls.wanted_texts(Some(&call)))
            .unwrap_or_default()
    }

    /// Kept for whoever understands it, and told at the end of the turn.
    fn not_understood(&mut self, kind: &str, update: &Value) -> Vec<TurnEvent> {
        tracing::debug!(kind, %update, "an agent said something unknown");
        let size = update.to_string().len();
        if self.unknown.len() < UNKNOWN && size <= UNKNOWN_BYTES {
            self.unknown.push(update.clone());
        }
        Vec::new()
    }

    /// What nobody here understood.
    fn about_the_unknown(&mut self) -> Option<TurnEvent> {
        let said = std::mem::take(&mut self.unknown);
        let mut kinds: Vec<&str> = said
            .iter()
            .filter_map(|update| update["sessionUpdate"].as_str())
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        let kinds = kinds.into_iter().map(str::to_owned).collect();
        (!said.is_empty()).then_some(TurnEvent::Unknown { kinds, said })
    }

    fn message(&mut self, update: &Value) -> Vec<TurnEvent> {
        let mut events = Vec::new();
        let message = update["messageId"].as_str();
        if message.is_some() && message != self.speaking.as_deref() {
            if self.speaking.is_some() {
                events.push(TurnEvent::Break);
            }
            self.speaking = message.map(str::to_owned);
            self.last_said.clear();
        }
        let said = text_of(&update["content"]).unwrap_or_default();
        if self.last_said.len() + said.len() <= LAST_SAID {
            self.last_said.push_str(&said);
        }
        let block = read::<ContentBlock>(&update["content"]);
        let spoken = block.and_then(content::spoken);
        let spoken = spoken.or_else(|| text_of(&update["content"]).map(TurnEvent::Text));
        events.extend(spoken);
        events
    }

    fn plan(&mut self, plan: &Plan) -> Vec<TurnEvent> {
        let mut list = String::new();
        for entry in &plan.entries {
            let mark = match entry.status {
                PlanEntryStatus::Completed => "- [x] ",
                PlanEntryStatus::InProgress => "- [ ] **now:** ",
                _ => "- [ ] ",
            };
            list.push_str(mark);
            list.push_str(&entry.content);
            list.push('\n');
        }
        let content = vec![content::text(list)];
        let mut events = Vec::new();
        if self.plan.is_none() {
            let name = "Plan".to_owned();
            events.push(TurnEvent::ToolStarted(Box::new(ToolStart {
                call: CallId::from(PLAN),
                name: "plan".to_owned(),
                display_name: name.clone(),
                intention: None,
                contributor: None,
                meta: None,
            })));
            events.push(TurnEvent::ToolReady(Box::new(ToolReady {
                call: CallId::from(PLAN),
                input: None,
                message: StringOrMarkdown::Plain(name),
                approval: Approval::NotNeeded,
                meta: None,
            })));
        }
        self.plan = Some(content.clone());
        let call = CallId::from(PLAN);
        events.push(TurnEvent::ToolContent { call, content });
        events
    }

    /// How full the agent's memory is, and what it has cost so far.
    fn context(&mut self, update: &UsageUpdate) -> Vec<TurnEvent> {
        let meta = self.usage.meta.get_or_insert_default();
        meta.insert(CONTEXT_USED.to_owned(), update.used.into());
        meta.insert(CONTEXT_WINDOW.to_owned(), update.size.into());
        if let Some(cost) = &update.cost {
            self.cost.now = Some(cost.amount);
            let (currency, of_turn) = (cost.currency.to_string(), self.cost.of_turn());
            usage::tell_cost(meta, &currency, of_turn, self.cost.now);
        }
        vec![TurnEvent::Usage(self.usage.clone())]
    }

    /// Whether the agent has said what the turn has used, or does so with this
    /// answer.
    pub(super) fn is_counted_with(&self, answer: &Value) -> bool {
        let usage = &self.usage;
        let said = usage.meta.is_some() || usage.input_tokens.is_some();
        said || read::<Usage>(&answer["usage"]).is_some() || counted(answer).is_some()
    }

    /// What the conversation has cost with this turn.
    pub(super) fn cost(&self) -> Cost {
        self.cost
    }

    /// The agent answered the prompt, and may have counted what the turn has
    /// used.
    pub(super) fn closing_counted(
        &mut self,
        answer: &Value,
        counting: &mut Counting,
        around: Around<'_>,
    ) -> Vec<TurnEvent> {
        let mut events = self.closing(&Value::Null, around);
        if let Some(usage) = read(&answer["usage"]).or_else(|| counted(answer)) {
            let meta = self.usage.meta.as_ref();
            let context = meta.and_then(|meta| meta.get(CONTEXT_USED)?.as_u64());
            events.push(self.spent(&counting.of_turn(usage, context)));
        }
        events
    }

    /// Whether the last that the agent said is this.
    pub(super) fn ends_with(&self, said: &str) -> bool {
        let (last, said) = (self.last_said.trim(), said.trim());
        !last.is_empty() && said.ends_with(last) && said.len() < last.len() + 40
    }

    /// The agent answered the prompt: what is still to be said before the end.
    pub(super) fn closing(&mut self, answer: &Value, around: Around<'_>) -> Vec<TurnEvent> {
        let mut events = self.calls.close(around);
        if let Some(content) = self.plan.take() {
            let result = ToolCallResult {
                success: true,
                past_tense_message: StringOrMarkdown::Plain("Plan".to_owned()),
                content: Some(content),
                structured_content: None,
                error: None,
            };
            events.push(TurnEvent::ToolFinished {
                call: CallId::from(PLAN),
                result: Box::new(result),
                confirm: false,
            });
        }
        if let Some(usage) = read(&answer["usage"]).or_else(|| counted(answer)) {
            events.push(self.spent(&usage));
        }
        events.extend(self.about_the_unknown());
        events
    }

    /// Some agents say along with a message what a request has taken, and nothing
    /// with their answer.
    fn request_spent(&mut self, update: &Value) -> Option<TurnEvent> {
        let usage = read::<Usage>(&update["_meta"]["usage"])?;
        let all = match self.requests.take() {
            Some(before) => sum(&before, &usage),
            None => usage,
        };
        let event = self.spent(&all);
        self.requests = Some(all);
        Some(event)
    }

    fn spent(&mut self, usage: &Usage) -> TurnEvent {
        let number = |tokens: u64| i64::try_from(tokens).ok();
        self.usage.input_tokens = number(usage.input_tokens);
        self.usage.output_tokens = number(usage.output_tokens);
        self.usage.cache_read_tokens = usage.cached_read_tokens.and_then(number);
        let mut meta = JsonObject::new();
        meta.insert("totalTokens".to_owned(), usage.total_tokens.into());
        for (key, tokens) in [
            ("thoughtTokens", usage.thought_tokens),
            ("cacheWriteTokens", usage.cached_write_tokens),
        ] {
            if let Some(tokens) = tokens {
                meta.insert(key.to_owned(), tokens.into());
            }
        }
        self.usage.meta.get_or_insert_default().extend(meta);
        TurnEvent::Usage(usage::with_totals(self.usage.clone()))
    }
}

/// Some agents count with their answer, in words of their own.
fn counted(answer: &Value) -> Option<Usage> {
    let tokens = &answer["_meta"]["quota"]["token_count"];
    let input = tokens["input_tokens"].as_u64()?;
    let output = tokens["output_tokens"].as_u64()?;
    Some(Usage::new(input.saturating_add(output), input, output))
}

fn sum(one: &Usage, other: &Usage) -> Usage {
    let both = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (one, other) => one.or(other),
    };
    Usage::new(
        one.total_tokens.saturating_add(other.total_tokens),
        one.input_tokens.saturating_add(other.input_tokens),
        one.output_tokens.saturating_add(other.output_tokens),
    )
    .thought_tokens(both(one.thought_tokens, other.thought_tokens))
    .cached_read_tokens(both(one.cached_read_tokens, other.cached_read_tokens))
    .cached_write_tokens(both(one.cached_write_tokens, other.cached_write_tokens))
}

/// What is said about an end that the user may not expect.
pub(super) fn about_stop(reason: &str) -> Option<AgentNotice> {
    match reason {
        "max_tokens" => Some(AgentNotice::TokenLimit),
        "max_turn_requests" => Some(AgentNotice::RequestLimit),
        "refusal" => Some(AgentNotice::Refused),
        _ => None,
    }
}

fn notice(notice: Notice) -> TurnEvent {
    TurnEvent::Notice(AgentNotice::own(match notice.description {
        Some(description) => format!("{}: {description}", notice.title),
        None => notice.title,
    }))
}

fn compaction(update: &CompactionUpdate) -> Option<TurnEvent> {
    match &update.status {
        CompactionStatus::InProgress => Some(TurnEvent::Activity(Some(AgentActivity::Summarising))),
        CompactionStatus::Completed => Some(TurnEvent::Notice(AgentNotice::Summarised)),
        CompactionStatus::Failed => {
            Some(TurnEvent::Notice(AgentNotice::NotSummarised { why: None }))
        }
        _ => None,
    }
}

fn text_of(content: &Value) -> Option<String> {
    let text = content["text"].as_str().or(content.as_str())?;
    Some(text.to_owned())
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}
