//! Truncation, paging, and turns that are resumed.

use serde_json::{Value, json};

use crate::stage::{Stage, text};

async fn three_turns() -> Stage {
    let mut stage = Stage::open().await;
    for turn in ["one", "two", "three"] {
        stage.play(turn, json!([{"say": turn}])).await;
        stage.end(turn).await;
    }
    stage
}

fn truncated(turn: Option<&str>) -> Value {
    match turn {
        Some(turn) => json!({"type": "chat/truncated", "turnId": turn}),
        None => json!({"type": "chat/truncated"}),
    }
}

async fn remembered(stage: &mut Stage) -> Value {
    stage.play("recall", json!([{"echo": "history"}])).await;
    serde_json::from_str(&text(&stage.end("recall").await)).unwrap()
}

#[tokio::test]
async fn truncation_to_a_turn_keeps_it_and_the_agent_forgets_the_rest() {
    let mut stage = three_turns().await;
    stage.act(truncated(Some("one"))).await;
    stage
        .until("one turn", |chat| {
            chat["turns"].as_array().unwrap().len() == 1
        })
        .await;
    let history = remembered(&mut stage).await;
    assert_eq!(history["turns"], 1);
    assert!(
        history["last"].as_str().unwrap().contains("one"),
        "{history}"
    );
    stage.close().await;
}

#[tokio::test]
async fn truncation_to_nothing_empties_the_chat_and_the_agent_s_memory() {
    let mut stage = three_turns().await;
    stage.act(truncated(None)).await;
    stage
        .until("no turns", |chat| {
            chat["turns"].as_array().unwrap().is_empty()
        })
        .await;
    assert_eq!(
        remembered(&mut stage).await,
        json!({"turns": 0, "last": null})
    );
    stage.close().await;
}

#[tokio::test]
async fn truncation_to_an_unknown_turn_changes_nothing() {
    let mut stage = three_turns().await;
    stage.act(truncated(Some("four"))).await;
    stage
        .act(json!({"type": "chat/isArchivedChanged", "isArchived": true}))
        .await;
    stage
        .until("the marker", |chat| {
            chat["status"].as_u64().unwrap() & 64 != 0
        })
        .await;
    assert_eq!(stage.watch.state.turns.len(), 3);
    stage.close().await;
}

#[tokio::test]
async fn truncation_drops_a_running_turn_and_stops_the_agent() {
    let mut stage = three_turns().await;
    stage
        .play("busy", json!([{"say": "a"}, {"sleep": 600_000}]))
        .await;
    stage
        .until("running", |chat| {
            chat["activeTurn"]["responseParts"][0].is_object()
        })
        .await;
    stage.act(truncated(Some("two"))).await;
    let chat = stage
        .until("idle", |chat| chat["activeTurn"].is_null())
        .await;
    assert_eq!(chat["status"].as_u64().unwrap() & 31, 1, "idle");
    assert_eq!(remembered(&mut stage).await["turns"], 2);
    stage.close().await;
}

#[tokio::test]
async fn older_turns_are_fetched_page_by_page() {
    let stage = three_turns().await;
    let other = stage.inn.guest("b").await;
    let mut watch = other.watch(&stage.chat, Some(1)).await;
    let ids = |chat: &Value| -> Vec<String> {
        let turns = chat["turns"].as_array().unwrap().iter();
        turns
            .map(|turn| turn["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let chat = crate::stage::until::<innkeeper_protocol::newest::state::ChatState>(
        &mut watch,
        "a window",
        |chat| chat["turnsNextCursor"].is_string(),
    )
    .await;
    assert_eq!(ids(&chat), ["three"]);
    let params = json!({"channel": stage.chat, "cursor": chat["turnsNextCursor"]});
    other.request("fetchTurns", params).await.unwrap();
    let chat =
        crate::stage::until(&mut watch, "all", |chat| chat["turnsNextCursor"].is_null()).await;
    assert_eq!(ids(&chat), ["one", "two", "three"]);
    stage.close().await;
}

#[tokio::test]
async fn a_failed_turn_is_resumed_where_it_stopped() {
    let mut stage = Stage::open().await;
    let steps = json!([
        {"say": "before"}, {"fail": {"errorType": "e", "message": "no"}}, {"say": "after"},
    ]);
    stage.play("t", steps).await;
    assert_eq!(stage.end("t").await["state"], "error");
    stage
        .act(json!({"type": "chat/turnResume", "turnId": "t"}))
        .await;
    stage
        .until("complete", |chat| chat["turns"][0]["state"] == "complete")
        .await;
    let turn = json!(stage.watch.state.turns[0]);
    assert_eq!(text(&turn), "beforeafter");
    stage.close().await;
}
