//! How a tool call is presented to whoever has to approve it: the command that
//! it runs as a command, and all that the agent said about it.
//!
//! *Invariant*: nothing that the agent gave with a call is hidden. What is
//! taken out of the input is said in the message.

use agent_client_protocol_schema::v1::{ContentBlock, ToolCallContent, ToolKind};
use innkeeper_protocol::markdown;
use innkeeper_protocol::newest::common::StringOrMarkdown;
use serde_json::{Map, Value};

use super::content;

/// How much of what an agent says about a call is shown with the question.
const MOST: usize = 48 * 1024;

/// A command, and what came with it.
#[derive(Debug, PartialEq)]
pub(super) struct Command {
    pub(super) line: String,
    /// What it is for, in the agent's words.
    description: Option<String>,
    /// Everything else that the tool is given.
    others: Vec<(String, String)>,
}

impl Command {
    /// The command in the input of a call, if the call runs one.
    pub(super) fn of(kind: ToolKind, input: &Value) -> Option<Self> {
        let parsed;
        let input = match input {
            // Input that was streamed is text until somebody reads it.
            Value::String(text) => {
                parsed = serde_json::from_str::<Value>(text).ok()?;
                parsed.as_object()?
            }
            other => other.as_object()?,
        };
        let runs = match kind {
            ToolKind::Execute => true,
            // Tools that edit files have commands of their own.
            ToolKind::Other => !["path", "file_path"]
                .iter()
                .any(|key| input.contains_key(*key)),
            _ => false,
        };
        let line = line_of(input.get("command").filter(|_| runs)?)?;
        let description = input.get("description").and_then(Value::as_str);
        Some(Self {
            others: others(input, &line),
            description: description.map(str::to_owned),
            line,
        })
    }
}

/// A command as a line of the shell.
fn line_of(command: &Value) -> Option<String> {
    match command {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            let words = words.filter(|words| !words.is_empty())?;
            match words[..] {
                [shell, "-c" | "-lc", line] if shell.ends_with("sh") => Some(line.to_owned()),
                _ => {
                    let quoted: Vec<String> = words.into_iter().map(quoted).collect();
                    Some(quoted.join(" "))
                }
            }
        }
        _ => None,
    }
    .filter(|line| !line.trim().is_empty())
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// What a command's tool is given besides the command and what it is for.
fn others(input: &Map<String, Value>, line: &str) -> Vec<(String, String)> {
    // Some agents say the command a second time, in pieces.
    let repeats = |value: &Value| match value {
        Value::Array(list) => list
            .iter()
            .all(|item| item.as_str().is_some_and(|item| line.contains(item))),
        _ => false,
    };
    let said = ["command", "description"];
    let others = input.iter();
    others
        .filter(|(key, value)| !said.contains(&key.as_str()) && !repeats(value))
        .map(|(key, value)| (key.clone(), as_text(value)))
        .collect()
}

/// What a person reads before a call may run: its name, and below it all that
/// is not shown with the input.
pub(super) fn message(
    title: &str,
    command: Option<&Command>,
    input: Option<&str>,
    content: &[ToolCallContent],
) -> StringOrMarkdown {
    let mut paragraphs = vec![markdown::line(title)];
    paragraphs.extend(
        command
            .and_then(|it| it.description.as_deref())
            .map(markdown::line),
    );
    for text in content.iter().filter_map(text_of) {
        let text = text.trim();
        let known = |it: &str| it.trim() == text;
        if !text.is_empty() && !known(title) && !input.is_some_and(known) {
            paragraphs.push(cut(text));
        }
    }
    let others = command.iter().flat_map(|command| &command.others);
    let others: Vec<String> = others
        .map(|(key, value)| format!("- {}: {}", markdown::line(key), markdown::code(&cut(value))))
        .collect();
    if !others.is_empty() {
        paragraphs.push(others.join("\n"));
    }
    StringOrMarkdown::Markdown {
        markdown: paragraphs.join("\n\n"),
    }
}

