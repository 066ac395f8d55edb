//! The functions through which all JSON enters and leaves the database.

use std::borrow::Cow;
use std::sync::Arc;

use innkeeper_protocol::record::pressed::{self, Pressed, Stored};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql};
use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::value::RawValue;

use crate::StoreError;

pub(crate) fn json<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Unwritable { what, source })
}

pub(crate) fn parsed<T: DeserializeOwned>(what: &'static str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|source| StoreError::Unreadable { what, source })
}

/// Stored JSON as it is: checked for being JSON, which is one scan over text
/// that we wrote ourselves, and not built into anything.
pub(crate) fn raw(what: &'static str, json: String) -> Result<Arc<RawValue>, StoreError> {
    RawValue::from_string(json)
        .map(Arc::from)
        .map_err(|source| StoreError::Unreadable { what, source })
}

/// JSON for a column in which it may be pressed: much of it is the same in all
/// sessions. What is pressed is a blob, and what is not is text, as all of it
/// was in older databases.
pub(crate) struct Column(Pressed);

impl Column {
    pub(crate) fn of(json: &str) -> Self {
        Self(Pressed::of(json))
    }
}

impl ToSql for Column {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0.stored() {
            Stored::Text(text) => ValueRef::Text(text.as_bytes()),
            Stored::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// What such a column holds, if anything.
fn stored<'a>(row: &'a Row<'_>, column: usize) -> Result<Option<Stored<'a>>, StoreError> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Blob(bytes) => Some(Stored::Bytes(bytes)),
        other => Some(Stored::Text(other.as_str().map_err(rusqlite::Error::from)?)),
    })
}

/// The same without looking into it.
pub(crate) fn pressed(row: &Row<'_>, column: usize) -> Result<Option<Pressed>, StoreError> {
    Ok(stored(row, column)?.map(Pressed::from_stored))
}

/// The JSON in such a column, if there is any.
pub(crate) fn text_or_null<'a>(
    what: &'static str,
    row: &'a Row<'_>,
    column: usize,
) -> Result<Option<Cow<'a, str>>, StoreError> {
    Ok(match stored(row, column)? {
        None => None,
        Some(Stored::Text(text)) => Some(text.into()),
        Some(bytes) => Some(unpressed(what, bytes)?.into()),
    })
}

pub(crate) fn unpressed(what: &'static str, stored: Stored<'_>) -> Result<String, StoreError> {
    pressed::text(stored).map_err(|spoilt| StoreError::Unreadable {
        what,
        source: serde_json::Error::custom(spoilt),
    })
}

/// The JSON in such a column that is never empty.
pub(crate) fn text<'a>(
    what: &'static str,
    row: &'a Row<'_>,
    column: usize,
) -> Result<Cow<'a, str>, StoreError> {
    Ok(text_or_null(what, row, column)?.unwrap_or_default())
}
