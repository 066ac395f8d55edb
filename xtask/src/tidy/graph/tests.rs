//! A crate in small, and what is said about it.

use super::*;

const OF: OrderedCrate = OrderedCrate {
    name: "the engine",
    source: "crates/e/src",
    hub: "Engine",
};

const MARKER: &str = "<!-- the engine's modules: cargo xtask tidy prints this graph -->";

/// `low` and `mid` are in the list, `top` is not.
const ROOT_TEXT: &str = "//! The crate.\n\
    //!\n\
    //! # The modules\n\
    //!\n\
    //! From the ground up:\n\
    //!\n\
    //! 1. `low`: what all use, like `top`\n\
    //! 2. `mid`: what uses it\n\
    //!\n\
    //! # Else\n\
    //!\n\
    //! - `other`\n\
    mod low; mod mid; mod top;\n\
    pub use low::Low;\n\
    pub use top::{self, Top as Highest};\n\
    pub struct Engine;\n\
    impl Engine { fn a() {} }\n";

const PAGE_TEXT: &str = "# Page\n\n\
    <!-- the engine's modules: cargo xtask tidy prints this graph -->\n\
    ```\n\
    mid → low\n\
    low\n\
    ```\n\nMore.\n";

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// The crate with these files in place of those that it has.
fn report_with(changed: &[(&str, &str)]) -> Report {
    let mut files = BTreeMap::from([
        ("ARCHITECTURE.md", PAGE_TEXT),
        ("crates/e/src/lib.rs", ROOT_TEXT),
        ("crates/e/src/low.rs", "//! Low."),
        ("crates/e/src/mid.rs", "use crate::low::X;"),
        ("crates/e/src/mid/part.rs", "use super::Y;"),
        (
            "crates/e/src/top.rs",
            "use crate::{Engine, mid}; impl Engine { fn b() {} fn c() {} }",
        ),
        ("crates/other/src/low.rs", "use crate::mid;"),
    ]);
    files.extend(changed.iter().copied());
    let files: Vec<SourceFile> = files.iter().map(|(path, text)| file(path, text)).collect();
    report(&OF, &files)
}

fn check(changed: &[(&str, &str)], expected: &[&str]) {
    let Report { problems, .. } = report_with(changed);
    assert_eq!(problems.len(), expected.len(), "{changed:?}: {problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn modules_that_name_only_what_is_below_them_are_in_order() {
    check(&[], &[]);
    check(
        &[(
            "crates/e/src/mid/part.rs",
            "use crate::mid; use crate::Low;",
        )],
        &[],
    );
    // The wiring may name everything.
    check(
        &[(
            "crates/e/src/top.rs",
            "use crate::{Engine, mid, low, Highest};",
        )],
        &[],
    );
}

#[test]
fn what_names_something_above_it_is_told_where_and_what() {
    for (path, text, expected) in [
        (
            "crates/e/src/low.rs",
            "//! Low.\nuse crate::mid::X;",
            "crates/e/src/low.rs:2: `crate::mid` is in `mid`, which stands above `low`: return",
        ),
        (
            "crates/e/src/low/deep/er.rs",
            "use super::super::super::mid;",
            "crates/e/src/low/deep/er.rs:1: `crate::mid` is in `mid`, which stands above `low`",
        ),
        (
            "crates/e/src/mid/part.rs",
            "fn f(_: &crate::Engine) {}",
            "part.rs:1: `crate::Engine` is in the wiring (`lib.rs`), above `mid`: return",
        ),
        (
            "crates/e/src/mid/part.rs",
            "use crate::{low, Highest};",
            "part.rs:1: `crate::Highest` is in the wiring (`top`), above `mid`",
        ),
        (
            "crates/e/src/mid/part.rs",
            "use super::super::top;",
            "part.rs:1: `crate::top` is in the wiring (`top`), above `mid`",
        ),
        (
            "crates/e/src/mid/part.rs",
            "#[cfg(test)] mod tests { use crate::*; }",
            "part.rs:1: `crate::*` is in the wiring (`lib.rs`), above `mid`",
        ),
    ] {
        check(&[(path, text)], &[expected]);
    }
}

#[test]
fn a_list_names_modules_that_exist_and_each_once() {
    let root = ROOT_TEXT.replace("2. `mid`", "2. `gone`");
    let page = PAGE_TEXT.replace("mid → low", "gone");
    check(
        &[("crates/e/src/lib.rs", &root), ("ARCHITECTURE.md", &page)],
        &["crates/e/src/lib.rs:8: lists the module `gone`, which does not exist: take it off"],
    );
    let root = ROOT_TEXT.replace("//! 2. ", "//! 2. `low`\n//! 3. ");
    let page = PAGE_TEXT.replace("→ low\nlow", "→ low, low\nlow\nlow");
    check(
        &[("crates/e/src/lib.rs", &root), ("ARCHITECTURE.md", &page)],
        &["crates/e/src/lib.rs:8: lists the module `low` a second time"],
    );
}

#[test]
fn methods_of_the_hub_are_for_the_wiring() {
    check(
        &[("crates/e/src/mid/part.rs", "use super::Y;\nimpl Engine {}")],
        &["crates/e/src/mid/part.rs:2: `impl Engine` belongs to the wiring, and `mid` is in"],
    );
    check(
        &[("crates/e/src/mid/part.rs", "impl From<Y> for Engine {}")],
        &[],
    );
}

#[test]
fn the_page_shows_the_graph_of_the_source() {
    let replaced = "ARCHITECTURE.md:3: the graph of the engine's modules is not that of the \
        source; replace it by this:";
    for page in [
        PAGE_TEXT.replace("mid → low", "mid"),
        PAGE_TEXT.replace("```\n\n", "more\n```\n\n"),
        PAGE_TEXT.replace("```", ""),
        format!("#\n\n{MARKER}"),
    ] {
        check(&[("ARCHITECTURE.md", &page)], &[replaced]);
    }
    let Report { problems, .. } = report_with(&[("ARCHITECTURE.md", "# Page\n")]);
    let block = format!("add this:\n{MARKER}\n```\nmid → low\nlow\n```");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].ends_with(&block), "{problems:?}");
    // Other line endings, a blank line and a language are the same graph.
    let page = PAGE_TEXT
        .replace("-->\n```", "-->\n\n```text")
        .replace('\n', "\r\n");
    check(&[("ARCHITECTURE.md", &page)], &[]);
}

