//! What is longer or larger than it may be is refused with a reason, and
//! everything goes on. A turn that is too large ends.

use serde_json::{Value, json};

use crate::common::InnOptions;
use crate::common::raw::Raw;
use crate::stage::{Stage, act, message, queued, with};

const MIB: usize = 1024 * 1024;

fn long() -> String {
    "x".repeat(257)
}

#[tokio::test]
async fn requests_with_names_that_are_too_long_are_refused() {
    let stage = Stage::open().await;
    let uri = format!("file:///{}", "x".repeat(4096));
    let session = stage.session.clone();
    for (method, params, why) in [
        (
            "createSession",
            json!({"channel": format!("ahp-session:/{}", long())}),
            "256",
        ),
        (
            "createChat",
            json!({"channel": session, "chat": format!("ahp-chat:/{}", long())}),
            "256",
        ),
        (
            "createTerminal",
            json!({"channel": format!("ahp-terminal:/{}", long())}),
            "256",
        ),
        ("subscribe", json!({"channel": uri}), "4096"),
        (
            "resourceRead",
            json!({"channel": "ahp-root://", "uri": uri}),
            "4096",
        ),
    ] {
        let (code, reason) = stage.guest.request(method, params).await.unwrap_err();
        assert_eq!(code, -32602, "{method}: {reason}");
        assert!(
            reason.contains(&format!("at most {why}")),
            "{method}: {reason}"
        );
    }
    stage.close().await;
}

#[tokio::test]
async fn a_client_whose_id_is_too_long_is_not_let_in() {
    let stage = Stage::open().await;
    let mut raw = Raw::connect(&stage.inn.url).await;
    let hello = |id: &str| {
        json!({"id": 1, "method": "initialize", "params": {
            "channel": "ahp-root://", "clientId": id, "protocolVersions": ["1.0.0"],
        }})
    };
    let refused = raw.ask(hello(&long())).await;
    let reason = refused["error"]["message"].as_str().unwrap();
    assert!(reason.contains("`clientId`"), "{reason}");
    let welcome = raw.ask(hello("short")).await;
    assert!(welcome["result"].is_object(), "{welcome}");
    stage.close().await;
}

#[tokio::test]
async fn a_request_whose_id_is_too_long_is_answered_without_one() {
    let stage = Stage::open().await;
    let mut raw = Raw::initialized(&stage.inn.url, "raw").await;
    let ping = json!({"id": long(), "method": "ping"});
    raw.send(&ping.to_string()).await;
    let answer = raw.next().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&Value::Null, &json!(-32600))
    );
    stage.close().await;
}

#[tokio::test]
async fn actions_with_names_that_are_too_long_are_rejected() {
    let mut stage = Stage::open().await;
    let turn = json!({"type": "chat/turnStarted", "turnId": long(), "startedAt": "",
        "message": message("Hello")});
    for action in [turn, queued(&long(), "Hello")] {
        let reason = stage.refused(action).await;
        assert!(reason.contains("an id has at most 256"), "{reason}");
    }
    let tools = json!([{"name": long()}]);
    let client = json!({"clientId": "a", "tools": tools});
    let set = json!({"type": "session/activeClientSet", "activeClient": client});
    let mut session = stage.watch_session().await;
    let seq = act(&stage.guest, &stage.session, set).await;
    let reason = session.rejection(seq).await;
    assert!(reason.contains("the id in `name`"), "{reason}");
    stage.close().await;
}

#[tokio::test]
async fn messages_that_are_too_large_are_rejected_wherever_they_are_said() {
    let options = InnOptions {
        message_bytes: Some(16 * MIB),
        ..InnOptions::default()
    };
    let mut stage = Stage::open_with(options).await;
    let text = "x".repeat(8 * MIB);
    let attached = json!([{
        "type": "embeddedResource", "label": "picture", "contentType": "image/png", "data": text,
    }]);
    let turn = json!({"type": "chat/turnStarted", "turnId": "t", "startedAt": ""});
    for action in [
        with(turn.clone(), json!({"message": message(&text)})),
        with(
            turn,
            json!({"message": with(message("Look"), json!({"attachments": attached}))}),
        ),
        queued("q", &text),
        json!({"type": "chat/draftChanged", "draft": message(&text)}),
    ] {
        let reason = stage.refused(action).await;
        assert!(reason.contains("at most 8388608"), "{reason}");
        assert!(reason.contains("`resourceWrite`"), "{reason}");
    }
    stage.close().await;
}

#[tokio::test]
async fn a_turn_that_becomes_too_large_ends_and_everything_goes_on() {
    let mut options = InnOptions::default();
    options.limits.turn_bytes = MIB;
    let mut stage = Stage::open_with(options).await;
    stage
        .play(
            "t",
            json!([{"flood": {"deltas": 40, "bytes": 65_536}}, {"say": "Done."}]),
        )
        .await;
    let turn = stage.end("t").await;
    let parts = turn["responseParts"].as_array().unwrap();
    assert_eq!(parts.last().unwrap()["error"]["errorType"], "turnTooLarge");
    let length = parts[0]["content"].as_str().unwrap().len();
    assert!((MIB..2 * MIB).contains(&length), "{length}");
    stage.play("u", json!([{"say": "Hello."}])).await;
    assert_eq!(stage.end("u").await["state"], "complete");
    stage.close().await;
}
