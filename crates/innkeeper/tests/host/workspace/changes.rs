//! Changesets, git's state and operations on files, over a real socket, with a
//! real git in repositories of the test's own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use innkeeper_protocol::newest::state::ChangesetState;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{session_in, uri};
use crate::common::git::git;
use crate::common::{Guest, Inn, InnOptions, Watch, in_time};
use crate::stage::{Stage, until};

/// A repository with one commit, and a session in it.
async fn repository() -> (Stage, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    git(path, &["init", "--quiet", "--initial-branch=main"]);
    for (name, value) in [
        ("user.name", "Somebody"),
        ("user.email", "somebody@example.org"),
        ("commit.gpgSign", "false"),
        ("core.excludesFile", "/dev/null"),
    ] {
        git(path, &["config", name, value]);
    }
    std::fs::write(path.join("a.txt"), "one\n").unwrap();
    git(path, &["add", "--all"]);
    git(path, &["commit", "--quiet", "--message", "First"]);
    (stage_in(path).await, directory)
}

async fn stage_in(directory: &Path) -> Stage {
    let inn = Inn::open_with(InnOptions::default()).await;
    let guest = inn.guest("a").await;
    session_in(&guest, directory, "ahp-session:/w").await;
    Stage::on(inn, guest, "ahp-session:/w".to_owned()).await
}

/// The catalogue of a session, once it has one.
async fn catalogue(stage: &Stage) -> Vec<Value> {
    let mut session = stage.guest.watch_session(&stage.session).await;
    let offered = |session: &Value| session["changesets"].is_array();
    let session = until(&mut session, "a catalogue", offered).await;
    session["changesets"].as_array().unwrap().clone()
}

async fn channel_of(stage: &Stage, kind: &str) -> String {
    let catalogue = catalogue(stage).await;
    let found = catalogue.iter().find(|entry| entry["changeKind"] == kind);
    found.unwrap()["uriTemplate"].as_str().unwrap().to_owned()
}

async fn follow(stage: &Stage, channel: &str) -> Watch<ChangesetState> {
    let mut watch: Watch<ChangesetState> = stage.guest.watch(channel, None).await;
    until(&mut watch, "files", |it| it["status"] == "ready").await;
    watch
}

fn names(changeset: &Value) -> Vec<&str> {
    let files = changeset["files"].as_array().into_iter().flatten();
    let ids = files.filter_map(|file| file["id"].as_str());
    ids.filter_map(|id| id.rsplit('/').next()).collect()
}

fn edit(path: &str, content: &str) -> Value {
    json!({"edit": {"path": path, "content": content, "confirm": "none"}})
}

#[tokio::test]
async fn what_an_agent_edits_is_seen_at_once() {
    let (mut stage, _directory) = repository().await;
    let uncommitted = channel_of(&stage, "uncommitted").await;
    let mut watch = follow(&stage, &uncommitted).await;
    assert_eq!(names(&json!(watch.state)), Vec::<&str>::new());
    let steps = json!([edit("a.txt", "one\ntwo\n"), edit("new.txt", "new\n")]);
    stage.play("t1", steps).await;
    stage.end("t1").await;
    let both = |it: &Value| names(it).len() == 2;
    let shown = until(&mut watch, "both files", both).await;
    let first = &shown["files"][0]["edit"];
    assert_eq!(first["diff"], json!({"added": 1, "removed": 0}));
    // Both sides can be read.
    for (side, expected) in [("before", "one\n"), ("after", "one\ntwo\n")] {
        let uri = &first[side]["content"]["uri"];
        let params = json!({"channel": stage.session, "uri": uri});
        let read = stage.guest.request("resourceRead", params).await.unwrap();
        assert_eq!(read["data"], expected, "{side}");
    }
    stage.close().await;
}

