//! What users attach to their messages.

use innkeeper_engine::Limits;
use innkeeper_protocol::agent::{AgentCommand, Prompt, TurnEvent};
use serde_json::{Value, json};

use crate::host::{Host, SESSION, chat};

/// A host that keeps everything above a few bytes beside the state.
fn host() -> Host {
    Host::with_session(Limits {
        inline_bytes: 8,
        ..Limits::default()
    })
}

fn start(host: &mut Host, turn: &str, attachments: &Value) {
    let message = json!({"text": "Look", "origin": {"kind": "user"}, "attachments": attachments});
    let action = json!({"type": "chat/turnStarted", "turnId": turn, "message": message});
    host.dispatch(1, &chat(), action);
}

fn last_prompt(host: &Host) -> &Prompt {
    let mut commands = host.commands.iter().rev();
    let prompt = commands.find_map(|command| match command {
        AgentCommand::Prompt(prompt) => Some(prompt),
        _ => None,
    });
    prompt.unwrap()
}

/// The attachments that the agent was last given.
fn given(host: &Host) -> Value {
    serde_json::to_value(&last_prompt(host).message.attachments).unwrap()
}

#[test]
fn a_large_attachment_leaves_the_state_and_reaches_the_agent() {
    let mut host = host();
    let attachments = json!([
        {"type": "embeddedResource", "label": "large.png", "data": "AAECAwQFBgcICQ==",
         "contentType": "image/png", "displayKind": "image", "_meta": {"k": 1}},
        {"type": "embeddedResource", "label": "small", "data": "AAEC",
         "contentType": "image/png"},
    ]);
    start(&mut host, "t", &attachments);
    assert_eq!(given(&host), attachments);
    let state = host.state(&chat());
    let kept = &state["activeTurn"]["message"]["attachments"];
    let uri = &kept[0]["uri"];
    assert_eq!(
        kept[0],
        json!({"type": "resource", "label": "large.png", "uri": uri, "sizeHint": 10,
               "contentType": "image/png", "displayKind": "image", "_meta": {"k": 1}})
    );
    assert_eq!(kept[1], attachments[1]);
    let read = host.ok(
        1,
        "resourceRead",
        json!({"channel": SESSION, "uri": uri, "encoding": "base64"}),
    );
    assert_eq!(read["data"], attachments[0]["data"]);
}

#[test]
fn a_queued_message_keeps_its_attachments_over_a_restart() {
    let mut host = host();
    let attachments = json!([
        {"type": "embeddedResource", "label": "large", "data": "AAECAwQFBgcICQ==",
         "contentType": "image/png"},
    ]);
    host.start_turn(1, "t");
    let message = json!({"text": "Then", "origin": {"kind": "user"}, "attachments": attachments});
    let queued = json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": "q",
                        "message": message});
    host.dispatch(1, &chat(), queued);
    host.restart(Limits {
        inline_bytes: 8,
        ..Limits::default()
    });
    host.enter(1, "a", &[SESSION, &chat()]);
    let reordered = json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": "q2",
                           "message": {"text": "Last", "origin": {"kind": "user"}}});
    host.dispatch(1, &chat(), reordered);
    host.opened();
    assert_eq!(given(&host), attachments);
}

#[test]
fn a_steering_message_reaches_the_agent_with_its_large_attachment() {
    let mut host = host();
    let attachments = json!([
        {"type": "embeddedResource", "label": "large", "data": "AAECAwQFBgcICQ==",
         "contentType": "image/png"},
    ]);
    host.start_turn(1, "t");
    let message = json!({"text": "Left", "origin": {"kind": "user"}, "attachments": attachments});
    let steering = json!({"type": "chat/pendingMessageSet", "kind": "steering", "id": "s",
                          "message": message});
    host.dispatch(1, &chat(), steering);
    let Some(AgentCommand::Steer { message, .. }) = host.commands.last() else {
        panic!("the agent is steered: {:?}", host.commands.last());
    };
    let given = &message.as_ref().unwrap().message.attachments;
    assert_eq!(serde_json::to_value(given).unwrap(), attachments);
    let state = host.state(&chat());
    let kept = &state["steeringMessage"]["message"]["attachments"][0];
    assert_eq!(kept["type"], "resource");
}

/// What a client writes for the session, below the place for that.
fn upload(host: &mut Host, name: &str, more: &Value) -> Value {
    let mut params = json!({"channel": SESSION, "encoding": "utf-8", "data": "brought along",
                            "uri": format!("innkeeper-content:/uploads/{name}")});
    for (key, value) in more.as_object().unwrap() {
        params[key] = value.clone();
    }
    host.ask(1, "resourceWrite", params)
}

fn reference(name: &str) -> Value {
    json!({"type": "resource", "label": name, "uri": format!("innkeeper-content:/uploads/{name}")})
}

#[test]
fn what_a_client_brought_reaches_the_agent_with_the_message_that_refers_to_it() {
    for (data, encoding) in [("pixels", "utf-8"), ("cGl4ZWxz", "base64")] {
        let mut host = host();
        let more = json!({"data": data, "encoding": encoding, "contentType": "image/png"});
        let answer = upload(&mut host, "a/dot.png", &more);
        assert_eq!(answer["result"], json!({}), "{answer}");
        start(&mut host, "t", &json!([reference("a/dot.png")]));
        assert_eq!(
            given(&host),
            json!([{"type": "embeddedResource", "label": "a/dot.png", "data": "cGl4ZWxz",
                    "contentType": "image/png"}])
        );
        let state = host.state(&chat());
        let kept = &state["activeTurn"]["message"]["attachments"][0];
        assert_eq!(*kept, reference("a/dot.png"), "the state has no data");
    }
}

