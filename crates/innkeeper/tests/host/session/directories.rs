//! Sessions that work in several directories.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::stage::{Stage, act, until};

const SESSION: &str = "ahp-session:/several";

fn directory(file: &str) -> (TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(file), "").unwrap();
    let uri = format!("file://{}", directory.path().display());
    (directory, uri)
}

async fn session_in(directories: &[&String]) -> Stage {
    let Stage { inn, guest, .. } = Stage::open().await;
    let params = json!({
        "channel": SESSION, "provider": "script", "workingDirectories": directories,
    });
    guest.request("createSession", params).await.unwrap();
    let mut watch = guest.watch_session(SESSION).await;
    until(&mut watch, "ready", |s| s["lifecycle"] == "ready").await;
    Stage::on(inn, guest, SESSION.to_owned()).await
}

/// The files whose names are completed.
async fn completed(stage: &Stage, text: &str) -> Vec<Value> {
    let params = json!({"channel": stage.chat, "kind": "userMessage", "text": text,
                        "offset": text.len()});
    let result = stage.guest.request("completions", params).await.unwrap();
    let items = result["items"].as_array().unwrap().iter();
    items.map(|it| it["attachment"]["uri"].clone()).collect()
}

#[tokio::test]
async fn a_directory_that_is_added_is_searched_for_files_and_stays_after_a_restart() {
    let ((_a, first), (_b, second)) = (directory("alpha.txt"), directory("beta.txt"));
    let stage = session_in(&[&first]).await;
    assert!(completed(&stage, "@beta").await.is_empty());
    let mut watch = stage.watch_session().await;
    let add = json!({"type": "session/workingDirectorySet", "directory": second});
    act(&stage.guest, SESSION, add).await;
    let both = json!([first, second]);
    until(&mut watch, "both", |s| s["workingDirectories"] == both).await;
    assert_eq!(
        completed(&stage, "@beta").await,
        [json!(format!("{second}/beta.txt"))]
    );
    let stage = stage.reopen().await;
    let watch = stage.watch_session().await;
    assert_eq!(json!(watch.state)["workingDirectories"], both);
    assert_eq!(completed(&stage, "@beta").await.len(), 1);
    stage.close().await;
}

#[tokio::test]
async fn a_session_of_several_directories_is_refused_if_one_is_not_there() {
    let (_a, first) = directory("alpha.txt");
    let stage = session_in(&[&first]).await;
    let missing = format!("{first}/missing");
    let params = json!({"channel": "ahp-session:/none", "provider": "script",
                        "workingDirectories": [first, missing]});
    let refused = stage.guest.request("createSession", params).await;
    assert!(refused.is_err());
    let mut watch = stage.watch_session().await;
    let add = json!({"type": "session/workingDirectorySet", "directory": missing});
    let seq = act(&stage.guest, SESSION, add).await;
    let reason = watch.rejection(seq).await;
    assert!(reason.contains("missing"), "{reason}");
    assert_eq!(json!(watch.state)["workingDirectories"], json!([first]));
    stage.close().await;
}

#[tokio::test]
async fn the_agent_writes_in_the_directory_that_replaced_its_first_one() {
    let ((_a, first), (b, second)) = (directory("alpha.txt"), directory("beta.txt"));
    let mut stage = session_in(&[&first]).await;
    stage.play("before", json!([{"say": "hello"}])).await;
    stage.end("before").await;
    let mut watch = stage.watch_session().await;
    let replace = json!({"type": "session/workingDirectoryReplaced", "directory": first,
                         "replacement": second});
    act(&stage.guest, SESSION, replace).await;
    let only = json!([second]);
    until(&mut watch, "replaced", |s| s["workingDirectories"] == only).await;
    let edit = json!({"path": "new.txt", "content": "here"});
    stage.play("t", json!([{"edit": edit}])).await;
    stage.end("t").await;
    let written = fs::read_to_string(b.path().join("new.txt")).unwrap();
    assert_eq!(written, "here");
    stage.close().await;
}
