//! What editors do with a host, and a host must bear: settings of their own,
//! messages before a session is there, views that are opened and forgotten.

use std::time::Duration;

use innkeeper_engine::{HostBuild, Limits};
use innkeeper_protocol::agent::{
    AgentCommand, Approval, ApprovalOption, ApprovalRequest, Delegation, Teller, ToolReady,
    ToolStart, TurnEvent,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::ConfirmationOption;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, broken_start, chat, config, killed};

/// A session that is still being created, watched by client 1.
fn creating(limits: Limits) -> Host {
    let mut host = Host::with(limits);
    host.enter(1, "a", &[ROOT]);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    for channel in [SESSION, &chat()] {
        host.ok(1, "subscribe", json!({"channel": channel}));
    }
    host
}

fn prompts(host: &Host) -> Vec<String> {
    let prompts = host.commands.iter().filter_map(|command| match command {
        AgentCommand::Prompt(prompt) => Some(prompt.message.text.clone()),
        _ => None,
    });
    prompts.collect()
}

fn pending(kind: &str, id: &str, text: &str) -> Value {
    json!({"type": "chat/pendingMessageSet", "kind": kind, "id": id,
           "message": {"text": text, "origin": {"kind": "user"}}})
}

#[test]
fn a_message_to_a_session_that_is_being_created_runs_when_it_is_ready() {
    let mut host = creating(Limits::default());
    host.start_turn(1, "t");
    assert_eq!(host.rejection(1), "");
    host.dispatch(1, &chat(), pending("queued", "q", "And then"));
    assert_eq!(host.rejection(1), "");
    assert!(prompts(&host).is_empty());
    host.opened();
    assert_eq!(prompts(&host), ["Do t"]);
    host.in_turn("t", TurnEvent::Completed);
    assert_eq!(prompts(&host), ["Do t", "And then"]);
}

#[test]
fn the_same_is_so_in_every_version() {
    for version in Version::ALL {
        let mut host = Host::new();
        host.enter_as(version, 1, "a", &[]);
        let session = match version {
            Version::Draft1 | Version::V0_1 => json!({"session": SESSION}),
            _ => json!({"channel": SESSION}),
        };
        host.ok(1, "createSession", session);
        host.enter(2, "b", &[&chat()]);
        host.start_turn(2, "t");
        host.opened();
        assert_eq!(prompts(&host), ["Do t"], "{version}");
    }
}

#[test]
fn a_message_that_waits_for_its_session_ends_with_it_if_it_does_not_come_about() {
    let mut host = creating(Limits::default());
    host.start_turn(1, "t");
    host.report(broken_start("no such program"));
    let state = host.state(&chat());
    let error = &state["turns"][0]["responseParts"][0]["error"];
    assert_eq!(
        error["message"],
        "The session could not be created: no such program"
    );
    assert_eq!(state["turns"][0]["message"]["text"], "Do t");
    assert_eq!(host.state(SESSION)["lifecycle"], "failed");
}

#[test]
fn a_message_that_waits_for_its_session_survives_the_end_of_the_host() {
    let mut host = creating(Limits::default());
    host.start_turn(1, "t");
    host.restart(Limits::default());
    assert!(matches!(host.commands.last(), Some(AgentCommand::Open(_))));
    host.opened();
    assert_eq!(prompts(&host), ["Do t"]);
    let Some(AgentCommand::Prompt(prompt)) = host.commands.last() else {
        panic!("no prompt");
    };
    assert!(prompt.resumed.is_none(), "it never began");
}

#[test]
fn a_message_that_waits_for_its_session_can_be_cancelled() {
    let mut host = creating(Limits::default());
    host.start_turn(1, "t");
    let cancel = json!({"type": "chat/turnCancelled", "turnId": "t"});
    host.dispatch(1, &chat(), cancel);
    host.opened();
    assert!(prompts(&host).is_empty());
    assert_eq!(host.state(&chat())["turns"][0]["state"], "cancelled");
}

