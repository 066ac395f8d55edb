//! What `innkeeper run` does when an agent waits for a person: it follows what
//! `--approve` said, asks on the terminal, or, with nobody there, says no.

pub(crate) mod answers;
pub(crate) mod prompts;

use std::collections::{HashMap, HashSet};
use std::io::{self, Write as _};

use ahp::ahp_types::actions::{
    ChatInputCompletedAction, ChatToolCallConfirmedAction, ChatToolCallResultConfirmedAction,
    StateAction,
};
use ahp::ahp_types::common::{JsonObject, StringOrMarkdown};
use ahp::ahp_types::state::{
    ChatInputRequest, ChatInputResponseKind, ConfirmationOption, SessionInputRequest,
    ToolCallCancellationReason, ToolCallConfirmationReason, ToolCallConfirmationState,
    ToolCallPendingConfirmationState, ToolDefinition, ToolInput,
};
use clap::ValueEnum;
use innkeeper_protocol::markdown;

use super::text;
use prompts::{Prompted, is_anybody_there};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Approve {
    /// Every tool call
    All,
    /// Tool calls that only read
    Reads,
    /// No tool call: every request is denied
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

    /// What is to be done about something that the agent waits for.
    pub(crate) async fn decide(&mut self, request: SessionInputRequest) -> Decided {
        match request {
            SessionInputRequest::ToolConfirmation(request) => {
                if !self.decided.insert(request.id.clone()) {
                    return Decided::Nothing;
                }
                let judged = match request.tool_call {
                    ToolCallConfirmationState::PendingConfirmation(call) => {
                        let question = question_about(&call);
                        let options = call.options.clone().unwrap_or_default();
                        let reads = self.reads(&call.tool_name, call.meta.as_ref());
                        let judged = self.judge(reads, question, options).await;
                        judged.map(|judgement| {
                            let action = self.about_call(request.turn_id, call, &judgement);
                            (action, judgement.approved)
                        })
                    }
                    ToolCallConfirmationState::PendingResultConfirmation(call) => {
                        let question = format!("Use the result of {}?", call.display_name);
                        let reads = self.reads(&call.tool_name, call.meta.as_ref());
                        let judged = self.judge(reads, question, Vec::new()).await;
                        judged.map(|judgement| {
                            let action = StateAction::ChatToolCallResultConfirmed(
                                ChatToolCallResultConfirmedAction {
                                    turn_id: request.turn_id,
                                    tool_call_id: call.tool_call_id,
                                    meta: None,
                                    approved: judgement.approved,
                                },
                            );
                            (action, judgement.approved)
                        })
                    }
                    ToolCallConfirmationState::Unknown(_) => return Decided::Nothing,
                };
                let Some((action, granted)) = judged else {
                    return Decided::Interrupted;
                };
                Decided::Say(Box::new(Decision {
                    request: request.id,
                    chat: request.chat,
                    action,
                    granted,
                    word: if granted { "approved" } else { "denied" },
                }))
            }
            SessionInputRequest::ChatInput(request) => {
                if !self.decided.insert(request.id.clone()) {
                    return Decided::Nothing;
                }
                let answered = tokio::task::spawn_blocking(move || answered(request.request));
                let Ok(Some(action)) = answered.await else {
                    return Decided::Interrupted;
                };
                let granted = action.response == ChatInputResponseKind::Accept;
                Decided::Say(Box::new(Decision {
                    request: request.id,
                    chat: request.chat,
                    action: StateAction::ChatInputCompleted(action),
                    granted,
                    word: if granted { "answered" } else { "cancelled" },
                }))
            }
            SessionInputRequest::ToolClientExecution(_)
            | SessionInputRequest::ToolAuthentication(_)
            | SessionInputRequest::Unknown(_) => Decided::Nothing,
        }
    }

    fn about_call(
        &self,
        turn_id: String,
        call: ToolCallPendingConfirmationState,
        judgement: &Judgement,
    ) -> StateAction {
        let approved = judgement.approved;
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
            selected_option_id: judgement.option.clone(),
        })
    }

    /// Whether a call only reads: by the agent's word about the tool, or about
    /// this call.
    fn reads(&self, tool: &str, meta: Option<&JsonObject>) -> bool {
        let said = meta.and_then(|meta| meta.get("kind")?.as_str());
        self.reading.contains(tool) || matches!(said, Some("read" | "search"))
    }

    /// Nothing if the user stopped it all.
    async fn judge(
        &self,
        reads: bool,
        question: String,
        options: Vec<ConfirmationOption>,
    ) -> Option<Judgement> {
        let plain = |approved| {
            Some(Judgement {
                approved,
                option: None,
            })
        };
        match self.approve {
            Some(Approve::All) => plain(true),
            Some(Approve::Reads) => plain(reads),
            Some(Approve::None) => plain(false),
            None => {
                let asked = tokio::task::spawn_blocking(move || {
                    tell(&question);
                    match is_anybody_there() {
                        true => prompts::choose(&options),
                        false => {
                            tell("(no one is here to answer)");
                            Prompted::NotAnswered
                        }
                    }
                });
                match asked.await {
                    Ok(Prompted::Answered((approved, option))) => {
                        Some(Judgement { approved, option })
                    }
                    Ok(Prompted::NotAnswered) => plain(false),
                    Ok(Prompted::Interrupted) | Err(_) => None,
                }
            }
        }
    }
}

