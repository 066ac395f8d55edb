//! What becomes a tree, and what a tree becomes: text, and the values of
//! `serde_json`.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number};

use super::{Object, Text, Value};

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value as Json;
        match value {
            Json::Null => Self::Null,
            Json::Bool(it) => Self::Bool(it),
            Json::Number(it) => Self::Number(it),
            Json::String(it) => Self::String(it.into()),
            Json::Array(it) => Self::Array(it.into_iter().map(Self::from).collect()),
            Json::Object(it) => Self::Object(it.into()),
        }
    }
}

impl From<Map<String, serde_json::Value>> for Object {
    fn from(map: Map<String, serde_json::Value>) -> Self {
        let mut object = Self::with_capacity(map.len());
        for (key, value) in map {
            object.add(key.into(), value.into());
        }
        object
    }
}

impl From<Value> for serde_json::Value {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(it) => Self::Bool(it),
            Value::Number(it) => Self::Number(it),
            Value::String(it) => Self::String(it.into_owned()),
            Value::Array(it) => Self::Array(it.into_iter().map(Self::from).collect()),
            Value::Object(it) => Self::Object(it.into()),
        }
    }
}

impl From<Object> for Map<String, serde_json::Value> {
    fn from(object: Object) -> Self {
        let fields = object.0.into_iter();
        fields
            .map(|(key, value)| (key.into_owned(), value.into()))
            .collect()
    }
}

impl From<Object> for serde_json::Value {
    fn from(object: Object) -> Self {
        Self::Object(object.into())
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<bool> for Value {
    fn from(it: bool) -> Self {
        Self::Bool(it)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number.into())
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<Vec<Self>> for Value {
    fn from(list: Vec<Self>) -> Self {
        Self::Array(list)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(it) => serializer.serialize_bool(*it),
            Self::Number(it) => it.serialize(serializer),
            Self::String(it) => serializer.serialize_str(it),
            Self::Array(list) => {
                let mut items = serializer.serialize_seq(Some(list.len()))?;
                for item in list {
                    items.serialize_element(item)?;
                }
                items.end()
            }
            Self::Object(it) => it.serialize(serializer),
        }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            fields.serialize_entry(&**key, value)?;
        }
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectReader)
    }
}

/// Reads what the host has written itself: no object has a name twice.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, it: bool) -> Result<Value, E> {
        Ok(Value::Bool(it))
    }

    fn visit_i64<E>(self, it: i64) -> Result<Value, E> {
        Ok(Value::Number(it.into()))
    }

    fn visit_u64<E>(self, it: u64) -> Result<Value, E> {
        Ok(Value::Number(it.into()))
    }

    fn visit_f64<E>(self, it: f64) -> Result<Value, E> {
        Ok(Number::from_f64(it).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, it: &str) -> Result<Value, E> {
        Ok(Value::String(it.to_owned().into()))
    }

    fn visit_string<E>(self, it: String) -> Result<Value, E> {
        Ok(Value::String(it.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Value, A::Error> {
        ObjectReader.visit_map(fields).map(Value::Object)
    }
}

/// How many fields most objects have at most.
const FIELDS: usize = 8;

struct ObjectReader;

impl<'de> Visitor<'de> for ObjectReader {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Object, A::Error> {
        let mut object = Object::with_capacity(FIELDS);
        while let Some(key) = fields.next_key::<Name>()? {
            object.add(key.0, fields.next_value()?);
        }
        Ok(object)
    }
}

/// The name of a field. Those that most turns have are not copied.
struct Name(Text);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NameReader)
    }
}

struct NameReader;

impl Visitor<'_> for NameReader {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name, E> {
        let common = common_name(name).map(Text::Borrowed);
        Ok(Name(common.unwrap_or_else(|| name.to_owned().into())))
    }
}

fn common_name(name: &str) -> Option<&'static str> {
    macro_rules! one_of {
        ($($common:literal)*) => {
            match name {
                $($common => Some($common),)*
                _ => None,
            }
        };
    }
    one_of! {
        "_meta" "cachedTokens" "confirmed" "content" "contentType" "displayName" "duration" "error"
        "id" "inputTokens" "intention" "invocationMessage" "kind" "markdown" "message" "model"
        "origin" "outputTokens" "pastTenseMessage" "resource" "responseParts" "result"
        "startedAt" "state" "status" "success" "text" "title" "toolCall" "toolCallId"
        "toolInput" "toolName" "type" "uri" "usage"
    }
}
