//! The end of sessions: disposed, brought back, or gone for good.
//!
//! *Invariant*: what a session owns (its chats, their turns, its annotations, its contents) goes
//! when its row goes; there is no other way to remove a session.

use innkeeper_protocol::record::store::DisposedRow;
use innkeeper_protocol::{ChannelUri, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::boot::catalogue_row;
use super::usage;
use crate::StoreError;
use crate::days::HostDays;

pub(crate) fn is_disposed(
    connection: &Connection,
    session: &ChannelUri,
) -> Result<bool, StoreError> {
    let sql = "SELECT disposed_at IS NOT NULL FROM session WHERE uri = ?1";
    let found = connection
        .prepare_cached(sql)?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(false))
}

pub(crate) fn dispose(
    connection: &Connection,
    session: &ChannelUri,
    at: Timestamp,
) -> Result<(), StoreError> {
    let sql = "UPDATE session SET disposed_at = ?2, disposed_day = (SELECT day FROM host_days)
               WHERE uri = ?1 AND disposed_at IS NULL";
    connection
        .prepare_cached(sql)?
        .execute(params![session.as_str(), at.as_millis()])?;
    Ok(())
}

pub(crate) fn restore(connection: &Connection, session: &ChannelUri) -> Result<bool, StoreError> {
    let sql = "UPDATE session SET disposed_at = NULL, disposed_day = NULL
               WHERE uri = ?1 AND disposed_at IS NOT NULL";
    let restored = connection
        .prepare_cached(sql)?
        .execute([session.as_str()])?;
    Ok(restored > 0)
}

/// Removes the log of a session's own channel, of its chats and of its
/// annotations.
pub(crate) fn forget_log(connection: &Connection, session: &ChannelUri) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "DELETE FROM log WHERE channel IN
                 (SELECT ?1 UNION ALL SELECT ?2
                  UNION ALL SELECT uri FROM chat WHERE session = ?1)",
        )?
        .execute([
            session.as_str(),
            ChannelUri::annotations_of(session.as_str()).as_str(),
        ])?;
    Ok(())
}

/// From here on the contents of a session are another one's, too.
pub(crate) fn share_content(
    connection: &Connection,
    from: &ChannelUri,
    with: &ChannelUri,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO content_share (content, session)
                 SELECT uri, ?2 FROM content WHERE session = ?1
                 UNION SELECT content, ?2 FROM content_share WHERE session = ?1",
        )?
        .execute([from.as_str(), with.as_str()])?;
    Ok(())
}

/// Removes a session with all that it owns but its log.
pub(crate) fn purge(connection: &Connection, session: &ChannelUri) -> Result<bool, StoreError> {
    for sql in [
        "DELETE FROM turn WHERE chat IN (SELECT uri FROM chat WHERE session = ?1)",
        "DELETE FROM chat WHERE session = ?1",
        // What it shares goes over to one of those that it is shared with.
        "DELETE FROM content_share WHERE session = ?1",
        "UPDATE content SET session =
             (SELECT min(session) FROM content_share WHERE content = uri)
         WHERE session = ?1 AND EXISTS (SELECT 1 FROM content_share WHERE content = uri)",
        "DELETE FROM content_share WHERE session <> ?1 AND EXISTS (SELECT 1 FROM content
             WHERE uri = content_share.content AND content.session = content_share.session)",
        "DELETE FROM content WHERE session = ?1",
        "DELETE FROM annotation WHERE session = ?1",
        "DELETE FROM session_state WHERE uri = ?1",
    ] {
        connection
            .prepare_cached(sql)?
            .execute([session.as_str()])?;
    }
    usage::forget_session(connection, session.as_str())?;
    let removed = connection
        .prepare_cached("DELETE FROM session WHERE uri = ?1")?
        .execute([session.as_str()])?;
    Ok(removed > 0)
}

/// Removes the sessions that were disposed too long ago.
pub(crate) fn purge_disposed(connection: &Connection, keep_days: u64) -> Result<(), StoreError> {
    let over = disposed(connection)?.into_iter();
    let over: Vec<DisposedRow> = over.filter(|row| row.is_over(keep_days)).collect();
    for disposed in &over {
        purge(connection, &disposed.row.session)?;
    }
    if !over.is_empty() {
        let sessions = over.len();
        tracing::info!(
            sessions,
            "sessions that were deleted long ago are gone for good"
        );
    }
    Ok(())
}

/// The sessions that can be brought back, the latest disposed first.
pub(crate) fn disposed(connection: &Connection) -> Result<Vec<DisposedRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT uri, modified_at, summary, facts, disposed_at,
             max(0, (SELECT day FROM host_days) - ifnull(disposed_day, 0))
         FROM session WHERE disposed_at IS NOT NULL ORDER BY disposed_at DESC, uri",
    )?;
    let mut rows = statement.query([])?;
    let mut disposed = Vec::new();
    while let Some(row) = rows.next()? {
        disposed.push(DisposedRow {
            row: catalogue_row(row)?,
            disposed_at: Timestamp::from_millis(row.get(4)?),
            host_days: u64::try_from(row.get::<_, i64>(5)?).unwrap_or(0),
        });
    }
    Ok(disposed)
}

/// The days in which a host ran.
pub(crate) fn host_days(connection: &Connection) -> Result<HostDays, StoreError> {
    let sql = "SELECT day, since FROM host_days";
    Ok(connection.query_row(sql, [], |row| {
        Ok(HostDays {
            day: u64::try_from(row.get::<_, i64>(0)?).unwrap_or(0),
            since: row.get::<_, Option<i64>>(1)?.map(Timestamp::from_millis),
        })
    })?)
}

pub(crate) fn set_host_days(connection: &Connection, days: HostDays) -> Result<(), StoreError> {
    let day = i64::try_from(days.day).unwrap_or(i64::MAX);
    let since = days.since.map(Timestamp::as_millis);
    connection.execute(
        "UPDATE host_days SET day = ?1, since = ?2",
        params![day, since],
    )?;
    Ok(())
}

/// Removes a chat with its turns.
pub(crate) fn delete_chat(connection: &Connection, chat: &ChannelUri) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM turn WHERE chat = ?1",
        "DELETE FROM chat WHERE uri = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([chat.as_str()])?;
    }
    Ok(())
}
