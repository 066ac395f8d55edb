//! Questions to the user.

use serde_json::{Value, json};

use crate::stage::{Stage, act, text, until};

fn question(more: Value) -> Value {
    crate::stage::with(
        json!({"kind": "text", "id": "name", "message": "Your name?"}),
        more,
    )
}

fn asks(questions: Value) -> Value {
    json!([
        {"ask": {"id": "r", "message": "Please", "questions": questions}},
        {"sayAnswer": "name"},
    ])
}

fn answer(state: &str, value: Value) -> Value {
    json!({
        "type": "chat/inputAnswerChanged", "requestId": "r", "questionId": "name",
        "answer": {"state": state, "value": value},
    })
}

fn says(text: &str) -> Value {
    json!({"kind": "text", "value": text})
}

fn completed(response: &str) -> Value {
    json!({"type": "chat/inputCompleted", "requestId": "r", "response": response})
}

/// The open request of the active turn.
async fn asked(stage: &mut Stage) -> Value {
    let chat = stage
        .until("the question", |chat| !open_request(chat).is_null())
        .await;
    open_request(&chat).clone()
}

fn open_request(chat: &Value) -> &Value {
    let parts = chat["activeTurn"]["responseParts"].as_array();
    let mut parts = parts.into_iter().flatten();
    let open = |part: &&Value| part["kind"] == "inputRequest" && part["response"].is_null();
    parts
        .find(open)
        .map_or(&Value::Null, |part| &part["request"])
}

fn input_needed(state: &Value) -> bool {
    state["status"]
        .as_u64()
        .is_some_and(|status| status & 24 == 24)
}

#[tokio::test]
async fn a_submitted_answer_reaches_the_agent() {
    let mut stage = Stage::open().await;
    stage
        .play("t", asks(json!([question(json!({"required": true}))])))
        .await;
    asked(&mut stage).await;
    stage.act(answer("submitted", says("Ada"))).await;
    stage.act(completed("accept")).await;
    let turn = stage.end("t").await;
    assert_eq!(
        text(&turn),
        r#"{"state":"submitted","value":{"kind":"text","value":"Ada"}}"#
    );
    let part = &turn["responseParts"][0];
    assert_eq!(part["response"], "accept");
    assert_eq!(part["request"]["answers"]["name"]["value"]["value"], "Ada");
    stage.close().await;
}

#[tokio::test]
async fn drafts_are_shared_between_clients_and_can_be_cleared() {
    let mut stage = Stage::open().await;
    let other = stage.inn.guest("b").await;
    let mut seen = other.watch_chat(&stage.chat).await;
    stage.play("t", asks(json!([question(json!({}))]))).await;
    asked(&mut stage).await;
    stage.act(answer("draft", says("Ad"))).await;
    until(&mut seen, "the draft", |chat| {
        open_request(chat)["answers"]["name"]["value"]["value"] == "Ad"
    })
    .await;
    act(&other, &stage.chat, answer("draft", says("Ada L."))).await;
    stage
        .until("the other's draft", |chat| {
            open_request(chat)["answers"]["name"]["value"]["value"] == "Ada L."
        })
        .await;
    let clear = json!({
        "type": "chat/inputAnswerChanged", "requestId": "r", "questionId": "name",
    });
    stage.act(clear).await;
    until(&mut seen, "no draft", |chat| {
        !open_request(chat).is_null() && open_request(chat)["answers"].is_null()
    })
    .await;
    stage.act(completed("decline")).await;
    assert_eq!(text(&stage.end("t").await), "decline");
    stage.close().await;
}

#[tokio::test]
async fn a_question_can_be_skipped_unless_it_is_required() {
    let mut stage = Stage::open().await;
    let optional = json!({"kind": "text", "id": "nick", "message": "?"});
    stage
        .play(
            "t",
            asks(json!([question(json!({"required": true})), optional])),
        )
        .await;
    asked(&mut stage).await;
    let skip = |id: &str| {
        json!({
            "type": "chat/inputAnswerChanged", "requestId": "r", "questionId": id,
            "answer": {"state": "skipped"},
        })
    };
    stage.act(skip("nick")).await;
    stage.act(skip("name")).await;
    let reason = stage.refused(completed("accept")).await;
    assert!(reason.contains("`name` must be answered"), "{reason}");
    stage.act(answer("submitted", says("Ada"))).await;
    stage.act(completed("accept")).await;
    let turn = stage.end("t").await;
    assert_eq!(
        turn["responseParts"][0]["request"]["answers"]["nick"]["state"],
        "skipped"
    );
    stage.close().await;
}

#[tokio::test]
async fn the_final_answers_may_come_with_the_acceptance() {
    let mut stage = Stage::open().await;
    stage
        .play("t", asks(json!([question(json!({"required": true}))])))
        .await;
    asked(&mut stage).await;
    let mut action = completed("accept");
    action["answers"] = json!({"name": {"state": "submitted", "value": says("Bo")}});
    stage.act(action).await;
    assert!(text(&stage.end("t").await).contains("Bo"));
    stage.close().await;
}

#[tokio::test]
async fn every_outcome_lets_the_turn_go_on() {
    let mut stage = Stage::open().await;
    for (turn, outcome) in [("t1", "decline"), ("t2", "cancel")] {
        stage.play(turn, asks(json!([question(json!({}))]))).await;
        asked(&mut stage).await;
        stage.act(completed(outcome)).await;
        assert_eq!(text(&stage.end(turn).await), outcome);
    }
    stage.close().await;
}

