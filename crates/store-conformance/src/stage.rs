//! A store in use by one test.

use std::fmt;
use std::sync::Arc;

use innkeeper_protocol::record::store::{Archive, Store};
use innkeeper_protocol::record::{Boot, LoadedSession, StoreBatch, StoreOp};

use crate::records::batch;
use crate::{Opening, Subject};

/// A subject that is open, and what its last life was told.
pub struct Stage<S> {
    pub subject: S,
    pub store: Box<dyn Store>,
    pub archive: Arc<dyn Archive>,
    pub boot: Boot,
}

impl<S> fmt::Debug for Stage<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").finish_non_exhaustive()
    }
}

impl<S: Subject> Stage<S> {
    pub fn new(subject: S) -> Self {
        Self::opened(subject, &Opening::default())
    }

    pub fn opened(mut subject: S, opening: &Opening) -> Self {
        let mut store = subject.reopen(opening);
        Self {
            boot: store.begin().unwrap(),
            archive: store.archive().unwrap(),
            store,
            subject,
        }
    }

    pub fn apply(&mut self, ops: impl Into<Vec<StoreOp>>) {
        self.apply_all(&[batch(ops)]);
    }

    pub fn apply_all(&mut self, batches: &[StoreBatch]) {
        self.store.apply(batches).unwrap();
    }

    pub fn load(&self, session: &str) -> Option<LoadedSession> {
        self.archive.load_session(&session.into()).unwrap()
    }

    /// Dies, and lives again.
    pub fn crash(mut self) -> Self {
        self.subject.crash();
        Self::new(self.subject)
    }

    /// Ends, and begins again.
    pub fn restart(self) -> Self {
        self.restart_with(&Opening::default())
    }

    pub fn restart_with(self, opening: &Opening) -> Self {
        let Self {
            subject,
            store,
            archive,
            ..
        } = self;
        drop(archive);
        store.close().unwrap();
        Self::opened(subject, opening)
    }
}