/// The heading of the question, if the call's title makes one: a command is
/// none, and is shown below, nor is the bare name of the tool that runs it.
pub(super) fn heading(title: &str, command: Option<&Command>) -> Option<String> {
    let title = title.replace('`', "");
    let is_command = command.is_some_and(|command| {
        let title = title.trim().trim_end_matches('…').trim_end_matches("...");
        command.line.trim().starts_with(title)
    });
    let is_name = command.is_some() && !title.trim().contains(char::is_whitespace);
    (!is_command && !is_name).then_some(title)
}

fn text_of(block: &ToolCallContent) -> Option<String> {
    match block {
        ToolCallContent::Content(block) => match &block.content {
            ContentBlock::Text(text) => Some(text.text.clone()),
            ContentBlock::ResourceLink(link) => Some(content::as_link(link)),
            _ => None,
        },
        _ => None,
    }
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(MOST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    match text.len() - end {
        0 => text.to_owned(),
        more => format!("{}\n\n… ({more} more bytes)", &text[..end]),
    }
}

pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn command(input: Value) -> Option<Command> {
        Command::of(ToolKind::Execute, &input)
    }

    #[test]
    fn a_command_is_found_in_whatever_form_it_comes() {
        let cases = [
            (json!({"command": "ls -l"}), "ls -l"),
            (json!({"command": "a\nb", "description": "Two"}), "a\nb"),
            (json!({"command": ["bash", "-lc", "rm -rf x"]}), "rm -rf x"),
            (json!({"command": ["rm", "a b"]}), "rm 'a b'"),
            (json!(r#"{"command": "streamed"}"#), "streamed"),
        ];
        for (input, line) in cases {
            assert_eq!(command(input.clone()).unwrap().line, line, "{input}");
        }
        for input in [
            json!({"path": "x"}),
            json!("text"),
            json!({"command": 7}),
            json!({"command": "  "}),
            json!(null),
        ] {
            assert_eq!(command(input.clone()), None, "{input}");
        }
        let edits = json!({"command": "create", "path": "x"});
        assert_eq!(Command::of(ToolKind::Edit, &edits), None);
        assert_eq!(Command::of(ToolKind::Other, &edits), None);
    }

    #[test]
    fn what_stands_beside_a_command_is_said_in_the_message() {
        let input = json!({
            "command": "make", "description": "Build it", "commands": ["make"],
            "cwd": "/tmp", "sandbox": false,
        });
        let command = command(input);
        let message = message("`make`", command.as_ref(), Some("make"), &[]);
        assert_eq!(
            message.as_text(),
            "`make`\n\nBuild it\n\n- cwd: `/tmp`\n- sandbox: `false`"
        );
    }

    #[test]
    fn what_the_agent_says_about_a_call_is_shown_once() {
        let content = json!([
            {"type": "content", "content": {"type": "text", "text": "# Plan\n\n1. Look"}},
            {"type": "content", "content": {"type": "text", "text": "Approve Plan"}},
        ]);
        let content: Vec<ToolCallContent> = serde_json::from_value(content).unwrap();
        let message = message("Approve Plan", None, None, &content);
        assert_eq!(message.as_text(), "Approve Plan\n\n# Plan\n\n1. Look");
    }

    #[test]
    fn a_title_is_shown_as_it_is() {
        let shown = |title| message(title, None, None, &[]).as_text().to_owned();
        assert_eq!(shown("Read __init__.py"), r"Read \_\_init\_\_.py");
    }

    #[test]
    fn a_title_that_is_the_command_is_no_heading() {
        let command = command(json!({"command": "rm -rf build && make"}));
        assert_eq!(heading("`rm -rf build && make`", command.as_ref()), None);
        assert_eq!(heading("rm -rf build…", command.as_ref()), None);
        let heading = |title| heading(title, command.as_ref());
        assert_eq!(heading("Clean up").as_deref(), Some("Clean up"));
        assert_eq!(heading("shell"), None);
        let unknown = super::heading("Bash", None);
        assert_eq!(unknown.as_deref(), Some("Bash"));
    }

    #[test]
    fn what_is_too_long_to_show_is_cut_and_says_so() {
        let long = "ä".repeat(MOST);
        let shown = cut(&long);
        assert!(shown.len() < MOST + 100 && shown.contains("more bytes"));
    }
}
