//! `innkeeper sessions`, with and without a running host.

use std::fs;

use serde_json::Value;

use super::harness::Inn;

pub(super) fn summaries(inn: &Inn, flags: &[&str]) -> Vec<Value> {
    let args = [&["sessions", "list", "--json"], flags].concat();
    let listed = inn.call(&args).with(0).out;
    serde_json::from_str(&listed).unwrap()
}

/// The last segments of the sessions in the list.
pub(super) fn ids(inn: &Inn) -> Vec<String> {
    let listed = summaries(inn, &[]);
    let uris = listed.iter().map(|it| it["resource"].as_str().unwrap());
    uris.map(|uri| uri.rsplit('/').next().unwrap().to_owned())
        .collect()
}

fn first_id(inn: &Inn) -> String {
    ids(inn).swap_remove(0)
}

#[test]
fn before_there_is_anything_that_is_said() {
    let inn = Inn::new();
    let check = || {
        let said = inn.call(&["sessions"]).with(0).out;
        assert_eq!(said, "There are no sessions.\n");
        assert!(summaries(&inn, &[]).is_empty());
        inn.call(&["sessions", "show", "abcd"])
            .failed("unknown session `abcd`");
    };
    check();
    assert!(!inn.path("data").exists(), "nothing was made");
    let host = inn.serve(&[]);
    check();
    host.stop();
    let deleted = inn.call(&["sessions", "list", "--disposed"]).with(0).out;
    assert_eq!(deleted, "There are no deleted sessions.\n");
}

#[test]
fn what_was_said_can_be_listed_shown_and_exported() {
    let inn = Inn::new();
    inn.call(&["run", "The first question"]).with(0);
    inn.call(&["run", "error"]).with(1);
    let check = || {
        let listed = inn.call(&["sessions"]).with(0).out;
        let lines: Vec<&str> = listed.lines().collect();
        assert_eq!(lines.len(), 3, "{listed}");
        assert!(lines[0].starts_with("ID ") && lines[0].contains("STATUS"));
        assert!(
            lines[1].contains("failed") && lines[1].contains("error"),
            "{listed}"
        );
        assert!(lines[2].contains("idle") && lines[2].contains("The first question"));
        let id = lines[2].split(' ').next().unwrap();
        let shown = inn.call(&["sessions", "show", id]).with(0).out;
        assert!(shown.contains("\n> The first question\n"), "{shown}");
        let document = inn.call(&["sessions", "export", id]).with(0).out;
        assert!(document.starts_with("# The first question\n"), "{document}");
        assert!(document.contains("<summary>Reasoning</summary>"));
        let data = inn
            .call(&["sessions", "export", id, "--format", "json"])
            .with(0);
        let data: Value = serde_json::from_str(&data.out).unwrap();
        let turn = &data["chats"][0]["turns"][0];
        assert_eq!(turn["message"]["text"], "The first question");
        assert_eq!(turn["state"], "complete");
        assert_eq!(data["session"]["lifecycle"], "ready");
    };
    check();
    let host = inn.serve(&[]);
    check();
    host.stop();
}

#[test]
fn a_deleted_session_can_be_restored() {
    let inn = Inn::new();
    inn.call(&["run", "Keep me"]).with(0);
    let id = first_id(&inn);
    inn.call(&["sessions", "delete", &id[..6]]).with(0);
    assert!(summaries(&inn, &[]).is_empty());
    let deleted = summaries(&inn, &["--disposed"]);
    assert_eq!(deleted[0]["title"], "Keep me");
    assert!(deleted[0]["disposedAt"].is_string());
    inn.call(&["sessions", "show", &id])
        .failed("unknown session");
    inn.call(&["sessions", "restore", &id]).with(0);
    let shown = inn.call(&["sessions", "show", &id]).with(0).out;
    assert!(shown.contains("> Keep me"), "{shown}");
}

#[test]
fn beside_a_running_host_deleting_goes_through_it() {
    let inn = Inn::new();
    let host = inn.serve(&[]);
    inn.call(&["run", "Delete me"]).with(0);
    let id = first_id(&inn);
    inn.call(&["sessions", "delete", &id]).with(0);
    assert!(summaries(&inn, &[]).is_empty());
    inn.call(&["sessions", "restore", &id])
        .failed("stop it with `innkeeper stop`");
    host.stop();
    inn.call(&["sessions", "restore", &id]).with(0);
    assert_eq!(summaries(&inn, &[])[0]["title"], "Delete me");
}

