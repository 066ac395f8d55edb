//! One turn with pi: its events become the events of the turn.
//!
//! *Boundary*: nothing here talks to anybody.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use innkeeper_protocol::CallId;
use innkeeper_protocol::agent::{
    AgentActivity, AgentNotice, Approval, ToolReady, ToolStart, TurnEvent,
};
use innkeeper_protocol::newest::common::{JsonObject, StringOrMarkdown};
use innkeeper_protocol::newest::state::{
    ToolCallResult, ToolResultContent, ToolResultEmbeddedResourceContent, ToolResultTextContent,
    UsageInfo,
};
use serde_json::{Value, json};

use super::patch;
use crate::edits;
use crate::usage::{self, CONTEXT_USED};

#[derive(Debug)]
pub(super) struct Turn {
    /// Where pi works.
    directory: PathBuf,
    /// pi has begun to work on it.
    pub(super) begun: bool,
    /// How the last message of the model ended, if it ended badly.
    pub(super) failure: Option<Failure>,
    calls: HashSet<CallId>,
    /// Which call a block of the message is about.
    blocks: HashMap<u64, CallId>,
    usage: Spent,
}

/// That something ended badly, and what was said about it.
#[derive(Debug)]
pub(super) struct Failure(pub(super) Option<String>);

#[derive(Debug, Default)]
struct Spent {
    input: i64,
    output: i64,
    cache_read: i64,
    cost: f64,
    model: Option<String>,
}

