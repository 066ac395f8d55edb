//! How clients of every version say things, well and badly, and how they are
//! answered.

use innkeeper_engine::{Input, Limits};
use innkeeper_judges::{ACTION_TYPES, age, mirror, name_of};
use innkeeper_protocol::agent::TurnEvent;
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::watch::{WatchEvent, WatchId, WatchReport};
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, chat};
use crate::words::{in_words_of, of_session, place, with_onlooker};

#[test]
fn every_version_may_say_null_for_what_is_left_open() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let mut params = json!({
            "provider": null, "model": null, "agent": null, "workingDirectory": null,
            "workingDirectories": null, "fork": null, "config": null, "activeClient": null,
            "_meta": null,
        });
        let subject = if version <= Version::V0_1 {
            "session"
        } else {
            "channel"
        };
        params[subject] = "x:new".into();
        host.ok(2, "createSession", params);
        let message = json!({
            "text": "Hello", "origin": {"kind": "user"}, "attachments": null, "_meta": null,
            "model": null, "agent": null,
        });
        let start = json!({
            "turnId": "t", "message": message, "queuedMessageId": null, "startedAt": null,
        });
        host.dispatch(
            2,
            &place(version),
            in_words_of(version, "turnStarted", start),
        );
        assert_eq!(host.rejection(2), "", "{version}");
        assert_eq!(host.state(&chat())["activeTurn"]["id"], "t", "{version}");
    }
}

#[test]
fn fields_that_a_version_does_not_have_are_passed_over() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let message = json!({
            "text": "Hello", "origin": {"kind": "user"}, "mood": {"is": "good"}, "chat": 7,
        });
        let start = json!({
            "turnId": "t", "message": message, "urgency": [1, 2], "clientId": null,
            "startedAt": "2026-01-01T00:00:00.000Z",
        });
        host.dispatch(
            2,
            &place(version),
            in_words_of(version, "turnStarted", start),
        );
        assert_eq!(host.rejection(2), "", "{version}");
        assert_eq!(
            host.state(&chat())["activeTurn"]["message"]["text"],
            "Hello"
        );
    }
}

#[test]
fn an_id_comes_back_as_it_was_given() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        for id in [
            json!("one"),
            json!(""),
            json!(0),
            json!(-7),
            json!(i64::MAX),
        ] {
            host.heard.clear();
            let text = json!({"jsonrpc": "2.0", "id": id, "method": "listSessions", "params": {}});
            host.say(2, &text.to_string());
            let answers = &host.heard[&2];
            assert_eq!(answers.len(), 1, "{version}: {answers:?}");
            assert_eq!(answers[0]["id"], id, "{version}");
            assert!(
                answers[0]["result"]["items"].is_array(),
                "{version}: {answers:?}"
            );
        }
    }
}

#[test]
fn a_notification_is_carried_out_and_not_answered() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let name = if version <= Version::V0_1 {
            "resource"
        } else {
            "channel"
        };
        let left = json!({"jsonrpc": "2.0", "method": "unsubscribe",
                          "params": {name: place(version)}});
        host.say(2, &left.to_string());
        host.say(2, r#"{"jsonrpc":"2.0","method":"juggle","params":{}}"#);
        host.say(2, r#"{"jsonrpc":"2.0","method":"listSessions"}"#);
        assert!(!host.heard.contains_key(&2), "{version}: {:?}", host.heard);
        host.start_turn(1, "t");
        let told = host.actions(2);
        let of_turn = told.iter().any(|(_, action)| action["turnId"] == "t");
        assert!(!of_turn, "{version} left: {told:?}");
        let back = json!({"jsonrpc": "2.0", "method": "subscribe",
                          "params": {name: place(version)}});
        host.heard.clear();
        host.say(2, &back.to_string());
        let answered =
            |heard: &Value| heard.get("result").is_some() || heard.get("error").is_some();
        let heard = host.heard.get(&2).into_iter().flatten();
        assert_eq!(heard.filter(|it| answered(it)).count(), 0, "{version}");
        host.in_turn("t", TurnEvent::Text("on".to_owned()));
        assert!(!host.actions(2).is_empty(), "{version} is back");
    }
}

#[test]
fn a_dispatch_that_is_sent_as_a_request_is_answered() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let start = json!({
            "turnId": "t", "message": {"text": "Hello", "origin": {"kind": "user"}},
            "startedAt": "2026-01-01T00:00:00.000Z",
        });
        let action = in_words_of(version, "turnStarted", start);
        let params = json!({"channel": place(version), "clientSeq": 1, "action": action});
        host.ok(2, "dispatchAction", params);
        assert_eq!(host.state(&chat())["activeTurn"]["id"], "t", "{version}");
    }
}

