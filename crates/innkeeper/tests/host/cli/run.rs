//! `innkeeper run`: one turn, in the host that runs or in one that it starts.

use std::io::{BufRead as _, BufReader};

use super::harness::{Inn, Running};

#[test]
fn the_answer_is_printed_and_nothing_else() {
    let inn = Inn::new();
    let ended = inn.call(&["run", "Good evening"]).with(0);
    assert!(
        ended.out.starts_with("You said:\n\n> Good evening\n"),
        "{ended:?}"
    );
    assert!(ended.out.contains("script agent") && ended.out.ends_with(".\n"));
    assert!(
        !ended.out.contains("A greeting is in order"),
        "no reasoning"
    );
    assert_eq!(ended.err, "");
}

#[test]
fn a_turn_that_fails_is_a_failure_with_its_message() {
    let inn = Inn::new();
    inn.call(&["run", "error"])
        .failed("The scenario asked for this error");
    inn.call(&["run", "-a", "butler", "hello"])
        .failed("unknown agent `butler`");
    inn.call(&["run", "-C", "nowhere", "hello"])
        .failed("the directory does not exist: nowhere");
}

#[test]
fn the_model_and_the_directory_reach_the_agent() {
    let inn = Inn::new();
    let scenario = r#"{"steps":[{"echo":"model"}]}"#;
    let ended = inn.call(&["run", "-m", "script-large", scenario]).with(0);
    assert!(ended.out.contains("script-large"), "{}", ended.out);
    let shown = inn.call(&["sessions", "list", "--json"]).with(0).out;
    let here = inn.path("").canonicalize().unwrap();
    assert!(shown.contains(here.to_str().unwrap()), "{shown}");
}

#[test]
fn a_command_for_a_terminal_is_answered_with_what_it_shows() {
    let inn = Inn::new();
    let ended = inn.call(&["run", "!echo one; echo two"]).with(0);
    assert_eq!(ended.out, "one\ntwo\n");
}

#[test]
fn notices_go_to_standard_error() {
    let inn = Inn::new();
    let scenario = r#"{"steps":[{"say":"a"},{"notify":"mind the step"},{"say":"b"}]}"#;
    let ended = inn.call(&["run", scenario]).with(0);
    assert_eq!(ended.err, "mind the step\n");
    assert!(!ended.out.contains("mind"), "{}", ended.out);
}

#[test]
fn nothing_of_a_flood_is_lost() {
    const FLOOD: &str = r#"{"steps":[{"flood":{"deltas":20000,"bytes":20}}]}"#;
    let inn = Inn::new();
    let length = || {
        let answer = inn.call(&["run", FLOOD]).with(0).out;
        answer.trim_end_matches('\n').len()
    };
    assert_eq!(length(), 400_000);
    let host = inn.serve(&[]);
    assert_eq!(length(), 400_000);
    host.stop();
}

#[test]
fn beside_a_running_host_the_turn_runs_there() {
    let inn = Inn::new();
    let host = inn.serve(&[]);
    let ended = inn.call(&["run", "Good evening"]).with(0);
    assert!(ended.out.contains("> Good evening"), "{ended:?}");
    inn.call(&["run", "error"]).failed("asked for this error");
    assert!(inn.data("host.json").exists());
    host.stop();
}

#[test]
fn what_a_host_that_was_killed_left_behind_is_no_obstacle() {
    let inn = Inn::new();
    let mut host = inn.serve(&[]);
    host.running.signal("KILL");
    host.running.wait();
    assert!(inn.data("host.json").exists());
    inn.call(&["run", "hello"]).with(0);
    inn.call(&["sessions"]).with(0);
    inn.serve(&[]).stop();
}

#[test]
fn stopping_it_cancels_the_turn() {
    let inn = Inn::new();
    let data = inn.path("data");
    let scenario = r#"{"steps":[{"say":"first\n","chunks":1},{"sleep":600000}]}"#;
    let args = ["run", scenario, "--data-dir", data.to_str().unwrap()];
    let mut child = inn.command(&args).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut running = Running(child);
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "first\n");
    running.signal("INT");
    assert_eq!(running.wait().code(), Some(130));
    let listed = inn.call(&["sessions"]).with(0).out;
    let id = listed.lines().nth(1).unwrap().split(' ').next().unwrap();
    let shown = inn.call(&["sessions", "show", id]).with(0).out;
    assert!(shown.contains("this turn was cancelled"), "{shown}");
}

const ASKS: &str = r#"{"steps":[
    {"tool":{"name":"run_command","title":"Delete all","input":"rm","confirm":"ask","result":{"success":true}}},
    {"tool":{"name":"read_file","title":"Look","input":"cat","confirm":"ask","result":{"success":true}}},
    {"ask":{"id":"q","message":"Why?","questions":[{"kind":"text","id":"a","message":"Well?"}]}},
    {"sayAnswer":"a"}
]}"#;

#[test]
fn approvals_follow_what_was_said_beforehand() {
    let inn = Inn::new();
    let cases = [
        ("all", "Delete all\nLook\n"),
        ("reads", "Look\n"),
        ("none", ""),
    ];
    for (approve, ran) in cases {
        // Nobody is here for the question.
        let ended = inn.call(&["run", "--approve", approve, ASKS]).with(3);
        let tools: String = ended
            .err
            .split_inclusive('\n')
            .filter(|line| ["Delete all\n", "Look\n"].contains(line))
            .collect();
        assert_eq!(tools, ran, "{approve}: {}", ended.err);
    }
}

#[test]
fn with_nobody_to_ask_the_answer_is_no_and_the_turn_goes_on() {
    let inn = Inn::new();
    let ended = inn.call(&["run", ASKS]).with(3);
    assert!(ended.err.contains("Run Delete all?"), "{}", ended.err);
    assert!(
        ended.err.contains("no one is here to answer"),
        "{}",
        ended.err
    );
    let ran = ended.err.lines().any(|line| line == "Delete all");
    assert!(!ran, "{}", ended.err);
    assert_eq!(ended.out, "cancel\n");
}
