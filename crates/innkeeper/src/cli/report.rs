//! What a turn is told as: an answer for people, one object at its end, or one
//! event a line for programs.
//!
//! *Invariant*: `docs/command-line.md` describes every event and every key.
//! Keys may be added; none is renamed or removed within a major version.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};

use ahp::ahp_types::actions::StateAction;
use ahp::ahp_types::state::{ResponsePart, ToolInput, ToolResultContent};
use clap::ValueEnum;
use innkeeper_protocol::agent::AgentNotice;
use innkeeper_protocol::markdown;
use serde_json::{Map, Value, json};

use super::{UNWRITABLE, complain, text};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    /// The answer as text
    #[default]
    Text,
    /// One JSON object at the end
    Json,
    /// One JSON object for each event, one per line
    StreamJson,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ending {
    Complete,
    Cancelled,
    Error(String),
    /// The host or the model did not take up the prompt.
    Refused(String),
}

/// A turn on its way to standard output.
#[derive(Debug)]
pub(crate) struct Report {
    format: OutputFormat,
    /// The prompt is a command for a terminal: what it shows is the answer.
    is_command: bool,
    /// The last character that was printed, if any was.
    last: Option<char>,
    /// The answer so far, for those who want it at the end.
    answer: String,
    calls: Vec<Value>,
    /// Where each call stands in that list.
    places: BTreeMap<String, usize>,
    /// How much was denied, or not answered.
    denied: usize,
    /// The model did not go on.
    refused: bool,
    /// What the command for a terminal ended with.
    command_code: Option<i64>,
    usage: Option<Value>,
    /// Why standard output does not take what is printed.
    unwritten: Option<io::Error>,
}

impl Report {
    pub(crate) fn new(format: OutputFormat, is_command: bool) -> Self {
        Self {
            format,
            is_command,
            last: None,
            answer: String::new(),
            calls: Vec::new(),
            places: BTreeMap::new(),
            denied: 0,
            refused: false,
            command_code: None,
            usage: None,
            unwritten: None,
        }
    }

    /// The turn begins.
    pub(crate) fn begins(&mut self, session: &str, turn: &str) {
        self.event("turnStarted", json!({"session": session, "turn": turn}));
    }

    /// Something happens in the chat of the turn. Says how it ended, if it has.
    pub(crate) fn hears(&mut self, action: &StateAction) -> Option<Ending> {
        match action {
            StateAction::ChatDelta(delta) => self.says(&delta.content),
            StateAction::ChatReasoning(reasoning) => {
                self.event("reasoning", json!({"text": reasoning.content}));
            }
            StateAction::ChatResponsePart(part) => self.part(&part.part),
            StateAction::ChatToolCallStart(call) => {
                let call_of = json!({
                    "id": call.tool_call_id, "tool": call.tool_name, "title": call.display_name,
                    "status": "started",
                });
                self.call(&call.tool_call_id, call_of);
            }
            StateAction::ChatToolCallReady(call) => {
                let mut changed = json!({
                    "message": markdown::plain(&call.invocation_message), "status": "ready",
                });
                if let Some(ToolInput::Inline(input)) = &call.tool_input {
                    changed["input"] = json!(input);
                }
                self.call(&call.tool_call_id, changed);
            }
            StateAction::ChatToolCallConfirmed(call) => {
                let status = if call.approved { "approved" } else { "denied" };
                self.call(&call.tool_call_id, json!({"status": status}));
            }
            StateAction::ChatToolCallComplete(call) => {
                let status = if call.result.success {
                    "done"
                } else {
                    "failed"
                };
                let past = call.result.past_tense_message.as_text();
                self.call(
                    &call.tool_call_id,
                    json!({"message": past, "status": status}),
                );
                if self.format == OutputFormat::Text {
                    self.notice(past);
                }
                let content = call.result.content.as_deref().unwrap_or_default();
                if self.is_command {
                    self.output(content);
                }
            }
            StateAction::ChatUsage(usage) => self.usage = serde_json::to_value(&usage.usage).ok(),
            StateAction::ChatTurnComplete(_) if self.refused => {
                return Some(Ending::Refused("the model refused to continue".to_owned()));
            }
            StateAction::ChatTurnComplete(_) => return Some(Ending::Complete),
            StateAction::ChatTurnCancelled(_) => return Some(Ending::Cancelled),
            StateAction::ChatError(error) => {
                return Some(Ending::Error(error.part.error.message.clone()));
            }
            _ => {}
        }
        None
    }

    /// An approval or a question was decided here.
    pub(crate) fn decided(&mut self, request: &str, decision: &'static str, granted: bool) {
        if !granted {
            self.denied += 1;
        }
        let event = json!({"request": request, "decision": decision});
        self.event("decision", event);
    }

    /// The end. Returns what the program ends with.
    pub(crate) fn ends(&mut self, session: &str, turn: &str, ending: &Ending) -> u8 {
        self.finish_line();
        let code = self.code(ending);
        let (status, error) = match ending {
            Ending::Complete => ("complete", None),
            Ending::Cancelled => ("cancelled", None),
            Ending::Error(message) => ("error", Some(message)),
            Ending::Refused(message) => ("refused", Some(message)),
        };
        let mut result = json!({
            "session": session, "turn": turn, "status": status, "exitCode": code,
            "text": self.answer, "toolCalls": self.calls, "denied": self.denied,
        });
        if let Some(message) = error {
            result["error"] = json!(message);
        }
        if let Some(usage) = &self.usage {
            result["usage"] = usage.clone();
        }
        if let Some(code) = self.command_code {
            result["commandExitCode"] = json!(code);
        }
        match self.format {
            OutputFormat::Text => {}
            OutputFormat::Json => self.write_line(&result),
            OutputFormat::StreamJson => self.event("result", result),
        }
        match self.unwritten.take() {
            Some(error) => {
                complain(&format!("{UNWRITABLE}: {error}"));
                code.max(1)
            }
            None => code,
        }
    }

