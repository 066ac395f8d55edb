//! What of a stored turn is searched: what the user and the agent said, and
//! which tools were called with which commands and paths; not what tools
//! returned, and nothing of what was answered to an agent's questions.
//!
//! Each kind of text is bounded, so that no turn fills the index.

use std::borrow::Cow;

use innkeeper_protocol::Timestamp;
use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::record::search::SearchField;
use serde::Deserialize;
use serde_json::value::RawValue;

/// How many bytes of one turn are searched, of each kind.
const MOST_MESSAGE: usize = 32 * 1024;
const MOST_ANSWER: usize = 64 * 1024;
const MOST_TOOLS: usize = 32 * 1024;
const MOST_REASONING: usize = 32 * 1024;

/// How many bytes of what one tool call was given are searched.
const MOST_INPUT: usize = 2 * 1024;

/// What can be found of a turn, or of the title of a chat: a text for each
/// field.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Searchable {
    pub(crate) title: String,
    pub(crate) message: String,
    pub(crate) answer: String,
    pub(crate) tool: String,
    pub(crate) reasoning: String,
}

impl Searchable {
    pub(crate) fn title(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            ..Self::default()
        }
    }

    /// What there is of a turn that is stored as this JSON; nothing, if it has
    /// a form that this release does not know.
    pub(crate) fn of_turn(json: &str) -> (Self, Option<Timestamp>) {
        match serde_json::from_str::<Turn<'_>>(json) {
            Ok(turn) => {
                let at = turn.started_at.as_deref().and_then(Timestamp::parse);
                (turn.searchable(), at)
            }
            Err(error) => {
                tracing::debug!(%error, "a turn cannot be searched");
                (Self::default(), None)
            }
        }
    }

    pub(crate) fn get(&self, field: SearchField) -> &str {
        match field {
            SearchField::Title => &self.title,
            SearchField::Message => &self.message,
            SearchField::Answer => &self.answer,
            SearchField::Tool => &self.tool,
            SearchField::Reasoning => &self.reasoning,
        }
    }
}

/// As much of a turn as is looked at.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Turn<'a> {
    #[serde(borrow, default)]
    started_at: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(borrow, default)]
    response_parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_call: Option<ToolCall<'a>>,
    #[serde(borrow, default)]
    error: Option<ErrorInfo<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCall<'a> {
    #[serde(borrow, default)]
    tool_name: Cow<'a, str>,
    #[serde(borrow, default)]
    display_name: Cow<'a, str>,
    #[serde(borrow, default)]
    invocation_message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_input: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ErrorInfo<'a> {
    #[serde(borrow, default)]
    message: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Markdown<'a> {
    #[serde(borrow)]
    markdown: Cow<'a, str>,
}

impl Turn<'_> {
    fn searchable(&self) -> Searchable {
        let mut found = Searchable::default();
        add(&mut found.message, &self.message.text, MOST_MESSAGE);
        for part in &self.response_parts {
            match &*part.kind {
                "markdown" | "systemNotification" => {
                    add_raw(&mut found.answer, part.content, MOST_ANSWER);
                }
                "reasoning" => add_raw(&mut found.reasoning, part.content, MOST_REASONING),
                "toolCall" => {
                    if let Some(call) = &part.tool_call {
                        call.add_to(&mut found.tool);
                    }
                }
                "error" => {
                    if let Some(error) = &part.error {
                        add(&mut found.answer, &error.message, MOST_ANSWER);
                    }
                }
                _ => {}
            }
        }
        found
    }
}

impl ToolCall<'_> {
    fn add_to(&self, tools: &mut String) {
        add(tools, &self.tool_name, MOST_TOOLS);
        if self.display_name != self.tool_name {
            add(tools, &self.display_name, MOST_TOOLS);
        }
        for given in [self.invocation_message, self.tool_input] {
            let most = MOST_TOOLS.min(tools.len().saturating_add(MOST_INPUT));
            add_raw(tools, given, most);
        }
    }
}

/// Adds a text on lines of its own, up to `most` bytes altogether.
fn add(to: &mut String, text: &str, most: usize) {
    let room = most.saturating_sub(to.len() + 1);
    if text.is_empty() || room == 0 {
        return;
    }
    if !to.is_empty() {
        to.push('\n');
    }
    to.push_str(cut(text, room));
}

/// Adds what is a text or Markdown. What is kept elsewhere is not searched.
fn add_raw(to: &mut String, raw: Option<&RawValue>, most: usize) {
    let Some(json) = raw.map(RawValue::get) else {
        return;
    };
    if let Ok(text) = serde_json::from_str::<Cow<'_, str>>(json) {
        add(to, &text, most);
    } else if let Ok(text) = serde_json::from_str::<Markdown<'_>>(json) {
        add(to, &text.markdown, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn searchable(parts: &Value) -> Searchable {
        let turn = json!({
            "id": "t", "startedAt": "2026-03-10T18:42:03.045Z", "state": "complete",
            "message": {"text": "say \"it\"", "origin": {"kind": "user"}},
            "responseParts": parts,
        });
        let (found, at) = Searchable::of_turn(&turn.to_string());
        assert_eq!(at, Some(Timestamp::from_millis(1_773_168_123_045)));
        found
    }

    #[test]
    fn what_was_said_and_called_is_searched_and_what_was_returned_or_answered_is_not() {
        let found = searchable(&json!([
            {"kind": "reasoning", "id": "1", "content": "let me \u{1f600} think"},
            {"kind": "markdown", "id": "2", "content": "one\ntwo"},
            {"kind": "toolCall", "toolCall": {
                "status": "completed", "toolCallId": "c", "toolName": "bash", "displayName": "Shell",
                "invocationMessage": {"markdown": "Running `ls`"}, "toolInput": "ls -la src",
                "success": true, "pastTenseMessage": "Ran",
                "content": [{"type": "text", "text": "returned"}]}},
            {"kind": "inputRequest", "request": {"id": "q", "message": "password?"},
             "response": "accept", "answers": {"p": {"value": "hunter2"}}},
            {"kind": "systemNotification", "content": "steered"},
            {"kind": "error", "error": {"errorType": "x", "message": "it broke"}},
            {"kind": "contentRef", "uri": "ahp-content:/1"},
            {"kind": "of the future", "content": {"deep": [1, 2]}},
        ]));
        let expected = Searchable {
            title: String::new(),
            message: "say \"it\"".into(),
            answer: "one\ntwo\nsteered\nit broke".into(),
            tool: "bash\nShell\nRunning `ls`\nls -la src".into(),
            reasoning: "let me \u{1f600} think".into(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn no_turn_fills_the_index() {
        let large = "é".repeat(200 * 1024);
        let call = json!({"kind": "toolCall", "toolCall": {
            "toolName": "t", "displayName": "t", "toolInput": large}});
        let answer = json!({"kind": "markdown", "content": large});
        let thought = json!({"kind": "reasoning", "content": large});
        let found = searchable(&json!([answer, answer, call, thought, call]));
        assert!(found.answer.len() <= MOST_ANSWER && found.reasoning.len() <= MOST_REASONING);
        assert!(
            found.tool.len() <= 2 * (MOST_INPUT + 4),
            "{}",
            found.tool.len()
        );
        let calls = vec![call; 1000];
        assert!(searchable(&calls.into()).tool.len() <= MOST_TOOLS);
    }

    #[test]
    fn what_is_not_a_turn_has_nothing_to_find() {
        for json in ["", "{}", "[]", r#"{"message":{"text":1}}"#, "{\"message\":"] {
            assert_eq!(Searchable::of_turn(json), (Searchable::default(), None));
        }
    }
}
