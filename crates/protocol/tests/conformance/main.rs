//! Every MUST and SHOULD of the texts has a test: `docs/conformance.md` is the
//! list, and it is what [`rules`] says. So has every word of the newest version:
//! `docs/coverage.md` is what [`coverage`] says.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod coverage;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coverage::{COVERAGE, Of, TYPES};
use innkeeper_judges::ACTION_TYPES;
use rules::{RULES, Text};
use serde_json::Value;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Text {
    const ALL: [Self; 4] = [
        Self::Guide,
        Self::Types,
        Self::Reference,
        Self::Specification,
    ];

    fn title(self) -> &'static str {
        match self {
            Self::Guide => "Draft 0.1.0: guide to the state model",
            Self::Types => "Draft 0.1.0: reference of the state types",
            Self::Reference => "0.2.0: reference of the session channel",
            Self::Specification => "0.2.0: specification of the session channel",
        }
    }

    /// How the name of its file begins, where the texts are at hand.
    fn file(self) -> &'static str {
        match self {
            Self::Guide => "000_",
            Self::Types => "001_",
            Self::Reference => "003_",
            Self::Specification => "004_",
        }
    }
}

fn document() -> String {
    let mut text = "# Conformance\n\n\
        Every MUST and SHOULD of the protocol texts of the draft 0.1.0 and of 0.2.0, in our own \
        words, with the tests that hold it. Later versions keep these rules unless \
        [Protocol versions](versions.md) says otherwise. Rules for clients are held by the web \
        client; the titles in quotes are its tests.\n\n\
        <!-- Generated: CONFORMANCE=write cargo nextest run --workspace -E 'binary(conformance)' -->\n"
        .to_owned();
    for of in Text::ALL {
        let _ = write!(
            text,
            "\n## {}\n\n| level | binds | rule | tests |\n| --- | --- | --- | --- |\n",
            of.title()
        );
        for rule in RULES.iter().filter(|rule| rule.text == of) {
            let (level, binds) = (rule.level, rule.binds);
            let tests = names_of(rule.held_by);
            let row = format!("| {level} | {binds} | {} | {tests} |", rule.rule);
            let _ = writeln!(text, "{row}");
        }
    }
    text
}

fn table() -> String {
    let mut text = "# Coverage of AHP 1.0\n\n\
        Every channel, command, notification, capability, action and state type of version 1.0: \
        who makes it in practice, where the web client shows it, and the tests that hold it. What clients of \
        older versions are shown of it is in [Protocol versions](versions.md).\n\n\
        <!-- Generated: CONFORMANCE=write cargo nextest run --workspace -E 'binary(conformance)' -->\n"
        .to_owned();
    for (of, title) in [
        (Of::Channel, "Channels"),
        (Of::Command, "Commands"),
        (
            Of::Notification,
            "Notifications, and requests on channels of MCP servers",
        ),
        (Of::Capability, "Capabilities"),
        (Of::Action, "Actions"),
    ] {
        let _ = write!(
            text,
            "\n## {title}\n\n| name | made by | web client | tests |\n| --- | --- | --- | --- |\n",
        );
        for row in COVERAGE.iter().filter(|row| row.of == of) {
            let tests = names_of(row.held_by);
            let (name, made_by, shown) = (row.name, row.made_by, row.shown);
            let _ = writeln!(text, "| `{name}` | {made_by} | {shown} | {tests} |");
        }
    }
    text.push_str(
        "\n## State types\n\n| what | types | made by | web client | tests |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    for row in TYPES {
        let types = row.types.iter().map(|name| format!("`{name}`"));
        let types = types.collect::<Vec<_>>().join(", ");
        let (what, made_by, shown) = (row.what, row.made_by, row.shown);
        let tests = names_of(row.held_by);
        let _ = writeln!(text, "| {what} | {types} | {made_by} | {shown} | {tests} |");
    }
    text.push_str(
        "\nTwo values of these types are made by no one either: the host hides no chat \
         (`ChatInteractivity` `hidden`), and writes no messages itself (`MessageKind` \
         `systemNotification`).\n",
    );
    text
}

