//! What a client was told about the beginning or the end of a turn is there
//! after the host was killed at that very moment. The host that is killed
//! groups its writes for ten seconds, so nothing is stored by chance.

use std::path::Path;

use innkeeper_protocol::newest::state::{ChatState, TurnState};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::binary::Binary;
use crate::common::{Guest, Watch, default_chat, script};
use crate::stage::{act, queued};

const SESSION: &str = "ahp-session:/told";

struct Told {
    data: TempDir,
    host: Binary,
    guest: Guest,
    chat: String,
    watch: Watch<ChatState>,
}

impl Told {
    async fn open() -> Self {
        let data = tempfile::tempdir().unwrap();
        let host = start(data.path());
        let guest = Guest::arrive(&host.url, "a").await;
        guest.initialize(&[]).await;
        let params = json!({"channel": SESSION, "provider": "script"});
        guest.request("createSession", params).await.unwrap();
        let chat = default_chat(SESSION);
        let watch = guest.watch_chat(&chat).await;
        Self {
            data,
            host,
            guest,
            chat,
            watch,
        }
    }

    async fn play(&self, turn: &str, steps: Value) {
        self.guest.say(&self.chat, turn, &script(steps)).await;
    }

    /// What the next host shows.
    async fn killed(self) -> ChatState {
        self.host.kill();
        let host = start(self.data.path());
        let guest = Guest::arrive(&host.url, "b").await;
        guest.initialize(&[]).await;
        guest.snapshot(&self.chat).await
    }
}

fn start(data: &Path) -> Binary {
    let config = data.join("innkeeper.toml");
    std::fs::write(&config, "[store]\ngroup_commit_ms = 10000\n").unwrap();
    Binary::start(data, &["--config", config.to_str().unwrap()])
}

#[tokio::test]
async fn a_turn_that_a_client_saw_end_has_ended_after_a_kill() {
    let fails = json!({"fail": {"errorType": "oops", "message": "It broke."}});
    let ways = [
        (json!([{"say": "Done."}]), TurnState::Complete),
        (json!([{"say": "Well."}, fails]), TurnState::Error),
    ];
    for (steps, state) in ways {
        let mut told = Told::open().await;
        told.play("t", steps).await;
        told.watch.turn_end("t").await;
        let shown = told.watch.state.turns.clone();
        assert_eq!(shown[0].state, state);
        assert_eq!(told.killed().await.turns, shown);
    }
}

#[tokio::test]
async fn a_queued_turn_that_a_client_saw_begin_is_there_after_a_kill() {
    let mut told = Told::open().await;
    told.play("t", json!([{"awaitSteering": true}])).await;
    act(
        &told.guest,
        &told.chat,
        queued("q", "{\"steps\":[{\"sleep\":60000}]}"),
    )
    .await;
    act(
        &told.guest,
        &told.chat,
        crate::stage::pending("steering", "s", "Go on."),
    )
    .await;
    let begun = |chat: &ChatState| chat.turns.len() == 1 && chat.active_turn.is_some();
    told.watch.until("the queued turn", begun).await;
    let turn = told.watch.state.active_turn.clone().unwrap();
    let after = told.killed().await;
    let ids: Vec<&str> = after.turns.iter().map(|turn| &*turn.id).collect();
    assert_eq!(ids, ["t", &turn.id]);
    assert_eq!(after.queued_messages, None);
}
