//! Which client speaks which version: frames are read on the connection's own
//! task, before the engine has seen who it is.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use innkeeper_protocol::command::Introduction;
use innkeeper_protocol::record::ClientRecord;
use innkeeper_protocol::version::Version;

/// Whoever is forgotten here and comes back is taken for a client of the
/// newest version, as the engine does.
const REMEMBERED: usize = 20_000;

/// The versions of clients that are here, or were, also before a restart.
#[derive(Debug, Default)]
pub(crate) struct Speakers {
    versions: Mutex<HashMap<String, Version>>,
}

impl Speakers {
    pub(crate) fn new(clients: &[ClientRecord]) -> Self {
        let versions = clients.iter().filter_map(|client| {
            let version = Version::from_wire(&client.version)?;
            Some((client.client_id.clone(), version))
        });
        Self {
            versions: Mutex::new(versions.collect()),
        }
    }

    /// The version that a connection speaks from this frame on, if the frame
    /// says who is there.
    pub(crate) fn heard(&self, text: &str) -> Option<Version> {
        let introduction = Introduction::read(text)?;
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        match introduction {
            Introduction::New { client_id, version } => {
                let version = version?;
                if versions.len() >= REMEMBERED {
                    versions.clear();
                }
                versions.insert(client_id, version);
                Some(version)
            }
            Introduction::Return { client_id } => {
                Some(versions.get(&client_id).copied().unwrap_or(Version::NEWEST))
            }
        }
    }
}
