//! The numbered steps that lead from any released database to this one.
//!
//! *Invariant*: a step that was released is never edited; `user_version` counts
//! the steps that a database has seen, and changes together with them.

use rusqlite::{Connection, TransactionBehavior};

use crate::StoreError;

const STEPS: &[&str] = &[
    include_str!("../../migrations/001.sql"),
    include_str!("../../migrations/002.sql"),
    include_str!("../../migrations/003.sql"),
    include_str!("../../migrations/004.sql"),
    include_str!("../../migrations/005.sql"),
    include_str!("../../migrations/006.sql"),
    include_str!("../../migrations/007.sql"),
    include_str!("../../migrations/008.sql"),
];

/// The version of a database that this release writes.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// Brings the database up to [`VERSION`]; `true` if it was of an older release.
pub(crate) fn migrate(connection: &mut Connection) -> Result<bool, StoreError> {
    let found = version(connection)?;
    if found > VERSION {
        return Err(StoreError::Newer {
            found,
            known: VERSION,
        });
    }
    for (number, step) in (1..).zip(STEPS) {
        if number <= found {
            continue;
        }
        if found > 0 {
            tracing::info!(version = number, "upgrading the database");
        }
        let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute_batch(step)?;
        tx.pragma_update(None, "user_version", number)?;
        tx.commit()?;
    }
    Ok(found > 0 && found < VERSION)
}

/// Makes sure that the database can be read as it is.
pub(crate) fn check(connection: &Connection) -> Result<(), StoreError> {
    let (found, known) = (version(connection)?, VERSION);
    match found.cmp(&known) {
        std::cmp::Ordering::Less => Err(StoreError::Older { found, known }),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(StoreError::Newer { found, known }),
    }
}

pub(super) fn version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
