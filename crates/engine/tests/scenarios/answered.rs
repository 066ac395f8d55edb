//! Whatever a client dispatches is answered, once, in every version: echoed or
//! rejected, in the words in which it was said.

use innkeeper_engine::{Input, Limits};
use innkeeper_judges::{ACTION_TYPES, CLIENTS_SAY, age, name_of};
use innkeeper_protocol::agent::TurnEvent;
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::terminal::{TerminalEvent, TerminalId, TerminalReport};
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, chat};
use crate::words::{in_words_of, of_session, place, with_onlooker};

const TERMINAL: &str = "ahp-terminal:/1";

/// What clients say besides [`CLIENTS_SAY`], which are the verbs that others
/// are shown in the same words.
const FURTHER: &[&str] = &[
    "modelChanged",
    "agentChanged",
    "activeClientChanged",
    "activeClientToolsChanged",
    "activeClientSet",
    "activeClientRemoved",
    "customizationToggled",
    "mcpServerStartRequested",
    "mcpServerStopRequested",
    "defaultChatChanged",
    "draftChanged",
    "turnResume",
    "cleared",
];

/// The types of what clients of a version may say.
fn said_in(version: Version) -> Vec<&'static str> {
    let this = age(&name_of(version));
    let of_version = ACTION_TYPES
        .iter()
        .filter(|(_, since, until)| (age(since)..=age(until)).contains(&this));
    let by_clients = |kind: &&str| {
        let verb = kind.split_once('/').map_or("", |(_, verb)| verb);
        CLIENTS_SAY.contains(&verb) || FURTHER.contains(&verb)
    };
    of_version
        .map(|(kind, _, _)| *kind)
        .filter(by_clients)
        .collect()
}

/// A sound action of a type, and where it is said; some fit what is there and
/// some do not.
fn sound(version: Version, kind: &str) -> (String, Value) {
    let (family, verb) = kind.split_once('/').unwrap();
    let message = json!({"text": "Hi", "origin": {"kind": "user"}});
    let client = json!({"clientId": "old", "tools": []});
    let of_call = json!({"turnId": "t", "toolCallId": "c"});
    let mut action = match verb {
        "turnStarted" => json!({"turnId": "t", "message": message}),
        "turnCancelled" | "turnResume" => json!({"turnId": "none", "duration": 0}),
        "toolCallConfirmed" => json!({"approved": true}),
        "toolCallResultConfirmed" => json!({"approved": true}),
        "toolCallComplete" => json!({"result": {"success": true, "pastTenseMessage": "Did"}}),
        "toolCallContentChanged" => json!({"content": []}),
        "pendingMessageSet" => json!({"kind": "steering", "id": "s", "message": message}),
        "pendingMessageRemoved" => json!({"kind": "queued", "id": "none"}),
        "queuedMessagesReordered" => json!({"order": []}),
        "inputAnswerChanged" => json!({"requestId": "r", "questionId": "q"}),
        "inputCompleted" => json!({"requestId": "r", "response": "cancel"}),
        "truncated" => json!({}),
        "titleChanged" => json!({"title": "The same"}),
        "isReadChanged" => json!({"isRead": true}),
        "isArchivedChanged" => json!({"isArchived": false}),
        "configChanged" => json!({"config": {}}),
        "input" => json!({"data": "x"}),
        "resized" => json!({"cols": 80, "rows": 24}),
        "claimed" => json!({"claim": {"kind": "client", "clientId": "old"}}),
        "cleared" => json!({}),
        "modelChanged" => json!({"model": {"id": "m"}}),
        "agentChanged" => json!({}),
        "activeClientChanged" | "activeClientSet" => json!({"activeClient": client}),
        "activeClientToolsChanged" => json!({"tools": []}),
        "activeClientRemoved" => json!({"clientId": "old"}),
        "customizationToggled" => json!({"id": "x", "uri": "x", "enabled": true,
                                         "enablement": []}),
        "mcpServerStartRequested" | "mcpServerStopRequested" => json!({"id": "x"}),
        "defaultChatChanged" => json!({"defaultChat": chat()}),
        "draftChanged" => json!({"draft": message}),
        "filesReviewChanged" | "filesReviewedChanged" => json!({"files": [], "reviewed": true}),
        // Of annotations, and of automations.
        "entrySet" | "entryRemoved" | "removed" => {
            json!({"annotationId": "x", "resource": "ahp-automation:/x"})
        }
        _ => panic!("what does `{kind}` say?"),
    };
    if verb.starts_with("toolCall") {
        for (key, value) in of_call.as_object().unwrap() {
            action[key] = value.clone();
        }
    }
    action["type"] = kind.into();
    match family {
        "root" => (ROOT.to_owned(), action),
        "terminal" => {
            if !version.names_channels_in_envelopes() {
                action["terminal"] = TERMINAL.into();
            }
            (TERMINAL.to_owned(), action)
        }
        "chat" => (chat(), in_words_of(version, verb, action)),
        // In words of the chat, which the session has up to 0.3.
        "session" if action.get("message").is_some() => {
            (SESSION.to_owned(), in_words_of(version, verb, action))
        }
        "session" => (SESSION.to_owned(), of_session(version, action)),
        "annotations" => (format!("{SESSION}/annotations"), action),
        "automation" => ("ahp-automations://".to_owned(), action),
        _ => (SESSION.to_owned(), action),
    }
}

