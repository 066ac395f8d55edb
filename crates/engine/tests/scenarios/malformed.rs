//! What is not as the protocol says is refused to clients of every version, so
//! that nobody who trusts the protocol's types stumbles over it.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::agent::{Approval, ApprovalRequest, ToolReady, ToolStart, TurnEvent};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, agents, chat};
use crate::words::{in_words_of, place, with_onlooker};

/// Attachments that lack something, or have it in a wrong type.
fn malformed_attachments() -> Vec<Value> {
    vec![
        json!({"type": "simple"}),
        json!({"type": "simple", "label": 7}),
        json!({"type": "embeddedResource", "label": "x", "contentType": "text/plain"}),
        json!({"type": "embeddedResource", "label": "x", "data": "eA=="}),
        json!({"type": "resource", "label": "x"}),
        json!({"type": "resource", "uri": "file:///x"}),
        json!({"type": "resource", "label": "x", "uri": {"path": "/x"}}),
        json!({"type": "resource", "label": "x", "uri": "file:///x", "range": "all"}),
        json!({"type": 7, "label": "x"}),
        json!({"label": "x", "uri": "file:///x"}),
        json!({}),
        json!("text"),
        json!(["resource"]),
    ]
}

/// Likewise those of kinds that not every version has.
fn malformed_newer_attachments() -> Vec<Value> {
    vec![
        json!({"type": "annotations", "label": "x"}),
        json!({"type": "chat", "label": "x"}),
        json!({"type": "file", "label": "x", "uri": "file:///x"}),
    ]
}

fn malformed_content() -> Vec<Value> {
    vec![
        json!({"type": "text"}),
        json!({"type": "text", "text": {"markdown": "x"}}),
        json!({"type": "embeddedResource", "data": "eA=="}),
        json!({"type": "resource"}),
        json!({"type": "fileEdit", "before": "old"}),
        json!({"type": "terminal"}),
        json!({"type": "subagent", "resource": "x:chat"}),
        json!({}),
        json!("text"),
        json!(null),
    ]
}

fn with_attachment(attachment: &Value) -> Value {
    json!({"text": "Look", "origin": {"kind": "user"}, "attachments": [attachment]})
}

fn refused(host: &mut Host, version: Version, verb: &str, action: Value) -> String {
    host.heard.clear();
    host.dispatch(2, &place(version), in_words_of(version, verb, action));
    host.rejection(2)
}

#[test]
fn malformed_attachments_are_refused_in_every_version_wherever_a_message_is() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let mut all = malformed_attachments();
        if version == Version::NEWEST {
            all.extend(malformed_newer_attachments());
        }
        // Draft 1 takes whatever has a URI for a file.
        if version <= Version::V0_1 {
            all.retain(|it| !it["uri"].is_string());
        }
        for attachment in all {
            let message = with_attachment(&attachment);
            let mut messages = vec![
                (
                    "turnStarted",
                    json!({"turnId": "t", "message": message,
                           "startedAt": "2026-01-01T00:00:00.000Z"}),
                ),
                (
                    "pendingMessageSet",
                    json!({"kind": "queued", "id": "q", "message": message}),
                ),
                (
                    "pendingMessageSet",
                    json!({"kind": "steering", "id": "s", "message": message}),
                ),
            ];
            if version.selects_per_message() {
                messages.push(("draftChanged", json!({"draft": message})));
            }
            for (verb, action) in messages {
                let reason = refused(&mut host, version, verb, action);
                assert!(
                    reason.contains("malformed"),
                    "{version} {verb} {attachment}: {reason}"
                );
            }
        }
        let state = host.state(&chat());
        for told in ["activeTurn", "queuedMessages", "steeringMessage", "draft"] {
            assert_eq!(state[told], Value::Null, "{version}");
        }
    }
}

