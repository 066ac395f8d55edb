//! Tool input that is too large for the state: versions that cannot refer to it
//! are shown as much of it as can be shown, everywhere the same.

use innkeeper_engine::Limits;
use innkeeper_judges::{Mirror, comparable, mirror, name_of};
use innkeeper_protocol::agent::{Approval, ApprovalRequest, ToolReady, ToolStart, TurnEvent};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::ToolCallResult;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, chat};
use crate::words::{in_words_of, place};

const INLINE: usize = 64 << 10;
const SHOWN: usize = 256 << 10;

/// A client of a version, which keeps its state with that version's reducers.
struct Follower {
    version: Version,
    connection: u64,
    mirror: Box<dyn Mirror>,
}

impl Follower {
    fn enter(host: &mut Host, version: Version, connection: u64) -> Self {
        let place = place(version);
        let client = format!("c{connection}");
        let welcome = host.enter_as(version, connection, &client, &[SESSION, &place]);
        let mut mirror = mirror(&name_of(version)).unwrap();
        for snapshot in welcome["snapshots"].as_array().unwrap() {
            let channel = snapshot["resource"].as_str().unwrap();
            mirror.load(channel, snapshot["state"].clone()).unwrap();
        }
        Self {
            version,
            connection,
            mirror,
        }
    }

    /// Takes in what it was told, and returns what it holds.
    fn state(&mut self, host: &mut Host) -> Value {
        for (channel, action) in host.actions(self.connection) {
            // In draft 1 there is only one channel that this can be about.
            let channel = match channel.is_empty() {
                true => SESSION.to_owned(),
                false => channel,
            };
            self.mirror.apply(&channel, action).unwrap();
        }
        host.heard.remove(&self.connection);
        let state = self.mirror.state(&place(self.version)).unwrap();
        comparable(&name_of(self.version), state)
    }

    /// What it holds is what a newcomer is given.
    fn check(&mut self, host: &mut Host) -> Value {
        let state = self.state(host);
        let mut newcomer = Self::enter(host, self.version, self.connection + 10);
        let fresh = newcomer.state(host);
        let needed = |it: &Self| {
            let session = it.mirror.state(SESSION).unwrap();
            session["inputNeeded"].clone()
        };
        assert_eq!(needed(self), needed(&newcomer), "{}", self.version);
        host.leave(newcomer.connection);
        assert_eq!(shown(&state), shown(&fresh), "{}", self.version);
        assert_eq!(state, fresh, "{}", self.version);
        state
    }
}

/// The first `toolInput` in a state or an action.
fn shown(it: &Value) -> Option<Value> {
    match it {
        Value::Object(fields) => match fields.get("toolInput") {
            Some(input) => Some(input.clone()),
            None => fields.values().find_map(shown),
        },
        Value::Array(items) => items.iter().find_map(shown),
        _ => None,
    }
}

fn input(size: usize) -> String {
    let text = format!("{{\"begin\": \"{}\", \"end\": 1}}", "ä".repeat(size / 2));
    // Of exactly this size, with characters of two bytes almost everywhere.
    let surplus = text.len() - size;
    let ends = text.len() - 12 - surplus.div_ceil(2) * 2;
    let filled = format!("{}{}", &text[..ends], &text[text.len() - 12..]);
    format!("{}{filled}", " ".repeat(size - filled.len()))
}

fn started(host: &mut Host) {
    host.start_turn(1, "t");
    let start = ToolStart {
        call: "c".into(),
        name: "write".to_owned(),
        display_name: "Write".to_owned(),
        intention: None,
        contributor: None,
        meta: None,
    };
    host.in_turn("t", TurnEvent::ToolStarted(start.into()));
}

fn ready(host: &mut Host, input: Option<String>, asks: bool) {
    let ready = ToolReady {
        call: "c".into(),
        input,
        message: StringOrMarkdown::Plain("Write".to_owned()),
        approval: match asks {
            true => Approval::Needed(ApprovalRequest::default()),
            false => Approval::NotNeeded,
        },
        meta: None,
    };
    host.in_turn("t", TurnEvent::ToolReady(ready.into()));
}

