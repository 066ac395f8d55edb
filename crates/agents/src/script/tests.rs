//! The script agent as the host sees it: through the supervisor, by commands
//! and events only.

use std::time::Duration;

use innkeeper_protocol::agent::{AgentCommand, AgentEvent, Decision, ToolVerdict, TurnEvent};
use innkeeper_protocol::newest::state::{ChatInputResponseKind, ToolCallCancellationReason};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::builtin::{self, Builtin};
use super::{ScriptAgent, profile};
use crate::testing::{BACKEND, Conversation, line, open, scenario, stored_turn};

/// Plays the steps in a conversation of their own.
async fn played(steps: Value) -> Vec<String> {
    Conversation::open().await.play(steps).await
}

#[tokio::test]
async fn opening_gives_something_to_resume_with() {
    let mut conversation = Conversation::with(ScriptAgent::default(), 8);
    conversation.command(AgentCommand::Open(Box::new(open("script"))));
    let event = conversation.next().await;
    assert!(
        matches!(&event, AgentEvent::Opened { resume: Some(resume) } if *resume == json!({"script": 1})),
        "{event:?}"
    );
}

#[tokio::test]
async fn say_streams_word_by_word() {
    let said = played(json!([{"say": "one two"}])).await;
    assert_eq!(said, ["text: one ", "text: two", "completed"]);
}