impl Turn {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            begun: false,
            failure: None,
            calls: HashSet::new(),
            blocks: HashMap::new(),
            usage: Spent::default(),
        }
    }

    pub(super) fn event(&mut self, kind: &str, event: &Value) -> Vec<TurnEvent> {
        match kind {
            "agent_start" => {
                self.begun = true;
                self.failure = None;
                Vec::new()
            }
            "message_start" => {
                self.blocks.clear();
                Vec::new()
            }
            "message_update" => self.update(&event["assistantMessageEvent"]),
            "message_end" => self.message(&event["message"]),
            "tool_execution_start" => self.running(event),
            "tool_execution_update" => vec![TurnEvent::ToolContent {
                call: id_of(event),
                content: content(&event["partialResult"]),
            }],
            "tool_execution_end" => vec![self.finished(event)],
            "compaction_start" => vec![activity(AgentActivity::Summarising)],
            "compaction_end" => vec![TurnEvent::Activity(None), compacted(event)],
            "auto_retry_start" => {
                let why = event["errorMessage"].as_str().map(str::to_owned);
                vec![activity(AgentActivity::TryingAgain { why })]
            }
            "auto_retry_end" => vec![TurnEvent::Activity(None)],
            _ => Vec::new(),
        }
    }

    fn update(&mut self, update: &Value) -> Vec<TurnEvent> {
        let delta = || update["delta"].as_str().unwrap_or_default().to_owned();
        let block = update["contentIndex"].as_u64().unwrap_or_default();
        match update["type"].as_str().unwrap_or_default() {
            "text_start" | "thinking_start" => vec![TurnEvent::Break],
            "text_delta" => vec![TurnEvent::Text(delta())],
            "thinking_delta" => vec![TurnEvent::Reasoning(delta())],
            "toolcall_start" => {
                let Some(call) = update["id"].as_str().map(CallId::of_agent) else {
                    return Vec::new();
                };
                self.blocks.insert(block, call.clone());
                let name = update["toolName"].as_str().unwrap_or("tool");
                self.start(&call, name).into_iter().collect()
            }
            "toolcall_delta" => match self.blocks.get(&block) {
                Some(call) => vec![TurnEvent::ToolInput {
                    call: call.clone(),
                    content: delta(),
                }],
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    fn start(&mut self, call: &CallId, name: &str) -> Option<TurnEvent> {
        self.calls.insert(call.clone()).then(|| {
            TurnEvent::ToolStarted(Box::new(ToolStart {
                call: call.clone(),
                name: name.to_owned(),
                display_name: name.to_owned(),
                intention: None,
                contributor: None,
                meta: None,
            }))
        })
    }

    fn running(&mut self, event: &Value) -> Vec<TurnEvent> {
        let (call, name) = (id_of(event), event["toolName"].as_str().unwrap_or("tool"));
        let mut events: Vec<TurnEvent> = self.start(&call, name).into_iter().collect();
        let args = &event["args"];
        // What a call does is best told by what it is about.
        let about = ["command", "path", "pattern", "query"];
        let about = about.into_iter().find_map(|key| args[key].as_str());
        let message = about.map_or_else(|| name.to_owned(), |about| format!("{name}: {about}"));
        events.push(TurnEvent::ToolReady(Box::new(ToolReady {
            call,
            input: Some(args.to_string()),
            message: StringOrMarkdown::Plain(message),
            approval: Approval::NotNeeded,
            meta: None,
        })));
        events
    }

    /// A message is complete: what it cost, and whether it ended badly.
    fn message(&mut self, message: &Value) -> Vec<TurnEvent> {
        if message["role"] != "assistant" {
            return Vec::new();
        }
        let said = message["errorMessage"].as_str().map(str::to_owned);
        self.failure = (message["stopReason"] == "error").then_some(Failure(said));
        let spent = &message["usage"];
        let number = |key: &str| spent[key].as_i64().unwrap_or_default();
        for (sum, key) in [
            (&mut self.usage.input, "input"),
            (&mut self.usage.output, "output"),
            (&mut self.usage.cache_read, "cacheRead"),
        ] {
            *sum = sum.saturating_add(number(key));
        }
        self.usage.cost += spent["cost"]["total"].as_f64().unwrap_or_default();
        self.usage.model = message["model"].as_str().map(str::to_owned);
        if !spent.is_object() {
            return Vec::new();
        }
        let mut meta = JsonObject::new();
        usage::tell_cost(&mut meta, "USD", Some(self.usage.cost), None);
        // Of the last request alone: it held all that went before.
        if let Some(used) = spent["totalTokens"].as_i64() {
            meta.insert(CONTEXT_USED.to_owned(), used.into());
        }
        vec![TurnEvent::Usage(usage::with_totals(UsageInfo {
            input_tokens: Some(self.usage.input),
            output_tokens: Some(self.usage.output),
            model: self.usage.model.clone(),
            cache_read_tokens: Some(self.usage.cache_read),
            meta: Some(meta),
        }))]
    }

    fn finished(&self, event: &Value) -> TurnEvent {
        let success = event["isError"] != true;
        let name = event["toolName"].as_str().unwrap_or("tool");
        let mut shown = content(&event["result"]);
        let error = (!success).then(|| {
            let said = shown.iter().find_map(|block| match block {
                ToolResultContent::Text(text) => Some(text.text.clone()),
                _ => None,
            });
            json!({"message": said.unwrap_or_else(|| format!("{name} failed"))})
        });
        let details = event["result"]["details"].as_object();
        let patch = details.and_then(|details| details.get("patch")?.as_str());
        shown.extend(
            patch
                .filter(|_| success)
                .and_then(|patch| self.edited(patch)),
        );
        TurnEvent::ToolFinished {
            call: id_of(event),
            result: Box::new(ToolCallResult {
                success,
                past_tense_message: StringOrMarkdown::Plain(name.to_owned()),
                content: Some(shown),
                structured_content: details.filter(|details| !details.is_empty()).cloned(),
                error,
            }),
            confirm: false,
        }
    }

    /// What a patch has changed.
    fn edited(&self, patch: &str) -> Option<ToolResultContent> {
        let change = patch::change(patch)?;
        let path = self.directory.join(change.path);
        let edit = edits::edit(&path, Some(&change.before), &change.after);
        Some(edits::as_content(edit))
    }
}

fn id_of(event: &Value) -> CallId {
    CallId::of_agent(event["toolCallId"].as_str().unwrap_or_default())
}

fn content(result: &Value) -> Vec<ToolResultContent> {
    let blocks = result["content"].as_array().into_iter().flatten();
    let shown = |block: &Value| match block["type"].as_str()? {
        "text" => Some(ToolResultContent::Text(ToolResultTextContent {
            text: block["text"].as_str()?.to_owned(),
        })),
        "image" => Some(ToolResultContent::EmbeddedResource(
            ToolResultEmbeddedResourceContent {
                data: block["data"].as_str()?.to_owned(),
                content_type: block["mimeType"].as_str()?.to_owned(),
            },
        )),
        _ => None,
    };
    blocks.filter_map(shown).collect()
}

fn compacted(event: &Value) -> TurnEvent {
    TurnEvent::Notice(match event["errorMessage"].as_str() {
        Some(why) => AgentNotice::NotSummarised {
            why: Some(why.to_owned()),
        },
        None => AgentNotice::Summarised,
    })
}

fn activity(activity: AgentActivity) -> TurnEvent {
    TurnEvent::Activity(Some(activity))
}
