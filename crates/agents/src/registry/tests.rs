//! Files of the registry: what is read, and what is refused.

use super::*;

fn with(text: &str) -> Registry {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(FILE);
    std::fs::write(&path, text).unwrap();
    Registry::with_file(&path)
}

#[test]
fn what_the_host_comes_with_is_sound() {
    let shipped = Registry::shipped();
    assert_eq!(shipped.troubles(), [""; 0]);
    let providers: Vec<&str> = shipped.rows().iter().map(Row::provider).collect();
    let before = [
        "claude", "codex", "gemini", "copilot", "opencode", "goose", "qwen", "kimi", "vibe", "pi",
    ];
    assert_eq!(providers[..10], before);
    for row in shipped.rows() {
        let pinned = row
            .package()
            .is_none_or(|package| package.version == row.version);
        assert!(pinned, "{}", row.id);
        assert!(!row.commands().is_empty(), "{}", row.id);
    }
}

#[test]
fn the_users_file_adds_rows_and_replaces_them() {
    let all = with(
        r#"{"version": "1.0.0", "extensions": [], "agents": [
            {"id": "claude-code-acp", "name": "Claude", "version": "9.0.0", "description": "x",
             "icon": "x.svg", "distribution": {"npx": {"package": "@a/claude@9.0.0"}}},
            {"id": "mine", "name": "Mine", "version": "1.0.0", "description": "x",
             "distribution": {"binary": {"linux-x86_64":
                {"archive": "https://a", "cmd": "./bin/mine", "args": ["acp"]}}}}
        ]}"#,
    );
    assert_eq!(all.troubles(), [""; 0]);
    let claude = &all.rows()[0];
    assert_eq!(
        (claude.provider(), claude.name.as_str()),
        ("claude", "Claude")
    );
    assert_eq!(claude.package().unwrap().spec(), "@a/claude@9.0.0");
    // What was known of another package does not hold for this one.
    assert_eq!(claude.extra().integrity, None);
    assert_eq!(claude.extra().reads[0], ".claude/");
    assert!(all.row("claude-acp").is_some());
    let mine = all.rows().last().unwrap();
    assert_eq!(mine.commands(), ["mine"]);
    assert_eq!(mine.args(), ["acp"]);
    assert_eq!(all.rows().len(), Registry::shipped().rows().len() + 1);
}

#[test]
fn what_is_wrong_with_a_file_is_named_and_the_rest_counts() {
    let good = r#"{"id": "good", "name": "G", "version": "1.0.0", "description": "d",
        "distribution": {"npx": {"package": "good"}}}"#;
    let bad = |change: &str, with: &str| good.replace(change, with);
    let cases = [
        (
            bad(r#""good", "name""#, r#""Bad Id", "name""#),
            "small letters",
        ),
        (
            bad(r#""id": "good""#, r#""id": "script""#),
            "the host's own agent",
        ),
        (bad(r#""name": "G","#, ""), "missing field `name`"),
        (bad("1.0.0", "latest"), "`version`"),
        (
            bad(r#""package": "good""#, r#""package": "--evil""#),
            "`package`",
        ),
        (
            bad(r#""package": "good""#, r#""package": "../evil""#),
            "`package`",
        ),
        (
            bad(r#""package": "good""#, r#""package": "good@latest""#),
            "`package`",
        ),
        (
            bad(
                r#""package": "good""#,
                r#""package": "good@npm:evil@1.0.0""#,
            ),
            "`package`",
        ),
        (
            bad(r#"{"npx": {"package": "good"}}"#, "{}"),
            "names no program",
        ),
        (
            bad(
                r#""description""#,
                r#""_meta": {"innkeeper": {"commands": ["../x"]}}, "description""#,
            ),
            "without directories",
        ),
        (
            bad(
                r#""description""#,
                r#""_meta": {"innkeeper": {"comands": []}}, "description""#,
            ),
            "unknown field `comands`",
        ),
        ("7".to_owned(), "invalid type"),
    ];
    for (row, expected) in cases {
        let all = with(&format!(
            r#"{{"agents": [{row}, {}]}}"#,
            good.replace("\"good\", \"name", "\"fine\", \"name")
        ));
        let [trouble] = all.troubles() else {
            panic!("{row}: {:?}", all.troubles());
        };
        assert!(trouble.contains("registry.json, entry 1"), "{trouble}");
        assert!(trouble.contains(expected), "{trouble}");
        assert!(all.row("fine").is_some(), "{row}");
    }
}

#[test]
fn a_file_that_cannot_be_read_leaves_what_the_host_comes_with() {
    let shipped = Registry::shipped().rows().len();
    for (text, expected) in [
        ("", "format"),
        ("[]", "format"),
        ("{\"agents\": {}}", "format"),
        (&" ".repeat(5 * 1024 * 1024), "larger than 4 MiB"),
    ] {
        let all = with(text);
        assert_eq!(all.rows().len(), shipped);
        assert!(all.troubles()[0].contains(expected), "{:?}", all.troubles());
        assert!(all.troubles()[0].contains(FILE));
    }
    let missing = Registry::with_file(Path::new("/nowhere/registry.json"));
    assert_eq!(missing.troubles(), [""; 0]);
}

#[test]
fn a_file_that_is_something_else_is_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    let made = std::process::Command::new("mkfifo")
        .arg(place("pipe"))
        .status();
    assert!(made.unwrap().success());
    std::os::unix::fs::symlink(place("loop"), place("loop")).unwrap();
    let cases = [
        ("pipe", "it is not a file"),
        ("", "it is not a file"),
        ("loop", "cannot be read"),
    ];
    for (name, expected) in cases {
        let all = Registry::with_file(&place(name));
        assert_eq!(all.rows().len(), Registry::shipped().rows().len());
        assert!(all.troubles()[0].contains(expected), "{:?}", all.troubles());
    }
}
