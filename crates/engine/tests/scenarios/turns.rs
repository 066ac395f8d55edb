//! Turns: what begins them, what is refused, and how they end.

use std::time::Duration;

use innkeeper_engine::Limits;
use innkeeper_protocol::agent::{
    AgentActivity, AgentCommand, AgentEvent, AgentFailure, AgentNotice, Approval, ApprovalLabel,
    ApprovalOption, ApprovalRequest, ToolReady, ToolStart, TurnEvent,
};
use innkeeper_protocol::newest::state::{ConfirmationOptionKind, UsageInfo};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, SESSION, broken, chat, killed};

#[test]
fn turns_are_refused_with_a_reason() {
    let mut host = Host::new();
    host.enter(1, "a", &[]);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    host.opened();
    host.ok(1, "subscribe", json!({"channel": chat()}));
    host.start_turn(1, "t1");
    assert_eq!(host.rejection(1), "");
    for (id, reason) in [
        ("t2", "is running"),
        ("t1", "exists already"),
        ("", "needs an id"),
    ] {
        host.start_turn(1, id);
        assert!(
            host.rejection(1).contains(reason),
            "{id}: {}",
            host.rejection(1)
        );
    }
    let cancel = |id| json!({"type": "chat/turnCancelled", "turnId": id});
    host.dispatch(1, &chat(), cancel("t2"));
    assert!(host.rejection(1).contains("is not running"));
    host.dispatch(1, &chat(), cancel("t1"));
    assert_eq!(host.rejection(1), "");
    assert!(matches!(
        host.commands.last(),
        Some(AgentCommand::Cancel { .. })
    ));
}

#[test]
fn a_rejection_reaches_only_its_sender() {
    let mut host = Host::with_session(Limits::default());
    host.enter(2, "b", &[&chat()]);
    host.heard.clear();
    host.dispatch(
        1,
        &chat(),
        json!({"type": "chat/turnCancelled", "turnId": "t"}),
    );
    assert_eq!(host.news(1), ["chat/turnCancelled"]);
    assert!(host.news(2).is_empty());
}

#[test]
fn a_turn_dated_into_the_far_future_ends() {
    let mut host = Host::with_session(Limits::default());
    let message = json!({"text": "hi", "origin": {"kind": "user"}});
    let action = json!({
        "type": "chat/turnStarted", "turnId": "t", "message": message,
        "startedAt": "9999-12-30T22:00:00.999Z",
    });
    host.dispatch(1, &chat(), action);
    host.in_turn("t", TurnEvent::Completed);
    assert_eq!(host.state(&chat())["turns"][0]["state"], "complete");
}

#[test]
fn a_clock_that_is_set_forward_makes_no_turn_longer() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.wait(Duration::from_secs(2));
    host.set_clock_forward(Duration::from_secs(366 * 24 * 60 * 60));
    host.wait(Duration::from_secs(3));
    host.in_turn("t", TurnEvent::Completed);
    let actions = host.actions(1).into_iter().map(|(_, action)| action);
    let mut ends = actions.filter(|action| action["type"] == "chat/turnComplete");
    assert_eq!(ends.next().unwrap()["duration"], 5_000);
}

#[test]
fn a_turn_that_failed_can_be_resumed_if_its_error_says_so() {
    for resumable in [true, false] {
        let mut host = Host::with_session(Limits::default());
        host.start_turn(1, "t");
        host.in_turn("t", broken(resumable));
        host.dispatch(
            1,
            &chat(),
            json!({"type": "chat/turnResume", "turnId": "t"}),
        );
        assert_eq!(host.rejection(1).is_empty(), resumable);
        let resumed =
            matches!(host.commands.last(), Some(AgentCommand::Prompt(p)) if p.resumed.is_some());
        assert_eq!(resumed, resumable);
    }
}

