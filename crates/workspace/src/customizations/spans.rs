//! Where in a file something is declared, for clients that want to show it.

use std::collections::BTreeMap;

use innkeeper_protocol::newest::state::{TextPosition, TextRange};
use serde_json::value::RawValue;

/// Ranges by the name of what is declared.
pub(super) type Spans = BTreeMap<String, TextRange>;

type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Where a file declares its MCP servers.
pub(super) fn of_servers(text: &str) -> Spans {
    spans(text, text)
}

/// Where the manifest of a plugin declares those that it has inline.
pub(super) fn of_inline_servers(manifest: &str) -> Spans {
    let inline = members(manifest).remove("mcpServers");
    inline.map_or_else(Spans::new, |inline| spans(manifest, inline.get()))
}

/// `declared` is a part of `text`.
fn spans(text: &str, declared: &str) -> Spans {
    let all = members(declared);
    let wrapped = ["mcpServers", "servers"]
        .iter()
        .find_map(|key| all.get(*key));
    let servers = wrapped.map_or_else(|| all.clone(), |wrapped| members(wrapped.get()));
    let span = |(name, value): (String, &RawValue)| {
        let begins = value.get().as_ptr().addr() - text.as_ptr().addr();
        let ends = begins + value.get().len();
        let range = TextRange {
            start: position(text, begin_of_name(text, begins)),
            end: position(text, ends),
        };
        (name, range)
    };
    servers.into_iter().map(span).collect()
}

/// The members of a JSON object, none if it is something else.
fn members(json: &str) -> Members<'_> {
    serde_json::from_str(json).unwrap_or_default()
}

/// Where the name of a member begins whose value is at `value`.
fn begin_of_name(text: &str, value: usize) -> usize {
    let before = text[..value].trim_end().trim_end_matches(':').trim_end();
    let name = before.strip_suffix('"').unwrap_or(before);
    let is_quote = |&(at, _): &(usize, &str)| {
        let escapes = name[..at].bytes().rev().take_while(|&byte| byte == b'\\');
        escapes.count() % 2 == 0
    };
    let quote = name.rmatch_indices('"').find(is_quote);
    quote.map_or(value, |(at, _)| at)
}

/// Lines and the UTF-16 units in them, both from 0.
fn position(text: &str, at: usize) -> TextPosition {
    let before = &text[..at];
    let line = before.rsplit('\n').next().unwrap_or_default();
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    TextPosition {
        line: count(before.matches('\n').count()),
        character: count(line.encode_utf16().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `line:character-line:character`
    fn shown(range: &TextRange) -> String {
        let at = |it: &TextPosition| format!("{}:{}", it.line, it.character);
        format!("{}-{}", at(&range.start), at(&range.end))
    }

    #[test]
    fn a_declaration_reaches_from_its_name_to_the_end_of_its_value() {
        let of = |spans: Spans, name: &str| shown(&spans[name]);
        let file = "{\"mcpServers\": {\n  \"db\": {\"command\": \"x\"},\n  \"b\" : {\n  }\n}}";
        assert_eq!(of(of_servers(file), "db"), "1:2-1:24");
        assert_eq!(of(of_servers(file), "b"), "2:2-3:3");
        assert_eq!(
            of(of_servers("{\"servers\": {\"s\": {}}}"), "s"),
            "0:13-0:20"
        );
        assert_eq!(of(of_servers("{\"s\": {}}"), "s"), "0:1-0:8");
        let manifest = "{\"name\": \"p\", \"mcpServers\": {\"s\": {}}}";
        assert_eq!(of(of_inline_servers(manifest), "s"), "0:29-0:36");
    }

    #[test]
    fn characters_are_counted_in_units_of_utf_16() {
        let file = "{\"ä𝄞\": {}, \"s\": {}}";
        assert_eq!(shown(&of_servers(file)["s"]), "0:12-0:19");
    }

    #[test]
    fn a_name_may_have_quotes_in_it() {
        let file = r#"{"a\"b\\": {}}"#;
        assert_eq!(shown(&of_servers(file)["a\"b\\"]), "0:1-0:13");
    }

    #[test]
    fn what_is_not_an_object_has_no_spans() {
        for text in ["", "[1]", "{\"mcpServers\": 7}", "{"] {
            assert!(of_inline_servers(text).is_empty(), "{text}");
        }
    }
}
