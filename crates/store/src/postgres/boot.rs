//! The beginning of a life, and the ends of sessions: what reads before it
//! writes.

use std::collections::BTreeSet;

use innkeeper_protocol::record::store::DisposedRow;
use innkeeper_protocol::record::{
    AutomationRecord, AutomationRunRecord, Boot, ClientRecord, Epoch,
};
use innkeeper_protocol::{ChannelUri, ClientId, Timestamp};
use tokio_postgres::Row;

use super::connection::{Connection, Said, Value};
use super::error::PostgresError;
use super::plan::{self, ROOT_CONFIG, SWITCHES, count, save_sequence, seq, uri};
use super::reader::{CATALOGUE, DISPOSED, catalogue, disposed_row, get, number, uri_at};
use crate::days::HostDays;
use crate::sequence::Sequence;
use crate::sqlite::bookmark::Bookmark;
use crate::sqlite::json::parsed;

/// A life that begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Life {
    pub(super) now: Timestamp,
    pub(super) keep_days: u64,
    /// Its number, which the lease gave it.
    pub(super) life: u64,
    pub(super) noted: Option<Bookmark>,
}

type Begun = (Boot, Sequence, BTreeSet<ChannelUri>);

/// Ends the life that the database was last written in, and begins another.
pub(super) fn begin(db: &mut Connection, life: Life) -> Result<Begun, PostgresError> {
    let mut days = host_days(db)?;
    days.start(life.now);
    set_host_days(db, days)?;
    let disposed = purge_disposed(db, life.keep_days)?;
    let mut before = load_sequence(db)?;
    if let Some(noted) = life.noted
        && noted.is_beyond(&before)
    {
        tracing::error!(
            "the database has forgotten what this host stored: it was put back, or another \
             server took its place that did not have everything; numbers go on behind what \
             was given out"
        );
        before.reserved = before.reserved.max(noted.reached());
    }
    before.life = life.life.saturating_sub(1);
    let rows = db.query("SELECT first, last FROM epoch ORDER BY first", Vec::new())?;
    let mut epochs = Vec::with_capacity(rows.len());
    for row in &rows {
        epochs.push(Epoch {
            first: number(get(row, 0)?),
            last: number(get(row, 1)?),
        });
    }
    let now = before.begin_life(&mut epochs);
    let mut said = vec![
        save_sequence(&now),
        Said {
            sql: "DELETE FROM epoch",
            values: Vec::new(),
        },
    ];
    said.extend(epochs.iter().map(|epoch| Said {
        sql: "INSERT INTO epoch (first, last) VALUES ($1, $2)",
        values: vec![seq(epoch.first), seq(epoch.last)],
    }));
    db.query_all(said)?;
    Ok((boot(db, &now, epochs)?, now, disposed))
}

fn load_sequence(db: &mut Connection) -> Result<Sequence, PostgresError> {
    let sql = "SELECT reserved, last, life_first, log_start FROM sequence";
    let rows = db.query(sql, Vec::new())?;
    let Some(row) = rows.first() else {
        return Ok(Sequence::default());
    };
    Ok(Sequence {
        reserved: number(get(row, 0)?),
        last: number(get(row, 1)?),
        life_first: number(get(row, 2)?),
        log_start: number(get(row, 3)?),
        life: 0,
    })
}

