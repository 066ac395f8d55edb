//! What the store does once a second while the host runs, and once a day.

use innkeeper_protocol::record::store::Tended;

use super::bookmark::{self, Bookmark};
use super::{SqliteStore, indexing, lock, log, sessions, space};
use crate::StoreError;
use crate::days::DAY;

/// How much is put into the index before the store is closed.
const PIECES_BEFORE_END: usize = 64;

impl SqliteStore {
    /// Notes how far this life has come, if it has come further.
    pub(super) fn note(&mut self) {
        let now = Bookmark::of(&self.sequence);
        if !self.has_begun || self.noted == Some(now) {
            return;
        }
        match now.write(&self.dir) {
            Ok(()) => self.noted = Some(now),
            // It is a help, and not needed for anything.
            Err(error) => tracing::warn!(
                %error,
                file = bookmark::FILE,
                "a loss in the database could not be noticed"
            ),
        }
    }

    /// What is due once a second.
    pub(super) fn keep(&mut self) -> Result<Tended, StoreError> {
        let is_idle = !std::mem::take(&mut self.is_busy);
        self.note();
        while self.ran_today >= DAY {
            self.pass_day()?;
        }
        if is_idle {
            self.give_room_back()?;
        }
        let is_behind = self.index_some()?;
        Ok(Tended {
            is_behind,
            ..self.look_at_log(is_idle)?
        })
    }

    /// Brings the index closer to what is stored; whether it is still behind.
    fn index_some(&mut self) -> Result<bool, StoreError> {
        if !indexing::is_behind(&lock(&self.db))? {
            return Ok(false);
        }
        self.write(|tx, _| indexing::catch_up(tx))?;
        indexing::is_behind(&lock(&self.db))
    }

    /// Whoever looks at what is left should find the last turns, too; what
    /// takes longer is for the next life.
    pub(super) fn index_before_end(&mut self) -> Result<(), StoreError> {
        for _ in 0..PIECES_BEFORE_END {
            if !self.index_some()? {
                break;
            }
        }
        Ok(())
    }

    /// The host has run for another day.
    fn pass_day(&mut self) -> Result<(), StoreError> {
        let (keep_days, now) = (self.options.keep_disposed_days, self.now());
        self.write(|tx, _| {
            let mut days = sessions::host_days(tx)?;
            days.pass(now);
            sessions::set_host_days(tx, days)?;
            sessions::purge_disposed(tx, keep_days)
        })?;
        self.ran_today -= DAY;
        Ok(())
    }

    fn give_room_back(&mut self) -> Result<(), StoreError> {
        let is_any = space::is_any(&lock(&self.db))?;
        if is_any {
            self.write(|tx, _| space::give_back(tx))?;
            self.gave_back = true;
        } else if std::mem::take(&mut self.gave_back) {
            // The file becomes smaller when all of the write-ahead log is moved.
            let sql = "PRAGMA wal_checkpoint(PASSIVE)";
            let (pages, moved) = lock(&self.db).query_row(sql, [], |row| {
                Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            })?;
            self.gave_back = pages != moved || pages < 0;
        }
        Ok(())
    }

    fn look_at_log(&mut self, is_idle: bool) -> Result<Tended, StoreError> {
        let limit = self.options.log_bytes;
        let look = match self.log_bytes {
            None => is_idle,
            Some(most) => most > limit,
        };
        if !look {
            return Ok(Tended::default());
        }
        let (bytes, below) = log::measure(&lock(&self.db), limit)?;
        self.log_bytes = Some(bytes);
        Ok(Tended {
            trim_log_below: (bytes > limit).then_some(below),
            ..Tended::default()
        })
    }
}
