//! `innkeeper sessions export`: a session as JSON or as Markdown.

use anyhow::Result;
use clap::ValueEnum;
use innkeeper_protocol::newest::state::{
    ChatState, ResponsePart, ToolInput, ToolResultContent, UsageInfo,
};
use innkeeper_protocol::steering;

use super::text;
use super::transcript::{ToolView, Transcript, TurnView, ending, turns};

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// The session's state and its chats, in the protocol's format
    Json,
    /// A readable document
    Markdown,
}

pub(crate) fn export(transcript: &Transcript, format: Format) -> Result<String> {
    match format {
        Format::Json => Ok(serde_json::to_string_pretty(transcript)? + "\n"),
        Format::Markdown => Ok(markdown(transcript)),
    }
}

fn markdown(transcript: &Transcript) -> String {
    let summary = &transcript.summary;
    let mut blocks = vec![format!("# {}", text::one_line(transcript.title()))];
    let mut facts = vec![
        format!("- Session: `{}`", summary.resource),
        format!("- Agent: {}", summary.provider),
        format!("- Created: {}", summary.created_at),
        format!("- Modified: {}", summary.modified_at),
    ];
    let directories = transcript.directories().iter();
    facts.extend(directories.map(|directory| format!("- Directory: `{directory}`")));
    blocks.push(facts.join("\n"));
    let several = transcript.chats.len() > 1;
    for chat in &transcript.chats {
        if several {
            blocks.push(format!("# Chat: {}", text::one_line(&chat.title)));
        }
        push_chat(&mut blocks, chat);
    }
    blocks.join("\n\n") + "\n"
}

fn push_chat(blocks: &mut Vec<String>, chat: &ChatState) {
    for (index, turn) in turns(chat).enumerate() {
        blocks.push(format!("## Turn {}", index + 1));
        push_turn(blocks, &turn);
    }
}

fn push_turn(blocks: &mut Vec<String>, turn: &TurnView<'_>) {
    blocks.push("### User".to_owned());
    blocks.push(turn.message.text.trim_end().to_owned());
    blocks.push("### Agent".to_owned());
    blocks.extend(turn.parts.iter().filter_map(part));
    if let Some(end) = ending(turn.state) {
        blocks.push(format!("*({end})*"));
    }
    if let Some(usage) = turn.usage.and_then(tokens) {
        blocks.push(usage);
    }
}

fn part(part: &ResponsePart) -> Option<String> {
    Some(match part {
        ResponsePart::Markdown(part) => part.content.trim_end().to_owned(),
        ResponsePart::Reasoning(part) => folded("Reasoning", part.content.trim_end()),
        ResponsePart::ContentRef(part) => {
            content(&part.uri, part.content_type.as_deref(), part.size_hint)
        }
        ResponsePart::ToolCall(part) => tool_call(&ToolView::of(&part.tool_call)?),
        ResponsePart::SystemNotification(part) => match steering::words(part) {
            Some(words) => quoted("You, meanwhile", words),
            None => quoted("Notice", part.content.as_text()),
        },
        ResponsePart::InputRequest(part) => {
            let question = part.request.message.as_deref();
            quoted("Asked", question.unwrap_or("a question without a message"))
        }
        ResponsePart::Error(part) => {
            let error = &part.error;
            quoted(
                "Error",
                &format!("{} (`{}`)", error.message, error.error_type),
            )
        }
        ResponsePart::Unknown(_) => return None,
    })
}

fn tool_call(call: &ToolView<'_>) -> String {
    let message = text::one_line(&call.message);
    let mut blocks = vec![format!(
        "**Tool {}** ({}): {message}",
        call.name, call.outcome
    )];
    match call.input {
        Some(ToolInput::Inline(input)) => blocks.push(fenced(input)),
        Some(ToolInput::ContentRef(input)) => {
            blocks.push(content(
                &input.uri,
                input.content_type.as_deref(),
                input.size_hint,
            ));
        }
        None => {}
    }
    blocks.extend(call.content.iter().filter_map(result));
    blocks.join("\n\n")
}

fn result(result: &ToolResultContent) -> Option<String> {
    Some(match result {
        ToolResultContent::Text(result) => fenced(&result.text),
        ToolResultContent::EmbeddedResource(result) => {
            format!("*(embedded content of type {})*", result.content_type)
        }
        ToolResultContent::Resource(result) => content(
            &result.uri,
            result.content_type.as_deref(),
            result.size_hint,
        ),
        ToolResultContent::FileEdit(edit) => {
            let side = edit.after.as_ref().or(edit.before.as_ref())?;
            format!("Edited `{}`", side.uri)
        }
        ToolResultContent::Terminal(terminal) => {
            let preview = terminal.result.as_ref().and_then(|r| r.preview.as_deref());
            let title = format!("Terminal: {}", terminal.title);
            match preview {
                Some(preview) => format!("{title}\n\n{}", fenced(preview)),
                None => title,
            }
        }
        ToolResultContent::Subagent(agent) => format!("Sub-agent: {}", agent.title),
        ToolResultContent::Unknown(_) => return None,
    })
}