fn approve(host: &mut Host, follower: &Follower) {
    let version = follower.version;
    let approval = json!({
        "turnId": "t", "toolCallId": "c", "approved": true, "confirmed": "user-action",
    });
    let approval = in_words_of(version, "toolCallConfirmed", approval);
    host.dispatch(follower.connection, &place(version), approval);
    assert_eq!(host.rejection(follower.connection), "", "{version}");
}

fn finish(host: &mut Host) {
    let result = ToolCallResult {
        success: true,
        past_tense_message: StringOrMarkdown::Plain("Wrote".to_owned()),
        content: None,
        structured_content: None,
        error: None,
    };
    let finished = TurnEvent::ToolFinished {
        call: "c".into(),
        result: result.into(),
        confirm: false,
    };
    host.in_turn("t", finished);
    host.in_turn("t", TurnEvent::Completed);
}

fn older() -> impl Iterator<Item = Version> {
    let all = Version::ALL.into_iter();
    all.filter(|version| !version.refers_to_tool_input())
}

#[test]
fn whoever_approves_a_call_sees_its_input_from_the_request_to_the_transcript() {
    for version in older() {
        for size in [INLINE, INLINE + 1, SHOWN, SHOWN + 1, 3 * SHOWN] {
            let mut host = Host::with_session(Limits::default());
            let mut follower = Follower::enter(&mut host, version, 2);
            let input = input(size);
            assert_eq!(input.len(), size);
            started(&mut host);
            ready(&mut host, Some(input.clone()), true);
            let pending = follower.check(&mut host);
            let text = shown(&pending).unwrap();
            let text = text.as_str().unwrap();
            match size <= SHOWN {
                true => assert_eq!(text, input, "{version} {size}"),
                false => {
                    assert!(text.len() <= SHOWN, "{version} {size}: {}", text.len());
                    let (head, rest) = text.split_once('\n').unwrap();
                    let (note, tail) = rest.split_once('\n').unwrap();
                    assert!(input.starts_with(head) && input.ends_with(tail));
                    let left_out = size - head.len() - tail.len();
                    assert!(note.contains(&left_out.to_string()), "{note}");
                    let uri = note.split_whitespace().find(|it| it.contains(":/"));
                    let read = json!({"channel": ROOT, "uri": uri.unwrap()});
                    let whole = host.ok(1, "resourceRead", read);
                    assert_eq!(whole["data"], input, "{version} {size}");
                }
            }
            approve(&mut host, &follower);
            let running = follower.check(&mut host);
            assert_eq!(shown(&running).unwrap(), text, "{version} {size}");
            finish(&mut host);
            let complete = follower.check(&mut host);
            assert_eq!(shown(&complete["turns"]).unwrap(), text, "{version} {size}");
            host.restart(Limits::default());
            let mut newcomer = Follower::enter(&mut host, version, 3);
            let stored = newcomer.state(&mut host);
            assert_eq!(shown(&stored["turns"]).unwrap(), text, "{version} {size}");
        }
    }
}

#[test]
fn newer_versions_are_given_a_reference_and_nothing_more() {
    for version in Version::ALL {
        if !version.refers_to_tool_input() {
            continue;
        }
        let mut host = Host::with_session(Limits::default());
        let mut follower = Follower::enter(&mut host, version, 2);
        started(&mut host);
        ready(&mut host, Some(input(3 * SHOWN)), true);
        let told = host.heard.get(&2).into_iter().flatten();
        assert!(told.map(|it| it.to_string().len()).sum::<usize>() < INLINE);
        let state = follower.check(&mut host);
        assert!(state.to_string().len() < INLINE, "{version}");
        let reference = shown(&state).unwrap();
        assert_eq!(reference["sizeHint"], 3 * SHOWN, "{version}");
        assert_eq!(reference.get("text"), None, "{version}");
    }
}

