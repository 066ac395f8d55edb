//! Results that were put into JSON where they were made. The engine and the
//! writers of connections pass them on as they are.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A finished result, which is the same in every version. Clones share it.
#[derive(Clone)]
pub struct Finished(Arc<Inner>);

struct Inner {
    json: Box<RawValue>,
    /// What goes when the last clone does: whoever made the result counts by
    /// that how much of it there is.
    _held: Box<dyn Any + Send + Sync>,
}

impl Finished {
    pub fn new(json: Box<RawValue>, held: impl Any + Send + Sync) -> Self {
        let held = Box::new(held);
        Self(Arc::new(Inner { json, _held: held }))
    }

    pub fn json(&self) -> &str {
        self.0.json.get()
    }
}

impl fmt::Debug for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Finished({} bytes)", self.json().len())
    }
}

impl Serialize for Finished {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.json.serialize(serializer)
    }
}
