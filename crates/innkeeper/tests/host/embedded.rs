//! The host as a library: any store, no data directory, no socket.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use innkeeper::ahp::{Client, ClientConfig};
use innkeeper::protocol::newest::state::{ChatState, SnapshotState};
use innkeeper::protocol::version::Version;
use innkeeper::{Host, HostOptions, InProcess, MemoryDisk, ScriptAgent, StoreOptions};
use serde_json::{Value, json};

use crate::common::{default_chat, in_time};

const SESSION: &str = "ahp-session:/embedded";

async fn host_on(disk: &MemoryDisk) -> Host {
    let agents = vec![Arc::new(ScriptAgent::default()) as _];
    let store = disk.open(StoreOptions::default());
    let started = Host::start(HostOptions::default(), agents, store);
    started.await.unwrap()
}

async fn client_of(host: &Host) -> Client {
    let transport = InProcess::new(host.connect());
    let client = Client::connect(transport, ClientConfig::default());
    let client = client.await.unwrap();
    let hello = client.initialize("embedder".to_owned(), Version::supported(), Vec::new());
    hello.await.unwrap();
    client
}

async fn chat_of(client: &Client) -> ChatState {
    let params = json!({"channel": default_chat(SESSION)});
    let subscribed: Value = client.request("subscribe", params).await.unwrap();
    let state = serde_json::from_value(subscribed["snapshot"]["state"].clone());
    match state.unwrap() {
        SnapshotState::Chat(chat) => *chat,
        other => panic!("a chat was expected: {other:?}"),
    }
}

/// Runs one turn to its end.
async fn say_hello(client: &Client) {
    let chat = default_chat(SESSION);
    let turn = json!({
        "type": "chat/turnStarted", "turnId": "1",
        "message": {"text": "hello", "origin": {"kind": "user"}},
    });
    let turn = serde_json::from_value(turn).unwrap();
    client.dispatch(chat, turn).await.unwrap();
    in_time("the turn", async {
        while chat_of(client).await.turns.is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_host_stored_in_memory_the_next_one_on_it_has() {
    let disk = MemoryDisk::default();
    let host = host_on(&disk).await;
    let client = client_of(&host).await;
    let session = json!({"channel": SESSION, "provider": "script"});
    let created = client.request::<_, Value>("createSession", session);
    created.await.unwrap();
    say_hello(&client).await;
    let before = chat_of(&client).await;
    host.shutdown().await.unwrap();

    let host = host_on(&disk).await;
    let client = client_of(&host).await;
    assert_eq!(chat_of(&client).await.turns, before.turns);
    host.shutdown().await.unwrap();
}

#[tokio::test]
async fn without_a_data_directory_there_are_no_changes_to_speak_of() {
    let directory = tempfile::tempdir().unwrap();
    let host = host_on(&MemoryDisk::default()).await;
    let client = client_of(&host).await;
    let uri = format!("file://{}", directory.path().display());
    let session =
        json!({"channel": SESSION, "provider": "script", "workingDirectories": [uri.clone()]});
    let created = client.request::<_, Value>("createSession", session);
    created.await.unwrap();
    say_hello(&client).await;
    let params = json!({"channel": SESSION});
    let subscribed: Value = client.request("subscribe", params).await.unwrap();
    let state = &subscribed["snapshot"]["state"];
    assert_eq!(state["lifecycle"], "ready");
    assert_eq!(state.get("changesets"), None, "{state}");
    // Answered, although nobody looks for branches.
    let asked = json!({
        "channel": "ahp-root://", "provider": "script", "workingDirectory": uri,
        "property": "branch", "query": "",
    });
    let completed = client.request("sessionConfigCompletions", asked);
    let completed: Value = completed.await.unwrap();
    assert_eq!(completed["items"], json!([]));
    host.shutdown().await.unwrap();
}

#[test]
fn the_example_runs_a_turn() {
    let mut path = PathBuf::from(env!("CARGO_BIN_EXE_innkeeper"));
    path.set_file_name("examples");
    let ran = Command::new(path.join("embed")).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{ran:?}");
    assert!(said.contains("AHP 1.0.0\nHello!"), "{said}");
}
