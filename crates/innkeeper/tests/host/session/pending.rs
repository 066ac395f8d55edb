//! Messages that wait: the queue, and steering.

use innkeeper_protocol::newest::actions::StateAction;
use serde_json::{Value, json};

use crate::common::script;
use crate::stage::{Stage, pending, queued, text};

fn ids(chat: &Value) -> Vec<String> {
    let queue = chat["queuedMessages"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    queue
        .iter()
        .map(|m| m["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The turns so far, as their messages and what they were queued as.
fn started(stage: &Stage) -> Vec<(String, Option<String>)> {
    let actions = stage.watch.envelopes.iter();
    actions
        .filter_map(|envelope| match &envelope.action {
            StateAction::ChatTurnStarted(a) => {
                Some((a.message.text.clone(), a.queued_message_id.clone()))
            }
            _ => None,
        })
        .collect()
}

/// A turn that goes on until it is steered or cancelled.
async fn busy(stage: &mut Stage) {
    stage.play("busy", json!([{"awaitSteering": true}])).await;
    stage
        .until("running", |chat| chat["activeTurn"].is_object())
        .await;
}

#[tokio::test]
async fn queued_messages_become_turns_first_in_first_out() {
    let mut stage = Stage::open().await;
    busy(&mut stage).await;
    for id in ["one", "two", "three"] {
        stage.act(queued(id, id)).await;
    }
    stage
        .until("the queue", |chat| ids(chat) == ["one", "two", "three"])
        .await;
    stage.act(pending("steering", "s", "go on")).await;
    stage
        .until("the end of it", |chat| {
            chat["turns"].as_array().unwrap().len() == 4
        })
        .await;
    let order: Vec<_> = started(&stage).into_iter().skip(1).collect();
    let expected = ["one", "two", "three"].map(|id| (id.to_owned(), Some(id.to_owned())));
    assert_eq!(order, expected);
    assert!(stage.watch.state.queued_messages.is_none());
    stage.close().await;
}

#[tokio::test]
async fn a_message_queued_while_idle_starts_at_once() {
    let mut stage = Stage::open().await;
    stage.act(queued("q", "hello")).await;
    stage
        .until("a turn", |chat| {
            chat["turns"].as_array().unwrap().len() == 1
        })
        .await;
    let actions: Vec<Value> = stage
        .watch
        .envelopes
        .iter()
        .map(|e| json!(e.action))
        .collect();
    let types: Vec<&str> = actions
        .iter()
        .filter_map(|a| a["type"].as_str())
        .take(3)
        .collect();
    let expected = [
        "chat/pendingMessageSet",
        "chat/pendingMessageRemoved",
        "chat/turnStarted",
    ];
    assert_eq!(types, expected);
    stage.close().await;
}

#[tokio::test]
async fn a_queued_message_can_be_changed_and_removed() {
    let mut stage = Stage::open().await;
    busy(&mut stage).await;
    stage.act(queued("one", "first")).await;
    stage.act(queued("two", "second")).await;
    stage.act(queued("one", "changed")).await;
    let remove = json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": "two"});
    stage.act(remove).await;
    let changed = |chat: &Value| {
        ids(chat) == ["one"] && chat["queuedMessages"][0]["message"]["text"] == "changed"
    };
    stage.until("one left, and changed", changed).await;
    stage.act(pending("steering", "s", "go on")).await;
    stage
        .until("both turns", |chat| {
            chat["turns"].as_array().unwrap().len() == 2
        })
        .await;
    stage.close().await;
}

#[tokio::test]
async fn reordering_ignores_unknown_ids_and_keeps_unmentioned_ones_at_the_end() {
    let mut stage = Stage::open().await;
    busy(&mut stage).await;
    for id in ["d", "c", "b", "a"] {
        stage.act(queued(id, "hello")).await;
    }
    stage
        .act(json!({"type": "chat/queuedMessagesReordered", "order": ["b", "nobody", "d"]}))
        .await;
    stage
        .until("the new order", |chat| ids(chat) == ["b", "d", "c", "a"])
        .await;
    stage.act(pending("steering", "s", "go on")).await;
    stage
        .until("all of them", |chat| {
            chat["turns"].as_array().unwrap().len() == 5
        })
        .await;
    stage.close().await;
}

#[tokio::test]
async fn the_queue_waits_after_a_cancelled_turn_until_somebody_says_to_go_on() {
    let mut stage = Stage::open().await;
    busy(&mut stage).await;
    stage.act(queued("q", "next")).await;
    stage.until("the queue", |chat| ids(chat) == ["q"]).await;
    stage.guest.cancel(&stage.chat, "busy").await;
    assert_eq!(stage.end("busy").await["state"], "cancelled");
    assert_eq!(ids(&json!(stage.watch.state)), ["q"], "it waits");
    stage
        .act(json!({"type": "chat/queuedMessagesReordered", "order": ["q"]}))
        .await;
    stage
        .until("the next turn", |chat| {
            chat["turns"].as_array().unwrap().len() == 2
        })
        .await;
    stage.close().await;
}

#[tokio::test]
async fn the_queue_waits_after_a_failed_turn_until_somebody_acts() {
    let mut stage = Stage::open().await;
    let fails = json!([
        {"awaitSteering": true}, {"fail": {"errorType": "e", "message": "no"}}, {"say": "resumed"},
    ]);
    stage.play("t", fails).await;
    stage
        .until("running", |chat| chat["activeTurn"].is_object())
        .await;
    stage.act(queued("q", "next")).await;
    stage.until("the queue", |chat| ids(chat) == ["q"]).await;
    stage.act(pending("steering", "s", "go on")).await;
    assert_eq!(stage.end("t").await["state"], "error");
    assert_eq!(ids(&json!(stage.watch.state)), ["q"], "it waits");
    stage
        .act(json!({"type": "chat/turnResume", "turnId": "t"}))
        .await;
    stage
        .until("the queued turn", |chat| {
            ids(chat).is_empty() && chat["turns"].as_array().unwrap().len() == 2
        })
        .await;
    stage.close().await;
}

#[tokio::test]
async fn steering_is_taken_up_by_the_running_turn_and_stands_in_the_conversation() {
    let mut stage = Stage::open().await;
    busy(&mut stage).await;
    stage.act(pending("steering", "s", "look left")).await;
    let turn = stage.end("busy").await;
    assert_eq!(text(&turn), "look left");
    assert!(stage.watch.state.steering_message.is_none());
    let stage = stage.reopen().await;
    let part = json!(stage.watch.state.turns[0].response_parts[0]);
    assert_eq!(part["kind"], "systemNotification");
    assert_eq!(part["content"], "look left");
    let steering = &part["_meta"]["innkeeper"]["steering"];
    assert_eq!(steering["id"], "s");
    assert_eq!(steering["message"]["text"], "look left");
    stage.close().await;
}

#[tokio::test]
async fn a_second_steering_message_replaces_the_first() {
    let mut stage = Stage::open().await;
    // While idle it is kept until there is a turn to steer.
    stage.act(pending("steering", "s1", "look left")).await;
    stage.act(pending("steering", "s2", "look right")).await;
    stage
        .until("stored", |chat| chat["steeringMessage"]["id"] == "s2")
        .await;
    assert!(stage.watch.state.active_turn.is_none());
    stage.play("t", json!([{"awaitSteering": true}])).await;
    assert_eq!(text(&stage.end("t").await), "look right");
    stage.close().await;
}

#[tokio::test]
async fn steering_that_the_agent_did_not_take_up_becomes_the_next_turn() {
    let mut stage = Stage::open().await;
    let steps = json!([{"ask": {"id": "r", "message": "wait"}}]);
    stage.play("t", steps).await;
    stage
        .until("a question", |chat| {
            chat["activeTurn"]["responseParts"][0].is_object()
        })
        .await;
    stage.act(queued("q", "queued")).await;
    stage.act(pending("steering", "s", "steering")).await;
    stage
        .until("steering", |chat| chat["steeringMessage"].is_object())
        .await;
    let done = json!({"type": "chat/inputCompleted", "requestId": "r", "response": "cancel"});
    stage.act(done).await;
    stage
        .until("all turns", |chat| {
            chat["turns"].as_array().unwrap().len() == 3
        })
        .await;
    let order: Vec<String> = started(&stage)
        .into_iter()
        .skip(1)
        .map(|(text, _)| text)
        .collect();
    assert_eq!(order, ["steering", "queued"]);
    stage.close().await;
}

#[tokio::test]
async fn a_message_queued_before_the_session_is_ready_waits_for_it() {
    let stage = Stage::open().await;
    let session = "ahp-session:/fresh";
    let params = json!({"channel": session, "provider": "script"});
    let chat = crate::common::default_chat(session);
    let (created, queued_seq) = tokio::join!(
        stage.guest.request("createSession", params),
        crate::stage::act(
            &stage.guest,
            &chat,
            queued("q", &script(json!([{"say": "first"}]))),
        ),
    );
    created.unwrap();
    assert!(queued_seq > 0);
    let Stage { inn, guest, .. } = stage;
    let mut stage = Stage::on(inn, guest, session.to_owned()).await;
    stage
        .until("a turn", |chat| {
            chat["turns"].as_array().unwrap().len() == 1
        })
        .await;
    stage.close().await;
}
