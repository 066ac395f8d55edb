//! The functions through which all JSON enters and leaves the database.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
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
