//! A value that everybody shares and that may be replaced while they use it.

use std::sync::Arc;

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Current<T>(watch::Sender<Arc<T>>);

impl<T> Current<T> {
    pub(crate) fn new(value: T) -> Arc<Self> {
        Arc::new(Self(watch::Sender::new(Arc::new(value))))
    }

    /// The value of this moment, which stays as it is.
    pub(crate) fn get(&self) -> Arc<T> {
        Arc::clone(&self.0.borrow())
    }

    pub(crate) fn set(&self, value: T) {
        self.0.send_replace(Arc::new(value));
    }

    /// Waits until this is true of the value.
    pub(crate) async fn becomes(&self, fits: impl Fn(&T) -> bool) {
        let mut changes = self.0.subscribe();
        // It ends with this value, which is borrowed.
        let _ = changes.wait_for(|value| fits(value)).await;
    }
}
