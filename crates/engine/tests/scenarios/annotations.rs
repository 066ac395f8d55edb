//! What is written about files: who may write what, who is told, what stays.

use innkeeper_engine::Limits;
use innkeeper_judges::{mirror, name_of};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, chat};

pub(crate) const CHANNEL: &str = "ahp-session:/1/annotations";
pub(crate) const FILE: &str = "file:///project/src/main.rs";

/// A session, and connection 1 that follows its annotations.
pub(crate) fn host() -> Host {
    let mut host = Host::with_session(Limits::default());
    host.ok(1, "subscribe", json!({"channel": CHANNEL}));
    host
}

pub(crate) fn lines(first: i64, last: i64) -> Value {
    json!({"start": {"line": first, "character": 0}, "end": {"line": last, "character": 1}})
}

pub(crate) fn annotation(id: &str) -> Value {
    json!({
        "id": id, "origin": {"session": SESSION}, "resource": FILE, "resolved": false,
        "entries": [{"id": "e1", "text": "Why?"}],
    })
}

pub(crate) fn in_lines(id: &str, first: i64, last: i64) -> Value {
    let mut annotation = annotation(id);
    annotation["range"] = lines(first, last);
    annotation
}

/// Returns the rejection, which is empty if it was accepted.
pub(crate) fn say(host: &mut Host, action: Value) -> String {
    host.dispatch(1, CHANNEL, action);
    host.rejection(1)
}

pub(crate) fn set(host: &mut Host, annotation: Value) -> String {
    say(
        host,
        json!({"type": "annotations/set", "annotation": annotation}),
    )
}

fn answer(host: &mut Host, entry: &str, text: Value) -> String {
    let entry = json!({"id": entry, "text": text});
    let action = json!({"type": "annotations/entrySet", "annotationId": "a", "entry": entry});
    say(host, action)
}

pub(crate) fn annotations(host: &mut Host) -> Value {
    host.state(CHANNEL)["annotations"].clone()
}

#[test]
fn every_session_has_annotations_that_can_be_followed() {
    let mut host = host();
    assert_eq!(host.state(CHANNEL), json!({"annotations": []}));
    let unknown = json!({"channel": "ahp-session:/none/annotations"});
    host.refused(1, "subscribe", unknown);
}

#[test]
fn all_five_actions_are_accepted_and_told() {
    let mut host = host();
    host.news(1);
    assert_eq!(set(&mut host, annotation("a")), "");
    assert_eq!(answer(&mut host, "e2", json!({"markdown": "*So.*"})), "");
    let resolve = json!({"type": "annotations/updated", "annotationId": "a", "resolved": true});
    assert_eq!(say(&mut host, resolve), "");
    let forget = json!({"type": "annotations/entryRemoved", "annotationId": "a", "entryId": "e1"});
    assert_eq!(say(&mut host, forget), "");
    let mut left = annotation("a");
    left["resolved"] = true.into();
    left["entries"] = json!([{"id": "e2", "text": {"markdown": "*So.*"}}]);
    assert_eq!(annotations(&mut host), json!([left]));
    let remove = json!({"type": "annotations/removed", "annotationId": "a"});
    assert_eq!(say(&mut host, remove), "");
    assert_eq!(annotations(&mut host), json!([]));
    let told = host.news(1);
    let told: Vec<&String> = told
        .iter()
        .filter(|it| it.starts_with("annotations/"))
        .collect();
    let all = ["set", "entrySet", "updated", "entryRemoved", "removed"];
    assert_eq!(
        told,
        all.map(|verb| format!("annotations/{verb}"))
            .iter()
            .collect::<Vec<_>>()
    );
}

#[test]
fn without_its_last_entry_an_annotation_is_removed() {
    let mut host = host();
    set(&mut host, annotation("a"));
    let action = json!({"type": "annotations/entryRemoved", "annotationId": "a", "entryId": "e1"});
    assert_eq!(say(&mut host, action), "");
    let (kind, _) = last_action(&host);
    assert_eq!(kind, "annotations/removed");
    assert_eq!(annotations(&mut host), json!([]));
}

