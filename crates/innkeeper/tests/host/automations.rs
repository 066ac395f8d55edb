//! Automations over a real socket, with real sessions, files and restarts.

use std::path::Path;
use std::time::Duration;

use innkeeper_protocol::newest::state::{
    AutomationRunState, AutomationState, ChatState, SessionState,
};
use serde_json::{Value, json};

use crate::common::binary::Binary;
use crate::common::{Guest, Inn, InnOptions, Watch, default_chat, in_time, script};
use crate::stage::{act, until};

const CATALOGUE: &str = "ahp-automations://";
const A: &str = "ahp-automation:/a";

/// An automation that plays these steps in a directory.
fn definition(directory: &Path, steps: Value) -> Value {
    json!({
        "title": "Tidy",
        "message": {"text": script(steps), "origin": {"kind": "automation"}},
        "session": {
            "provider": "script",
            "workingDirectories": [format!("file://{}", directory.display())],
        },
        "enabled": true, "triggers": [],
    })
}

async fn create(guest: &Guest, definition: Value) -> Watch<AutomationState> {
    let mut watch = guest.watch(CATALOGUE, None).await;
    let action = json!({
        "type": "automation/createRequested", "resource": A, "definition": definition,
    });
    act(guest, CATALOGUE, action).await;
    let is_there = |state: &Value| state["entries"][0]["resource"] == A;
    until(&mut watch, "the automation", is_there).await;
    watch
}

async fn run(guest: &Guest, request: &str) -> String {
    let params = json!({"channel": CATALOGUE, "automation": A, "requestId": request});
    let answer = guest.request("runAutomation", params).await.unwrap();
    answer["resource"].as_str().unwrap().to_owned()
}

/// Waits until the latest run is like this, and returns it.
async fn latest(watch: &mut Watch<AutomationState>, status: &str) -> Value {
    let is_so = |state: &Value| state["entries"][0]["runs"][0]["lifecycle"]["status"] == status;
    until(watch, status, is_so).await["entries"][0]["runs"][0].clone()
}

#[tokio::test]
async fn a_run_works_in_a_session_of_its_own_and_all_of_it_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let inn = Inn::open_with(InnOptions::default()).await;
    let guest = inn.guest("a").await;
    let edit = json!({"edit": {"path": "menu.txt", "content": "soup\n", "confirm": "none"}});
    let mut watch = create(&guest, definition(directory.path(), json!([edit]))).await;
    let run = run(&guest, "1").await;
    let summary = latest(&mut watch, "completed").await;
    assert_eq!(summary["resource"], run);
    let menu = std::fs::read_to_string(directory.path().join("menu.txt"));
    assert_eq!(menu.unwrap(), "soup\n");

    let session = summary["primarySession"].as_str().unwrap().to_owned();
    let state: SessionState = guest.snapshot(&session).await;
    let origin = json!({"kind": "automation", "automation": A, "run": run});
    assert_eq!(json!(state)["origin"], origin);
    let chat: ChatState = guest.snapshot(&default_chat(&session)).await;
    assert_eq!(
        json!(chat)["turns"][0]["message"]["origin"]["kind"],
        "automation"
    );
    let before: AutomationRunState = guest.snapshot(&run).await;

    let inn = inn.reopen(InnOptions::default()).await;
    let guest = inn.guest("a").await;
    let automations: AutomationState = guest.snapshot(CATALOGUE).await;
    assert_eq!(automations, watch.state);
    let after: AutomationRunState = guest.snapshot(&run).await;
    assert_eq!(after, before);
    inn.close().await;
}

