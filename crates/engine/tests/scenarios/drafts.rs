//! What the two drafts have of their own: draft 1, which counts its version,
//! and 0.1.0, which is some weeks younger.

use innkeeper_engine::{Input, Limits};
use innkeeper_judges::{mirror, name_of};
use innkeeper_protocol::agent::{AgentCommand, AgentNotice, TurnEvent};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, agents, chat};

const DRAFT_ROOT: &str = "agenthost:/root";

/// Connection 1 is of today, connection 2 of a draft; both follow the session.
fn with_draft(version: Version) -> Host {
    let mut host = Host::with_session(Limits::default());
    host.enter_as(version, 2, "old", &[DRAFT_ROOT, SESSION]);
    host.heard.clear();
    host
}

/// One attachment of each kind, with all that it may have.
fn attachments() -> Value {
    let range = json!({
        "start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 5},
    });
    json!([
        {
            "type": "simple", "label": "note", "range": range, "displayKind": "symbol",
            "modelRepresentation": "fn main", "_meta": {"by": {"whom": 1}},
        },
        {
            "type": "embeddedResource", "label": "shot.png", "range": range,
            "displayKind": "image", "data": "aGk=", "contentType": "image/png",
            "selection": {"range": range}, "_meta": {"x": [1, "two"]},
        },
        {
            "type": "resource", "label": "main.rs", "range": range, "displayKind": "selection",
            "uri": "file:///w/main.rs", "sizeHint": 12, "contentType": "text/rust",
            "selection": {"range": range}, "_meta": {"y": null, "z": false},
        },
    ])
}

fn start(attachments: &Value) -> Value {
    json!({
        "type": "session/turnStarted", "session": SESSION, "turnId": "t",
        "userMessage": {"text": "Hello there", "attachments": attachments},
    })
}

#[test]
fn attachments_of_0_1_reach_everybody_whole() {
    let mut host = with_draft(Version::V0_1);
    host.dispatch(2, SESSION, start(&attachments()));
    // Echoed, in the state of the newest version, and given to the agent.
    assert_eq!(host.actions(2)[0].1, start(&attachments()));
    let kept = &host.state(&chat())["activeTurn"]["message"];
    assert_eq!(kept["attachments"], attachments());
    let prompted = host.commands.iter().find_map(|command| match command {
        AgentCommand::Prompt(prompt) => Some(json!(prompt.message.attachments)),
        _ => None,
    });
    assert_eq!(prompted, Some(attachments()));
}

#[test]
fn attachments_of_others_reach_0_1_whole() {
    let mut host = with_draft(Version::V0_1);
    let message = json!({
        "text": "Hello there", "origin": {"kind": "user"}, "attachments": attachments(),
    });
    let said = json!({"type": "chat/turnStarted", "turnId": "t", "message": message});
    host.dispatch(1, &chat(), said);
    let told = host.actions(2);
    let started = told.iter().find(|it| it.1["type"] == "session/turnStarted");
    assert_eq!(started.unwrap().1, start(&attachments()));
    let state = host.ok(2, "subscribe", json!({"resource": SESSION}))["snapshot"]["state"].take();
    assert_eq!(
        state["activeTurn"]["userMessage"]["attachments"],
        attachments()
    );
    mirror("0.1").unwrap().load(SESSION, state).unwrap();
}

/// Draft 1 has files, directories and selections only.
#[test]
fn no_attachment_is_lost_on_the_way_to_draft_1() {
    let mut host = with_draft(Version::Draft1);
    let message = json!({
        "text": "Hello there", "origin": {"kind": "user"}, "attachments": attachments(),
    });
    let said = json!({"type": "chat/turnStarted", "turnId": "t", "message": message});
    host.dispatch(1, &chat(), said);
    let told = host.actions(2);
    let started = told.iter().find(|it| it.1["type"] == "session/turnStarted");
    assert_eq!(
        started.unwrap().1["userMessage"]["attachments"],
        json!([
            {
                "type": "file", "displayName": "note",
                "uri": "data:text/plain;charset=utf-8;base64,Zm4gbWFpbg==",
            },
            {"type": "file", "uri": "data:image/png;base64,aGk=", "displayName": "shot.png"},
            {"type": "selection", "uri": "file:///w/main.rs", "displayName": "main.rs"},
        ])
    );
}

#[test]
fn draft_1_may_send_attachments_of_both_drafts() {
    for (said, meant) in [
        (
            json!([{"type": "file", "uri": "file:///a", "displayName": "A"}]),
            json!([{"type": "resource", "uri": "file:///a", "label": "A"}]),
        ),
        (
            json!([{"type": "directory", "uri": "file:///d"}]),
            json!([{
                "type": "resource", "uri": "file:///d", "label": "file:///d",
                "displayKind": "directory",
            }]),
        ),
        (attachments(), attachments()),
    ] {
        let mut host = with_draft(Version::Draft1);
        host.dispatch(2, SESSION, start(&said));
        let kept = host.state(&chat());
        assert_eq!(kept["activeTurn"]["message"]["attachments"], meant);
    }
}

#[test]
fn a_client_of_a_draft_completes_in_its_session() {
    for version in [Version::Draft1, Version::V0_1] {
        let mut host = with_draft(version);
        let asked = json!({
            "kind": "userMessage", "session": SESSION, "text": "see @ma", "offset": 7,
        });
        let answer = host.ok(2, "completions", asked);
        assert_eq!(answer, json!({"items": []}), "{version}");
        let elsewhere = json!({
            "kind": "userMessage", "session": "x:none", "text": "@", "offset": 1,
        });
        let answer = host.ask(2, "completions", elsewhere);
        assert_eq!(answer["error"]["code"], -32001, "{version}");
    }
}