pub(crate) fn last_action(host: &Host) -> (String, Value) {
    let actions = host.actions(1);
    let mut all = actions.into_iter().map(|(_, action)| action);
    let last = all.rfind(|action| action["type"].as_str().unwrap().starts_with("annotations/"));
    let last = last.unwrap();
    (last["type"].as_str().unwrap().to_owned(), last)
}

#[test]
fn what_is_about_an_annotation_that_is_not_there_changes_nothing_and_is_answered() {
    let mut host = host();
    for (verb, fields) in [
        ("updated", json!({"resolved": true})),
        ("removed", json!({})),
        ("entrySet", json!({"entry": {"id": "e", "text": "x"}})),
        ("entryRemoved", json!({"entryId": "e"})),
    ] {
        let mut action = fields;
        action["type"] = format!("annotations/{verb}").into();
        action["annotationId"] = "none".into();
        assert_eq!(say(&mut host, action.clone()), "", "{verb}");
        assert_eq!(last_action(&host).1, action);
        assert_eq!(annotations(&mut host), json!([]), "{verb}");
    }
}

#[test]
fn what_the_protocol_forbids_is_refused_with_a_reason() {
    let changed = |key: &str, value: Value| {
        let mut annotation = annotation("new");
        annotation[key] = value;
        annotation
    };
    let entry = |id: &str, text: &str| json!({"id": id, "text": text});
    for (annotation, reason) in [
        (changed("id", json!("")), "needs an id"),
        (changed("entries", json!([])), "at least one entry"),
        (
            changed("entries", json!([entry("", "x")])),
            "an entry needs an id",
        ),
        (changed("entries", json!([entry("e", " ")])), "needs a text"),
        (
            changed("entries", json!([entry("e", "x"), entry("e", "y")])),
            "two entries have the id `e`",
        ),
        (
            changed("resolved", json!(true)),
            "a new annotation is unresolved",
        ),
        (
            changed("origin", json!({"session": "x:other"})),
            "belong to `ahp-session:/1`",
        ),
        (changed("resource", json!("main.rs")), "the URI of a file"),
        (
            changed("range", lines(3, 1)),
            "does not end before it begins",
        ),
        (
            changed("range", lines(-1, 1)),
            "does not end before it begins",
        ),
    ] {
        let mut host = host();
        let rejection = set(&mut host, annotation);
        assert!(rejection.contains(reason), "{rejection}");
        assert_eq!(annotations(&mut host), json!([]));
    }
}

#[test]
fn there_is_an_end_to_annotations_entries_and_texts() {
    let mut host = host();
    let text = "x".repeat(64 * 1024);
    let mut large = annotation("a");
    large["entries"][0]["text"] = json!(text);
    assert_eq!(set(&mut host, large), "");
    let rejection = answer(&mut host, "e2", json!(format!("{text}x")));
    assert!(
        rejection.contains("has at most 65536; divide it"),
        "{rejection}"
    );
    for number in 2..=200 {
        assert_eq!(answer(&mut host, &format!("e{number}"), json!("x")), "");
    }
    let rejection = answer(&mut host, "e201", json!("x"));
    assert!(
        rejection.contains("at most 200 entries; delete"),
        "{rejection}"
    );
    assert_eq!(answer(&mut host, "e200", json!("changed")), "");
    for number in 2..=1_000 {
        assert_eq!(set(&mut host, annotation(&number.to_string())), "");
    }
    let rejection = set(&mut host, annotation("1001"));
    assert!(
        rejection.contains("at most 1000 annotations; delete"),
        "{rejection}"
    );
    assert_eq!(set(&mut host, annotation("1000")), "");
}

#[test]
fn all_annotations_of_a_session_are_bounded_together() {
    let mut host = host();
    let text = "x".repeat(60 * 1024);
    let mut large = annotation("a");
    let entries = (0..64).map(|number| json!({"id": number.to_string(), "text": text}));
    large["entries"] = entries.collect();
    assert_eq!(set(&mut host, large.clone()), "");
    large["id"] = "b".into();
    assert_eq!(set(&mut host, large.clone()), "");
    large["id"] = "c".into();
    let rejection = set(&mut host, large);
    assert!(rejection.contains("8388608 bytes together"), "{rejection}");
}

