//! Attempts: sessions that were given the same prompt, each in a working tree
//! of its own, so that somebody can compare them. The host checks what a client
//! says about them and passes it on with the session and its summary.

use innkeeper_protocol::bounds::MAX_ID_BYTES;
use innkeeper_protocol::newest::common::JsonObject;
use serde_json::{Value, json};

/// More would fill a disk.
const MOST_ATTEMPTS: u64 = 16;

/// What a new session says about itself, if it is an attempt. `directory` is
/// where it would work if it did not have a working tree of its own.
pub(super) fn attempt_of(
    asked: Option<&JsonObject>,
    directory: Option<&String>,
) -> Result<Option<JsonObject>, String> {
    let asked = asked.and_then(|meta| meta.get("innkeeper")?.get("attempt"));
    let Some(asked) = asked else {
        return Ok(None);
    };
    let id = asked.get("id").and_then(Value::as_str);
    let number = |name: &str| asked.get(name).and_then(Value::as_u64);
    let (Some(id), Some(number), Some(count)) = (id, number("number"), number("count")) else {
        return Err("an attempt has an `id`, a `number` and a `count`".to_owned());
    };
    if id.is_empty() || id.len() > MAX_ID_BYTES {
        return Err(format!(
            "the `id` of an attempt has 1 to {MAX_ID_BYTES} bytes"
        ));
    }
    if !(1..=MOST_ATTEMPTS).contains(&count) || !(1..=count).contains(&number) {
        return Err(format!(
            "the `count` of attempts is from 1 to {MOST_ATTEMPTS}, and the `number` from 1 to that"
        ));
    }
    let mut attempt = json!({"id": id, "number": number, "count": count});
    if let Some(directory) = directory {
        attempt["directory"] = json!(directory);
    }
    Ok(Some(told(attempt)))
}

/// What of a session's `_meta` its summary says too.
pub(super) fn in_summary(meta: Option<&JsonObject>) -> Option<JsonObject> {
    let attempt = meta?.get("innkeeper")?.get("attempt")?;
    Some(told(attempt.clone()))
}

fn told(attempt: Value) -> JsonObject {
    JsonObject::from_iter([("innkeeper".to_owned(), json!({"attempt": attempt}))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_makes_no_sense_is_refused() {
        let long = "x".repeat(MAX_ID_BYTES + 1);
        for wrong in [
            json!(1),
            json!({}),
            json!({"id": "a", "number": 1}),
            json!({"id": "", "number": 1, "count": 2}),
            json!({"id": long, "number": 1, "count": 2}),
            json!({"id": "a", "number": 0, "count": 2}),
            json!({"id": "a", "number": 3, "count": 2}),
            json!({"id": "a", "number": 1, "count": 17}),
            json!({"id": "a", "number": -1, "count": 2}),
        ] {
            let meta = told(wrong.clone());
            assert!(attempt_of(Some(&meta), None).is_err(), "{wrong}");
        }
        for other in [json!({}), json!({"innkeeper": 3}), json!({"attempt": {}})] {
            assert_eq!(attempt_of(other.as_object(), None), Ok(None), "{other}");
        }
    }
}