#[test]
fn each_draft_is_welcomed_in_its_own_words() {
    for (version, answer, triggers) in [
        (Version::Draft1, json!(1), false),
        (Version::V0_1, json!("0.1.0"), true),
    ] {
        let mut host = Host::new();
        let welcome = host.enter_as(version, 1, "a", &[DRAFT_ROOT]);
        assert_eq!(welcome["protocolVersion"], answer);
        let characters = welcome.get("completionTriggerCharacters");
        assert_eq!(characters.is_some(), triggers, "{version}");
        assert!(welcome.get("telemetry").is_none());
        assert_eq!(welcome["snapshots"][0]["resource"], DRAFT_ROOT);
    }
}

/// From 0.2 on, news of the catalogue go to those who subscribe to the root.
#[test]
fn every_client_of_a_draft_hears_of_sessions_without_subscribing() {
    for version in Version::ALL {
        let mut host = Host::new();
        host.enter(1, "new", &[ROOT]);
        host.enter_as(version, 2, "old", &[]);
        host.ok(1, "createSession", json!({"channel": SESSION}));
        host.opened();
        let title = json!({"type": "session/titleChanged", "title": "Mine"});
        host.dispatch(1, SESSION, title);
        host.ok(1, "disposeSession", json!({"channel": SESSION}));
        let heard = host.heard.remove(&2).unwrap_or_default();
        let news = heard.iter().filter(|it| it["method"] == "notification");
        let news: Vec<&Value> = news.map(|it| &it["params"]["notification"]).collect();
        if version > Version::V0_1 {
            assert!(heard.is_empty(), "{version}: {heard:?}");
            continue;
        }
        let of_kind = |kind: &str| news.iter().filter(|it| it["type"] == kind).count();
        assert_eq!(of_kind("notify/sessionAdded"), 1, "{version}");
        assert_eq!(of_kind("notify/sessionRemoved"), 1, "{version}");
        let changes = news.iter().map(|it| &it["changes"]["title"]);
        assert!(changes.into_iter().any(|it| it == "Mine"), "{version}");
    }
}

#[test]
fn a_notice_of_the_host_is_not_the_models_own_text_in_0_1() {
    let mut host = with_draft(Version::V0_1);
    host.start_turn(1, "t");
    host.heard.clear();
    host.in_turn("t", TurnEvent::Notice(AgentNotice::Refused));
    let told = host.actions(2);
    let parts = told.iter().map(|(_, action)| &action["part"]["kind"]);
    assert_eq!(parts.collect::<Vec<_>>(), ["systemNotification"]);
}

#[test]
fn what_a_provider_adds_to_models_and_usage_is_told_from_0_1_on() {
    for version in [Version::Draft1, Version::V0_1] {
        let mut host = with_draft(version);
        let mut profiles = agents();
        let model = json!({
            "id": "m", "provider": "alpha", "name": "M", "_meta": {"pricing": {"input": 3}},
        });
        profiles[0].info.models = vec![serde_json::from_value(model).unwrap()];
        host.feed(Input::AgentsChanged(profiles));
        host.start_turn(1, "t");
        let usage = json!({"inputTokens": 5, "_meta": {"cost": 1}});
        let usage = serde_json::from_value(usage).unwrap();
        host.in_turn("t", TurnEvent::Usage(usage));
        let told = host.actions(2);
        let of_kind = |kind: &str| told.iter().find(|it| it.1["type"] == kind).unwrap();
        let models = &of_kind("root/agentsChanged").1["agents"][0]["models"][0];
        let usage = &of_kind("session/usage").1["usage"];
        let is_told = version == Version::V0_1;
        assert_eq!(models.get("_meta").is_some(), is_told, "{version}");
        assert_eq!(usage.get("_meta").is_some(), is_told, "{version}");
    }
}

/// Reducers of 0.1 take a session for idle and unread when it is ready.
#[test]
fn a_session_that_is_at_work_when_it_is_ready_is_shown_as_such() {
    for works in [false, true] {
        let mut host = Host::new();
        host.enter(1, "new", &[ROOT]);
        host.enter_as(Version::V0_1, 2, "old", &[DRAFT_ROOT]);
        host.ok(1, "createSession", json!({"channel": SESSION}));
        let mut mirror = mirror(&name_of(Version::V0_1)).unwrap();
        let subscribe = |host: &mut Host| {
            host.ok(2, "subscribe", json!({"resource": SESSION}))["snapshot"]["state"].take()
        };
        mirror.load(SESSION, subscribe(&mut host)).unwrap();
        host.heard.clear();
        if works {
            host.start_turn(1, "t");
        }
        host.opened();
        for (_, action) in host.actions(2) {
            mirror.apply(SESSION, action).unwrap();
        }
        let now = mirror.read(subscribe(&mut host)).unwrap();
        let folded = mirror.state(SESSION).unwrap();
        assert_eq!(folded["summary"]["status"], now["summary"]["status"]);
        assert_eq!(folded["lifecycle"], "ready");
        assert_eq!(now["summary"]["status"], if works { 8 } else { 33 });
    }
}

#[test]
fn what_is_not_found_is_named_as_versions_without_chats_know_it() {
    for version in [Version::Draft1, Version::V0_1, Version::V0_2, Version::V0_3] {
        let key = match version.names_channels_in_envelopes() {
            true => "channel",
            false => "session",
        };
        let mut host = Host::with_session(Limits::default());
        host.enter_as(version, 2, "old", &[]);
        for method in ["fetchTurns", "disposeSession"] {
            let answer = host.ask(2, method, json!({ key: "copilot:/none" }));
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("`copilot:/none`"), "{version}: {answer}");
        }
    }
}
