//! What scripts rely on: prompts from standard input, sessions that go on,
//! events as JSON, exit codes, and a session that is steered by commands.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use super::harness::{Ended, Inn, eventually};

const ASKS: &str = r#"{"steps":[
    {"tool":{"name":"run_command","title":"Delete all","input":"rm","confirm":"ask","result":{"success":true}}},
    {"ask":{"id":"q","message":"Why?","questions":[
        {"kind":"number","id":"n","message":"How many?","required":true,"min":1,"max":5}]}},
    {"sayAnswer":"n"}
]}"#;

fn with_input(inn: &Inn, args: &[&str], input: &str) -> Ended {
    let data = inn.path("data");
    let mut child = inn
        .command(args)
        .arg("--data-dir")
        .arg(data)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    Ended {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn lines(text: &str) -> Vec<Value> {
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

fn sessions(inn: &Inn, flags: &[&str]) -> Vec<Value> {
    let args = [&["sessions", "--json"], flags].concat();
    let listed = inn.call(&args).with(0).out;
    serde_json::from_str(&listed).unwrap()
}

fn latest(inn: &Inn) -> String {
    let uri = sessions(inn, &["--limit", "1"])[0]["resource"].clone();
    uri.as_str().unwrap().to_owned()
}

#[test]
fn the_prompt_may_come_from_standard_input() {
    let inn = Inn::new();
    for args in [&["run", "-a", "script"][..], &["run", "-a", "script", "-"]] {
        let ended = with_input(&inn, args, "Good\nevening\n").with(0);
        assert!(
            ended.out.contains("> Good\n> evening\n"),
            "{args:?} {ended:?}"
        );
    }
    let ended = inn
        .call(&["run", "-a", "script", "Good", "evening"])
        .with(0);
    assert!(ended.out.contains("> Good evening\n"), "{ended:?}");
    with_input(&inn, &["run", "-a", "script"], " \n").with(2);
    assert_eq!(
        sessions(&inn, &[]).len(),
        3,
        "nothing is left of what was not asked"
    );
}

#[test]
fn a_session_goes_on_with_what_it_knows() {
    let inn = Inn::new();
    let history = r#"{"steps":[{"echo":"history"}]}"#;
    inn.call(&["run", "-a", "script", "one"]).with(0);
    let ended = inn.call(&["run", "--continue", history]).with(0);
    assert!(ended.out.contains("\"turns\":1"), "{ended:?}");
    let id = latest(&inn);
    let ended = inn.call(&["run", "--session", &id, history]).with(0);
    assert!(ended.out.contains("\"turns\":2"), "{ended:?}");
    assert_eq!(sessions(&inn, &[]).len(), 1);
    std::fs::create_dir(inn.path("elsewhere")).unwrap();
    inn.call(&["run", "-c", "-C", "elsewhere", "one"])
        .failed("this directory has no session");
    inn.call(&["run", "--session", "nowhere", "one"])
        .failed("unknown session `nowhere`");
}

#[test]
fn events_are_one_object_a_line_and_the_last_is_the_result() {
    let inn = Inn::new();
    let scenario = r#"{"steps":[
        {"reason":"hm","chunks":1},{"say":"a b","chunks":2},{"notify":"mind the step"},
        {"tool":{"name":"read_file","title":"Look","input":"cat","confirm":"none","result":{"success":true}}},
        {"usage":{"inputTokens":10,"outputTokens":5}}
    ]}"#;
    let args = [
        "run",
        "-a",
        "script",
        "--output-format",
        "stream-json",
        scenario,
    ];
    let ended = inn.call(&args).with(0);
    assert_eq!(ended.err, "");
    let events = lines(&ended.out);
    let of = |kind: &str| {
        let fitting = events.iter().filter(|event| event["type"] == kind);
        fitting.cloned().collect::<Vec<_>>()
    };
    assert_eq!(events[0]["type"], "turnStarted");
    let text: String = of("text")
        .iter()
        .map(|it| it["text"].as_str().unwrap())
        .collect();
    assert_eq!(text.trim_end(), "a b");
    assert_eq!(of("notice")[0]["text"], "mind the step");
    assert!(!of("reasoning").is_empty());
    let call = of("toolCall");
    assert_eq!(call.last().unwrap()["status"], "done");
    let result = events.last().unwrap();
    assert_eq!(result["type"], "result");
    assert_eq!(result["status"], "complete");
    assert_eq!(result["exitCode"], 0);
    assert_eq!(result["text"].as_str().unwrap().trim_end(), "a b");
    assert_eq!(result["toolCalls"][0]["tool"], "read_file");
    assert_eq!(result["usage"]["inputTokens"], 10);
    assert_eq!(result["session"], latest(&inn));
    let args = ["run", "-a", "script", "--output-format", "json", scenario];
    let only = lines(&inn.call(&args).with(0).out);
    assert_eq!(only.len(), 1);
    assert_eq!(only[0]["text"], result["text"]);
}

#[test]
fn the_exit_code_says_what_became_of_it() {
    let inn = Inn::new();
    let cases = [
        (&["run", "-a", "script", "hello"][..], 0),
        (&["run", "-a", "script", "error"], 1),
        (&["run", "-a", "script", "--approve", "none", ASKS], 3),
        (&["run", "-a", "script", "-m", "nope", "hello"], 4),
        (&["run", "-a", "script", "!exit 7"], 7),
        (&["run", "-a", "script", "!true"], 0),
    ];
    for (args, code) in cases {
        let ended = inn.call(args);
        assert_eq!(ended.code, Some(code), "{args:?} {ended:?}");
        let json = [args, &["--output-format", "json"]].concat();
        let ended = inn.call(&json);
        let result = &lines(&ended.out)[0];
        assert_eq!(result["exitCode"], code, "{args:?} {result}");
    }
}

/// Whoever stops reading is content; a disk that is full loses the answer.
#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let inn = Inn::new();
    for args in [
        &["run", "-a", "script", "hello"][..],
        &["run", "-a", "script", "--output-format", "json", "hello"],
        &["sessions"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let mut command = inn.command(args);
        command.arg("--data-dir").arg(inn.path("data"));
        let output = command.stdout(full.unwrap()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?} {said}");
        assert!(said.contains("standard output cannot be written"), "{said}");
    }
}

#[test]
fn a_session_whose_first_prompt_was_refused_is_not_left_behind() {
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "-m", "nope", "hello"])
        .with(4);
    inn.call(&["run", "-a", "butler", "hello"]).with(1);
    assert_eq!(sessions(&inn, &[]).len(), 0);
}

