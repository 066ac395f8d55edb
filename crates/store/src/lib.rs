//! What Innkeeper keeps: sessions, transcripts, large contents and the log of
//! actions, in one SQLite file that `sqlite3` can read.
//!
//! - [`Store`] owns the data directory and the only connection that writes;
//! - [`Reader`] looks at what is committed, from another thread;
//! - [`Writer`] is the thread that owns the store while the host runs, and
//!   commits what came in meanwhile as one transaction.
//!
//! *Invariant*: a batch is stored wholly or not at all, in the order of
//! submission, and a number of the sequence is never given out twice, over any
//! crash. *Boundary*: nothing here knows clients, agents or reducers; the
//! vocabulary is that of [`innkeeper_protocol::record`]. There is no clock but
//! the one that paces the writer's commits.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use innkeeper_protocol::record::{Boot, StoreBatch};
use innkeeper_protocol::{ChannelUri, Timestamp};
use rusqlite::{Connection, TransactionBehavior};

mod apply;
mod boot;
mod directory;
mod error;
mod json;
mod log;
mod reader;
mod schema;
mod sequence;
mod sessions;
mod writer;

pub use directory::{DATABASE_FILE, LOCK_FILE};
pub use error::StoreError;
pub use reader::{DisposedRow, Reader, open_read_only};
pub use writer::{CommitNo, Writer, WriterEvent};

use sequence::Sequence;

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
    /// How long a disposed session can still be brought back.
    pub keep_disposed: Duration,
    /// The time of opening: what is older than `keep_disposed` by then, goes.
    pub now: Timestamp,
    /// How long a batch that is not urgent may wait for company.
    pub group_commit: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self {
            sync: SyncMode::Normal,
            keep_disposed: 30 * DAY,
            now: Timestamp::default(),
            group_commit: Duration::from_millis(20),
        }
    }
}

type Db = Arc<Mutex<Connection>>;

fn lock(db: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    // A panic amid a transaction rolled it back on its way out.
    db.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The open store: whoever has it is the only one that writes.
#[derive(Debug)]
pub struct Store {
    db: Db,
    sequence: Sequence,
    options: StoreOptions,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Memory,
    /// The lock lasts as long as its file is open.
    Directory {
        dir: PathBuf,
        _lock: File,
    },
}

impl Store {
    /// Opens the store in `dir`, which is created if it does not exist, and
    /// begins a new life of the host: see [`Boot`].
    pub fn open(dir: &Path, options: StoreOptions) -> Result<(Self, Boot), StoreError> {
        let lock = directory::claim(dir)?;
        let connection = directory::connect(dir, options.sync)?;
        let place = Place::Directory {
            dir: dir.to_owned(),
            _lock: lock,
        };
        Self::begin(connection, options, place)
    }

    /// A store that is gone when it is dropped.
    pub fn open_in_memory() -> Result<(Self, Boot), StoreError> {
        let connection = Connection::open_in_memory()?;
        Self::begin(connection, StoreOptions::default(), Place::Memory)
    }

    fn begin(
        mut connection: Connection,
        options: StoreOptions,
        place: Place,
    ) -> Result<(Self, Boot), StoreError> {
        connection.set_prepared_statement_cache_capacity(64);
        schema::migrate(&mut connection)?;
        let store = Self {
            db: Arc::new(Mutex::new(connection)),
            sequence: Sequence::default(),
            options,
            place,
        };
        store.reopen()
    }

    /// Does what a restart of the host does, without leaving the process.
    pub fn reopen(mut self) -> Result<(Self, Boot), StoreError> {
        let (sequence, boot) = {
            let mut db = lock(&self.db);
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            sessions::purge_disposed(&tx, self.options.now, self.options.keep_disposed)?;
            let (sequence, epochs) = sequence::begin_life(&tx)?;
            let boot = boot::boot(&tx, &sequence, epochs)?;
            tx.commit()?;
            (sequence, boot)
        };
        self.sequence = sequence;
        Ok((self, boot))
    }

    /// Stores all batches, or none of them. After an error nothing has changed,
    /// and the same batches may be tried again.
    ///
    /// A new session under the URI of a disposed one replaces it together with
    /// its chats, so its `PutSession` goes before its `PutChat`s.
    pub fn apply(&mut self, batches: &[StoreBatch]) -> Result<(), StoreError> {
        if batches.iter().all(|batch| batch.ops.is_empty()) {
            return Ok(());
        }
        let mut db = lock(&self.db);
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let sequence = apply::apply(&tx, self.sequence, batches)?;
        tx.commit()?;
        self.sequence = sequence;
        Ok(())
    }

    /// A view of what is committed, for another thread.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        match &self.place {
            Place::Memory => Ok(Reader::over(Arc::clone(&self.db))),
            Place::Directory { dir, .. } => open_read_only(dir),
        }
    }

    /// Brings a disposed session back; `false` if there is none of that name.
    pub fn restore(&mut self, session: &ChannelUri) -> Result<bool, StoreError> {
        sessions::restore(&lock(&self.db), session)
    }

    /// Deletes a session for good, disposed or not; `false` if there is none.
    pub fn delete(&mut self, session: &ChannelUri) -> Result<bool, StoreError> {
        let mut db = lock(&self.db);
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        sessions::forget_log(&tx, session)?;
        let existed = sessions::purge(&tx, session)?;
        tx.commit()?;
        Ok(existed)
    }

    /// Moves what the write-ahead log holds into the database, and closes it.
    /// Without this nothing is lost; the next opening has a little more to do.
    pub fn close(self) -> Result<(), StoreError> {
        match self.place {
            Place::Memory => Ok(()),
            Place::Directory { .. } => {
                let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
                lock(&self.db).query_row(checkpoint, [], |_| Ok(()))?;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests;