#[test]
fn what_could_be_several_sessions_is_not_guessed() {
    let inn = Inn::new();
    inn.call(&["run", "one"]).with(0);
    inn.call(&["run", "two"]).with(0);
    inn.call(&["sessions", "show", "xyz"])
        .failed("`innkeeper sessions list`");
    let listed = summaries(&inn, &[]);
    let uri = listed[1]["resource"].as_str().unwrap();
    let shown = inn.call(&["sessions", "show", uri]).with(0).out;
    assert!(shown.contains("> one"), "{shown}");
}

#[test]
fn a_session_is_deleted_by_its_beginning_only() {
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "Keep me"]).with(0);
    let id = first_id(&inn);
    let end = &id[id.len() - 6..];
    inn.call(&["sessions", "delete", end])
        .failed("unknown session");
    inn.call(&["sessions", "delete", &id[..3]])
        .failed("give at least 4 characters");
    assert_eq!(first_id(&inn), id);
    inn.call(&["sessions", "delete", "--yes", &id[..4]]).with(0);
    assert!(summaries(&inn, &[]).is_empty());
}

/// Only where there is `script`, which gives the program a terminal.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_deleting_asks_first() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "Keep me"]).with(0);
    let id = first_id(&inn);
    let data = inn.path("data");
    let program = env!("CARGO_BIN_EXE_innkeeper");
    let delete = format!(
        "'{program}' sessions delete {id} --data-dir '{}'",
        data.display()
    );
    for (answer, stays) in [("n\n", true), ("\n", true), ("y\n", false)] {
        let spawned = Command::new("script")
            .args(["--quiet", "--return", "--command", &delete, "/dev/null"])
            .env("HOME", inn.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut terminal) = spawned else {
            return;
        };
        let mut input = terminal.stdin.take().unwrap();
        input.write_all(answer.as_bytes()).unwrap();
        let ended = terminal.wait_with_output().unwrap();
        drop(input);
        let said = String::from_utf8_lossy(&ended.stdout);
        let question = format!("Delete \"Keep me\" (ahp-session:/{id})? [y/N]");
        assert!(said.contains(&question), "{said}");
        assert_eq!(ended.status.code(), Some(i32::from(stays)), "{said}");
        assert_eq!(summaries(&inn, &[]).len(), usize::from(stays));
    }
}

/// Whoever may not look is not told that there is nothing.
#[test]
fn a_database_that_cannot_be_looked_at_is_not_taken_for_none() {
    let inn = Inn::new();
    fs::create_dir(inn.path("data")).unwrap();
    std::os::unix::fs::symlink("innkeeper.db", inn.data("innkeeper.db")).unwrap();
    inn.call(&["sessions"])
        .failed("check its path and permissions");
    let said = inn.call(&["doctor"]).with(1).out;
    assert!(said.contains("problem   store: "), "{said}");
    std::os::unix::fs::symlink("innkeeper.lock", inn.data("innkeeper.lock")).unwrap();
    inn.call(&["status"])
        .failed("check its owner and permissions");
}

#[test]
fn directories_are_listed_as_paths_whatever_is_in_their_names() {
    let inn = Inn::new();
    let directory = inn.path("a b ä");
    fs::create_dir(&directory).unwrap();
    let path = directory.to_str().unwrap();
    inn.call(&["run", "-a", "script", "-C", path, "hello"])
        .with(0);
    let listed = inn.call(&["sessions"]).with(0).out;
    assert!(listed.contains("/a b ä\n"), "{listed}");
    let shown = inn.call(&["sessions", "show", &first_id(&inn)]).with(0).out;
    assert!(shown.contains(path), "{shown}");
    assert_eq!(summaries(&inn, &["-C", path]).len(), 1);
}

#[test]
fn a_data_directory_that_is_something_else_is_said_to_be_none() {
    let inn = Inn::new();
    inn.write("data", "");
    inn.call(&["run", "-a", "script", "hello"])
        .failed("it is not a directory");
}

#[test]
fn a_database_of_an_older_release_says_what_upgrades_it() {
    let inn = Inn::new();
    inn.serve(&[]).stop();
    let file = inn.data("innkeeper.db");
    let mut database = fs::read(&file).unwrap();
    // `PRAGMA user_version`, in the header of the file.
    let version = database.get_mut(60..64).unwrap();
    let older = u32::from_be_bytes(version.try_into().unwrap()) - 1;
    version.copy_from_slice(&older.to_be_bytes());
    fs::write(&file, database).unwrap();
    inn.call(&["sessions", "list"])
        .failed("run `innkeeper up` on this data directory once");
}