#[test]
fn without_a_list_there_is_nothing_to_say() {
    let no_page = ("ARCHITECTURE.md", "# Page\n");
    for root in [
        "//! The crate.\nmod low;",
        "//! # The modules\n//!\n//! None yet.\n",
        "",
    ] {
        check(&[("crates/e/src/lib.rs", root), no_page], &[]);
        // But a graph of nothing is not shown either.
        check(&[("crates/e/src/lib.rs", root)], &["replace it by this"]);
    }
}

#[test]
fn the_list_is_read_from_the_documentation_of_the_root() {
    for (root, expected) in [
        (ROOT_TEXT, "low 7 mid 8"),
        (
            "//! # The modules\r\n//! - `a`\r\n//! - [`b`]: and `c`\r\n",
            "a 2 b 3",
        ),
        (
            "//! # The modules\n//! 10. `a`\n//!    - `b`\n//!    and `c`\n",
            "a 2",
        ),
        (
            "//! # The modules\n//! 1. nothing\n//! 1.`a`\n//! `b`\n",
            "",
        ),
        ("//! # The modules\n//! ## `b`\n//! - `a`\n", ""),
        ("//! # The modules\n\n// - `a`\n", ""),
        ("//! # The modules", ""),
    ] {
        let found = listed_modules(root);
        let found: Vec<String> = found
            .iter()
            .map(|Listed { name, line }| format!("{name} {line}"))
            .collect();
        assert_eq!(found.join(" "), expected, "{root}");
    }
}

#[test]
fn the_summary_shows_the_graph_and_what_is_left() {
    let Report { summary, .. } = report_with(&[]);
    let expected = "crates/e/src, from the top down:\n  \
        mid → low\n  \
        low\n  \
        above them the wiring: lib.rs and 1 of 3 modules\n  \
        `impl Engine`: 3 methods in 2 files: lib.rs 1, top.rs 2\n  \
        no cycle among 3 modules\n";
    assert_eq!(summary, expected);
}

#[test]
fn the_largest_cycle_is_that_of_most_modules() {
    let edge = |(from, to)| Edge {
        from,
        to,
        place: String::new(),
        name: String::new(),
    };
    for (edges, expected) in [
        (vec![], ""),
        (vec![("a", "b"), ("b", "c"), ("a", "c")], ""),
        (vec![("a", "b"), ("b", "a"), ("b", "c")], "a b"),
        (
            vec![("a", "b"), ("b", "a"), ("c", "d"), ("d", "e"), ("e", "c")],
            "c d e",
        ),
        (
            vec![("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "b")],
            "a b c d",
        ),
        (vec![("a", ROOT), ("b", ROOT)], ""),
    ] {
        let told = format!("{edges:?}");
        let edges: Vec<Edge> = edges.into_iter().map(edge).collect();
        let cycle = largest_cycle(&["a", "b", "c", "d", "e"], &edges);
        assert_eq!(cycle.join(" "), expected, "{told}");
    }
}
