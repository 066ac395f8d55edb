//! What a Rust file names of its own crate, and where.
//!
//! Found are paths that begin with `crate::`, and with as many `super::` as
//! lead to the root of the crate, in `use` and everywhere else, also in macros
//! and in tests: a test that needs what stands above belongs there too.
//!
//! Not understood are `#[path]`, names that a macro puts together, macros that
//! are called without a path, and `crate` or `super` under another name
//! (`use crate as x`). What is reached through a value, such as a method or a
//! field, is no mention.

use std::collections::BTreeMap;

use super::tokens::{Token, tokens};

/// Stands for the root of the crate as a whole: `crate::*`, `use crate::{self}`.
const ALL: &str = "*";

/// A name in the root of the crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) name: String,
    pub(super) line: usize,
}

/// What a file names in the root of its crate, as often as it does so.
/// `path` is that of the file, from the directory of the crate's source.
pub(super) fn mentions(path: &str, text: &str) -> Vec<Mention> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut level = level_of(path);
    // The braces that are open, and whether each is that of a module.
    let mut open: Vec<bool> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.text {
            "{" => {
                let is_module = at >= 2 && tokens[at - 2].text == "mod";
                level += usize::from(is_module);
                open.push(is_module);
            }
            "}" => level -= usize::from(open.pop().unwrap_or_default()),
            "crate" | "self" | "super" if begins_path(&tokens, at) => {
                let level = if token.text == "crate" { 0 } else { level };
                at = read_path(&tokens, at, level, &mut found);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// How many modules below the root the module of a file is.
fn level_of(path: &str) -> usize {
    let parts = path.split('/').count();
    let is_its_directory = matches!(path.rsplit('/').next(), Some("mod.rs"));
    match path {
        "lib.rs" | "main.rs" => 0,
        _ => parts - usize::from(is_its_directory),
    }
}

fn is(tokens: &[Token], at: usize, text: &str) -> bool {
    tokens.get(at).is_some_and(|token| token.text == text)
}

/// Whether the token is the beginning of a path, and not of the one in
/// `pub(in crate::a)`, which says who may name something.
fn begins_path(tokens: &[Token], at: usize) -> bool {
    let goes_on = is(tokens, at + 1, "::");
    let is_further_on = at >= 1 && is(tokens, at - 1, "::");
    let is_visibility = at >= 3 && is(tokens, at - 1, "in") && is(tokens, at - 3, "pub");
    goes_on && !is_further_on && !is_visibility
}

/// Reads a path, or what a `use` has in braces, as far as it says which name
/// in the root it is about. `level` is how far below the root it begins.
fn read_path(tokens: &[Token], mut at: usize, mut level: usize, found: &mut Vec<Mention>) -> usize {
    while let Some(token) = tokens.get(at) {
        let goes_on = is(tokens, at + 1, "::");
        match token.text {
            "crate" | "self" if goes_on => {}
            "super" if goes_on => level = level.saturating_sub(1),
            "{" => return read_group(tokens, at + 1, level, found),
            text => {
                let name = if text == "self" { ALL } else { text };
                if level == 0 && (token.is_word() || name == ALL) {
                    found.push(Mention {
                        name: name.trim_start_matches("r#").to_owned(),
                        line: token.line,
                    });
                }
                return at + 1;
            }
        }
        at += 2;
    }
    at
}

fn read_group(tokens: &[Token], mut at: usize, level: usize, found: &mut Vec<Mention>) -> usize {
    while at < tokens.len() && !is(tokens, at, "}") {
        at = end_of_item(tokens, read_path(tokens, at, level, found));
        at += usize::from(is(tokens, at, ","));
    }
    at + 1
}

/// Where the comma or the brace stands that ends an item of a group.
fn end_of_item(tokens: &[Token], mut at: usize) -> usize {
    let mut open = 0;
    while let Some(token) = tokens.get(at) {
        match token.text {
            "{" => open += 1,
            "," | "}" if open == 0 => break,
            "}" => open -= 1,
            _ => {}
        }
        at += 1;
    }
    at
}

/// The names that `use` brings into the root of a crate, each with the module
/// (or foreign crate) that it comes from. Those of `use a::*` are not known.
pub(super) fn imports(root: &str) -> BTreeMap<String, String> {
    let tokens = tokens(root);
    let mut found = BTreeMap::new();
    let mut open = 0;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token.text {
            "{" => open += 1,
            "}" => open -= 1,
            "use" if open == 0 => {
                at = read_import(&tokens, at + 1, None, &mut found);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Reads what one item of a `use` brings; `from` is where its path began, if
/// that stands outside the braces that the item is in.
fn read_import<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    from: Option<&'a str>,
    found: &mut BTreeMap<String, String>,
) -> usize {
    let mut from = from;
    let mut name = None;
    while let Some(token) = tokens.get(at) {
        match token.text {
            "," | "}" | ";" => break,
            "{" => {
                at += 1;
                while at < tokens.len() && !is(tokens, at, "}") {
                    at = read_import(tokens, at, from, found);
                    at += usize::from(is(tokens, at, ",") || is(tokens, at, ";"));
                }
                return at + 1;
            }
            "crate" | "self" | "super" | "as" => {}
            "*" => name = None,
            text if token.is_word() => {
                from = from.or(Some(text));
                name = Some(text);
            }
            _ => {}
        }
        at += 1;
    }
    if let (Some(name), Some(from)) = (name, from) {
        found.insert(name.to_owned(), from.to_owned());
    }
    at
}

/// The blocks `impl TYPE { … }` of a file that are of no trait: the line of
/// each, and how many methods it has.
pub(super) fn own_impls(text: &str, of: &str) -> Vec<(usize, usize)> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if begins_impl(&tokens, at)
            && let Some(body) = body_of_own_impl(&tokens, at, of)
        {
            found.push((tokens[at].line, methods(&tokens[body..])));
        }
    }
    found
}

/// Whether a block begins here, and not a type such as `&impl Fn()`.
fn begins_impl(tokens: &[Token], at: usize) -> bool {
    const BEFORE: [&str; 6] = [";", "{", "}", "]", "unsafe", "default"];
    let is_item = at == 0 || BEFORE.contains(&tokens[at - 1].text);
    is(tokens, at, "impl") && is_item
}

/// Where the body of an `impl` begins, behind its brace, if it is of no trait
/// and of this type.
fn body_of_own_impl(tokens: &[Token], at: usize, of: &str) -> Option<usize> {
    let start = match is(tokens, at + 1, "<") {
        true => after_generics(tokens, at + 1),
        false => at + 1,
    };
    let ends = |token: &Token| matches!(token.text, "{" | "where");
    let end = start + tokens.get(start..)?.iter().position(ends)?;
    let header = &tokens[start..end];
    let is_of_trait = header
        .iter()
        .enumerate()
        .any(|(at, token)| token.text == "for" && !is(header, at + 1, "<"));
    let path = header.split(|token| token.text == "<").next()?;
    if is_of_trait || path.last()?.text != of {
        return None;
    }
    let brace = tokens[end..].iter().position(|token| token.text == "{")?;
    Some(end + brace + 1)
}

fn after_generics(tokens: &[Token], mut at: usize) -> usize {
    let mut open = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.text {
            "<" => open += 1,
            ">" => open -= 1,
            _ => {}
        }
        if open == 0 {
            break;
        }
    }
    at
}

/// How many functions a body has itself, from behind its first brace on.
fn methods(body: &[Token]) -> usize {
    let mut count = 0;
    let mut open = 0;
    for (at, token) in body.iter().enumerate() {
        match token.text {
            "{" => open += 1,
            "}" if open == 0 => break,
            "}" => open -= 1,
            "fn" if open == 0 && body.get(at + 1).is_some_and(Token::is_word) => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str, text: &str) -> String {
        let names: Vec<_> = mentions(path, text).into_iter().map(|it| it.name).collect();
        names.join(" ")
    }

    #[test]
    fn paths_from_the_root_are_mentions() {
        for (text, expected) in [
            ("use crate::a;", "a"),
            ("use crate::a::{B, c::D};", "a"),
            (
                "use crate::{\n    a::B,\n    c,\n    d::{E, f::{G, H}}, I as J,\n};",
                "a c d I",
            ),
            ("pub(crate) use crate::{a, b,};", "a b"),
            ("use crate::a::*;", "a"),
            ("use crate::*;", "*"),
            ("use crate::{self, a};", "* a"),
            ("fn f(x: &crate::a::B) -> crate::C { crate::d() }", "a C d"),
            ("for x in crate::a::all() {}", "a"),
            ("x!(crate::a, y => crate :: b)", "a b"),
            (
                "macro_rules! x { ($y:ident) => { $crate::a::$y(crate::$y) } }",
                "a",
            ),
            ("let x = <crate::a::B as crate::c::D>::e;", "a c"),
            ("use crate::r#type::A;", "type"),
            ("#[cfg(test)] mod tests { use crate::a; }", "a"),
            ("use crate::{", ""),
            ("use crate::{a", "a"),
            ("crate::", ""),
        ] {
            assert_eq!(names("x.rs", text), expected, "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_a_path_is_no_mention() {
        for text in [
            "pub(crate) fn a() {}",
            "pub(in crate::a) struct B;",
            "pub(in super::super) struct B;",
            "extern crate a;",
            "r#crate::a",
            "other::crate::a",
            "// crate::a",
            "/// See [`crate::a`].",
            "/* crate::a */",
            "\"crate::a\"",
            "r#\"crate::a\"#",
            "'\"'; x(\"crate::a\")",
            "a::b",
            "use a::b::{c, d};",
            "self.a",
        ] {
            assert_eq!(names("x/y.rs", text), "", "{text}");
        }
    }

    #[test]
    fn paths_upwards_are_mentions_if_they_leave_the_module() {
        for (path, text, expected) in [
            ("x.rs", "use super::a::B;", "a"),
            ("x.rs", "use super::{a::B, c};", "a c"),
            ("x.rs", "use self::y::Z;", ""),
            ("x.rs", "use self::super::a;", "a"),
            (
                "x.rs",
                "mod tests { use super::*; use super::super::a; }",
                "a",
            ),
            ("x.rs", "mod tests { fn f() {} } use super::a;", "a"),
            ("x/mod.rs", "use super::a;", "a"),
            ("x/y.rs", "use super::a;", ""),
            ("x/y.rs", "use super::super::a;", "a"),
            ("x/y.rs", "use super::{super::a, B};", "a"),
            ("x/y.rs", "mod tests { use super::super::B; }", ""),
            ("x/y/z.rs", "use super::super::B;", ""),
            ("x/y/z.rs", "use super::super::super::a;", "a"),
            ("lib.rs", "mod tests { use super::*; use super::a; }", "* a"),
            ("lib.rs", "use crate::a;", "a"),
        ] {
            assert_eq!(names(path, text), expected, "{path}: {text}");
        }
    }

    #[test]
    fn a_mention_has_the_line_of_the_name() {
        let text = "//! x\r\nuse crate::{\r\n    a,\r\n    /* y\r\n */ b::C};";
        let lines: Vec<_> = mentions("x.rs", text).iter().map(|it| it.line).collect();
        assert_eq!(lines, [3, 5]);
    }

    #[test]
    fn imports_say_where_a_name_in_the_root_comes_from() {
        let root = "mod a; use std::sync::Arc;\n\
            pub use a::{B, c::{self, D as E}, f::*};\n\
            pub(crate) use self::g::H; use crate::{i::J, k};\n\
            use a::{Trait as _};\n\
            fn l() { use m::N; } mod o { pub use p::Q; }";
        let found: Vec<String> = imports(root)
            .into_iter()
            .map(|(name, from)| format!("{name}<{from}"))
            .collect();
        let expected = "Arc<std B<a E<a H<g J<i _<a k<k";
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn methods_of_a_type_are_counted_where_they_are_its_own() {
        for (text, expected) in [
            (
                "impl E { fn a() {} pub(crate) fn b(&self) { fn c() {} } }",
                vec![2],
            ),
            ("impl E {} impl E { fn a(f: fn(u8)) {} }", vec![0, 1]),
            ("impl crate::E { fn a() {} }", vec![1]),
            (
                "#[x]\nimpl<T: Fn() -> Vec<u8>> E<T> where T: Y { fn a() {} }",
                vec![1],
            ),
            (
                "mod x { impl E { const A: u8 = 1; async fn b() {} } }",
                vec![1],
            ),
            ("impl Clone for E { fn clone(&self) {} }", vec![]),
            ("impl<T> From<E> for T { fn a() {} }", vec![]),
            ("impl Vec<E> { fn a() {} }", vec![]),
            ("impl Other { fn a() -> impl E { fn b() {} } }", vec![]),
            ("fn f(x: impl E) { fn g() {} }", vec![]),
            ("fn f(x: &'a impl E) { fn g() {} }", vec![]),
            ("impl Engine { fn a() {} }", vec![]),
            ("// impl E { fn a() {} }", vec![]),
            ("impl E", vec![]),
            ("impl<T", vec![]),
        ] {
            let found = own_impls(text, "E");
            let counts: Vec<usize> = found.into_iter().map(|(_, count)| count).collect();
            assert_eq!(counts, expected, "{text}");
        }
    }
}
