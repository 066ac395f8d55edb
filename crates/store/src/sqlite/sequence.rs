//! The sequence as rows; what they mean is in [`crate::sequence`].

use innkeeper_protocol::Seq;
use innkeeper_protocol::record::Epoch;
use rusqlite::{Connection, params};

use crate::StoreError;
use crate::sequence::Sequence;

/// Ends the life that the database was last written in, and begins another.
pub(crate) fn begin_life(connection: &Connection) -> Result<(Sequence, Vec<Epoch>), StoreError> {
    let before = load(connection)?;
    let mut epochs = load_epochs(connection)?;
    let now = before.begin_life(&mut epochs);
    // A life that stored nothing left nothing to write.
    if now != before {
        save(&now, connection)?;
        connection.execute("DELETE FROM epoch", [])?;
        for epoch in &epochs {
            connection.execute(
                "INSERT INTO epoch (first, last) VALUES (?1, ?2)",
                params![integer(epoch.first), integer(epoch.last)],
            )?;
        }
    }
    Ok((now, epochs))
}

pub(crate) fn load(connection: &Connection) -> Result<Sequence, StoreError> {
    let sql = "SELECT reserved, last, life_first, log_start FROM sequence";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| {
        Ok(Sequence {
            reserved: number(row.get(0)?),
            last: number(row.get(1)?),
            life_first: number(row.get(2)?),
            log_start: number(row.get(3)?),
        })
    })?)
}

pub(crate) fn save(sequence: &Sequence, connection: &Connection) -> Result<(), StoreError> {
    let sql = "UPDATE sequence SET reserved = ?1, last = ?2, life_first = ?3, log_start = ?4";
    connection.prepare_cached(sql)?.execute(params![
        integer(sequence.reserved),
        integer(sequence.last),
        integer(sequence.life_first),
        integer(sequence.log_start),
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
