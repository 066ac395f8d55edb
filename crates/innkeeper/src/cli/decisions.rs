//! What `innkeeper run` does when an agent waits for a person: it follows what
//! `--approve` said, asks on the terminal, or, with nobody there, says no.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use ahp::ahp_types::actions::{
    ChatInputCompletedAction, ChatToolCallConfirmedAction, ChatToolCallResultConfirmedAction,
    StateAction,
};
use ahp::ahp_types::common::StringOrMarkdown;
use ahp::ahp_types::state::{
    ChatInputAnswer, ChatInputAnswerValue, ChatInputAnswered, ChatInputBooleanAnswerValue,
    ChatInputNumberAnswerValue, ChatInputOption, ChatInputQuestion, ChatInputRequest,
    ChatInputResponseKind, ChatInputSelectedAnswerValue, ChatInputSelectedManyAnswerValue,
    ChatInputTextAnswerValue, SessionInputRequest, ToolCallCancellationReason,
    ToolCallConfirmationReason, ToolCallConfirmationState, ToolCallPendingConfirmationState,
    ToolDefinition, ToolInput,
};
use clap::ValueEnum;
use innkeeper_protocol::markdown;

use super::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// Every tool call
    All,
    /// Those that only read
    Reads,
    /// None: what would have to be asked is denied
    None,
}

/// Decides in place of the clients that are not there.
pub(crate) struct Decisions {
    approve: Option<Approve>,
    /// Tools that change nothing, by the agent's own word.
    reading: HashSet<String>,
    /// What has been decided and is still to take effect.
    decided: HashSet<String>,
}

impl Decisions {
    pub(crate) fn new(approve: Option<Approve>) -> Self {
        Self {
            approve,
            reading: HashSet::new(),
            decided: HashSet::new(),
        }
    }

    pub(crate) fn learn_tools(&mut self, tools: &[ToolDefinition]) {
        let reads = |tool: &&ToolDefinition| {
            let hints = tool.annotations.as_ref();
            hints.and_then(|hints| hints.read_only_hint) == Some(true)
        };
        let reading = tools.iter().filter(reads);
        self.reading = reading.map(|tool| tool.name.clone()).collect();
    }

    /// Something that was waited for is over, however it ended.
    pub(crate) fn over(&mut self, id: &str) {
        self.decided.remove(id);
    }

    /// What to dispatch, and to which chat, if this is to be decided here.
    pub(crate) async fn decide(
        &mut self,
        request: SessionInputRequest,
    ) -> Option<(String, StateAction)> {
        match request {
            SessionInputRequest::ToolConfirmation(request) => {
                if !self.decided.insert(request.id) {
                    return None;
                }
                let action = match request.tool_call {
                    ToolCallConfirmationState::PendingConfirmation(call) => {
                        self.about_call(request.turn_id, call).await
                    }
                    ToolCallConfirmationState::PendingResultConfirmation(call) => {
                        let question = format!("Use the result of {}?", call.display_name);
                        let approved = self.allows(&call.tool_name, &question).await;
                        StateAction::ChatToolCallResultConfirmed(
                            ChatToolCallResultConfirmedAction {
                                turn_id: request.turn_id,
                                tool_call_id: call.tool_call_id,
                                meta: None,
                                approved,
                            },
                        )
                    }
                    ToolCallConfirmationState::Unknown(_) => return None,
                };
                Some((request.chat, action))
            }
            SessionInputRequest::ChatInput(request) => {
                if !self.decided.insert(request.id) {
                    return None;
                }
                let action = answered(request.request).await;
                Some((request.chat, StateAction::ChatInputCompleted(action)))
            }
            SessionInputRequest::ToolClientExecution(_)
            | SessionInputRequest::ToolAuthentication(_)
            | SessionInputRequest::Unknown(_) => None,
        }
    }

