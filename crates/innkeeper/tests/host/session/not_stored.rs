//! A store that refuses something for ever, as SQLite refuses what is larger
//! than a gigabyte. Whoever said it is told, its session goes on as it is
//! stored, and nobody else notices.

use innkeeper_protocol::newest::state::ChatState;
use serde_json::json;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use crate::common::raw::Raw;
use crate::common::{Guest, Inn, InnOptions, default_chat};
use crate::stage::{Stage, act, message, with};

const MOST: usize = 64 * 1024;

/// A text that is larger than that, and that compression does not make shorter.
fn too_much() -> String {
    let mut number: u32 = 1;
    let letters = (0..2 * MOST).map(|_| {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b"abcdefghijklmnopqrstuvwxyzABCDEF"[(number >> 27) as usize]
    });
    String::from_utf8(letters.collect()).unwrap()
}

async fn stage() -> Stage {
    let options = InnOptions {
        value_bytes: Some(MOST as i32),
        ..InnOptions::default()
    };
    Stage::open_with(options).await
}

/// Another session works as if nothing had happened.
async fn works(inn: &Inn, guest: &Guest) {
    let session = guest.new_session().await;
    let mut watch = guest.watch_chat(&default_chat(&session)).await;
    guest.say(&default_chat(&session), "t", "hello").await;
    watch.turn_end("t").await;
    assert!(!inn.host.metrics().contains("innkeeper_store_failing 1"));
}

#[tokio::test]
async fn whoever_said_it_is_told_and_comes_back_to_what_is_stored() {
    let stage = stage().await;
    let mut raw = Raw::initialized(&stage.inn.url, "raw").await;
    let other = stage.inn.guest("other").await;
    let other_session = other.new_session().await;
    let mut other_chat = other.watch_chat(&default_chat(&other_session)).await;
    raw.ask(json!({"id": 1, "method": "subscribe", "params": {"channel": stage.chat}}))
        .await;
    for (seq, text) in [(1, "Stored".to_owned()), (2, too_much())] {
        let draft = json!({"type": "chat/draftChanged", "draft": message(&text)});
        let params = json!({"channel": stage.chat, "clientSeq": seq, "action": draft});
        let dispatch = json!({"method": "dispatchAction", "params": params});
        raw.send(&dispatch.to_string()).await;
    }
    let rejection = loop {
        let frame = raw.next().await;
        if frame["params"]["origin"]["clientSeq"] == 2 {
            break frame["params"].clone();
        }
    };
    let reason = rejection["rejectionReason"].as_str().unwrap();
    assert!(reason.contains("cannot be stored"), "{reason}");
    assert_eq!(raw.close_code().await, Some(CloseCode::Again));
    let back = stage.inn.guest("back").await;
    let chat: ChatState = back.snapshot(&stage.chat).await;
    assert_eq!(chat.draft.unwrap().text, "Stored");
    // Those who follow something else have heard of nothing.
    other.say(&default_chat(&other_session), "t", "hello").await;
    other_chat.turn_end("t").await;
    works(&stage.inn, &back).await;
    stage.inn.close().await;
}

#[tokio::test]
async fn what_was_refused_can_be_found_in_the_data_directory() {
    let stage = stage().await;
    let text = too_much();
    act(
        &stage.guest,
        &stage.chat,
        json!({"type": "chat/draftChanged", "draft": message(&text)}),
    )
    .await;
    let mut watch = stage.watch;
    while watch.next_or_end().await.is_some() {}
    let aside = stage.inn.directory().join("set-aside");
    let files: Vec<_> = std::fs::read_dir(aside).unwrap().collect();
    assert_eq!(files.len(), 1);
    let kept = std::fs::read_to_string(files[0].as_ref().unwrap().path()).unwrap();
    assert!(kept.contains(&text));
    assert!(
        kept.lines().next().unwrap().contains("too big"),
        "{kept:.300}"
    );
    stage.inn.close().await;
}

#[tokio::test]
async fn a_request_whose_outcome_cannot_be_stored_fails() {
    let stage = stage().await;
    let tool = json!({"name": "build", "description": too_much()});
    let client = json!({"clientId": "a", "tools": [tool]});
    let params = json!({"channel": "ahp-session:/large", "provider": "script"});
    let large = with(params.clone(), json!({"activeClient": client}));
    let refused = stage.guest.request("createSession", large).await;
    let (code, reason) = refused.unwrap_err();
    assert_eq!(code, -32603, "{reason}");
    assert!(reason.contains("cannot be stored"), "{reason}");
    let listed = stage
        .guest
        .request("listSessions", json!({"channel": "ahp-root://"}))
        .await;
    assert_eq!(listed.unwrap()["items"].as_array().unwrap().len(), 1);
    stage.guest.request("createSession", params).await.unwrap();
    works(&stage.inn, &stage.guest).await;
    stage.close().await;
}

#[tokio::test]
async fn a_turn_of_which_a_part_cannot_be_stored_ends() {
    let stage = stage().await;
    stage
        .play(
            "t",
            json!([{"say": "Stored.", "chunks": 1}, {"sleep": 100},
            {"flood": {"deltas": 1, "bytes": 2 * MOST}}, {"awaitSteering": true}]),
        )
        .await;
    let mut watch = stage.watch;
    while watch.next_or_end().await.is_some() {}
    let back = stage.inn.guest("back").await;
    let mut chat = back.watch_chat(&stage.chat).await;
    chat.turn_end("t").await;
    assert_eq!(chat.text_of("t"), "Stored.");
    back.say(&stage.chat, "u", "hello").await;
    chat.turn_end("u").await;
    works(&stage.inn, &back).await;
    stage.inn.close().await;
}
