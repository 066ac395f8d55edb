//! Plain text where Markdown is read, and Markdown where plain text is.

use crate::newest::common::StringOrMarkdown;

/// What has a meaning in Markdown.
const MARKS: &str = "\\*_[]<>~#`";

/// A line of plain text as Markdown that shows it. One with code in it is
/// Markdown already.
pub fn line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.contains('`') {
        true => line,
        false => escaped(&line),
    }
}

/// Plain text of any length as Markdown that shows it.
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if MARKS.contains(c) {
            shown.push('\\');
        }
        shown.push(c);
    }
    shown
}

/// A text as a terminal shows it: what was escaped is itself again.
pub fn plain(text: &StringOrMarkdown) -> String {
    let markdown = match text {
        StringOrMarkdown::Plain(text) => return text.clone(),
        StringOrMarkdown::Markdown { markdown } => markdown,
    };
    let mut shown = String::with_capacity(markdown.len());
    let mut rest = markdown.chars().peekable();
    while let Some(c) = rest.next() {
        let escaped = rest.next_if(|next| c == '\\' && MARKS.contains(*next));
        shown.push(escaped.unwrap_or(c));
    }
    shown
}

/// Text as code, whatever marks are in it.
pub fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    match text.contains('\n') {
        true => {
            let fence = "`".repeat(longest.max(2) + 1);
            format!("\n{fence}\n{text}\n{fence}")
        }
        false if longest > 0 => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_escaped_is_read_as_it_was() {
        for text in ["Read __init__.py", r"C:\temp\_x", "a `b` *c* <d>", r"\\"] {
            let markdown = escaped(text);
            assert_eq!(plain(&StringOrMarkdown::Markdown { markdown }), text);
            assert_eq!(plain(&StringOrMarkdown::Plain(text.to_owned())), text);
        }
    }

    #[test]
    fn plain_text_is_shown_as_it_is() {
        assert_eq!(line("Read  __init__.py"), r"Read \_\_init\_\_.py");
        assert_eq!(line("`a*b`"), "`a*b`");
        assert_eq!(escaped("a `b`"), r"a \`b\`");
        assert_eq!(code("a`b"), "`` a`b ``");
        assert_eq!(code("ab"), "`ab`");
        assert_eq!(code("a\nb"), "\n```\na\nb\n```");
    }
}
