//! What a session is created with: where it works, and with which model.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::agent::{AgentCommand, AgentProfile, TurnEvent};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, agents, broken_start, chat};
use crate::words::{in_words_of, place};

fn with_models(models: &[&str]) -> Vec<AgentProfile> {
    let mut profiles = agents();
    let models = models.iter().map(|id| {
        let model = json!({"id": id, "provider": "alpha", "name": id});
        serde_json::from_value(model).unwrap()
    });
    profiles[0].info.models = models.collect();
    profiles
}

/// The parameters of `createSession` in a version's words.
fn new_session(version: Version, mut more: Value) -> Value {
    let about = match version {
        Version::Draft1 | Version::V0_1 => "session",
        _ => "channel",
    };
    more[about] = SESSION.into();
    more
}

fn in_directory(version: Version, directory: &str) -> Value {
    let params = match version <= Version::V0_6 {
        true => json!({"workingDirectory": directory}),
        false => json!({"workingDirectories": [directory]}),
    };
    new_session(version, params)
}

fn error(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_default()
}

/// The frames of progress that a connection has heard.
fn progress(host: &Host, connection: u64) -> Vec<Value> {
    let heard = host.heard.get(&connection).into_iter().flatten();
    let frames = heard.filter(|frame| frame["method"] == "root/progress");
    frames.map(|frame| frame["params"].clone()).collect()
}

#[test]
fn whoever_asks_is_told_when_the_making_of_a_session_begins_and_ends() {
    let started = json!({"channel": ROOT, "progressToken": "p", "progress": 0,
        "message": "Starting A"});
    let ended = json!({"channel": ROOT, "progressToken": "p", "progress": 1, "total": 1});
    let ends: [fn(&mut Host); 3] = [
        |host| host.opened(),
        |host| host.report(broken_start("no")),
        |host| {
            host.ok(1, "disposeSession", json!({"channel": SESSION}));
        },
    ];
    for end in ends {
        let mut host = Host::new();
        host.enter(1, "a", &[ROOT]);
        host.enter(2, "b", &[ROOT]);
        let params = json!({"channel": SESSION, "progressToken": "p"});
        host.ok(1, "createSession", params);
        assert_eq!(progress(&host, 1), std::slice::from_ref(&started));
        end(&mut host);
        assert_eq!(progress(&host, 1), [started.clone(), ended.clone()]);
        assert!(progress(&host, 2).is_empty(), "nobody else asked");
    }
}

#[test]
fn versions_that_have_no_progress_are_told_none() {
    for version in Version::ALL {
        let mut host = Host::new();
        host.enter_as(version, 1, "a", &[]);
        host.ok(
            1,
            "createSession",
            new_session(version, json!({"progressToken": "p"})),
        );
        host.opened();
        let told = progress(&host, 1).len();
        assert_eq!(
            told,
            if version > Version::V0_4 { 2 } else { 0 },
            "{version}"
        );
    }
}

#[test]
fn a_progress_token_without_end_is_refused() {
    let mut host = Host::new();
    host.enter(1, "a", &[ROOT]);
    let params = json!({"channel": SESSION, "progressToken": "p".repeat(257)});
    assert_eq!(host.refused(1, "createSession", params), -32602);
}

#[test]
fn a_session_in_a_directory_that_is_not_there_is_refused_in_every_version() {
    for version in Version::ALL {
        let mut host = Host::new();
        host.enter(1, "a", &[ROOT]);
        host.enter_as(version, 2, "old", &[]);
        let answer = host.ask(2, "createSession", in_directory(version, "file:///missing"));
        assert!(error(&answer).contains("file:///missing"), "{answer}");
        assert_eq!(answer["error"]["code"], -32602, "{version}");
        let listed = host.ok(1, "listSessions", json!({"channel": ROOT}));
        assert_eq!(listed["items"], json!([]), "{version}");
        assert!(host.commands.is_empty(), "no agent was started");
        host.ok(2, "createSession", in_directory(version, "file:///there"));
        host.opened();
        assert_eq!(host.state(SESSION)["lifecycle"], "ready", "{version}");
    }
}

/// A session whose directory is still looked at; `createSession` has the id 77.
fn unchecked() -> Host {
    let mut host = Host::new();
    host.held_checks = Some(Vec::new());
    host.enter(1, "a", &[ROOT]);
    let params = json!({"channel": SESSION, "workingDirectories": ["file:///w"]});
    let call = json!({"jsonrpc": "2.0", "id": 77, "method": "createSession", "params": params});
    host.say(1, &call.to_string());
    assert_eq!(answer(&host), None, "the answer waits");
    host
}

/// The answer to `createSession`, if there is one.
fn answer(host: &Host) -> Option<Value> {
    let mut heard = host.heard.get(&1).into_iter().flatten();
    heard.find(|frame| frame["id"] == 77).cloned()
}

fn checked(host: &mut Host, wrong: Option<&str>) {
    let ticket = host.held_checks.as_mut().unwrap().pop().unwrap();
    let wrong = wrong.map(str::to_owned);
    host.feed(Input::DirectoriesChecked { ticket, wrong });
}

