//! Commands and edits as part of a turn.

use std::fs;

use innkeeper_protocol::newest::state::{ChatState, TerminalState};
use serde_json::{Value, json};

use super::stage;
use crate::common::{InnOptions, Watch};
use crate::stage::{Stage, act, confirmed, last_call, until};

fn terminal_of(call: &Value) -> &Value {
    let content = call["content"].as_array();
    let mut blocks = content.into_iter().flatten();
    let terminal = blocks.find(|block| block["type"] == "terminal");
    terminal.unwrap_or(&Value::Null)
}

#[tokio::test]
async fn a_message_with_an_exclamation_mark_is_a_command() {
    let (mut stage, directory) = stage().await;
    fs::write(directory.path().join("here.txt"), "").unwrap();
    stage.guest.say(&stage.chat, "t1", "! ls; exit 3").await;
    let turn = stage.end("t1").await;
    assert_eq!(turn["state"], "complete");
    let call = last_call(&turn);
    assert_eq!(
        (&call["status"], &call["toolName"]),
        (&json!("completed"), &json!("terminal"))
    );
    assert_eq!(call["success"], false, "it exited with 3");
    let terminal = terminal_of(call);
    assert_eq!(terminal["result"]["exitCode"], 3);
    assert!(
        terminal["result"]["preview"]
            .as_str()
            .unwrap()
            .contains("here.txt")
    );
    assert_eq!(terminal["isPty"], true);

    // What it showed can still be looked at, also in the next life.
    let uri = terminal["resource"].as_str().unwrap().to_owned();
    let past: TerminalState = stage.guest.snapshot(&uri).await;
    let part = &json!(past)["content"][0];
    assert_eq!(
        (&part["commandLine"], &part["exitCode"]),
        (&json!("ls; exit 3"), &json!(3))
    );
    let Stage { inn, session, .. } = stage;
    let inn = inn.reopen(InnOptions::default()).await;
    let guest = inn.guest("a").await;
    let later: TerminalState = guest.snapshot(&uri).await;
    assert_eq!(
        json!(later)["lifecycle"],
        json!({"status": "exited", "exitCode": 3})
    );
    assert_eq!(later.content, past.content);
    drop(session);
    inn.close().await;
}

#[tokio::test]
async fn a_cancelled_turn_ends_its_command() {
    let (mut stage, _directory) = stage().await;
    let mut root = stage.guest.watch_root().await;
    stage.guest.say(&stage.chat, "t1", "!sleep 1000").await;
    stage.call("running").await;
    stage.guest.cancel(&stage.chat, "t1").await;
    assert_eq!(stage.end("t1").await["state"], "cancelled");
    let gone = |root: &Value| root["terminals"] == json!([]);
    until(&mut root, "the end of the command", gone).await;
    stage.close().await;
}

/// Takes a command over that would run for long; says in which terminal it goes on.
async fn detach(stage: &mut Stage) -> String {
    stage
        .guest
        .say(&stage.chat, "t1", "!echo up; sleep 1000")
        .await;
    let state = stage
        .until("a terminal", |chat| {
            terminal_of(last_call(&chat["activeTurn"]))["resource"].is_string()
        })
        .await;
    let uri = terminal_of(last_call(&state["activeTurn"]))["resource"].clone();
    let uri = uri.as_str().unwrap().to_owned();
    let mut watch: Watch<TerminalState> = stage.guest.watch(&uri, None).await;
    until(&mut watch, "output", |t| t.to_string().contains("up")).await;
    let claim = json!({"kind": "session", "session": stage.session, "chat": stage.chat});
    let action = json!({"type": "terminal/claimed", "claim": claim});
    act(&stage.guest, &uri, action).await;
    uri
}

#[tokio::test]
async fn a_command_that_is_detached_goes_on_without_its_turn() {
    let (mut stage, _directory) = stage().await;
    let uri = detach(&mut stage).await;
    assert_eq!(stage.end("t1").await["state"], "complete");
    let state: TerminalState = stage.guest.snapshot(&uri).await;
    assert_eq!(json!(state)["lifecycle"]["status"], "running");
    stage.close().await;
}

#[tokio::test]
async fn what_goes_on_without_its_turn_is_listed_until_somebody_stops_it() {
    let (mut stage, _directory) = stage().await;
    let uri = detach(&mut stage).await;
    let chat = stage
        .until("work in the background", |chat| {
            !chat["backgroundWork"].is_null()
        })
        .await;
    let work = &chat["backgroundWork"][0];
    assert_eq!(
        (&work["kind"], &work["command"], &work["terminal"]),
        (&json!("shell"), &json!("echo up; sleep 1000"), &json!(uri))
    );
    let stop = json!({"channel": uri});
    stage.guest.request("disposeTerminal", stop).await.unwrap();
    stage
        .until("its end", |chat| {
            chat["backgroundWork"].as_array().is_none_or(Vec::is_empty)
        })
        .await;
    stage.close().await;
}

#[tokio::test]
async fn what_went_on_in_an_earlier_life_is_not_listed() {
    let (mut stage, _directory) = stage().await;
    detach(&mut stage).await;
    stage
        .until("work in the background", |chat| {
            !chat["backgroundWork"].is_null()
        })
        .await;
    let Stage { inn, chat, .. } = stage;
    let inn = inn.reopen(InnOptions::default()).await;
    let guest = inn.guest("b").await;
    let chat: ChatState = guest.snapshot(&chat).await;
    assert_eq!(chat.background_work.unwrap_or_default(), []);
    inn.close().await;
}

#[tokio::test]
async fn a_step_of_a_scenario_runs_a_command() {
    let (mut stage, _directory) = stage().await;
    let steps = json!([
        {"terminal": {"command": "printf done > made; echo 'all of it'", "title": "Make"}},
        {"say": "after"},
    ]);
    stage.play("t1", steps).await;
    let turn = stage.end("t1").await;
    let call = last_call(&turn);
    assert_eq!(call["success"], true, "{call}");
    let terminal = terminal_of(call);
    assert_eq!(
        (&terminal["title"], &terminal["result"]["exitCode"]),
        (&json!("Make"), &json!(0))
    );
    assert_eq!(
        fs::read_to_string(_directory.path().join("made")).unwrap(),
        "done"
    );
    stage.close().await;
}

#[tokio::test]
async fn a_step_of_a_scenario_edits_a_file_when_it_may() {
    let (mut stage, directory) = stage().await;
    let path = directory.path().join("a.txt");
    fs::write(&path, "one\ntwo\n").unwrap();
    let edit = json!({"edit": {"path": "a.txt", "content": "one\n2\n3\n", "confirm": "ask"}});
    stage.play("t1", json!([edit])).await;
    let call = stage.call("pending-confirmation").await;
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    stage.act(confirmed("t1", &call, true)).await;
    let turn = stage.end("t1").await;
    let call = last_call(&turn);
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\n2\n3\n");
    let edited = &call["content"][0];
    assert_eq!(edited["type"], "fileEdit");
    assert_eq!(edited["diff"], json!({"added": 2, "removed": 1}));
    for (side, content) in [("before", "one\ntwo\n"), ("after", "one\n2\n3\n")] {
        let read = json!({"uri": edited[side]["content"]["uri"]});
        let read = stage.guest.request("resourceRead", read).await.unwrap();
        assert_eq!(read["data"], content);
    }
    let outside = json!([{"edit": {"path": "../x", "content": ""}}]);
    stage.play("t2", outside).await;
    let turn = stage.end("t2").await;
    assert_eq!(last_call(&turn)["success"], false);
    stage.close().await;
}
