//! What turns have cost, by day.

use innkeeper_protocol::record::search::{UsagePage, UsageQuery};
use innkeeper_protocol::{ChannelUri, Timestamp};
use rusqlite::{Connection, params};

use super::indexing;
use crate::StoreError;
use crate::search::usage::row as row_of;

pub(super) fn usage(
    connection: &mut Connection,
    query: &UsageQuery,
) -> Result<UsagePage, StoreError> {
    let tx = connection.transaction()?;
    let mut statement = tx.prepare_cached(
        "SELECT strftime('%F', (at + ?3 * 60000) / 1000, 'unixepoch') AS day, provider, model,
             currency, count(*), sum(input), sum(output), sum(cached), sum(cost)
         FROM usage
         WHERE at >= ?1 AND at < ?2 AND (?4 IS NULL OR session = ?4)
         GROUP BY day, provider, model, currency
         ORDER BY day DESC, provider, model, currency LIMIT ?5",
    )?;
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![
        query.from.map_or(i64::MIN, Timestamp::as_millis),
        query.to.map_or(i64::MAX, Timestamp::as_millis),
        i64::from(query.utc_offset_minutes),
        query.session.as_ref().map(ChannelUri::as_str),
        limit.saturating_add(1),
    ])?;
    let mut page = UsagePage {
        indexing: indexing::is_behind(&tx)?,
        ..UsagePage::default()
    };
    while let Some(row) = rows.next()? {
        if page.items.len() == query.limit {
            page.truncated = true;
            break;
        }
        page.items.push(row_of(
            (row.get(0)?, row.get(1)?, row.get(2)?),
            [row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?],
            (row.get(8)?, row.get(3)?),
        ));
    }
    Ok(page)
}

/// A session that is gone for good is not named any more.
pub(super) fn forget_session(connection: &Connection, session: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE usage SET session = NULL WHERE session = ?1")?
        .execute([session])?;
    Ok(())
}
