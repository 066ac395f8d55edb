//! Searching all sessions, and what they have cost, over a real socket.

use serde_json::{Value, json};

use crate::stage::Stage;

async fn search(stage: &Stage, params: Value) -> Value {
    let found = stage
        .guest
        .request("innkeeper/searchSessions", params)
        .await;
    found.unwrap()
}

/// Waits until the index has everything: it follows what is stored.
async fn found(stage: &Stage, query: &str) -> Vec<Value> {
    loop {
        let page = search(stage, json!({"query": query, "in": ["answer"]})).await;
        if page["indexing"] != true {
            return page["items"].as_array().unwrap().clone();
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_was_said_is_found_until_its_session_is_gone() {
    let mut stage = Stage::open().await;
    stage
        .play("t1", json!([{"say": "The *oak* door is shut"}]))
        .await;
    stage.end("t1").await;
    let items = found(&stage, "oak doo").await;
    assert_eq!(items.len(), 1, "{items:?}");
    let item = &items[0];
    assert_eq!(item["session"], *stage.session);
    assert_eq!(item["chat"], *stage.chat);
    assert_eq!(
        (&item["turnId"], &item["provider"]),
        (&json!("t1"), &json!("script"))
    );
    assert_eq!(item["field"], "answer");
    let expected = json!({"text": "The *oak* door is shut", "marks": [[5, 8], [10, 14]]});
    assert_eq!(item["snippet"], expected);

    // Over a restart, at once.
    let stage = stage.reopen().await;
    let page = search(&stage, json!({"query": "oak", "in": ["answer"]})).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 1);

    stage.act(json!({"type": "chat/truncated"})).await;
    let mut stage = stage;
    stage
        .until("empty", |chat| chat["turns"].as_array().unwrap().is_empty())
        .await;
    let page = search(&stage, json!({"query": "oak", "in": ["answer"]})).await;
    assert_eq!(page["items"], json!([]));
    stage.close().await;
}

#[tokio::test]
async fn answers_to_questions_for_passwords_are_not_found() {
    let mut stage = Stage::open().await;
    let question = json!({
        "id": "p", "kind": "text", "message": "Password?", "required": true, "format": "password",
    });
    stage
        .play(
            "t1",
            json!([{"ask": {"id": "r", "message": "Sign in", "questions": [question]}}]),
        )
        .await;
    stage
        .until("a question", |chat| {
            let parts = chat["activeTurn"]["responseParts"].as_array();
            let mut parts = parts.into_iter().flatten();
            parts.any(|part| part["kind"] == "inputRequest")
        })
        .await;
    let answer = json!({"state": "submitted", "value": {"kind": "text", "value": "hunter2"}});
    stage
        .act(json!({
            "type": "chat/inputCompleted", "requestId": "r",
            "response": "accept", "answers": {"p": answer},
        }))
        .await;
    stage.end("t1").await;
    assert_eq!(found(&stage, "hunter2").await, Vec::<Value>::new());
    let everywhere = json!(["title", "message", "answer", "tool", "reasoning"]);
    let page = search(&stage, json!({"query": "hunter", "in": everywhere})).await;
    assert_eq!(page["items"], json!([]));
    stage.close().await;
}

#[tokio::test]
async fn what_turns_have_cost_is_told_by_day() {
    let mut stage = Stage::open().await;
    let usage = json!({"usage": {"inputTokens": 10, "outputTokens": 5, "model": "m"}});
    stage.play("t1", json!([usage, {"say": "Done"}])).await;
    let turn = stage.end("t1").await;
    assert!(turn["usage"].is_object(), "{turn}");
    found(&stage, "done").await;
    let params = json!({"session": stage.session});
    let told = stage
        .guest
        .request("innkeeper/usage", params)
        .await
        .unwrap();
    let items = told["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{told}");
    assert_eq!(
        (&items[0]["turns"], &items[0]["provider"]),
        (&json!(1), &json!("script"))
    );
    assert_eq!(items[0]["inputTokens"], turn["usage"]["inputTokens"]);
    let day = turn["startedAt"].as_str().unwrap();
    assert!(day.starts_with(items[0]["day"].as_str().unwrap()));
    stage.close().await;
}
