//! What clients say about themselves when they introduce themselves. What
//! they call themselves is for people to read and decides nothing.

use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::newest::commands::{Implementation, InitializeParams};

use crate::labels::Locale;

/// The longest word of a client about itself, in bytes.
const LONGEST: usize = 80;

#[derive(Debug, Clone, Default)]
pub(crate) struct Introduced {
    pub(crate) name: Option<ClientName>,
    /// The language that it wants to read.
    pub(crate) locale: Locale,
    /// It can show the pages of MCP apps.
    pub(crate) shows_apps: bool,
}

/// What a client calls itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientName {
    /// As people call it.
    pub(crate) short: String,
    /// With the program and its version.
    pub(crate) full: String,
}

impl Introduced {
    pub(crate) fn new(params: &InitializeParams) -> Self {
        let capabilities = params.capabilities.as_ref();
        Self {
            name: params.client_info.as_ref().and_then(ClientName::new),
            locale: Locale::of_tag(params.locale.as_deref()),
            shows_apps: capabilities.is_some_and(|it| it.mcp_apps.is_some()),
        }
    }
}

impl ClientName {
    fn new(info: &Implementation) -> Option<Self> {
        let title = info.title.as_deref().and_then(plain);
        let version = info.version.as_deref().and_then(plain);
        let program = match (plain(&info.name), version) {
            (Some(name), Some(version)) => Some(format!("{name} {version}")),
            (name, _) => name,
        };
        let full = match (&title, program) {
            (Some(title), Some(program)) => format!("{title} ({program})"),
            (None, Some(program)) => program,
            (Some(title), None) => title.clone(),
            (None, None) => return None,
        };
        let short = title.or_else(|| plain(&info.name));
        Some(Self {
            short: short.unwrap_or_else(|| full.clone()),
            full,
        })
    }
}

/// A text on one line, without anything that a terminal or a page would obey.
fn plain(text: &str) -> Option<String> {
    let words = text.split(|it: char| it.is_whitespace() || it.is_control());
    let words: Vec<String> = words
        .map(|word| word.replace(turns_text_around, ""))
        .filter(|word| !word.is_empty())
        .collect();
    let text = words.join(" ");
    let text = cut(&text, LONGEST).trim_end();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Marks that let what follows be read in another order, or hide in a word.
fn turns_text_around(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn named(info: serde_json::Value) -> Option<(String, String)> {
        let info: Implementation = serde_json::from_value(info).unwrap();
        ClientName::new(&info).map(|name| (name.short, name.full))
    }

    #[test]
    fn a_client_is_called_by_its_title_and_its_program() {
        let cases = [
            (json!({"name": "ed"}), "ed", "ed"),
            (json!({"name": "ed", "version": "1.2"}), "ed", "ed 1.2"),
            (
                json!({"name": "ed", "version": "1.2", "title": "The Editor"}),
                "The Editor",
                "The Editor (ed 1.2)",
            ),
            (json!({"name": "", "title": "T"}), "T", "T"),
        ];
        for (info, short, full) in cases {
            assert_eq!(named(info), Some((short.to_owned(), full.to_owned())));
        }
        assert_eq!(named(json!({"name": "\u{7}\n", "version": "1"})), None);
    }

    #[test]
    fn a_name_has_one_line_and_an_end() {
        let hostile = format!("a\u{1b}[31m\r\nb\u{202e}c{}", "é".repeat(10_000));
        let (short, full) =
            named(json!({"name": hostile, "version": hostile, "title": hostile})).unwrap();
        assert!(short.starts_with("a [31m bcé"), "{short}");
        assert!(short.len() <= LONGEST && full.len() <= 3 * LONGEST + 4);
        assert!(!full.contains(|it: char| it.is_control() || turns_text_around(it)));
    }
}
