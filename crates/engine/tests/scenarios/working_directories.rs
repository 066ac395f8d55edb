//! Sessions and chats that work in several directories.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::agent::{AgentCommand, TurnEvent};
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, agents, chat};

const A: &str = "file:///a";
const B: &str = "file:///b";
const C: &str = "file:///c";
const OTHER: &str = "ahp-chat:/other";

/// What an agent can do about its first directory, and whether it remembers a
/// conversation.
fn agent(host: &mut Host, several: Value, resumes: bool) {
    let mut profiles = agents();
    let mut can = json!({"multipleChats": {"fork": true}});
    if !several.is_null() {
        can["multipleWorkingDirectories"] = several;
    }
    profiles[0].info.capabilities = Some(serde_json::from_value(can).unwrap());
    profiles[0].resumes = resumes;
    host.feed(Input::AgentsChanged(profiles));
}

/// A session in these directories, of an agent whose process stays in the first.
fn session_in(directories: &[&str]) -> Host {
    session_of(json!({"immutablePrimary": true}), directories)
}

fn session_of(several: Value, directories: &[&str]) -> Host {
    let mut host = Host::new();
    agent(&mut host, several, true);
    begin(&mut host, directories);
    host
}

fn begin(host: &mut Host, directories: &[&str]) {
    host.enter(1, "a", &[ROOT]);
    let params = json!({"channel": SESSION, "workingDirectories": directories});
    host.ok(1, "createSession", params);
    host.opened();
    for channel in [SESSION, &chat()] {
        host.ok(1, "subscribe", json!({"channel": channel}));
    }
    host.heard.clear();
}

fn set(host: &mut Host, directory: &str) -> String {
    let action = json!({"type": "session/workingDirectorySet", "directory": directory});
    host.dispatch(1, SESSION, action);
    host.rejection(1)
}

fn removed(host: &mut Host, directory: &str) -> String {
    let action = json!({"type": "session/workingDirectoryRemoved", "directory": directory});
    host.dispatch(1, SESSION, action);
    host.rejection(1)
}

fn replaced(host: &mut Host, directory: &str, replacement: &str) -> String {
    host.dispatch(
        1,
        SESSION,
        json!({"type": "session/workingDirectoryReplaced", "directory": directory,
               "replacement": replacement}),
    );
    host.rejection(1)
}

fn in_chat(host: &mut Host, chat: &str, verb: &str, directory: &str) -> String {
    let kind = format!("chat/workingDirectory{verb}");
    host.dispatch(1, chat, json!({"type": kind, "directory": directory}));
    host.rejection(1)
}

fn other_chat(host: &mut Host, directories: &[&str]) {
    let new = json!({"channel": SESSION, "chat": OTHER, "workingDirectories": directories});
    host.ok(1, "createChat", new);
    host.ok(1, "subscribe", json!({"channel": OTHER}));
}

fn start(host: &mut Host, chat: &str, turn: &str) {
    let message = json!({"text": "Hello", "origin": {"kind": "user"}});
    let action = json!({"type": "chat/turnStarted", "turnId": turn, "message": message});
    host.dispatch(1, chat, action);
    assert_eq!(host.rejection(1), "");
}

/// Where the session works.
fn directories(host: &mut Host) -> Value {
    host.state(SESSION)["workingDirectories"].take()
}

/// Where the agent that was opened last works.
fn opened_in(host: &Host) -> Vec<String> {
    let mut commands = host.commands.iter().rev();
    let open = commands.find_map(|command| match command {
        AgentCommand::Open(open) => Some(open.directories.clone()),
        _ => None,
    });
    open.unwrap()
}

#[test]
fn an_agent_that_takes_several_directories_is_given_all_of_them_each_once() {
    let mut host = session_in(&[A, B, A]);
    assert_eq!(directories(&mut host), json!([A, B]));
    assert_eq!(opened_in(&host), [A, B]);
}

