//! From the protocol's own types to a tree, without a way through text.

use serde::ser::{self, Error as _, Serialize};
use serde_json::{Error, Number};

use super::{Object, Text, Value};

/// The tree of something that the host says. The names of fields, and words
/// that stand in the program, are not copied.
pub(crate) fn build(it: &impl Serialize) -> serde_json::Result<Value> {
    it.serialize(Builder)
}

struct Builder;

fn number(number: impl Into<Number>) -> Result<Value, Error> {
    Ok(Value::Number(number.into()))
}

/// Something that is called by its variant: `{"variant": value}`.
fn of_variant(variant: &'static str, value: Value) -> Value {
    let mut object = Object::with_capacity(1);
    object.add(variant.into(), value);
    Value::Object(object)
}

impl ser::Serializer for Builder {
    type Ok = Value;
    type Error = Error;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = List;
    type SerializeMap = Fields;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Fields;

    fn serialize_bool(self, it: bool) -> Result<Value, Error> {
        Ok(Value::Bool(it))
    }

    fn serialize_i8(self, it: i8) -> Result<Value, Error> {
        number(it)
    }

    fn serialize_i16(self, it: i16) -> Result<Value, Error> {
        number(it)
    }

    fn serialize_i32(self, it: i32) -> Result<Value, Error> {
        number(it)
    }

    fn serialize_i64(self, it: i64) -> Result<Value, Error> {
        number(it)
    }

    fn serialize_u8(self, it: u8) -> Result<Value, Error> {
        number(it)
    }

    fn serialize_u16(self, it: u16) -> Result<Value, Error> {
        number(it)
    }

    fn serialize_u32(self, it: u32) -> Result<Value, Error> {
        number(it)
    }

    fn serialize_u64(self, it: u64) -> Result<Value, Error> {
        number(it)
    }

    fn serialize_f32(self, it: f32) -> Result<Value, Error> {
        self.serialize_f64(it.into())
    }

    fn serialize_f64(self, it: f64) -> Result<Value, Error> {
        Ok(Number::from_f64(it).map_or(Value::Null, Value::Number))
    }

    fn serialize_char(self, it: char) -> Result<Value, Error> {
        Ok(it.to_string().into())
    }

    fn serialize_str(self, it: &str) -> Result<Value, Error> {
        Ok(it.to_owned().into())
    }

    fn serialize_bytes(self, it: &[u8]) -> Result<Value, Error> {
        let bytes = it.iter().map(|byte| Value::from(u64::from(*byte)));
        Ok(Value::Array(bytes.collect()))
    }

    fn serialize_none(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, it: &T) -> Result<Value, Error> {
        it.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value, Error> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<Value, Error> {
        Ok(variant.into())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        it: &T,
    ) -> Result<Value, Error> {
        it.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        it: &T,
    ) -> Result<Value, Error> {
        Ok(of_variant(variant, it.serialize(self)?))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<List, Error> {
        Ok(List {
            items: Vec::with_capacity(length.unwrap_or_default()),
            variant: None,
        })
    }

    fn serialize_tuple(self, length: usize) -> Result<List, Error> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<List, Error> {
        self.serialize_seq(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<List, Error> {
        let variant = Some(variant);
        let list = self.serialize_seq(Some(length))?;
        Ok(List { variant, ..list })
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Fields, Error> {
        Ok(Fields {
            object: Object::with_capacity(length.unwrap_or_default()),
            key: Text::default(),
            variant: None,
        })
    }

    fn serialize_struct(self, _name: &'static str, length: usize) -> Result<Fields, Error> {
        self.serialize_map(Some(length))
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Fields, Error> {
        let variant = Some(variant);
        let fields = self.serialize_map(Some(length))?;
        Ok(Fields { variant, ..fields })
    }
}

struct List {
    items: Vec<Value>,
    variant: Option<&'static str>,
}

impl List {
    fn push(&mut self, it: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.items.push(it.serialize(Builder)?);
        Ok(())
    }

    fn finish(self) -> Value {
        let list = Value::Array(self.items);
        match self.variant {
            Some(variant) => of_variant(variant, list),
            None => list,
        }
    }
}

impl ser::SerializeSeq for List {
    type Ok = Value;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), Error> {
        self.push(it)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

impl ser::SerializeTuple for List {
    type Ok = Value;
    type Error = Error;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), Error> {
        self.push(it)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

impl ser::SerializeTupleStruct for List {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), Error> {
        self.push(it)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

impl ser::SerializeTupleVariant for List {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), Error> {
        self.push(it)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

struct Fields {
    object: Object,
    /// Of the value that comes next.
    key: Text,
    variant: Option<&'static str>,
}

impl Fields {
    fn add(&mut self, key: &'static str, it: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.object.add(key.into(), it.serialize(Builder)?);
        Ok(())
    }

    fn finish(self) -> Value {
        let object = Value::Object(self.object);
        match self.variant {
            Some(variant) => of_variant(variant, object),
            None => object,
        }
    }
}

impl ser::SerializeMap for Fields {
    type Ok = Value;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = match key.serialize(Builder)? {
            Value::String(key) => key,
            Value::Bool(it) => it.to_string().into(),
            Value::Number(it) => it.to_string().into(),
            _ => return Err(Error::custom("a key must be a string")),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, it: &T) -> Result<(), Error> {
        let key = std::mem::take(&mut self.key);
        self.object.add(key, it.serialize(Builder)?);
        Ok(())
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

impl ser::SerializeStruct for Fields {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        it: &T,
    ) -> Result<(), Error> {
        self.add(key, it)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

impl ser::SerializeStructVariant for Fields {
    type Ok = Value;
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        key: &'static str,
        it: &T,
    ) -> Result<(), Error> {
        self.add(key, it)
    }

    fn end(self) -> Result<Value, Error> {
        Ok(self.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    enum Shape {
        Unit,
        Newtype(i8),
        Tuple(u16, Option<char>),
        Struct { a_field: f32, none: Option<()> },
    }

    #[derive(serde::Serialize)]
    struct All {
        shapes: Vec<Shape>,
        by_number: BTreeMap<u32, (bool, f64)>,
        by_name: BTreeMap<String, serde_json::Value>,
        bytes: &'static [u8],
        infinite: f64,
    }

    #[test]
    fn a_tree_is_what_serde_json_makes_of_the_same() {
        let all = All {
            shapes: vec![
                Shape::Unit,
                Shape::Newtype(-3),
                Shape::Tuple(7, Some('ä')),
                Shape::Struct {
                    a_field: 0.5,
                    none: None,
                },
            ],
            by_number: BTreeMap::from([(1, (true, 1e300))]),
            by_name: BTreeMap::from([("x".to_owned(), serde_json::json!({"y": [1, null, "z"]}))]),
            bytes: b"\x00\xff",
            infinite: f64::INFINITY,
        };
        let expected = serde_json::to_value(&all).unwrap();
        let built = build(&all).unwrap();
        assert_eq!(serde_json::to_value(&built).unwrap(), expected);
        assert_eq!(serde_json::Value::from(built.clone()), expected);
        assert_eq!(Value::from(expected.clone()), built);
        let text = expected.to_string();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), built);
    }
}
