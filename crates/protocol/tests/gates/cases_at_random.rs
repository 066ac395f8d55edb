//! Cases like the official ones, at random: what a session of 0.2.0 becomes by
//! that version's own reducer is what it becomes in the newest.

use innkeeper_judges::{Mirror, difference, mirror};
use serde_json::{Value, json};

use crate::reducer_cases::{comparable, in_the_newest};
use crate::words::Dice;

const SESSION: &str = "ahp-session:/s";
const CASES: u64 = 3000;

#[test]
fn a_session_of_0_2_becomes_in_the_newest_version_what_its_own_reducer_makes_of_it() {
    let one = std::env::var("GATES_SEED").ok();
    let one: Option<u64> = one.and_then(|it| it.parse().ok());
    let seeds = one.map_or(0..CASES, |seed| seed..seed + 1);
    let mut differences = Vec::new();
    for seed in seeds {
        if let Err(difference) = run(seed, one.is_some()) {
            println!("GATES_SEED={seed}: {difference}");
            differences.push(seed);
        }
    }
    assert!(
        differences.is_empty(),
        "seeds of those that differ: {differences:?}"
    );
}

fn run(seed: u64, tells: bool) -> Result<(), String> {
    let mut dice = Dice::new(seed);
    let mut old = mirror("0.2").ok_or("there is no judge of 0.2")?;
    old.load(SESSION, beginning(&mut dice))?;
    for _ in 0..dice.below(25) {
        let action = action(&mut dice, &state(&*old));
        old.apply(SESSION, action)?;
    }
    // The case begins in the midst of it.
    let initial = state(&*old);
    let mut actions = Vec::new();
    for _ in 0..1 + dice.below(6) {
        let action = action(&mut dice, &state(&*old));
        old.apply(SESSION, action.clone())?;
        actions.push(action);
    }
    if tells {
        println!("{initial:#}\n{:#}", Value::from(actions.clone()));
    }
    let Ok(lowered) = in_the_newest(initial, &actions) else {
        return Ok(());
    };
    let got = comparable(old.read(lowered)?);
    let expected = comparable(state(&*old));
    match got == expected {
        true => Ok(()),
        false => Err(difference("", &expected, &got)),
    }
}

fn state(old: &dyn Mirror) -> Value {
    old.state(SESSION).unwrap_or_default()
}

fn beginning(dice: &mut Dice) -> Value {
    let mut state = json!({
        "summary": {
            "resource": SESSION, "provider": "p", "title": "A session", "status": 1,
            "createdAt": 1000, "modifiedAt": 1000,
        },
        "lifecycle": dice.pick(&["creating", "ready"]), "turns": [],
    });
    if dice.maybe() {
        state["config"] = json!({
            "schema": {"type": "object", "properties": {
                "mode": {"type": "string", "title": "Mode"},
            }},
            "values": {"mode": "ask"},
        });
    }
    if dice.maybe() {
        state["customizations"] = json!([plugin(dice), directory(dice)]);
    }
    state
}

fn plugin(dice: &mut Dice) -> Value {
    let mut plugin = json!({
        "type": "plugin", "id": "p1", "uri": "x:p1", "name": dice.pick(&["One", "Uno"]),
        "enabled": dice.maybe(),
    });
    if dice.maybe() {
        plugin["clientId"] = "client-1".into();
        plugin["load"] = json!({"kind": "loading"});
    }
    if dice.maybe() {
        plugin["children"] = json!([
            {"type": "skill", "id": "k1", "uri": "x:k1", "name": "Skill"},
            {"type": "mcpServer", "id": "k2", "uri": "x:k2", "name": "Server"},
        ]);
    }
    plugin
}

fn directory(dice: &mut Dice) -> Value {
    json!({
        "type": "directory", "id": "d1", "uri": "x:d1", "name": "Directory",
        "enabled": true, "contents": "agent", "writable": dice.maybe(),
        "load": {"kind": "error", "message": "unreadable"},
        "children": [{"type": "agent", "id": "k3", "uri": "x:k3", "name": "Agent"}],
    })
}

/// Text or Markdown.
fn words(dice: &mut Dice) -> Value {
    match dice.below(3) {
        0 => json!({"markdown": "**bold**"}),
        1 => "".into(),
        _ => "words".into(),
    }
}

fn message(dice: &mut Dice) -> Value {
    let mut message = json!({"text": dice.pick(&["Hello", "", "Do it"])});
    if dice.below(3) == 0 {
        message["attachments"] = match dice.below(4) {
            0 => json!([{"type": "simple", "label": "x"}]),
            1 => json!([{"type": "resource", "uri": "file:///a", "label": "a",
                "displayKind": "selection",
                "selection": {"range": {"start": {"line": 1, "character": 0},
                                        "end": {"line": 2, "character": 0}}}}]),
            2 => json!([{"type": "embeddedResource", "label": "b", "data": "aGk=",
                "contentType": "text/plain"}]),
            _ => json!([]),
        };
    }
    if dice.below(6) == 0 {
        message["_meta"] = json!({"from": "a test"});
    }
    message
}