#[test]
fn the_summary_of_a_session_counts_its_annotations() {
    let mut host = host();
    let counts = |host: &mut Host| {
        let listed = host.ok(1, "listSessions", json!({"channel": ROOT}));
        listed["items"][0]["annotations"].clone()
    };
    assert_eq!(counts(&mut host), Value::Null);
    set(&mut host, annotation("a"));
    set(&mut host, annotation("b"));
    answer(&mut host, "e2", json!("x"));
    let two = json!({"resource": CHANNEL, "annotationCount": 2, "entryCount": 3});
    assert_eq!(counts(&mut host), two);
    for id in ["a", "b"] {
        say(
            &mut host,
            json!({"type": "annotations/removed", "annotationId": id}),
        );
    }
    let none = json!({"resource": CHANNEL, "annotationCount": 0, "entryCount": 0});
    assert_eq!(counts(&mut host), none);
}

#[test]
fn annotations_are_there_again_after_the_host_was_killed() {
    let mut host = host();
    for id in ["b", "a", "c"] {
        set(&mut host, annotation(id));
    }
    answer(&mut host, "e2", json!("x"));
    say(
        &mut host,
        json!({"type": "annotations/removed", "annotationId": "b"}),
    );
    let before = annotations(&mut host);
    host.restart(Limits::default());
    assert_eq!(annotations(&mut host), before);
    assert_eq!(before.as_array().unwrap().len(), 2);
}

#[test]
fn annotations_go_with_their_session() {
    let mut host = host();
    set(&mut host, annotation("a"));
    host.ok(1, "disposeSession", json!({"channel": SESSION}));
    host.refused(1, "subscribe", json!({"channel": CHANNEL}));
    host.ok(1, "createSession", json!({"channel": SESSION}));
    assert_eq!(annotations(&mut host), json!([]));
}

#[test]
fn no_session_and_no_chat_can_have_the_name_of_annotations() {
    let mut host = host();
    host.refused(1, "createSession", json!({"channel": "x:new/annotations"}));
    let chat = json!({"channel": SESSION, "chat": "x:new/annotations"});
    host.refused(1, "createChat", chat);
}

#[test]
fn a_session_with_an_annotation_does_not_go_by_itself() {
    let limits = Limits::default();
    let (forgotten, idle) = (limits.empty_session * 3, limits.idle_session * 2);
    for written in [false, true] {
        let mut host = host();
        if written {
            set(&mut host, annotation("a"));
        }
        host.leave(1);
        host.wait(idle);
        host.wait(forgotten);
        host.wait(forgotten);
        assert_eq!(host.engine.stored_sessions() == 1, written);
    }
}

#[test]
fn clients_of_every_version_with_annotations_hold_what_the_host_holds() {
    for version in Version::ALL {
        let mut host = host();
        set(&mut host, in_lines("a", 1, 2));
        host.enter_as(version, 2, "older", &[]);
        let subscribe = json!({"channel": CHANNEL, "resource": CHANNEL});
        if !version.has_annotations() {
            host.refused(2, "subscribe", subscribe);
            continue;
        }
        let snapshot = host.ok(2, "subscribe", subscribe.clone())["snapshot"].clone();
        let mut mirror = mirror(&name_of(version)).unwrap();
        mirror.load(CHANNEL, snapshot["state"].clone()).unwrap();
        set(&mut host, annotation("b"));
        answer(&mut host, "e2", json!("So."));
        say(
            &mut host,
            json!({"type": "annotations/updated", "annotationId": "b",
            "origin": {"session": SESSION, "chat": chat(), "turnId": "t"}, "resolved": true}),
        );
        say(
            &mut host,
            json!({"type": "annotations/entryRemoved", "annotationId": "a",
            "entryId": "e1"}),
        );
        for (channel, action) in host.actions(2) {
            if channel == CHANNEL {
                mirror.apply(CHANNEL, action).unwrap();
            }
        }
        host.enter_as(version, 3, "new", &[]);
        let fresh = host.ok(3, "subscribe", subscribe)["snapshot"].clone();
        let fresh = mirror.read(fresh["state"].clone()).unwrap();
        assert_eq!(mirror.state(CHANNEL).unwrap(), fresh, "{version}");
        assert_eq!(
            fresh["annotations"].as_array().unwrap().len(),
            2,
            "{version}"
        );
    }
}
