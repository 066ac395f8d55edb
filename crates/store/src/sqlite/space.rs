//! Room that holds nothing any more goes back to the disk: in small steps,
//! while there is nothing else to do.

use rusqlite::Connection;

use super::looking::room_of;
use crate::StoreError;

/// How much one step gives back, in pages.
const STEP: i64 = 256;

/// So many free pages stay: they will be used again soon.
const SLACK: i64 = 256;

/// A database up to this size is written anew without much ado.
const SMALL: u64 = 64 * 1024 * 1024;

const INCREMENTAL: i64 = 2;

/// Prepares a database of an older release for giving room back, for which it
/// has to be written anew. That is done when it is `upgraded`, and whenever it
/// is cheap.
pub(super) fn prepare(connection: &Connection, upgraded: bool) -> Result<(), StoreError> {
    let mode: i64 = connection.pragma_query_value(None, "auto_vacuum", |row| row.get(0))?;
    if mode == INCREMENTAL || !(upgraded || room_of(connection)?.bytes <= SMALL) {
        return Ok(());
    }
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    // It works as it is, too.
    if let Err(error) = connection.execute_batch("VACUUM") {
        tracing::warn!(%error, "the database cannot give room back to the disk for now");
    }
    Ok(())
}

/// Gives some room back; `false` if there is none to give.
pub(super) fn give_back(connection: &Connection) -> Result<bool, StoreError> {
    let mut statement = connection.prepare_cached(&format!("PRAGMA incremental_vacuum({STEP})"))?;
    let mut pages = statement.query([])?;
    while pages.next()?.is_some() {}
    is_any(connection)
}

/// Whether there is room to give back.
pub(super) fn is_any(connection: &Connection) -> Result<bool, StoreError> {
    let free: i64 = connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
    Ok(free > SLACK)
}
