//! Comments on files: what agents are told of them and do about them, and how
//! they follow their lines.

use innkeeper_protocol::agent::{
    AgentCommand, Approval, Decision, ToolReady, ToolStart, TurnEvent,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{ToolCallClientContributor, ToolCallContributor};
use serde_json::{Value, json};

use crate::annotations::{
    CHANNEL, FILE, annotation, annotations, host, in_lines, last_action, lines, say, set,
};
use crate::host::{Host, chat};

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
            "unknown comment `none`",
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
