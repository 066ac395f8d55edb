//! What the store does once a second while the host runs, and once a day.

use std::time::Duration;

use innkeeper_protocol::record::store::Tended;

use super::plan::count;
use super::reader::{get, number};
use super::{PostgresError, PostgresStore, boot, indexing};
use crate::days::DAY;
use crate::sqlite::bookmark::{self, Bookmark};

/// A lease that was renewed by a commit a moment ago need not be renewed.
const FRESH: Duration = Duration::from_millis(500);

/// How much is put into the index before the store is closed.
const PIECES_BEFORE_END: usize = 16;

impl PostgresStore {
    /// Notes how far this life has come, if it has come further.
    pub(super) fn note(&mut self) {
        let now = Bookmark::of(&self.sequence);
        if !self.has_begun || self.noted == Some(now) {
            return;
        }
        match now.write(&self.options.dir) {
            Ok(()) => self.noted = Some(now),
            // It is a help, and not needed for anything.
            Err(error) => tracing::warn!(
                %error,
                file = bookmark::FILE,
                "a loss in the database could not be noticed"
            ),
        }
    }

    /// What is due once a second. If the database does not answer, that is what
    /// is reported.
    pub(super) fn keep(&mut self) -> Result<Tended, PostgresError> {
        if self.terms.since_renewal() >= FRESH
            && let Err(error) = self.renew()
        {
            return match error {
                PostgresError::Lost(_) => Err(error),
                error => Ok(Tended {
                    failing: Some(error.to_string()),
                    ..Tended::default()
                }),
            };
        }
        let is_idle = !std::mem::take(&mut self.is_busy);
        self.note();
        while self.ran_today >= DAY {
            self.pass_day()?;
        }
        let looked = self.look_at_log(is_idle)?;
        Ok(Tended {
            is_behind: self.index_some()?,
            ..looked
        })
    }

    /// Brings the index closer to what is stored; whether it is still behind.
    fn index_some(&mut self) -> Result<bool, PostgresError> {
        if !self.may_be_behind {
            return Ok(false);
        }
        let indexed = self.write(|db| {
            indexing::catch_up(db)?;
            indexing::is_behind(db)
        });
        match indexed {
            Ok(is_behind) => {
                self.may_be_behind = is_behind;
                Ok(is_behind)
            }
            Err(error @ PostgresError::Lost(_)) => Err(error),
            // It is tried again in a second; nothing else waits for it.
            Err(error) => {
                tracing::debug!(%error, "the index for searching cannot be kept at present");
                Ok(false)
            }
        }
    }

    /// Whoever looks at what is left should find the last turns, too; what
    /// takes longer is for the next life.
    pub(super) fn index_before_end(&mut self) {
        for _ in 0..PIECES_BEFORE_END {
            if !matches!(self.index_some(), Ok(true)) {
                break;
            }
        }
    }

    /// The host has run for another day.
    fn pass_day(&mut self) -> Result<(), PostgresError> {
        let (keep_days, now) = (self.options.store.keep_disposed_days, self.now());
        self.disposed = self.write(|db| {
            let mut days = boot::host_days(db)?;
            days.pass(now);
            boot::set_host_days(db, days)?;
            boot::purge_disposed(db, keep_days)
        })?;
        self.ran_today -= DAY;
        self.may_be_behind = true;
        Ok(())
    }

    fn look_at_log(&mut self, is_idle: bool) -> Result<Tended, PostgresError> {
        let limit = self.options.store.log_bytes;
        let look = match self.log_bytes {
            None => is_idle,
            Some(most) => most > limit,
        };
        if !look {
            return Ok(Tended::default());
        }
        // The lengths are known without the texts being read.
        let sql = "SELECT coalesce(max(total), 0)::bigint,
                       coalesce(max(last) FILTER (WHERE total > $1::bigint), 0)
                   FROM (SELECT last, sum(octet_length(action)
                           + coalesce(octet_length(origin), 0)
                           + coalesce(octet_length(facts), 0)
                           + coalesce(octet_length(cuts), 0)) OVER (ORDER BY last DESC) AS total
                       FROM log) AS sizes";
        let mut connection = self.connected()?;
        let rows = connection.query(sql, vec![count(limit / 4 * 3)])?;
        self.connection = Some(connection);
        let Some(row) = rows.first() else {
            return Ok(Tended::default());
        };
        let bytes = u64::try_from(get::<i64>(row, 0)?).unwrap_or(0);
        let below = number(get(row, 1)?).next();
        self.log_bytes = Some(bytes);
        Ok(Tended {
            trim_log_below: (bytes > limit).then_some(below),
            ..Tended::default()
        })
    }
}
