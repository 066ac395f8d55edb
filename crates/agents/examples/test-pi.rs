//! A stand-in for pi in its RPC mode, for tests. It answers every command with
//! what the variable `TEST_PI` holds for it. A prompt whose last line is a JSON
//! list is played: a string is awaited as a command, `{"exit": STATUS}` ends
//! the program, everything else is said. Any other prompt is said back.
//!
//! Further keys of `TEST_PI`:
//!
//! | key | meaning |
//! | --- | --- |
//! | `errors` | errors, by the command that is answered with them |
//! | `journal` | a file to which it adds each command |
//! | `doom` | a file; if it is there when the program starts, it ends at once, or with the command that the file names |
//! | `pidFile` | a file to which it writes the number of its process |

use std::fs::File;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;

use serde_json::{Value, json};

fn main() {
    let behaviour = std::env::var("TEST_PI").unwrap_or_default();
    let behaviour: Value = serde_json::from_str(&behaviour).unwrap_or_default();
    let path = |key: &str| behaviour[key].as_str().map(Path::new);
    let doom = path("doom").and_then(|path| std::fs::read_to_string(path).ok());
    if doom.as_deref() == Some("") {
        eprintln!("told not to start");
        std::process::exit(4);
    }
    if let Some(path) = path("pidFile") {
        let _ = std::fs::write(path, std::process::id().to_string());
    }
    let mut lines = io::stdin().lock().lines().map_while(Result::ok);
    while let Some(line) = lines.next() {
        let command: Value = serde_json::from_str(&line).unwrap_or_default();
        if doom.as_deref().is_some_and(|doom| command["type"] == doom) {
            eprintln!("told to end");
            std::process::exit(3);
        }
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
                        None => match step["exit"].as_i64() {
                            Some(status) => std::process::exit(i32::try_from(status).unwrap_or(1)),
                            None => say(&step),
                        },
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
    note_down(behaviour, kind);
    if kind == "extension_ui_response" {
        return;
    }
    let error = &behaviour["errors"][kind];
    say(&json!({
        "id": command["id"], "type": "response", "command": kind, "success": error.is_null(),
        "error": error, "data": behaviour[kind],
    }));
}

fn note_down(behaviour: &Value, kind: &str) {
    let journal = behaviour["journal"].as_str();
    let journal = journal.map(|path| File::options().append(true).create(true).open(path));
    if let Some(Ok(mut journal)) = journal {
        let _ = writeln!(journal, "{kind}");
    }
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
