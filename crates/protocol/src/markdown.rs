//! Plain text where Markdown is read.

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
        if "\\*_[]<>~#`".contains(c) {
            shown.push('\\');
        }
        shown.push(c);
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
    fn plain_text_is_shown_as_it_is() {
        assert_eq!(line("Read  __init__.py"), r"Read \_\_init\_\_.py");
        assert_eq!(line("`a*b`"), "`a*b`");
        assert_eq!(escaped("a `b`"), r"a \`b\`");
        assert_eq!(code("a`b"), "`` a`b ``");
        assert_eq!(code("ab"), "`ab`");
        assert_eq!(code("a\nb"), "\n```\na\nb\n```");
    }
}