#[tokio::test]
async fn a_run_has_the_plugins_of_a_client_that_is_long_gone() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = tempfile::tempdir().unwrap();
    let skill = plugin.path().join("skills/ship");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(skill.join("SKILL.md"), "---\nname: ship\n---\nShip it.\n").unwrap();
    let inn = Inn::open_with(InnOptions::default()).await;
    let guest = inn.guest("a").await;
    let mut wanted = definition(directory.path(), json!([{"echo": "customizations"}]));
    let uri = format!("file://{}", plugin.path().display());
    wanted["session"]["customizations"] =
        json!([{"type": "plugin", "id": "p", "uri": uri, "name": "deploy", "nonce": "1"}]);
    let watch = create(&guest, wanted).await;
    let shown = json!(watch.state)["entries"][0]["customizations"][0].clone();
    assert_eq!(
        (&shown["id"], &shown["name"]),
        (&json!("p"), &json!("deploy"))
    );
    assert_eq!(shown["children"][0]["name"], "ship");
    drop(watch);
    drop(plugin);

    let inn = inn.reopen(InnOptions::default()).await;
    let guest = inn.guest("b").await;
    let file = shown["children"][0]["uri"].clone();
    let params = json!({"channel": "ahp-root://", "uri": file});
    let read = guest.request("resourceRead", params).await.unwrap();
    assert!(
        read["data"].as_str().unwrap().ends_with("Ship it.\n"),
        "{read}"
    );
    let params = json!({"channel": "ahp-root://", "uri": file, "data": "x", "encoding": "utf-8"});
    let written = guest.request("resourceWrite", params).await;
    assert!(written.is_err(), "{written:?}");

    let mut watch = guest.watch::<AutomationState>(CATALOGUE, None).await;
    run(&guest, "1").await;
    let summary = latest(&mut watch, "completed").await;
    let session = summary["primarySession"].as_str().unwrap().to_owned();
    let chat: ChatState = guest.snapshot(&default_chat(&session)).await;
    let said = json!(chat)["turns"][0]["responseParts"].to_string();
    assert!(said.contains("skills/ship/SKILL.md"), "{said}");

    act(
        &guest,
        CATALOGUE,
        json!({"type": "automation/removed", "resource": A}),
    )
    .await;
    let copies = inn.directory().join("plugins");
    in_time("no copy", async {
        while std::fs::read_dir(&copies).unwrap().next().is_some() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    inn.close().await;
}

#[tokio::test]
async fn a_file_that_changes_begins_a_run_and_what_the_run_changes_does_not() {
    let directory = tempfile::tempdir().unwrap();
    let inn = Inn::open_with(InnOptions::default()).await;
    let guest = inn.guest("a").await;
    let edit = json!({"edit": {"path": "by-the-run.txt", "content": "x", "confirm": "none"}});
    let mut following = definition(directory.path(), json!([edit]));
    following["triggers"] = json!([{
        "kind": "event", "id": "files", "type": "files", "title": "",
        "events": [{"id": "added", "title": ""}, {"id": "updated", "title": ""}],
        "config": {"glob": "*.txt"},
    }]);
    let mut watch = create(&guest, following).await;
    let completed = in_time("a run", async {
        // Nobody is told when a watch has begun, so this goes on until it has.
        for attempt in 0.. {
            std::fs::write(directory.path().join("note.txt"), attempt.to_string()).unwrap();
            let soon = Duration::from_secs(2);
            let run = tokio::time::timeout(soon, latest(&mut watch, "completed")).await;
            if let Ok(run) = run {
                return run;
            }
        }
        unreachable!()
    })
    .await;
    assert_eq!(completed["origin"]["triggerId"], "files");
    let file = completed["origin"]["event"]["files"][0]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(file.ends_with("/note.txt"), "{file}");
    // A run that its own file had begun would be there before the next one.
    let by_hand = run(&guest, "by hand").await;
    let is_next = |state: &Value| {
        let runs = state["entries"][0]["runs"].as_array().unwrap();
        runs[0]["resource"] == by_hand && runs[0]["lifecycle"]["status"] == "completed"
    };
    let state = until(&mut watch, "the run by hand", is_next).await;
    assert_eq!(state["entries"][0]["runs"].as_array().unwrap().len(), 2);
    inn.close().await;
}

#[tokio::test]
async fn a_run_that_was_told_is_there_after_the_host_was_killed_and_does_not_run_twice() {
    let data = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let host = Binary::start(data.path(), &[]);
    let guest = Guest::arrive(&host.url, "a").await;
    guest.initialize(&[]).await;
    let steps = json!([{"say": "at work"}, {"sleep": 600_000}]);
    let mut watch = create(&guest, definition(directory.path(), steps)).await;
    let told = run(&guest, "1").await;
    let summary = latest(&mut watch, "running").await;
    let chat = default_chat(summary["primarySession"].as_str().unwrap());
    let mut conversation = guest.watch_chat(&chat).await;
    let works = |chat: &Value| chat["activeTurn"]["responseParts"][0].is_object();
    until(&mut conversation, "the agent at work", works).await;
    host.kill();

    let host = Binary::start(data.path(), &[]);
    let guest = Guest::arrive(&host.url, "a").await;
    guest.initialize(&[]).await;
    let mut watch: Watch<AutomationState> = guest.watch(CATALOGUE, None).await;
    let failed = latest(&mut watch, "failed").await;
    assert_eq!(failed["resource"], told);
    assert_eq!(failed["lifecycle"]["error"]["errorType"], "hostInterrupted");
    assert_eq!(
        run(&guest, "1").await,
        told,
        "the same request is the same run"
    );
    assert_eq!(watch.state.entries[0].runs.len(), 1);
}