/// Connection 2 is of the version and follows a session and a terminal.
fn with_terminal(version: Version) -> Host {
    let mut host = with_onlooker(version);
    let create = json!({"channel": TERMINAL, "claim": {"kind": "client", "clientId": "a"}});
    let asked = json!({"jsonrpc": "2.0", "id": 9000, "method": "createTerminal",
                       "params": create});
    host.say(1, &asked.to_string());
    host.feed(Input::Terminal(TerminalReport {
        terminal: TerminalId(1),
        event: TerminalEvent::Opened {
            title: "T".to_owned(),
            directory: None,
        },
    }));
    let subject = match version.names_channels_in_envelopes() {
        true => "channel",
        false => "resource",
    };
    host.ok(2, "subscribe", json!({ subject: TERMINAL }));
    // Nobody holds the terminal who is here.
    host.leave(1);
    host.heard.clear();
    host
}

/// The answers to the last action that connection 2 has dispatched.
fn answers(host: &Host) -> Vec<Value> {
    let heard = host.heard.get(&2).into_iter().flatten();
    let envelopes = heard.filter(|frame| frame["method"] == "action");
    let own = envelopes
        .map(|frame| frame["params"].clone())
        .filter(|it| it.get("origin").is_some());
    own.collect()
}

/// Says an action, and returns the one answer to it.
fn answer(host: &mut Host, (channel, action): (&str, &Value), case: &str) -> Value {
    host.heard.clear();
    let seq = host.dispatch(2, channel, action.clone());
    let mut answers = answers(host);
    assert_eq!(answers.len(), 1, "{case}: {answers:?}");
    let answer = answers.remove(0);
    let origin = json!({"clientId": "old", "clientSeq": seq});
    assert_eq!(answer["origin"], origin, "{case}");
    answer
}

#[test]
fn every_sound_action_is_answered_once_also_when_it_changes_nothing() {
    for version in Version::ALL {
        for kind in said_in(version) {
            let mut host = with_terminal(version);
            let (channel, action) = sound(version, kind);
            for time in 1..=2 {
                let case = format!("{version}: {kind}, time {time}");
                answer(&mut host, (&channel, &action), &case);
            }
        }
    }
}

#[test]
fn a_client_is_answered_also_where_it_has_not_subscribed() {
    for version in Version::ALL {
        let mut host = Host::with_session(Limits::default());
        host.enter_as(version, 2, "old", &[]);
        let message = json!({"text": "Hi", "origin": {"kind": "user"}});
        let start = json!({"turnId": "t", "message": message});
        let start = in_words_of(version, "turnStarted", start);
        let case = format!("{version}: a turn");
        let echo = answer(&mut host, (&place(version), &start), &case);
        assert!(echo.get("rejectionReason").is_none(), "{case}: {echo}");
        host.in_turn("t", TurnEvent::Text("on".to_owned()));
        assert_eq!(answers(&host).len(), 1, "{case}");
    }
}

