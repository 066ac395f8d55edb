//! The order of a session's chats, and chats that go over to other sessions.

use innkeeper_protocol::newest::state::{ChatState, SessionState};
use serde_json::{Value, json};

use crate::common::binary::Binary;
use crate::common::{Guest, default_chat, script};
use crate::stage::Stage;

const CHAT: &str = "ahp-chat:/a";
const OTHER: &str = "ahp-session:/other";

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

/// Another session, and a chat in the first one in which something was said.
async fn with_another(guest: &Guest, session: &str) {
    let mut params = json!({"channel": OTHER});
    let first: SessionState = guest.snapshot(session).await;
    params["workingDirectories"] = json!(first.working_directories);
    params["provider"] = json!(first.provider);
    guest.request("createSession", params).await.unwrap();
    let mut other = guest.watch_session(OTHER).await;
    let ready = |state: &SessionState| json!(state)["lifecycle"] == "ready";
    other.until("ready", ready).await;
    let params = json!({"channel": session, "chat": CHAT});
    guest.request("createChat", params).await.unwrap();
    let mut chat = guest.watch_chat(CHAT).await;
    guest
        .say(CHAT, "one", &script(json!([{"say": "hello"}])))
        .await;
    chat.turn_end("one").await;
}

async fn chats_in(guest: &Guest, session: &str) -> Vec<String> {
    let state: SessionState = guest.snapshot(session).await;
    state.chats.into_iter().map(|chat| chat.resource).collect()
}

/// How many turns the agent behind the chat knows of.
async fn remembered(guest: &Guest, turn: &str) -> Value {
    let mut watch = guest.watch_chat(CHAT).await;
    let recall = script(json!([{"echo": "history"}]));
    guest.say(CHAT, turn, &recall).await;
    watch.turn_end(turn).await;
    let history: Value = serde_json::from_str(&watch.text_of(turn)).unwrap();
    history["turns"].clone()
}

#[tokio::test]
async fn a_chat_goes_over_to_another_session_with_its_agent_s_memory() {
    let stage = Stage::open().await;
    with_another(&stage.guest, &stage.session).await;
    let before: ChatState = stage.guest.snapshot(CHAT).await;
    let destination = json!({"kind": "session", "session": OTHER, "after": default_chat(OTHER)});
    let params = json!({"channel": CHAT, "destination": destination});
    let moved = stage.guest.request("moveChat", params).await.unwrap();
    assert_eq!(moved, json!({"session": OTHER}));
    let after: ChatState = stage.guest.snapshot(CHAT).await;
    assert_eq!(json!(after.turns), json!(before.turns));
    assert_eq!(remembered(&stage.guest, "two").await, 1);
    let stage = stage.reopen().await;
    assert_eq!(
        chats_in(&stage.guest, &stage.session).await,
        [default_chat(&stage.session)]
    );
    let expected = [default_chat(OTHER), CHAT.to_owned()];
    assert_eq!(chats_in(&stage.guest, OTHER).await, expected);
    assert_eq!(remembered(&stage.guest, "three").await, 2);
    stage.close().await;
}

#[tokio::test]
async fn a_chat_gets_a_session_that_outlives_the_one_that_it_came_from() {
    let stage = Stage::open().await;
    let guest = &stage.guest;
    with_another(guest, &stage.session).await;
    let params = json!({"channel": CHAT, "destination": {"kind": "newSession"}});
    let moved = guest.request("moveChat", params).await.unwrap();
    let own = moved["session"].as_str().unwrap().to_owned();
    let params = json!({"channel": OTHER});
    guest.request("disposeSession", params).await.unwrap();
    let stage = stage.reopen().await;
    assert_eq!(chats_in(&stage.guest, &own).await, [CHAT]);
    let state: SessionState = stage.guest.snapshot(&own).await;
    assert_eq!(state.default_chat.as_deref(), Some(CHAT));
    assert_eq!(remembered(&stage.guest, "two").await, 1);
    stage.close().await;
}

/// Where the chat is must be one of the two, whenever the host is killed, and
/// the one that was answered if it was.
#[tokio::test]
async fn a_chat_is_in_one_session_however_often_the_host_is_killed_while_it_moves() {
    let data = tempfile::tempdir().unwrap();
    let session = "ahp-session:/first";
    let mut host = Binary::start(data.path(), &[]);
    let mut guest = Guest::arrive(&host.url, "a").await;
    guest.initialize(&[]).await;
    let params = json!({"channel": session, "provider": "script"});
    guest.request("createSession", params).await.unwrap();
    let mut watch = guest.watch_session(session).await;
    let ready = |state: &SessionState| json!(state)["lifecycle"] == "ready";
    watch.until("ready", ready).await;
    with_another(&guest, session).await;
    let sessions = [session, OTHER];
    for life in 0..8_usize {
        let mut at = 0;
        for (index, it) in sessions.iter().enumerate() {
            if chats_in(&guest, it).await.contains(&CHAT.to_owned()) {
                at = index;
            }
        }
        let go = |to: usize| {
            let destination = json!({"kind": "session", "session": sessions[to]});
            let params = json!({"channel": CHAT, "destination": destination});
            guest.client.request::<_, Value>("moveChat", params)
        };
        for _ in 0..life {
            at = 1 - at;
            go(at).await.unwrap();
        }
        // One is under way when the host dies, further in each life.
        at = 1 - at;
        let killed = async {
            for _ in 0..life * 20 {
                tokio::task::yield_now().await;
            }
            host.kill();
        };
        let (answer, ()) = tokio::join!(go(at), killed);
        let told = answer.is_ok().then_some(at);
        host = Binary::start(data.path(), &[]);
        guest = Guest::arrive(&host.url, "a").await;
        guest.initialize(&[]).await;
        let mut places = Vec::new();
        for (index, it) in sessions.iter().enumerate() {
            if chats_in(&guest, it).await.contains(&CHAT.to_owned()) {
                places.push(index);
            }
        }
        assert_eq!(places.len(), 1, "life {life}: the chat is in {places:?}");
        if let Some(told) = told {
            assert_eq!(places, [told], "life {life}");
        }
        let chat: ChatState = guest.snapshot(CHAT).await;
        assert_eq!(chat.turns.len(), 1, "life {life}");
    }
}