#[test]
fn words_about_a_turn_that_was_cut_off_do_not_enter_its_namesake() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.dispatch(1, &chat(), json!({"type": "chat/truncated"}));
    host.start_turn(1, "t");
    host.in_turn("t", TurnEvent::Text("late".to_owned()));
    let parts = host.state(&chat())["activeTurn"]["responseParts"].take();
    assert_eq!(parts, json!([]));
    host.in_turn("t", TurnEvent::Cancelled);
    assert!(matches!(
        host.commands.last(),
        Some(AgentCommand::Prompt(_))
    ));
}

#[test]
fn after_a_crash_a_running_turn_has_ended_and_can_be_resumed() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.in_turn("t", TurnEvent::Text("half a sen".to_owned()));
    host.restart(Limits::default());
    let turn = host.state(&chat())["turns"][0].take();
    assert_eq!(turn["state"], "error");
    assert_eq!(turn["responseParts"][0]["content"], "half a sen");
    assert_eq!(turn["responseParts"][1]["resumable"], true);
}

#[test]
fn what_the_host_says_about_queued_and_interrupted_turns_is_in_the_language_of_the_session() {
    let mut host = Host::new();
    host.connect(1);
    let german = json!({"clientId": "a", "protocolVersions": ["1.0.0"], "locale": "de-AT"});
    host.ok(1, "initialize", german);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    host.opened();
    host.ok(1, "subscribe", json!({"channel": chat()}));
    host.start_turn(1, "t");
    let message = json!({"text": "next", "origin": {"kind": "user"}});
    let queued = json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": "q",
        "message": message});
    host.dispatch(1, &chat(), queued);
    host.in_turn("t", TurnEvent::Completed);
    host.report(killed());
    let error = |host: &mut Host, turn: usize| {
        let turn = host.state(&chat())["turns"][turn].take();
        turn["responseParts"][0]["error"]["message"].to_string()
    };
    assert!(error(&mut host, 1).contains("unerwartet"), "queued");
    host.start_turn(1, "u");
    host.restart(Limits::default());
    host.enter(1, "a", &[]);
    assert!(error(&mut host, 2).contains("beendet"), "interrupted");
}

/// A host whose only client, and with it the session, speaks German.
fn german_host() -> Host {
    let mut host = Host::new();
    host.connect(1);
    let german = json!({"clientId": "a", "protocolVersions": ["1.0.0"], "locale": "de-AT"});
    host.ok(1, "initialize", german);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    host.opened();
    host.ok(1, "subscribe", json!({"channel": chat()}));
    host
}

#[test]
fn what_agents_report_is_told_in_the_language_of_the_turn() {
    let mut host = german_host();
    host.start_turn(1, "t");
    host.in_turn("t", TurnEvent::Activity(Some(AgentActivity::Summarising)));
    assert_eq!(
        host.state(&chat())["activity"],
        "Das Gespräch wird zusammengefasst"
    );
    host.in_turn("t", TurnEvent::Notice(AgentNotice::Refused));
    host.in_turn("t", TurnEvent::Notice(AgentNotice::own("It is late.")));
    let kinds = vec!["weather".to_owned()];
    let said = vec![json!({"sky": "grey"})];
    host.in_turn("t", TurnEvent::Unknown { kinds, said });
    let failure = AgentFailure::NoAnswer {
        command: "goose".to_owned(),
        seconds: 60,
        last_words: None,
    };
    let resumable = true;
    host.in_turn("t", TurnEvent::Failed { failure, resumable });
    let turn = host.state(&chat())["turns"][0].clone();
    let part = |index: usize| turn["responseParts"][index].clone();
    assert_eq!(
        part(0)["content"],
        "Der Agent hat es abgelehnt, damit weiterzumachen."
    );
    assert_eq!(part(1)["content"], "It is late.");
    assert!(
        part(2)["content"]
            .to_string()
            .contains("nicht kennt: weather")
    );
    assert_eq!(part(2)["_meta"]["unknownUpdates"][0]["sky"], "grey");
    assert_eq!(part(3)["error"]["errorType"], "agentSilent");
    assert!(
        part(3)["error"]["message"]
            .to_string()
            .contains("nicht geantwortet")
    );
}

