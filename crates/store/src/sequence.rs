//! Where the sequence of actions stands, over all lives of the host.
//!
//! A life reserves numbers in blocks before it gives them out. When it dies,
//! those that it gave out and did not store are lost, so the next life begins
//! after the reservation, and the stored run of the last one is remembered as
//! an [`Epoch`]. A clean end gives the rest of its block back, and the two
//! lives are one epoch.

use innkeeper_protocol::record::Epoch;
use rusqlite::{Connection, params};

use crate::StoreError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sequence {
    /// No number up to here may be given out again.
    pub(crate) reserved: u64,
    /// The highest number that was ever stored.
    pub(crate) last: u64,
    /// The first number of the present life.
    pub(crate) life_first: u64,
    /// From here on the log is complete.
    pub(crate) log_start: u64,
}

impl Sequence {
    pub(crate) fn next(&self) -> u64 {
        self.reserved.max(self.last).saturating_add(1)
    }

    /// Notes that the log forgot what lies below `below`. A row that reaches
    /// over it stays, but its neighbours are gone: complete is only the rest.
    pub(crate) fn trimmed(&mut self, below: u64) {
        let reached = below.min(self.last.saturating_add(1));
        self.log_start = self.log_start.max(reached);
    }

    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let sql = "SELECT reserved, last, life_first, log_start FROM sequence";
        Ok(connection.prepare_cached(sql)?.query_row([], |row| {
            Ok(Self {
                reserved: number(row.get(0)?),
                last: number(row.get(1)?),
                life_first: number(row.get(2)?),
                log_start: number(row.get(3)?),
            })
        })?)
    }

    pub(crate) fn save(&self, connection: &Connection) -> Result<(), StoreError> {
        let sql = "UPDATE sequence SET reserved = ?1, last = ?2, life_first = ?3, log_start = ?4";
        connection.prepare_cached(sql)?.execute(params![
            integer(self.reserved),
            integer(self.last),
            integer(self.life_first),
            integer(self.log_start),
        ])?;
        Ok(())
    }
}

/// Ends the life that the database was last written in, and begins another.
pub(crate) fn begin_life(connection: &Connection) -> Result<(Sequence, Vec<Epoch>), StoreError> {
    let before = Sequence::load(connection)?;
    let mut epochs = load_epochs(connection)?;
    if before.last >= before.life_first {
        match epochs.last_mut() {
            Some(epoch) if epoch.last.saturating_add(1) >= before.life_first => {
                epoch.last = before.last;
            }
            _ => epochs.push(Epoch {
                first: before.life_first,
                last: before.last,
            }),
        }
    }
    epochs.retain(|epoch| epoch.last >= before.log_start);

    let now = Sequence {
        life_first: before.next(),
        ..before
    };
    // A life that stored nothing left nothing to write.
    if now != before {
        now.save(connection)?;
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
pub(crate) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn number(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or(0)
}
