//! Runs of automations: how they begin, what they wait for, how they end.

use std::time::Duration;

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{AgentCommand, TurnEvent};
use innkeeper_protocol::newest::state::{AgentInfo, UsageInfo};
use serde_json::{Value, json};

use crate::automations::{A, CATALOGUE, create, definition, entries, entry, host, remove, update};
use crate::host::{Host, agents, broken};

const HOUR: Duration = Duration::from_secs(3_600);

/// A host with one automation.
fn with_automation() -> Host {
    let mut host = host();
    assert_eq!(create(&mut host, definition()), "");
    host
}

/// Asks for a run, and returns its name.
pub(crate) fn run(host: &mut Host, request: &str) -> String {
    let params = json!({"channel": CATALOGUE, "automation": A, "requestId": request});
    let answer = host.ok(1, "runAutomation", params);
    answer["resource"].as_str().unwrap().to_owned()
}

/// The latest run of the only automation, as its history shows it.
pub(crate) fn latest(host: &mut Host) -> Value {
    entry(host)["runs"][0].clone()
}

pub(crate) fn status(host: &mut Host) -> String {
    let latest = latest(host);
    let status = latest["lifecycle"]["status"].as_str();
    status.unwrap_or_default().to_owned()
}

pub(crate) fn session_of(host: &mut Host) -> String {
    let latest = latest(host);
    latest["primarySession"].as_str().unwrap().to_owned()
}

fn chat_of(host: &mut Host) -> String {
    ChannelUri::default_chat_of(&session_of(host)).to_string()
}

/// The agent of the latest run is there, and its turn ends like this.
pub(crate) fn turn_ends(host: &mut Host, event: TurnEvent) {
    let chat = chat_of(host);
    let turn = host.state(&chat)["activeTurn"]["id"].clone();
    host.in_turn(turn.as_str().unwrap(), event);
}

fn asks(host: &mut Host) {
    let request = json!({"id": "q", "message": "Which?"});
    let request = serde_json::from_value(request).unwrap();
    turn_ends(host, TurnEvent::Ask(Box::new(request)));
}

fn prompts(host: &Host) -> usize {
    let commands = host.commands.iter();
    let prompts = commands.filter(|it| matches!(it, AgentCommand::Prompt(_)));
    prompts.count()
}

#[test]
fn a_run_has_a_session_of_its_own_from_the_template() {
    let mut host = host();
    let mut template = definition();
    template["session"] = json!({
        "provider": "alpha", "workingDirectories": ["file:///w"], "model": {"id": "large"},
    });
    create(&mut host, template);
    let run = run(&mut host, "1");
    let session = session_of(&mut host);
    let state = host.state(&session);
    assert_eq!(
        state["origin"],
        json!({"kind": "automation", "automation": A, "run": run})
    );
    assert_eq!(state["title"], "Tidy");
    assert_eq!(state["workingDirectories"], json!(["file:///w"]));
    let chat = chat_of(&mut host);
    let message = host.state(&chat)["activeTurn"]["message"].clone();
    assert_eq!(
        message,
        json!({
            "text": "Tidy up", "origin": {"kind": "automation"}, "model": {"id": "large"},
        })
    );
}

#[test]
fn a_run_completes_with_its_turn_and_says_so_everywhere() {
    let mut host = with_automation();
    let run = run(&mut host, "1");
    host.ok(1, "subscribe", json!({"channel": run}));
    host.news(1);
    host.opened();
    let usage = UsageInfo {
        input_tokens: Some(7),
        ..serde_json::from_value(json!({})).unwrap()
    };
    turn_ends(&mut host, TurnEvent::Usage(usage));
    turn_ends(&mut host, TurnEvent::Completed);
    let state = host.state(&run);
    assert_eq!(state["lifecycle"]["status"], "completed");
    assert_eq!(state["lifecycle"]["usage"]["inputTokens"], 7);
    assert_eq!(state["sessions"], json!([state["primarySession"]]));
    let summary = latest(&mut host);
    assert_eq!(summary["lifecycle"], state["lifecycle"]);
    assert_eq!(summary["sessionCount"], 1);
    assert_eq!(summary["origin"], json!({"kind": "manual"}));
    let told = host.news(1);
    let told = told.iter().filter(|it| it.starts_with("automationRun/"));
    assert_eq!(told.collect::<Vec<_>>(), ["automationRun/lifecycleChanged"]);
}

