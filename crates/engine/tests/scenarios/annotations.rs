//! What is written about files: who may write what, who is told, what stays.

use innkeeper_engine::Limits;
use innkeeper_judges::{mirror, name_of};
use innkeeper_protocol::agent::{
    AgentCommand, Approval, Decision, ToolReady, ToolStart, TurnEvent,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{ToolCallClientContributor, ToolCallContributor};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, chat};

const CHANNEL: &str = "ahp-session:/1/annotations";
const FILE: &str = "file:///project/src/main.rs";

/// A session, and connection 1 that follows its annotations.
fn host() -> Host {
    let mut host = Host::with_session(Limits::default());
    host.ok(1, "subscribe", json!({"channel": CHANNEL}));
    host
}

fn lines(first: i64, last: i64) -> Value {
    json!({"start": {"line": first, "character": 0}, "end": {"line": last, "character": 1}})
}

fn annotation(id: &str) -> Value {
    json!({
        "id": id, "origin": {"session": SESSION}, "resource": FILE, "resolved": false,
        "entries": [{"id": "e1", "text": "Why?"}],
    })
}

fn in_lines(id: &str, first: i64, last: i64) -> Value {
    let mut annotation = annotation(id);
    annotation["range"] = lines(first, last);
    annotation
}

/// Returns the rejection, which is empty if it was accepted.
fn say(host: &mut Host, action: Value) -> String {
    host.dispatch(1, CHANNEL, action);
    host.rejection(1)
}

