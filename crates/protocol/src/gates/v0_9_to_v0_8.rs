//! 0.9 → 0.8: a turn's error was a field and not a part, and no turn could be
//! resumed; a terminal had an exit code and no life cycle; an annotation knew
//! its turn only; forking was an option of `createSession`. There were no
//! automations.

use super::tree::{Value, json};

use super::object::{self, drop_keys, has, replace};
use super::{Act, ChangesTurns, Gate, LoweredFacts, Node, Object};
use crate::ChannelUri;
use crate::version::Version;

pub(super) struct Changes;

impl Gate for Changes {
    fn older(&self) -> Version {
        Version::V0_8
    }

    fn changes_turns(&self) -> ChangesTurns {
        ChangesTurns::With(&["\"error\"", "\"automation\""])
    }

    fn lower(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::SessionState => {
                drop_keys(it, &["origin"]);
                replace(it, "lifecycle", "failed", "creationFailed");
            }
            Node::Summary | Node::SummaryChanges => drop_keys(it, &["origin"]),
            Node::Turn => {
                take_error(it);
                show_errors_as_notices(it);
            }
            Node::ActiveTurn => show_errors_as_notices(it),
            Node::Message => {
                if let Some(origin) = object::child_mut(it, "origin") {
                    replace(origin, "kind", "automation", "systemNotification");
                }
            }
            Node::TerminalState | Node::TerminalInfo => lower_terminal(it),
            Node::TerminalClaim => drop_keys(it, &["chat"]),
            Node::Annotation => lower_annotation(it),
            _ => {}
        }
        true
    }

    fn raise(&self, node: Node, it: &mut Object) -> bool {
        match node {
            Node::SessionState => replace(it, "lifecycle", "creationFailed", "failed"),
            Node::Turn => {
                if let Some(error) = it.remove("error")
                    && let Some(parts) = object::list_mut(it, "responseParts")
                {
                    parts.push(json!({"kind": "error", "error": error}));
                }
            }
            Node::TerminalState | Node::TerminalInfo => {
                let lifecycle = match it.remove("exitCode") {
                    Some(code) => json!({"status": "exited", "exitCode": code}),
                    None => json!({"status": "running"}),
                };
                object::default(it, "lifecycle", lifecycle);
            }
            Node::TerminalClaim if has(it, "kind", "session") => {
                let session = object::text(it, "session").unwrap_or_default();
                let chat = ChannelUri::default_chat_of(session);
                object::default(it, "chat", chat.to_string());
            }
            _ => {}
        }
        true
    }

    fn lower_action(&self, mut act: Act, known: &LoweredFacts, out: &mut Vec<Act>) {
        match (act.family(), act.verb()) {
            ("automation" | "automationRun", _) => return,
            ("chat", "turnResume") => return resume(&act, known, out),
            ("chat", "error") => {
                if let Some(mut part) = act.action.remove("part") {
                    let error = part.get_mut("error").map(Value::take).unwrap_or_default();
                    act.action.insert("error".into(), error);
                }
            }
            // Reducers of 0.9 refuse an error as an ordinary part.
            ("chat", "responsePart")
                if act
                    .action
                    .get("part")
                    .is_some_and(|it| it["kind"] == "error") =>
            {
                return;
            }
            ("annotations", "updated") => lower_annotation(&mut act.action),
            // This action carried the changeset's error too, and set it.
            ("changeset", "contentChanged") => {
                if let Some(error) = known.extra.get("error") {
                    act.action.insert("error".into(), error.clone());
                }
            }
            _ => {}
        }
        out.push(act);
    }

    fn raise_action(&self, act: &mut Act) {
        match act.kind() {
            "chat/error" => {
                if let Some(error) = act.action.remove("error") {
                    act.action.insert("part".into(), json!({"error": error}));
                }
            }
            "annotations/set" => {
                let origin = annotation_origin(&act.channel);
                if let Some(annotation) = object::child_mut(&mut act.action, "annotation") {
                    raise_annotation(annotation, origin);
                }
            }
            "annotations/updated" if act.action.contains_key("turnId") => {
                let origin = annotation_origin(&act.channel);
                raise_annotation(&mut act.action, origin);
            }
            "changeset/contentChanged" => drop_keys(&mut act.action, &["error"]),
            _ => {}
        }
    }

    fn lower_result(&self, method: &str, result: &mut Object) {
        if method == "initialize" {
            drop_keys(result, &["automations", "_meta"]);
        }
    }
}

