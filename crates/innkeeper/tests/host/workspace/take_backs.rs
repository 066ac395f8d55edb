//! Turns that are taken back, with a real git: conversation and files in one
//! step, and back again.

use std::path::Path;

use innkeeper_protocol::newest::state::{ChatState, SessionState};
use serde_json::{Value, json};

use super::{session_in, uri};
use crate::common::git::git;
use crate::common::{Inn, InnOptions};
use crate::stage::{Stage, until};

const KEPT: &str = "ahp-chat:/kept";

async fn stage(directory: &Path) -> Stage {
    git(directory, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(directory.join("a"), "0\n").unwrap();
    git(directory, &["add", "--all"]);
    git(directory, &["commit", "--quiet", "--message", "First"]);
    let inn = Inn::open_with(InnOptions::default()).await;
    let guest = inn.guest("a").await;
    session_in(&guest, directory, "ahp-session:/w").await;
    let mut stage = Stage::on(inn, guest, "ahp-session:/w".to_owned()).await;
    for turn in 1..=3 {
        let edits = json!([
            {"edit": {"path": "a", "content": format!("{turn}\n"), "confirm": "none"}},
            {"edit": {"path": format!("new{turn}"), "content": "x\n", "confirm": "none"}},
            {"say": format!("Done {turn}")},
        ]);
        stage.play(&format!("t{turn}"), edits).await;
        stage.end(&format!("t{turn}")).await;
    }
    stage
}

fn read(directory: &Path, name: &str) -> Option<String> {
    std::fs::read_to_string(directory.join(name)).ok()
}

async fn turns(stage: &Stage, chat: &str) -> Vec<String> {
    let state: ChatState = stage.guest.snapshot(chat).await;
    state.turns.into_iter().map(|turn| turn.id).collect()
}

async fn take_back(stage: &Stage, turn: &str) -> Result<Value, (i64, String)> {
    let params = json!({"channel": stage.chat, "turnId": turn, "fork": KEPT, "files": true});
    let answer = stage.guest.request("innkeeper/takeBack", params).await;
    answer.map_err(|(code, reason)| (i64::from(code), reason))
}

#[tokio::test]
async fn conversation_and_files_go_back_to_before_a_turn_and_return() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mut stage = stage(here).await;
    std::fs::write(here.join("mine"), "by hand\n").unwrap();
    take_back(&stage, "t2").await.unwrap();
    assert_eq!(turns(&stage, &stage.chat).await, ["t1"]);
    assert_eq!(turns(&stage, KEPT).await, ["t1", "t2", "t3"]);
    assert_eq!(read(here, "a").as_deref(), Some("1\n"));
    assert_eq!(read(here, "new1").as_deref(), Some("x\n"));
    for gone in ["new2", "new3", "mine"] {
        assert_eq!(read(here, gone), None, "{gone}");
    }
    // The chat goes on from there, and its agent remembers what it holds.
    let edit = json!([
        {"edit": {"path": "a", "content": "other\n", "confirm": "none"}}, {"echo": "history"},
    ]);
    stage.play("t4", edit).await;
    stage.end("t4").await;
    let history: Value = serde_json::from_str(&stage.watch.text_of("t4")).unwrap();
    assert_eq!(history["turns"], 1);

    let params = json!({"channel": KEPT});
    let undone = stage.guest.request("innkeeper/undoTakeBack", params).await;
    assert_eq!(undone.unwrap(), json!({}));
    assert_eq!(read(here, "a").as_deref(), Some("3\n"));
    assert_eq!(read(here, "mine").as_deref(), Some("by hand\n"));
    assert_eq!(read(here, "new3").as_deref(), Some("x\n"));
    let session: SessionState = stage.guest.snapshot(&stage.session).await;
    assert_eq!(session.default_chat.as_deref(), Some(KEPT));
    assert_eq!(turns(&stage, &stage.chat).await, ["t1", "t4"]);
    // What was kept goes on with all that it remembers.
    let mut kept = stage.guest.watch_chat(KEPT).await;
    let script = crate::common::script(json!([{"echo": "history"}]));
    stage.guest.say(KEPT, "t5", &script).await;
    kept.turn_end("t5").await;
    let history: Value = serde_json::from_str(&kept.text_of("t5")).unwrap();
    assert_eq!(history["turns"], 3);
    stage.close().await;
}

#[tokio::test]
async fn what_was_taken_back_is_so_in_the_next_life() {
    let directory = tempfile::tempdir().unwrap();
    let stage = stage(directory.path()).await;
    take_back(&stage, "t1").await.unwrap();
    let stage = stage.reopen().await;
    assert_eq!(turns(&stage, &stage.chat).await, [""; 0]);
    assert_eq!(turns(&stage, KEPT).await.len(), 3);
    assert_eq!(read(directory.path(), "a").as_deref(), Some("0\n"));
    let params = json!({"channel": KEPT});
    let undone = stage.guest.request("innkeeper/undoTakeBack", params).await;
    assert_eq!(undone.unwrap(), json!({}));
    assert_eq!(read(directory.path(), "a").as_deref(), Some("3\n"));
    stage.close().await;
}

