//! A process that was started to learn what an agent can do, for the session
//! that waits for that: it need not start another one.
//!
//! *Invariant*: a process that nobody takes within a moment is ended.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_client_protocol_schema::v1::InitializeResponse;

use super::rpc::Peer;
use super::sign_in::ways::Way;
use crate::child::Access;
use crate::process::ChildProcess;

/// How long a process waits for whoever wants it.
const KEPT: Duration = Duration::from_secs(2);

/// An agent that runs and was introduced to the host; no conversation is open.
#[derive(Debug)]
pub(super) struct Introduced {
    pub(super) process: ChildProcess,
    pub(super) peer: Peer,
    pub(super) about: InitializeResponse,
    pub(super) ways: Vec<Way>,
    /// The version of the keys that it was started with.
    pub(super) keys: u64,
}

#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Option<Introduced>>);

impl Spare {
    /// Keeps a process for a moment.
    pub(super) fn keep(self: &Arc<Self>, introduced: Introduced, grace: Duration) {
        let before = self.replace(Some(introduced));
        let slot = Arc::clone(self);
        tokio::spawn(async move {
            if let Some(before) = before {
                before.process.end(grace).await;
            }
            tokio::time::sleep(KEPT).await;
            if let Some(unwanted) = slot.replace(None) {
                unwanted.process.end(grace).await;
            }
        });
    }

    /// The process that is kept, if it is as one would be that is started in this
    /// directory now. (An agent works where its session does, wherever it was
    /// started.)
    pub(super) async fn take_for(&self, access: &Access, directory: &Path) -> Option<Introduced> {
        let mut kept = self.replace(None)?;
        let (program, keys) = access.program_now();
        let directory = program.directory.as_deref().unwrap_or(directory);
        let surroundings = program.environment.surroundings(Some(directory)).await;
        let is_same = kept.keys == keys && *kept.process.surroundings() == surroundings;
        if is_same && kept.process.is_running() && directory.is_dir() {
            return Some(kept);
        }
        kept.process.end(access.patience.ending).await;
        None
    }

    fn replace(&self, with: Option<Introduced>) -> Option<Introduced> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *slot, with)
    }
}