/// The error that ended the turn.
fn take_error(turn: &mut Object) {
    if !has(turn, "state", "error") {
        return;
    }
    let Some(parts) = object::list_mut(turn, "responseParts") else {
        return;
    };
    if parts.last().is_some_and(|part| part["kind"] == "error")
        && let Some(mut part) = parts.pop()
    {
        let error = part.get_mut("error").map(Value::take).unwrap_or_default();
        turn.insert("error".into(), error);
    }
}

/// Errors that a resumed turn has got over.
fn show_errors_as_notices(turn: &mut Object) {
    for part in object::list_mut(turn, "responseParts")
        .into_iter()
        .flatten()
    {
        if part["kind"] == "error" {
            let message = part.get_mut("error").map(|it| it.take_field("message"));
            *part = json!({"kind": "systemNotification", "content": message});
        }
    }
}

/// Takes the failed turn away, starts it again and gives it what it had.
fn resume(act: &Act, known: &LoweredFacts, out: &mut Vec<Act>) {
    let Some(Value::Object(turn)) = known.extra.get("resumed") else {
        return;
    };
    let mut turn = turn.clone();
    let mut field = |key: &str| turn.remove(key).unwrap_or_default();
    let id = field("id");

    let mut truncated = act.sibling(json!({"type": "chat/truncated"}));
    if let Some(previous) = known.extra.get("turnBefore") {
        truncated.action.insert("turnId".into(), previous.clone());
    }
    out.push(truncated);
    out.push(act.sibling(json!({
        "type": "chat/turnStarted",
        "turnId": id,
        "startedAt": field("startedAt"),
        "message": field("message"),
    })));
    if let Value::Array(parts) = field("responseParts") {
        out.extend(parts.into_iter().map(|mut part| {
            // A question that is open makes the chat wait when it is asked, and
            // not when it is shown.
            let is_open = part["kind"] == "inputRequest" && part.get("response").is_none();
            act.sibling(match is_open {
                true => {
                    json!({"type": "chat/inputRequested", "request": part.take_field("request")})
                }
                false => json!({"type": "chat/responsePart", "turnId": id, "part": part}),
            })
        }));
    }
    if let usage @ Value::Object(_) = field("usage") {
        out.push(act.sibling(json!({"type": "chat/usage", "turnId": id, "usage": usage})));
    }
}

fn lower_terminal(terminal: &mut Object) {
    if let Some(Value::Object(mut lifecycle)) = terminal.remove("lifecycle") {
        object::hand_over(&mut lifecycle, terminal, "exitCode");
    }
}

fn lower_annotation(annotation: &mut Object) {
    if let Some(Value::Object(mut origin)) = annotation.remove("origin") {
        let turn = origin.remove("turnId").unwrap_or_else(|| "".into());
        annotation.insert("turnId".into(), turn);
    }
}

/// Annotations live next to their session: `<session>/annotations`.
fn annotation_origin(channel: &str) -> Object {
    let session = channel.strip_suffix("/annotations").unwrap_or(channel);
    object::of(json!({"session": session}))
}

fn raise_annotation(annotation: &mut Object, mut origin: Object) {
    if let Some(turn) = annotation.remove("turnId") {
        origin.insert("turnId".into(), turn);
        annotation.insert("origin".into(), origin.into());
    }
}
