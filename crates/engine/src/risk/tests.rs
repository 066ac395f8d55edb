//! The rules, one by one, and what they must not say.

use serde_json::json;

use super::*;

const DIRECTORIES: &[&str] = &["file:///w/me/project", "file:///srv/other%20one"];

fn assessed(meta: Value, input: Option<&str>, edits: &[FileEdit]) -> Option<(String, f64)> {
    let directories: Vec<String> = DIRECTORIES.iter().map(|it| (*it).to_owned()).collect();
    let call = Call {
        meta: meta.as_object(),
        input,
        edits,
        directories: &directories,
    };
    match assess(&call, Locale::English)? {
        ToolCallRiskAssessment::Complete(ToolCallRiskAssessmentCompleteState {
            reason: StringOrMarkdown::Plain(reason),
            safety,
            ..
        }) => Some((reason, safety)),
        other => panic!("{other:?}"),
    }
}

fn command(line: &str) -> Option<String> {
    let meta = json!({"kind": "execute", "toolKind": "terminal"});
    Some(assessed(meta, Some(line), &[])?.0)
}

#[test]
fn commands_that_delete_say_so() {
    for (line, name) in [
        ("rm -rf build", "rm"),
        ("cd x && sudo rm y", "rm"),
        ("git clean -fdx", "git clean"),
        ("git reset --hard HEAD~1", "git reset"),
        ("find . -name '*.o' -delete", "find"),
        ("find . -exec rm {} +", "rm"),
        ("bash -c 'rm x'", "rm"),
        ("mkfs.ext4 disk", "mkfs.ext4"),
    ] {
        let said = command(line);
        assert_eq!(said, Some(format!("Deletes: {name}.")), "{line}");
    }
}

#[test]
fn commands_that_use_the_network_say_so() {
    for (line, name) in [
        ("curl -s example.com", "curl"),
        ("git push origin main", "git push"),
        ("npm install left-pad", "npm install"),
        ("cargo add serde", "cargo add"),
        ("python x.py https://example.com", "https://example.com"),
    ] {
        let said = command(line);
        assert_eq!(said, Some(format!("Uses the network: {name}.")), "{line}");
    }
}

#[test]
fn files_outside_the_directories_of_a_session_are_named() {
    for (line, name) in [
        ("cat /etc/passwd", "/etc/passwd"),
        ("cat ../../x", "../../x"),
        ("ls ~/.ssh", "~/.ssh"),
        ("echo x >/w/me/projects", "/w/me/projects"),
        ("tar --file=/tmp/x.tar .", "/tmp/x.tar"),
    ] {
        let said = command(line);
        let expected = format!("Touches files outside the working directory: {name}.");
        assert_eq!(said, Some(expected), "{line}");
    }
}

#[test]
fn of_what_no_rule_is_about_nothing_is_said() {
    for line in [
        "ls -la src",
        "cargo test --workspace",
        "git status && git diff",
        "cat /w/me/project/a.txt '/srv/other one/b'",
        "cat sub/../a.txt 2>/dev/null",
        "echo 'rm -rf /'",
        "npm run build",
    ] {
        assert_eq!(command(line), None, "{line}");
    }
}

#[test]
fn several_risks_are_worse_than_one() {
    let meta = json!({"toolKind": "terminal"});
    let one = assessed(meta.clone(), Some("rm x"), &[]).unwrap();
    let two = assessed(meta, Some("curl u | tee /etc/x && rm x"), &[]).unwrap();
    assert!(two.1 < one.1, "{two:?}");
    assert_eq!(
        two.0,
        "Deletes: rm. Touches files outside the working directory: /etc/x. \
         Uses the network: curl."
    );
}

#[test]
fn tools_that_are_not_commands_are_judged_by_their_kind_and_their_fields() {
    let nothing = json!({});
    for (meta, input, expected) in [
        (
            json!({"kind": "fetch"}),
            nothing.clone(),
            "Uses the network: fetch.",
        ),
        (
            json!({"kind": "delete", "locations": [{"path": "/w/me/project/a"}]}),
            nothing.clone(),
            "Deletes: /w/me/project/a.",
        ),
        (
            json!({"kind": "edit", "locations": [{"path": "/etc/hosts", "line": 1}]}),
            nothing,
            "Touches files outside the working directory: /etc/hosts.",
        ),
        (
            json!({}),
            json!({"url": "https://example.com", "headers": {}}),
            "Uses the network: https://example.com.",
        ),
        (
            json!({}),
            json!({"edits": [{"file_path": "/etc/hosts"}]}),
            "Touches files outside the working directory: /etc/hosts.",
        ),
        (json!({}), json!({"command": "rm x"}), "Deletes: rm."),
    ] {
        let said = assessed(meta.clone(), Some(&input.to_string()), &[]);
        assert_eq!(
            said.map(|it| it.0).as_deref(),
            Some(expected),
            "{meta} {input}"
        );
    }
}

#[test]
fn an_edit_without_a_later_side_deletes() {
    let edit: FileEdit = serde_json::from_value(json!({
        "before": {"uri": "file:///w/me/project/a%20b", "content": {"uri": "x:1"}},
    }))
    .unwrap();
    let said = assessed(json!({"kind": "edit"}), None, &[edit]).unwrap();
    assert_eq!(said.0, "Deletes: /w/me/project/a b.");
}

#[test]
fn names_are_short_and_hide_nothing() {
    let line = format!("cat '/etc/{}' '/\u{1b}[2K/x' /3 /4", "x".repeat(5_000));
    let said = command(&line).unwrap();
    assert!(said.len() < 300, "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
}

#[test]
fn an_input_of_any_size_is_judged_at_once() {
    let mut deep = json!({"path": "/etc/hosts"});
    for _ in 0..60 {
        deep = json!({"a": [deep, vec![1; 1_000]]});
    }
    assessed(json!({}), Some(&deep.to_string()), &[]);
}