#[test]
fn what_agents_report_of_queued_and_reloaded_turns_is_in_the_language_of_the_session() {
    let mut host = german_host();
    host.start_turn(1, "t");
    let message = json!({"text": "next", "origin": {"kind": "user"}});
    let queued = json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": "q",
        "message": message});
    host.dispatch(1, &chat(), queued);
    host.in_turn("t", TurnEvent::Completed);
    let turn = host.state(&chat())["activeTurn"]["id"].take();
    let turn = turn.as_str().unwrap().to_owned();
    host.in_turn(&turn, TurnEvent::Notice(AgentNotice::Summarised));
    let notice = host.state(&chat())["activeTurn"]["responseParts"][0]["content"].take();
    assert!(notice.to_string().contains("zusammengefasst"), "{notice}");
    // It waits for somebody, so that it goes on in the host's next life, where
    // whoever answers speaks English.
    for event in waiting_call() {
        host.in_turn(&turn, event);
    }
    let call = host.state(&chat())["activeTurn"]["responseParts"][1]["toolCall"].take();
    assert_eq!(call["options"][0]["label"], "Einmal erlauben");
    host.restart(Limits::default());
    host.enter(1, "a", &[&chat()]);
    let confirmed = json!({"type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": "c",
        "approved": true, "confirmed": "user-action"});
    host.dispatch(1, &chat(), confirmed);
    host.opened();
    let call = "c".to_owned();
    host.in_turn(&turn, TurnEvent::ToolInterrupted { call: call.into() });
    let call = host.state(&chat())["activeTurn"]["responseParts"][1]["toolCall"].take();
    assert_eq!(call["pastTenseMessage"], "Unterbrochen", "{call}");
    let failure = AgentFailure::TurnFailed { said: None };
    let resumable = false;
    host.in_turn(&turn, TurnEvent::Failed { failure, resumable });
    let error = host.state(&chat())["turns"][1]["responseParts"][2]["error"].take();
    assert!(
        error["message"].to_string().contains("nicht gesagt, warum"),
        "{error}"
    );
}

/// A call that waits for an approval, with an option that has no name.
fn waiting_call() -> [TurnEvent; 2] {
    let (call, name) = ("c".to_owned(), "Build".to_owned());
    let start = ToolStart {
        call: call.clone().into(),
        name: name.clone(),
        display_name: name.clone(),
        intention: None,
        contributor: None,
        meta: None,
    };
    let option = ApprovalOption {
        id: "yes".to_owned(),
        label: ApprovalLabel::AllowOnce,
        kind: ConfirmationOptionKind::Approve,
        group: None,
    };
    let ready = ToolReady {
        call: call.into(),
        input: None,
        message: name.into(),
        approval: Approval::Needed(ApprovalRequest {
            options: vec![option],
            ..ApprovalRequest::default()
        }),
        meta: None,
    };
    [
        TurnEvent::ToolStarted(Box::new(start)),
        TurnEvent::ToolReady(Box::new(ready)),
    ]
}

fn approve_it(host: &mut Host) {
    let approved = json!({"type": "chat/toolCallConfirmed", "turnId": "t", "toolCallId": "c",
                          "approved": true, "confirmed": "user-action", "selectedOptionId": "yes"});
    host.dispatch(1, &chat(), approved);
}

fn wait_in(turn: &Value) -> Option<i64> {
    turn["usage"]["_meta"]["innkeeper"]["waitedMs"].as_i64()
}