fn content(uri: &str, content_type: Option<&str>, size: Option<i64>) -> String {
    let kind = content_type.unwrap_or("unknown type");
    match size {
        Some(size) => format!("Content: <{uri}> ({kind}, {size} bytes)"),
        None => format!("Content: <{uri}> ({kind})"),
    }
}

fn tokens(usage: &UsageInfo) -> Option<String> {
    let (input, output) = (usage.input_tokens?, usage.output_tokens?);
    Some(format!("*({input} tokens in, {output} tokens out)*"))
}

fn quoted(label: &str, words: &str) -> String {
    let lines: Vec<String> = format!("**{label}:** {}", words.trim_end())
        .lines()
        .map(|line| format!("> {line}"))
        .collect();
    lines.join("\n")
}

fn folded(title: &str, words: &str) -> String {
    format!("<details>\n<summary>{title}</summary>\n\n{words}\n\n</details>")
}

/// A code block, with a fence that the code itself does not have.
fn fenced(code: &str) -> String {
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", code.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn transcript(parts: Value) -> Transcript {
        let message = json!({"text": "Do it", "origin": {"kind": "user"}});
        let at = "2026-01-01T00:00:00.000Z";
        let chat = json!({
            "resource": "ahp-chat:/1", "title": "T", "status": 1, "modifiedAt": at,
            "turns": [{
                "id": "t1", "startedAt": at, "duration": 3, "message": message,
                "responseParts": parts, "state": "cancelled",
                "usage": {"inputTokens": 1, "outputTokens": 2},
            }],
        });
        let summary = json!({
            "resource": "ahp-session:/1", "provider": "script", "title": "The title",
            "status": 1, "createdAt": at, "modifiedAt": at,
            "workingDirectories": ["file:///inn"],
        });
        let session = json!({
            "provider": "script", "title": "The title", "status": 1, "lifecycle": "ready",
            "activeClients": [], "chats": [],
        });
        Transcript {
            summary: serde_json::from_value(summary).unwrap(),
            session: serde_json::from_value(session).unwrap(),
            chats: vec![serde_json::from_value(chat).unwrap()],
        }
    }

    #[test]
    fn a_document_has_everything_that_was_said() {
        let parts = json!([
            {"kind": "reasoning", "id": "r", "content": "Hm."},
            {"kind": "markdown", "id": "m", "content": "Done.\n"},
            {"kind": "systemNotification", "content": "Look out"},
            {"kind": "toolCall", "toolCall": {
                "status": "completed", "toolCallId": "c", "toolName": "read",
                "displayName": "Read", "invocationMessage": "Reading", "toolInput": "a.txt",
                "success": true, "pastTenseMessage": "Read a.txt", "confirmed": "not-needed",
                "content": [{"type": "text", "text": "```\nx"}],
            }},
            {"kind": "contentRef", "uri": "content:/1", "sizeHint": 7, "contentType": "text/plain"},
            {"kind": "error", "error": {"errorType": "bad", "message": "It broke"}},
        ]);
        let document = export(&transcript(parts), Format::Markdown).unwrap();
        let expected = "\
# The title

- Session: `ahp-session:/1`
- Agent: script
- Created: 2026-01-01T00:00:00.000Z
- Modified: 2026-01-01T00:00:00.000Z
- Directory: `file:///inn`

## Turn 1

### User

Do it

### Agent

<details>
<summary>Reasoning</summary>

Hm.

</details>

Done.

> **Notice:** Look out

**Tool Read** (done): Read a.txt

```
a.txt
```

````
```
x
````

Content: <content:/1> (text/plain, 7 bytes)

> **Error:** It broke (`bad`)

*(this turn was cancelled)*

*(1 tokens in, 2 tokens out)*
";
        assert_eq!(document, expected);
    }

    #[test]
    fn json_is_in_the_protocols_own_types() {
        let text = export(&transcript(json!([])), Format::Json).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["session"]["lifecycle"], "ready");
        assert_eq!(value["chats"][0]["turns"][0]["message"]["text"], "Do it");
        assert_eq!(value["summary"]["resource"], "ahp-session:/1");
    }
}
