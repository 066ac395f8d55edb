//! Models, custom agents and drafts.

use serde_json::{Value, json};

use crate::common::script;
use crate::stage::{Stage, message, text, with};

fn turn(id: &str, message: Value) -> Value {
    json!({
        "type": "chat/turnStarted", "turnId": id, "message": message,
        "startedAt": "2026-01-01T00:00:00.000Z",
    })
}

#[tokio::test]
async fn the_model_with_its_config_and_the_custom_agent_reach_the_agent() {
    let mut stage = Stage::open().await;
    let model = json!({"id": "script-large", "config": {"effort": "high"}});
    let agent = json!({"uri": "script:/agents/reviewer"});
    let steps = script(json!([{"echo": "model"}, {"echo": "agent"}]));
    let chosen = with(message(&steps), json!({"model": model, "agent": agent}));
    stage.act(turn("t", chosen)).await;
    let ended = stage.end("t").await;
    let said: Vec<Value> = ended["responseParts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| serde_json::from_str(part["content"].as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(said, [model, agent]);
    stage.close().await;
}

#[tokio::test]
async fn an_unknown_model_or_custom_agent_is_rejected() {
    let mut stage = Stage::open().await;
    let model = with(message("hi"), json!({"model": {"id": "script-huge"}}));
    let reason = stage.refused(turn("t", model.clone())).await;
    assert!(reason.contains("no model `script-huge`"), "{reason}");
    let agent = with(
        message("hi"),
        json!({"agent": {"uri": "script:/agents/nobody"}}),
    );
    let reason = stage.refused(turn("t", agent)).await;
    assert!(reason.contains("no custom agent"), "{reason}");
    let draft = json!({"type": "chat/draftChanged", "draft": model});
    let reason = stage.refused(draft).await;
    assert!(reason.contains("no model `script-huge`"), "{reason}");
    stage.close().await;
}

#[tokio::test]
async fn a_selection_changed_in_the_draft_leaves_the_running_turn_as_it_is() {
    let mut stage = Stage::open().await;
    let steps = script(json!([{"awaitSteering": true}, {"echo": "model"}]));
    let small = with(message(&steps), json!({"model": {"id": "script-small"}}));
    stage.act(turn("t", small)).await;
    stage
        .until("running", |chat| chat["activeTurn"].is_object())
        .await;
    let draft = with(message(""), json!({"model": {"id": "script-large"}}));
    stage
        .act(json!({"type": "chat/draftChanged", "draft": draft}))
        .await;
    stage
        .until("the draft", |chat| {
            chat["draft"]["model"]["id"] == "script-large"
        })
        .await;
    stage
        .act(crate::stage::pending("steering", "s", "on"))
        .await;
    assert!(text(&stage.end("t").await).contains("script-small"));
    stage.close().await;
}

#[tokio::test]
async fn a_draft_is_shared_and_survives_a_restart() {
    let stage = Stage::open().await;
    let other = stage.inn.guest("b").await;
    let mut seen = other.watch_chat(&stage.chat).await;
    let draft = message("half a thou");
    stage
        .act(json!({"type": "chat/draftChanged", "draft": draft}))
        .await;
    crate::stage::until(&mut seen, "the draft", |chat| chat["draft"] == draft).await;
    let stage = stage.reopen().await;
    assert_eq!(json!(stage.watch.state.draft), draft);
    stage.close().await;
}

#[tokio::test]
async fn attachments_of_all_kinds_reach_the_agent_byte_for_byte() {
    let mut stage = Stage::open().await;
    let attachments = json!([
        {"type": "simple", "label": "note", "modelRepresentation": "n", "_meta": {"b": [1, {"a": null}], "a": "ü"}},
        {"type": "embeddedResource", "label": "pic", "data": "AAEC", "contentType": "image/png", "displayKind": "image"},
        {"type": "resource", "label": "main.rs", "uri": "file:///w/main.rs", "_meta": {"k": 1.5}},
        {"type": "annotations", "label": "Remarks", "resource": "ahp-session:/x/annotations", "annotationIds": ["a"]},
        {"type": "chat", "label": "Before", "resource": "ahp-chat:/before", "endTurn": "t0"},
        // Too large for the state: what the agent is given comes from the store.
        {"type": "embeddedResource", "label": "large", "data": "AAEC".repeat(20_000), "contentType": "image/png"},
    ]);
    let steps = script(json!([{"echo": "attachments"}]));
    let sent = with(message(&steps), json!({"attachments": attachments}));
    stage.act(turn("t", sent)).await;
    let said = text(&stage.end("t").await);
    let heard: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(heard, attachments);
    stage.close().await;
}