#[test]
fn a_turn_says_how_long_it_waited_for_a_person() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    for event in waiting_call() {
        host.in_turn("t", event);
    }
    host.pass(Duration::from_secs(40));
    approve_it(&mut host);
    assert_eq!(wait_in(&host.state(&chat())["activeTurn"]), Some(40_000));
    host.pass(Duration::from_secs(2));
    // What the agent reports does not hide it.
    let usage = UsageInfo {
        input_tokens: Some(7),
        ..UsageInfo::default()
    };
    host.in_turn("t", TurnEvent::Usage(usage));
    host.in_turn("t", TurnEvent::Completed);
    let turn = host.state(&chat())["turns"][0].take();
    assert_eq!(
        (wait_in(&turn), &turn["duration"]),
        (Some(40_000), &json!(42_000))
    );
    assert_eq!(turn["usage"]["inputTokens"], 7);
}

#[test]
fn a_turn_that_ends_while_it_waits_says_so_as_well() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    for event in waiting_call() {
        host.in_turn("t", event);
    }
    host.pass(Duration::from_secs(5));
    host.in_turn("t", broken(false));
    assert_eq!(wait_in(&host.state(&chat())["turns"][0]), Some(5_000));
}

#[test]
fn a_person_who_decides_at_once_is_not_mentioned() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    for event in waiting_call() {
        host.in_turn("t", event);
    }
    approve_it(&mut host);
    host.in_turn("t", TurnEvent::Completed);
    let turn = host.state(&chat())["turns"][0].take();
    assert_eq!((wait_in(&turn), turn.get("usage")), (None, None));
}

#[test]
fn a_wait_goes_on_over_the_end_of_the_host() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    for event in waiting_call() {
        host.in_turn("t", event);
    }
    host.pass(Duration::from_secs(30));
    host.restart(Limits::default());
    host.enter(1, "one", &[&chat()]);
    host.pass(Duration::from_secs(10));
    approve_it(&mut host);
    assert_eq!(wait_in(&host.state(&chat())["activeTurn"]), Some(40_000));
}

#[test]
fn a_rejection_says_in_a_word_why_to_clients_of_the_newest_version_only() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    let turn = |id: &str| {
        let message = json!({"text": "go", "origin": {"kind": "user"}});
        json!({"type": "chat/turnStarted", "turnId": id, "startedAt": "2026-01-01T00:00:00.000Z",
            "message": message})
    };
    let confirmed = json!({"type": "chat/toolCallConfirmed", "turnId": "gone",
        "toolCallId": "c", "approved": true});
    let removed = json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": "q"});
    let chat = chat();
    for (channel, action, code) in [
        (chat.as_str(), turn("t"), "turnExists"),
        (&chat, turn("u"), "turnRuns"),
        (&chat, turn(""), "invalid"),
        (&chat, confirmed, "noTurn"),
        (&chat, removed, "alreadyDone"),
        (&chat, json!({"type": "session/ready"}), "notAccepted"),
        ("x:nothing", turn("u"), "noSuchChannel"),
    ] {
        host.heard.clear();
        host.dispatch(1, channel, action.clone());
        let envelope = &host.heard[&1][0]["params"];
        let said = &envelope["_meta"]["innkeeper"]["code"];
        assert_eq!(said, code, "{action}: {envelope}");
        assert!(envelope["rejectionReason"].is_string());
    }
    host.enter_as(Version::V0_9, 2, "b", &[]);
    host.heard.clear();
    host.dispatch(2, &chat, turn("t"));
    let envelope = &host.heard[&2][0]["params"];
    assert!(envelope["rejectionReason"].is_string(), "{envelope}");
    assert!(envelope.get("_meta").is_none(), "{envelope}");
}

