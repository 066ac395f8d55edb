//! Watches over the wire.

use std::fs;

use innkeeper_protocol::newest::state::ResourceWatchState;
use serde_json::{Value, json};

use super::{stage, uri};
use crate::common::{Guest, Watch};

async fn create(guest: &Guest, params: Value) -> Result<String, i32> {
    let created = guest.request("createResourceWatch", params).await;
    let created = created.map_err(|(code, _)| code)?;
    Ok(created["channel"].as_str().unwrap().to_owned())
}

async fn until_told(watch: &mut Watch<ResourceWatchState>, ending: &str, kind: &str) {
    loop {
        let envelope = watch.next().await;
        let action = json!(envelope.action);
        assert_eq!(action["type"], "resourceWatch/changed");
        let items = action["changes"]["items"].as_array().unwrap().clone();
        assert!(!items.is_empty());
        let told =
            |item: &Value| item["uri"].as_str().unwrap().ends_with(ending) && item["type"] == kind;
        assert!(
            !items
                .iter()
                .any(|item| item["uri"].as_str().unwrap().contains("skipped"))
        );
        if items.iter().any(told) {
            return;
        }
    }
}

#[tokio::test]
async fn what_changes_is_told_to_those_who_listen() {
    let (stage, directory) = stage().await;
    let guest = &stage.guest;
    let params = json!({
        "uri": uri(directory.path()), "recursive": true, "excludes": {"items": ["skipped"]},
    });
    let channel = create(guest, params).await.unwrap();
    assert!(channel.starts_with("ahp-resource-watch:/"));
    let mut watch: Watch<ResourceWatchState> = guest.watch(&channel, None).await;
    assert_eq!(
        (watch.state.root.clone(), watch.state.recursive),
        (uri(directory.path()), true)
    );
    fs::create_dir_all(directory.path().join("skipped/x")).unwrap();
    fs::create_dir_all(directory.path().join("a/b")).unwrap();
    fs::write(directory.path().join("a/b/c"), "1").unwrap();
    until_told(&mut watch, "/a/b/c", "added").await;
    fs::write(directory.path().join("a/b/c"), "2").unwrap();
    until_told(&mut watch, "/a/b/c", "updated").await;
    fs::remove_dir_all(directory.path().join("a")).unwrap();
    until_told(&mut watch, "/a/b/c", "deleted").await;

    // Nobody listens any more: the channel is gone.
    guest
        .request("unsubscribe", json!({"channel": channel}))
        .await
        .unwrap();
    let gone = guest
        .request("subscribe", json!({"channel": channel}))
        .await;
    assert_eq!(gone.unwrap_err().0, -32001);
    stage.close().await;
}

#[tokio::test]
async fn what_is_not_open_cannot_be_watched() {
    let (stage, directory) = stage().await;
    let beside = tempfile::tempdir().unwrap();
    let guest = &stage.guest;
    assert_eq!(
        create(guest, json!({"uri": uri(beside.path())})).await,
        Err(-32009)
    );
    let missing = format!("{}/missing", uri(directory.path()));
    assert_eq!(create(guest, json!({"uri": missing})).await, Err(-32008));
    let broken = json!({"uri": uri(directory.path()), "includes": ["x"]});
    assert_eq!(create(guest, broken).await, Err(-32602));
    stage.close().await;
}
