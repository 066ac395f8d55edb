//! Copies of sessions and chats, and side chats.

use serde_json::{Value, json};

use crate::stage::{Stage, text, until};

async fn two_turns() -> Stage {
    let mut stage = Stage::open().await;
    for turn in ["one", "two"] {
        stage.play(turn, json!([{"say": turn}])).await;
        stage.end(turn).await;
    }
    stage
}

fn turns(chat: &Value) -> Vec<&str> {
    let turns = chat["turns"].as_array().unwrap().iter();
    turns.map(|turn| turn["id"].as_str().unwrap()).collect()
}

/// What the agent behind a chat remembers.
async fn remembered(stage: &Stage, chat: &str) -> Value {
    let mut watch = stage.guest.watch_chat(chat).await;
    let script = crate::common::script(json!([{"echo": "history"}]));
    stage.guest.say(chat, "recall", &script).await;
    watch.turn_end("recall").await;
    serde_json::from_str(&watch.text_of("recall")).unwrap()
}

#[tokio::test]
async fn a_session_is_forked_at_a_turn_with_the_memory_of_its_agent() {
    let mut stage = two_turns().await;
    let fork = "ahp-session:/fork";
    let params = json!({
        "channel": fork, "fork": {"session": stage.session, "turnId": "one"},
    });
    stage.guest.request("createSession", params).await.unwrap();
    let mut session = stage.guest.watch_session(fork).await;
    let state = until(&mut session, "ready", |s| s["lifecycle"] == "ready").await;
    assert_eq!(state["provider"], "script");
    let chat = crate::common::default_chat(fork);
    let watch = stage.guest.watch_chat(&chat).await;
    assert_eq!(turns(&json!(watch.state)), ["one"]);
    let history = remembered(&stage, &chat).await;
    assert_eq!(history["turns"], 1);

    // Independent: what happens to one does not happen to the other.
    stage.act(json!({"type": "chat/truncated"})).await;
    stage
        .until("empty", |chat| chat["turns"].as_array().unwrap().is_empty())
        .await;
    let copy: innkeeper_protocol::newest::state::ChatState = stage.guest.snapshot(&chat).await;
    assert_eq!(turns(&json!(copy)), ["one", "recall"]);
    stage.close().await;
}

#[tokio::test]
async fn a_fork_of_an_unknown_session_or_turn_is_refused() {
    let stage = two_turns().await;
    let cases = [
        (
            json!({"session": "ahp-session:/none", "turnId": "one"}),
            -32001,
        ),
        (json!({"session": stage.session, "turnId": "none"}), -32602),
    ];
    for (fork, code) in cases {
        let params = json!({"channel": "ahp-session:/fork", "fork": fork});
        let refused = stage.guest.request("createSession", params).await;
        assert_eq!(refused.unwrap_err().0, code, "{fork}");
    }
    stage.close().await;
}

#[tokio::test]
async fn a_chat_is_forked_at_a_turn_with_the_memory_of_its_agent() {
    let stage = two_turns().await;
    let chat = "ahp-chat:/fork";
    let source = json!({"kind": "fork", "chat": stage.chat, "turnId": "one"});
    let params = json!({"channel": stage.session, "chat": chat, "source": source});
    stage.guest.request("createChat", params).await.unwrap();
    let watch = stage.guest.watch_chat(chat).await;
    let state = json!(watch.state);
    assert_eq!(turns(&state), ["one"]);
    assert_eq!(state["origin"], source);
    assert_eq!(remembered(&stage, chat).await["turns"], 1);
    stage.close().await;
}

#[tokio::test]
async fn a_side_chat_begins_empty_and_its_agent_knows_what_came_before() {
    let mut stage = two_turns().await;
    let chat = "ahp-chat:/aside";
    let source = json!({
        "kind": "sideChat", "chat": stage.chat, "turnId": "one",
        "selection": {"text": "one"},
    });
    let params = json!({"channel": stage.session, "chat": chat, "source": source});
    stage.guest.request("createChat", params).await.unwrap();
    let watch = stage.guest.watch_chat(chat).await;
    let state = json!(watch.state);
    assert_eq!(turns(&state), [""; 0]);
    assert_eq!(state["origin"]["kind"], "sideChat");
    assert_eq!(state["origin"]["selection"]["text"], "one");
    assert_eq!(remembered(&stage, chat).await["turns"], 1);

    // Also over a restart.
    stage = stage.reopen().await;
    let mut watch = stage.guest.watch_chat(chat).await;
    let script = crate::common::script(json!([{"echo": "history"}]));
    stage.guest.say(chat, "again", &script).await;
    watch.turn_end("again").await;
    let history: Value = serde_json::from_str(&watch.text_of("again")).unwrap();
    assert_eq!(history["turns"], 2);
    stage.close().await;
}

#[tokio::test]
async fn a_side_chat_of_a_running_turn_knows_what_was_said_so_far() {
    let mut stage = two_turns().await;
    stage
        .play("busy", json!([{"say": "so far"}, {"awaitSteering": true}]))
        .await;
    stage
        .until("running", |chat| {
            chat["activeTurn"]["responseParts"][0].is_object()
        })
        .await;
    let chat = "ahp-chat:/aside";
    let source = json!({"kind": "sideChat", "chat": stage.chat, "turnId": "busy"});
    let params = json!({"channel": stage.session, "chat": chat, "source": source});
    stage.guest.request("createChat", params).await.unwrap();
    let history = remembered(&stage, chat).await;
    assert_eq!(history["turns"], 3);
    stage
        .act(crate::stage::pending("steering", "s", "on"))
        .await;
    assert!(text(&stage.end("busy").await).contains("so far"));
    stage.close().await;
}
