//! Which version each client speaks that is here, or was: frames are read on
//! the connection's own task, before the engine has seen who it is.
//!
//! *Invariant*: this is what the engine knows, no more and no less. It begins
//! with the same records, and nothing but effects of the engine changes it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::ClientId;
use innkeeper_protocol::record::ClientRecord;
use innkeeper_protocol::version::Version;

#[derive(Debug, Default)]
pub(crate) struct ClientVersions {
    versions: Mutex<HashMap<ClientId, Version>>,
}

impl ClientVersions {
    /// Those that the store remembers.
    pub(crate) fn new(clients: &[ClientRecord]) -> Self {
        let versions = clients
            .iter()
            .filter_map(|client| Some((client.client_id.clone(), client.speaks()?)));
        Self {
            versions: Mutex::new(versions.collect()),
        }
    }

    /// What a client spoke when it was last here, if anybody knows.
    pub(crate) fn of(&self, client: &str) -> Option<Version> {
        self.lock().get(client).copied()
    }

    pub(crate) fn remember(&self, client: ClientId, version: Version) {
        self.lock().insert(client, version);
    }

    pub(crate) fn forget(&self, client: &ClientId) {
        self.lock().remove(client);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ClientId, Version>> {
        self.versions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