#[test]
fn whatever_is_dispatched_is_echoed_or_rejected() {
    let mut host = Host::with_session(Limits::default());
    let client = json!({"clientId": "a", "displayName": "A", "tools": []});
    let set = json!({"type": "session/activeClientSet", "activeClient": client});
    let removed = json!({"type": "session/activeClientRemoved", "clientId": "a"});
    for action in [&set, &set, &removed, &removed] {
        host.news(1);
        host.dispatch(1, SESSION, action.clone());
        let heard = host.news(1);
        assert!(heard.contains(&action["type"].as_str().unwrap().to_owned()));
    }
    host.news(1);
    host.start_turn(1, "t");
    let title = json!({"type": "session/titleChanged", "title": "T"});
    host.dispatch(1, "ahp-session:/gone", title.clone());
    assert_eq!(host.rejection(1), "`ahp-session:/gone` does not exist");
    host.dispatch(1, &format!("x:/{}", "y".repeat(100_000)), title.clone());
    assert!(host.rejection(1).len() < 300);
    // As the protocol had it at first.
    host.enter_as(Version::V0_2, 2, "old", &[]);
    host.dispatch(2, "ahp-session:/gone", title);
    assert!(host.news(2).is_empty());
}

#[test]
fn the_hosts_settings_are_not_touched_by_those_of_an_editor() {
    let mut host = Host::new();
    host.enter(1, "a", &[ROOT]);
    let before = host.state(ROOT)["config"]["values"].clone();
    let theirs = json!({"chat.tools.autoApprove": false, "telemetry": {"level": 3}});
    for replace in [Value::Null, json!(true)] {
        let mut change = json!({"type": "root/configChanged", "config": theirs});
        if !replace.is_null() {
            change["replace"] = replace;
        }
        host.news(1);
        host.dispatch(1, ROOT, change);
        assert_eq!(host.rejection(1), "");
        assert_eq!(host.news(1), ["root/configChanged"]);
    }
    assert_eq!(host.state(ROOT)["config"]["values"], before);
}

// Sessions that nobody wrote in

fn hour() -> Duration {
    Limits::default().empty_session
}

fn listed(host: &mut Host) -> usize {
    host.enter(98, "lister", &[]);
    let list = host.ok(98, "listSessions", json!({}));
    host.leave(98);
    list["items"].as_array().unwrap().len()
}

#[test]
fn a_session_that_nobody_wrote_in_goes_when_nobody_has_it_open() {
    let mut host = Host::with_session(Limits::default());
    host.enter(2, "b", &[ROOT]);
    host.wait(hour() * 2);
    assert_eq!(listed(&mut host), 1, "it is open");
    host.leave(1);
    host.wait(hour() / 2);
    assert_eq!(listed(&mut host), 1, "it was open half an hour ago");
    host.news(2);
    host.wait(hour());
    assert_eq!(listed(&mut host), 0);
    assert!(host.news(2).contains(&"root/sessionRemoved".to_owned()));
    assert!(matches!(
        host.commands.last(),
        Some(AgentCommand::Close { .. })
    ));
}

#[test]
fn a_session_that_nobody_wrote_in_goes_after_a_restart_as_well() {
    let mut host = Host::with_session(Limits::default());
    host.restart(Limits::default());
    host.wait(hour() / 2);
    assert_eq!(listed(&mut host), 1);
    host.wait(hour());
    assert_eq!(listed(&mut host), 0);
}

#[test]
fn a_session_with_anything_of_its_own_stays() {
    let message = json!({"text": "x", "origin": {"kind": "user"}});
    let own = [
        (
            chat(),
            json!({"type": "chat/turnStarted", "turnId": "t", "message": message}),
        ),
        (
            chat(),
            json!({"type": "chat/draftChanged", "draft": message}),
        ),
        (chat(), pending("steering", "s", "x")),
        (
            SESSION.to_owned(),
            json!({"type": "session/titleChanged", "title": "T"}),
        ),
        (
            SESSION.to_owned(),
            json!({"type": "session/isArchivedChanged", "isArchived": true}),
        ),
    ];
    for (channel, action) in own {
        for restarts in [false, true] {
            let mut host = Host::with_session(Limits::default());
            host.dispatch(1, &channel, action.clone());
            assert_eq!(host.rejection(1), "");
            host.leave(1);
            if restarts {
                host.restart(Limits::default());
            }
            for _ in 0..3 {
                host.wait(hour());
            }
            assert_eq!(listed(&mut host), 1, "{action} {restarts}");
        }
    }
}