#[test]
fn the_first_message_of_a_chat_must_be_well_formed() {
    let mut host = Host::new();
    let mut profiles = agents();
    let several = json!({"multipleChats": {}});
    profiles[0].info.capabilities = Some(serde_json::from_value(several).unwrap());
    host.feed(Input::AgentsChanged(profiles));
    host.enter(1, "a", &[ROOT]);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    host.opened();
    for attachment in malformed_attachments() {
        let params = json!({
            "channel": SESSION, "chat": "x:chat", "initialMessage": with_attachment(&attachment),
        });
        assert_eq!(
            host.refused(1, "createChat", params),
            -32602,
            "{attachment}"
        );
    }
}

/// Brings a call of the turn `t` to where it waits for approval, or runs.
fn call(host: &mut Host, contributor: Option<Value>, asks: bool) {
    host.start_turn(1, "t");
    let started = ToolStart {
        call: "c".into(),
        name: "lookup".to_owned(),
        display_name: "Look up".to_owned(),
        intention: None,
        contributor: contributor.map(|it| serde_json::from_value(it).unwrap()),
        meta: None,
    };
    host.in_turn("t", TurnEvent::ToolStarted(started.into()));
    let ready = ToolReady {
        call: "c".into(),
        input: Some("{}".to_owned()),
        message: StringOrMarkdown::Plain("Looking up".to_owned()),
        approval: match asks {
            true => Approval::Needed(ApprovalRequest::default()),
            false => Approval::NotNeeded,
        },
        meta: None,
    };
    host.in_turn("t", TurnEvent::ToolReady(ready.into()));
}

#[test]
fn what_comes_with_a_denial_must_be_well_formed() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        call(&mut host, None, true);
        for attachment in &malformed_attachments() {
            let denial = json!({
                "turnId": "t", "toolCallId": "c", "approved": false, "reason": "denied",
                "userSuggestion": with_attachment(attachment),
            });
            let reason = refused(&mut host, version, "toolCallConfirmed", denial);
            assert!(
                reason.contains("malformed"),
                "{version} {attachment}: {reason}"
            );
        }
    }
}

#[test]
fn malformed_content_of_a_client_s_tool_is_refused_in_every_version() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let client = json!({"clientId": "old", "tools": []});
        let (verb, client) = match version.has_many_active_clients() {
            true => ("activeClientSet", json!({"activeClient": client})),
            false => ("activeClientChanged", json!({"activeClient": client})),
        };
        let mut active = in_words_of(version, verb, client);
        active["type"] = format!("session/{verb}").into();
        host.dispatch(2, SESSION, active);
        assert_eq!(host.rejection(2), "", "{version}");
        let owner = json!({"kind": "client", "clientId": "old"});
        call(&mut host, Some(owner), false);
        let mut all = malformed_content();
        if version == Version::NEWEST {
            all.push(json!({"type": "terminalComplete", "exitCode": 0}));
        }
        for block in &all {
            let about = json!({"turnId": "t", "toolCallId": "c"});
            let mut partial = about.clone();
            partial["content"] = json!([{"type": "text", "text": "so far"}, block]);
            let mut end = about;
            end["result"] = json!({
                "success": true, "pastTenseMessage": "Looked it up", "content": [block],
            });
            for (verb, action) in [
                ("toolCallContentChanged", partial),
                ("toolCallComplete", end),
            ] {
                let reason = refused(&mut host, version, verb, action);
                assert!(
                    reason.contains("malformed"),
                    "{version} {verb} {block}: {reason}"
                );
            }
        }
        let state = host.state(&chat());
        let call = &state["activeTurn"]["responseParts"][0]["toolCall"];
        assert_eq!(call["status"], "running", "{version}");
        assert_eq!(call["content"], Value::Null, "{version}");
    }
}

#[test]
fn kinds_that_no_version_knows_pass_unchanged() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let attachment = json!({"type": "hologram", "label": "x", "depth": [1, {"z": 2}]});
        let start = json!({
            "turnId": "t", "message": with_attachment(&attachment),
            "startedAt": "2026-01-01T00:00:00.000Z",
        });
        assert_eq!(refused(&mut host, version, "turnStarted", start), "");
        let state = host.state(&chat());
        let kept = &state["activeTurn"]["message"]["attachments"][0];
        assert_eq!(*kept, attachment, "{version}");
    }
}

