//! What waits for a person is still there after a restart of the host.

use serde_json::json;

use crate::stage::{Stage, confirmed, last_call, message, queued, text};

#[tokio::test]
async fn a_pending_confirmation_is_there_after_a_restart_and_approving_runs_the_tool() {
    let mut stage = Stage::open().await;
    let result = json!({"success": true, "text": "listed"});
    let tool = json!({"name": "run", "input": "ls", "confirm": "ask", "result": result});
    stage
        .play(
            "t",
            json!([{"say": "before"}, {"tool": tool}, {"say": "after"}]),
        )
        .await;
    stage.call("pending-confirmation").await;
    let mut stage = stage.reopen().await;
    let call = stage.call("pending-confirmation").await;
    stage.act(confirmed("t", &call, true)).await;
    let turn = stage.end("t").await;
    assert_eq!(turn["state"], "complete");
    assert_eq!(last_call(&turn)["content"][0]["text"], "listed");
    assert_eq!(text(&turn), "beforeafter");
    stage.close().await;
}

#[tokio::test]
async fn denying_after_a_restart_lets_the_turn_go_on() {
    let mut stage = Stage::open().await;
    let tool = json!({"name": "run", "input": "ls", "confirm": "ask"});
    stage
        .play("t", json!([{"tool": tool}, {"say": "after"}]))
        .await;
    stage.call("pending-confirmation").await;
    let mut stage = stage.reopen().await;
    let call = stage.call("pending-confirmation").await;
    stage.act(confirmed("t", &call, false)).await;
    let turn = stage.end("t").await;
    assert_eq!(last_call(&turn)["reason"], "denied");
    assert_eq!(text(&turn), "after");
    stage.close().await;
}

#[tokio::test]
async fn an_open_question_is_there_after_a_restart_with_its_drafts() {
    let mut stage = Stage::open().await;
    let question = json!({"kind": "text", "id": "q", "message": "?"});
    let steps = json!([{"ask": {"id": "r", "questions": [question]}}, {"sayAnswer": "q"}]);
    stage.play("t", steps).await;
    stage
        .until("asked", |chat| {
            chat["activeTurn"]["responseParts"][0].is_object()
        })
        .await;
    let value = json!({"kind": "text", "value": "dra"});
    let draft = json!({
        "type": "chat/inputAnswerChanged", "requestId": "r", "questionId": "q",
        "answer": {"state": "draft", "value": value},
    });
    stage.act(draft).await;
    let drafted = |chat: &serde_json::Value| {
        chat["activeTurn"]["responseParts"][0]["request"]["answers"]["q"]["value"]["value"] == "dra"
    };
    stage.until("drafted", drafted).await;
    let mut stage = stage.reopen().await;
    stage.until("still drafted", drafted).await;
    let answer = json!({
        "type": "chat/inputCompleted", "requestId": "r", "response": "accept",
        "answers": {"q": {"state": "submitted", "value": {"kind": "text", "value": "final"}}},
    });
    stage.act(answer).await;
    assert!(text(&stage.end("t").await).contains("final"));
    stage.close().await;
}

#[tokio::test]
async fn queued_messages_and_the_draft_are_there_after_a_restart_and_go_on_when_somebody_acts() {
    let mut stage = Stage::open().await;
    stage.play("t", json!([{"sleep": 600_000}])).await;
    stage.act(queued("one", "first")).await;
    stage.act(queued("two", "second")).await;
    stage
        .act(json!({"type": "chat/draftChanged", "draft": message("half")}))
        .await;
    stage
        .until("drafted", |chat| chat["draft"].is_object())
        .await;
    let mut stage = stage.reopen().await;
    let state = json!(stage.watch.state);
    assert_eq!(state["queuedMessages"].as_array().unwrap().len(), 2);
    assert_eq!(state["draft"]["text"], "half");
    assert_eq!(stage.end("t").await["state"], "error");
    stage.act(queued("three", "third")).await;
    stage
        .until("all of them", |chat| {
            chat["turns"].as_array().unwrap().len() == 4
        })
        .await;
    let texts: Vec<&str> = stage
        .watch
        .state
        .turns
        .iter()
        .map(|t| t.message.text.as_str())
        .collect();
    assert_eq!(texts[1..], ["first", "second", "third"]);
    stage.close().await;
}