#[tokio::test]
async fn answers_that_do_not_fit_are_rejected() {
    let mut stage = Stage::open().await;
    let questions = json!([
        question(json!({"required": true, "min": 2, "max": 5})),
        {"kind": "integer", "id": "age", "message": "?", "min": 0, "max": 150},
        {"kind": "single-select", "id": "pick", "message": "?", "options": [{"id": "x", "label": "X"}]},
        {"kind": "multi-select", "id": "picks", "message": "?", "max": 1,
         "options": [{"id": "x", "label": "X"}, {"id": "y", "label": "Y"}]},
    ]);
    stage.play("t", asks(questions)).await;
    asked(&mut stage).await;
    let submitted = |id: &str, value: Value| {
        json!({
            "type": "chat/inputAnswerChanged", "requestId": "r", "questionId": id,
            "answer": {"state": "submitted", "value": value},
        })
    };
    let cases = [
        (
            submitted("name", json!({"kind": "number", "value": 1})),
            "must be a text",
        ),
        (submitted("name", says("A")), "at least 2 characters"),
        (submitted("name", says("Abcdefg")), "at most 5 characters"),
        (
            submitted("age", json!({"kind": "number", "value": 1.5})),
            "whole number",
        ),
        (
            submitted("age", json!({"kind": "number", "value": 200})),
            "at most 150",
        ),
        (
            submitted("pick", json!({"kind": "selected", "value": "z"})),
            "no choice `z`",
        ),
        (
            submitted(
                "picks",
                json!({"kind": "selected-many", "value": ["x", "y"]}),
            ),
            "at most 1 choices",
        ),
        (submitted("other", says("?")), "no question `other`"),
        (completed("accept"), "`name` must be answered"),
    ];
    for (action, expected) in cases {
        let reason = stage.refused(action.clone()).await;
        assert!(reason.contains(expected), "{action}: {reason}");
    }
    stage.act(completed("cancel")).await;
    stage.end("t").await;
    stage.close().await;
}

#[tokio::test]
async fn a_request_may_be_only_an_address_to_open() {
    let mut stage = Stage::open().await;
    let ask = json!({"id": "r", "message": "Log in", "url": "https://login.example/"});
    stage
        .play("t", json!([{"ask": ask}, {"sayAnswer": "r"}]))
        .await;
    let request = asked(&mut stage).await;
    assert_eq!(request["url"], "https://login.example/");
    stage.act(completed("accept")).await;
    assert_eq!(text(&stage.end("t").await), "accept");
    stage.close().await;
}

#[tokio::test]
async fn input_is_needed_exactly_while_something_waits_for_a_person() {
    let mut stage = Stage::open().await;
    let mut session = stage.watch_session().await;
    let steps = json!([
        {"ask": {"id": "r", "questions": [question(json!({}))]}},
        {"tool": {"name": "run", "input": "ls", "confirm": "ask"}},
    ]);
    stage.play("t", steps).await;
    let waits = |kind: &'static str| move |s: &Value| s["inputNeeded"][0]["kind"] == kind;
    let state = until(&mut session, "a question", waits("chatInput")).await;
    assert!(input_needed(&state), "{state}");
    assert!(input_needed(&json!(
        stage.until("status", input_needed).await
    )));
    stage.act(completed("decline")).await;
    let state = until(&mut session, "a confirmation", waits("toolConfirmation")).await;
    assert!(input_needed(&state), "{state}");
    let call = stage.call("pending-confirmation").await;
    stage.act(crate::stage::confirmed("t", &call, true)).await;
    stage.end("t").await;
    let idle = |s: &Value| s["inputNeeded"].as_array().is_none_or(Vec::is_empty);
    let state = until(&mut session, "nothing", idle).await;
    assert!(!input_needed(&state), "{state}");
    assert!(!input_needed(&json!(stage.watch.state)));
    stage.close().await;
}

#[tokio::test]
async fn a_question_goes_with_its_turn() {
    let mut stage = Stage::open().await;
    let mut session = stage.watch_session().await;
    stage.play("t", asks(json!([question(json!({}))]))).await;
    asked(&mut stage).await;
    stage.guest.cancel(&stage.chat, "t").await;
    let turn = stage.end("t").await;
    assert_eq!(turn["responseParts"][0]["response"], "cancel");
    let reason = stage.refused(completed("accept")).await;
    assert!(reason.contains("no request `r` is open"), "{reason}");
    until(&mut session, "nothing", |s| {
        s["inputNeeded"].as_array().is_none_or(Vec::is_empty)
    })
    .await;
    stage.close().await;
}

#[tokio::test]
async fn a_question_makes_the_session_unread() {
    let mut stage = Stage::open().await;
    let mut session = stage.watch_session().await;
    let steps =
        json!([{"awaitSteering": true}, {"ask": {"id": "r", "questions": [question(json!({}))]}}]);
    stage.play("t", steps).await;
    stage
        .until("running", |chat| chat["activeTurn"].is_object())
        .await;
    act(
        &stage.guest,
        &stage.session,
        json!({"type": "session/isReadChanged", "isRead": true}),
    )
    .await;
    until(&mut session, "read", |s| {
        s["status"].as_u64().unwrap() & 32 != 0
    })
    .await;
    stage
        .act(crate::stage::pending("steering", "s", "go on"))
        .await;
    asked(&mut stage).await;
    until(&mut session, "unread", |s| {
        s["status"].as_u64().unwrap() & 32 == 0
    })
    .await;
    stage.act(completed("cancel")).await;
    stage.end("t").await;
    stage.close().await;
}
