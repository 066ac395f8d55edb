//! Tools that clients offer and run themselves.

use std::time::Duration;

use innkeeper_engine::Limits;
use serde_json::{Value, json};

use crate::common::{Guest, InnOptions, default_chat};
use crate::stage::{Stage, act, last_call, text, until};

fn offer(client: &str) -> Value {
    let tool = json!({"name": "lookup", "title": "Look up", "inputSchema": {"type": "object"}});
    let client = json!({"clientId": client, "displayName": "Editor", "tools": [tool]});
    json!({"type": "session/activeClientSet", "activeClient": client})
}

fn result(turn: &str, call: &Value, success: bool) -> Value {
    json!({
        "type": "chat/toolCallComplete", "turnId": turn, "toolCallId": call["toolCallId"],
        "result": {
            "success": success, "pastTenseMessage": "Looked it up",
            "content": [{"type": "text", "text": "found"}],
        },
    })
}

/// A stage on which another guest has offered a tool.
async fn stage_with_owner(options: InnOptions) -> (Stage, Guest) {
    let stage = Stage::open_with(options).await;
    let owner = stage.inn.guest("owner").await;
    let mut session = owner.watch_session(&stage.session).await;
    act(&owner, &stage.session, offer("owner")).await;
    until(&mut session, "the active client", |s| {
        s["activeClients"][0]["clientId"] == "owner"
    })
    .await;
    (stage, owner)
}

fn calls_the_tool() -> Value {
    json!([{"clientTool": {"name": "lookup", "input": {"q": 1}}}, {"say": "after"}])
}

#[tokio::test]
async fn a_call_names_its_owner_and_only_the_owner_may_run_it() {
    let (mut stage, owner) = stage_with_owner(InnOptions::default()).await;
    let mut session = stage.watch_session().await;
    stage.play("t", calls_the_tool()).await;
    let call = stage.call("running").await;
    assert_eq!(
        call["contributor"],
        json!({"kind": "client", "clientId": "owner"})
    );
    assert_eq!(call["toolInput"], r#"{"q":1}"#);
    let state = until(&mut session, "the request", |s| s["inputNeeded"].is_array()).await;
    let request = &state["inputNeeded"][0];
    assert_eq!(
        (&request["kind"], &request["clientId"]),
        (&json!("toolClientExecution"), &json!("owner"))
    );
    assert_eq!(
        state["status"].as_u64().unwrap() & 24,
        0,
        "nobody has to do anything"
    );

    let reason = stage.refused(result("t", &call, true)).await;
    assert!(reason.contains("another client"), "{reason}");
    let partial = json!({
        "type": "chat/toolCallContentChanged", "turnId": "t", "toolCallId": call["toolCallId"],
        "content": [{"type": "text", "text": "looking"}],
    });
    let reason = stage.refused(partial.clone()).await;
    assert!(reason.contains("another client"), "{reason}");

    act(&owner, &stage.chat, partial).await;
    stage
        .until("the content", |chat| {
            last_call(&chat["activeTurn"])["content"].is_array()
        })
        .await;
    act(&owner, &stage.chat, result("t", &call, true)).await;
    let turn = stage.end("t").await;
    assert_eq!(last_call(&turn)["content"][0]["text"], "found");
    assert_eq!(text(&turn), "after");
    until(&mut session, "no more requests", |s| {
        s["inputNeeded"].as_array().is_none_or(Vec::is_empty)
    })
    .await;
    stage.close().await;
}

#[tokio::test]
async fn the_owner_may_refuse_and_the_turn_goes_on() {
    let (mut stage, owner) = stage_with_owner(InnOptions::default()).await;
    stage.play("t", calls_the_tool()).await;
    let call = stage.call("running").await;
    act(&owner, &stage.chat, result("t", &call, false)).await;
    let turn = stage.end("t").await;
    assert_eq!(last_call(&turn)["success"], false);
    assert_eq!(text(&turn), "after");
    stage.close().await;
}

#[tokio::test]
async fn a_client_can_offer_tools_with_the_creation_of_the_session() {
    let stage = Stage::open().await;
    let session = "ahp-session:/with-tools";
    let client = offer("a")["activeClient"].clone();
    let params = json!({"channel": session, "provider": "script", "activeClient": client});
    stage.guest.request("createSession", params).await.unwrap();
    let Stage { inn, guest, .. } = stage;
    let mut watch = guest.watch_session(session).await;
    until(&mut watch, "ready", |s| s["lifecycle"] == "ready").await;
    let mut stage = Stage::on(inn, guest, session.to_owned()).await;
    stage.play("t", calls_the_tool()).await;
    let call = stage.call("running").await;
    stage.act(result("t", &call, true)).await;
    assert_eq!(text(&stage.end("t").await), "after");
    stage.close().await;
}

#[tokio::test]
async fn an_owner_that_stays_away_fails_the_call_after_a_grace_period() {
    let limits = Limits {
        client_grace: Duration::from_millis(50),
        ..Limits::default()
    };
    let options = InnOptions {
        limits,
        ..InnOptions::default()
    };
    let (mut stage, owner) = stage_with_owner(options).await;
    let mut session = stage.watch_session().await;
    stage.play("t", calls_the_tool()).await;
    stage.call("running").await;
    owner.client.shutdown().await;
    let turn = stage.end("t").await;
    let call = last_call(&turn);
    assert_eq!(call["success"], false);
    assert!(
        call["error"]["message"]
            .as_str()
            .unwrap()
            .contains("not connected"),
        "{call}"
    );
    assert_eq!(text(&turn), "after");
    until(&mut session, "it left", |s| {
        s["activeClients"].as_array().unwrap().is_empty()
    })
    .await;
    stage.close().await;
}

#[tokio::test]
async fn an_owner_that_leaves_the_session_leaves_the_list_and_its_calls_fail() {
    let (mut stage, owner) = stage_with_owner(InnOptions::default()).await;
    let mut session = stage.watch_session().await;
    stage.play("t", calls_the_tool()).await;
    stage.call("running").await;
    owner
        .request("unsubscribe", json!({"channel": stage.session}))
        .await
        .unwrap();
    let turn = stage.end("t").await;
    assert_eq!(last_call(&turn)["success"], false);
    until(&mut session, "it left", |s| {
        s["activeClients"].as_array().unwrap().is_empty()
    })
    .await;
    stage.close().await;
}

#[tokio::test]
async fn a_tool_that_nobody_offers_fails_at_once() {
    let mut stage = Stage::open().await;
    stage.play("t", calls_the_tool()).await;
    let turn = stage.end("t").await;
    assert_eq!(last_call(&turn)["success"], false);
    assert_eq!(text(&turn), "after");
    stage.close().await;
}

#[tokio::test]
async fn a_set_that_changes_nothing_is_confirmed() {
    let (stage, owner) = stage_with_owner(InnOptions::default()).await;
    let mut session = owner.watch_session(&stage.session).await;
    act(&owner, &stage.session, offer("owner")).await;
    let marker = json!({"type": "session/titleChanged", "title": "Marker"});
    act(&owner, &stage.session, marker).await;
    until(&mut session, "the marker", |s| s["title"] == "Marker").await;
    let sets = session
        .envelopes
        .iter()
        .filter(|envelope| json!(envelope.action)["type"] == "session/activeClientSet");
    assert_eq!(sets.count(), 1);
    assert_eq!(default_chat(&stage.session), stage.chat);
    stage.close().await;
}