#[test]
fn with_no_limit_empty_sessions_stay() {
    let limits = || Limits {
        empty_session: Duration::ZERO,
        ..Limits::default()
    };
    let mut host = Host::with_session(limits());
    host.leave(1);
    host.wait(hour() * 100);
    assert_eq!(listed(&mut host), 1);
}

#[test]
fn whoever_comes_back_is_told_what_sessions_amount_to() {
    let mut host = Host::with_session(Limits::default());
    let seen = host.engine.server_seq();
    host.enter(2, "b", &[]);
    host.leave(1);
    let title = json!({"type": "session/titleChanged", "title": "Meanwhile"});
    host.dispatch(2, SESSION, title);
    host.connect(3);
    let params = json!({"clientId": "a", "lastSeenServerSeq": seen, "subscriptions": [ROOT]});
    host.ok(3, "reconnect", params);
    let heard = host.heard.remove(&3).unwrap_or_default();
    let told = heard
        .iter()
        .find(|it| it["method"] == "root/sessionSummaryChanged");
    let told = told.unwrap_or_else(|| panic!("{heard:?}"));
    assert_eq!(told["params"]["session"], SESSION);
    assert_eq!(told["params"]["changes"]["title"], "Meanwhile");
    // Nothing has changed since.
    host.leave(3);
    host.connect(4);
    let seen = host.engine.server_seq();
    let params = json!({"clientId": "a", "lastSeenServerSeq": seen, "subscriptions": [ROOT]});
    host.ok(4, "reconnect", params);
    assert!(host.news(4).is_empty());
}

// What they look for

#[test]
fn the_handshake_and_the_root_state_say_which_build_this_is() {
    let mut config = config(Limits::default());
    config.server_info.version = Some("1.2.3".to_owned());
    config.build = HostBuild {
        commit: Some("0a1b2c".to_owned()),
        date: Some("2026-01-02T03:04:05Z".to_owned()),
    };
    let mut host = Host::configured(config);
    let welcome = host.enter(1, "a", &[ROOT]);
    let build = json!({"version": "1.2.3", "commit": "0a1b2c", "date": "2026-01-02T03:04:05Z"});
    assert_eq!(welcome["_meta"]["hostBuild"], build);
    let root = &welcome["snapshots"][0]["state"];
    assert_eq!(root["_meta"]["hostBuild"], build);
}

#[test]
fn a_text_that_follows_a_text_begins_with_a_blank_line() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.in_turn("t", TurnEvent::Text("It stood.".to_owned()));
    host.in_turn("t", TurnEvent::Break);
    host.in_turn("t", TurnEvent::Text("## Guests".to_owned()));
    let state = host.state(&chat());
    let parts = &state["activeTurn"]["responseParts"];
    assert_eq!(parts[0]["content"], "It stood.");
    assert_eq!(parts[1]["content"], "\n\n## Guests");
}

// Approvals

pub(crate) fn started(call: &str) -> TurnEvent {
    TurnEvent::ToolStarted(Box::new(ToolStart {
        call: call.into(),
        name: "bash".to_owned(),
        display_name: "Preparing…".to_owned(),
        intention: None,
        contributor: None,
        meta: None,
    }))
}

/// A call lets another agent work, in a turn of its own.
pub(crate) fn delegation(call: &str, turn: &str) -> Delegation {
    Delegation {
        call: call.into(),
        turn: turn.into(),
        title: "Helper".to_owned(),
        agent_name: None,
        description: None,
        message: "Help".to_owned(),
        told_by: Teller::Tool,
        in_background: false,
    }
}

pub(crate) fn not_asked(call: &str) -> TurnEvent {
    TurnEvent::ToolReady(Box::new(ToolReady {
        call: call.into(),
        input: None,
        message: StringOrMarkdown::Plain("Work".to_owned()),
        approval: Approval::NotNeeded,
        meta: None,
    }))
}