#[tokio::test]
async fn files_that_cannot_be_returned_leave_the_conversation_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let mut stage = stage(directory.path()).await;
    // The states before turns are gone.
    let refs = git(
        directory.path(),
        &["for-each-ref", "--format=%(refname)", "refs/innkeeper"],
    );
    for name in refs.lines().filter(|name| name.contains("/turns/")) {
        git(directory.path(), &["update-ref", "-d", name]);
    }
    let (code, reason) = take_back(&stage, "t2").await.unwrap_err();
    assert_eq!(code, -32603, "{reason}");
    assert_eq!(turns(&stage, &stage.chat).await.len(), 3);
    assert_eq!(read(directory.path(), "a").as_deref(), Some("3\n"));
    stage.play("t4", json!([{"say": "It goes on"}])).await;
    assert_eq!(stage.end("t4").await["state"], "complete");
    stage.close().await;
}

#[tokio::test]
async fn while_a_turn_runs_nothing_is_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut stage = stage(directory.path()).await;
    stage.play("t4", json!([{"awaitSteering": true}])).await;
    stage
        .until("a turn", |chat| chat["activeTurn"].is_object())
        .await;
    let (code, reason) = take_back(&stage, "t2").await.unwrap_err();
    assert_eq!(code, -32004, "{reason}");
    stage.guest.cancel(&stage.chat, "t4").await;
    stage.end("t4").await;
    take_back(&stage, "t2").await.unwrap();
    stage.close().await;
}

#[tokio::test]
async fn attempts_in_working_trees_of_their_own_are_told_to_everybody() {
    let directory = tempfile::tempdir().unwrap();
    let stage = stage(directory.path()).await;
    let session = "ahp-session:/attempt";
    let attempt = json!({"id": "one prompt", "number": 1, "count": 2});
    let params = json!({
        "channel": session, "provider": "script", "workingDirectories": [uri(directory.path())],
        "config": {"isolation": "worktree"}, "_meta": {"innkeeper": {"attempt": attempt}},
    });
    stage.guest.request("createSession", params).await.unwrap();
    let mut watch = stage.guest.watch_session(session).await;
    let state = until(&mut watch, "ready", |s| s["lifecycle"] == "ready").await;
    let mut told = attempt;
    told["directory"] = json!(uri(directory.path()));
    assert_eq!(state["_meta"]["innkeeper"]["attempt"], told);
    assert_ne!(state["workingDirectories"][0], told["directory"]);
    let stage = stage.reopen().await;
    let listed = stage
        .guest
        .request("listSessions", json!({"channel": "ahp-root://"}))
        .await;
    let listed = listed.unwrap();
    let mut rows = listed["items"].as_array().unwrap().iter();
    let row = rows.find(|row| row["resource"] == session).unwrap();
    assert_eq!(row["_meta"]["innkeeper"]["attempt"], told);
    stage.close().await;
}

/// Has the session in a working tree of its own write a file, and then kept.
async fn keep(stage: &Stage, session: &str, content: &str) -> Result<Value, (i32, String)> {
    let chat = crate::common::default_chat(session);
    let mut watch = stage.guest.watch_chat(&chat).await;
    let edit = json!([{"edit": {"path": "a", "content": content, "confirm": "none"}}]);
    let turn = format!("turn {content}");
    stage
        .guest
        .say(&chat, &turn, &crate::common::script(edit))
        .await;
    watch.turn_end(&turn).await;
    let mut state = stage.guest.watch_session(session).await;
    let offers = |it: &Value| it["changesets"].is_array();
    let state = until(&mut state, "changesets", offers).await;
    let mut all = state["changesets"].as_array().unwrap().iter();
    let whole = all.find(|it| it["changeKind"] == "session").unwrap();
    let channel = whole["uriTemplate"].as_str().unwrap();
    let mut changes: crate::common::Watch<innkeeper_protocol::newest::state::ChangesetState> =
        stage.guest.watch(channel, None).await;
    let offered = |it: &Value| {
        let operations = it["operations"].as_array();
        let mut operations = operations.into_iter().flatten();
        operations.any(|operation| operation["id"] == "keep")
    };
    until(&mut changes, "the operation", offered).await;
    let params = json!({"channel": channel, "operationId": "keep"});
    stage
        .guest
        .request("invokeChangesetOperation", params)
        .await
}

#[tokio::test]
async fn an_attempt_is_kept_in_the_directory_that_it_was_made_for_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    git(here, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(here.join("a"), "0\n").unwrap();
    git(here, &["add", "--all"]);
    git(here, &["commit", "--quiet", "--message", "First"]);
    let inn = Inn::open_with(InnOptions::default()).await;
    let guest = inn.guest("a").await;
    for number in 1..=2 {
        let params = json!({
            "channel": format!("ahp-session:/{number}"), "provider": "script",
            "workingDirectories": [uri(here)], "config": {"isolation": "worktree"},
            "_meta": {"innkeeper": {"attempt": {"id": "p", "number": number, "count": 2}}},
        });
        guest.request("createSession", params).await.unwrap();
        let mut watch = guest.watch_session(&format!("ahp-session:/{number}")).await;
        until(&mut watch, "ready", |s| s["lifecycle"] == "ready").await;
    }
    let stage = Stage::on(inn, guest, "ahp-session:/1".to_owned()).await;
    // What somebody has done here meanwhile stays.
    std::fs::write(here.join("mine"), "by hand\n").unwrap();
    keep(&stage, "ahp-session:/1", "first\n").await.unwrap();
    assert_eq!(read(here, "a").as_deref(), Some("first\n"));
    assert_eq!(read(here, "mine").as_deref(), Some("by hand\n"));
    let refused = keep(&stage, "ahp-session:/2", "second\n").await;
    let (code, reason) = refused.unwrap_err();
    assert_eq!(code, -32603);
    assert!(reason.contains("(see a)"), "{reason}");
    assert_eq!(read(here, "a").as_deref(), Some("first\n"));
    stage.close().await;
}
