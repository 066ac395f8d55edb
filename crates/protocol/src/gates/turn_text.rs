//! Finished turns as text. What a gate changes about every turn is a field or
//! two of the turn or of its message; the rest, which is nearly all of it, is
//! copied unread.
//!
//! *Invariant*: the result says what [`super::down::turn`] makes of the turn.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

/// What becomes of a field that turns have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnEdit {
    Drop(&'static str),
    DropOfMessage(&'static str),
    /// The message has another name. Edits of it call it by the newest one.
    RenameMessage(&'static str),
}

const MESSAGE: &str = "message";

/// A turn with these edits.
pub(super) fn edited(turn: &str, edits: &[TurnEdit]) -> serde_json::Result<Box<RawValue>> {
    let mut turn: Fields<'_> = serde_json::from_str(turn)?;
    let goes = |name: &str| {
        edits
            .iter()
            .any(|it| matches!(it, TurnEdit::Drop(it) if *it == name))
    };
    turn.0.retain(|(name, _)| !goes(name));
    let goes = |name: &str| {
        let mut edits = edits.iter();
        edits.any(|it| matches!(it, TurnEdit::DropOfMessage(it) if *it == name))
    };
    let Some(at) = turn.0.iter().position(|(name, _)| *name == MESSAGE) else {
        return to_raw_value(&turn);
    };
    let mut message: Fields<'_> = serde_json::from_str(turn.0[at].1.get())?;
    let before = message.0.len();
    message.0.retain(|(name, _)| !goes(name));
    let message = match message.0.len() == before {
        true => None,
        false => Some(to_raw_value(&message)?),
    };
    if let Some(message) = &message {
        turn.0[at].1 = message;
    }
    for edit in edits {
        if let TurnEdit::RenameMessage(name) = edit {
            turn.0[at].0 = name;
        }
    }
    to_raw_value(&turn)
}

/// An object whose values are not looked into.
struct Fields<'a>(Vec<(&'a str, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    /// Fails where a name has an escape in it: no name of the protocol has one.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(8);
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Reading)
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