/// Each type of action that a version has, with nothing in it, or nonsense.
#[test]
fn malformed_actions_are_refused_and_change_nothing() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        host.start_turn(1, "t");
        let before = (host.state(SESSION), host.state(&chat()), host.state(ROOT));
        let of_version = ACTION_TYPES.iter().filter(|(_, since, until)| {
            (age(since)..=age(until)).contains(&age(&name_of(version)))
        });
        for (kind, _, _) in of_version {
            for channel in [SESSION, &place(version), ROOT, "x:none"] {
                for mut action in [json!({}), nonsense()] {
                    action["type"] = (*kind).into();
                    if version <= Version::V0_1 {
                        action["session"] = channel.into();
                    }
                    // These are sound with nothing in them.
                    let sound = [
                        "truncated",
                        "draftChanged",
                        "activeClientChanged",
                        "agentChanged",
                    ];
                    if sound.iter().any(|verb| kind.ends_with(verb)) {
                        continue;
                    }
                    host.heard.clear();
                    host.dispatch(2, channel, action);
                    let told = host.heard.get(&1);
                    assert!(
                        told.is_none(),
                        "{version} said {kind} on {channel}: {told:?}"
                    );
                    let answers = host.heard.get(&2).cloned().unwrap_or_default();
                    // In draft 1 what is about the root names no channel.
                    let of_root =
                        !version.names_channels_in_envelopes() && kind.starts_with("root/");
                    let is_silent = channel == "x:none"
                        && version.is_silent_about_unknown_channels()
                        && !of_root;
                    let expected = usize::from(!is_silent);
                    assert_eq!(answers.len(), expected, "{version}: {kind} on {channel}");
                    for answer in answers {
                        let envelope = &answer["params"];
                        assert_eq!(envelope["origin"]["clientId"], "old", "{answer}");
                        assert!(envelope["rejectionReason"].is_string(), "{answer}");
                    }
                }
            }
        }
        host.heard.clear();
        let after = (host.state(SESSION), host.state(&chat()), host.state(ROOT));
        assert_eq!(before, after, "{version}");
        assert!(host.closed.is_empty(), "{version}");
    }
}

fn nonsense() -> Value {
    let mut action = json!({});
    for key in [
        "turnId",
        "partId",
        "toolCallId",
        "content",
        "part",
        "result",
        "message",
        "userMessage",
        "request",
        "requestId",
        "questionId",
        "response",
        "model",
        "agent",
        "activeClient",
        "clientId",
        "tools",
        "config",
        "title",
        "isRead",
        "isArchived",
        "kind",
        "id",
        "order",
        "enablement",
        "enabled",
        "claim",
        "data",
        "cols",
        "rows",
        "approved",
        "draft",
        "summary",
        "chat",
        "changes",
        "customization",
        "customizations",
        "agents",
        "terminals",
        "error",
    ] {
        action[key] = json!([[{"nonsense": -1.5}]]);
    }
    action
}

/// What is said in pieces too, up to 0.4: nobody waits for an echo in vain.
#[test]
fn a_malformed_piece_is_refused() {
    for version in Version::ALL
        .into_iter()
        .filter(|it| !it.selects_per_message())
    {
        let mut host = with_onlooker(version);
        for action in [
            json!({"type": "session/modelChanged", "model": 7}),
            json!({"type": "session/modelChanged"}),
            json!({"type": "session/activeClientChanged", "activeClient": {"tools": 3}}),
            json!({"type": "session/activeClientChanged", "activeClient": 7}),
            json!({"type": "session/activeClientToolsChanged"}),
        ] {
            let said = of_session(version, action.clone());
            host.heard.clear();
            host.dispatch(2, SESSION, said.clone());
            assert_ne!(host.rejection(2), "", "{version}: {action}");
            assert_eq!(host.actions(2)[0].1, said, "{version}");
        }
    }
}

#[test]
fn a_refused_action_comes_back_in_the_words_in_which_it_was_said() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let mut cancel = json!({"turnId": "none"});
        if version >= Version::V0_6 {
            cancel["duration"] = 5.into();
        }
        let cancel = in_words_of(version, "turnCancelled", cancel);
        host.dispatch(2, &place(version), cancel.clone());
        assert_ne!(host.rejection(2), "", "{version}");
        let back = host.actions(2);
        assert_eq!(back.len(), 1, "{version}");
        assert_eq!(back[0].1, cancel, "{version}");
        let mirror = mirror(&name_of(version)).unwrap();
        assert_eq!(mirror.read_action(cancel.clone()), Ok(cancel), "{version}");
    }
}