#[test]
fn an_agent_that_takes_one_directory_is_given_the_first_and_keeps_it() {
    let mut host = session_of(Value::Null, &[A, B]);
    assert_eq!(directories(&mut host), json!([A]));
    assert_eq!(opened_in(&host), [A]);
    assert!(set(&mut host, B).contains("create another session"));
    assert!(in_chat(&mut host, &chat(), "Set", A).contains("create another session"));
    let new = json!({"channel": SESSION, "chat": OTHER, "workingDirectories": [A]});
    assert_eq!(host.refused(1, "createChat", new), -32602);
}

#[test]
fn a_directory_is_added_once_and_the_agent_has_it_with_its_next_turn() {
    let mut host = session_in(&[A]);
    host.whole_turns(1);
    assert_eq!(set(&mut host, B), "");
    assert_eq!(set(&mut host, B), "");
    assert_eq!(directories(&mut host), json!([A, B]));
    assert!(matches!(
        host.commands.last(),
        Some(AgentCommand::Close { .. })
    ));
    start(&mut host, &chat(), "next");
    assert_eq!(opened_in(&host), [A, B]);
}

#[test]
fn a_directory_that_is_added_during_a_turn_is_there_for_the_next_one() {
    let mut host = session_in(&[A]);
    start(&mut host, &chat(), "t1");
    assert_eq!(set(&mut host, B), "");
    assert_eq!(opened_in(&host), [A], "nothing interrupts a turn");
    host.in_turn("t1", TurnEvent::Completed);
    start(&mut host, &chat(), "t2");
    assert_eq!(opened_in(&host), [A, B]);
    host.opened();
    assert!(matches!(
        host.commands.last(),
        Some(AgentCommand::Prompt(prompt)) if prompt.turn == *"t2"
    ));
}

#[test]
fn a_directory_that_is_added_while_the_agent_is_being_opened_is_not_lost() {
    let mut host = Host::new();
    agent(&mut host, json!({"immutablePrimary": true}), true);
    host.enter(1, "a", &[ROOT]);
    let params = json!({"channel": SESSION, "workingDirectories": [A]});
    host.ok(1, "createSession", params);
    assert_eq!(set(&mut host, B), "");
    host.opened();
    assert_eq!(opened_in(&host), [A, B]);
    assert_eq!(host.state(SESSION)["lifecycle"], "creating");
    host.opened();
    assert_eq!(host.state(SESSION)["lifecycle"], "ready");
}

#[test]
fn nothing_is_taken_from_an_agent_at_work() {
    let mut host = session_in(&[A, B]);
    start(&mut host, &chat(), "t1");
    assert!(removed(&mut host, B).contains("wait until its turn has ended"));
    assert!(replaced(&mut host, B, C).contains("wait until its turn has ended"));
    assert_eq!(directories(&mut host), json!([A, B]));
    host.in_turn("t1", TurnEvent::Completed);
    assert_eq!(replaced(&mut host, B, C), "");
    assert_eq!(removed(&mut host, C), "");
    assert_eq!(directories(&mut host), json!([A]));
    start(&mut host, &chat(), "t2");
    assert_eq!(opened_in(&host), [A]);
}

#[test]
fn the_first_directory_is_what_the_agent_says_that_it_is() {
    let immutable = json!({"immutablePrimary": true});
    let replaceable = json!({"immutablePrimary": true, "primaryReplacement": true});
    // What the agent can do, and whether its first directory can be removed
    // and replaced.
    let cases = [
        (immutable, false, false),
        (replaceable, false, true),
        (json!({}), true, false),
    ];
    for (several, goes, moves) in cases {
        let mut host = session_of(several.clone(), &[A, B]);
        assert_eq!(replaced(&mut host, A, C).is_empty(), moves, "{several}");
        let first = if moves { C } else { A };
        assert_eq!(directories(&mut host), json!([first, B]));
        assert_eq!(removed(&mut host, first).is_empty(), goes, "{several}");
        start(&mut host, &chat(), "t");
        let here: &[&str] = if goes { &[B] } else { &[first, B] };
        assert_eq!(opened_in(&host), here, "{several}");
    }
}