    async fn about_call(
        &self,
        turn_id: String,
        call: ToolCallPendingConfirmationState,
    ) -> StateAction {
        let title = call.confirmation_title.as_ref();
        let title = title.map_or("Run a tool?", StringOrMarkdown::as_text);
        let message = markdown::plain(&call.invocation_message);
        let mut question = format!("{title}\n{}", indented(&message));
        match &call.tool_input {
            Some(ToolInput::Inline(input)) => question += &format!("\n{}", indented(input)),
            Some(ToolInput::ContentRef(input)) => {
                let size = input.size_hint.unwrap_or_default();
                question += &format!(
                    "\n  (its input has {size} bytes, too many to show here; open the session in \
                     the web client to read it)"
                );
            }
            None => {}
        }
        for edit in call.edits.iter().flat_map(|edits| &edits.items) {
            let file = edit.after.as_ref().or(edit.before.as_ref());
            let lines = edit.diff.as_ref();
            let count = |lines: Option<i64>| lines.unwrap_or_default();
            question += &format!(
                "\n  {} (+{} -{})",
                file.map_or("a file", |side| &side.uri),
                count(lines.and_then(|diff| diff.added)),
                count(lines.and_then(|diff| diff.removed)),
            );
        }
        let approved = self.allows(&call.tool_name, &question).await;
        StateAction::ChatToolCallConfirmed(ChatToolCallConfirmedAction {
            turn_id,
            tool_call_id: call.tool_call_id,
            meta: None,
            approved,
            confirmed: approved.then_some(match self.approve {
                Some(_) => ToolCallConfirmationReason::Setting,
                None => ToolCallConfirmationReason::UserAction,
            }),
            reason: (!approved).then_some(ToolCallCancellationReason::Denied),
            edited_tool_input: None,
            user_suggestion: None,
            reason_message: None,
            selected_option_id: None,
        })
    }

    async fn allows(&self, tool: &str, question: &str) -> bool {
        match self.approve {
            Some(Approve::All) => true,
            Some(Approve::Reads) => self.reading.contains(tool),
            Some(Approve::None) => false,
            None => {
                let answer = ask(format!("{question} [y/N]")).await;
                answer.is_some_and(|answer| matches!(answer.as_str(), "y" | "Y" | "yes"))
            }
        }
    }
}

/// Text below a heading.
fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

/// Asks the questions of a request one after the other. An empty line skips a
/// question; with nobody there to answer, the request is cancelled.
async fn answered(request: ChatInputRequest) -> ChatInputCompletedAction {
    let headline: Vec<&str> = [request.message.as_deref(), request.url.as_deref()]
        .into_iter()
        .flatten()
        .collect();
    let questions = request.questions.unwrap_or_default();
    let mut answers = HashMap::new();
    let mut response = ChatInputResponseKind::Accept;
    let mut prefix = match headline.is_empty() {
        true => String::new(),
        false => format!("{}\n", headline.join("\n")),
    };
    if questions.is_empty() && ask(format!("{prefix}Press Enter to go on")).await.is_none() {
        response = ChatInputResponseKind::Cancel;
    }
    for question in questions {
        let Some((id, prompt)) = prompt_for(&question) else {
            continue;
        };
        let asked = std::mem::take(&mut prefix) + &prompt;
        let Some(line) = ask(asked).await else {
            response = ChatInputResponseKind::Cancel;
            break;
        };
        if let Some(value) = value_of(&question, &line) {
            let answer = ChatInputAnswer::Submitted(ChatInputAnswered { value });
            answers.insert(id, answer);
        }
    }
    let accepted = response == ChatInputResponseKind::Accept;
    ChatInputCompletedAction {
        request_id: request.id,
        response,
        answers: (accepted && !answers.is_empty()).then_some(answers),
    }
}

/// The id of a question, and how it is put on a terminal.
fn prompt_for(question: &ChatInputQuestion) -> Option<(String, String)> {
    let choices = |options: &[ChatInputOption]| {
        let lines = options.iter().zip(1..);
        let lines = lines.map(|(option, number)| format!("\n  {number}. {}", option.label));
        lines.collect::<String>()
    };
    Some(match question {
        ChatInputQuestion::Text(q) => (q.id.clone(), q.message.clone()),
        ChatInputQuestion::Number(q) | ChatInputQuestion::Integer(q) => {
            (q.id.clone(), format!("{} (a number)", q.message))
        }
        ChatInputQuestion::Boolean(q) => (q.id.clone(), format!("{} [y/n]", q.message)),
        ChatInputQuestion::SingleSelect(q) => (
            q.id.clone(),
            format!("{}{}", q.message, choices(&q.options)),
        ),
        ChatInputQuestion::MultiSelect(q) => {
            let several = "\n(numbers, separated by commas)";
            (
                q.id.clone(),
                format!("{}{}{several}", q.message, choices(&q.options)),
            )
        }
        ChatInputQuestion::Unknown(_) => return None,
    })
}

