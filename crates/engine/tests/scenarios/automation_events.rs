//! Runs that begin because something happened: in a session, or to a file.

use std::time::Duration;

use innkeeper_engine::Input;
use innkeeper_protocol::agent::TurnEvent;
use innkeeper_protocol::newest::state::{ResourceChange, ResourceChangeType};
use innkeeper_protocol::workspace::resource::ResourceError;
use innkeeper_protocol::workspace::watch::{WatchCommand, WatchEvent, WatchId, WatchReport};
use serde_json::{Value, json};

use crate::automation_runs::{latest, status, turn_ends};
use crate::automations::{A, CATALOGUE, create, definition, entry, host, update};
use crate::host::{Host, SESSION, broken, chat};

const SECOND: Duration = Duration::from_secs(1);

fn event(kind: &str, events: &[&str], config: Value) -> Value {
    let events: Vec<Value> = events
        .iter()
        .map(|id| json!({"id": id, "title": "?"}))
        .collect();
    let mut definition = definition();
    definition["session"] = json!({"workingDirectories": ["file:///w"]});
    definition["triggers"] = json!([{
        "kind": "event", "id": "e", "type": kind, "title": "?", "events": events,
        "config": config,
    }]);
    definition
}

fn count(host: &mut Host) -> usize {
    entry(host)["runs"].as_array().unwrap().len()
}

/// A session of a person, in which a turn ends like this.
fn a_turn_ends(host: &mut Host, event: TurnEvent) {
    let new = json!({"channel": SESSION, "workingDirectories": ["file:///inn/cellar"]});
    host.ok(1, "createSession", new);
    host.opened();
    host.start_turn(1, "t");
    host.in_turn("t", event);
}

#[test]
fn the_events_that_this_host_raises_are_listed_with_their_settings() {
    let mut host = host();
    let ask = json!({"channel": CATALOGUE});
    let items = host.ok(1, "listAutomationTriggerDefinitions", ask)["items"].clone();
    let items = items.as_array().unwrap();
    let types: Vec<&Value> = items.iter().map(|it| &it["type"]).collect();
    assert_eq!(types, ["session", "files"]);
    assert_eq!(items[1]["configSchema"]["required"], json!(["glob"]));
    assert_eq!(items[0]["events"][0]["id"], "turnCompleted");
}

#[test]
fn the_host_calls_events_what_it_calls_them_and_keeps_settings_that_it_does_not_know() {
    let mut host = host();
    let config = json!({"more": 1});
    create(
        &mut host,
        event("session", &["turnFailed", "turnFailed"], config.clone()),
    );
    let trigger = entry(&mut host)["definition"]["triggers"][0].clone();
    assert_eq!(trigger["title"], "Session");
    assert_eq!(trigger["events"].as_array().unwrap().len(), 1);
    assert_eq!(trigger["events"][0]["title"], "Turn failed");
    assert_eq!(trigger["config"], config);
}

#[test]
fn a_turn_of_a_session_begins_a_run() {
    let cases = [
        (
            &["turnCompleted"][..],
            json!({}),
            TurnEvent::Completed,
            true,
        ),
        (&["turnCompleted"][..], json!({}), broken(true), false),
        (&["turnFailed"][..], json!({}), broken(true), true),
        (
            &["turnCompleted"][..],
            json!({}),
            TurnEvent::Cancelled,
            false,
        ),
        (
            &["turnCompleted"][..],
            json!({"directory": "file:///inn"}),
            TurnEvent::Completed,
            true,
        ),
        (
            &["turnCompleted"][..],
            json!({"directory": "file:///in"}),
            TurnEvent::Completed,
            false,
        ),
    ];
    for (events, config, ending, begins) in cases {
        let mut host = host();
        create(&mut host, event("session", events, config.clone()));
        a_turn_ends(&mut host, ending.clone());
        assert_eq!(count(&mut host), usize::from(begins), "{config} {ending:?}");
        if begins {
            let origin = latest(&mut host)["origin"].clone();
            assert_eq!(origin["triggerId"], "e");
            assert_eq!(origin["event"]["session"], SESSION);
            assert_eq!(origin["event"]["chat"], chat());
        }
    }
}

#[test]
fn a_turn_of_a_run_begins_nothing() {
    let mut host = host();
    create(
        &mut host,
        event("session", &["turnCompleted", "turnFailed"], json!({})),
    );
    a_turn_ends(&mut host, TurnEvent::Completed);
    assert_eq!(count(&mut host), 1);
    host.opened();
    turn_ends(&mut host, TurnEvent::Completed);
    assert_eq!(
        (count(&mut host), status(&mut host).as_str()),
        (1, "completed")
    );
}

