//! The steps of a scenario, and how one is read from JSON.
//!
//! Reading is strict: a key that means nothing is an error that names it, so
//! that a typing mistake is not played as something else.

use std::num::NonZeroUsize;
use std::time::Duration;

use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{ChatInputQuestion, ChatInputRequest, UsageInfo};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::Value;

use super::files::{Edit, TerminalStep};
use super::tool::{ClientCall, Tool};

/// Every step that there is, in the order in which errors list them.
pub(super) const KNOWN: [&str; 20] = [
    "say",
    "reason",
    "flood",
    "tool",
    "clientTool",
    "ask",
    "sayAnswer",
    "edit",
    "terminal",
    "subagent",
    "ref",
    "usage",
    "title",
    "activity",
    "notify",
    "sleep",
    "awaitSteering",
    "echo",
    "fail",
    "crash",
];

/// What stands next to `say` and `reason` in a step.
const SPEECH_OPTIONS: [&str; 2] = ["chunks", "everyMs"];

/// Scenarios come from anyone who may send a message; one line of JSON must
/// not be able to exhaust the host's memory.
const MAX_DELTA_BYTES: usize = 16 << 20;
const MAX_CONTENT_BYTES: usize = 64 << 20;
/// Likewise for how deep sub-agents may be nested.
const MAX_DEPTH: usize = 4;

#[derive(Debug, Clone)]
pub(super) enum Step {
    Say(Speech),
    Reason(Speech),
    Flood(Flood),
    Content(Content),
    Usage(UsageInfo),
    Title(String),
    Activity(Option<String>),
    Notify(String),
    Sleep(Duration),
    Echo(Echo),
    Tool(Box<Tool>),
    ClientTool(ClientCall),
    Ask(Box<ChatInputRequest>),
    SayAnswer(String),
    Subagent(Subagent),
    Edit(Edit),
    Terminal(TerminalStep),
    AwaitSteering,
    Fail(Failure),
    Crash,
}

#[derive(Debug, Clone)]
pub(super) struct Speech {
    pub(super) text: String,
    pub(super) chunks: Option<NonZeroUsize>,
    pub(super) pause: Duration,
}

