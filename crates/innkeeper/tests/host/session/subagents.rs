//! Agents that let other agents work.

use serde_json::{Value, json};

use crate::stage::{Stage, act, confirmed, last_call, text, until};

fn delegates(steps: Value) -> Value {
    json!([{"subagent": {"title": "Look closer", "steps": steps}}, {"say": "thanks"}])
}

/// Waits for the chat of the sub-agent.
async fn worker(stage: &Stage) -> String {
    let mut session = stage.watch_session().await;
    let state = until(&mut session, "a second chat", |s| s["chats"][1].is_object()).await;
    state["chats"][1]["resource"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_sub_agent_works_in_a_chat_of_its_own_that_the_result_links_to() {
    let mut stage = Stage::open().await;
    stage
        .play(
            "t",
            delegates(json!([{"reason": "hm"}, {"say": "looks good"}])),
        )
        .await;
    let turn = stage.end("t").await;
    assert_eq!(text(&turn), "thanks");
    let link = &last_call(&turn)["content"][0];
    assert_eq!(
        (&link["type"], &link["title"]),
        (&json!("subagent"), &json!("Look closer"))
    );
    let chat = link["resource"].as_str().unwrap();
    assert_eq!(chat, worker(&stage).await);
    let watch = stage.guest.watch_chat(chat).await;
    let state = json!(watch.state);
    let call = &last_call(&turn)["toolCallId"];
    let origin = json!({"kind": "tool", "chat": stage.chat, "toolCallId": call});
    assert_eq!(state["origin"], origin);
    assert_eq!(state["turns"][0]["state"], "complete");
    assert_eq!(text(&state["turns"][0]), "looks good");
    stage.close().await;
}

#[tokio::test]
async fn a_sub_agent_s_chat_takes_no_messages() {
    let mut stage = Stage::open().await;
    stage.play("t", delegates(json!([{"say": "x"}]))).await;
    stage.end("t").await;
    let chat = worker(&stage).await;
    let mut watch = stage.guest.watch_chat(&chat).await;
    assert_eq!(json!(watch.state)["interactivity"], "read-only");
    let seq = act(&stage.guest, &chat, crate::stage::queued("q", "hello")).await;
    assert!(watch.rejection(seq).await.contains("takes no messages"));
    stage.guest.say(&chat, "mine", "hello").await;
    let rejected = watch.next().await.rejection_reason;
    assert!(rejected.is_some_and(|reason| reason.contains("takes no messages")));
    stage.close().await;
}

#[tokio::test]
async fn a_sub_agent_s_tools_and_questions_wait_for_people_too() {
    let mut stage = Stage::open().await;
    let steps = json!([
        {"tool": {"name": "run", "input": "ls", "confirm": "ask"}},
        {"ask": {"id": "r", "questions": [{"kind": "text", "id": "q", "message": "?"}]}},
        {"sayAnswer": "q"},
    ]);
    stage.play("t", delegates(steps)).await;
    let chat = worker(&stage).await;
    let mut watch = stage.guest.watch_chat(&chat).await;
    let mut session = stage.watch_session().await;
    let needed = until(&mut session, "the roll-up", |s| {
        s["inputNeeded"][0].is_object()
    })
    .await;
    assert_eq!(needed["inputNeeded"][0]["chat"], json!(chat));
    let pending = |chat: &Value| last_call(&chat["activeTurn"])["status"] == "pending-confirmation";
    let state = until(&mut watch, "a confirmation", pending).await;
    let turn = state["activeTurn"]["id"].as_str().unwrap().to_owned();
    let call = last_call(&state["activeTurn"]).clone();
    act(&stage.guest, &chat, confirmed(&turn, &call, true)).await;
    let asked = |chat: &Value| chat["activeTurn"]["responseParts"][1]["kind"] == "inputRequest";
    until(&mut watch, "a question", asked).await;
    let answer = json!({
        "type": "chat/inputCompleted", "requestId": "r", "response": "accept",
        "answers": {"q": {"state": "submitted", "value": {"kind": "text", "value": "42"}}},
    });
    act(&stage.guest, &chat, answer).await;
    watch.turn_end(&turn).await;
    assert!(watch.text_of(&turn).contains("42"));
    assert_eq!(text(&stage.end("t").await), "thanks");
    stage.close().await;
}

#[tokio::test]
async fn a_sub_agent_can_be_cancelled_alone() {
    let mut stage = Stage::open().await;
    stage
        .play("t", delegates(json!([{"say": "a"}, {"sleep": 600_000}])))
        .await;
    let chat = worker(&stage).await;
    let mut watch = stage.guest.watch_chat(&chat).await;
    let state = until(&mut watch, "its turn", |chat| {
        chat["activeTurn"].is_object()
    })
    .await;
    let turn = state["activeTurn"]["id"].as_str().unwrap().to_owned();
    stage.guest.cancel(&chat, &turn).await;
    watch.turn_end(&turn).await;
    let turn = stage.end("t").await;
    assert_eq!(text(&turn), "thanks");
    assert_eq!(last_call(&turn)["success"], false);
    stage.close().await;
}

#[tokio::test]
async fn a_sub_agent_ends_with_the_turn_that_started_it() {
    let mut stage = Stage::open().await;
    stage
        .play("t", delegates(json!([{"sleep": 600_000}])))
        .await;
    let chat = worker(&stage).await;
    let mut watch = stage.guest.watch_chat(&chat).await;
    until(&mut watch, "its turn", |chat| {
        chat["activeTurn"].is_object()
    })
    .await;
    stage.guest.cancel(&stage.chat, "t").await;
    stage.end("t").await;
    let state = until(&mut watch, "the end", |chat| chat["turns"][0].is_object()).await;
    assert_eq!(state["turns"][0]["state"], "cancelled");
    stage.close().await;
}
