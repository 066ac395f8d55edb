//! The log of actions: how its rows are written, merged and read.
//!
//! *Invariant*: within its channel, every action is in exactly one row, and
//! rows follow each other as the actions did. Merging ends with a transaction:
//! a row that was committed is never touched again but to be deleted.

use std::sync::Arc;

use foldhash::HashMap;
use innkeeper_protocol::newest::actions::{ActionOrigin, StateAction};
use innkeeper_protocol::record::merge::{appended_text, continues};
use innkeeper_protocol::record::{Cut, GateFacts, LogEntry, Sequenced};
use innkeeper_protocol::{ChannelUri, Seq};
use rusqlite::{Connection, Row, params};

use super::json::{json, parsed};
use super::sequence::{integer, number};
use crate::StoreError;

pub(crate) const COLUMNS: &str = "first, last, channel, action, origin, facts, cuts";

/// The end of the log while a transaction adds to it: for each channel the
/// entry that may still grow.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    open: HashMap<ChannelUri, Open>,
    /// How many bytes were written.
    pub(crate) bytes: u64,
}

#[derive(Debug)]
enum Open {
    /// Most entries stay alone, and are written without having been copied.
    One(Arc<Sequenced>),
    Many(Box<LogEntry>),
}

impl Tail {
    pub(crate) fn append(
        &mut self,
        connection: &Connection,
        next: &Arc<Sequenced>,
    ) -> Result<(), StoreError> {
        if let Some(open) = self.open.get_mut(&next.channel) {
            if open.absorb(next) {
                return Ok(());
            }
            if let Some(closed) = self.open.remove(&next.channel) {
                self.bytes += closed.write(connection)?;
            }
        }
        if next.origin.is_none() && appended_text(&next.action).is_some() {
            let open = Open::One(Arc::clone(next));
            self.open.insert(next.channel.clone(), open);
            return Ok(());
        }
        self.bytes += Open::One(Arc::clone(next)).write(connection)?;
        Ok(())
    }

    /// Writes what is still open. Call it before the log's rows are looked at,
    /// and before the transaction ends.
    pub(crate) fn flush(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let mut open: Vec<Open> = self.open.drain().map(|(_, open)| open).collect();
        open.sort_unstable_by_key(Open::last);
        for open in &open {
            self.bytes += open.write(connection)?;
        }
        Ok(())
    }
}

impl Open {
    fn absorb(&mut self, next: &Sequenced) -> bool {
        match self {
            Self::Many(entry) => entry.absorb(next),
            Self::One(one) => {
                if !continues(&one.action, &next.action) {
                    return false;
                }
                let mut entry = LogEntry::from(&**one);
                let absorbed = entry.absorb(next);
                if absorbed {
                    *self = Self::Many(Box::new(entry));
                }
                absorbed
            }
        }
    }

    fn last(&self) -> Seq {
        match self {
            Self::One(one) => one.seq,
            Self::Many(entry) => entry.last,
        }
    }

    /// Returns how many bytes that were.
    fn write(&self, connection: &Connection) -> Result<u64, StoreError> {
        match self {
            Self::One(one) => write(
                connection,
                (one.seq, one.seq),
                &one.channel,
                &one.action,
                one.origin.as_ref(),
                &one.facts,
                &[],
            ),
            Self::Many(entry) => write(
                connection,
                (entry.first, entry.last),
                &entry.channel,
                &entry.action,
                entry.origin.as_ref(),
                &entry.facts,
                &entry.cuts,
            ),
        }
    }
}

fn write(
    connection: &Connection,
    (first, last): (Seq, Seq),
    channel: &ChannelUri,
    action: &StateAction,
    origin: Option<&ActionOrigin>,
    facts: &GateFacts,
    cuts: &[Cut],
) -> Result<u64, StoreError> {
    let sql = "INSERT INTO log (first, last, channel, action, origin, facts, cuts)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let origin = origin.map(|origin| json("origin", origin)).transpose()?;
    let facts = match facts {
        GateFacts {
            session: None,
            is_default_chat: false,
            extra: None,
        } => None,
        facts => Some(json("log entry", facts)?),
    };
    let (action, cuts) = (json("action", action)?, write_cuts(cuts)?);
    let small = [&origin, &facts, &cuts].map(|it| it.as_ref().map_or(0, String::len));
    let bytes = (action.len() + small.iter().sum::<usize>()) as u64;
    connection.prepare_cached(sql)?.execute(params![
        integer(first),
        integer(last),
        channel.as_str(),
        action,
        origin,
        facts,
        cuts,
    ])?;
    Ok(bytes)
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
        action: parsed("action", required(3)?)?,
        origin: text(4)?.map(|json| parsed("origin", json)).transpose()?,
        facts: text(5)?
            .map(|json| parsed("log entry", json))
            .transpose()?
            .unwrap_or_default(),
        cuts: text(6)?.map(read_cuts).transpose()?.unwrap_or_default(),
    })
}

fn write_cuts(cuts: &[Cut]) -> Result<Option<String>, StoreError> {
    if cuts.is_empty() {
        return Ok(None);
    }
    let pairs: Vec<(Seq, u32)> = cuts.iter().map(|cut| (cut.seq, cut.len)).collect();
    json("log entry", &pairs).map(Some)
}

fn read_cuts(json: &str) -> Result<Vec<Cut>, StoreError> {
    let pairs: Vec<(Seq, u32)> = parsed("log entry", json)?;
    Ok(pairs
        .into_iter()
        .map(|(seq, len)| Cut { seq, len })
        .collect())
}