pub(crate) fn asks(call: &str, meta: Value, options: Value) -> TurnEvent {
    let options: Vec<ConfirmationOption> = serde_json::from_value(options).unwrap();
    TurnEvent::ToolReady(Box::new(ToolReady {
        call: call.into(),
        input: Some("rm -rf build".to_owned()),
        message: StringOrMarkdown::Plain("rm -rf build".to_owned()),
        approval: Approval::Needed(ApprovalRequest {
            title: None,
            edits: None,
            editable: false,
            options: options.into_iter().map(ApprovalOption::from).collect(),
        }),
        meta: meta.as_object().cloned(),
    }))
}

#[test]
fn a_request_for_approval_says_what_is_risky_unless_that_is_switched_off() {
    for assess_risk in [true, false] {
        let mut config = config(Limits::default());
        config.workspace.assess_risk = assess_risk;
        let mut host = Host::configured(config);
        host.enter(1, "a", &[ROOT]);
        host.ok(1, "createSession", json!({"channel": SESSION}));
        host.opened();
        host.ok(1, "subscribe", json!({"channel": chat()}));
        host.start_turn(1, "t");
        host.in_turn("t", started("c"));
        host.in_turn("t", asks("c", json!({"toolKind": "terminal"}), json!([])));
        let state = host.state(&chat());
        let call = &state["activeTurn"]["responseParts"][0]["toolCall"];
        let risk = &call["riskAssessment"];
        assert_eq!(risk["status"] == "complete", assess_risk, "{call}");
        assert_eq!(
            risk["reason"].to_string().contains("rm"),
            assess_risk,
            "{risk}"
        );
    }
}

#[test]
fn what_holds_for_this_time_is_offered_first() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.in_turn("t", started("c"));
    let options = json!([
        {"id": "always", "label": "Always", "kind": "approve", "group": 1},
        {"id": "once", "label": "Once", "kind": "approve", "group": 0},
        {"id": "no", "label": "No", "kind": "deny", "group": 0},
    ]);
    host.in_turn("t", asks("c", json!({"toolKind": "terminal"}), options));
    let state = host.state(&chat());
    let call = &state["activeTurn"]["responseParts"][0]["toolCall"];
    let offered = call["options"].as_array().unwrap().iter();
    let offered: Vec<&Value> = offered.map(|option| &option["id"]).collect();
    assert_eq!(offered, ["once", "no", "always"]);
    assert_eq!(call["confirmationTitle"], "Run this command?");
}

fn denied(words: Value) -> Value {
    let mut action = json!({"type": "chat/toolCallConfirmed", "turnId": "t", "toolCallId": "c",
                            "approved": false, "reason": "denied"});
    for (key, value) in words.as_object().unwrap() {
        action[key] = value.clone();
    }
    action
}

fn asked() -> Host {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.in_turn("t", started("c"));
    host.in_turn("t", asks("c", json!({}), json!([])));
    host
}

/// What the agent was last given to take up, under the name of that version.
fn steered(host: &Host) -> Option<(String, String)> {
    let mut commands = host.commands.iter().rev();
    commands.find_map(|command| match command {
        AgentCommand::Steer { message, .. } => message
            .as_ref()
            .map(|message| (message.id.clone(), message.message.text.clone())),
        _ => None,
    })
}

#[test]
fn the_words_of_a_denial_are_for_the_agent_to_hear() {
    let mut host = asked();
    let suggestion = json!({"text": "Use make clean", "origin": {"kind": "user"}});
    host.dispatch(1, &chat(), denied(json!({"userSuggestion": suggestion})));
    assert_eq!(host.rejection(1), "");
    let (version, text) = steered(&host).unwrap();
    assert_eq!(text, "Use make clean");
    host.in_turn("t", TurnEvent::Steered { message: version });
    let state = host.state(&chat());
    assert_eq!(state.get("steeringMessage"), None);
    let part = &state["activeTurn"]["responseParts"][1];
    assert_eq!(part["kind"], "systemNotification");
    assert_eq!(part["content"], "Use make clean");
    assert_eq!(
        part["_meta"]["innkeeper"]["steering"]["message"]["text"],
        "Use make clean"
    );
}

