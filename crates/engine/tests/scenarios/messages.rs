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
fn annotations_that_are_attached_are_kept_and_passed_on_as_they_are() {
    let mut host = host();
    let attachments = json!([
        {"type": "annotations", "label": "Remarks", "resource": "ahp-session:/1/annotations",
         "annotationIds": ["a", "b"]},
    ]);
    start(&mut host, "t", &attachments);
    assert_eq!(given(&host), attachments);
    let state = host.state(&chat());
    assert_eq!(state["activeTurn"]["message"]["attachments"], attachments);
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