#[tokio::test]
async fn a_branch_is_offered_and_found_at_the_addresses_that_editors_compute() {
    let (mut stage, directory) = repository().await;
    let here = directory.path();
    let kinds = |catalogue: &[Value]| catalogue.iter().any(|it| it["changeKind"] == "branch");
    assert!(!kinds(&catalogue(&stage).await), "on the default branch");
    let mut session = stage.guest.watch_session(&stage.session).await;
    git(here, &["checkout", "--quiet", "-b", "topic"]);
    let offered = |session: &Value| kinds(session["changesets"].as_array().unwrap());
    until(&mut session, "the branch's changeset", offered).await;
    git(here, &["mv", "a.txt", "b.txt"]);
    git(here, &["commit", "--quiet", "--message", "Second"]);
    let expected = ["b.txt"];
    let computed = format!("{}/changeset/branch", stage.session);
    for channel in [channel_of(&stage, "branch").await, computed] {
        let mut watch = follow(&stage, &channel).await;
        until(&mut watch, "the file", |it| names(it) == expected).await;
    }
    stage.play("t1", json!([edit("c.txt", "1\n")])).await;
    stage.end("t1").await;
    let computed = format!("{}/changeset/turn/t1", stage.session);
    let mut watch = follow(&stage, &computed).await;
    until(&mut watch, "the turn's file", |it| names(it) == ["c.txt"]).await;
    stage.close().await;
}

#[tokio::test]
async fn turns_have_changesets_of_their_own_over_a_restart() {
    let (mut stage, directory) = repository().await;
    stage.play("t1", json!([edit("a.txt", "1\n")])).await;
    stage.end("t1").await;
    // The state after a turn is kept when the turn has ended.
    let turn = channel_of(&stage, "turn").await;
    let first = turn.replace("{turnId}", "t1");
    let mut watch = follow(&stage, &first).await;
    let is_kept = |it: &Value| {
        let after = &it["files"][0]["edit"]["after"]["content"]["uri"];
        after
            .as_str()
            .is_some_and(|uri| uri.starts_with("innkeeper-blob:"))
    };
    until(&mut watch, "the state after the turn", is_kept).await;
    std::fs::write(directory.path().join("by hand.txt"), "x\n").unwrap();
    stage.play("t 2", json!([edit("b.txt", "2\n")])).await;
    stage.end("t 2").await;
    let compare = channel_of(&stage, "compare-turns").await;
    let session = channel_of(&stage, "session").await;
    let second = turn.replace("{turnId}", "t%202");
    let between = compare
        .replace("{originalTurnId}", "t1")
        .replace("{modifiedTurnId}", "t%202");
    let expected = [
        (first, vec!["a.txt"]),
        (second, vec!["b.txt"]),
        (between, vec!["b.txt", "by%20hand.txt"]),
        (session, vec!["a.txt", "b.txt", "by%20hand.txt"]),
    ];
    for (channel, files) in &expected {
        let mut watch = follow(&stage, channel).await;
        let right = |it: &Value| names(it) == *files;
        until(&mut watch, "the files of a view", right).await;
    }
    let Stage { inn, session, .. } = stage;
    let inn = inn.reopen(InnOptions::default()).await;
    let guest = inn.guest("a").await;
    let stage = Stage::on(inn, guest, session).await;
    for (channel, files) in &expected {
        let mut watch = follow(&stage, channel).await;
        let right = |it: &Value| names(it) == *files;
        until(&mut watch, "the files of a view", right).await;
    }
    stage.close().await;
}