#[test]
fn a_run_that_is_disabled_can_still_be_started_by_hand() {
    let mut host = host();
    let mut off = definition();
    off["enabled"] = false.into();
    create(&mut host, off);
    run(&mut host, "1");
    assert_eq!(status(&mut host), "running");
}

#[test]
fn the_same_request_is_the_same_run_also_after_a_restart() {
    let mut host = with_automation();
    let first = run(&mut host, "1");
    assert_eq!(run(&mut host, "1"), first);
    host.restart(Limits::default());
    host.enter(1, "a", &[CATALOGUE]);
    assert_eq!(run(&mut host, "1"), first);
    assert_ne!(run(&mut host, "2"), first);
    assert_eq!(entry(&mut host)["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_run_is_refused() {
    let mut host = with_automation();
    let ask = |automation: &str, request: &str| json!({"channel": CATALOGUE, "automation": automation, "requestId": request});
    host.refused(1, "runAutomation", ask("ahp-automation:/none", "1"));
    host.refused(1, "runAutomation", ask(A, ""));
    for request in 0..10 {
        run(&mut host, &request.to_string());
    }
    assert_eq!(entry(&mut host)["operations"], json!(["update", "remove"]));
    host.refused(1, "runAutomation", ask(A, "11"));
}

#[test]
fn a_run_fails_with_its_turn() {
    let mut host = with_automation();
    run(&mut host, "1");
    host.opened();
    turn_ends(&mut host, broken(true));
    let summary = latest(&mut host);
    assert_eq!(summary["lifecycle"]["status"], "failed");
    assert_eq!(summary["lifecycle"]["error"]["message"], "broken");
}

#[test]
fn a_run_whose_session_cannot_come_about_fails() {
    let mut host = host();
    let mut nowhere = definition();
    nowhere["session"] = json!({"workingDirectories": ["file:///missing"]});
    create(&mut host, nowhere);
    run(&mut host, "1");
    let why = latest(&mut host)["lifecycle"]["error"]["message"].clone();
    assert!(why.as_str().unwrap().contains("does not exist"), "{why}");
}

#[test]
fn a_run_is_cancelled_and_its_agent_stops() {
    let mut host = with_automation();
    let run = run(&mut host, "1");
    host.opened();
    let cancel = json!({"type": "automationRun/cancelRequested"});
    host.dispatch(1, &run, cancel.clone());
    assert_eq!(host.rejection(1), "");
    assert_eq!(status(&mut host), "cancelled");
    let last = host.commands.last();
    assert!(matches!(last, Some(AgentCommand::Cancel { .. })));
    let chat = chat_of(&mut host);
    assert_eq!(host.state(&chat)["turns"][0]["state"], "cancelled");
    host.dispatch(1, &run, cancel);
    assert_eq!(host.rejection(1), "the run is over");
}

#[test]
fn a_person_who_cancels_the_turn_cancels_the_run() {
    let mut host = with_automation();
    run(&mut host, "1");
    host.opened();
    let chat = chat_of(&mut host);
    let turn = host.state(&chat)["activeTurn"]["id"].clone();
    host.dispatch(
        1,
        &chat,
        json!({"type": "chat/turnCancelled", "turnId": turn}),
    );
    assert_eq!(status(&mut host), "cancelled");
}

#[test]
fn a_run_waits_for_its_agent_and_says_so() {
    let mut host = host();
    let mut other = definition();
    other["session"] = json!({"provider": "beta"});
    create(&mut host, other);
    let run = run(&mut host, "1");
    let summary = latest(&mut host);
    assert_eq!(summary["lifecycle"]["status"], "pending");
    let waits = summary["_meta"]["innkeeper"]["waitsFor"].clone();
    assert!(waits.as_str().unwrap().contains("`beta`"), "{waits}");

    let mut all = agents();
    let mut beta = all[0].clone();
    beta.info.provider = "beta".to_owned();
    beta.works = false;
    all.push(beta);
    host.feed(Input::AgentsChanged(all.clone()));
    let waits = latest(&mut host)["_meta"]["innkeeper"]["waitsFor"].clone();
    assert!(
        waits.as_str().unwrap().contains("cannot be started"),
        "{waits}"
    );

    all[1].works = true;
    host.feed(Input::AgentsChanged(all));
    let summary = latest(&mut host);
    assert_eq!(summary["lifecycle"]["status"], "running");
    assert_eq!(summary.get("_meta"), None);
    assert_eq!(summary["resource"], run);
}

#[test]
fn a_run_that_waits_begins_when_its_automation_is_given_another_agent() {
    let mut host = host();
    let mut other = definition();
    other["session"] = json!({"provider": "beta"});
    create(&mut host, other);
    run(&mut host, "1");
    assert_eq!(status(&mut host), "pending");
    update(&mut host, json!({"session": {"provider": "alpha"}}));
    assert_eq!(status(&mut host), "running");
}

#[test]
fn a_run_waits_until_somebody_has_signed_in() {
    let mut host = host();
    let mut all = agents();
    let mut info = serde_json::to_value(&all[0].info).unwrap();
    info["protectedResources"] = json!([{"resource": "https://api.example"}]);
    all[0].info = serde_json::from_value::<AgentInfo>(info).unwrap();
    host.feed(Input::AgentsChanged(all));
    create(&mut host, definition());
    run(&mut host, "1");
    assert_eq!(status(&mut host), "pending");
    let token = json!({"channel": "ahp-root://", "resource": "https://api.example", "token": "t"});
    host.ok(1, "authenticate", token);
    assert_eq!(status(&mut host), "running");
}

#[test]
fn a_run_that_could_not_begin_within_a_day_fails() {
    let mut host = host();
    let mut other = definition();
    other["session"] = json!({"provider": "beta"});
    create(&mut host, other);
    run(&mut host, "1");
    host.wait(HOUR * 23);
    assert_eq!(status(&mut host), "pending");
    host.restart(Limits::default());
    host.wait(HOUR);
    let failed = latest(&mut host)["lifecycle"].clone();
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed.get("startedAt"), None);
    assert!(
        failed["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`beta`"),
        "{failed}"
    );
}

#[test]
fn a_run_waits_for_a_person_as_long_as_its_automation_says() {
    for (patience, waits) in [(None, HOUR), (Some(60), Duration::from_secs(60))] {
        let mut host = host();
        let mut patient = definition();
        if let Some(seconds) = patience {
            patient["_meta"] = json!({"innkeeper": {"patienceSeconds": seconds}});
        }
        create(&mut host, patient);
        run(&mut host, "1");
        host.opened();
        asks(&mut host);
        host.wait(waits - Duration::from_secs(1));
        assert_eq!(status(&mut host), "running");
        host.wait(Duration::from_secs(1));
        let failed = latest(&mut host)["lifecycle"].clone();
        assert_eq!(failed["error"]["errorType"], "inputNeeded", "{failed}");
        let chat = chat_of(&mut host);
        assert_eq!(host.state(&chat)["turns"][0]["state"], "cancelled");
    }
}

#[test]
fn a_machine_that_sleeps_does_not_use_up_the_patience_of_a_run() {
    let mut host = with_automation();
    run(&mut host, "1");
    host.opened();
    asks(&mut host);
    host.wait(HOUR / 2);
    host.set_clock_forward(HOUR * 8);
    host.wait(HOUR / 2 - Duration::from_secs(1));
    assert_eq!(status(&mut host), "running");
    host.wait(Duration::from_secs(1));
    assert_eq!(status(&mut host), "failed");
}

#[test]
fn a_run_that_was_answered_goes_on() {
    let mut host = with_automation();
    run(&mut host, "1");
    host.opened();
    asks(&mut host);
    host.wait(HOUR / 2);
    let chat = chat_of(&mut host);
    let answer = json!({"type": "chat/inputCompleted", "requestId": "q", "response": "cancel"});
    host.dispatch(1, &chat, answer);
    host.wait(HOUR);
    assert_eq!(status(&mut host), "running");
}

#[test]
fn a_run_whose_turn_was_at_work_when_the_host_died_fails_and_is_not_repeated() {
    let mut host = with_automation();
    run(&mut host, "1");
    host.opened();
    assert_eq!(prompts(&host), 1);
    host.restart(Limits::default());
    host.wait(Duration::ZERO);
    assert_eq!(
        latest(&mut host)["lifecycle"]["error"]["errorType"],
        "hostInterrupted"
    );
    assert_eq!(prompts(&host), 1);
}

#[test]
fn a_run_whose_agent_was_starting_when_the_host_died_begins_once() {
    let mut host = with_automation();
    let run = run(&mut host, "1");
    host.restart(Limits::default());
    host.wait(Duration::ZERO);
    assert_eq!(status(&mut host), "running");
    host.opened();
    assert_eq!(prompts(&host), 1);
    turn_ends(&mut host, TurnEvent::Completed);
    assert_eq!(host.state(&run)["lifecycle"]["status"], "completed");
    assert_eq!(entry(&mut host)["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_that_waits_for_a_person_outlives_the_host() {
    let mut host = with_automation();
    run(&mut host, "1");
    host.opened();
    asks(&mut host);
    host.restart(Limits::default());
    assert_eq!(status(&mut host), "running");
    host.wait(HOUR);
    assert_eq!(
        latest(&mut host)["lifecycle"]["error"]["errorType"],
        "inputNeeded"
    );
}

#[test]
fn a_run_that_waits_for_its_agent_outlives_the_host() {
    let mut host = host();
    let mut other = definition();
    other["session"] = json!({"provider": "beta"});
    create(&mut host, other);
    run(&mut host, "1");
    host.restart(Limits::default());
    host.wait(Duration::ZERO);
    assert_eq!(status(&mut host), "pending");
    let mut all = agents();
    all[0].info.provider = "beta".to_owned();
    host.feed(Input::AgentsChanged(all));
    assert_eq!(status(&mut host), "running");
}

#[test]
fn a_run_whose_session_is_disposed_of_is_over() {
    let mut host = with_automation();
    let run = run(&mut host, "1");
    let session = session_of(&mut host);
    host.ok(1, "disposeSession", json!({"channel": session}));
    let state = host.state(&run);
    assert_eq!(state["lifecycle"]["error"]["errorType"], "sessionDisposed");
    assert_eq!(state["sessions"], json!([]));
    assert_eq!(state.get("primarySession"), None);
}

#[test]
fn an_automation_that_is_removed_takes_its_runs_along_and_stops_them() {
    let mut host = with_automation();
    let run = run(&mut host, "1");
    host.opened();
    let session = session_of(&mut host);
    assert_eq!(remove(&mut host), "");
    assert!(matches!(
        host.commands.last(),
        Some(AgentCommand::Cancel { .. })
    ));
    host.refused(1, "subscribe", json!({"channel": run}));
    host.restart(Limits::default());
    assert_eq!(entries(&mut host), Vec::<Value>::new());
    // What was said stays.
    let chat = ChannelUri::default_chat_of(&session).to_string();
    assert_eq!(host.state(&chat)["turns"][0]["state"], "cancelled");
}

/// So many runs that are over.
fn with_history(count: usize) -> Host {
    let mut host = with_automation();
    for request in 0..count {
        let run = run(&mut host, &request.to_string());
        host.dispatch(1, &run, json!({"type": "automationRun/cancelRequested"}));
    }
    host
}

fn shown(host: &mut Host) -> usize {
    entry(host)["runs"].as_array().unwrap().len()
}

#[test]
fn older_runs_are_shown_page_by_page() {
    let mut host = with_history(50);
    let fetch = |cursor: Value| json!({"channel": CATALOGUE, "automation": A, "cursor": cursor});
    assert_eq!(shown(&mut host), 20);
    let cursor = entry(&mut host)["runsNextCursor"].clone();
    host.news(1);
    assert_eq!(
        host.ok(1, "fetchAutomationRuns", fetch(cursor.clone())),
        json!({})
    );
    assert_eq!(host.news(1), ["automation/set"]);
    assert_eq!(shown(&mut host), 40);
    // Asked again, it is the same page.
    host.ok(1, "fetchAutomationRuns", fetch(cursor));
    assert_eq!(shown(&mut host), 40);
    let before = entry(&mut host);
    host.restart(Limits::default());
    assert_eq!(entry(&mut host), before);
    host.enter(1, "a", &[CATALOGUE]);
    host.ok(
        1,
        "fetchAutomationRuns",
        json!({"channel": CATALOGUE, "automation": A}),
    );
    assert_eq!(shown(&mut host), 50);
    assert_eq!(entry(&mut host).get("runsNextCursor"), None);
    host.refused(1, "fetchAutomationRuns", fetch("x".into()));
}

#[test]
fn a_hundred_runs_are_kept_and_the_oldest_go() {
    let mut host = with_history(103);
    let first = "ahp-automation-run:/n-1";
    host.refused(1, "subscribe", json!({"channel": first}));
    for _ in 0..6 {
        host.ok(
            1,
            "fetchAutomationRuns",
            json!({"channel": CATALOGUE, "automation": A}),
        );
    }
    assert_eq!(shown(&mut host), 100);
}

#[test]
fn a_run_whose_turn_is_cut_off_is_cancelled() {
    let mut host = with_automation();
    run(&mut host, "1");
    host.opened();
    let chat = chat_of(&mut host);
    host.dispatch(1, &chat, json!({"type": "chat/truncated"}));
    assert_eq!(status(&mut host), "cancelled");
}
