//! A tool call of a scenario, as it is written.

use std::time::Duration;

use innkeeper_protocol::agent::{Approval, ApprovalRequest};
use innkeeper_protocol::newest::common::{JsonObject, StringOrMarkdown};
use innkeeper_protocol::newest::state::{
    ConfirmationOption, FileEdit, FileEditCollection, ToolCallResult, ToolResultContent,
    ToolResultTextContent,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Tool {
    pub(super) name: String,
    title: Option<String>,
    #[serde(default)]
    input: Value,
    pub(super) input_chunks: Option<std::num::NonZeroUsize>,
    #[serde(default)]
    confirm: Confirm,
    #[serde(default)]
    editable: bool,
    edits: Option<Edits>,
    #[serde(default)]
    run_ms: u32,
    #[serde(default)]
    pub(super) content: Vec<String>,
    pub(super) reconfirm: Option<String>,
    #[serde(default)]
    pub(super) confirm_result: bool,
    #[serde(default)]
    result: ToolOutcome,
}

/// Whether somebody is asked first.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Confirm {
    #[default]
    None,
    Ask,
    #[serde(untagged)]
    With(ConfirmWith),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ConfirmWith {
    title: Option<String>,
    #[serde(default)]
    options: Vec<ConfirmationOption>,
}

/// The collection as the protocol has it, or just its items.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Edits {
    Collection(FileEditCollection),
    Items(Vec<FileEdit>),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ToolOutcome {
    success: bool,
    text: Option<String>,
    structured: Option<JsonObject>,
    error: Option<Value>,
}

impl Default for ToolOutcome {
    fn default() -> Self {
        Self {
            success: true,
            text: None,
            structured: None,
            error: None,
        }
    }
}

impl Confirm {
    pub(super) fn approval(&self, edits: Option<FileEditCollection>, editable: bool) -> Approval {
        let asked = match self {
            Self::None => return Approval::NotNeeded,
            Self::Ask => ConfirmWith {
                title: None,
                options: Vec::new(),
            },
            Self::With(asked) => asked.clone(),
        };
        Approval::Needed(ApprovalRequest {
            title: asked.title.map(StringOrMarkdown::Plain),
            edits,
            editable,
            options: asked.options.into_iter().map(Into::into).collect(),
        })
    }
}

impl Tool {
    pub(super) fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }

    /// The input as the model would have written it.
    pub(super) fn input(&self) -> String {
        match &self.input {
            Value::String(text) => text.clone(),
            Value::Null => "{}".to_owned(),
            other => other.to_string(),
        }
    }

    pub(super) fn approval(&self) -> Approval {
        let edits = self.edits.clone().map(|edits| match edits {
            Edits::Collection(edits) => edits,
            Edits::Items(items) => FileEditCollection { items },
        });
        self.confirm.approval(edits, self.editable)
    }

    /// How long each part of the run takes: the run is cut where it shows
    /// partial content.
    pub(super) fn pause(&self) -> Duration {
        let pieces = u32::try_from(self.content.len()).unwrap_or(u32::MAX);
        Duration::from_millis(self.run_ms.into()) / pieces.saturating_add(1)
    }

    pub(super) fn result(&self) -> ToolCallResult {
        let outcome = &self.result;
        let name = self.display_name();
        let past = match outcome.success {
            true => name.to_owned(),
            false => format!("{name} failed"),
        };
        ToolCallResult {
            success: outcome.success,
            past_tense_message: StringOrMarkdown::Plain(past),
            content: outcome.text.clone().map(|text| vec![text_block(text)]),
            structured_content: outcome.structured.clone(),
            error: outcome.error.clone().map(as_error),
        }
    }
}

/// A plain text stands for an error with that message.
fn as_error(error: Value) -> Value {
    match error {
        Value::String(message) => serde_json::json!({ "message": message }),
        other => other,
    }
}

pub(super) fn text_block(text: String) -> ToolResultContent {
    ToolResultContent::Text(ToolResultTextContent { text })
}

/// A call of a tool that a client offers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ClientCall {
    pub(super) name: String,
    #[serde(default)]
    pub(super) input: JsonObject,
}
