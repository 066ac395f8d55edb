//! The text of a Rust file as the words and marks that are code. Comments,
//! strings, characters, numbers and lifetimes are left out, so that nothing in
//! them is taken for a path.
//!
//! This is not a parser: macros are not expanded, and what stands in a macro is
//! read like everything else. A text that does not compile gives some tokens
//! or other, but always ends.

/// Marks of two characters that mean something else than their halves.
const PAIRS: [&str; 3] = ["::", "->", "=>"];

/// A word (raw ones with their `r#`, so that they are not keywords) or a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

impl Token<'_> {
    pub(super) fn is_word(&self) -> bool {
        self.text.starts_with(begins_word)
    }
}

pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while !rest.is_empty() {
        let (length, is_code) = first_piece(rest);
        let (text, after) = rest.split_at(length);
        if is_code {
            tokens.push(Token { text, line });
        }
        line += text.matches('\n').count();
        rest = after;
    }
    tokens
}

/// The strings of a text with the lines that they begin in; not its comments.
pub(super) fn strings(text: &str) -> Vec<(usize, String)> {
    let mut strings = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while !rest.is_empty() {
        let is_string = comment(rest).is_none() && literal(rest).is_some();
        let (piece, after) = rest.split_at(first_piece(rest).0);
        if is_string {
            strings.push((line, piece.to_owned()));
        }
        line += piece.matches('\n').count();
        rest = after;
    }
    strings
}

/// How long the piece is that a text begins with, and whether it is a token.
fn first_piece(text: &str) -> (usize, bool) {
    if let Some(length) = comment(text).or_else(|| literal(text)) {
        return (length, false);
    }
    let name = text.strip_prefix("r#").unwrap_or(text);
    if name.starts_with(begins_word) {
        return (text.len() - name.len() + word(name), true);
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return (word(text), false);
    }
    if PAIRS.iter().any(|pair| text.starts_with(pair)) {
        return (2, true);
    }
    let first = text.chars().next().unwrap_or_default();
    (first.len_utf8(), !first.is_whitespace())
}

fn begins_word(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// The length of the word that a text begins with.
fn word(text: &str) -> usize {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    end.unwrap_or(text.len())
}

fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    let mut length = text.strip_prefix("/*").map(|_| 2)?;
    let mut open = 1;
    while open > 0 && length < text.len() {
        let rest = &text[length..];
        if rest.starts_with("/*") {
            open += 1;
            length += 2;
        } else if rest.starts_with("*/") {
            open -= 1;
            length += 2;
        } else {
            length += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    Some(length)
}

/// The length of a string, a character or a lifetime.
fn literal(text: &str) -> Option<usize> {
    let raw = ["r", "br", "cr"].into_iter();
    let raw = raw.filter_map(|prefix| raw_string(text.strip_prefix(prefix)?));
    let plain = ["", "b", "c"].into_iter();
    let plain = plain.filter_map(|prefix| string(text.strip_prefix(prefix)?));
    let quoted = ["", "b"].into_iter();
    let quoted = quoted.filter_map(|prefix| character_or_lifetime(text.strip_prefix(prefix)?));
    let rest = raw.chain(plain).chain(quoted).next()?;
    Some(text.len() - rest.len())
}

/// What follows a raw string, whose `r` is gone already.
fn raw_string(text: &str) -> Option<&str> {
    let inside = text.trim_start_matches('#');
    let hashes = &text[..text.len() - inside.len()];
    let inside = inside.strip_prefix('"')?;
    let end = format!("\"{hashes}");
    Some(inside.split_once(&end).map_or("", |(_, after)| after))
}

/// What follows a string.
fn string(text: &str) -> Option<&str> {
    Some(after_closing('"', text.strip_prefix('"')?))
}

/// What follows the next quote that is not escaped.
fn after_closing(quote: char, text: &str) -> &str {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if c == quote && !is_escaped {
            return &text[at + c.len_utf8()..];
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    ""
}

/// What follows a character such as `'"'`, or a lifetime.
fn character_or_lifetime(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('\'')?;
    if inside.starts_with('\\') {
        return Some(after_closing('\'', inside));
    }
    let mut after = inside.chars();
    after.next();
    let is_lifetime = !after.as_str().starts_with('\'');
    match is_lifetime {
        true => Some(&inside[word(inside)..]),
        false => Some(after_closing('\'', after.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found: Vec<&str> = tokens(text).iter().map(|token| token.text).collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }

    #[test]
    fn words_and_marks_are_tokens() {
        check("use crate::a;", "use crate :: a ;");
        check("crate\n  ::  a", "crate :: a");
        check("fn f() -> u8 { 0x1f_u8 }", "fn f ( ) -> u8 { }");
        check("0..crate::END", ". . crate :: END");
        check("$crate::a!(é)", "$ crate :: a ! ( é )");
        check("", "");
    }

    #[test]
    fn comments_are_left_out() {
        check("a // crate::b", "a");
        check("a // it's \"b\nc", "a c");
        check("a /* b /* c */ d */ e", "a e");
        check("a /**/ b /* \" */ c", "a b c");
        check("//! [`crate::a`]\r\nb\r\n", "b");
        check("a /* never closed é", "a");
        check("a / b", "a / b");
    }

    #[test]
    fn strings_are_left_out() {
        check(r#"a "crate::b // \" c" d"#, "a d");
        check(r#"a "\\" b"#, "a b");
        check(r##"a r"\" b r#"c " d"# e"##, "a b e");
        check(r####"a r##"b "# c"## d"####, "a d");
        check(r##"b"x\"y" c"z" br#"w"w"# cr"v" a"##, "a");
        check("\"two\n// lines\" a", "a");
        check("a \"never closed", "a");
        check("a r#\"never closed\"", "a");
    }

    #[test]
    fn a_quote_begins_a_character_or_a_lifetime() {
        check("a '\"' b '/' c", "a b c");
        check(
            r"a '\'' b '\\' c '\u{1F600}' d b'\'' e b'x' f",
            "a b c d e f",
        );
        check(
            "fn f<'a, 'b>(x: &'a str) {}",
            "fn f < , > ( x : & str ) { }",
        );
        check("'é' a '\u{301}' b", "a b");
        check("x: &'static crate::A", "x : & crate :: A");
        check("'outer: loop { break 'outer }", ": loop { break }");
    }

    #[test]
    fn raw_words_are_no_keywords() {
        check("r#crate::a r#type br r b c", "r#crate :: a r#type br r b c");
    }

    #[test]
    fn lines_are_counted_through_all_that_is_left_out() {
        let text = "a\r\n/* \n */ b \"\n\\\"\n\"\nc\n// d\n\n'\\n' e";
        let found: Vec<_> = tokens(text).iter().map(|it| (it.text, it.line)).collect();
        assert_eq!(found, [("a", 1), ("b", 3), ("c", 6), ("e", 9)]);
    }
}