#[tokio::test]
async fn lines_of_a_file_are_discarded_and_the_others_stay() {
    let (mut stage, directory) = repository().await;
    let file = directory.path().join("a.txt");
    std::fs::write(&file, "1\n2\n3\n4\n5\n").unwrap();
    git(
        directory.path(),
        &["commit", "--quiet", "--all", "--message", "More"],
    );
    stage
        .play("t1", json!([edit("a.txt", "one\n2\n3\n4\n")]))
        .await;
    stage.end("t1").await;
    let channel = channel_of(&stage, "uncommitted").await;
    let mut watch = follow(&stage, &channel).await;
    let shows = |added: u32, removed: u32| {
        move |it: &Value| {
            let diff = &it["files"][0]["edit"]["diff"];
            let offered = &it["operations"][0]["scopes"];
            let ranges = offered
                .as_array()
                .is_some_and(|it| it.contains(&json!("range")));
            ranges && diff["added"] == added && diff["removed"] == removed
        }
    };
    until(&mut watch, "both places", shows(1, 2)).await;
    let invoke = |side: &str, start: u32, end: u32| {
        let at = |line: u32| json!({"line": line, "character": 0});
        let range = json!({"start": at(start), "end": at(end)});
        let target = json!({"kind": "range", "resource": uri(&file), "side": side, "range": range});
        let params = json!({"channel": channel, "operationId": "discard", "target": target});
        stage.guest.request("invokeChangesetOperation", params)
    };
    let read = || std::fs::read_to_string(&file).unwrap();
    let (_, why) = invoke("after", 1, 3).await.unwrap_err();
    assert!(why.contains("nothing has changed in these lines"), "{why}");
    invoke("before", 4, 5).await.unwrap();
    assert_eq!(read(), "one\n2\n3\n4\n5\n");
    until(&mut watch, "one place", shows(1, 1)).await;
    invoke("after", 0, 1).await.unwrap();
    assert_eq!(read(), "1\n2\n3\n4\n5\n");
    until(&mut watch, "nothing", |it| names(it).is_empty()).await;
    stage.close().await;
}

#[tokio::test]
async fn files_are_discarded_and_brought_back() {
    let (mut stage, directory) = repository().await;
    stage.play("t1", json!([edit("a.txt", "other\n")])).await;
    stage.end("t1").await;
    let channel = channel_of(&stage, "uncommitted").await;
    let mut watch = follow(&stage, &channel).await;
    let offers = |name: &'static str| {
        move |it: &Value| {
            let operations = it["operations"].as_array().into_iter().flatten();
            let mut ids = operations.map(|operation| operation["id"].clone());
            ids.any(|id| id == name)
        }
    };
    let shown = until(&mut watch, "an offer", offers("discard")).await;
    assert!(shown["operations"][0]["confirmation"].is_string());
    until(&mut watch, "the file", |it| names(it) == ["a.txt"]).await;
    let file = uri(&directory.path().join("a.txt"));
    let target = json!({"kind": "resource", "resource": file});
    let invoke = |operation: &str, target: Value| {
        let mut params = json!({"channel": channel, "operationId": operation});
        if !target.is_null() {
            params["target"] = target;
        }
        stage.guest.request("invokeChangesetOperation", params)
    };
    let done = invoke("discard", target.clone()).await.unwrap();
    assert_eq!(done["message"], "1 file is as before.");
    let read = || std::fs::read_to_string(directory.path().join("a.txt")).unwrap();
    assert_eq!(read(), "one\n");
    until(&mut watch, "nothing", |it| names(it).is_empty()).await;
    until(&mut watch, "an undo", offers("undo")).await;
    invoke("undo", Value::Null).await.unwrap();
    assert_eq!(read(), "other\n");
    until(&mut watch, "the file", |it| names(it) == ["a.txt"]).await;
    // Only what is offered, for what it is offered for.
    for (operation, target) in [("dance", Value::Null), ("commit", target)] {
        let (code, _) = invoke(operation, target).await.unwrap_err();
        assert_eq!(code, -32602, "{operation}");
    }
    let committed = invoke("commit", Value::Null).await.unwrap();
    let said = committed["message"].as_str().unwrap();
    assert!(said.starts_with("Committed as "), "{said}");
    until(&mut watch, "nothing", |it| names(it).is_empty()).await;
    assert_eq!(git(directory.path(), &["status", "--porcelain"]), "");
    stage.close().await;
}