#[test]
fn a_session_keeps_one_directory() {
    let mut host = session_of(json!({}), &[A]);
    assert!(removed(&mut host, A).contains("add another one first"));
    assert_eq!(directories(&mut host), json!([A]));
}

#[test]
fn an_agent_that_cannot_resume_has_the_directories_that_its_conversation_began_with() {
    let mut host = Host::new();
    agent(&mut host, json!({"immutablePrimary": true}), false);
    begin(&mut host, &[A]);
    assert_eq!(set(&mut host, B), "", "nothing was said yet");
    start(&mut host, &chat(), "t1");
    assert_eq!(opened_in(&host), [A, B]);
    host.opened();
    host.in_turn("t1", TurnEvent::Completed);
    assert!(set(&mut host, C).contains("create a session with all the directories"));
    assert_eq!(directories(&mut host), json!([A, B]));
}

#[test]
fn a_directory_that_is_not_there_is_refused_with_the_reason() {
    let mut host = session_in(&[A, B]);
    let missing = "file:///missing";
    assert_eq!(set(&mut host, missing), "`file:///missing` does not exist");
    let reason = replaced(&mut host, B, missing);
    assert_eq!(reason, "`file:///missing` does not exist");
    assert!(set(&mut host, "relative").contains("is not a URI"));
    assert_eq!(directories(&mut host), json!([A, B]));
}

#[test]
fn a_session_has_as_many_directories_as_the_limit_allows() {
    let limits = Limits {
        directories: 2,
        ..Limits::default()
    };
    let mut host = Host::with(limits);
    agent(&mut host, json!({}), true);
    begin(&mut host, &[A]);
    let many = json!({"channel": "ahp-session:/2", "workingDirectories": [A, B, C]});
    assert_eq!(host.refused(1, "createSession", many), -32602);
    assert_eq!(set(&mut host, B), "");
    assert!(set(&mut host, C).contains("raise limits.directories"));
}

#[test]
fn what_is_said_while_a_directory_is_looked_at_happens_in_its_order() {
    let mut host = session_in(&[A]);
    host.held_checks = Some(Vec::new());
    set(&mut host, B);
    removed(&mut host, B);
    set(&mut host, C);
    in_chat(&mut host, &chat(), "Set", A);
    assert_eq!(host.news(1), Vec::<String>::new());
    for expected in [
        &[
            "session/workingDirectorySet",
            "session/workingDirectoryRemoved",
        ][..],
        &["session/workingDirectorySet", "chat/workingDirectorySet"][..],
    ] {
        let ticket = host.held_checks.as_mut().unwrap().remove(0);
        host.feed(Input::DirectoriesChecked {
            ticket,
            wrong: None,
        });
        let mut news = host.news(1);
        news.retain(|it| it.contains("workingDirectory"));
        assert_eq!(news, expected);
    }
    assert_eq!(directories(&mut host), json!([A, C]));
}

#[test]
fn what_waits_in_a_session_that_goes_is_rejected() {
    let mut host = session_in(&[A]);
    host.held_checks = Some(Vec::new());
    set(&mut host, B);
    removed(&mut host, B);
    host.ok(1, "disposeSession", json!({"channel": SESSION}));
    let heard = &host.heard[&1];
    let reasons = heard
        .iter()
        .filter_map(|it| it["params"].get("rejectionReason"));
    let reasons: Vec<&Value> = reasons.collect();
    assert_eq!(reasons, ["the session was disposed of"; 2]);
}