#[test]
fn what_is_sent_right_behind_a_creation_finds_the_session() {
    let mut host = unchecked();
    host.ok(1, "subscribe", json!({"channel": chat()}));
    host.start_turn(1, "t");
    assert_eq!(host.rejection(1), "");
    checked(&mut host, None);
    assert_eq!(answer(&host).unwrap()["result"], Value::Null);
    host.opened();
    let is_prompt = |command: &AgentCommand| matches!(command, AgentCommand::Prompt(_));
    assert!(host.commands.iter().any(is_prompt));
}

#[test]
fn a_session_that_is_disposed_of_while_its_directory_is_looked_at_stays_so() {
    let mut host = unchecked();
    host.ok(1, "disposeSession", json!({"channel": SESSION}));
    assert_eq!(answer(&host).unwrap()["result"], Value::Null);
    checked(&mut host, Some("it is not there"));
    assert!(host.commands.is_empty(), "no agent was started");
    let listed = host.ok(1, "listSessions", json!({"channel": ROOT}));
    assert_eq!(listed["items"], json!([]));
}

#[test]
fn a_session_whose_creator_has_left_fails_where_it_cannot_work() {
    let mut host = unchecked();
    host.leave(1);
    checked(&mut host, Some("it is not there"));
    let state = host.state(SESSION);
    assert_eq!(state["lifecycle"], "failed");
    assert_eq!(state["creationError"]["message"], "it is not there");
    host.enter(2, "b", &[ROOT]);
    let listed = host.ok(2, "listSessions", json!({"channel": ROOT}));
    let activity = listed["items"][0]["status"].as_u64().unwrap_or_default() & 31;
    assert_eq!(activity, 2, "the list shows that it failed");
}

#[test]
fn a_copy_of_a_session_needs_a_directory_that_is_there() {
    let mut host = Host::with_session(Limits::default());
    host.whole_turns(1);
    let fork = json!({"session": SESSION, "turnId": "t1"});
    let copy = json!({
        "channel": "x:copy", "fork": fork, "workingDirectories": ["file:///missing"],
    });
    assert_eq!(host.refused(1, "createSession", copy), -32602);
}

#[test]
fn directories_that_are_not_on_this_machine_are_left_to_the_agent() {
    let mut host = Host::new();
    host.enter(1, "a", &[ROOT]);
    let elsewhere = json!({"channel": SESSION, "workingDirectories": ["vscode:/missing"]});
    host.ok(1, "createSession", elsewhere);
}

#[test]
fn a_model_that_the_agent_does_not_have_is_refused_in_every_version() {
    for version in Version::ALL {
        let mut host = Host::new();
        host.feed(Input::AgentsChanged(with_models(&["small", "large"])));
        host.enter_as(version, 1, "a", &[]);
        let params = new_session(version, json!({"model": {"id": "huge"}}));
        let answer = host.ask(1, "createSession", params);
        assert!(error(&answer).contains("`huge`"), "{version}: {answer}");
        assert!(error(&answer).contains("small, large"), "{answer}");
        let params = new_session(version, json!({"model": {"id": "large"}}));
        host.ok(1, "createSession", params);
    }
}

#[test]
fn a_model_that_turns_out_not_to_be_there_gives_way_to_the_first_that_is() {
    for version in Version::ALL.into_iter().filter(|it| *it <= Version::V0_4) {
        let mut host = Host::new();
        host.enter_as(version, 1, "a", &[]);
        let params = new_session(version, json!({"model": {"id": "huge"}}));
        host.ok(1, "createSession", params);
        host.opened();
        host.feed(Input::AgentsChanged(with_models(&["small", "large"])));
        assert_eq!(host.state(&chat())["draft"]["model"]["id"], "small");
        let message = json!({"text": "Hello", "origin": {"kind": "user"}});
        let start = json!({"turnId": "t", "message": message});
        host.dispatch(
            1,
            &place(version),
            in_words_of(version, "turnStarted", start),
        );
        assert_eq!(host.rejection(1), "", "{version}");
        let prompted = host.commands.iter().find_map(|command| match command {
            AgentCommand::Prompt(prompt) => prompt.message.model.as_ref(),
            _ => None,
        });
        assert_eq!(prompted.unwrap().id, "small", "{version}");
        let state = host.state(&chat());
        let notice = &state["activeTurn"]["responseParts"][0];
        assert_eq!(notice["kind"], "systemNotification", "{version}");
        assert!(
            notice["content"].as_str().unwrap().contains("huge"),
            "{notice}"
        );
        host.in_turn("t", TurnEvent::Completed);
    }
}

#[test]
fn the_same_is_found_out_when_a_session_comes_back() {
    let mut host = Host::new();
    host.enter_as(Version::V0_2, 1, "a", &[]);
    let params = new_session(Version::V0_2, json!({"model": {"id": "huge"}}));
    host.ok(1, "createSession", params);
    host.opened();
    host.start_turn(1, "t");
    host.restart(Limits::default());
    host.feed(Input::AgentsChanged(with_models(&["small"])));
    assert_eq!(host.state(&chat())["draft"]["model"]["id"], "small");
}