fn set(host: &mut Host, annotation: Value) -> String {
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

fn annotations(host: &mut Host) -> Value {
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

fn last_action(host: &Host) -> (String, Value) {
    let actions = host.actions(1);
    let of_annotations = actions.into_iter().map(|(_, action)| action);
    let last = of_annotations
        .filter(|action| action["type"].as_str().unwrap().starts_with("annotations/"))
        .next_back()
        .unwrap();
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

// Agents

/// What an agent was told with its last prompt.
fn told(host: &Host) -> String {
    let mut commands = host.commands.iter().rev();
    let message = commands.find_map(|command| match command {
        AgentCommand::Prompt(prompt) => Some(prompt.message.clone()),
        AgentCommand::Steer { message, .. } => Some(message.as_ref()?.message.clone()),
        _ => None,
    });
    let attached = serde_json::to_value(message.unwrap().attachments).unwrap();
    attached[0]["modelRepresentation"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn message(ids: Option<&[&str]>) -> Value {
    let mut attached = json!({"type": "annotations", "label": "Comments", "resource": CHANNEL});
    if let Some(ids) = ids {
        attached["annotationIds"] = json!(ids);
    }
    json!({"text": "Look", "origin": {"kind": "user"}, "attachments": [attached]})
}

fn ask(host: &mut Host, turn: &str, ids: Option<&[&str]>) {
    let message = message(ids);
    let action = json!({"type": "chat/turnStarted", "turnId": turn, "message": message});
    host.dispatch(1, &chat(), action);
}

const HINT: &str = "\nWhen you have dealt with a comment, call the tool `resolve_annotation` with \
                    its id, if you have that tool.\n";

const TEXT: &str = "fn main() {\n    go();\n    stop();\n}\n";

#[test]
fn an_agent_is_told_where_comments_stand_and_who_said_what() {
    let mut host = host();
    host.files.insert(FILE.to_owned(), TEXT.to_owned());
    set(&mut host, in_lines("a", 1, 2));
    let reply = json!({"id": "e2", "text": {"markdown": "Because\nof that."},
                       "_meta": {"innkeeper": {"author": "agent"}}});
    say(
        &mut host,
        json!({"type": "annotations/entrySet", "annotationId": "a", "entry": reply}),
    );
    set(&mut host, annotation("b"));
    let resolve = json!({"type": "annotations/updated", "annotationId": "b", "resolved": true});
    say(&mut host, resolve);
    ask(&mut host, "t1", None);
    assert_eq!(
        told(&host),
        "Comments on files:\n\n\
         - /project/src/main.rs, lines 2-3 (comment `a`):\n  >     go();\n  >     stop();\n  \
         user: Why?\n  agent: Because\n    of that.\n"
            .to_owned()
            + HINT
    );
    let kept = host.state(&chat())["activeTurn"]["message"]["attachments"].clone();
    assert_eq!(kept, message(None)["attachments"]);
}

#[test]
fn an_agent_is_told_of_resolved_comments_that_are_named() {
    let mut host = host();
    set(&mut host, annotation("a"));
    let resolve = json!({"type": "annotations/updated", "annotationId": "a", "resolved": true});
    say(&mut host, resolve);
    ask(&mut host, "t1", Some(&["a", "gone"]));
    assert_eq!(
        told(&host),
        "Comments on files:\n\n\
         - /project/src/main.rs (comment `a`, resolved):\n  user: Why?\n\n\
         - The comment `gone` has been deleted.\n"
            .to_owned()
            + HINT
    );
}

#[test]
fn comments_reach_an_agent_with_messages_that_waited_and_that_steer() {
    let mut host = host();
    set(&mut host, annotation("a"));
    host.start_turn(1, "t1");
    for (kind, id) in [("steering", "s"), ("queued", "q")] {
        let action = json!({"type": "chat/pendingMessageSet", "kind": kind, "id": id,
                            "message": message(None)});
        host.dispatch(1, &chat(), action);
        if kind == "queued" {
            host.commands
                .retain(|it| !matches!(it, AgentCommand::Steer { .. }));
            host.in_turn("t1", TurnEvent::Completed);
        }
        assert!(told(&host).contains("comment `a`"), "{kind}");
    }
}

// Lines that move

fn anchor(host: &mut Host) -> (Value, Value) {
    let annotation = annotations(host)[0].clone();
    (
        annotation["range"].clone(),
        annotation["_meta"]["innkeeper"].clone(),
    )
}

#[test]
fn an_annotation_follows_its_lines_when_a_turn_has_changed_the_file() {
    let mut host = host();
    host.files.insert(FILE.to_owned(), TEXT.to_owned());
    set(&mut host, in_lines("a", 1, 1));
    let (_, noted) = anchor(&mut host);
    assert_eq!(noted["anchor"], "found");
    assert_eq!(noted["lines"], json!(["    go();"]));
    host.start_turn(1, "t1");
    host.files
        .insert(FILE.to_owned(), format!("// One\n// Two\n{TEXT}"));
    host.in_turn("t1", TurnEvent::Completed);
    assert_eq!(anchor(&mut host).0, lines(3, 3));
    let (kind, action) = last_action(&host);
    assert_eq!(kind, "annotations/updated");
    assert_eq!(action["range"], lines(3, 3));
}

#[test]
fn an_annotation_whose_lines_are_gone_says_so_and_finds_them_when_they_are_back() {
    for gone in [Some("fn main() {}\n".to_owned()), None] {
        let mut host = host();
        host.files.insert(FILE.to_owned(), TEXT.to_owned());
        set(&mut host, in_lines("a", 1, 1));
        host.start_turn(1, "t1");
        host.files.remove(FILE);
        host.files.extend(gone.map(|text| (FILE.to_owned(), text)));
        host.in_turn("t1", TurnEvent::Completed);
        let (range, noted) = anchor(&mut host);
        assert_eq!(range, lines(1, 1));
        assert_eq!(noted["anchor"], "lost");
        assert_eq!(noted["lines"], json!(["    go();"]));
        ask(&mut host, "t2", None);
        assert!(told(&host).contains("no longer in the file:\n  >     go();"));
        host.files.insert(FILE.to_owned(), format!("//\n{TEXT}"));
        host.in_turn("t2", TurnEvent::Completed);
        let (range, noted) = anchor(&mut host);
        assert_eq!(range, lines(2, 2));
        assert_eq!(noted["anchor"], "found");
    }
}

#[test]
fn an_annotation_that_somebody_moves_is_about_the_lines_it_stands_in_then() {
    let mut host = host();
    host.files.insert(FILE.to_owned(), TEXT.to_owned());
    set(&mut host, in_lines("a", 1, 1));
    let action = json!({"type": "annotations/updated", "annotationId": "a", "range": lines(2, 2)});
    say(&mut host, action);
    assert_eq!(anchor(&mut host).1["lines"], json!(["    stop();"]));
    let mut again = annotations(&mut host)[0].clone();
    again["range"] = lines(0, 0);
    set(&mut host, again);
    let (range, noted) = anchor(&mut host);
    assert_eq!(range, lines(0, 0));
    assert_eq!(noted["lines"], json!(["fn main() {"]));
}

#[test]
fn lines_that_a_client_quotes_are_looked_for() {
    let mut host = host();
    host.files.insert(FILE.to_owned(), format!("//\n{TEXT}"));
    let mut quoted = in_lines("a", 1, 1);
    quoted["_meta"] = json!({"innkeeper": {"anchor": "found", "lines": ["    go();"]}});
    set(&mut host, quoted);
    assert_eq!(anchor(&mut host).0, lines(2, 2));
}

// What agents do

/// The names of the tools that the agent was offered last.
fn offered(host: &Host) -> Vec<String> {
    let mut commands = host.commands.iter().rev();
    let tools = commands.find_map(|command| match command {
        AgentCommand::OfferTools { tools, .. } => Some(tools),
        _ => None,
    });
    let tools = tools.into_iter().flat_map(|tools| tools.iter());
    tools.map(|tool| tool.definition.name.clone()).collect()
}

/// An agent calls a tool of the host. Returns what it is answered.
fn call(host: &mut Host, id: &str, name: &str, input: Value) -> (bool, String) {
    let start = ToolStart {
        call: id.into(),
        name: name.to_owned(),
        display_name: name.to_owned(),
        intention: None,
        contributor: Some(ToolCallContributor::Client(ToolCallClientContributor {
            client_id: "innkeeper:host".to_owned(),
        })),
        meta: None,
    };
    host.in_turn("t1", TurnEvent::ToolStarted(Box::new(start)));
    let ready = ToolReady {
        call: id.into(),
        input: Some(input.to_string()),
        message: StringOrMarkdown::Plain(name.to_owned()),
        approval: Approval::NotNeeded,
        meta: None,
    };
    host.in_turn("t1", TurnEvent::ToolReady(Box::new(ready)));
    let Some(AgentCommand::Decide { decision, .. }) = host.commands.last() else {
        panic!("the agent was not answered: {:?}", host.commands.last());
    };
    let Decision::ClientTool { result, .. } = &**decision else {
        panic!("another decision: {decision:?}");
    };
    let StringOrMarkdown::Plain(said) = result.past_tense_message.clone() else {
        panic!("not plain");
    };
    (result.success, said)
}

#[test]
fn agents_are_offered_to_resolve_and_answer_comments_while_there_are_any() {
    let mut host = host();
    assert_eq!(offered(&host), [""; 0]);
    set(&mut host, annotation("a"));
    assert_eq!(offered(&host), ["resolve_annotation", "answer_annotation"]);
    say(
        &mut host,
        json!({"type": "annotations/removed", "annotationId": "a"}),
    );
    assert_eq!(offered(&host), [""; 0]);
}

#[test]
fn an_agent_answers_and_resolves_a_comment() {
    let mut host = host();
    set(&mut host, annotation("a"));
    host.start_turn(1, "t1");
    let answer = json!({"id": "a", "answer": "I will."});
    let (success, said) = call(&mut host, "c1", "answer_annotation", answer);
    assert!(success, "{said}");
    let known = annotations(&mut host)[0].clone();
    assert_eq!(known["resolved"], false);
    assert_eq!(known["entries"][1]["text"], json!({"markdown": "I will."}));
    assert_eq!(
        known["entries"][1]["_meta"],
        json!({"innkeeper": {"author": "agent"}})
    );
    let (success, said) = call(&mut host, "c2", "resolve_annotation", json!({"id": "a"}));
    assert!(success, "{said}");
    assert_eq!(annotations(&mut host)[0]["resolved"], true);
}

#[test]
fn an_agent_is_told_why_a_comment_cannot_be_resolved() {
    let mut host = host();
    set(&mut host, annotation("a"));
    host.start_turn(1, "t1");
    let long = "x".repeat(64 * 1024 + 1);
    for (index, (name, input, reason)) in [
        (
            "resolve_annotation",
            json!({"id": "none"}),
            "there is no comment `none`",
        ),
        ("resolve_annotation", json!({}), "give an `id`"),
        ("answer_annotation", json!({"id": "a"}), "give an `answer`"),
        (
            "answer_annotation",
            json!({"id": "a", "answer": long}),
            "at most 65536",
        ),
        ("rm", json!({"id": "a"}), "no tool `rm`"),
    ]
    .into_iter()
    .enumerate()
    {
        let (success, said) = call(&mut host, &format!("c{index}"), name, input);
        assert!(!success && said.contains(reason), "{said}");
    }
    assert_eq!(annotations(&mut host), json!([annotation("a")]));
}
