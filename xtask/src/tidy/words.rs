//! Words that users should not have to read: idioms of other languages, and
//! words that this project has used in a sense of its own. The list is data;
//! a line of it is enough to refuse something everywhere.
//!
//! What users see is README, SECURITY, CHANGELOG and `docs/`, the strings of the product's
//! crates, the help of its commands, and the labels of the web client. Examples
//! and `code` in pages are left alone.

use super::tokens;

/// What is refused: the words, what to write instead, and the neighbours with
/// which they are fine.
struct Refused {
    words: &'static str,
    instead: &'static str,
    after: &'static [&'static str],
    before: &'static [&'static str],
}

const fn refused(words: &'static str, instead: &'static str) -> Refused {
    Refused {
        words,
        instead,
        after: &[],
        before: &[],
    }
}

/// `is no X` is fine after `there`, and where something is compared.
const fn no_thing(words: &'static str) -> Refused {
    Refused {
        words,
        instead: "`is not a`, `is not an`",
        after: &["there"],
        before: &[
            "longer",
            "more",
            "less",
            "newer",
            "older",
            "larger",
            "better",
            "different",
            "other",
            "one",
        ],
    }
}

const PASSIVE: &str = "who tells whom: `the host tells`, `clients see`, `receives`";

const REFUSED: [Refused; 33] = [
    no_thing("is no"),
    no_thing("are no"),
    no_thing("was no"),
    no_thing("were no"),
    refused("is none itself", "`is not one itself`"),
    refused("beside", "`besides`, `in addition to`, `next to`"),
    refused("mend", "`fix`"),
    refused("mends", "`fixes`"),
    refused("mended", "`fixed`"),
    refused("slip of the pen", "`typo`"),
    refused("at your choice", "`at your option`"),
    refused("for ever", "`forever`"),
    refused("is told", PASSIVE),
    refused("are told", PASSIVE),
    refused("was told", PASSIVE),
    refused("were told", PASSIVE),
    refused(
        "whoever",
        "`anyone who`, or the role: user, client, operator",
    ),
    refused("somebody", "`someone`, or the role: user, client, operator"),
    refused("nobody", "`no one`, or the role: user, client, operator"),
    refused(
        "everybody",
        "`everyone`, or the role: user, client, operator",
    ),
    refused("anybody", "`anyone`, or the role: user, client, operator"),
    refused("goes on", "`continues`, `resumes`"),
    refused("takes up", "`continues`, `resumes`"),
    refused("taken up", "`continued`, `resumed`"),
    refused("took up", "`continued`, `resumed`"),
    refused("anew", "`again`, `start over`"),
    refused("by themselves", "`automatically`, `on their own`"),
    refused("however that ends", "say how: `even after a crash`"),
    refused("next life", "`after a restart`"),
    refused("lives of the host", "`restarts`"),
    refused("has echoed", "`has acknowledged`"),
    refused("without a word", "`without a message`, `silently`"),
    refused("is a matter of", "say who decides it"),
];

/// The crates that the product is made of; what others print is for us.
const PRODUCT: [&str; 7] = [
    "crates/agents/src/",
    "crates/engine/src/",
    "crates/innkeeper/src/",
    "crates/process/src/",
    "crates/protocol/src/",
    "crates/store/src/",
    "crates/workspace/src/",
];

/// What a file shows to users in other words than it should.
pub(super) fn problems(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (line, shown) in shown(path, text) {
        for refused in &REFUSED {
            if refused.stands_in(&shown) {
                let Refused { words, instead, .. } = refused;
                problems.push(format!(
                    "{path}:{line}: users read `{words}`; write {instead}"
                ));
            }
        }
    }
    problems
}