#[test]
fn a_disabled_automation_hears_of_nothing() {
    let mut host = host();
    create(&mut host, event("session", &["turnCompleted"], json!({})));
    update(&mut host, json!({"enabled": false}));
    a_turn_ends(&mut host, TurnEvent::Completed);
    assert_eq!(count(&mut host), 0);
}

/// A host with an automation that follows files, and the watch for it.
fn following(events: &[&str]) -> (Host, WatchId) {
    let mut host = host();
    let config = json!({"glob": "src/**", "directory": "file:///w/a"});
    assert_eq!(create(&mut host, event("files", events, config)), "");
    let watch = last_watch(&host);
    (host, watch)
}

fn last_watch(host: &Host) -> WatchId {
    let opened = host.watches.iter().rev().find_map(|command| match command {
        WatchCommand::Open { watch, open } => {
            assert_eq!(open.uri, "file:///w/a");
            assert_eq!(open.includes, ["src/**"]);
            Some(*watch)
        }
        WatchCommand::Close { .. } => None,
    });
    opened.unwrap()
}

fn report(host: &mut Host, watch: WatchId, event: WatchEvent) {
    host.feed(Input::Watch(WatchReport { watch, event }));
}

fn changed(host: &mut Host, watch: WatchId, file: &str) {
    let change = ResourceChange {
        uri: format!("file:///w/a/src/{file}"),
        r#type: ResourceChangeType::Updated,
    };
    report(host, watch, WatchEvent::Changed(vec![change]));
}

#[test]
fn changes_of_files_begin_one_run_when_they_have_come_to_rest() {
    let (mut host, watch) = following(&["updated"]);
    for file in ["x", "y"] {
        changed(&mut host, watch, file);
        host.wait(SECOND / 2);
    }
    assert_eq!(count(&mut host), 0);
    host.wait(SECOND);
    assert_eq!(count(&mut host), 1);
    let event = latest(&mut host)["origin"]["event"].clone();
    assert_eq!(event["count"], 2);
    assert_eq!(event["files"][1], "file:///w/a/src/y");
}

#[test]
fn changes_that_nobody_asked_for_begin_nothing() {
    let (mut host, watch) = following(&["added", "deleted"]);
    changed(&mut host, watch, "x");
    host.wait(SECOND * 2);
    assert_eq!(count(&mut host), 0);
    report(&mut host, watch, WatchEvent::Overflowed);
    host.wait(SECOND * 2);
    assert_eq!(
        count(&mut host),
        1,
        "something has changed, nobody knows what"
    );
}

#[test]
fn what_changes_while_a_run_is_at_work_there_begins_nothing() {
    let (mut host, watch) = following(&["updated"]);
    changed(&mut host, watch, "x");
    host.wait(SECOND);
    host.opened();
    changed(&mut host, watch, "by-the-run");
    host.wait(SECOND * 2);
    turn_ends(&mut host, TurnEvent::Completed);
    changed(&mut host, watch, "told-late");
    host.wait(SECOND * 2);
    assert_eq!(count(&mut host), 1);
    host.wait(SECOND * 4);
    changed(&mut host, watch, "by-somebody");
    host.wait(SECOND);
    assert_eq!(count(&mut host), 2);
}

#[test]
fn files_are_followed_while_the_automation_is_enabled_and_after_a_restart() {
    let (mut host, watch) = following(&["updated"]);
    update(&mut host, json!({"enabled": false}));
    assert_eq!(host.watches.last(), Some(&WatchCommand::Close { watch }));
    update(&mut host, json!({"enabled": true}));
    assert_ne!(last_watch(&host), watch);
    host.watches.clear();
    host.restart(Default::default());
    last_watch(&host);
}

#[test]
fn files_that_cannot_be_followed_are_told_and_tried_again() {
    let (mut host, watch) = following(&["updated"]);
    let uri = "file:///w/a".to_owned();
    report(
        &mut host,
        watch,
        WatchEvent::OpenFailed(ResourceError::NotFound { uri }),
    );
    let problem = entry(&mut host)["_meta"]["innkeeper"]["problems"]["e"].clone();
    assert_eq!(problem, "`file:///w/a` does not exist");
    host.wait(SECOND * 60);
    let again = last_watch(&host);
    assert_ne!(again, watch);
    assert_eq!(entry(&mut host).get("_meta"), None);
    assert_eq!(entry(&mut host)["resource"], A);
}