impl Speech {
    /// A text that is said word by word, without pauses.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            chunks: None,
            pause: Duration::ZERO,
        }
    }

    pub(super) fn in_one_piece(text: impl Into<String>) -> Self {
        Self {
            chunks: Some(NonZeroUsize::MIN),
            ..Self::plain(text)
        }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Flood {
    pub(super) deltas: u64,
    pub(super) bytes: usize,
    #[serde(default)]
    pub(super) every_us: u32,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Content {
    pub(super) bytes: usize,
    #[serde(default = "plain_text")]
    pub(super) content_type: String,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Echo {
    Model,
    Agent,
    History,
    Config,
    Attachments,
    Customizations,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Failure {
    pub(super) error_type: String,
    pub(super) message: String,
}

#[derive(Debug, Clone)]
pub(super) struct Subagent {
    pub(super) title: String,
    pub(super) steps: Vec<Step>,
}

/// Why a step could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepError {
    #[error("a step is an object with one key that says what to do")]
    NotAStep,
    #[error("unknown {}", quoted("key", .0))]
    UnknownKeys(Vec<String>),
    #[error("{} cannot stand in one step", quoted("key", .0))]
    SeveralSteps(Vec<String>),
    #[error("`{step}`: {error}")]
    Body {
        step: &'static str,
        error: serde_json::Error,
    },
    #[error("`subagent`, step {number}: {error}")]
    Nested {
        number: usize,
        error: Box<StepError>,
    },
    #[error("`subagent`: a sub-agent may have sub-agents {MAX_DEPTH} levels deep, no deeper")]
    TooDeep,
}

impl Step {
    pub(super) fn read(step: &Value) -> Result<Self, StepError> {
        Self::read_at(step, 0)
    }

    fn read_at(step: &Value, depth: usize) -> Result<Self, StepError> {
        let object = step.as_object().ok_or(StepError::NotAStep)?;
        let (name, body) = the_one_step(object)?;
        let reading = match name {
            "say" => speech(object, body).map(Self::Say),
            "reason" => speech(object, body).map(Self::Reason),
            "flood" => flood(body).map(Self::Flood),
            "ref" => content(body).map(Self::Content),
            "usage" => usage(body).map(Self::Usage),
            "title" => decode(body).map(Self::Title),
            "activity" => decode(body).map(Self::Activity),
            "notify" => decode(body).map(Self::Notify),
            "sleep" => decode(body).map(|ms| Self::Sleep(Duration::from_millis(ms))),
            "echo" => decode(body).map(Self::Echo),
            "fail" => decode(body).map(Self::Fail),
            "crash" => only_true(body).map(|()| Self::Crash),
            "tool" => decode(body).map(Self::Tool),
            "clientTool" => decode(body).map(Self::ClientTool),
            "ask" => question(body).map(Self::Ask),
            "sayAnswer" => decode(body).map(Self::SayAnswer),
            "awaitSteering" => only_true(body).map(|()| Self::AwaitSteering),
            "subagent" => return subagent(body, depth).map(Self::Subagent),
            "edit" => decode(body).map(Self::Edit),
            "terminal" => decode(body).map(Self::Terminal),
            other => return Err(StepError::UnknownKeys(vec![other.to_owned()])),
        };
        reading.map_err(|error| StepError::Body { step: name, error })
    }
}

fn the_one_step(object: &JsonObject) -> Result<(&'static str, &Value), StepError> {
    let found: Vec<_> = KNOWN
        .into_iter()
        .filter_map(|name| object.get(name).map(|body| (name, body)))
        .collect();
    let unknown = |options: &[&str]| -> Vec<String> {
        let means_nothing =
            |key: &&String| !KNOWN.contains(&key.as_str()) && !options.contains(&key.as_str());
        object.keys().filter(means_nothing).cloned().collect()
    };
    match found[..] {
        [] if object.is_empty() => Err(StepError::NotAStep),
        [] => Err(StepError::UnknownKeys(unknown(&[]))),
        [(name, body)] => {
            let speaks = matches!(name, "say" | "reason");
            let unknown = unknown(if speaks { &SPEECH_OPTIONS } else { &[] });
            if unknown.is_empty() {
                Ok((name, body))
            } else {
                Err(StepError::UnknownKeys(unknown))
            }
        }
        [..] => {
            let names = found.iter().map(|(name, _)| (*name).to_owned());
            Err(StepError::SeveralSteps(names.collect()))
        }
    }
}

fn decode<T: DeserializeOwned>(body: &Value) -> serde_json::Result<T> {
    T::deserialize(body)
}

fn option<T: DeserializeOwned>(object: &JsonObject, key: &str) -> serde_json::Result<Option<T>> {
    let value = object.get(key).unwrap_or(&Value::Null);
    decode(value).map_err(|error| serde_json::Error::custom(format_args!("`{key}`: {error}")))
}

fn speech(object: &JsonObject, text: &Value) -> serde_json::Result<Speech> {
    let every_ms: Option<u32> = option(object, "everyMs")?;
    Ok(Speech {
        text: decode(text)?,
        chunks: option(object, "chunks")?,
        pause: Duration::from_millis(every_ms.unwrap_or_default().into()),
    })
}

fn flood(body: &Value) -> serde_json::Result<Flood> {
    let flood: Flood = decode(body)?;
    at_most(flood.bytes, MAX_DELTA_BYTES)?;
    Ok(flood)
}

fn content(body: &Value) -> serde_json::Result<Content> {
    let content: Content = decode(body)?;
    at_most(content.bytes, MAX_CONTENT_BYTES)?;
    Ok(content)
}

fn at_most(bytes: usize, limit: usize) -> serde_json::Result<()> {
    if bytes <= limit {
        return Ok(());
    }
    let message = format_args!("`bytes` is {bytes}, the most is {limit}");
    Err(serde_json::Error::custom(message))
}

fn plain_text() -> String {
    "text/plain".to_owned()
}

fn usage(body: &Value) -> serde_json::Result<UsageInfo> {
    // The protocol's own type ignores keys that it does not know.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "camelCase")]
    struct Strict {
        input_tokens: Option<i64>,
        output_tokens: Option<i64>,
        cache_read_tokens: Option<i64>,
        model: Option<String>,
    }
    let strict: Strict = decode(body)?;
    Ok(UsageInfo {
        input_tokens: strict.input_tokens,
        output_tokens: strict.output_tokens,
        cache_read_tokens: strict.cache_read_tokens,
        model: strict.model,
        meta: None,
    })
}

fn question(body: &Value) -> serde_json::Result<Box<ChatInputRequest>> {
    // The protocol's own type ignores keys that it does not know.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        id: String,
        message: Option<String>,
        url: Option<String>,
        questions: Option<Vec<ChatInputQuestion>>,
    }
    let strict: Strict = decode(body)?;
    let unknown = strict.questions.iter().flatten();
    for question in unknown {
        if let ChatInputQuestion::Unknown(value) = question {
            let message = format_args!("no question of the protocol: {value}");
            return Err(serde_json::Error::custom(message));
        }
    }
    Ok(Box::new(ChatInputRequest {
        id: strict.id,
        message: strict.message,
        url: strict.url,
        questions: strict.questions,
        answers: None,
    }))
}

fn subagent(body: &Value, depth: usize) -> Result<Subagent, StepError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wire {
        title: String,
        steps: Vec<Value>,
    }
    if depth >= MAX_DEPTH {
        return Err(StepError::TooDeep);
    }
    let step = "subagent";
    let Wire { title, steps } = decode(body).map_err(|error| StepError::Body { step, error })?;
    let numbered = steps.iter().zip(1..);
    let steps = numbered
        .map(|(step, number)| {
            Step::read_at(step, depth + 1).map_err(|error| StepError::Nested {
                number,
                error: Box::new(error),
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Subagent { title, steps })
}

fn only_true(body: &Value) -> serde_json::Result<()> {
    match body {
        Value::Bool(true) => Ok(()),
        _ => Err(serde_json::Error::custom("expected `true`")),
    }
}

/// `key `a`` or `keys `a`, `b``.
fn quoted(noun: &str, names: &[String]) -> String {
    let plural = if names.len() == 1 { "" } else { "s" };
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("{noun}{plural} {}", names.join(", "))
}