    fn code(&self, ending: &Ending) -> u8 {
        match ending {
            Ending::Error(_) => 1,
            Ending::Cancelled => 130,
            Ending::Refused(_) => 4,
            Ending::Complete if self.denied > 0 => 3,
            // A code that does not fit must not look like success.
            Ending::Complete => match self.command_code {
                Some(code) => u8::try_from(code).unwrap_or(1),
                None => 0,
            },
        }
    }

    fn part(&mut self, part: &ResponsePart) {
        match part {
            ResponsePart::Markdown(part) => {
                match self.last {
                    None => {}
                    Some('\n') => self.says("\n"),
                    Some(_) => self.says("\n\n"),
                }
                self.says(&part.content);
            }
            ResponsePart::Reasoning(part) if !part.content.is_empty() => {
                self.event("reasoning", json!({"text": part.content}));
            }
            ResponsePart::SystemNotification(part) => {
                let said = part.content.as_text();
                self.refused |= said == AgentNotice::Refused.to_string();
                self.notice(said);
            }
            ResponsePart::ContentRef(part) => self.notice(&format!("content at {}", part.uri)),
            _ => {}
        }
    }

    /// What is new about a tool call.
    fn call(&mut self, id: &str, news: Value) {
        let Value::Object(news) = news else {
            return;
        };
        let place = *self.places.entry(id.to_owned()).or_insert_with(|| {
            self.calls.push(json!({"id": id}));
            self.calls.len() - 1
        });
        let mut event = Map::new();
        event.insert("id".to_owned(), json!(id));
        if let Some(Value::Object(call)) = self.calls.get_mut(place) {
            call.extend(news.clone());
        }
        event.extend(news);
        self.event("toolCall", Value::Object(event));
    }

    /// What a command showed, and how it ended.
    fn output(&mut self, content: &[ToolResultContent]) {
        for block in content {
            if let ToolResultContent::Terminal(terminal) = block
                && let Some(result) = &terminal.result
            {
                self.command_code = result.exit_code.or(self.command_code);
                if let Some(shown) = &result.preview {
                    self.says(&shown.replace("\r\n", "\n"));
                }
            }
        }
    }

    fn says(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        match self.format {
            OutputFormat::Text => match io::stdout().is_terminal() {
                true => self.write(&text::printable(piece)),
                false => self.write(piece),
            },
            OutputFormat::Json => self.answer.push_str(piece),
            OutputFormat::StreamJson => {
                self.answer.push_str(piece);
                self.event("text", json!({"text": piece}));
            }
        }
        self.last = piece.chars().last().or(self.last);
    }

    fn notice(&mut self, notice: &str) {
        if self.format != OutputFormat::Text {
            return self.event("notice", json!({"text": notice}));
        }
        if io::stdout().is_terminal() {
            self.finish_line();
        }
        let line = format!("{}\n", text::printable(notice));
        let _ = io::stderr().write_all(line.as_bytes());
    }

    /// Ends the last line.
    pub(crate) fn finish_line(&mut self) {
        if self.last.is_some_and(|last| last != '\n') && self.format == OutputFormat::Text {
            self.says("\n");
        }
    }

    fn event(&mut self, kind: &str, event: Value) {
        if let (OutputFormat::StreamJson, Value::Object(event)) = (self.format, event) {
            let mut typed = Map::new();
            typed.insert("type".to_owned(), json!(kind));
            typed.extend(event);
            self.write_line(&Value::Object(typed));
        }
    }

    fn write_line(&mut self, value: &Value) {
        self.write(&format!("{value}\n"));
    }

    /// In one piece. Neither whoever stopped reading nor a full disk stops the
    /// turn, but of the latter the end tells.
    fn write(&mut self, text: &str) {
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if let Err(error) = written
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            self.unwritten.get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report::new(OutputFormat::Json, true)
    }

    #[test]
    fn the_code_says_how_it_ended() {
        let error = Ending::Error("x".to_owned());
        let refused = Ending::Refused("x".to_owned());
        for (denied, command, ending, code) in [
            (0, None, Ending::Complete, 0),
            (1, None, Ending::Complete, 3),
            (1, None, error.clone(), 1),
            (0, None, refused, 4),
            (0, None, Ending::Cancelled, 130),
            (0, Some(0), Ending::Complete, 0),
            (0, Some(7), Ending::Complete, 7),
            (0, Some(256), Ending::Complete, 1),
            (0, Some(-1), Ending::Complete, 1),
            (0, Some(7), error, 1),
        ] {
            let mut report = report();
            (report.denied, report.command_code) = (denied, command);
            assert_eq!(
                report.code(&ending),
                code,
                "{denied} {command:?} {ending:?}"
            );
        }
    }

    #[test]
    fn what_is_learned_of_a_call_adds_up() {
        let mut report = report();
        report.call("a", json!({"tool": "t", "status": "started"}));
        report.call("b", json!({"tool": "u", "status": "started"}));
        report.call("a", json!({"status": "done"}));
        assert_eq!(
            json!(report.calls),
            json!([{"id": "a", "tool": "t", "status": "done"},
                   {"id": "b", "tool": "u", "status": "started"}])
        );
    }
}