/// A client shows what it said until it hears what became of it.
#[test]
fn an_action_that_changes_nothing_is_answered_too() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    let queued = |id: &str| {
        let message = json!({"text": id, "origin": {"kind": "user"}});
        json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": id, "message": message})
    };
    host.dispatch(1, &chat(), queued("a"));
    host.dispatch(1, &chat(), queued("b"));
    for action in [
        queued("b"),
        json!({"type": "chat/queuedMessagesReordered", "order": ["a", "b"]}),
        json!({"type": "chat/draftChanged"}),
        json!({"type": "chat/isArchivedChanged", "isArchived": false}),
    ] {
        let before = host.state(&chat());
        host.news(1);
        host.dispatch(1, &chat(), action.clone());
        let kind = action["type"].as_str().unwrap().to_owned();
        assert_eq!(host.news(1), [kind]);
        let after = host.state(&chat());
        assert_eq!(after["queuedMessages"], before["queuedMessages"]);
    }
    host.dispatch(
        1,
        &chat(),
        json!({"type": "chat/truncated", "turnId": "none"}),
    );
    assert_eq!(host.rejection(1), "the chat has no turn `none`");
}

/// A turn in which somebody is asked something.
fn asking() -> Host {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    let request = json!({"id": "q", "message": "Which?"});
    let request = serde_json::from_value(request).unwrap();
    host.in_turn("t", TurnEvent::Ask(Box::new(request)));
    host
}

#[test]
fn a_question_ends_with_the_turn_that_it_was_asked_in() {
    type End = fn(&mut Host);
    let completed: End = |host| host.in_turn("t", TurnEvent::Completed);
    let failed: End = |host| host.in_turn("t", broken(true));
    let gone: End = |host| host.report(killed());
    let ends = [
        ("it is complete", completed),
        ("it fails", failed),
        ("the agent is gone", gone),
    ];
    for (what, end) in ends {
        let mut host = asking();
        end(&mut host);
        let parts = host.state(&chat())["turns"][0]["responseParts"].clone();
        let asked = parts.as_array().unwrap().iter();
        let mut asked = asked.filter(|part| part["kind"] == "inputRequest");
        assert_eq!(asked.next().unwrap()["response"], "cancel", "{what}");
        let answer = json!({"type": "chat/inputCompleted", "requestId": "q", "response": "accept"});
        host.dispatch(1, &chat(), answer);
        assert_ne!(host.rejection(1), "", "{what}");
    }
}

#[test]
fn an_agent_that_calls_a_chat_what_was_said_last_does_not_rename_it() {
    let mut host = Host::with_session(Limits::default());
    let ask = |host: &mut Host, turn: &str, text: &str| {
        let message = json!({"text": text, "origin": {"kind": "user"}});
        let started = json!({"type": "chat/turnStarted", "turnId": turn, "message": message,
                             "startedAt": "2026-01-01T00:00:00Z"});
        host.dispatch(1, &chat(), started);
        assert_eq!(host.rejection(1), "");
    };
    let name = |host: &mut Host, title: &str| host.report(AgentEvent::Title(title.to_owned()));
    ask(&mut host, "t", "please delete  the sample");
    host.opened();
    name(&mut host, "please delete the sample");
    assert_eq!(host.state(SESSION)["title"], "please delete the sample");
    host.in_turn("t", TurnEvent::Completed);
    ask(&mut host, "u", "show me a long output");
    name(&mut host, "show me a long output");
    name(&mut host, "show me a lo…");
    host.in_turn("u", TurnEvent::Completed);
    name(&mut host, "show me a long output");
    assert_eq!(host.state(SESSION)["title"], "please delete the sample");
    name(&mut host, "Cleaning up");
    assert_eq!(host.state(SESSION)["title"], "Cleaning up");
}

#[test]
fn the_model_of_an_agent_is_told_with_the_session() {
    let mut host = Host::with_session(Limits::default());
    host.report(AgentEvent::Model(Some("small".to_owned())));
    assert_eq!(host.state(SESSION)["_meta"]["innkeeper"]["model"], "small");
    host.report(AgentEvent::Model(Some("large".to_owned())));
    assert_eq!(host.state(SESSION)["_meta"]["innkeeper"]["model"], "large");
}
