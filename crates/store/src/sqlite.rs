//! The store in a directory: one SQLite file, one connection that writes and a
//! few that read next to it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use innkeeper_protocol::record::store::{Archive, Journal, Notify, Store, StoreFault, Tended};
use innkeeper_protocol::record::{Boot, StoreBatch};
use innkeeper_protocol::{ChannelUri, Timestamp};
use rusqlite::limits::Limit;
use rusqlite::{Connection, TransactionBehavior};

use crate::sequence::Sequence;
use crate::{StoreError, StoreOptions, SyncMode, Writer};
use bookmark::Bookmark;
use checkpoints::Checkpoints;
use directory::Claim;
use loss::{Loss, Rescue};
use place::Place;

mod apply;
pub(crate) mod aside;
mod automations;
mod backup;
pub(crate) mod bookmark;
mod boot;
mod checkpoints;
pub(crate) mod directory;
mod indexing;
pub(crate) mod json;
pub(crate) mod log;
mod looking;
mod loss;
mod place;
mod reader;
mod schema;
mod search;
mod sequence;
mod sessions;
mod space;
mod upkeep;
mod usage;

pub use backup::{BACKUPS_DIRECTORY, Contents, PARTIAL_PREFIX, Restored, backup, restore};
pub use directory::{DATABASE_FILE, LOCK_FILE};
pub use looking::{Room, check_soundness, room};
pub use reader::{Reader, open_read_only};

/// How long after a rescue that failed another is tried.
const NEXT_RESCUE: Duration = Duration::from_secs(30);

/// The open store: whoever has it is the only one that writes.
#[derive(Debug)]
pub struct SqliteStore {
    /// First, as it ends before the connection that writes. Nothing once it
    /// closes.
    checkpoints: Option<Checkpoints>,
    db: Arc<Mutex<Connection>>,
    sequence: Sequence,
    options: StoreOptions,
    reader: Reader,
    dir: PathBuf,
    place: Place,
    /// Why it can no longer be used.
    loss: Option<Loss>,
    /// How long it has been open, as far as it was told.
    ran: Duration,
    rescue_tried_at: Duration,
    /// How long of that on this day of the host.
    ran_today: Duration,
    /// What is noted outside of the database.
    noted: Option<Bookmark>,
    has_begun: bool,
    /// How many bytes the log has at most; nothing if nobody has looked.
    log_bytes: Option<u64>,
    /// Something was written since it was last tended.
    is_busy: bool,
    /// Room was given back, but perhaps not yet by the file.
    gave_back: bool,
    /// Last, so that another host gets in only when SQLite has ended.
    _claim: Claim,
}