#[tokio::test]
async fn what_git_says_is_in_the_session() {
    let (stage, directory) = repository().await;
    let mut session = stage.guest.watch_session(&stage.session).await;
    let on = |branch: &'static str, dirty: bool| {
        move |it: &Value| {
            let git = &it["_meta"]["git"];
            git["branch"] == branch && git["dirty"] == dirty
        }
    };
    until(&mut session, "the branch", on("main", false)).await;
    std::fs::write(directory.path().join("a.txt"), "two\n").unwrap();
    until(&mut session, "a change", on("main", true)).await;
    git(directory.path(), &["checkout", "--quiet", "-b", "topic"]);
    until(&mut session, "another branch", on("topic", true)).await;
    git(
        directory.path(),
        &["commit", "--quiet", "--all", "--message", "Second"],
    );
    until(&mut session, "a commit", on("topic", false)).await;
    stage.close().await;
}

#[tokio::test]
async fn a_directory_outside_of_git_has_changes_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut stage = stage_in(directory.path()).await;
    let kinds = catalogue(&stage).await;
    let kinds: Vec<&Value> = kinds.iter().map(|entry| &entry["changeKind"]).collect();
    assert_eq!(kinds, ["session", "turn", "compare-turns"]);
    stage.play("t1", json!([edit("a.txt", "1\n")])).await;
    stage.end("t1").await;
    let channel = channel_of(&stage, "turn").await.replace("{turnId}", "t1");
    let mut watch = follow(&stage, &channel).await;
    until(&mut watch, "the file", |it| names(it) == ["a.txt"]).await;
    assert!(std::fs::read_dir(directory.path()).unwrap().count() == 1);
    stage.close().await;
}

#[tokio::test]
async fn a_changeset_that_cannot_be_told_says_why() {
    let (stage, _directory) = repository().await;
    let channel = channel_of(&stage, "turn").await.replace("{turnId}", "t9");
    let mut watch: Watch<ChangesetState> = stage.guest.watch(&channel, None).await;
    let failed = until(&mut watch, "an error", |it| it["status"] == "error").await;
    assert_eq!(
        failed["error"]["message"],
        "the files were not kept at that time"
    );
    let (code, _) = stage
        .guest
        .request("subscribe", json!({"channel": "ahp-changeset:/x/y"}))
        .await
        .unwrap_err();
    assert_eq!(code, -32001);
    stage.close().await;
}

#[tokio::test]
async fn a_disposed_session_leaves_nothing_in_the_repository() {
    let (mut stage, directory) = repository().await;
    stage.play("t1", json!([edit("a.txt", "1\n")])).await;
    stage.end("t1").await;
    let params = json!({"channel": stage.session});
    stage.guest.request("disposeSession", params).await.unwrap();
    let Stage { inn, .. } = stage;
    inn.close().await;
    let kept = git(directory.path(), &["for-each-ref", "refs/innkeeper"]);
    assert_eq!(kept, "");
}

