//! Who may know a protocol version by its number: the list of versions, the
//! decoding of the handshake, the gates, and tests. Everybody else asks what a
//! version can do (`innkeeper_protocol::version`).

#![expect(clippy::unwrap_used, reason = "in a test, that is how things fail")]

use std::fs;
use std::path::{Path, PathBuf};

/// Where versions are told apart.
const KNOW_NUMBERS: [&str; 4] = [
    "crates/protocol/src/version.rs",
    "crates/protocol/src/command.rs",
    "crates/protocol/src/gates.rs",
    "crates/protocol/src/gates/",
];

/// Crates that are there to test or to measure.
const FOR_TESTS: [&str; 3] = ["crates/judges/", "crates/bench/", "crates/trials/"];

#[test]
fn versions_have_numbers_only_where_they_are_told_apart() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = Vec::new();
    for entry in fs::read_dir(workspace.join("crates")).unwrap() {
        find_sources(&entry.unwrap().path().join("src"), &mut sources);
    }
    find_sources(&workspace.join("xtask/src"), &mut sources);
    assert!(sources.len() > 100, "sources are looked at");
    let mut found = Vec::new();
    for source in sources {
        let name = source.strip_prefix(&workspace).unwrap().to_string_lossy();
        let is_exempt = |places: &[&str]| places.iter().any(|it| name.starts_with(it));
        if is_exempt(&KNOW_NUMBERS) || is_exempt(&FOR_TESTS) || name.ends_with("tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&source).unwrap();
        for (number, line) in outside_of_tests(&text) {
            if names_a_number(line) || compares_with_a_version(line) {
                found.push(format!("{name}:{number}: {}", line.trim()));
            }
        }
    }
    assert!(
        found.is_empty(),
        "ask what the version can do (protocol/src/version.rs):\n{}",
        found.join("\n")
    );
}

#[test]
fn the_rule_knows_what_it_looks_for() {
    assert!(names_a_number("if version == Version::V0_4 {"));
    assert!(names_a_number("Version::V1_0 => each(encode(message)),"));
    assert!(names_a_number("Version::Draft1 => 1,"));
    assert!(!names_a_number("Version::NEWEST => each(encode(message)),"));
    assert!(!names_a_number("ProtocolVersion::V1"));
    assert!(compares_with_a_version("if version < Version::NEWEST {"));
    assert!(compares_with_a_version("Version::NEWEST >= version"));
    assert!(!compares_with_a_version("version == Version::NEWEST"));
    assert!(!compares_with_a_version("Version::NEWEST => 1,"));
    assert!(!compares_with_a_version("None => Version::NEWEST,"));
    assert!(!compares_with_a_version("HashMap<String, Version>"));
    let text = "a\n#[cfg(test)]\nmod tests {\nb\n}";
    assert_eq!(outside_of_tests(text).collect::<Vec<_>>(), [(1, "a")]);
}

fn find_sources(directory: &Path, sources: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_sources(&path, sources);
        } else if path.extension().is_some_and(|it| it == "rs") {
            sources.push(path);
        }
    }
}

/// The numbered lines before a module of tests, which is the last of a file.
fn outside_of_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_tests = |at: usize| {
        let next = lines.get(at + 1);
        lines[at] == "#[cfg(test)]" && next.is_some_and(|it| it.starts_with("mod tests {"))
    };
    let end = (0..lines.len()).find(|at| is_tests(*at));
    let count = end.unwrap_or(lines.len());
    (1..).zip(lines).take(count)
}

/// `Version::V` or `Version::Draft` and a digit; other protocols have versions,
/// too.
fn names_a_number(line: &str) -> bool {
    let names = |prefix: &str| {
        line.match_indices(prefix).any(|(at, name)| {
            let is_ours = !line[..at].ends_with(|before: char| before.is_alphanumeric());
            let behind = line[at + name.len()..].chars().next();
            is_ours && behind.is_some_and(|it| it.is_ascii_digit())
        })
    };
    names("Version::V") || names("Version::Draft")
}

/// An order beside a version that has a name.
fn compares_with_a_version(line: &str) -> bool {
    const NEWEST: &str = "Version::NEWEST";
    const ORDERS: [&str; 4] = [" <", " <=", " >", " >="];
    line.match_indices(NEWEST).any(|(at, _)| {
        let before = line[..at].trim_end();
        let behind = line[at + NEWEST.len()..].trim_start();
        ORDERS.iter().any(|order| before.ends_with(order)) || behind.starts_with(['<', '>'])
    })
}
