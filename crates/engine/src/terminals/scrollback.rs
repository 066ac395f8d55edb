//! How much of what a terminal showed is kept: its end.

use innkeeper_protocol::newest::state::TerminalContentPart;

/// What a command takes besides its line and its output.
const COMMAND_WEIGHT: usize = 100;

/// Cuts the content at its beginning if it has grown too long.
pub(super) fn bound(content: &mut Vec<TerminalContentPart>, limit: usize) {
    let mut total: usize = content.iter().map(weight_of).sum();
    // Not for every piece: what is cut has to be moved.
    if total <= limit + limit / 4 {
        return;
    }
    let mut gone = 0;
    while gone + 1 < content.len() && total - weight_of(&content[gone]) >= limit {
        total -= weight_of(&content[gone]);
        gone += 1;
    }
    content.drain(..gone);
    let text = match content.first_mut() {
        Some(TerminalContentPart::Unclassified(part)) => &mut part.value,
        Some(TerminalContentPart::Command(part)) => &mut part.output,
        Some(TerminalContentPart::Unknown(_)) | None => return,
    };
    let mut cut = total.saturating_sub(limit).min(text.len());
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    text.drain(..cut);
}

/// What a part counts for: a command that printed nothing is kept too.
fn weight_of(part: &TerminalContentPart) -> usize {
    let command = match part {
        TerminalContentPart::Command(part) => COMMAND_WEIGHT + part.command_line.len(),
        TerminalContentPart::Unclassified(_) | TerminalContentPart::Unknown(_) => 0,
    };
    command + text_of(part).len()
}

fn text_of(part: &TerminalContentPart) -> &str {
    match part {
        TerminalContentPart::Unclassified(part) => &part.value,
        TerminalContentPart::Command(part) => &part.output,
        TerminalContentPart::Unknown(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use innkeeper_protocol::newest::state::{TerminalCommandPart, TerminalUnclassifiedPart};

    fn bounded(parts: &[&str], limit: usize) -> Vec<String> {
        let parts = parts.iter().map(|part| {
            TerminalContentPart::Unclassified(TerminalUnclassifiedPart {
                value: (*part).to_owned(),
            })
        });
        let mut content: Vec<_> = parts.collect();
        bound(&mut content, limit);
        content
            .iter()
            .map(|part| text_of(part).to_owned())
            .collect()
    }

    #[test]
    fn content_that_grows_too_long_loses_its_beginning() {
        assert_eq!(bounded(&["0123456789"], 8), ["0123456789"], "not yet");
        assert_eq!(bounded(&["0123456789x"], 8), ["3456789x"]);
        assert_eq!(bounded(&["aaaa", "bbbb", "cccc"], 4), ["cccc"]);
        assert_eq!(bounded(&["aaaa", "bbbb", "cccc"], 6), ["bb", "cccc"]);
        assert_eq!(bounded(&["ääääää"], 5), ["ää"], "whole characters only");
    }

    #[test]
    fn commands_that_print_nothing_do_not_pile_up() {
        let silent = TerminalContentPart::Command(TerminalCommandPart {
            command_id: "c1".to_owned(),
            command_line: "true".to_owned(),
            output: String::new(),
            timestamp: 0,
            is_complete: true,
            exit_code: Some(0),
            duration_ms: Some(0),
        });
        let mut content = vec![silent; 10_000];
        bound(&mut content, 10_000);
        assert!(content.len() < 150);
    }
}