#[tokio::test]
async fn an_isolated_session_works_in_a_worktree_of_its_own() {
    let (stage, directory) = repository().await;
    let here = directory.path();
    git(here, &["branch", "topic"]);
    let ask = json!({
        "channel": "ahp-root://", "provider": "script", "property": "branch", "query": "top",
        "workingDirectory": uri(here),
    });
    let found = stage.guest.request("sessionConfigCompletions", ask).await;
    assert_eq!(found.unwrap()["items"][0]["value"], "topic");
    let create = |session: &str, branch: &str| {
        let params = json!({
            "channel": session, "provider": "script", "workingDirectories": [uri(here)],
            "config": {"isolation": "worktree", "branch": branch},
        });
        stage.guest.request("createSession", params)
    };
    create("ahp-session:/alone", "topic").await.unwrap();
    let mut watch = stage.guest.watch_session("ahp-session:/alone").await;
    let ready = until(&mut watch, "ready", |it| it["lifecycle"] == "ready").await;
    let tree = ready["workingDirectories"][0].as_str().unwrap().to_owned();
    let tree = Path::new(tree.strip_prefix("file://").unwrap()).to_owned();
    assert_eq!(git(&tree, &["branch", "--show-current"]), "innkeeper/alone");
    let chat = crate::common::default_chat("ahp-session:/alone");
    let steps = json!([edit("a.txt", "other\n")]);
    let mut turns = stage.guest.watch_chat(&chat).await;
    let script = crate::common::script(steps);
    stage.guest.say(&chat, "t1", &script).await;
    turns.turn_end("t1").await;
    assert_eq!(
        std::fs::read_to_string(tree.join("a.txt")).unwrap(),
        "other\n"
    );
    assert_eq!(
        std::fs::read_to_string(here.join("a.txt")).unwrap(),
        "one\n"
    );
    // One that has no such branch fails, and says why.
    create("ahp-session:/lost", "nowhere").await.unwrap();
    let mut watch = stage.guest.watch_session("ahp-session:/lost").await;
    let failed = |it: &Value| it["creationError"].is_object();
    let failed = until(&mut watch, "a failure", failed).await;
    let said = failed["creationError"]["message"].as_str().unwrap();
    assert!(said.contains("nowhere"), "{said}");
    // Uncommitted work outlives the session, over restarts.
    let params = json!({"channel": "ahp-session:/alone"});
    stage.guest.request("disposeSession", params).await.unwrap();
    let Stage { inn, .. } = stage;
    let inn = inn.reopen(InnOptions::default()).await;
    assert_eq!(
        std::fs::read_to_string(tree.join("a.txt")).unwrap(),
        "other\n"
    );
    inn.close().await;
}

/// A repository with a session in a working tree of its own, and another
/// session in the same tree.
async fn shared_tree() -> (Stage, TempDir, PathBuf) {
    let (stage, directory) = repository().await;
    let params = json!({
        "channel": "ahp-session:/first", "provider": "script",
        "workingDirectories": [uri(directory.path())], "config": {"isolation": "worktree"},
    });
    stage.guest.request("createSession", params).await.unwrap();
    let mut watch = stage.guest.watch_session("ahp-session:/first").await;
    let ready = until(&mut watch, "ready", |it| it["lifecycle"] == "ready").await;
    let tree = ready["workingDirectories"][0].as_str().unwrap();
    let tree = PathBuf::from(tree.strip_prefix("file://").unwrap());
    session_in(&stage.guest, &tree, "ahp-session:/second").await;
    (stage, directory, tree)
}

async fn dispose(guest: &Guest, session: &str) {
    let params = json!({"channel": session});
    guest.request("disposeSession", params).await.unwrap();
}

#[tokio::test]
async fn a_working_tree_goes_with_the_last_of_its_sessions_over_a_restart() {
    let (stage, directory, tree) = shared_tree().await;
    dispose(&stage.guest, "ahp-session:/first").await;
    let Stage { inn, .. } = stage;
    let inn = inn.reopen(InnOptions::default()).await;
    assert!(tree.exists(), "somebody works there");
    dispose(&inn.guest("b").await, "ahp-session:/second").await;
    inn.close().await;
    assert!(!tree.exists());
    let here = directory.path();
    assert_eq!(git(here, &["branch", "--list", "innkeeper/*"]), "");
    assert_eq!(git(here, &["for-each-ref", "refs/innkeeper"]), "");
}

#[tokio::test]
async fn a_working_tree_that_its_host_could_not_remove_goes_when_the_next_one_begins() {
    let (stage, directory, tree) = shared_tree().await;
    let here = directory.path();
    // Git refuses to remove a locked one.
    git(here, &["worktree", "lock", tree.to_str().unwrap()]);
    dispose(&stage.guest, "ahp-session:/first").await;
    dispose(&stage.guest, "ahp-session:/second").await;
    let Stage { inn, .. } = stage;
    let unlock = |_: &Path| {
        assert!(tree.exists());
        git(here, &["worktree", "unlock", tree.to_str().unwrap()]);
    };
    let inn = inn.reopen_after(InnOptions::default(), unlock).await;
    let gone = async {
        while tree.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time("the working tree goes", gone).await;
    inn.close().await;
}