#[tokio::test]
async fn say_streams_in_as_many_chunks_as_asked() {
    let said = played(json!([{"say": "abcd", "chunks": 2}])).await;
    assert_eq!(said, ["text: ab", "text: cd", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn say_pauses_between_chunks() {
    let start = Instant::now();
    played(json!([{"say": "a b c", "everyMs": 50}])).await;
    assert_eq!(start.elapsed(), Duration::from_millis(100));
}

#[tokio::test]
async fn every_speech_is_a_part_of_its_own() {
    let said = played(json!([
        {"reason": "hm", "chunks": 1}, {"usage": {}}, {"say": "a"}, {"say": "b"},
        {"flood": {"deltas": 1, "bytes": 3}}, {"ref": {"bytes": 5}}, {"echo": "model"},
    ]));
    let expected = [
        "reasoning: hm",
        "usage: {}",
        "break",
        "text: a",
        "break",
        "text: b",
        "break",
        "text: the",
        "break",
        "content: 5 bytes of text/plain",
        "break",
        "text: null",
        "completed",
    ];
    assert_eq!(said.await, expected);
}

#[tokio::test]
async fn a_flood_has_the_asked_deltas_of_the_asked_length() {
    let said = played(json!([{"flood": {"deltas": 300, "bytes": 100}}])).await;
    assert_eq!(said.len(), 301);
    let length = "text: ".len() + 100;
    assert!(said[..300].iter().all(|line| line.len() == length));
}

#[tokio::test(start_paused = true)]
async fn a_flood_keeps_its_pace() {
    let start = Instant::now();
    played(json!([{"flood": {"deltas": 1001, "bytes": 1, "everyUs": 500}}])).await;
    assert_eq!(start.elapsed(), Duration::from_millis(500));
}

#[tokio::test]
async fn reports_are_passed_on() {
    let said = played(json!([
        {"title": "T"}, {"activity": "busy"}, {"activity": null}, {"notify": "look"},
        {"usage": {"inputTokens": 10, "outputTokens": 5, "model": "m"}},
    ]));
    let expected = [
        "title: T",
        "activity: busy",
        "activity over",
        "notice: look",
        r#"usage: {"inputTokens":10,"outputTokens":5,"model":"m"}"#,
        "completed",
    ];
    assert_eq!(said.await, expected);
}

#[tokio::test]
async fn content_by_reference_is_always_the_same() {
    let mut conversation = Conversation::open().await;
    let mut content = async || {
        let step = json!([{"ref": {"bytes": 100, "contentType": "text/x"}}]);
        conversation.prompt(&scenario(step));
        let event = conversation.next().await;
        conversation.rest().await;
        match event {
            AgentEvent::Turn {
                event: TurnEvent::Content { data, .. },
                ..
            } => data,
            other => panic!("{other:?}"),
        }
    };
    let first = content().await;
    assert_eq!(first.len(), 100);
    assert_eq!(first, content().await);
}

#[tokio::test(start_paused = true)]
async fn sleep_takes_its_time() {
    let start = Instant::now();
    assert_eq!(played(json!([{"sleep": 1500}])).await, ["completed"]);
    assert_eq!(start.elapsed(), Duration::from_millis(1500));
}

#[tokio::test]
async fn echo_says_what_came_with_the_message() {
    let steps = json!([{"echo": "model"}, {"echo": "agent"}, {"echo": "attachments"}]);
    let message = json!({
        "text": scenario(steps), "origin": {"kind": "user"},
        "model": {"id": "script-large", "config": {"effort": "low"}},
        "agent": {"uri": "file:///a.md"}, "attachments": [],
    });
    let mut conversation = Conversation::open().await;
    conversation.prompt_with(message);
    let expected = [
        r#"text: {"id":"script-large","config":{"effort":"low"}}"#,
        "break",
        r#"text: {"uri":"file:///a.md"}"#,
        "break",
        "text: []",
        "completed",
    ];
    assert_eq!(conversation.rest().await, expected);
}

#[tokio::test]
async fn echo_says_the_configuration_as_it_is_now() {
    let mut conversation = Conversation::open().await;
    let before = conversation.play(json!([{"echo": "config"}])).await;
    assert_eq!(before[0], r#"text: {"autoApprove":"ask"}"#);

    let values = json!({"autoApprove": "all"});
    let change = AgentCommand::Configure {
        backend: BACKEND,
        values: values.as_object().unwrap().clone(),
    };
    conversation.command(change);
    let after = conversation.play(json!([{"echo": "config"}])).await;
    assert_eq!(after[0], r#"text: {"autoApprove":"all"}"#);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_configuration_is_heard_during_a_turn() {
    let mut conversation = Conversation::open().await;
    conversation.prompt(&scenario(
        json!([{"say": "a"}, {"sleep": 10}, {"echo": "config"}]),
    ));
    conversation.next().await;
    let values = serde_json::Map::new();
    conversation.command(AgentCommand::Configure {
        backend: BACKEND,
        values,
    });
    let said = conversation.rest().await;
    assert_eq!(said, ["break", "text: {}", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn history_counts_every_turn_that_ended() {
    let history = json!([{"echo": "history"}]);
    let mut conversation = Conversation::open().await;
    let said = conversation.play(history.clone()).await;
    assert_eq!(said[0], r#"text: {"turns":0,"last":null}"#);

    conversation.play(json!([{"sing": 1}])).await;
    let turn = conversation.prompt(r#"{"steps": [{"sleep": 9}]}"#);
    conversation.cancel(&turn);
    conversation.rest().await;
    let said = conversation.play(history.clone()).await;
    let expected = json!({"turns": 3, "last": r#"{"steps": [{"sleep": 9}]}"#});
    assert_eq!(said[0], format!("text: {expected}"));

    conversation.command(AgentCommand::Truncate {
        backend: BACKEND,
        transcript: vec![stored_turn("turn-1", &scenario(history.clone()))],
    });
    let said = conversation.play(history.clone()).await;
    let expected = json!({"turns": 1, "last": scenario(history)});
    assert_eq!(said[0], format!("text: {expected}"));
}

#[tokio::test]
async fn history_goes_on_from_the_transcript() {
    let mut before = open("script");
    before.transcript = vec![stored_turn("a", "first"), stored_turn("b", "sec\"ond")];
    let mut conversation = Conversation::open_as(before).await;
    let said = conversation.play(json!([{"echo": "history"}])).await;
    assert_eq!(said[0], r#"text: {"turns":2,"last":"sec\"ond"}"#);
}

fn said(text: &str) -> Value {
    json!({"kind": "markdown", "id": "p", "content": text})
}

fn error(kind: &str) -> Value {
    let error = json!({"errorType": kind, "message": "m"});
    json!({"kind": "error", "error": error, "resumable": true})
}

#[tokio::test]
async fn a_failed_turn_goes_on_after_the_failed_step() {
    let mut conversation = Conversation::open().await;
    let text = scenario(json!([
        {"say": "a"}, {"fail": {"errorType": "e", "message": "m"}}, {"say": "b"},
        {"fail": {"errorType": "f", "message": "n"}}, {"echo": "history"},
    ]));
    let turn = conversation.prompt(&text);
    let lines = conversation.rest().await;
    assert_eq!(lines, ["text: a", "failed (resumable): e: m"]);
    conversation.resume(&turn, &text, json!([said("a"), error("e")]));
    let lines = conversation.rest().await;
    assert_eq!(lines, ["break", "text: b", "failed (resumable): f: n"]);
    let parts = json!([said("a"), error("e"), said("b"), error("f")]);
    conversation.resume(&turn, &text, parts);
    let lines = conversation.rest().await;
    let history = r#"text: {"turns":0,"last":null}"#;
    assert_eq!(lines, ["break", history, "completed"]);
}

#[tokio::test]
async fn an_interrupted_turn_goes_on_in_the_middle_of_a_text() {
    let mut conversation = Conversation::open().await;
    let text = scenario(json!([{"say": "one two three"}, {"notify": "n"}, {"say": "four"}]));
    let parts = json!([said("one tw"), error("hostInterrupted")]);
    conversation.resume(&"old".into(), &text, parts);
    let lines = conversation.rest().await;
    let expected = [
        "break",
        "text: o ",
        "text: three",
        "notice: n",
        "break",
        "text: four",
    ];
    assert_eq!(lines[..6], expected);
}

#[tokio::test]
async fn an_approved_call_of_an_earlier_backend_is_run() {
    let mut conversation = Conversation::open().await;
    let text = scenario(json!([
        {"say": "a"}, {"tool": {"name": "t", "input": "i", "confirm": "ask"}}, {"say": "b"},
    ]));
    let call = json!({
        "status": "running", "toolCallId": "call-1", "toolName": "t", "displayName": "t",
        "invocationMessage": "Run t", "toolInput": "i", "confirmed": "user-action",
    });
    let parts = json!([said("a"), {"kind": "toolCall", "toolCall": call}]);
    conversation.resume(&"old".into(), &text, parts);
    let lines = conversation.rest().await;
    assert_eq!(lines, ["finished: t", "break", "text: b", "completed"]);
}

#[tokio::test]
async fn a_call_waits_until_it_is_decided() {
    let mut conversation = Conversation::open().await;
    let steps = json!([
        {"tool": {"name": "t", "input": {"a": 1}, "inputChunks": 2, "confirm": "ask"}},
        {"say": "b"},
    ]);
    let turn = conversation.prompt(&scenario(steps));
    let mut lines = Vec::new();
    for _ in 0..4 {
        lines.push(line(&conversation.next().await));
    }
    let expected = ["tool call-1: t", "input: {\"a\"", "input: :1}", "asks: t"];
    assert_eq!(lines, expected);
    conversation.decide(
        &turn,
        Decision::Tool {
            call: "call-1".into(),
            verdict: ToolVerdict::Denied {
                reason: ToolCallCancellationReason::Denied,
                option: None,
            },
        },
    );
    assert_eq!(conversation.rest().await, ["break", "text: b", "completed"]);
}

#[tokio::test]
async fn an_answer_is_said_as_it_was_given_or_as_the_outcome() {
    let given = json!({"q": {"state": "submitted", "value": {"kind": "text", "value": "blue"}}});
    let cases = [
        (
            ChatInputResponseKind::Accept,
            r#"text: {"state":"submitted","value":{"kind":"text","value":"blue"}}"#,
        ),
        (ChatInputResponseKind::Decline, "text: decline"),
        (ChatInputResponseKind::Cancel, "text: cancel"),
    ];
    for (response, expected) in cases {
        let mut conversation = Conversation::open().await;
        let question = json!({"kind": "text", "id": "q", "message": "Which colour?"});
        let steps = json!([{"ask": {"id": "r", "questions": [question]}}, {"sayAnswer": "q"}]);
        let turn = conversation.prompt(&scenario(steps));
        assert_eq!(line(&conversation.next().await), "ask: r");
        conversation.decide(
            &turn,
            Decision::Answer {
                request: "r".to_owned(),
                response,
                answers: serde_json::from_value(given.clone()).unwrap(),
            },
        );
        assert_eq!(conversation.rest().await, ["break", expected, "completed"]);
    }
}

#[tokio::test]
async fn a_crash_is_reported_once_and_without_an_end_of_the_turn() {
    let mut conversation = Conversation::open().await;
    let said = conversation
        .play(json!([{"say": "a"}, {"crash": true}, {"say": "b"}]))
        .await;
    let exited = "exited: the agent's backend ended unexpectedly";
    assert_eq!(said, ["text: a", exited]);
    tokio::time::pause();
    conversation.prompt("hello");
    assert!(conversation.silence().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_closed_backend_is_silent() {
    let mut conversation = Conversation::open().await;
    conversation.prompt(&scenario(json!([{"say": "a"}, {"sleep": 5}, {"say": "b"}])));
    assert_eq!(line(&conversation.next().await), "text: a");
    conversation.close();
    assert!(conversation.silence().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_sleep_at_once() {
    let start = Instant::now();
    let mut conversation = Conversation::open().await;
    let turn = conversation.prompt(&scenario(json!([{"say": "a"}, {"sleep": 60_000}])));
    conversation.next().await;
    conversation.cancel(&turn);
    assert_eq!(conversation.rest().await, ["cancelled"]);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_slow_speech_at_once() {
    let start = Instant::now();
    let mut conversation = Conversation::open().await;
    let turn = conversation.prompt(&scenario(json!([{"say": "a b c", "everyMs": 60_000}])));
    conversation.next().await;
    conversation.cancel(&turn);
    assert_eq!(conversation.rest().await, ["cancelled"]);
    assert_eq!(start.elapsed(), Duration::ZERO);
}

const ENDLESS: u64 = u64::MAX;

#[tokio::test]
async fn cancelling_ends_a_flood() {
    let mut conversation = Conversation::open().await;
    let steps = json!([{"flood": {"deltas": ENDLESS, "bytes": 8}}]);
    let turn = conversation.prompt(&scenario(steps));
    for _ in 0..5000 {
        conversation.next().await;
    }
    conversation.cancel(&turn);
    let said = conversation.rest().await;
    assert_eq!(said.last().map(String::as_str), Some("cancelled"));
    assert_eq!(
        conversation.say("/scenarios").await.last().unwrap(),
        "completed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_full_channel_stops_a_flood_and_still_lets_a_cancel_through() {
    let room = 4;
    let mut conversation = Conversation::with(ScriptAgent::default(), room);
    conversation.command(AgentCommand::Open(Box::new(open("script"))));
    let steps = json!([{"flood": {"deltas": ENDLESS, "bytes": 8}}]);
    let turn = conversation.prompt(&scenario(steps));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(conversation.reports.len(), room);
    conversation.cancel(&turn);
    let said = conversation.rest().await;
    assert_eq!(said.len(), room + 1, "{said:?}");
    assert_eq!(said[0], "opened");
    assert_eq!(said[room], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn cancelling_another_turn_changes_nothing() {
    let mut conversation = Conversation::open().await;
    let old = conversation.prompt(r#"{"steps": []}"#);
    assert_eq!(conversation.rest().await, ["completed"]);
    conversation.cancel(&old);
    conversation.prompt(&scenario(json!([{"sleep": 5}])));
    conversation.cancel(&old);
    assert_eq!(conversation.rest().await, ["completed"]);
}

#[tokio::test]
async fn a_scenario_with_a_mistake_is_not_played_at_all() {
    let said = played(json!([{"say": "a"}, {"sing": "la"}])).await;
    assert_eq!(said.len(), 1);
    let start = "failed (final): invalidScenario: step 2: unknown key `sing`; the known steps are";
    assert!(said[0].starts_with(start), "{said:?}");
}

#[tokio::test]
async fn any_other_text_is_greeted_and_quoted() {
    let said = Conversation::open().await.say("What is this?").await;
    assert_eq!(said[0], "text: You said:\n\n> What is this?");
    assert!(said.contains(&"text: Hello! ".to_owned()), "{said:?}");
    assert_eq!(said.last().unwrap(), "completed");
}

#[tokio::test(start_paused = true)]
async fn every_builtin_scenario_plays() {
    // These wait for somebody.
    let alone =
        |builtin: &&Builtin| !matches!(builtin.name, "confirm" | "ask" | "edit" | "terminal");
    for builtin in builtin::ALL.iter().filter(alone) {
        let mut conversation = Conversation::open().await;
        let said = conversation.say(builtin.name).await;
        let end = said.last().unwrap();
        let expected = match builtin.name {
            "error" => "failed (resumable): scripted: ",
            _ => "completed",
        };
        assert!(end.starts_with(expected), "{}: {end}", builtin.name);
    }
}

#[tokio::test]
async fn the_list_of_scenarios_names_them_all() {
    let mut conversation = Conversation::open().await;
    let said = conversation.say("/scenarios").await;
    let list: String = said
        .iter()
        .filter_map(|line| line.strip_prefix("text: "))
        .collect();
    for builtin in &builtin::ALL {
        assert!(list.contains(&format!("- `{}`", builtin.name)), "{list}");
    }
}

#[test]
fn the_profile_is_what_the_contract_says() {
    let profile = profile::profile(None);
    let info = json!(profile.info);
    assert_eq!(info["provider"], "script");
    assert_eq!(info["models"][0]["id"], "script-small");
    assert_eq!(info["models"][1]["id"], "script-large");
    let effort = &info["models"][1]["configSchema"]["properties"]["effort"];
    assert_eq!(effort["enum"], json!(["low", "medium", "high"]));
    assert_eq!(
        info["capabilities"]["multipleChats"],
        json!({"fork": true, "sideChat": true})
    );

    let config = &json!(profile.config)["properties"];
    assert_eq!(
        config["autoApprove"]["enum"],
        json!(["default", "autoApprove"])
    );
    assert_eq!(config["autoApprove"]["sessionMutable"], true);
    assert_eq!(config["isolation"]["enum"], json!(["folder", "worktree"]));
    assert_eq!(config["isolation"]["sessionMutable"], Value::Null);
    assert_eq!(config["branch"]["enumDynamic"], true);
}

#[test]
fn every_step_and_scenario_is_documented() {
    let docs = include_str!("../../../../docs/script-agent.md");
    for step in super::step::KNOWN {
        assert!(docs.contains(&format!("`{{\"{step}\": ")), "{step}");
    }
    for Builtin { name, .. } in &builtin::ALL {
        assert!(docs.contains(&format!("| `{name}` |")), "{name}");
    }
}

#[test]
fn the_scenario_in_the_documentation_can_be_played() {
    let docs = include_str!("../../../../docs/script-agent.md");
    let (_, rest) = docs.split_once("```json\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    assert_eq!(super::scenario::of_message(example).unwrap().len(), 2);
}
