//! A stand-in for pi in its RPC mode, for tests. It answers every command with
//! what the variable `TEST_PI` holds for it. A prompt whose last line is a JSON
//! list is played: a string is awaited as a command, everything else is said.
//! Any other prompt is said back.

use std::io::{self, BufRead as _, Write as _};

use serde_json::{Value, json};

fn main() {
    let behaviour = std::env::var("TEST_PI").unwrap_or_default();
    let behaviour: Value = serde_json::from_str(&behaviour).unwrap_or_default();
    let mut lines = io::stdin().lock().lines().map_while(Result::ok);
    while let Some(line) = lines.next() {
        let command: Value = serde_json::from_str(&line).unwrap_or_default();
        answer(&behaviour, &command);
        if command["type"] != "prompt" || !behaviour["errors"]["prompt"].is_null() {
            continue;
        }
        let message = command["message"].as_str().unwrap_or_default();
        let script = message.lines().last().unwrap_or_default();
        match serde_json::from_str::<Value>(script) {
            Ok(Value::Array(steps)) => {
                for step in steps {
                    match step.as_str() {
                        Some(wanted) => {
                            for line in lines.by_ref() {
                                let command: Value =
                                    serde_json::from_str(&line).unwrap_or_default();
                                answer(&behaviour, &command);
                                if command["type"] == wanted {
                                    say(&delta(&format!("{wanted} {}", shown(&command))));
                                    break;
                                }
                            }
                        }
                        None => say(&step),
                    }
                }
            }
            _ => {
                say(&json!({"type": "agent_start"}));
                say(&delta(message));
                say(&json!({"type": "agent_settled"}));
            }
        }
    }
}

fn delta(text: &str) -> Value {
    json!({"type": "message_update", "assistantMessageEvent": {
        "type": "text_delta", "contentIndex": 0, "delta": text}})
}

fn shown(command: &Value) -> String {
    let mut command = command.clone();
    if let Some(fields) = command.as_object_mut() {
        fields.retain(|key, _| key != "id" && key != "type" && key != "images");
    }
    command.to_string()
}

fn answer(behaviour: &Value, command: &Value) {
    let kind = command["type"].as_str().unwrap_or_default();
    if kind == "extension_ui_response" {
        return;
    }
    let error = &behaviour["errors"][kind];
    say(&json!({
        "id": command["id"], "type": "response", "command": kind, "success": error.is_null(),
        "error": error, "data": behaviour[kind],
    }));
}

fn say(message: &Value) {
    let mut out = io::stdout().lock();
    if writeln!(out, "{message}")
        .and_then(|()| out.flush())
        .is_err()
    {
        std::process::exit(0);
    }
}
