//! Two clients do the same thing at the same time: one wins, the other is told.

use innkeeper_protocol::newest::actions::ActionEnvelope;
use innkeeper_protocol::newest::state::ChatState;
use serde_json::{Value, json};

use crate::common::{Guest, Watch};
use crate::stage::{Stage, act, confirmed, last_call, pending, queued, until};

/// Both dispatch at once. Gives what the loser was told, after checking that
/// exactly one of them won.
async fn race(
    stage: &mut Stage,
    other: &Guest,
    seen: &mut Watch<ChatState>,
    action: Value,
) -> String {
    let (mine, theirs) = tokio::join!(
        act(&stage.guest, &stage.chat, action.clone()),
        act(other, &stage.chat, action),
    );
    let mine = verdict(&mut stage.watch, "a", mine).await;
    let theirs = verdict(seen, "b", theirs).await;
    match (mine, theirs) {
        (None, Some(reason)) | (Some(reason), None) => reason,
        other => panic!("exactly one wins: {other:?}"),
    }
}

async fn verdict(watch: &mut Watch<ChatState>, client: &str, seq: i64) -> Option<String> {
    let is_it = |envelope: &ActionEnvelope| {
        let origin = envelope.origin.as_ref();
        origin.is_some_and(|origin| origin.client_id == client && origin.client_seq == seq)
    };
    loop {
        let envelope = match watch.envelopes.iter().find(|envelope| is_it(envelope)) {
            Some(envelope) => envelope.clone(),
            None => watch.next().await,
        };
        if is_it(&envelope) {
            return envelope.rejection_reason;
        }
    }
}

async fn two_guests() -> (Stage, Guest, Watch<ChatState>) {
    let stage = Stage::open().await;
    let other = stage.inn.guest("b").await;
    let seen = other.watch_chat(&stage.chat).await;
    (stage, other, seen)
}

#[tokio::test]
async fn one_confirmation_wins() {
    let (mut stage, other, mut seen) = two_guests().await;
    let tool = json!({"name": "run", "input": "ls", "confirm": "ask"});
    stage
        .play("t", json!([{"tool": tool}, {"awaitSteering": true}]))
        .await;
    let call = stage.call("pending-confirmation").await;
    let pending_call =
        |chat: &Value| last_call(&chat["activeTurn"])["status"] == "pending-confirmation";
    until(&mut seen, "the call", pending_call).await;
    let told = race(&mut stage, &other, &mut seen, confirmed("t", &call, true)).await;
    assert!(told.contains("already"), "{told}");
    stage.act(pending("steering", "s", "on")).await;
    stage.end("t").await;
    stage.close().await;
}

#[tokio::test]
async fn one_answer_wins() {
    let (mut stage, other, mut seen) = two_guests().await;
    let steps = json!([{"ask": {"id": "r", "message": "?"}}, {"awaitSteering": true}]);
    stage.play("t", steps).await;
    let asked = |chat: &Value| chat["activeTurn"]["responseParts"][0].is_object();
    stage.until("the question", asked).await;
    until(&mut seen, "the question", asked).await;
    let action = json!({"type": "chat/inputCompleted", "requestId": "r", "response": "decline"});
    let told = race(&mut stage, &other, &mut seen, action).await;
    assert!(told.contains("answered already"), "{told}");
    stage.act(pending("steering", "s", "on")).await;
    stage.end("t").await;
    stage.close().await;
}

#[tokio::test]
async fn one_removal_of_a_queued_message_wins() {
    let (mut stage, other, mut seen) = two_guests().await;
    stage.play("t", json!([{"awaitSteering": true}])).await;
    stage.act(queued("q", "next")).await;
    let waits = |chat: &Value| chat["queuedMessages"][0].is_object();
    stage.until("the queue", waits).await;
    until(&mut seen, "the queue", waits).await;
    let action = json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": "q"});
    let told = race(&mut stage, &other, &mut seen, action).await;
    assert!(
        told.contains("the pending message `q` no longer exists"),
        "{told}"
    );
    stage.act(pending("steering", "s", "on")).await;
    stage.end("t").await;
    stage.close().await;
}
