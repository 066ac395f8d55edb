//! What becomes of queued messages when a turn does not complete.

use innkeeper_engine::{Limits, QueueAfterCancel};
use innkeeper_protocol::agent::{AgentCommand, AgentFailure, TurnEvent};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, chat};
use crate::words::{in_words_of, place};

fn queue(id: &str) -> Value {
    json!({
        "type": "chat/pendingMessageSet", "kind": "queued", "id": id,
        "message": {"text": format!("Say {id}"), "origin": {"kind": "user"}},
    })
}

fn cancel(turn: &str) -> Value {
    json!({"type": "chat/turnCancelled", "turnId": turn, "duration": 0})
}

/// A turn runs, and two messages wait behind it.
fn with_two_queued(mut host: Host) -> Host {
    host.start_turn(1, "t");
    for id in ["a", "b"] {
        host.dispatch(1, &chat(), queue(id));
    }
    host
}

fn waiting() -> Host {
    let mut host = with_two_queued(Host::with_session(Limits::default()));
    host.dispatch(1, &chat(), cancel("t"));
    host.in_turn("t", TurnEvent::Cancelled);
    host
}

fn queued(host: &mut Host) -> Vec<String> {
    let state = host.state(&chat());
    let queued = state["queuedMessages"].as_array().cloned();
    let ids = queued.into_iter().flatten();
    ids.map(|it| it["id"].as_str().unwrap().to_owned())
        .collect()
}

fn running(host: &mut Host) -> Option<String> {
    let state = host.state(&chat());
    let text = state["activeTurn"]["message"]["text"].as_str();
    text.map(str::to_owned)
}

#[test]
fn after_a_cancelled_turn_the_queue_waits() {
    let mut host = with_two_queued(Host::with_session(Limits::default()));
    host.dispatch(1, &chat(), cancel("t"));
    assert_eq!((running(&mut host), queued(&mut host).len()), (None, 2));
    // The agent says so later, and that starts nothing either.
    host.in_turn("t", TurnEvent::Cancelled);
    assert_eq!((running(&mut host), queued(&mut host).len()), (None, 2));
}

#[test]
fn the_same_holds_whatever_version_cancels() {
    for version in Version::ALL {
        let mut host = with_two_queued(Host::with_session(Limits::default()));
        host.enter_as(version, 2, "other", &[]);
        let cancelled = in_words_of(version, "turnCancelled", cancel("t"));
        host.dispatch(2, &place(version), cancelled);
        assert_eq!(running(&mut host), None, "{version}");
        assert_eq!(queued(&mut host), ["a", "b"], "{version}");
    }
}

#[test]
fn an_agent_that_ends_a_turn_as_cancelled_leaves_the_queue_waiting() {
    let mut host = with_two_queued(Host::with_session(Limits::default()));
    host.in_turn("t", TurnEvent::Cancelled);
    assert_eq!((running(&mut host), queued(&mut host).len()), (None, 2));
}

#[test]
fn a_host_can_be_configured_to_go_on_after_a_cancelled_turn() {
    let mut host = with_two_queued(Host::with_queue(QueueAfterCancel::Continue));
    host.dispatch(1, &chat(), cancel("t"));
    assert_eq!(running(&mut host).as_deref(), Some("Say a"));
    assert_eq!(queued(&mut host), ["b"]);
}

#[test]
fn after_a_failed_turn_the_queue_waits_however_the_host_is_configured() {
    for setting in [QueueAfterCancel::Wait, QueueAfterCancel::Continue] {
        let mut host = with_two_queued(Host::with_queue(setting));
        let failure = AgentFailure::TurnFailed { said: None };
        let event = TurnEvent::Failed {
            failure,
            resumable: false,
        };
        host.in_turn("t", event);
        assert_eq!((running(&mut host), queued(&mut host).len()), (None, 2));
    }
}

fn reorder(order: &[&str]) -> Value {
    json!({"type": "chat/queuedMessagesReordered", "order": order})
}

