//! JSON as the gates change it.
//!
//! `serde_json` keeps an object in a hash table, with a copy of each name. Here
//! it is a list: most objects have few fields, and what the protocol's types
//! call them need not be copied. Building such a tree and looking through it
//! costs a fraction.
//!
//! *Invariant*: nothing takes longer than in proportion to what there is, also
//! where an object has very many fields. Looking for one goes through all of
//! them, so whoever builds an object *adds* fields that are known to differ, and gates look for a fixed number of names.

mod building;
mod exchange;

use std::borrow::Cow;
use std::fmt;
use std::ops::Index;

use serde::Serialize;
use serde_json::Number;

pub(crate) use building::build;

/// A name or a text. What stands in the program is not copied.
pub(crate) type Text = Cow<'static, str>;

#[derive(Clone, Default, PartialEq)]
pub enum Value {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    String(Text),
    Array(Vec<Self>),
    Object(Object),
}

/// A literal, in the words of `serde_json::json!`.
macro_rules! json {
    ($($literal:tt)*) => {
        $crate::gates::tree::Value::from(serde_json::json!($($literal)*))
    };
}
pub(crate) use json;

static NULL: Value = Value::Null;

impl Value {
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.as_u64(),
            _ => None,
        }
    }

    pub(crate) fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(number) => number.as_i64(),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&Vec<Self>> {
        match self {
            Self::Array(list) => Some(list),
            _ => None,
        }
    }

    pub(crate) fn as_array_mut(&mut self) -> Option<&mut Vec<Self>> {
        match self {
            Self::Array(list) => Some(list),
            _ => None,
        }
    }

    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub(crate) fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// A field, if this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.as_object_mut()?.get_mut(key)
    }

    /// What is here, which is `null` from then on.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// A field that is taken out; `null` if there is none.
    pub(crate) fn take_field(&mut self, key: &str) -> Self {
        self.get_mut(key).map(Self::take).unwrap_or_default()
    }
}

/// A field, or `null`.
impl Index<&str> for Value {
    type Output = Self;

    fn index(&self, key: &str) -> &Self {
        self.get(key).unwrap_or(&NULL)
    }
}

impl PartialEq<str> for Value {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<&str> for Value {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(other)
    }
}

/// As JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_json(self, f)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_json(self, f)
    }
}

fn write_json(it: &impl Serialize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&serde_json::to_string(it).map_err(|_| fmt::Error)?)
}

/// The fields of an object, in their order. Each name occurs once.
#[derive(Clone, Default)]
pub struct Object(Vec<(Text, Value)>);

impl Object {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn with_capacity(fields: usize) -> Self {
        Self(Vec::with_capacity(fields))
    }

    fn place(&self, key: &str) -> Option<usize> {
        self.0.iter().position(|(name, _)| name == key)
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        self.place(key).map(|at| &self.0[at].1)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.place(key).map(|at| &mut self.0[at].1)
    }

    pub fn contains_key(&self, key: &str) -> bool {
        self.place(key).is_some()
    }

    pub fn insert(&mut self, key: Text, value: Value) -> Option<Value> {
        match self.place(&key) {
            Some(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            None => {
                self.0.push((key, value));
                None
            }
        }
    }

    /// Puts a field behind the others, none of which has its name.
    pub(crate) fn add(&mut self, key: Text, value: Value) {
        self.0.push((key, value));
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Value> {
        self.place(key).map(|at| self.0.remove(at).1)
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&str, &Value) -> bool) {
        self.0.retain(|(key, value)| keep(key, value));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Adds fields, or replaces those that are there: a few.
    pub(crate) fn extend(&mut self, fields: Self) {
        for (key, value) in fields.0 {
            self.insert(key, value);
        }
    }

    /// Takes out those fields of which somebody says so.
    pub(crate) fn retain_mut(&mut self, mut keep: impl FnMut(&str, &mut Value) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }
}

/// The order of fields means nothing.
impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        if self.0.len() != other.0.len() {
            return false;
        }
        let mut pairs = self.0.iter().zip(&other.0);
        if pairs.all(|((a, _), (b, _))| a == b) {
            return self.0 == other.0;
        }
        let sorted = |it: &Self| {
            let mut places: Vec<usize> = (0..it.0.len()).collect();
            places.sort_unstable_by_key(|at| &it.0[*at].0);
            places
        };
        let (mine, theirs) = (sorted(self), sorted(other));
        let mut pairs = mine.into_iter().zip(theirs);
        pairs.all(|(a, b)| self.0[a] == other.0[b])
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_json(self, f)
    }
}

/// A field, or `null`.
impl Index<&str> for Object {
    type Output = Value;

    fn index(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&NULL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(fields: impl Iterator<Item = u64>) -> Object {
        let mut object = Object::new();
        for number in fields {
            object.add(format!("field {number}").into(), number.into());
        }
        object
    }

    #[test]
    fn objects_are_the_same_in_any_order_however_large_they_are() {
        let many = 100_000;
        assert_eq!(object(0..many), object((0..many).rev()));
        assert_ne!(object(0..many), object((1..=many).rev()));
        let mut other = object((0..many).rev());
        other.insert("field 7".into(), Value::Null);
        assert_ne!(object(0..many), other);
    }

    #[test]
    fn a_field_that_is_replaced_keeps_its_place_and_one_that_goes_leaves_no_gap() {
        let mut it = object(0..3);
        assert_eq!(
            it.insert("field 1".into(), "x".into()),
            Some(Value::from(1_u64))
        );
        assert_eq!(it.remove("field 0"), Some(Value::from(0_u64)));
        assert_eq!(it.remove("field 0"), None);
        assert_eq!(format!("{it:?}"), r#"{"field 1":"x","field 2":2}"#);
        assert_eq!(it["field 9"], Value::Null);
    }
}
