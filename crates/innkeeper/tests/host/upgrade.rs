//! The database of an earlier release, opened by this host: everything that
//! was in it is there, and goes on.

use crate::common::raw::Raw;
use crate::common::{Inn, InnOptions, default_chat, script};
use innkeeper_protocol::newest::state::{ChatState, SessionState, TurnState};
use serde_json::{Value, json};

/// Written by release 0.1.0, which was killed while turns were running.
const RELEASE_0_1: &[u8] = include_bytes!("fixtures/release-0.1.0.db");

async fn upgraded() -> Inn {
    let inn = Inn::open().await;
    inn.reopen_after(InnOptions::default(), |data| {
        for entry in std::fs::read_dir(data).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.starts_with("innkeeper.db") {
                std::fs::remove_file(path).unwrap();
            }
        }
        std::fs::write(data.join("innkeeper.db"), RELEASE_0_1).unwrap();
    })
    .await
}

#[tokio::test]
async fn all_sessions_of_the_first_release_are_there() {
    let inn = upgraded().await;
    let guest = inn.guest("a").await;
    let list = guest.request("listSessions", json!({})).await.unwrap();
    let mut names: Vec<String> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["resource"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    let expected = [
        "approves-all",
        "empty",
        "finished",
        "forked",
        "running",
        "waiting",
    ];
    assert_eq!(names, expected.map(|name| format!("ahp-session:/{name}")));

    let chat = default_chat("ahp-session:/finished");
    let finished: ChatState = guest.snapshot(&chat).await;
    let ends: Vec<TurnState> = finished.turns.iter().map(|turn| turn.state).collect();
    use TurnState::{Complete, Error};
    assert_eq!(ends, [Complete, Complete, Complete, Error]);
    let session: SessionState = guest.snapshot("ahp-session:/finished").await;
    assert_eq!(session.title, "A finished session");
    assert_eq!(session.chats.len(), 2, "a helper had a chat of its own");

    // What was too large for the state is read as it was.
    let turn = json!(finished.turns[1]);
    let content = turn["responseParts"].as_array().unwrap().iter();
    let kept = content.filter_map(|part| part["toolCall"]["content"][0]["uri"].as_str());
    let uri = kept.into_iter().next().unwrap();
    let read = json!({"channel": "ahp-session:/finished", "uri": uri});
    let read = guest.request("resourceRead", read).await.unwrap();
    assert_eq!(read["data"].as_str().unwrap().len(), 70_000);
    inn.close().await;
}

#[tokio::test]
async fn what_waited_and_what_ran_in_the_first_release_goes_on() {
    let inn = upgraded().await;
    let guest = inn.guest("a").await;
    let running: ChatState = guest.snapshot(&default_chat("ahp-session:/running")).await;
    assert_eq!(running.turns[0].state, TurnState::Error);

    let chat = default_chat("ahp-session:/waiting");
    let mut watch = guest.watch_chat(&chat).await;
    assert_eq!(watch.state.draft.as_ref().unwrap().text, "half a tho");
    assert_eq!(
        watch.state.steering_message.as_ref().unwrap().message.text,
        "be quick"
    );
    let parts = json!(watch.state.active_turn);
    let call = parts["responseParts"][0]["toolCall"].clone();
    assert_eq!(call["status"], "pending-confirmation");
    let allow = json!({"type": "chat/toolCallConfirmed", "turnId": "w1",
                       "toolCallId": call["toolCallId"], "approved": true});
    let allow = serde_json::from_value(allow).unwrap();
    guest.dispatch(&chat, allow).await;
    assert_eq!(watch.turn_end("w1").await, TurnState::Complete);
    // The steering message and the queued one follow.
    watch
        .until("all turns", |chat| {
            chat.turns.len() == 3 && chat.queued_messages.is_none()
        })
        .await;
    inn.close().await;
}

#[tokio::test]
async fn settings_of_the_first_release_mean_what_they_meant() {
    let inn = upgraded().await;
    let session = "ahp-session:/approves-all";
    let chat = default_chat(session);
    let guest = inn.guest("a").await;
    let mut watch = guest.watch_chat(&chat).await;
    let tool = json!({"name": "rm", "input": "x", "confirm": "ask", "result": {"success": true}});
    guest
        .say(&chat, "t", &script(json!([{"tool": tool}])))
        .await;
    let end = watch.turn_end("t").await;
    assert_eq!(end, TurnState::Complete, "nothing was asked");
    // Its schema has the names of then; those of today are taken for them.
    let mut raw = Raw::initialized(&inn.url, "raw").await;
    let request = |id: i64, method: &str, params: Value| json!({"id": id, "method": method, "params": params});
    raw.ask(request(1, "subscribe", json!({"channel": session})))
        .await;
    let change = json!({"type": "session/configChanged", "config": {"autoApprove": "default"}});
    let params = json!({"channel": session, "clientSeq": 1, "action": change});
    raw.send(&json!({"method": "dispatchAction", "params": params}).to_string())
        .await;
    loop {
        let frame = raw.next().await;
        if frame["params"]["action"]["type"] == "session/configChanged" {
            assert!(frame["params"].get("rejectionReason").is_none(), "{frame}");
            assert_eq!(frame["params"]["action"]["config"]["autoApprove"], "ask");
            break;
        }
    }
    inn.close().await;
}
