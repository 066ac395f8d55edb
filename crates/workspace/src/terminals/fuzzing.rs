//! What fuzzers reach of terminals: what is read, without a shell.

use super::parser::{Heard, Parser};

/// Reads all at once and in chunks. The text is the same.
pub(crate) fn read(bytes: &[u8], chunks: &[u8]) {
    let mut whole = Parser::new("nonce".to_owned());
    let mut heard = whole.read(bytes);
    heard.extend(whole.finish());
    let mut parser = Parser::new("nonce".to_owned());
    let (mut rest, mut pieces) = (bytes, Vec::new());
    for chunk in chunks {
        let (now, later) = rest.split_at(usize::from(*chunk).min(rest.len()));
        pieces.extend(parser.read(now));
        rest = later;
    }
    pieces.extend(parser.read(rest));
    pieces.extend(parser.finish());
    assert_eq!(text(&heard), text(&pieces));
    assert_eq!(news(heard), news(pieces));
}

fn text(heard: &[Heard]) -> String {
    let texts = heard.iter().filter_map(|it| match it {
        Heard::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

fn news(mut heard: Vec<Heard>) -> Vec<Heard> {
    heard.retain(|it| !matches!(it, Heard::Text(_)));
    heard
}
