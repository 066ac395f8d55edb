//! Results of tools, as people want to see them: without what agents wrap
//! around a text so that a model, or an editor, reads it well.

use agent_client_protocol_schema::v1::{ContentBlock, ToolKind};
use serde_json::Value;

use super::presented::as_text;

/// What a tool has shown, without the fence and the numbers that some agents put
/// around the text of a file.
pub(super) fn unwrapped(kind: ToolKind, block: ContentBlock) -> ContentBlock {
    match block {
        ContentBlock::Text(mut text) if kind == ToolKind::Read => {
            let inner = fenced(&text.text).unwrap_or(&text.text);
            let plain = without_numbers(inner).unwrap_or_else(|| inner.to_owned());
            text.text = plain;
            ContentBlock::Text(text)
        }
        other => other,
    }
}

/// The text between two fences, if there is nothing else.
fn fenced(text: &str) -> Option<&str> {
    let text = text.trim();
    let fence = "`".repeat(text.chars().take_while(|c| *c == '`').count());
    if fence.len() < 3 {
        return None;
    }
    let inner = text.strip_prefix(&fence)?.strip_suffix(&fence)?;
    // What follows the fence on its line is the name of a language.
    let (_language, inner) = inner.split_once('\n')?;
    let is_alone = |line: &str| line.trim_end() == fence;
    (!inner.lines().any(is_alone)).then_some(inner)
}

/// The lines without the numbers before them, if all have one and each is the
/// one after the last.
fn without_numbers(text: &str) -> Option<String> {
    let mut expected: Option<u64> = None;
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (number, rest) = line.split_once(['\t', '→'])?;
        let number: u64 = number.trim().parse().ok()?;
        if expected.is_some_and(|expected| expected != number) {
            return None;
        }
        expected = Some(number + 1);
        plain.push_str(rest);
    }
    expected.map(|_| plain)
}

/// What came of a tool, as text. Some agents put it into an object, next to the
/// same for others to read.
pub(super) fn text_of(output: &Value) -> String {
    let text = output["content"].as_str();
    text.map_or_else(|| as_text(output), str::to_owned)
}

/// How a command has ended, where that stands in what came of it.
pub(super) fn exit_code(output: &Value) -> Option<i64> {
    let code = |value: &Value| {
        let mut keys = ["exitCode", "exit_code"].into_iter();
        keys.find_map(|key| value[key].as_i64())
    };
    let mut parts = output["contents"].as_array().into_iter().flatten();
    code(output)
        .or_else(|| code(&output["metadata"]))
        .or_else(|| parts.find_map(code))
}

/// Output whose first line only says how the command has ended, without it.
pub(super) fn without_exit_code(output: &str, code: Option<i64>) -> &str {
    let Some(code) = code else {
        return output;
    };
    let said = format!("Exit code {code}");
    match output.strip_prefix(&said) {
        Some(rest) => rest.strip_prefix('\n').unwrap_or(output),
        None => output,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> String {
        let block = unwrapped(ToolKind::Read, ContentBlock::from(text.to_owned()));
        match block {
            ContentBlock::Text(text) => text.text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_is_shown_without_what_is_wrapped_around_it() {
        let cases = [
            ("```\n1\tone\n2\ttwo\n```", "one\ntwo\n"),
            ("```rust\nfn main() {}\n```", "fn main() {}\n"),
            ("     7→a\n     8→b", "a\nb"),
            ("plain\ttext\n", "plain\ttext\n"),
            // A table whose numbers are its own.
            ("1\tone\n5\tfive\n", "1\tone\n5\tfive\n"),
            // Two blocks, of which neither is all.
            ("```\na\n```\nb\n```\nc\n```", "```\na\n```\nb\n```\nc\n```"),
            ("````\n```\na\n```\n````", "```\na\n```\n"),
            ("``` no end", "``` no end"),
            ("", ""),
        ];
        for (given, expected) in cases {
            assert_eq!(read(given), expected, "{given:?}");
        }
    }

    #[test]
    fn a_text_in_an_object_is_the_text() {
        let output = json!({"content": "one\ntwo\n", "detailedContent": "diff --git …"});
        assert_eq!(text_of(&output), "one\ntwo\n");
        assert_eq!(text_of(&json!({"a": 1})), r#"{"a":1}"#);
    }

    #[test]
    fn an_exit_code_is_found_wherever_it_stands() {
        let shell = json!({"content": "…", "contents": [{"type": "shell_exit", "exitCode": 3}]});
        assert_eq!(exit_code(&shell), Some(3));
        assert_eq!(exit_code(&json!({"exit_code": 1})), Some(1));
        assert_eq!(exit_code(&json!({"metadata": {"exitCode": 2}})), Some(2));
        assert_eq!(exit_code(&json!("exit_code: 1")), None);
        assert_eq!(without_exit_code("Exit code 3\nout", Some(3)), "out");
        assert_eq!(
            without_exit_code("Exit code 3\nout", None),
            "Exit code 3\nout"
        );
    }
}
