//! The sequence as rows; what they mean is in [`crate::sequence`].
//!
//! *Invariant*: its last number is that of its row or of the log, whichever is
//! higher. Whoever takes something out of the log writes the row with it.

use innkeeper_protocol::Seq;
use innkeeper_protocol::record::Epoch;
use rusqlite::{Connection, params};

use super::bookmark::Bookmark;
use crate::StoreError;
use crate::sequence::Sequence;

/// Ends the life that the database was last written in, and begins another.
/// What was `noted` outside of it may be more than it knows.
pub(super) fn begin_life(
    connection: &Connection,
    noted: Option<Bookmark>,
) -> Result<(Sequence, Vec<Epoch>), StoreError> {
    let mut before = load(connection)?;
    if let Some(noted) = noted {
        if let Some(forgotten) = noted.forgotten_by(&before) {
            tracing::error!("{forgotten}");
        }
        before.reserved = before.reserved.max(noted.reached());
        before.life = before.life.max(noted.life());
    }
    let mut epochs = load_epochs(connection)?;
    let now = before.begin_life(&mut epochs);
    save(&now, connection)?;
    connection.execute("DELETE FROM epoch", [])?;
    for epoch in &epochs {
        connection.execute(
            "INSERT INTO epoch (first, last) VALUES (?1, ?2)",
            params![integer(epoch.first), integer(epoch.last)],
        )?;
    }
    Ok((now, epochs))
}

/// Whether the database is still in the life that this store began.
pub(crate) fn is_in_life(connection: &Connection, life: u64) -> Result<bool, StoreError> {
    let sql = "SELECT life FROM sequence";
    let found: i64 = connection
        .prepare_cached(sql)?
        .query_row([], |row| row.get(0))?;
    Ok(u64::try_from(found).is_ok_and(|found| found == life))
}

/// The highest number that may have been given out. A database of any release
/// says so.
pub(crate) fn reached(connection: &Connection) -> Result<Seq, StoreError> {
    let sql = "SELECT max(reserved, last, ifnull((SELECT max(last) FROM log), 0)) FROM sequence";
    Ok(number(connection.query_row(sql, [], |row| row.get(0))?))
}

pub(crate) fn load(connection: &Connection) -> Result<Sequence, StoreError> {
    let sql = "SELECT reserved, max(last, ifnull((SELECT max(last) FROM log), 0)), life_first,
                   log_start, life
               FROM sequence";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| {
        Ok(Sequence {
            reserved: number(row.get(0)?),
            last: number(row.get(1)?),
            life_first: number(row.get(2)?),
            log_start: number(row.get(3)?),
            life: number(row.get(4)?).get(),
        })
    })?)
}

pub(crate) fn save(sequence: &Sequence, connection: &Connection) -> Result<(), StoreError> {
    let sql = "UPDATE sequence SET reserved = ?1, last = ?2, life_first = ?3, log_start = ?4,
                   life = ?5";
    connection.prepare_cached(sql)?.execute(params![
        integer(sequence.reserved),
        integer(sequence.last),
        integer(sequence.life_first),
        integer(sequence.log_start),
        integer(Seq::new(sequence.life)),
    ])?;
    Ok(())
}

fn load_epochs(connection: &Connection) -> Result<Vec<Epoch>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT first, last FROM epoch ORDER BY first")?;
    let epochs = statement.query_map([], |row| {
        Ok(Epoch {
            first: number(row.get(0)?),
            last: number(row.get(1)?),
        })
    })?;
    Ok(epochs.collect::<Result<_, _>>()?)
}

/// SQLite's integers are signed; the sequence never comes near their end.
pub(crate) fn integer(number: Seq) -> i64 {
    i64::try_from(number.get()).unwrap_or(i64::MAX)
}

pub(crate) fn number(integer: i64) -> Seq {
    Seq::new(u64::try_from(integer).unwrap_or(0))
}
