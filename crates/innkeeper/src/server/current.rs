//! A value that everybody shares and that may be replaced while they use it.

use std::sync::{Arc, PoisonError, RwLock};

#[derive(Debug)]
pub(crate) struct Current<T>(RwLock<Arc<T>>);

impl<T> Current<T> {
    pub(crate) fn new(value: T) -> Arc<Self> {
        Arc::new(Self(RwLock::new(Arc::new(value))))
    }

    /// The value of this moment, which stays as it is.
    pub(crate) fn get(&self) -> Arc<T> {
        let value = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&value)
    }

    pub(crate) fn set(&self, value: T) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
    }
}
