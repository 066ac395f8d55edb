//! What Innkeeper keeps: sessions, transcripts, large contents and the log of
//! actions.
//!
//! - [`SqliteStore`] keeps them in a directory, in one file that `sqlite3` can
//!   read; [`open_read_only`] looks into such a directory;
//! - `PostgresStore` (feature `postgres`) keeps them in a database that several
//!   machines can reach, with a lease that says which of them writes;
//! - [`MemoryDisk`] keeps them as long as the process lasts;
//! - [`Writer`] makes a journal of any store: a thread that owns it and commits
//!   what came in meanwhile as one transaction.
//!
//! *Boundary*: nothing here knows clients, agents or reducers; the vocabulary
//! is that of [`innkeeper_protocol::record`], and the door that of its
//! [`store`](innkeeper_protocol::record::store) module. There is no clock but
//! the one that paces the writer's commits.

use std::time::Duration;

use innkeeper_protocol::Timestamp;

mod days;
mod error;
#[cfg(feature = "postgres")]
mod lease;
mod memory;
mod pool;
#[cfg(feature = "postgres")]
mod postgres;
mod search;
mod sequence;
mod sqlite;
mod tail;
#[cfg(feature = "postgres")]
mod transfer;
mod writer;

pub use error::StoreError;
pub use memory::{MemoryDisk, MemoryStore};
#[cfg(feature = "postgres")]
pub use postgres::{
    Candidate, Holder, PostgresAddress, PostgresError, PostgresOptions, PostgresReader,
    PostgresStore, has_password, is_postgres, open_postgres_read_only, without_password,
};
pub use sqlite::{
    BACKUPS_DIRECTORY, Contents, DATABASE_FILE, LOCK_FILE, PARTIAL_PREFIX, Reader, Restored, Room,
    SqliteStore, backup, check_soundness, open_read_only, restore, room,
};
#[cfg(feature = "postgres")]
pub use transfer::{StorePlace, TransferError, Transferred, transfer};
pub use writer::Writer;

/// When a commit counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// It survives the death of the process. Losing power may cost the last
    /// commits, but never harms the database.
    #[default]
    Normal,
    /// It survives the loss of power too: each commit waits for the disk.
    Full,
}

/// How a store is kept.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    pub sync: SyncMode,
    /// In how many days a host runs before a disposed session can no longer be
    /// brought back.
    pub keep_disposed_days: u64,
    /// How many bytes of actions the log may hold before it is trimmed.
    pub log_bytes: u64,
    /// The time of opening.
    pub now: Timestamp,
    /// How long a batch that is not urgent may wait for company.
    pub group_commit: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            sync: SyncMode::Normal,
            keep_disposed_days: 30,
            log_bytes: 256 * 1024 * 1024,
            now: Timestamp::default(),
            group_commit: Duration::from_millis(50),
        }
    }
}
