//! The log of actions: how its rows are written and read. [`crate::tail`] merges them.
//!
//! *Invariant*: within its channel, every action is in exactly one row, and
//! rows follow each other as the actions did. Merging ends with a transaction:
//! a row that was committed is never touched again but to be deleted.

use innkeeper_protocol::record::{Cut, LogEntry};
use innkeeper_protocol::{ChannelUri, Seq};
use rusqlite::{Connection, Row, ToSql, params};

use super::json::{self, Column, parsed};
use super::sequence::{integer, number};
use crate::StoreError;
use crate::tail::{LogRow, LogSink};

pub(crate) const COLUMNS: &str = "first, last, channel, action, origin, facts, cuts";

impl LogSink for &Connection {
    fn write(&mut self, row: LogRow<'_>) -> Result<(), StoreError> {
        let sql = "INSERT INTO log (first, last, channel, action, origin, facts, cuts)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
        self.prepare_cached(sql)?.execute(params![
            integer(row.first),
            integer(row.last),
            row.channel.as_str(),
            action(&row.action),
            row.origin,
            row.facts.as_deref().map(Column::of),
            row.cuts,
        ])?;
        Ok(())
    }
}

/// What is streamed is the agent's own words, which nothing is known of, and is
/// written all the time: it is not worth the work.
fn action(json: &str) -> Box<dyn ToSql + '_> {
    let streamed = ["chat/delta", "chat/reasoning", "terminal/data"];
    let kind = json.strip_prefix(r#"{"type":""#).unwrap_or_default();
    match streamed.iter().any(|it| kind.starts_with(it)) {
        true => Box::new(json),
        false => Box::new(Column::of(json)),
    }
}

/// How large the log is, and what must go so that it is three quarters of
/// `limit`.
pub(crate) fn measure(connection: &Connection, limit: u64) -> Result<(u64, Seq), StoreError> {
    // The lengths stand before the texts: long ones are not read for this.
    let sql = "SELECT last, octet_length(action) + ifnull(octet_length(origin), 0)
                   + ifnull(octet_length(facts), 0) + ifnull(octet_length(cuts), 0)
               FROM log ORDER BY last DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let (mut total, mut below) = (0_u64, Seq::ZERO);
    while let Some(row) = rows.next()? {
        total += u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0);
        if total > limit / 4 * 3 && below == Seq::ZERO {
            below = number(row.get(0)?).next();
        }
    }
    Ok((total, below))
}

/// Deletes the rows whose numbers are all below `below`.
pub(crate) fn trim(connection: &Connection, below: Seq) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM log WHERE last < ?1")?
        .execute([integer(below)])?;
    Ok(())
}

/// A row as it comes out of the database; see [`COLUMNS`].
pub(crate) fn read(row: &Row<'_>) -> Result<LogEntry, StoreError> {
    let text = |column: usize| -> Result<Option<&str>, StoreError> {
        Ok(row
            .get_ref(column)?
            .as_str_or_null()
            .map_err(rusqlite::Error::from)?)
    };
    let required = |column| Ok::<_, StoreError>(text(column)?.unwrap_or_default());
    Ok(LogEntry {
        first: number(row.get(0)?),
        last: number(row.get(1)?),
        channel: ChannelUri::from(required(2)?),
        action: parsed("action", &json::text("action", row, 3)?)?,
        origin: text(4)?.map(|json| parsed("origin", json)).transpose()?,
        facts: json::text_or_null("log entry", row, 5)?
            .map(|json| parsed("log entry", &json))
            .transpose()?
            .unwrap_or_default(),
        cuts: text(6)?.map(read_cuts).transpose()?.unwrap_or_default(),
    })
}

pub(crate) fn read_cuts(json: &str) -> Result<Vec<Cut>, StoreError> {
    let pairs: Vec<(Seq, u32)> = parsed("log entry", json)?;
    Ok(pairs
        .into_iter()
        .map(|(seq, len)| Cut { seq, len })
        .collect())
}