#[test]
fn an_agent_that_ends_its_turn_at_a_denial_hears_the_words_with_the_next() {
    let mut host = asked();
    host.dispatch(
        1,
        &chat(),
        denied(json!({"reasonMessage": "Never delete it"})),
    );
    host.in_turn("t", TurnEvent::Cancelled);
    assert_eq!(prompts(&host), ["Do t", "Never delete it"]);
}

#[test]
fn words_that_a_client_says_in_both_places_are_said_once() {
    let mut host = asked();
    let suggestion = json!({"text": "Use make clean", "origin": {"kind": "user"}});
    let words = json!({"reasonMessage": "Use make clean", "userSuggestion": suggestion});
    host.dispatch(1, &chat(), denied(words));
    assert_eq!(steered(&host).unwrap().1, "Use make clean");
}

#[test]
fn a_denial_without_words_says_nothing() {
    let mut host = asked();
    host.dispatch(1, &chat(), denied(json!({"reasonMessage": "  "})));
    assert_eq!(steered(&host), None);
}

#[test]
fn the_words_of_a_denial_join_what_waits() {
    let mut host = asked();
    host.dispatch(1, &chat(), pending("steering", "s", "First look"));
    let suggestion = json!({"text": "Then ask", "origin": {"kind": "user"}});
    host.dispatch(1, &chat(), denied(json!({"userSuggestion": suggestion})));
    let waiting = host.state(&chat())["steeringMessage"].clone();
    assert_eq!(waiting["id"], "s");
    assert_eq!(waiting["message"]["text"], "First look\n\nThen ask");
}

// Steering

#[test]
fn what_was_added_to_a_steering_message_goes_on_waiting() {
    for name in ["s", "another"] {
        check_that_the_rest_waits(name);
    }
}

/// Clients add to a message under its name or under another.
fn check_that_the_rest_waits(name: &str) {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.dispatch(1, &chat(), pending("steering", "s", "Left"));
    let (first, _) = steered(&host).unwrap();
    host.dispatch(1, &chat(), pending("steering", name, "Left\n\nNo, right"));
    host.in_turn("t", TurnEvent::Steered { message: first });
    let state = host.state(&chat());
    assert_eq!(state["activeTurn"]["responseParts"][0]["content"], "Left");
    assert_eq!(state["steeringMessage"]["message"]["text"], "No, right");
    let (rest, text) = steered(&host).unwrap();
    assert_eq!(text, "No, right");
    host.in_turn("t", TurnEvent::Steered { message: rest });
    let state = host.state(&chat());
    assert_eq!(
        state["activeTurn"]["responseParts"][1]["content"],
        "No, right"
    );
    assert_eq!(state.get("steeringMessage"), None);
}

#[test]
fn another_message_in_its_place_waits_as_it_is() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.dispatch(1, &chat(), pending("steering", "s", "Left"));
    let (first, _) = steered(&host).unwrap();
    // Also one that begins alike.
    host.dispatch(1, &chat(), pending("steering", "r", "Left of it"));
    host.in_turn("t", TurnEvent::Steered { message: first });
    let state = host.state(&chat());
    assert_eq!(state["activeTurn"]["responseParts"][0]["content"], "Left");
    assert_eq!(state["steeringMessage"]["message"]["text"], "Left of it");
    assert_eq!(steered(&host).unwrap().1, "Left of it");
}

#[test]
fn what_an_agent_took_up_outlives_it() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.dispatch(1, &chat(), pending("steering", "s", "Remember me"));
    let (version, _) = steered(&host).unwrap();
    host.in_turn("t", TurnEvent::Steered { message: version });
    host.report(killed());
    host.restart(Limits::default());
    let turn = host.state(&chat())["turns"][0].clone();
    assert_eq!(turn["responseParts"][0]["content"], "Remember me");
    assert_eq!(turn["state"], "error");
}

#[test]
fn what_an_agent_did_not_take_up_waits_when_it_is_gone() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.dispatch(1, &chat(), pending("steering", "s", "Remember me"));
    host.report(killed());
    let waiting = host.state(&chat())["steeringMessage"].clone();
    assert_eq!(waiting["message"]["text"], "Remember me");
}
