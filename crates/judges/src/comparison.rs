//! When two states of one version count as the same.

use serde_json::Value;

use crate::age;

/// A state without what a version's reducers do not take from the actions:
/// those up to 0.8 take `modifiedAt` from their own clock, and those of 0.5
/// put an answered question where it was answered.
pub fn comparable(version: &str, mut state: Value) -> Value {
    if age(version) <= age("0.8") {
        if let Some(object) = state.as_object_mut() {
            object.remove("modifiedAt");
        }
        if let Some(summary) = state.get_mut("summary").and_then(Value::as_object_mut) {
            summary.remove("modifiedAt");
        }
    }
    if version == "0.5" {
        state.get_mut("activeTurn").map(questions_last);
        let turns = state.get_mut("turns").and_then(Value::as_array_mut);
        turns.into_iter().flatten().for_each(questions_last);
    }
    state
}

fn questions_last(turn: &mut Value) {
    if let Some(parts) = turn.get_mut("responseParts").and_then(Value::as_array_mut) {
        parts.sort_by_key(|part| match part["kind"] == "inputRequest" {
            true => part["request"]["id"].to_string(),
            false => String::new(),
        });
    }
}

/// Where two states differ first.
pub fn difference(path: &str, expected: &Value, got: &Value) -> String {
    match (expected, got) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys());
            let differs = keys.into_iter().find(|key| expected[*key] != got[*key]);
            match differs {
                Some(key) => difference(&format!("{path}.{key}"), &expected[key], &got[key]),
                None => String::new(),
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let at = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(0);
            difference(&format!("{path}[{at}]"), &a[at], &b[at])
        }
        _ => format!("{path}: the host has {expected}, the client has {got}"),
    }
}