impl SqliteStore {
    /// Opens the store in `dir`, which is created if it does not exist.
    pub fn open(dir: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let claim = directory::claim(dir)?;
        let (mut connection, file) = directory::connect(dir, options.sync)?;
        connection.set_prepared_statement_cache_capacity(64);
        backup::before_upgrade(&connection, dir, options.now)?;
        let upgraded = schema::migrate(&mut connection)?;
        space::prepare(&connection, upgraded)?;
        let sequence = sequence::load(&connection)?;
        let checkpoints = Checkpoints::of(&mut connection, dir, options.sync)?;
        let place = Place::of(dir, &claim.file, file).map_err(|source| StoreError::Directory {
            dir: dir.to_owned(),
            source,
        })?;
        Ok(Self {
            sequence,
            db: Arc::new(Mutex::new(connection)),
            options,
            reader: Reader::over(dir),
            dir: dir.to_owned(),
            place,
            loss: None,
            ran: Duration::ZERO,
            rescue_tried_at: Duration::ZERO,
            ran_today: Duration::ZERO,
            noted: None,
            has_begun: false,
            log_bytes: None,
            is_busy: false,
            gave_back: false,
            checkpoints: Some(checkpoints),
            _claim: claim,
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

    /// The connection that writes, for whoever moves everything at once.
    #[cfg(feature = "postgres")]
    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        lock(&self.db)
    }

    fn begin_life(&mut self) -> Result<Boot, StoreError> {
        let (keep_days, now) = (self.options.keep_disposed_days, self.options.now);
        let noted = Bookmark::read(&self.dir);
        let (boot, sequence) = self.write(|tx, _| {
            let mut days = sessions::host_days(tx)?;
            days.start(now);
            sessions::set_host_days(tx, days)?;
            sessions::purge_disposed(tx, keep_days)?;
            let (sequence, epochs) = sequence::begin_life(tx, noted)?;
            Ok((boot::boot(tx, &sequence, epochs)?, sequence))
        })?;
        self.sequence = sequence;
        self.has_begun = true;
        Ok(boot)
    }

    fn commit(&mut self, batches: &[StoreBatch]) -> Result<(), StoreError> {
        if batches.iter().all(|batch| batch.ops.is_empty()) {
            return self.still_there();
        }
        let (sequence, bytes) = self.write(|tx, before| apply::apply(tx, before, batches))?;
        self.sequence = sequence;
        self.log_bytes = self.log_bytes.map(|before| before + bytes);
        self.is_busy = true;
        Ok(())
    }

    fn delete_for_good(&mut self, session: &ChannelUri) -> Result<bool, StoreError> {
        self.write(|tx, sequence| {
            sequence::save(&sequence, tx)?;
            sessions::forget_log(tx, session)?;
            sessions::purge(tx, session)
        })
    }

    /// One transaction. It counts as done only if the database is ours when it
    /// begins and still where it was when it has ended.
    fn write<T>(
        &mut self,
        change: impl FnOnce(&Connection, Sequence) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(loss) = &self.loss {
            return Err(StoreError::Lost(loss.to_string()));
        }
        let db = Arc::clone(&self.db);
        let mut db = lock(&db);
        let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if !sequence::is_in_life(&tx, self.sequence.life)? {
            drop(tx);
            let dir = self.dir.clone();
            return Err(self.lose(&db, Loss::Overtaken { dir }));
        }
        let done = change(&tx, self.sequence)?;
        tx.commit()?;
        drop(db);
        self.still_there()?;
        Ok(done)
    }

    /// Makes sure that what is written is found again.
    fn still_there(&mut self) -> Result<(), StoreError> {
        if let Some(loss) = &self.loss {
            return Err(StoreError::Lost(loss.to_string()));
        }
        let Some(missing) = self.place.missing() else {
            return Ok(());
        };
        let db = Arc::clone(&self.db);
        let db = lock(&db);
        let loss = Loss::Missing {
            missing,
            dir: self.dir.clone(),
            rescue: Rescue::Pending,
        };
        Err(self.lose(&db, loss))
    }

    fn lose(&mut self, db: &Connection, loss: Loss) -> StoreError {
        loss::abandon(db);
        // What is read next might come from other files.
        self.reader.close();
        let error = StoreError::Lost(loss.to_string());
        self.loss = Some(loss);
        error
    }

    /// Saves what there is; if that fails, again now and then.
    fn rescue_if_due(&mut self) {
        let Some(Loss::Missing { rescue, .. }) = &mut self.loss else {
            return;
        };
        let is_due = match rescue {
            Rescue::Pending => true,
            Rescue::Failed(_) => self.ran >= self.rescue_tried_at + NEXT_RESCUE,
            Rescue::Done(_) => false,
        };
        if is_due {
            self.rescue_tried_at = self.ran;
            let now = after(self.options.now, self.ran);
            *rescue = loss::rescue(&lock(&self.db), &self.place, &self.dir, now);
        }
    }

    fn now(&self) -> Timestamp {
        after(self.options.now, self.ran)
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

    fn tend(&mut self, ran: Duration) -> Result<Tended, StoreFault> {
        self.ran += ran;
        self.ran_today += ran;
        self.rescue_if_due();
        self.still_there()?;
        Ok(self.keep()?)
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
        Ok(self.write(|tx, _| sessions::restore(tx, session))?)
    }

    fn delete(&mut self, session: &ChannelUri) -> Result<bool, StoreFault> {
        Ok(self.delete_for_good(session)?)
    }

    fn is_quick(&self) -> bool {
        self.options.sync == SyncMode::Normal
    }

    fn start(self: Box<Self>, notify: Notify) -> Result<Box<dyn Journal>, StoreFault> {
        let group_commit = self.options.group_commit;
        Ok(Box::new(Writer::spawn(self, group_commit, notify)?))
    }

    /// Its last connection must be the one that writes, else the write-ahead
    /// log would stay behind: the next opening would have a little more to do.
    fn close(mut self: Box<Self>) -> Result<(), StoreFault> {
        if let Err(lost) = self.still_there() {
            self.rescue_if_due();
            return Err(self.still_there().err().unwrap_or(lost).into());
        }
        self.note();
        if let Err(error) = self.index_before_end() {
            tracing::warn!(%error, "some turns cannot be searched yet");
        }
        self.reader.close();
        self.checkpoints = None;
        Ok(self.checkpoint()?)
    }
}

fn after(time: Timestamp, passed: Duration) -> Timestamp {
    let passed = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(time.as_millis().saturating_add(passed))
}

fn lock(db: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    // A panic amid a transaction rolled it back on its way out.
    db.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
