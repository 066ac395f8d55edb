//! The order of a session's chats.

use serde_json::{Value, json};

use crate::stage::Stage;

async fn order(stage: &Stage) -> Vec<Value> {
    let watch = stage.watch_session().await;
    let chats = watch.state.chats.iter();
    chats.map(|chat| json!(chat.resource)).collect()
}

#[tokio::test]
async fn a_chat_that_was_moved_is_where_it_was_put_after_a_restart() {
    let stage = Stage::open().await;
    let (a, b) = ("ahp-chat:/a", "ahp-chat:/b");
    for chat in [a, b] {
        let params = json!({"channel": stage.session, "chat": chat});
        stage.guest.request("createChat", params).await.unwrap();
    }
    let destination = json!({"kind": "session", "session": stage.session, "after": stage.chat});
    let params = json!({"channel": b, "destination": destination});
    let moved = stage.guest.request("moveChat", params).await.unwrap();
    assert_eq!(moved, json!({"session": stage.session}));
    let expected = [json!(stage.chat), json!(b), json!(a)];
    assert_eq!(order(&stage).await, expected);
    let stage = stage.reopen().await;
    assert_eq!(order(&stage).await, expected);
    stage.close().await;
}