/// What was made of something that the agent waits for.
pub(crate) enum Decided {
    /// It is not to be decided here.
    Nothing,
    Say(Box<Decision>),
    /// The user stopped it all.
    Interrupted,
}

pub(crate) struct Decision {
    pub(crate) request: String,
    pub(crate) chat: String,
    pub(crate) action: StateAction,
    pub(crate) granted: bool,
    pub(crate) word: &'static str,
}

struct Judgement {
    approved: bool,
    /// One of the agent's own options.
    option: Option<String>,
}

/// Says something to whoever is at the terminal.
fn tell(words: &str) {
    let line = format!("{}\n", text::printable(words));
    let _ = io::stderr().write_all(line.as_bytes());
}

fn question_about(call: &ToolCallPendingConfirmationState) -> String {
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
            file.map_or_else(|| "a file".to_owned(), |side| text::place(&side.uri)),
            count(lines.and_then(|diff| diff.added)),
            count(lines.and_then(|diff| diff.removed)),
        );
    }
    question
}

/// Text below a heading.
fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}

/// Asks the questions of a request one after the other. With nobody there to
/// answer, the request is cancelled; nothing comes back if the user stopped it
/// all.
fn answered(request: ChatInputRequest) -> Option<ChatInputCompletedAction> {
    for line in [request.message.as_deref(), request.url.as_deref()] {
        line.into_iter().for_each(tell);
    }
    let ended = |response, answers: HashMap<_, _>| ChatInputCompletedAction {
        request_id: request.id.clone(),
        response,
        answers: (!answers.is_empty()).then_some(answers),
    };
    let cancelled = || Some(ended(ChatInputResponseKind::Cancel, HashMap::new()));
    let questions = request.questions.clone().unwrap_or_default();
    if !is_anybody_there() {
        questions
            .iter()
            .filter_map(answers::asked)
            .for_each(|asked| tell(asked.message));
        tell("(no one is here to answer)");
        return cancelled();
    }
    let mut answers = HashMap::new();
    if questions.is_empty() {
        match prompts::wait_for_enter() {
            Prompted::Answered(_) => {}
            Prompted::NotAnswered => return cancelled(),
            Prompted::Interrupted => return None,
        }
    }
    for question in &questions {
        match prompts::ask(question) {
            Prompted::Answered(Some(value)) => {
                if let Some(asked) = answers::asked(question) {
                    answers.insert(asked.id.to_owned(), answers::submitted(value));
                }
            }
            Prompted::Answered(None) => {}
            Prompted::NotAnswered => return cancelled(),
            Prompted::Interrupted => return None,
        }
    }
    Some(ended(ChatInputResponseKind::Accept, answers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_only_reads_if_its_agent_says_so() {
        let mut decisions = Decisions::new(Some(Approve::Reads));
        let tools = json!([
            {"name": "look", "annotations": {"readOnlyHint": true}}, {"name": "write"}
        ]);
        let tools: Vec<ToolDefinition> = serde_json::from_value(tools).unwrap();
        decisions.learn_tools(&tools);
        for (tool, kind, reads) in [
            ("look", None, true),
            ("write", None, false),
            ("write", Some("read"), true),
            ("other", Some("search"), true),
            ("other", Some("edit"), false),
            ("other", Some("execute"), false),
        ] {
            let meta = kind.map(|kind| {
                let mut meta = JsonObject::new();
                meta.insert("kind".to_owned(), json!(kind));
                meta
            });
            assert_eq!(
                decisions.reads(tool, meta.as_ref()),
                reads,
                "{tool} {kind:?}"
            );
        }
    }
}