#[test]
fn a_session_is_steered_by_commands() {
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    let id = latest(&inn);
    inn.call(&["send", &id, "hello"]).failed("innkeeper up");
    inn.call(&["up", "--port", "0"]).with(0);
    inn.call(&["send", &id, ASKS]).with(0);
    let waits = || {
        let listed = sessions(&inn, &["--status", "waiting"]);
        (!listed.is_empty()).then_some(())
    };
    eventually("the approval waits", waits);
    inn.call(&["answer", &id, "3"])
        .failed("no such request is pending");
    inn.call(&["approve", &id, "--option", "perhaps"])
        .failed("unknown option");
    let approved = inn.call(&["approve", &id]).with(0).out;
    assert!(approved.contains("Delete all"), "{approved}");
    eventually("the question waits", || {
        let ended = inn.call(&["answer", &id, "9"]);
        ended.err.contains("a number from 1 to 5").then_some(())
    });
    inn.call(&["answer", &id, "n=3"]).with(0);
    eventually("the turn ends", || {
        let shown = inn.call(&["tail", &id]).with(0).out;
        (shown.contains("Delete all") && shown.contains("\"value\":3")).then_some(())
    });
    inn.call(&["rename", &id, "The", "east", "wing"]).with(0);
    inn.call(&["archive", &id]).with(0);
    let archived = sessions(&inn, &["--status", "archived", "--agent", "script"]);
    assert_eq!(archived[0]["title"], "The east wing");
    inn.call(&["archive", "--undo", &id]).with(0);
    assert!(sessions(&inn, &["--status", "archived"]).is_empty());
    inn.call(&["send", &id, "confirm"]).with(0);
    eventually("an approval waits", || {
        let waiting = sessions(&inn, &["--status", "waiting"]);
        (waiting.len() == 1).then_some(())
    });
    inn.call(&["archive", &id]).with(0);
    let archived = sessions(&inn, &["--status", "archived"]);
    assert_eq!(archived.len(), 1, "it waits, and it is archived");
    inn.call(&["archive", "--undo", &id]).with(0);
    inn.call(&["cancel", &id]).with(0);
    inn.call(&["send", &id, r#"{"steps":[{"sleep":600000}]}"#])
        .with(0);
    inn.call(&["send", &id, "hello"]).with(0);
    inn.call(&["cancel", &id]).with(0);
    let shown = inn.call(&["tail", "-n", "9", &id]).with(0).out;
    assert!(shown.contains("this turn was cancelled"), "{shown}");
}

#[test]
fn a_denial_is_told_to_the_agent() {
    let inn = Inn::new();
    inn.call(&["up", "--port", "0"]).with(0);
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    let id = latest(&inn);
    inn.call(&["send", &id, ASKS]).with(0);
    eventually("it is denied", || {
        let ended = inn.call(&["deny", &id]);
        (ended.code == Some(0)).then_some(())
    });
    eventually("the question waits", || {
        let ended = inn.call(&["answer", "--decline", &id]);
        (ended.code == Some(0)).then_some(())
    });
    let shown = eventually("the turn ends", || {
        let shown = inn.call(&["tail", &id]).with(0).out;
        shown.contains("decline").then_some(shown)
    });
    assert!(shown.contains("not run"), "{shown}");
}

#[test]
fn shells_complete_what_there_is() {
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    let id = latest(&inn);
    let id = id.rsplit('/').next().unwrap();
    let completed = |words: &[&str]| {
        let index = (words.len() - 1).to_string();
        let output = inn
            .command(&[&["--"], words].concat())
            .env("COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", index)
            .env("_CLAP_COMPLETE_COMP_TYPE", "9")
            .env("_CLAP_COMPLETE_SPACE", "true")
            .env("_CLAP_IFS", "\n")
            .env("INNKEEPER_DATA_DIR", inn.path("data"))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let agents = completed(&["innkeeper", "run", "-a", "scr"]);
    assert!(agents.lines().any(|line| line == "script"), "{agents}");
    let models = completed(&["innkeeper", "run", "-m", "script-"]);
    assert!(models.contains("script-large"), "{models}");
    let ids = completed(&["innkeeper", "tail", &id[..2]]);
    assert!(ids.contains(&id[..8]), "{ids}");
    let agents = completed(&["innkeeper", "agents", "install", "cl"]);
    assert!(agents.lines().any(|line| line == "claude"), "{agents}");
    inn.call(&["token", "add", "phone"]).with(0);
    let devices = completed(&["innkeeper", "token", "revoke", "ph"]);
    assert!(devices.lines().any(|line| line == "phone"), "{devices}");
    let commands = completed(&["innkeeper", ""]);
    assert!(
        commands.contains("sessions") && !commands.contains("bridge"),
        "{commands}"
    );
    let script = inn.bare_call(&["completions", "bash"]).with(0).out;
    assert!(script.contains("COMPLETE"), "{script}");
}

#[test]
fn what_a_command_did_is_said_as_an_object_if_asked_for() {
    let inn = Inn::new();
    let done = |args: &[&str]| -> Value {
        let out = inn.call(&[args, &["--json"]].concat()).with(0).out;
        serde_json::from_str(&out).unwrap()
    };
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    let up = done(&["up", "--port", "0", "--agents", "script"]);
    assert_eq!(up["started"], true);
    assert!(up["web"].as_str().unwrap().contains("?tkn="), "{up}");
    assert_eq!(done(&["up", "--port", "0"])["started"], false);
    assert_eq!(done(&["open", "--print"])["web"], up["web"]);
    let id = latest(&inn);
    for (args, status) in [
        (&["rename", &id, "Two", "words"][..], "renamed"),
        (&["archive", &id], "archived"),
        (&["archive", "--undo", &id], "unarchived"),
        (&["send", &id, "long"], "sent"),
        (&["send", &id, "next"], "queued"),
        (&["cancel", &id], "cancelled"),
    ] {
        let done = done(args);
        assert_eq!(done["status"], status, "{args:?}");
        assert_eq!(done["session"], id.as_str(), "{args:?}");
    }
    assert_eq!(done(&["reload"])["pid"], up["pid"]);
    done(&["token", "add", "phone"]);
    assert_eq!(done(&["token", "revoke", "phone"])["name"], "phone");
    let copy = inn.path("copy.db");
    let copied = done(&["backup", copy.to_str().unwrap()]);
    assert_eq!(copied["sessions"], 1);
    assert_eq!(done(&["gc", "--dry-run"])["dryRun"], true);
    assert_eq!(done(&["config", "check"])["exists"], false);
    assert_eq!(done(&["sessions", "delete", &id])["status"], "deleted");
    assert_eq!(done(&["stop"])["pid"], up["pid"]);
    assert_eq!(done(&["sessions", "restore", &id])["status"], "restored");
    assert_eq!(done(&["restore", copy.to_str().unwrap()])["sessions"], 1);
}
