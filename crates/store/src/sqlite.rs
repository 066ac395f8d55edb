//! The store in a directory: one SQLite file, one connection that writes and a
//! few that read beside it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::record::store::{Archive, Journal, Notify, Store, StoreFault};
use innkeeper_protocol::record::{Boot, StoreBatch};
use rusqlite::limits::Limit;
use rusqlite::{Connection, TransactionBehavior};

use crate::sequence::Sequence;
use crate::{StoreError, StoreOptions, Writer};

mod apply;
mod aside;
mod backup;
mod boot;
mod directory;
mod json;
mod log;
mod looking;
mod pool;
mod reader;
mod schema;
mod sequence;
mod sessions;

pub use backup::{BACKUPS_DIRECTORY, Contents, PARTIAL_PREFIX, Restored, backup, restore};
pub use directory::{DATABASE_FILE, LOCK_FILE};
pub use looking::{Room, check_soundness, room};
pub use reader::{Reader, open_read_only};

/// The open store: whoever has it is the only one that writes.
#[derive(Debug)]
pub struct SqliteStore {
    db: Arc<Mutex<Connection>>,
    sequence: Sequence,
    options: StoreOptions,
    reader: Reader,
    dir: PathBuf,
    /// The lock lasts as long as its file is open.
    _lock: File,
}

impl SqliteStore {
    /// Opens the store in `dir`, which is created if it does not exist.
    pub fn open(dir: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let lock = directory::claim(dir)?;
        let mut connection = directory::connect(dir, options.sync)?;
        connection.set_prepared_statement_cache_capacity(64);
        backup::before_upgrade(&connection, dir, options.now)?;
        schema::migrate(&mut connection)?;
        Ok(Self {
            sequence: sequence::load(&connection)?,
            db: Arc::new(Mutex::new(connection)),
            options,
            reader: Reader::over(dir),
            dir: dir.to_owned(),
            _lock: lock,
        })
    }

    /// Refuses values of more bytes than this, as SQLite does with those of
    /// more than a gigabyte: for tests, which cannot afford a gigabyte.
    pub fn refuse_values_beyond(&self, bytes: i32) -> Result<(), StoreError> {
        lock(&self.db).set_limit(Limit::SQLITE_LIMIT_LENGTH, bytes)?;
        Ok(())
    }

    /// Gives the room that holds nothing back to the disk, and says how many
    /// bytes that were. It needs as much room again for a moment.
    pub fn shrink(&mut self) -> Result<u64, StoreError> {
        let before = looking::room_of(&lock(&self.db))?.bytes;
        lock(&self.db).execute_batch("VACUUM")?;
        self.checkpoint()?;
        let after = looking::room_of(&lock(&self.db))?.bytes;
        Ok(before.saturating_sub(after))
    }

    fn begin_life(&mut self) -> Result<Boot, StoreError> {
        let mut db = lock(&self.db);
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        sessions::purge_disposed(&tx, self.options.kept_since())?;
        let (sequence, epochs) = sequence::begin_life(&tx)?;
        let boot = boot::boot(&tx, &sequence, epochs)?;
        tx.commit()?;
        self.sequence = sequence;
        Ok(boot)
    }

    fn commit(&mut self, batches: &[StoreBatch]) -> Result<(), StoreError> {
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

    fn delete_for_good(&mut self, session: &ChannelUri) -> Result<bool, StoreError> {
        let mut db = lock(&self.db);
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        sessions::forget_log(&tx, session)?;
        let existed = sessions::purge(&tx, session)?;
        tx.commit()?;
        Ok(existed)
    }

    /// Moves what the write-ahead log holds into the database.
    fn checkpoint(&self) -> Result<(), StoreError> {
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        lock(&self.db).query_row(sql, [], |_| Ok(()))?;
        Ok(())
    }
}

impl Store for SqliteStore {
    fn begin(&mut self) -> Result<Boot, StoreFault> {
        Ok(self.begin_life()?)
    }

    fn archive(&self) -> Result<Arc<dyn Archive>, StoreFault> {
        Ok(Arc::new(self.reader.clone()))
    }

    fn apply(&mut self, batches: &[StoreBatch]) -> Result<(), StoreFault> {
        Ok(self.commit(batches)?)
    }

    fn set_aside(&mut self, batch: &StoreBatch, reason: &str) -> Result<String, StoreFault> {
        let dir = &self.dir;
        let written = aside::write(dir, batch, reason).map_err(|source| StoreError::Directory {
            dir: dir.join(aside::DIRECTORY),
            source,
        });
        Ok(written?.display().to_string())
    }

    fn restore(&mut self, session: &ChannelUri) -> Result<bool, StoreFault> {
        Ok(sessions::restore(&lock(&self.db), session)?)
    }

    fn delete(&mut self, session: &ChannelUri) -> Result<bool, StoreFault> {
        Ok(self.delete_for_good(session)?)
    }

    fn start(self: Box<Self>, notify: Notify) -> Result<Box<dyn Journal>, StoreFault> {
        let group_commit = self.options.group_commit;
        Ok(Box::new(Writer::spawn(self, group_commit, notify)?))
    }

    /// Its last connection must be the one that writes, else the write-ahead
    /// log would stay behind: the next opening would have a little more to do.
    fn close(self: Box<Self>) -> Result<(), StoreFault> {
        self.reader.close();
        Ok(self.checkpoint()?)
    }
}

fn lock(db: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    // A panic amid a transaction rolled it back on its way out.
    db.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