/// What a line means as an answer; nothing, if it is empty or no answer.
fn value_of(question: &ChatInputQuestion, line: &str) -> Option<ChatInputAnswerValue> {
    let line = line.trim();
    if line.is_empty() {
        return None;
    }
    let choice = |options: &[ChatInputOption], typed: &str| {
        let number = typed.trim().parse::<usize>().ok()?.checked_sub(1)?;
        Some(options.get(number)?.id.clone())
    };
    Some(match question {
        ChatInputQuestion::Text(_) => ChatInputAnswerValue::Text(ChatInputTextAnswerValue {
            value: line.to_owned(),
        }),
        ChatInputQuestion::Number(_) | ChatInputQuestion::Integer(_) => {
            let value = line.parse().ok()?;
            ChatInputAnswerValue::Number(ChatInputNumberAnswerValue { value })
        }
        ChatInputQuestion::Boolean(_) => {
            let value = matches!(line, "y" | "Y" | "yes");
            ChatInputAnswerValue::Boolean(ChatInputBooleanAnswerValue { value })
        }
        ChatInputQuestion::SingleSelect(q) => match choice(&q.options, line) {
            Some(value) => ChatInputAnswerValue::Selected(ChatInputSelectedAnswerValue {
                value,
                freeform_values: None,
            }),
            None if q.allow_freeform_input == Some(true) => {
                ChatInputAnswerValue::Selected(ChatInputSelectedAnswerValue {
                    value: String::new(),
                    freeform_values: Some(vec![line.to_owned()]),
                })
            }
            None => return None,
        },
        ChatInputQuestion::MultiSelect(q) => {
            let chosen = line
                .split(',')
                .filter_map(|typed| choice(&q.options, typed));
            ChatInputAnswerValue::SelectedMany(ChatInputSelectedManyAnswerValue {
                value: chosen.collect(),
                freeform_values: None,
            })
        }
        ChatInputQuestion::Unknown(_) => return None,
    })
}

/// Asks on the terminal. `None` if there is nobody to ask.
async fn ask(question: String) -> Option<String> {
    let question = text::printable(&question);
    if !io::stdin().is_terminal() {
        let _ = writeln!(io::stderr(), "{question}\n(nobody is here to answer)");
        return None;
    }
    let line = tokio::task::spawn_blocking(move || {
        let mut out = io::stderr().lock();
        let _ = write!(out, "{question} ").and_then(|()| out.flush());
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line).ok()?;
        (read > 0).then_some(line)
    });
    line.await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_line_is_read_as_its_question_wants_it() {
        let options = json!([{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]);
        let cases = [
            (
                json!({"kind": "text"}),
                " hi ",
                json!({"kind": "text", "value": "hi"}),
            ),
            (
                json!({"kind": "number"}),
                "1.5",
                json!({"kind": "number", "value": 1.5}),
            ),
            (json!({"kind": "number"}), "many", Value::Null),
            (
                json!({"kind": "boolean"}),
                "y",
                json!({"kind": "boolean", "value": true}),
            ),
            (
                json!({"kind": "single-select", "options": options}),
                "2",
                json!({"kind": "selected", "value": "b"}),
            ),
            (
                json!({"kind": "single-select", "options": options}),
                "other",
                Value::Null,
            ),
            (
                json!({"kind": "single-select", "options": options, "allowFreeformInput": true}),
                "other",
                json!({"kind": "selected", "value": "", "freeformValues": ["other"]}),
            ),
            (
                json!({"kind": "multi-select", "options": options}),
                "1, 2",
                json!({"kind": "selected-many", "value": ["a", "b"]}),
            ),
            (json!({"kind": "text"}), "  ", Value::Null),
        ];
        for (mut question, line, expected) in cases {
            question["id"] = json!("q");
            question["message"] = json!("?");
            let parsed = serde_json::from_value(question.clone()).unwrap();
            assert_eq!(
                json!(value_of(&parsed, line)),
                expected,
                "{question} {line}"
            );
        }
    }
}
