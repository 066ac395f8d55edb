//! Rules of the protocol that no other scenario is about.
//! `docs/conformance.md` lists them all.

use innkeeper_engine::Limits;
use innkeeper_protocol::agent::{Approval, ApprovalRequest, ToolReady, ToolStart, TurnEvent};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, chat};
use crate::words::{of_session, with_onlooker};

#[test]
fn a_part_is_made_before_text_is_streamed_into_it() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        host.start_turn(1, "t");
        host.heard.clear();
        for event in [
            TurnEvent::Reasoning("Hm".to_owned()),
            TurnEvent::Reasoning(", so".to_owned()),
            TurnEvent::Text("It".to_owned()),
            TurnEvent::Text(" is".to_owned()),
            TurnEvent::Reasoning("Or".to_owned()),
            TurnEvent::Reasoning(" not".to_owned()),
        ] {
            host.in_turn("t", event);
        }
        let mut parts: Vec<(Value, Value)> = Vec::new();
        let mut streamed = 0;
        for (_, action) in host.actions(2) {
            let kind = action["type"].as_str().unwrap();
            match kind.split_once('/').unwrap().1 {
                "responsePart" => {
                    let part = &action["part"];
                    parts.push((part["kind"].clone(), part["id"].clone()));
                }
                "delta" => {
                    let part = (json!("markdown"), action["partId"].clone());
                    assert!(parts.contains(&part), "{version}: {action}");
                    streamed += 1;
                }
                "reasoning" => {
                    let part = (json!("reasoning"), action["partId"].clone());
                    assert!(parts.contains(&part), "{version}: {action}");
                    streamed += 1;
                }
                _ => {}
            }
        }
        assert!(parts.len() == 3 && streamed >= 3, "{version}: {parts:?}");
    }
}

#[test]
fn a_call_that_needs_approval_while_it_runs_says_what_for() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        host.start_turn(1, "t");
        let ready = |message: &str, approval: Approval| {
            TurnEvent::ToolReady(Box::new(ToolReady {
                call: "c".into(),
                input: Some("{}".to_owned()),
                message: StringOrMarkdown::Plain(message.to_owned()),
                approval,
                meta: None,
            }))
        };
        let start = ToolStart {
            call: "c".into(),
            name: "build".to_owned(),
            display_name: "Build".to_owned(),
            intention: None,
            contributor: None,
            meta: None,
        };
        host.in_turn("t", TurnEvent::ToolStarted(Box::new(start)));
        host.in_turn("t", ready("Builds", Approval::NotNeeded));
        host.heard.clear();
        let needed = Approval::Needed(ApprovalRequest::default());
        host.in_turn("t", ready("Wants to reach the network", needed));
        let told = host.actions(2);
        let (_, again) = told
            .iter()
            .find(|(_, action)| action["type"].as_str().unwrap().ends_with("toolCallReady"))
            .unwrap();
        let said = again["invocationMessage"].to_string();
        assert!(
            said.contains("Wants to reach the network"),
            "{version}: {said}"
        );
        assert!(again.get("confirmed").is_none(), "{version}: {again}");
    }
}

#[test]
fn a_client_is_active_from_the_start_only_under_its_own_id() {
    for version in Version::ALL {
        for (id, is_taken) in [("old", true), ("another", false)] {
            let mut host = with_onlooker(version);
            let subject = match version.names_channels_in_envelopes() {
                true => "channel",
                false => "session",
            };
            let params = json!({
                subject: "ahp-session:/new", "activeClient": {"clientId": id, "tools": []},
            });
            let answer = host.ask(2, "createSession", params);
            assert_eq!(answer.get("error").is_none(), is_taken, "{version}: {id}");
            if is_taken {
                let clients = &host.state("ahp-session:/new")["activeClients"];
                assert_eq!(clients[0]["clientId"], "old", "{version}");
            }
        }
    }
}

fn set_active(version: Version, client: &str) -> Value {
    let client = json!({"clientId": client, "tools": []});
    of_session(
        version,
        json!({"type": "session/activeClientChanged", "activeClient": client}),
    )
}

fn with_one_client() -> impl Iterator<Item = Version> {
    let all = Version::ALL.into_iter();
    all.filter(|version| !version.has_many_active_clients())
}

#[test]
fn a_second_client_is_not_active_until_the_first_has_left() {
    for version in with_one_client() {
        let mut host = with_onlooker(version);
        host.enter_as(version, 3, "other", &[SESSION]);
        host.dispatch(2, SESSION, set_active(version, "old"));
        host.heard.clear();
        host.dispatch(3, SESSION, set_active(version, "other"));
        let reason = host.rejection(3);
        assert!(reason.contains("`old`"), "{version}: {reason}");
    }
}

#[test]
fn a_client_that_disconnects_is_unset_after_a_grace_period() {
    for version in with_one_client() {
        let mut host = with_onlooker(version);
        host.enter_as(version, 3, "other", &[SESSION]);
        host.dispatch(2, SESSION, set_active(version, "old"));
        host.heard.clear();
        host.leave(2);
        host.wait(Limits::default().client_grace);
        let unset = json!({"type": "session/activeClientChanged", "activeClient": null});
        let told: Vec<Value> = host.actions(3).into_iter().map(|it| it.1).collect();
        assert!(
            told.contains(&of_session(version, unset)),
            "{version}: {told:?}"
        );
        assert_eq!(host.state(SESSION)["activeClients"], json!([]));
    }
}

#[test]
fn completions_do_not_wait_for_an_agent() {
    let mut host = Host::new();
    host.enter(1, "a", &[ROOT]);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    for text in ["/", "@", "plain", ""] {
        let asked = json!({
            "channel": chat(), "kind": "userMessage", "text": text,
            "offset": text.len(),
        });
        let answer = host.ok(1, "completions", asked);
        assert_eq!(answer, json!({"items": []}), "{text}");
    }
}