#[test]
fn every_sound_action_within_a_turn_is_answered_once() {
    for version in Version::ALL {
        for kind in said_in(version) {
            // Told when the turn has ended.
            let is_deferred = ["modelChanged", "agentChanged"];
            if is_deferred.iter().any(|verb| kind.ends_with(verb)) {
                continue;
            }
            let mut host = with_terminal(version);
            let message = json!({"text": "Hi", "origin": {"kind": "user"}});
            let start = json!({"turnId": "t", "message": message});
            let start = in_words_of(version, "turnStarted", start);
            answer(&mut host, (&place(version), &start), "a start");
            host.in_turn("t", TurnEvent::Text("on".to_owned()));
            let (channel, action) = sound(version, kind);
            for time in 1..=2 {
                let case = format!("{version}: {kind}, time {time}");
                answer(&mut host, (&channel, &action), &case);
            }
        }
    }
}

#[test]
fn an_action_on_a_channel_that_does_not_exist_is_rejected_or_met_with_silence_up_to_0_2() {
    for version in Version::ALL {
        for kind in said_in(version)
            .into_iter()
            .filter(|it| !it.starts_with("root/"))
        {
            let mut host = with_terminal(version);
            let (_, mut action) = sound(version, kind);
            for subject in ["session", "terminal"] {
                if action.get(subject).is_some() {
                    action[subject] = "x:none".into();
                }
            }
            host.dispatch(2, "x:none", action);
            let answers = answers(&host);
            if version.is_silent_about_unknown_channels() {
                assert_eq!(answers, [] as [Value; 0], "{version}: {kind}");
                continue;
            }
            assert_eq!(answers.len(), 1, "{version}: {kind}");
            let reason = answers[0]["rejectionReason"].as_str().unwrap();
            assert_eq!(reason, "`x:none` does not exist", "{version}: {kind}");
            assert_eq!(answers[0]["channel"], "x:none", "{version}: {kind}");
        }
    }
}

#[test]
fn a_rejection_calls_the_action_and_its_place_what_the_client_calls_them() {
    for version in Version::ALL {
        for kind in said_in(version) {
            let mut host = with_terminal(version);
            let (channel, _) = sound(version, kind);
            // Without its fields it is nothing that the host knows.
            let mut action = of_session(version, json!({"type": kind}));
            if kind.starts_with("terminal/") && !version.names_channels_in_envelopes() {
                action["terminal"] = TERMINAL.into();
            }
            let case = format!("{version}: {kind}");
            let answer = answer(&mut host, (&channel, &action), &case);
            assert_eq!(answer["action"]["type"], kind, "{case}");
            let Some(reason) = answer["rejectionReason"].as_str() else {
                continue;
            };
            assert_eq!(answer["action"], action, "{case}");
            let house = reason.contains("`chat/") || reason.contains("a chat");
            assert!(!house || version.has_chats(), "{case}: {reason}");
            if reason.contains("lacks a field") {
                assert!(reason.contains(&format!("`{kind}`")), "{case}: {reason}");
            }
        }
        let mut host = with_terminal(version);
        let delta = json!({"turnId": "t", "partId": "p", "content": "x"});
        let delta = in_words_of(version, "delta", delta);
        let answer = answer(&mut host, (&place(version), &delta), "a delta");
        let (word, place) = match version.has_chats() {
            true => ("chat/delta", "a chat"),
            false => ("session/delta", "a session"),
        };
        let expected = format!("`{word}` is not accepted from clients on {place}");
        assert_eq!(answer["rejectionReason"], *expected, "{version}");
    }
}

fn with_one_client() -> impl Iterator<Item = Version> {
    let all = Version::ALL.into_iter();
    all.filter(|version| !version.has_many_active_clients())
}

