//! Completing a message while it is typed.

use std::fs;

use serde_json::{Value, json};

use crate::common::Guest;
use crate::stage::{Stage, until};

/// A session in a directory with some files.
async fn stage_with_files() -> (Stage, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    for file in [
        "src/main.rs",
        "src/lib.rs",
        "docs/guide.md",
        "target/main.rs",
    ] {
        let path = directory.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    fs::write(directory.path().join(".gitignore"), "target/\n").unwrap();
    let stage = Stage::open().await;
    let session = "ahp-session:/files";
    let uri = format!("file://{}", directory.path().display());
    let params = json!({"channel": session, "provider": "script", "workingDirectories": [uri]});
    stage.guest.request("createSession", params).await.unwrap();
    let mut watch = stage.guest.watch_session(session).await;
    until(&mut watch, "ready", |s| s["lifecycle"] == "ready").await;
    let Stage { inn, guest, .. } = stage;
    (Stage::on(inn, guest, session.to_owned()).await, directory)
}

async fn complete(guest: &Guest, channel: &str, text: &str, offset: usize) -> Vec<Value> {
    let params = json!({"channel": channel, "kind": "userMessage", "text": text, "offset": offset});
    let result = guest.request("completions", params).await.unwrap();
    result["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn files_of_the_working_directory_follow_an_at_sign() {
    let (stage, directory) = stage_with_files().await;
    for channel in [&stage.chat, &stage.session] {
        let items = complete(&stage.guest, channel, "see @smain", 10).await;
        assert_eq!(items.len(), 1, "what is ignored is not offered");
        assert_eq!(items[0]["insertText"], "@src/main.rs ");
        assert_eq!(
            (&items[0]["rangeStart"], &items[0]["rangeEnd"]),
            (&json!(4), &json!(10))
        );
        let attachment = &items[0]["attachment"];
        let uri = format!("file://{}/src/main.rs", directory.path().display());
        assert_eq!(
            (&attachment["type"], &attachment["uri"]),
            (&json!("resource"), &json!(uri))
        );
    }
    stage.close().await;
}

#[tokio::test]
async fn offsets_count_utf_16_units() {
    let (stage, _directory) = stage_with_files().await;
    let text = "🎉👩‍💻 @guide";
    let end = text.encode_utf16().count();
    let items = complete(&stage.guest, &stage.chat, text, end).await;
    assert_eq!(items[0]["insertText"], "@docs/guide.md ");
    assert_eq!(items[0]["rangeStart"], json!(end - 6));
    let params = json!({"channel": stage.chat, "kind": "userMessage", "text": text, "offset": 1});
    let refused = stage.guest.request("completions", params).await;
    assert_eq!(refused.unwrap_err().0, -32602);
    stage.close().await;
}

#[tokio::test]
async fn commands_of_the_agent_follow_a_leading_slash() {
    let (stage, _directory) = stage_with_files().await;
    let items = complete(&stage.guest, &stage.chat, "/sc", 3).await;
    assert_eq!(items[0]["insertText"], "/scenarios ");
    assert!(
        complete(&stage.guest, &stage.chat, "and /sc", 7)
            .await
            .is_empty()
    );
    assert!(
        complete(&stage.guest, &stage.chat, "plain", 5)
            .await
            .is_empty()
    );
    stage.close().await;
}

#[tokio::test]
async fn the_host_says_what_triggers_completions() {
    let stage = Stage::open().await;
    let guest = Guest::arrive(&stage.inn.url, "b").await;
    let welcome = guest.initialize(&[]).await;
    let triggers = welcome.completion_trigger_characters.unwrap();
    assert_eq!(triggers, ["@", "#", "/"]);
    stage.close().await;
}