fn boot(
    db: &mut Connection,
    sequence: &Sequence,
    epochs: Vec<Epoch>,
) -> Result<Boot, PostgresError> {
    let said = [
        CATALOGUE,
        "SELECT chat.uri, chat.session FROM chat JOIN session ON session.uri = chat.session
         WHERE NOT chat.is_default AND session.disposed_at IS NULL ORDER BY chat.uri",
        "SELECT DISTINCT chat.session FROM chat JOIN session ON session.uri = chat.session
         WHERE chat.active_turn IS NOT NULL AND session.disposed_at IS NULL
         ORDER BY chat.session",
        "SELECT uri FROM session
         WHERE disposed_at IS NULL AND modified_at <= created_at AND NOT EXISTS (
             SELECT 1 FROM chat JOIN turn ON turn.chat = chat.uri
             WHERE chat.session = session.uri)
         ORDER BY uri",
        "SELECT client_id, version, seen_at FROM client ORDER BY client_id",
        "SELECT name, value FROM setting",
        "SELECT json, notes FROM automation ORDER BY place",
        "SELECT json, notes FROM automation_run ORDER BY place",
    ];
    let said = said.map(|sql| Said {
        sql,
        values: Vec::new(),
    });
    let answers = db.query_all(said.into())?;
    let mut boot = Boot {
        next_seq: sequence.next(),
        log_start: sequence.log_start,
        epochs,
        ..Boot::default()
    };
    let Ok(
        [
            sessions,
            chats,
            interrupted,
            untouched,
            clients,
            settings,
            automations,
            runs,
        ],
    ) = <[Vec<Row>; 8]>::try_from(answers)
    else {
        return Ok(boot);
    };
    boot.catalogue = catalogue(&sessions)?;
    for row in &chats {
        boot.chats.push((uri_at(row, 0)?, uri_at(row, 1)?));
    }
    for row in &interrupted {
        boot.interrupted.push(uri_at(row, 0)?);
    }
    for row in &untouched {
        boot.without_turns.push(uri_at(row, 0)?);
    }
    for row in &clients {
        boot.clients.push(ClientRecord {
            client_id: ClientId::from(get::<&str>(row, 0)?),
            version: get(row, 1)?,
            seen_at: Timestamp::from_millis(get(row, 2)?),
        });
    }
    for row in &settings {
        let value = Some(parsed("configuration", get(row, 1)?)?);
        match get::<&str>(row, 0)? {
            ROOT_CONFIG => boot.root_config = value,
            SWITCHES => boot.switches = value,
            _ => {}
        }
    }
    for row in &automations {
        boot.automations.push(AutomationRecord {
            entry: parsed("automation", get(row, 0)?)?,
            notes: parsed("automation", get(row, 1)?)?,
        });
    }
    for row in &runs {
        boot.automation_runs.push(AutomationRunRecord {
            state: parsed("automation run", get(row, 0)?)?,
            notes: parsed("automation run", get(row, 1)?)?,
        });
    }
    Ok(boot)
}

/// The days in which a host ran.
pub(super) fn host_days(db: &mut Connection) -> Result<HostDays, PostgresError> {
    let rows = db.query("SELECT day, since FROM host_days", Vec::new())?;
    let Some(row) = rows.first() else {
        return Ok(HostDays::default());
    };
    Ok(HostDays {
        day: u64::try_from(get::<i64>(row, 0)?).unwrap_or(0),
        since: get::<Option<i64>>(row, 1)?.map(Timestamp::from_millis),
    })
}

pub(super) fn set_host_days(db: &mut Connection, days: HostDays) -> Result<(), PostgresError> {
    let since = days.since.map(Timestamp::as_millis);
    let values = vec![count(days.day), Value::OptionalInt(since)];
    db.query("UPDATE host_days SET day = $1, since = $2", values)?;
    Ok(())
}

/// Removes the sessions that were disposed too long ago, and says which are
/// left.
pub(super) fn purge_disposed(
    db: &mut Connection,
    keep_days: u64,
) -> Result<BTreeSet<ChannelUri>, PostgresError> {
    let rows = db.query(DISPOSED, Vec::new())?;
    let (mut said, mut gone, mut left) = (Vec::new(), 0, BTreeSet::new());
    for row in &rows {
        let disposed: DisposedRow = disposed_row(row)?;
        match disposed.is_over(keep_days) {
            true => {
                gone += 1;
                plan::purge(&mut said, &disposed.row.session);
            }
            false => {
                left.insert(disposed.row.session);
            }
        }
    }
    db.query_all(said)?;
    if gone > 0 {
        tracing::info!(
            sessions = gone,
            "sessions that were deleted long ago are gone for good"
        );
    }
    Ok(left)
}

pub(super) fn restore(db: &mut Connection, session: &ChannelUri) -> Result<bool, PostgresError> {
    let sql = "UPDATE session SET disposed_at = NULL, disposed_day = NULL
               WHERE uri = $1 AND disposed_at IS NOT NULL RETURNING 1";
    Ok(!db.query(sql, vec![uri(session)])?.is_empty())
}

pub(super) fn delete(db: &mut Connection, session: &ChannelUri) -> Result<bool, PostgresError> {
    let known = db.query("SELECT 1 FROM session WHERE uri = $1", vec![uri(session)])?;
    let mut said = Vec::new();
    plan::forget_log(&mut said, session);
    plan::purge(&mut said, session);
    db.query_all(said)?;
    Ok(!known.is_empty())
}
