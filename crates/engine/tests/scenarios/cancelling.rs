//! A turn that a client cancels: whatever it waited for is over at once, and
//! nothing that its agent does afterwards brings it back.

use innkeeper_engine::Limits;
use innkeeper_protocol::agent::{Delegation, TurnEvent};
use serde_json::{Value, json};

use crate::editors::{asks, delegation, not_asked, started};
use crate::host::{Host, SESSION, chat, killed};

fn question(id: &str) -> TurnEvent {
    let request = json!({"id": id, "message": "Which?"});
    TurnEvent::Ask(Box::new(serde_json::from_value(request).unwrap()))
}

fn approval(call: &str) -> [TurnEvent; 2] {
    let options = json!([{"id": "yes", "label": "Yes", "kind": "approve", "group": 0}]);
    [started(call), asks(call, json!({}), options)]
}

/// A turn that waits for an answer and an approval, and its sub-agent as well.
fn waiting() -> (Host, String) {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.in_turn("t", started("task"));
    host.in_turn("t", not_asked("task"));
    let delegation = Delegation {
        title: "Look around".to_owned(),
        ..delegation("task", "below")
    };
    host.in_turn("t", TurnEvent::Delegated(Box::new(delegation)));
    let below = host.state(SESSION)["chats"][1]["resource"].clone();
    let below = below.as_str().unwrap().to_owned();
    for turn in ["t", "below"] {
        host.in_turn(turn, question("q"));
        for event in approval("c") {
            host.in_turn(turn, event);
        }
    }
    assert_eq!(waits_for(&mut host), 4);
    (host, below)
}

fn waits_for(host: &mut Host) -> usize {
    let session = host.state(SESSION);
    session["inputNeeded"].as_array().map_or(0, Vec::len)
}

fn is_open(part: &Value) -> bool {
    let call = part["toolCall"]["status"].as_str().unwrap_or("completed");
    let answered = part["kind"] != "inputRequest" || part["response"] == "cancel";
    !answered || !["completed", "cancelled"].contains(&call)
}

#[test]
fn nothing_waits_for_anybody_any_more_whatever_the_agent_does() {
    type Does = fn(&mut Host);
    let obeys: Does = |host| host.in_turn("t", TurnEvent::Cancelled);
    let completes: Does = |host| host.in_turn("t", TurnEvent::Completed);
    let dies: Does = |host| host.report(killed());
    let ignores: Does = |host| {
        for turn in ["t", "below"] {
            host.in_turn(turn, question("late"));
            host.in_turn(
                turn,
                TurnEvent::AskWithdrawn {
                    request: "q".to_owned(),
                },
            );
            for event in approval("late") {
                host.in_turn(turn, event);
            }
        }
    };
    for (what, does) in [
        ("it obeys", obeys),
        ("it ends as if nothing had happened", completes),
        ("it dies", dies),
        ("it goes on and asks for more", ignores),
    ] {
        let (mut host, below) = waiting();
        let cancel = json!({"type": "chat/turnCancelled", "turnId": "t", "duration": 0});
        host.dispatch(1, &chat(), cancel);
        assert_eq!(host.rejection(1), "");
        for does in [None, Some(does)] {
            if let Some(does) = does {
                does(&mut host);
            }
            assert_eq!(waits_for(&mut host), 0, "{what}");
            for chat in [chat(), below.clone()] {
                let state = host.state(&chat);
                assert_eq!(state["activeTurn"], Value::Null, "{what}");
                let turn = &state["turns"][0];
                assert_eq!(turn["state"], "cancelled", "{what}");
                let parts = turn["responseParts"].as_array().unwrap();
                let open: Vec<&Value> = parts.iter().filter(|part| is_open(part)).collect();
                assert!(open.is_empty(), "{what}: {open:?}");
            }
        }
        let status = host.state(SESSION)["status"].as_u64().unwrap();
        assert_eq!(status & 16, 0, "{what}: it needs nobody, {status}");
    }
}
