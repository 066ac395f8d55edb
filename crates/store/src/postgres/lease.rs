//! The lease: who may write, and until when. It is a row of the database, on
//! the database's own clock; this host only ever measures how long ago it
//! asked, by a clock that goes on while the machine sleeps.
//!
//! *Invariant*: every transaction that writes begins with [`Terms::fence`],
//! which fails if the lease is not this life's any more. So a host that lost
//! its lease can store nothing, whatever it believes about the time. What the
//! time is for: to have stopped, with all agents, before somebody else begins.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use innkeeper_process::system::since_boot;
use innkeeper_protocol::record::store::Tenure;
use tokio_postgres::Row;

use super::connection::{Said, Value};
use super::error::PostgresError;
use super::reader::get;
use super::schema::VERSION;
use crate::lease::Terms as Times;

/// The code of the error by which a fence fails: a division by zero.
pub(super) const FENCED: &str = "22012";

/// A lease that was given back ended at minus infinity, from which nothing can
/// be subtracted.
pub(super) const LOOK: &str = "SELECT life, owner, commits, address,
         greatest(0, extract(epoch FROM greatest(until, now()) - clock_timestamp()) * 1000)::bigint
     FROM lease";

/// The same, and behind it a stamp that changes whenever the row does.
pub(super) const LOOK_AND_STAMP: &str = "SELECT life, owner, commits, address,
         greatest(0, extract(epoch FROM greatest(until, now()) - clock_timestamp()) * 1000)::bigint,
         xmin::text
     FROM lease";

/// Waits for whoever writes it at this moment.
pub(super) const LOOK_AND_WAIT: &str =
    "SELECT life, owner, commits, address, 0::bigint FROM lease FOR UPDATE";

/// What the lease says.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) life: u64,
    pub(super) owner: Option<String>,
    pub(super) commits: u64,
    pub(super) address: String,
    pub(super) left: Duration,
}

impl Seen {
    pub(super) fn of(row: &Row) -> Result<Self, PostgresError> {
        let counted = |column| -> Result<u64, PostgresError> {
            Ok(u64::try_from(get::<i64>(row, column)?).unwrap_or(0))
        };
        Ok(Self {
            life: counted(0)?,
            owner: get(row, 1)?,
            commits: counted(2)?,
            address: get(row, 3)?,
            left: Duration::from_millis(counted(4)?),
        })
    }
}

/// One life's hold on the lease.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) life: u64,
    pub(super) owner: String,
    times: Times,
    /// When the last renewal that succeeded was sent, in milliseconds.
    renewed: AtomicU64,
    is_over: AtomicBool,
    address: Mutex<String>,
}

impl Terms {
    /// Takes the lease if nobody has it, for an owner of that name. Whoever could
    /// not use what is stored leaves it to others.
    pub(super) fn take(owner: &str, length: Duration, address: &str) -> Said {
        Said {
            sql: "UPDATE lease SET life = life + 1, owner = $1, address = $3,
                      until = clock_timestamp() + $2::bigint * interval '1 millisecond'
                  WHERE version <= $4 AND (owner IS NULL OR until < clock_timestamp())
                  RETURNING life, owner, commits, address, 0::bigint",
            values: vec![
                Value::Text(owner.to_owned()),
                millis(length),
                Value::Text(address.to_owned()),
                Value::Int(VERSION),
            ],
        }
    }

    /// Takes it although the database says that it lasts: its row is the one
    /// with this stamp, and was that for as long as it lasted.
    pub(super) fn take_unmoved(owner: &str, length: Duration, address: &str, stamp: &str) -> Said {
        let mut values = Self::take(owner, length, address).values;
        values.push(Value::Text(stamp.to_owned()));
        Said {
            sql: "UPDATE lease SET life = life + 1, owner = $1, address = $3,
                      until = clock_timestamp() + $2::bigint * interval '1 millisecond'
                  WHERE version <= $4 AND xmin::text = $5
                  RETURNING life, owner, commits, address, 0::bigint",
            values,
        }
    }

    /// Holds what was taken by a statement that was sent at `sent`.
    pub(super) fn taken(seen: &Seen, owner: &str, length: Duration, sent: Duration) -> Self {
        Self {
            life: seen.life,
            owner: owner.to_owned(),
            times: Times::new(length),
            renewed: AtomicU64::new(in_millis(sent)),
            is_over: AtomicBool::new(false),
            address: Mutex::new(seen.address.clone()),
        }
    }

    /// Renews the lease, and fails if it is another's. One that was made before
    /// the address was known does not take the address back, however late it
    /// comes.
    pub(super) fn fence(&self) -> Said {
        Said {
            sql: "WITH held AS (
                      UPDATE lease SET address = coalesce(nullif($4, ''), address),
                          until = clock_timestamp() + $3::bigint * interval '1 millisecond'
                      WHERE life = $1 AND owner = $2 RETURNING 1)
                  SELECT 1 / count(*) FROM held",
            values: self.values(),
        }
    }

    /// The same, and counts a commit: whoever does not hear of it can find out
    /// whether it happened.
    pub(super) fn fence_commit(&self, commits: u64) -> Said {
        let mut values = self.values();
        values.push(Value::Int(i64::try_from(commits).unwrap_or(i64::MAX)));
        Said {
            sql: "WITH held AS (
                      UPDATE lease SET address = coalesce(nullif($4, ''), address),
                          commits = commits + 1,
                          until = clock_timestamp() + $3::bigint * interval '1 millisecond'
                      WHERE life = $1 AND owner = $2 AND commits = $5 RETURNING 1)
                  SELECT 1 / count(*) FROM held",
            values,
        }
    }

    /// Gives the lease back, for whoever waits.
    pub(super) fn release(&self) -> Said {
        Said {
            sql: "UPDATE lease SET owner = NULL, until = '-infinity', address = ''
                  WHERE life = $1 AND owner = $2",
            values: vec![self.life_value(), Value::Text(self.owner.clone())],
        }
    }

    fn values(&self) -> Vec<Value> {
        let address = self.address.lock();
        let address = address.unwrap_or_else(PoisonError::into_inner).clone();
        vec![
            self.life_value(),
            Value::Text(self.owner.clone()),
            millis(self.times.length()),
            Value::Text(address),
        ]
    }

    fn life_value(&self) -> Value {
        Value::Int(i64::try_from(self.life).unwrap_or(i64::MAX))
    }

    pub(super) fn is_ours(&self, seen: &Seen) -> bool {
        seen.life == self.life && seen.owner.as_deref() == Some(&*self.owner)
    }

    /// A renewal that was sent at `sent` has succeeded.
    pub(super) fn renewed(&self, sent: Duration) {
        self.renewed.fetch_max(in_millis(sent), Ordering::AcqRel);
    }

    pub(super) fn since_renewal(&self) -> Duration {
        let renewed = Duration::from_millis(self.renewed.load(Ordering::Acquire));
        since_boot().saturating_sub(renewed)
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }
}

impl Tenure for Terms {
    fn left(&self) -> Duration {
        match self.is_over.load(Ordering::Acquire) {
            true => Duration::ZERO,
            false => self.times.left_after(self.since_renewal()),
        }
    }

    fn announce(&self, address: &str) {
        let mut known = self.address.lock().unwrap_or_else(PoisonError::into_inner);
        known.replace_range(.., address);
    }
}

fn in_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn millis(time: Duration) -> Value {
    Value::Int(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