impl Refused {
    fn stands_in(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        lower.match_indices(self.words).any(|(at, _)| {
            let (before, rest) = lower.split_at(at);
            let after = &rest[self.words.len()..];
            let whole = !before.ends_with(is_of_word) && !after.starts_with(is_of_word);
            let is_word = |word: &&str| !word.is_empty();
            let mut words = before.split(|c: char| !c.is_alphanumeric());
            let last = words.rfind(is_word).unwrap_or_default();
            let mut words = after.split(|c: char| !c.is_alphanumeric());
            let next = words.find(is_word).unwrap_or_default();
            whole && !self.after.contains(&last) && !self.before.contains(&next)
        })
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// The pieces of a file that users see, with their lines.
fn shown(path: &str, text: &str) -> Vec<(usize, String)> {
    let is_test = path.contains("/tests") || path.contains("test.ts") || path.contains("testing");
    let is_page = ["README.md", "SECURITY.md", "CHANGELOG.md"].contains(&path)
        || (path.starts_with("docs/") && path.ends_with(".md"));
    if is_page {
        return prose(text);
    }
    if is_test {
        return Vec::new();
    }
    if path.ends_with(".rs") && PRODUCT.iter().any(|start| path.starts_with(start)) {
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
        let mut pieces = tokens::strings(code);
        if code.contains("#[arg(") || code.contains("Subcommand") {
            pieces.extend(help(code));
        }
        return pieces;
    }
    let is_web = path.starts_with("web/src/") && (path.ends_with(".ts") || path.ends_with(".tsx"));
    if is_web { labels(text) } else { Vec::new() }
}

/// A page without its examples.
fn prose(text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let mut pieces = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let words: Vec<&str> = line.split('`').step_by(2).collect();
            pieces.push((index + 1, words.join("`")));
        }
    }
    pieces
}

/// The comments of fields and variants, which clap shows.
fn help(code: &str) -> Vec<(usize, String)> {
    let lines = code.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let comment = line
                .strip_prefix("    ")?
                .trim_start()
                .strip_prefix("///")?;
            Some((index + 1, comment.to_owned()))
        })
        .collect()
}

/// Strings and what stands between tags; lines that are comments are not shown.
fn labels(text: &str) -> Vec<(usize, String)> {
    let mut pieces = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if ["//", "*", "/*", "import "]
            .iter()
            .any(|start| line.starts_with(start))
        {
            continue;
        }
        let is_text = !line.contains(['{', '}', '(', ')', ';', '=', '<', '"', '`']);
        if is_text {
            pieces.push((index + 1, line.to_owned()));
        }
        for mark in ['"', '`'] {
            let quoted = line.split(mark).skip(1).step_by(2);
            pieces.extend(quoted.map(|piece| (index + 1, piece.to_owned())));
        }
        let between = line
            .split('>')
            .skip(1)
            .filter_map(|rest| rest.split_once('<'));
        pieces.extend(between.map(|(piece, _)| (index + 1, piece.to_owned())));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        problems(path, text).len()
    }

    #[test]
    fn every_line_of_the_list_is_refused_and_names_another_word() {
        for Refused { words, instead, .. } in &REFUSED {
            let found = problems("docs/a.md", &format!("Well\n\nThis {words}, it seems"));
            assert_eq!(found.len(), 1, "{words}: {found:?}");
            assert!(found[0].starts_with("docs/a.md:3: "), "{found:?}");
            assert!(found[0].ends_with(instead), "{found:?}");
        }
    }

    #[test]
    fn whole_words_count_and_their_neighbours() {
        for (text, expected) in [
            ("It is no URI.", 1),
            ("IS NO URI", 1),
            ("There is no URI", 0),
            ("`there is no URI", 0),
            ("if there are no agents", 0),
            ("it is no longer there", 0),
            ("it is not a URI, and is noted", 0),
            ("Besides, it was recommended", 0),
            ("amend, mend-er", 0),
            ("so it is told.", 1),
        ] {
            assert_eq!(count("README.md", text), expected, "{text}");
        }
    }

    #[test]
    fn only_what_users_see_is_looked_at() {
        let string = "fn a() { b(\"x is no y\") } // x is no y\n";
        for (path, text, expected) in [
            ("docs/a.md", "```\nx is no y\n```\n`x is no y`\n", 0),
            ("CONTRIBUTING.md", "x is no y", 0),
            ("crates/store/src/a.rs", string, 1),
            ("crates/store/src/a/tests.rs", string, 0),
            (
                "crates/store/src/a.rs",
                "#[cfg(test)]\nmod tests {\n    \"x is no y\"",
                0,
            ),
            ("crates/bench/src/a.rs", string, 0),
            (
                "crates/innkeeper/src/cli/a.rs",
                "#[arg(long)]\n    /// x is no y\n    y: u8,",
                1,
            ),
            ("crates/innkeeper/src/cli/a.rs", "    /// x is no y\n", 0),
            ("web/src/a.tsx", "// x is no y\n<p>x is no y</p>\n", 1),
            ("web/src/a.tsx", "return \"x is no y\";\n  x is no y\n", 2),
            ("web/src/a.test.ts", "test(\"x is no y\")", 0),
        ] {
            assert_eq!(count(path, text), expected, "{path}: {text}");
        }
    }
}