#[test]
fn a_call_that_waits_over_a_restart_still_shows_its_input() {
    for version in older() {
        let mut host = Host::with_session(Limits::default());
        let mut follower = Follower::enter(&mut host, version, 2);
        started(&mut host);
        ready(&mut host, Some(input(2 * SHOWN)), true);
        let before = shown(&follower.check(&mut host));
        host.restart(Limits::default());
        let mut newcomer = Follower::enter(&mut host, version, 3);
        let after = newcomer.state(&mut host);
        assert_eq!(shown(&after["activeTurn"]), before, "{version}");
    }
}

#[test]
fn a_call_that_asks_once_more_shows_its_input_once_more() {
    for version in older() {
        let mut host = Host::with_session(Limits::default());
        let mut follower = Follower::enter(&mut host, version, 2);
        started(&mut host);
        ready(&mut host, Some(input(2 * SHOWN)), false);
        let first = shown(&follower.check(&mut host));
        ready(&mut host, None, true);
        let again = shown(&follower.check(&mut host));
        assert!(first.is_some_and(|it| it.is_string()), "{version}");
        assert_eq!(again, shown(&follower.state(&mut host)), "{version}");
        approve(&mut host, &follower);
        finish(&mut host);
        follower.check(&mut host);
    }
}

#[test]
fn earlier_turns_show_the_input_of_their_calls() {
    for version in older() {
        let mut host = Host::with_session(Limits::default());
        let mut follower = Follower::enter(&mut host, version, 2);
        started(&mut host);
        ready(&mut host, Some(input(2 * SHOWN)), false);
        let text = shown(&follower.check(&mut host));
        finish(&mut host);
        host.start_turn(1, "t2");
        host.in_turn("t2", TurnEvent::Completed);
        let about = match version {
            Version::Draft1 | Version::V0_1 => "session",
            _ => "channel",
        };
        if !version.tells_earlier_turns() {
            let page = host.ok(2, "fetchTurns", json!({about: place(version)}));
            assert_eq!(shown(&page), text, "{version}");
            continue;
        }
        host.enter_as(version, 3, "c", &[]);
        let last = json!({"channel": chat(), "view": {"turns": 1}});
        let view = host.ok(3, "subscribe", last);
        assert_eq!(shown(&view), None, "{version}");
        host.ok(3, "fetchTurns", json!({"channel": chat()}));
        let told = host.actions(3);
        let (_, loaded) = told.last().unwrap();
        assert_eq!(loaded["type"], "chat/turnsLoaded");
        assert_eq!(shown(loaded), text, "{version}");
    }
}

#[test]
fn a_copy_of_a_session_shows_the_input_of_its_calls() {
    for version in older() {
        let mut host = Host::with_session(Limits::default());
        started(&mut host);
        ready(&mut host, Some(input(2 * SHOWN)), false);
        finish(&mut host);
        let original = Follower::enter(&mut host, version, 2).state(&mut host);
        let fork = json!({"session": SESSION, "turnId": "t"});
        host.ok(
            1,
            "createSession",
            json!({"channel": "x:copy", "fork": fork}),
        );
        host.opened();
        for _ in 0..2 {
            let shared = match version <= Version::V0_3 {
                true => "x:copy".to_owned(),
                false => innkeeper_protocol::ChannelUri::default_chat_of("x:copy").to_string(),
            };
            let welcome = host.enter_as(version, 3, "c", &[&shared]);
            assert_eq!(shown(&welcome), shown(&original), "{version}");
            host.restart(Limits::default());
        }
    }
}

#[test]
fn input_that_is_shown_shortened_cannot_be_edited() {
    for version in older() {
        let mut host = Host::with_session(Limits::default());
        let follower = Follower::enter(&mut host, version, 2);
        started(&mut host);
        ready(&mut host, Some(input(2 * SHOWN)), true);
        let approval = json!({
            "turnId": "t", "toolCallId": "c", "approved": true, "confirmed": "user-action",
            "editedToolInput": "{}",
        });
        let approval = in_words_of(version, "toolCallConfirmed", approval);
        host.dispatch(follower.connection, &place(version), approval);
        let reason = host.rejection(2);
        assert!(reason.contains("cannot be edited"), "{version}: {reason}");
    }
}
