//! The session channel's table of validation rules, row by row.

use serde_json::json;

use crate::stage::{Stage, act, confirmed};

#[tokio::test]
async fn an_action_for_a_session_that_is_not_there_is_ignored_in_silence() {
    let mut stage = Stage::open().await;
    let action = json!({"type": "session/titleChanged", "title": "x"});
    act(&stage.guest, "ahp-session:/none", action).await;
    act(
        &stage.guest,
        "ahp-chat:/none",
        json!({"type": "chat/truncated"}),
    )
    .await;
    // Had there been an echo, it would have come before this one.
    stage
        .act(json!({"type": "chat/isArchivedChanged", "isArchived": true}))
        .await;
    stage
        .until("the marker", |chat| {
            chat["status"].as_u64().unwrap() & 64 != 0
        })
        .await;
    assert_eq!(stage.watch.envelopes.len(), 1);
    stage.close().await;
}

#[tokio::test]
async fn tool_call_confirmed_is_rejected_unless_the_call_is_pending() {
    let mut stage = Stage::open().await;
    let tool = json!({"name": "run", "input": "ls"});
    stage
        .play("t", json!([{"tool": tool}, {"awaitSteering": true}]))
        .await;
    let call = stage.call("completed").await;
    let reason = stage.refused(confirmed("t", &call, true)).await;
    assert!(reason.contains("nothing to confirm"), "{reason}");
    stage.guest.cancel(&stage.chat, "t").await;
    stage.end("t").await;
    stage.close().await;
}

#[tokio::test]
async fn turn_cancelled_is_rejected_without_a_turn() {
    let mut stage = Stage::open().await;
    let action = json!({"type": "chat/turnCancelled", "turnId": "t", "duration": 0});
    let reason = stage.refused(action).await;
    assert!(reason.contains("no turn is running"), "{reason}");
    stage.close().await;
}

#[tokio::test]
async fn input_answer_changed_is_rejected_for_an_unknown_request() {
    let mut stage = Stage::open().await;
    let action = json!({"type": "chat/inputAnswerChanged", "requestId": "r", "questionId": "q"});
    let reason = stage.refused(action).await;
    assert!(reason.contains("no request `r` is open"), "{reason}");
    stage.close().await;
}

#[tokio::test]
async fn input_answer_changed_is_rejected_without_the_value_that_its_state_needs() {
    let mut stage = Stage::open().await;
    let question = json!({"kind": "text", "id": "q", "message": "?"});
    stage
        .play("t", json!([{"ask": {"id": "r", "questions": [question]}}]))
        .await;
    stage
        .until("asked", |chat| {
            chat["activeTurn"]["responseParts"][0].is_object()
        })
        .await;
    for answer in [
        json!({"state": "submitted"}),
        json!({"state": "draft", "value": {"kind": "text"}}),
    ] {
        let action = json!({
            "type": "chat/inputAnswerChanged", "requestId": "r", "questionId": "q", "answer": answer,
        });
        let params = json!({"channel": stage.chat, "clientSeq": 77, "action": action});
        stage
            .guest
            .client
            .notify("dispatchAction", params)
            .await
            .unwrap();
        let reason = stage.watch.rejection(77).await;
        assert!(!reason.is_empty(), "{answer}");
    }
    stage.guest.cancel(&stage.chat, "t").await;
    stage.end("t").await;
    stage.close().await;
}

#[tokio::test]
async fn input_completed_is_rejected_for_an_unknown_request() {
    let mut stage = Stage::open().await;
    let action = json!({"type": "chat/inputCompleted", "requestId": "r", "response": "accept"});
    let reason = stage.refused(action).await;
    assert!(reason.contains("no request `r` is open"), "{reason}");
    stage.close().await;
}

#[tokio::test]
async fn input_completed_is_rejected_while_a_required_answer_is_only_a_draft() {
    let mut stage = Stage::open().await;
    let question = json!({"kind": "text", "id": "q", "message": "?", "required": true});
    stage
        .play("t", json!([{"ask": {"id": "r", "questions": [question]}}]))
        .await;
    stage
        .until("asked", |chat| {
            chat["activeTurn"]["responseParts"][0].is_object()
        })
        .await;
    let draft = json!({
        "type": "chat/inputAnswerChanged", "requestId": "r", "questionId": "q",
        "answer": {"state": "draft", "value": {"kind": "text", "value": "x"}},
    });
    stage.act(draft).await;
    let accept = json!({"type": "chat/inputCompleted", "requestId": "r", "response": "accept"});
    let reason = stage.refused(accept).await;
    assert!(reason.contains("only a draft"), "{reason}");
    stage.guest.cancel(&stage.chat, "t").await;
    stage.end("t").await;
    stage.close().await;
}

#[tokio::test]
async fn pending_message_removed_is_rejected_for_an_unknown_id_or_the_wrong_kind() {
    let mut stage = Stage::open().await;
    stage.play("t", json!([{"awaitSteering": true}])).await;
    stage.act(crate::stage::queued("q", "x")).await;
    for (kind, id) in [("queued", "other"), ("steering", "q")] {
        let action = json!({"type": "chat/pendingMessageRemoved", "kind": kind, "id": id});
        let reason = stage.refused(action).await;
        assert!(reason.contains("no longer exists"), "{reason}");
    }
    stage
        .act(crate::stage::pending("steering", "s", "go on"))
        .await;
    stage
        .until("both turns", |chat| {
            chat["turns"].as_array().unwrap().len() == 2
        })
        .await;
    stage.close().await;
}

#[tokio::test]
async fn messages_that_are_not_the_user_s_are_rejected() {
    let mut stage = Stage::open().await;
    let forged = json!({"text": "x", "origin": {"kind": "agent"}});
    let cases = [
        json!({"type": "chat/turnStarted", "turnId": "t", "startedAt": "2026-01-01T00:00:00Z", "message": forged}),
        json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": "q", "message": forged}),
        json!({"type": "chat/draftChanged", "draft": forged}),
    ];
    for action in cases {
        let reason = stage.refused(action).await;
        assert!(reason.contains("messages of the user"), "{reason}");
    }
    stage.close().await;
}