#[test]
fn a_draft_that_nobody_speaks_is_refused_like_a_version() {
    for draft in [0, 2, 99] {
        let mut host = Host::new();
        host.connect(1);
        let params = json!({"clientId": "a", "protocolVersion": draft});
        let answer = host.ask(1, "initialize", params);
        assert_eq!(answer["error"]["code"], -32005, "{draft}");
        let supported = &answer["error"]["data"]["supportedVersions"];
        assert_eq!(*supported, json!(Version::supported()));
        assert_eq!(host.closed, [1]);
    }
}

#[test]
fn offers_may_come_in_any_order_and_with_anything_among_them() {
    for (offered, chosen) in [
        (json!(["0.2.0", "1.0.0", "0.9.0"]), "1.0.0"),
        (json!(["0.9.0", "0.2.0", "2.0.0"]), "0.9.0"),
        (json!(["latest", "", "0.2.7", "0.2.0"]), "0.2.7"),
        (json!(["0.3.0", "0.3.0"]), "0.3.0"),
    ] {
        let mut host = Host::new();
        host.connect(1);
        let params = json!({"clientId": "a", "protocolVersions": offered});
        assert_eq!(host.ok(1, "initialize", params)["protocolVersion"], chosen);
    }
}

/// Up to 0.3 snapshots cannot hold the state of a watch, and the drafts have no
/// watches at all.
#[test]
fn a_watch_can_be_followed_in_every_version_that_has_it() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let asked = json!({"jsonrpc": "2.0", "id": 1000, "method": "createResourceWatch",
                           "params": {"channel": ROOT, "uri": "file:///w"}});
        host.say(1, &asked.to_string());
        let watch = WatchId(1);
        let event = WatchEvent::Opened;
        host.feed(Input::Watch(WatchReport { watch, event }));
        let uri = host.heard[&1].last().unwrap()["result"]["channel"].clone();
        let name = if version <= Version::V0_1 {
            "resource"
        } else {
            "channel"
        };
        let answer = host.ask(2, "subscribe", json!({ name: uri }));
        match version {
            Version::Draft1 | Version::V0_1 => assert_eq!(answer["error"]["code"], -32001),
            Version::V0_2 | Version::V0_3 => assert_eq!(answer["result"], json!({})),
            _ => {
                let snapshot = &answer["result"]["snapshot"];
                let mut mirror = mirror(&name_of(version)).unwrap();
                mirror.load("x:watch", snapshot["state"].clone()).unwrap();
                assert_eq!(snapshot["state"]["root"], "file:///w");
            }
        }
        host.heard.clear();
        let event = WatchEvent::Overflowed;
        host.feed(Input::Watch(WatchReport { watch, event }));
        let told = host.actions(2).len();
        assert_eq!(told, usize::from(version > Version::V0_1), "{version}");
    }
}

/// The version is that of the client id, whoever asks first after a restart.
#[test]
fn a_client_comes_back_in_its_version_after_a_restart() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        host.start_turn(1, "t");
        host.in_turn("t", TurnEvent::Completed);
        host.restart(Limits::default());
        host.connect(2);
        let root = if version <= Version::V0_1 {
            "agenthost:/root"
        } else {
            ROOT
        };
        let back = json!({"channel": ROOT, "clientId": "old", "lastSeenServerSeq": 0,
                          "subscriptions": [root, SESSION, place(version)]});
        let back = host.ok(2, "reconnect", back);
        assert_eq!(back["type"], "snapshot", "{version}");
        let mut mirror = mirror(&name_of(version)).unwrap();
        for snapshot in back["snapshots"].as_array().unwrap() {
            let channel = snapshot["resource"].as_str().unwrap();
            mirror.load(channel, snapshot["state"].clone()).unwrap();
        }
        let turns = mirror.state(&place(version)).unwrap()["turns"].take();
        assert_eq!(turns[0]["id"], "t", "{version}");
        host.heard.clear();
        let title = json!({"type": "session/titleChanged", "title": "Here again"});
        host.enter(1, "a", &[SESSION]);
        host.dispatch(1, SESSION, title);
        let told = host.actions(2);
        let (_, told) = told
            .iter()
            .find(|(_, it)| it["title"] == "Here again")
            .unwrap();
        let as_version_has_it = mirror.read_action(told.clone());
        assert_eq!(as_version_has_it.as_ref(), Ok(told), "{version}");
    }
}