#[test]
fn a_chat_works_in_those_of_the_sessions_directories_that_it_has() {
    let mut host = session_in(&[A, B, C]);
    other_chat(&mut host, &[C, A]);
    start(&mut host, OTHER, "t1");
    assert_eq!(opened_in(&host), [A, C], "in the order of the session");
    host.opened();
    host.in_turn("t1", TurnEvent::Completed);
    let stranger = in_chat(&mut host, OTHER, "Set", "file:///d");
    assert!(stranger.contains("is not a working directory of the session"));
    assert_eq!(in_chat(&mut host, OTHER, "Set", B), "");
    assert_eq!(in_chat(&mut host, OTHER, "Removed", C), "");
    let reason = in_chat(&mut host, OTHER, "Removed", A);
    assert!(reason.contains("stays in the first directory"), "{reason}");
    let chat = host.state(OTHER);
    assert_eq!(chat["workingDirectories"], json!([A, B]));
    let listed = &host.state(SESSION)["chats"][1];
    assert_eq!(listed["workingDirectories"], json!([A, B]));
    start(&mut host, OTHER, "t2");
    assert_eq!(opened_in(&host), [A, B]);
}

#[test]
fn a_new_chat_is_refused_directories_that_the_session_does_not_have() {
    let mut host = session_in(&[A]);
    for directories in [json!([B]), json!([A, B]), json!([])] {
        let new = json!({"channel": SESSION, "chat": OTHER, "workingDirectories": directories});
        assert_eq!(host.refused(1, "createChat", new), -32602, "{directories}");
    }
}

#[test]
fn a_fork_works_where_its_original_does() {
    let mut host = session_in(&[A, B]);
    host.whole_turns(1);
    assert_eq!(in_chat(&mut host, &chat(), "Set", A), "");
    let source = json!({"kind": "fork", "chat": chat(), "turnId": "t1"});
    let new = json!({"channel": SESSION, "chat": OTHER, "source": source,
                     "workingDirectories": [B]});
    host.ok(1, "createChat", new);
    assert_eq!(host.state(OTHER)["workingDirectories"], json!([A]));
}

#[test]
fn chats_lose_and_change_directories_with_their_session() {
    let mut host = session_in(&[A, B]);
    other_chat(&mut host, &[A, B]);
    assert_eq!(replaced(&mut host, B, C), "");
    assert_eq!(host.state(OTHER)["workingDirectories"], json!([A, C]));
    assert_eq!(removed(&mut host, C), "");
    assert_eq!(host.state(OTHER)["workingDirectories"], json!([A]));
}

#[test]
fn a_directory_stays_that_is_the_only_one_of_a_chat() {
    let mut host = session_in(&[A, B]);
    other_chat(&mut host, &[B]);
    assert!(removed(&mut host, B).contains("no directory to work in"));
    assert!(in_chat(&mut host, OTHER, "Removed", B).contains("no directory to work in"));
    assert_eq!(directories(&mut host), json!([A, B]));
}

#[test]
fn directories_are_what_they_were_in_the_next_life() {
    let mut host = session_in(&[A]);
    assert_eq!(set(&mut host, B), "");
    assert_eq!(set(&mut host, C), "");
    assert_eq!(in_chat(&mut host, &chat(), "Set", A), "");
    assert_eq!(in_chat(&mut host, &chat(), "Set", C), "");
    host.whole_turns(0);
    host.restart(Limits::default());
    assert_eq!(directories(&mut host), json!([A, B, C]));
    assert_eq!(host.state(&chat())["workingDirectories"], json!([A, C]));
}

#[test]
fn a_session_says_in_its_row_too_that_it_works_nowhere_until_it_does() {
    let mut host = session_of(json!({}), &[]);
    let said = |host: &mut Host| {
        let rows = host.ok(1, "listSessions", json!({}));
        let row = rows["items"][0]["_meta"]["workspaceless"].clone();
        (host.state(SESSION)["_meta"]["workspaceless"].clone(), row)
    };
    assert_eq!(said(&mut host), (json!(true), json!(true)));
    assert_eq!(set(&mut host, A), "");
    assert_eq!(said(&mut host), (json!(false), json!(false)));
    let mut host = session_of(json!({}), &[A]);
    assert_eq!(said(&mut host), (Value::Null, Value::Null));
}
