//! Small verbs for JSON objects, so that gates read as lists of changes.

use super::Object;
use super::down::FACTS;
use super::tree::Value;

/// The object of a literal.
pub(crate) fn of(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

pub(crate) fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

pub(crate) fn has(object: &Object, key: &str, value: &str) -> bool {
    text(object, key) == Some(value)
}

pub(crate) fn number(object: &Object, key: &str) -> u64 {
    object.get(key).and_then(Value::as_u64).unwrap_or_default()
}

pub(crate) fn list_mut<'a>(object: &'a mut Object, key: &str) -> Option<&'a mut Vec<Value>> {
    object.get_mut(key).and_then(Value::as_array_mut)
}

pub(crate) fn child_mut<'a>(object: &'a mut Object, key: &str) -> Option<&'a mut Object> {
    object.get_mut(key).and_then(Value::as_object_mut)
}

pub(crate) fn drop_keys(object: &mut Object, keys: &[&str]) {
    for key in keys {
        object.remove(key);
    }
}

pub(crate) fn rename(object: &mut Object, from: &str, to: &'static str) {
    if let Some(value) = object.remove(from) {
        object.insert(to.into(), value);
    }
}

/// Changes one word of a field into another.
pub(crate) fn replace(object: &mut Object, key: &'static str, from: &str, to: &'static str) {
    if has(object, key, from) {
        object.insert(key.into(), to.into());
    }
}

pub(crate) fn default(object: &mut Object, key: &'static str, value: impl Into<Value>) {
    if object.get(key).is_none_or(Value::is_null) {
        object.insert(key.into(), value.into());
    }
}

/// Gives a row of the catalogue what the host knows besides it.
pub(crate) fn take_facts(row: &mut Object, keys: &[&'static str]) {
    if let Some(Value::Object(mut facts)) = row.remove(FACTS) {
        for key in keys {
            hand_over(&mut facts, row, key);
        }
        if !facts.is_empty() {
            row.insert(FACTS.into(), facts.into());
        }
    }
}

/// Moves a field from one object to another.
pub(crate) fn hand_over(from: &mut Object, to: &mut Object, key: &'static str) {
    if let Some(value) = from.remove(key) {
        to.insert(key.into(), value);
    }
}

/// A list that became empty is left out.
pub(crate) fn drop_empty(object: &mut Object, key: &str) {
    if object
        .get(key)
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty)
    {
        object.remove(key);
    }
}

/// A `StringOrMarkdown` as plain text.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        Value::Object(object) => text(object, "markdown").unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// The bits of `status` that say what goes on; the others are flags.
pub(crate) const ACTIVITY: u64 = 31;
pub(crate) const IS_READ: u64 = 32;
pub(crate) const IS_ARCHIVED: u64 = 64;
pub(crate) const FLAGS: u64 = IS_READ | IS_ARCHIVED;
pub(crate) const IDLE: u64 = 1;
pub(crate) const IN_PROGRESS: u64 = 8;
pub(crate) const INPUT_NEEDED: u64 = 24;

/// Sets those bits of `status` that `mask` names.
pub(crate) fn set_status(object: &mut Object, mask: u64, bits: u64) {
    if object.contains_key("status") {
        let status = number(object, "status") & !mask | bits & mask;
        object.insert("status".into(), status.into());
    }
}