#[test]
fn a_simple_attachment_needs_no_text_for_the_model() {
    // A completion may have made it, and the host cannot tell.
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let attachment = json!({"type": "simple", "label": "x"});
        let start = json!({
            "turnId": "t", "message": with_attachment(&attachment),
            "startedAt": "2026-01-01T00:00:00.000Z",
        });
        let reason = refused(&mut host, version, "turnStarted", start);
        assert_eq!(reason, "", "{version}");
    }
}

#[test]
fn two_tools_of_one_name_are_refused_in_every_version() {
    let tool = json!({"name": "lookup", "inputSchema": {"type": "object"}});
    let tools = json!([tool, {"name": "other"}, tool]);
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let client = |tools: &Value| json!({"clientId": "old", "tools": tools});
        let verb = match version.has_many_active_clients() {
            true => "activeClientSet",
            false => "activeClientChanged",
        };
        let say = |host: &mut Host, verb: &str, fields: Value| {
            let mut action = in_words_of(version, verb, fields);
            action["type"] = format!("session/{verb}").into();
            host.heard.clear();
            host.dispatch(2, SESSION, action);
            host.rejection(2)
        };
        let reason = say(&mut host, verb, json!({"activeClient": client(&tools)}));
        assert!(reason.contains("`lookup`"), "{version}: {reason}");
        if !version.has_many_active_clients() {
            let one = json!({"activeClient": client(&json!([tool]))});
            assert_eq!(say(&mut host, verb, one), "", "{version}");
            let reason = say(
                &mut host,
                "activeClientToolsChanged",
                json!({"tools": tools}),
            );
            assert!(reason.contains("`lookup`"), "{version}: {reason}");
        }
        let about = match version {
            Version::Draft1 | Version::V0_1 => "session",
            _ => "channel",
        };
        let params = json!({about: "x:new", "activeClient": client(&tools)});
        let answer = host.ask(2, "createSession", params);
        if version.has_many_active_clients() {
            let reason = answer["error"]["message"].as_str().unwrap();
            assert!(reason.contains("`lookup`"), "{version}: {reason}");
        }
    }
}

#[test]
fn only_clients_that_know_switches_of_children_can_use_them() {
    let mut profiles = agents();
    let rules = json!([{
        "type": "directory", "id": "x:a", "uri": "x:a", "name": "A", "enabled": true,
        "contents": "rule", "writable": false, "load": {"kind": "loaded"}, "children": [
            {"type": "rule", "id": "x:a/1", "uri": "x:a/1", "name": "one"},
        ],
    }]);
    profiles[0].info.customizations = Some(serde_json::from_value(rules).unwrap());
    for version in Version::ALL {
        let mut host = Host::with(Limits::default());
        host.feed(Input::AgentsChanged(profiles.clone()));
        host.enter(1, "a", &[ROOT]);
        host.ok(1, "createSession", json!({"channel": SESSION}));
        host.opened();
        host.enter_as(version, 2, "old", &[SESSION]);
        let switch = |host: &mut Host, id: &str| {
            let mut action = match version.switches_in_scopes() {
                true => json!({"id": id, "enablement": [{"kind": "session", "enabled": false}]}),
                false => json!({"id": id, "enabled": false}),
            };
            if version <= Version::V0_1 {
                action["uri"] = id.into();
                action["session"] = SESSION.into();
            }
            action["type"] = "session/customizationToggled".into();
            host.heard.clear();
            host.dispatch(2, SESSION, action);
            host.rejection(2)
        };
        let before = host.state(SESSION)["customizations"].take();
        assert!(before[0]["children"][0].is_object(), "{before}");
        let reason = switch(&mut host, "x:a/1");
        let after = host.state(SESSION)["customizations"].take();
        match version.switches_children() {
            true => {
                assert_eq!(reason, "", "{version}");
                assert_ne!(before, after, "{version}");
            }
            false => {
                assert!(reason.contains("switch `x:a`"), "{version}: {reason}");
                assert_eq!(before, after, "{version}");
            }
        }
        assert_eq!(switch(&mut host, "x:a"), "", "{version}");
    }
}