#[test]
fn what_was_brought_stays_what_it_is() {
    let mut host = host();
    upload(&mut host, "a", &json!({}));
    let again = upload(&mut host, "a", &json!({"data": "something else"}));
    assert_eq!(again["error"]["code"], -32010, "{again}");
    start(&mut host, "t", &json!([reference("a")]));
    assert_eq!(given(&host)[0]["data"], "YnJvdWdodCBhbG9uZw==");
}

#[test]
fn what_was_brought_is_there_after_a_restart() {
    let mut host = host();
    upload(&mut host, "a", &json!({}));
    host.restart(Limits::default());
    host.enter(1, "a", &[SESSION, &chat()]);
    let params = json!({"channel": SESSION, "uri": reference("a")["uri"]});
    assert_eq!(host.ok(1, "resourceRead", params)["data"], "brought along");
}

#[test]
fn what_cannot_be_brought_is_refused() {
    let small = Limits {
        resource_bytes: 20,
        ..Limits::default()
    };
    let mut host = Host::with_session(small);
    for (more, says) in [
        (
            json!({"uri": "innkeeper-content:/1"}),
            "choose a name below",
        ),
        (
            json!({"uri": "innkeeper-content:/uploads/"}),
            "choose a name",
        ),
        (
            json!({"uri": "innkeeper-content:/uploadsx"}),
            "choose a name",
        ),
        (json!({"channel": "ahp-root://"}), "is not a session"),
        (json!({"channel": "ahp-session:/none"}), "is not a session"),
        (json!({"mode": "append"}), "is written at once"),
        (json!({"position": 1}), "is written at once"),
        (json!({"ifMatch": "x"}), "is written at once"),
        (
            json!({"data": "a".repeat(21)}),
            "raise limits.resource_bytes",
        ),
        (json!({"data": "%", "encoding": "base64"}), "is not base64"),
    ] {
        let answer = upload(&mut host, "a", &more);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(answer["error"]["code"], -32602, "{more}: {answer}");
        assert!(message.contains(says), "{more}: {message}");
    }
    let answer = upload(&mut host, "a", &json!({}));
    assert_eq!(answer["result"], json!({}), "the name is still free");
}

#[test]
fn an_agent_gets_only_so_much_of_what_is_attached_and_the_user_is_told() {
    let mut host = Host::with_session(Limits::default());
    let data = "a".repeat(8 * 1024 * 1024);
    for name in ["a", "b"] {
        upload(&mut host, name, &json!({"data": data}));
    }
    let names = ["a", "b", "a", "b", "a", "a"];
    start(&mut host, "t", &names.map(reference).into());
    let given = given(&host);
    let kinds = given.as_array().unwrap().iter().map(|it| &it["type"]);
    let embedded = kinds.filter(|kind| *kind == "embeddedResource").count();
    assert_eq!(embedded, 4, "32 MiB");
    let notice = &host.state(&chat())["activeTurn"]["responseParts"][0];
    let said = notice["content"].as_str().unwrap();
    assert!(said.contains("not given 2 of the attachments"), "{notice}");
}

#[test]
fn a_message_with_very_many_references_costs_a_bounded_number_of_reads() {
    let mut host = host();
    let many: Vec<Value> = (0..5_000).map(|n| reference(&n.to_string())).collect();
    start(&mut host, "t", &many.into());
    assert_eq!(given(&host).as_array().unwrap().len(), 5_000);
    assert_eq!(host.contents_read, 100);
}

#[test]
fn a_chat_that_is_attached_is_fixed_at_its_latest_turn() {
    let mut host = host();
    host.whole_turns(2);
    let attachments = json!([{"type": "chat", "label": "This chat", "resource": chat()}]);
    start(&mut host, "t", &attachments);
    let mut pinned = attachments;
    pinned[0]["endTurn"] = "t2".into();
    assert_eq!(given(&host), pinned);
    host.in_turn("t", TurnEvent::Completed);
    let state = host.state(&chat());
    assert_eq!(state["turns"][2]["message"]["attachments"], pinned);
}

#[test]
fn the_agent_is_told_what_was_said_in_an_attached_chat_up_to_the_turn_that_is_meant() {
    let mut host = host();
    host.whole_turns(3);
    let other = "ahp-session:/other";
    host.ok(1, "createSession", json!({"channel": other}));
    host.opened();
    let chat_of_other = innkeeper_protocol::ChannelUri::default_chat_of(other).to_string();
    let turns = host.state(&chat())["turns"].clone();
    let second = turns[1]["id"].as_str().unwrap();
    let mut told = |turn: &str, end_turn: Option<&str>| {
        let mut attached = json!({"type": "chat", "label": "Before", "resource": chat()});
        if let Some(end_turn) = end_turn {
            attached["endTurn"] = json!(end_turn);
        }
        let message =
            json!({"text": "Look", "origin": {"kind": "user"}, "attachments": [attached]});
        let action = json!({"type": "chat/turnStarted", "turnId": turn, "message": message});
        host.dispatch(1, &chat_of_other, action);
        let rejection = host.rejection(1);
        let chats = &last_prompt(&host).chats;
        let count = chats.first().map_or(0, |chat| chat.turns.len());
        (rejection, count)
    };
    let (rejection, _) = told("t1", Some("none"));
    assert!(
        rejection.ends_with("has no finished turn `none`"),
        "{rejection}"
    );
    assert_eq!(told("t1", Some(second)).1, 2);
}