fn names_of(tests: &[&str]) -> String {
    let tests = tests.iter().map(|test| match test.contains(' ') {
        true => format!("“{test}”"),
        false => format!("`{test}`"),
    });
    tests.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_lists_in_the_docs_are_the_ones_that_are_checked() {
    for (name, document) in [("conformance.md", document()), ("coverage.md", table())] {
        let path = workspace().join("docs").join(name);
        if std::env::var_os("CONFORMANCE").is_some() {
            fs::write(&path, &document).unwrap();
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == document,
            "docs/{name} is out of date; write it with \
             CONFORMANCE=write cargo nextest run --workspace -E 'binary(conformance)'"
        );
    }
}

#[test]
fn every_rule_and_every_word_names_tests_that_exist() {
    let mut tests = BTreeSet::new();
    for directory in ["crates", "web/src", "web/browser"] {
        find_tests(&workspace().join(directory), &mut tests);
    }
    assert!(tests.len() > 1000, "tests are found");
    let rules = RULES.iter().map(|rule| (rule.rule, rule.held_by));
    let words = COVERAGE.iter().map(|row| (row.name, row.held_by));
    let types = TYPES.iter().map(|row| (row.what, row.held_by));
    for (what, held_by) in rules.chain(words).chain(types) {
        assert!(!held_by.is_empty(), "{what}");
        for test in held_by {
            assert!(tests.contains(*test), "{what}: there is no test `{test}`");
        }
    }
}

#[test]
fn every_action_of_the_newest_version_is_in_the_table_once() {
    let newest = ACTION_TYPES.iter().filter(|(_, _, last)| *last == "1.0");
    let newest: BTreeSet<&str> = newest.map(|(name, _, _)| *name).collect();
    let rows = COVERAGE.iter().filter(|row| row.of == Of::Action);
    let rows: Vec<&str> = rows.map(|row| row.name).collect();
    assert_eq!(rows.iter().copied().collect::<BTreeSet<_>>(), newest);
    assert_eq!(rows.len(), newest.len());
}

/// A type that a later release brings is missing here until somebody says who
/// makes it.
#[test]
fn every_state_type_of_the_newest_version_is_in_the_table_once() {
    let text = fs::read_to_string(source_of("ahp-types").join("src/state.rs")).unwrap();
    let declared = text.lines().filter_map(|line| {
        let line = line.strip_prefix("pub ")?;
        let kinds = ["struct ", "enum ", "type "].into_iter();
        let rest = kinds.filter_map(|kind| line.strip_prefix(kind)).next()?;
        rest.split(|it: char| !it.is_alphanumeric()).next()
    });
    let declared: BTreeSet<&str> = declared.collect();
    assert!(declared.contains("RootState"), "the types are found");
    let rows: Vec<&str> = TYPES.iter().flat_map(|row| row.types).copied().collect();
    assert_eq!(rows.iter().copied().collect::<BTreeSet<_>>(), declared);
    assert_eq!(rows.len(), declared.len());
}

/// Where cargo keeps the source of the newest release of a dependency.
fn source_of(package: &str) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1"])
        .current_dir(workspace())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let newest = packages
        .filter(|it| it["name"] == package)
        .max_by_key(|it| numbers_in(it["version"].as_str().unwrap()));
    let manifest = newest.unwrap()["manifest_path"].as_str().unwrap();
    Path::new(manifest).parent().unwrap().to_path_buf()
}

fn numbers_in(version: &str) -> Vec<u64> {
    let numbers = version.split(|it: char| !it.is_ascii_digit());
    numbers.filter_map(|it| it.parse().ok()).collect()
}

/// The words in capitals are where the table says that they are.
#[test]
fn every_must_and_should_of_the_texts_is_in_the_list() {
    let directory = workspace().join("../shared/seeds");
    let Ok(files) = fs::read_dir(&directory) else {
        println!("skipped: there are no texts in ../shared/seeds");
        return;
    };
    let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    for of in Text::ALL {
        let is_it = |path: &&PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(of.file())
        };
        let text = fs::read_to_string(files.iter().find(is_it).unwrap()).unwrap();
        let mut said = BTreeMap::new();
        for (line, words) in (1..).zip(text.lines()) {
            let words = words.split(|letter: char| !letter.is_ascii_alphabetic());
            for word in words.filter(|word| matches!(*word, "MUST" | "SHOULD")) {
                *said.entry((line, word)).or_insert(0) += 1;
            }
        }
        let mut listed = BTreeMap::new();
        for rule in RULES.iter().filter(|rule| rule.text == of) {
            *listed.entry((rule.line, rule.level)).or_insert(0) += 1;
        }
        assert_eq!(listed, said, "{}", of.title());
    }
}

fn find_tests(directory: &Path, tests: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "node_modules" && name != "target" {
            find_tests(&path, tests);
        } else if path.extension().is_some_and(|it| it == "rs") {
            tests.extend(tests_in_rust(&fs::read_to_string(&path).unwrap()));
        } else if name.ends_with(".test.ts") {
            tests.extend(titles(&fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Functions behind an attribute that ends in `test]`, or in a suite's list.
fn tests_in_rust(text: &str) -> Vec<String> {
    let mut is_test = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[") {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        } else if let Some((_, name)) = line.split_once("fn ").filter(|_| is_test) {
            found.extend(name.split(['(', '<']).next().map(str::to_owned));
            is_test = false;
        }
    }
    found
}

/// The first text in quotes behind `test(`, or at the head of a table's row.
fn titles(text: &str) -> Vec<String> {
    let quoted = |rest: &str| rest.split('"').nth(1).map(str::to_owned);
    let called = text
        .match_indices("test(\"")
        .filter_map(|(at, _)| quoted(&text[at..]));
    let rows = text
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with('"'));
    called.chain(rows.filter_map(quoted)).collect()
}