fn content(dice: &mut Dice) -> Value {
    match dice.below(6) {
        0 => json!([]),
        1 => json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
        2 => json!([{"type": "embeddedResource", "data": "aGk=", "contentType": "text/plain"}]),
        3 => json!([{"type": "resource", "uri": "file:///big", "sizeHint": 7}]),
        4 => json!([{"type": "terminal", "resource": "ahp-terminal:/t", "title": "Terminal"}]),
        _ => json!([{"type": "subagent", "resource": "ahp-session:/sub", "title": "Helper"}]),
    }
}

/// Something that a session can be told, sensible or not.
fn action(dice: &mut Dice, state: &Value) -> Value {
    let active = state["activeTurn"]["id"].as_str();
    let turn = match active {
        Some(turn) if dice.below(12) > 0 => turn.to_owned(),
        _ => format!("turn-{}", dice.below(4)),
    };
    let call = format!("call-{}", dice.below(3));
    let part = format!("part-{}", dice.below(2));
    // A question belongs to a turn, in the newest version, and goes with it.
    let asks = state.get("inputRequests").is_some();
    let mut action = match dice.below(60) {
        0..=5 if !asks => {
            let mut action = json!({"type": "turnStarted", "userMessage": message(dice)});
            // Each has a name of its own.
            let known = state["turns"].as_array().map_or(0, Vec::len);
            action["turnId"] = format!("turn-{}", known + 10).into();
            if dice.maybe() {
                action["queuedMessageId"] = format!("m{}", dice.below(3)).into();
            }
            action
        }
        6..=8 => json!({"type": "delta", "partId": part, "content": "more "}),
        9 => json!({"type": "reasoning", "partId": part, "content": "hm "}),
        10 => json!({"type": "reasoning", "partId": call, "content": "hm "}),
        11..=14 => {
            let part = match dice.below(5) {
                0 => json!({"kind": "reasoning", "id": part, "content": "hm"}),
                1 => json!({"kind": "contentRef", "uri": "x:big", "sizeHint": 10}),
                2 => json!({"kind": "systemNotification", "content": words(dice)}),
                _ => json!({"kind": "markdown", "id": part, "content": "text"}),
            };
            json!({"type": "responsePart", "part": part})
        }
        15..=18 => {
            let mut action = json!({
                "type": "toolCallStart", "toolName": "bash", "displayName": "Run Command",
            });
            if dice.below(4) == 0 {
                action["toolClientId"] = "client-1".into();
            }
            if dice.below(4) == 0 {
                action["_meta"] = json!({"ptyTerminal": true});
            }
            action
        }
        19..=20 => {
            let mut action = json!({"type": "toolCallDelta", "content": "{\"a\""});
            if dice.maybe() {
                action["invocationMessage"] = words(dice);
            }
            action
        }
        21..=26 => {
            let mut action = json!({"type": "toolCallReady", "invocationMessage": words(dice)});
            // The newest version remembers what a call was given: it is said again.
            action["toolInput"] = "{}".into();
            if dice.maybe() {
                action["confirmed"] = dice.pick(&["not-needed", "user-action", "setting"]).into();
            } else if dice.maybe() {
                action["confirmationTitle"] = words(dice);
                action["editable"] = dice.maybe().into();
                action["options"] = json!([
                    {"id": "yes", "label": "Yes", "kind": "approve"},
                    {"id": "no", "label": "No", "kind": "deny", "group": 1},
                ]);
            }
            action
        }
        27..=30 => {
            let mut action = json!({"type": "toolCallConfirmed", "approved": dice.maybe()});
            match dice.below(6) {
                0 => action["selectedOptionId"] = dice.pick(&["yes", "no", "perhaps"]).into(),
                1 => action["editedToolInput"] = "{\"edited\":true}".into(),
                2 => {
                    action["reason"] = dice.pick(&["denied", "skipped"]).into();
                    action["reasonMessage"] = words(dice);
                }
                3 => action["userSuggestion"] = message(dice),
                4 => action["confirmed"] = "setting".into(),
                _ => {}
            }
            action
        }
        31..=34 => {
            let mut action = json!({"type": "toolCallComplete", "result": {
                "success": dice.maybe(), "pastTenseMessage": words(dice),
            }});
            if dice.maybe() {
                action["result"]["content"] = content(dice);
            }
            if dice.below(4) == 0 {
                action["result"]["structuredContent"] = json!({"a": 1});
                action["result"]["error"] = json!({"message": "bad", "code": "E1"});
            }
            if dice.maybe() {
                action["requiresResultConfirmation"] = dice.maybe().into();
            }
            action
        }
        35..=36 => json!({"type": "toolCallResultConfirmed", "approved": dice.maybe()}),
        37 => json!({"type": "toolCallContentChanged", "content": content(dice)}),
        38..=39 => json!({"type": "turnComplete"}),
        40 => json!({"type": "turnCancelled"}),
        41 => json!({"type": "error", "error": {
            "errorType": "x", "message": "It failed", "stack": "at x",
        }}),
        42 => json!({"type": "usage", "usage": {"inputTokens": 3, "model": "m"}}),
        43 if active.is_some() => json!({"type": "inputRequested", "request": {
            "id": format!("q{}", dice.below(2)), "message": "Which?",
            "questions": [{"kind": "text", "id": "a", "message": "?", "required": true}],
        }}),
        44 => {
            let mut action = json!({
                "type": "inputAnswerChanged", "requestId": format!("q{}", dice.below(2)),
                "questionId": dice.pick(&["a", "b"]),
            });
            if dice.below(3) > 0 {
                let value = json!({"kind": "text", "value": "yes"});
                action["answer"] = json!({"state": "draft", "value": value});
            }
            action
        }
        45 => json!({
            "type": "inputCompleted", "requestId": format!("q{}", dice.below(2)),
            "response": dice.pick(&["accept", "decline", "cancel"]),
        }),
        46..=47 => json!({
            "type": "pendingMessageSet", "kind": dice.pick(&["queued", "queued", "steering"]),
            "id": format!("m{}", dice.below(3)), "userMessage": message(dice),
        }),
        48 => json!({
            "type": "pendingMessageRemoved", "kind": dice.pick(&["queued", "steering"]),
            "id": format!("m{}", dice.below(3)),
        }),
        49 => {
            let order = dice.pick(&[["m2", "m1", "m0"], ["m0", "m2", "m1"], ["m1", "x", "m1"]]);
            json!({"type": "queuedMessagesReordered", "order": order})
        }
        50 => {
            let mut action = json!({"type": "truncated"});
            let turns = state["turns"].as_array().map_or(0, Vec::len);
            if dice.maybe() {
                action["turnId"] = match turns {
                    0 => "turn-0".into(),
                    _ => state["turns"][dice.below(turns)]["id"].clone(),
                };
            }
            action
        }
        51 => match dice.below(5) {
            0 => json!({"type": "titleChanged", "title": "Another"}),
            1 => json!({"type": "isReadChanged", "isRead": dice.maybe()}),
            2 => json!({"type": "isArchivedChanged", "isArchived": dice.maybe()}),
            3 => json!({"type": "activityChanged", "activity": "Building"}),
            _ => json!({"type": "activityChanged"}),
        },
        52 => match dice.below(4) {
            0 => json!({"type": "modelChanged", "model": {"id": "m1"}}),
            1 => json!({"type": "modelChanged",
                "model": {"id": "m2", "config": {"effort": "high"}}}),
            2 => json!({"type": "agentChanged", "agent": {"uri": "x:agent"}}),
            _ => json!({"type": "agentChanged"}),
        },
        53 => {
            let tools = json!([{"name": "t", "title": "T", "description": "d",
                "inputSchema": {"type": "object"}}]);
            let client = json!({"clientId": "client-1", "displayName": "VS", "tools": tools});
            match dice.below(4) {
                0 => json!({"type": "activeClientChanged"}),
                1 => json!({"type": "activeClientToolsChanged", "tools": tools}),
                2 => json!({"type": "serverToolsChanged", "tools": tools}),
                _ => json!({"type": "activeClientChanged", "activeClient": client}),
            }
        }
        54..=56 => match dice.below(6) {
            0 => json!({"type": "customizationsChanged",
                "customizations": [directory(dice), plugin(dice)]}),
            1 => json!({"type": "customizationToggled", "enabled": dice.maybe(),
                "id": dice.pick(&["p1", "d1", "none"])}),
            2 => json!({"type": "customizationUpdated", "customization": plugin(dice)}),
            3 => json!({"type": "customizationUpdated", "customization": directory(dice)}),
            _ => json!({"type": "customizationRemoved",
                "id": dice.pick(&["p1", "d1", "k1", "k2", "k3", "none"])}),
        },
        57 => json!({"type": "configChanged", "config": {"mode": dice.pick(&["ask", "do"])},
            "replace": dice.maybe()}),
        58 => match dice.maybe() {
            true => json!({"type": "metaChanged", "_meta": {"a": dice.below(3)}}),
            false => json!({"type": "metaChanged"}),
        },
        _ => match dice.below(3) {
            0 => json!({"type": "ready"}),
            1 => json!({"type": "creationFailed",
                "error": {"errorType": "x", "message": "no"}}),
            _ => json!({"type": "changesetsChanged", "changesets": [
                {"label": "All", "uriTemplate": "ahp-changeset:/1"},
            ]}),
        },
    };
    let verb = action["type"].as_str().unwrap_or_default().to_owned();
    let of_turn = [
        "delta",
        "reasoning",
        "responsePart",
        "turnComplete",
        "turnCancelled",
        "error",
        "usage",
    ];
    if of_turn.contains(&verb.as_str()) || verb.starts_with("toolCall") {
        action["turnId"] = turn.into();
    }
    if verb.starts_with("toolCall") {
        action["toolCallId"] = call.into();
    }
    action["type"] = format!("session/{verb}").into();
    action
}