#[test]
fn a_client_that_is_not_active_can_neither_change_tools_nor_release() {
    for version in with_one_client() {
        for other_is_active in [false, true] {
            for action in [
                json!({"type": "session/activeClientToolsChanged", "tools": []}),
                json!({"type": "session/activeClientChanged", "activeClient": null}),
            ] {
                let mut host = with_onlooker(version);
                if other_is_active {
                    let client = json!({"clientId": "a", "tools": []});
                    let set = json!({"type": "session/activeClientSet", "activeClient": client});
                    host.dispatch(1, SESSION, set);
                }
                let before = host.state(SESSION)["activeClients"].take();
                let action = of_session(version, action);
                let case = format!("{version}: {action}");
                let answer = answer(&mut host, (SESSION, &action), &case);
                let reason = answer["rejectionReason"].as_str().unwrap_or_default();
                assert!(
                    reason.starts_with("client `old` is not active in this session; "),
                    "{case}: {reason}"
                );
                assert_eq!(answer["action"], action, "{case}");
                assert_eq!(host.state(SESSION)["activeClients"], before, "{case}");
            }
        }
    }
}

#[test]
fn a_release_says_null() {
    for version in with_one_client() {
        let mut host = with_onlooker(version);
        host.enter_as(version, 3, "other", &[SESSION]);
        let client = json!({"clientId": "old", "tools": []});
        let set = json!({"type": "session/activeClientChanged", "activeClient": client});
        let set = of_session(version, set);
        answer(&mut host, (SESSION, &set), "a client");
        let release = json!({"type": "session/activeClientChanged", "activeClient": null});
        let release = of_session(version, release);
        let answer = answer(&mut host, (SESSION, &release), "a release");
        assert_eq!(answer["action"], release, "{version}");
        assert_eq!(host.actions(3)[0].1, release, "{version}");
    }
}

/// Some clients say that they are active whenever they hear of an active
/// client: with two of them the echo must not go back and forth.
#[test]
fn a_client_that_is_active_already_is_answered_and_nobody_else_is_told() {
    for version in Version::ALL {
        let mut host = with_onlooker(version);
        let kind = match version.has_many_active_clients() {
            true => "session/activeClientSet",
            false => "session/activeClientChanged",
        };
        let client = json!({"clientId": "old", "tools": [{"name": "t"}]});
        let set = of_session(version, json!({"type": kind, "activeClient": client}));
        answer(&mut host, (SESSION, &set), "the first time");
        let again = answer(&mut host, (SESSION, &set), "the second time");
        assert!(again.get("rejectionReason").is_none(), "{version}: {again}");
        assert_eq!(
            again["action"]["activeClient"]["clientId"], "old",
            "{version}"
        );
        assert_eq!(host.actions(1), [], "{version}");
    }
}

/// Another client has joined that versions with one active client do not see.
#[test]
fn the_active_client_may_change_its_tools_while_another_is_active_too() {
    for version in with_one_client() {
        let mut host = with_onlooker(version);
        let client = json!({"clientId": "old", "tools": []});
        let set = json!({"type": "session/activeClientChanged", "activeClient": client});
        answer(&mut host, (SESSION, &of_session(version, set)), "a client");
        let client = json!({"clientId": "a", "tools": []});
        let set = json!({"type": "session/activeClientSet", "activeClient": client});
        host.dispatch(1, SESSION, set);
        let tools = json!({"type": "session/activeClientToolsChanged", "tools": [{"name": "t"}]});
        let tools = of_session(version, tools);
        let answer = answer(&mut host, (SESSION, &tools), "tools");
        assert!(
            answer.get("rejectionReason").is_none(),
            "{version}: {answer}"
        );
        assert_eq!(answer["action"]["tools"][0]["name"], "t", "{version}");
    }
}

/// What a sentence repeats may be as long as a URI, which is too long to read.
#[test]
fn a_reason_can_be_read_whatever_it_is_about() {
    let mut host = with_onlooker(Version::NEWEST);
    let huge = "ä".repeat(2_045);
    let toggled = json!({
        "type": "session/customizationToggled", "id": huge, "enablement": [],
    });
    host.dispatch(2, SESSION, toggled);
    let reason = host.rejection(2);
    assert!(
        reason.len() < 5000 && reason.ends_with('…'),
        "{}",
        reason.len()
    );
    let asked = json!({"channel": format!("x:{huge}")});
    let answer = host.ask(2, "subscribe", asked);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.len() < 5000, "{}", message.len());
}