#[test]
fn a_queue_that_waits_goes_on_when_somebody_sets_a_message_or_confirms_the_order() {
    for (touch, left) in [
        (reorder(&["a", "b"]), vec!["b"]),
        (reorder(&["a"]), vec!["b"]),
        (queue("b"), vec!["b"]),
        (queue("c"), vec!["b", "c"]),
    ] {
        let mut host = waiting();
        host.dispatch(1, &chat(), touch.clone());
        assert_eq!(running(&mut host).as_deref(), Some("Say a"), "{touch}");
        assert_eq!(queued(&mut host), left);
    }
}

#[test]
fn a_queue_that_waits_goes_on_after_the_next_turn_that_completes() {
    let mut host = waiting();
    host.start_turn(1, "u");
    assert_eq!(queued(&mut host), ["a", "b"]);
    host.in_turn("u", TurnEvent::Completed);
    assert_eq!(running(&mut host).as_deref(), Some("Say a"));
}

#[test]
fn changing_the_order_of_a_queue_that_waits_starts_nothing() {
    let mut host = waiting();
    host.dispatch(1, &chat(), reorder(&["b", "a"]));
    assert_eq!(running(&mut host), None);
    assert_eq!(queued(&mut host), ["b", "a"]);
    // Confirmed, it goes on in its new order; said twice, it starts one turn.
    host.dispatch(1, &chat(), reorder(&["b", "a"]));
    host.dispatch(1, &chat(), reorder(&["b", "a"]));
    assert_eq!(running(&mut host).as_deref(), Some("Say b"));
    assert_eq!(queued(&mut host), ["a"]);
}

/// Whoever cancels may want to clear the queue, one message after the other.
#[test]
fn removing_a_message_from_a_queue_that_waits_starts_nothing() {
    let mut host = waiting();
    for id in ["a", "b"] {
        let removed = json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": id});
        host.dispatch(1, &chat(), removed);
        assert_eq!(running(&mut host), None);
    }
    assert!(queued(&mut host).is_empty());
}

#[test]
fn a_steering_message_does_not_wake_a_queue_that_waits() {
    let mut host = waiting();
    let mut steer = queue("s");
    steer["kind"] = "steering".into();
    host.dispatch(1, &chat(), steer);
    assert_eq!(running(&mut host), None);
    assert_eq!(queued(&mut host), ["a", "b"]);
}

#[test]
fn a_queue_waits_over_a_restart() {
    let mut host = waiting();
    host.restart(Limits::default());
    host.enter(1, "a", &[&chat()]);
    assert_eq!((running(&mut host), queued(&mut host).len()), (None, 2));
    host.start_turn(1, "u");
    host.opened();
    let mut prompts = host.commands.iter().filter_map(|command| match command {
        AgentCommand::Prompt(prompt) => Some(prompt.message.text.as_str()),
        _ => None,
    });
    assert_eq!(prompts.next_back(), Some("Do u"));
    assert_eq!(queued(&mut host), ["a", "b"]);
}

#[test]
fn a_queue_is_bounded_in_bytes_too() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    let large = |id: &str| {
        let mut message = queue(id);
        message["message"]["text"] = "x".repeat(7 * 1024 * 1024).into();
        message
    };
    for id in ["a", "b", "c"] {
        host.dispatch(1, &chat(), large(id));
    }
    let refused = host.heard[&1].last().unwrap();
    let reason = refused["params"]["rejectionReason"].as_str().unwrap();
    assert!(reason.contains("at most 16777216 bytes"), "{reason}");
    assert_eq!(queued(&mut host), ["a", "b"]);
    // One that is there can be changed.
    host.dispatch(1, &chat(), large("b"));
    host.dispatch(1, &chat(), queue("d"));
    assert_eq!(queued(&mut host), ["a", "b", "d"]);
    // One that goes makes room, and so does one that runs.
    let removed = json!({"type": "chat/pendingMessageRemoved", "kind": "queued", "id": "b"});
    host.dispatch(1, &chat(), removed);
    host.dispatch(1, &chat(), large("e"));
    assert_eq!(queued(&mut host), ["a", "d", "e"]);
    host.in_turn("t", TurnEvent::Completed);
    host.dispatch(1, &chat(), large("f"));
    assert_eq!(queued(&mut host), ["d", "e", "f"]);
}
