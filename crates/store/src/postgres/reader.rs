//! Looking at what is committed, over connections of its own.
//!
//! *Invariant*: what one call returns is the state between two commits.

use std::sync::Arc;

use bytes::Bytes;
use innkeeper_protocol::record::pressed::Pressed;
use innkeeper_protocol::record::search::{SearchPage, SearchQuery, UsagePage, UsageQuery};
use innkeeper_protocol::record::store::{Archive, DisposedRow, StoreFault};
use innkeeper_protocol::record::{
    CatalogueRow, ChatRecord, ContentRecord, LoadedChat, LoadedSession, LogEntry, SessionRecord,
    SummaryFacts,
};
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::{ChannelUri, Seq, Timestamp, TurnId};
use tokio_postgres::Row;

use super::address::PostgresAddress;
use super::connection::{Connection, Driver, Manners, Said, Value};
use super::error::PostgresError;
use super::lease::{LOOK, Seen};
use super::plan::{seq, uri};
use super::{Holder, search};
use crate::pool::Pool;
use crate::sqlite::json::{parsed, raw};
use crate::sqlite::log::read_cuts;

/// One state for all statements.
pub(super) const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

pub(super) const CATALOGUE: &str =
    "SELECT uri, modified_at, summary, facts FROM session WHERE disposed_at IS NULL";

/// A view of the database. Clones are the same view.
#[derive(Debug, Clone)]
pub struct PostgresReader {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    driver: Arc<Driver>,
    address: PostgresAddress,
    manners: Manners,
    pool: Pool<Connection>,
}

impl PostgresReader {
    pub(super) fn over(driver: &Arc<Driver>, address: &PostgresAddress, manners: Manners) -> Self {
        Self {
            shared: Arc::new(Shared {
                driver: Arc::clone(driver),
                address: address.clone(),
                manners,
                pool: Pool::default(),
            }),
        }
    }

    /// Who has the lease, if anybody does.
    pub fn holder(&self) -> Result<Option<Holder>, PostgresError> {
        let rows = self.read(|db| db.query(LOOK, Vec::new()))?;
        let seen = rows.first().map(Seen::of).transpose()?;
        let seen = seen.filter(|seen| seen.owner.is_some() && !seen.left.is_zero());
        Ok(seen.map(Holder::from))
    }

    /// Waits for those who read, and reads no more.
    pub(super) fn close(&self) {
        self.shared.pool.close();
    }

    /// Asks over a connection that is free, or a new one. One that was closed
    /// while nobody looked (the database was restarted) is tried again anew.
    pub(super) fn read<T>(
        &self,
        mut ask: impl FnMut(&mut Connection) -> Result<T, PostgresError>,
    ) -> Result<T, PostgresError> {
        let mut loan = self.shared.pool.lend().ok_or(PostgresError::Closed)?;
        let found = loan.connection.take();
        let found = found.filter(|connection| !connection.is_closed());
        let was_open = found.is_some();
        loan.connection = found;
        match self.ask(&mut loan.connection, &mut ask) {
            Err(PostgresError::Away { .. }) if was_open => self.ask(&mut loan.connection, &mut ask),
            answer => answer,
        }
    }

    /// One that failed may be amid something, and is not used again.
    fn ask<T>(
        &self,
        lent: &mut Option<Connection>,
        ask: &mut impl FnMut(&mut Connection) -> Result<T, PostgresError>,
    ) -> Result<T, PostgresError> {
        let shared = &self.shared;
        let mut connection = match lent.take() {
            Some(connection) => connection,
            None => Connection::open(&shared.driver, &shared.address, shared.manners)?,
        };
        let answer = ask(&mut connection)?;
        *lent = Some(connection);
        Ok(answer)
    }
}

impl Archive for PostgresReader {
    fn load_session(&self, session: &ChannelUri) -> Result<Option<LoadedSession>, StoreFault> {
        Ok(self.read(|db| load_session(db, session))?)
    }

    fn log_between(&self, after: Seq, up_to: Seq) -> Result<Vec<LogEntry>, StoreFault> {
        let sql = "SELECT first, last, channel, action, origin, facts, cuts FROM log
                   WHERE last > $1 AND first <= $2 ORDER BY last";
        let rows = self.read(|db| db.query(sql, vec![seq(after), seq(up_to)]))?;
        Ok(rows.iter().map(log_entry).collect::<Result<_, _>>()?)
    }

    fn content(&self, content: &str) -> Result<Option<ContentRecord>, StoreFault> {
        let sql = "SELECT uri, session, content_type, data, excerpt FROM content
                   WHERE uri = $1 AND (
                       NOT EXISTS (SELECT 1 FROM session
                           WHERE session.uri = content.session AND disposed_at IS NOT NULL)
                       OR EXISTS (SELECT 1 FROM content_share AS share
                           JOIN session ON session.uri = share.session
                           WHERE share.content = $1 AND disposed_at IS NULL))";
        let rows = self.read(|db| db.query(sql, vec![Value::Text(content.to_owned())]))?;
        Ok(rows.first().map(content_record).transpose()?)
    }

    fn catalogue(&self) -> Result<Vec<CatalogueRow>, StoreFault> {
        let rows = self.read(|db| db.query(CATALOGUE, Vec::new()))?;
        Ok(catalogue(&rows)?)
    }

    fn disposed(&self) -> Result<Vec<DisposedRow>, StoreFault> {
        let rows = self.read(|db| db.query(DISPOSED, Vec::new()))?;
        Ok(rows.iter().map(disposed_row).collect::<Result<_, _>>()?)
    }

    fn search(&self, query: &SearchQuery) -> Result<SearchPage, StoreFault> {
        let most = self.shared.manners.call;
        Ok(self.read(|db| search::search(db, query, most))?)
    }

    fn usage(&self, query: &UsageQuery) -> Result<UsagePage, StoreFault> {
        Ok(self.read(|db| search::usage_of(db, query))?)
    }
}

pub(super) const DISPOSED: &str = "SELECT uri, modified_at, summary, facts, disposed_at,
         greatest(0, (SELECT day FROM host_days) - coalesce(disposed_day, 0))
     FROM session WHERE disposed_at IS NOT NULL ORDER BY disposed_at DESC, uri";

pub(super) fn disposed_row(row: &Row) -> Result<DisposedRow, PostgresError> {
    Ok(DisposedRow {
        row: catalogue_row(row)?,
        disposed_at: Timestamp::from_millis(get(row, 4)?),
        host_days: u64::try_from(get::<i64>(row, 5)?).unwrap_or(0),
    })
}

/// All that belongs to a session, in one round trip.
fn load_session(
    connection: &mut Connection,
    session: &ChannelUri,
) -> Result<Option<LoadedSession>, PostgresError> {
    let said = [
        "SELECT summary, state, notes, facts FROM session JOIN session_state USING (uri)
         WHERE uri = $1 AND disposed_at IS NULL",
        "SELECT uri, head, seq, notes FROM chat WHERE session = $1 ORDER BY id",
        "SELECT turn.chat, turn.id, turn.json FROM turn JOIN chat ON chat.uri = turn.chat
         WHERE chat.session = $1 ORDER BY turn.chat, turn.place",
        "SELECT log.first, log.last, log.channel, log.action, log.origin, log.facts, log.cuts
         FROM log JOIN chat ON chat.uri = log.channel AND log.last > chat.seq
         WHERE chat.session = $1 ORDER BY log.last",
        "SELECT json FROM annotation WHERE session = $1 ORDER BY place",
        "SELECT uri, excerpt FROM content WHERE session = $1 AND excerpt IS NOT NULL
         UNION
         SELECT uri, excerpt FROM content_share AS share JOIN content ON uri = share.content
         WHERE share.session = $1 AND excerpt IS NOT NULL",
    ];
    let said = said.map(|sql| Said {
        sql,
        values: vec![uri(session)],
    });
    let answers = connection.transaction(SNAPSHOT, said.into())?;
    let Ok([found, chats, turns, log, annotations, excerpts]) = <[Vec<Row>; 6]>::try_from(answers)
    else {
        return Ok(None);
    };
    let Some(row) = found.first() else {
        return Ok(None);
    };
    let record = SessionRecord {
        uri: session.clone(),
        summary: parsed("summary", get(row, 0)?)?,
        state: parsed("session", get(row, 1)?)?,
        notes: parsed("session", get(row, 2)?)?,
        facts: match get::<Option<&str>>(row, 3)? {
            Some(facts) => parsed("summary", facts)?,
            None => SummaryFacts::default(),
        },
    };
    let mut loaded = Vec::with_capacity(chats.len());
    for row in &chats {
        loaded.push(LoadedChat {
            record: ChatRecord {
                uri: uri_at(row, 0)?,
                session: session.clone(),
                head: parsed("chat", get(row, 1)?)?,
                seq: number(get(row, 2)?),
                notes: parsed("chat", get(row, 3)?)?,
            },
            turns: Vec::new(),
            log: Vec::new(),
        });
    }
    let places: std::collections::HashMap<String, usize> = (loaded.iter())
        .enumerate()
        .map(|(place, chat)| (chat.record.uri.to_string(), place))
        .collect();
    for row in &turns {
        if let Some(chat) = places.get(get::<&str>(row, 0)?) {
            let id = TurnId::from(get::<&str>(row, 1)?);
            let json = raw("turn", get(row, 2)?)?;
            loaded[*chat].turns.push(StoredTurn::from_json(id, json));
        }
    }
    for row in &log {
        if let Some(chat) = places.get(get::<&str>(row, 2)?) {
            loaded[*chat].log.push(log_entry(row)?);
        }
    }
    Ok(Some(LoadedSession {
        session: record,
        chats: loaded,
        annotations: (annotations.iter())
            .map(|row| Ok(parsed("annotation", get(row, 0)?)?))
            .collect::<Result<_, PostgresError>>()?,
        excerpts: (excerpts.iter())
            .map(|row| Ok((get(row, 0)?, Arc::from(text_of(get(row, 1)?)))))
            .collect::<Result<_, PostgresError>>()?,
    }))
}

pub(super) fn catalogue(rows: &[Row]) -> Result<Vec<CatalogueRow>, PostgresError> {
    let mut catalogue: Vec<CatalogueRow> =
        rows.iter().map(catalogue_row).collect::<Result<_, _>>()?;
    catalogue.sort_unstable_by(|a, b| {
        (b.modified_at.cmp(&a.modified_at)).then_with(|| a.session.cmp(&b.session))
    });
    Ok(catalogue)
}

/// A row that begins with `uri, modified_at, summary, facts`.
fn catalogue_row(row: &Row) -> Result<CatalogueRow, PostgresError> {
    Ok(CatalogueRow {
        session: uri_at(row, 0)?,
        modified_at: Timestamp::from_millis(get(row, 1)?),
        // A start does not wait until all of them are pressed.
        summary: Pressed::plain(get(row, 2)?),
        facts: get::<Option<&str>>(row, 3)?.map(Pressed::plain),
    })
}

fn content_record(row: &Row) -> Result<ContentRecord, PostgresError> {
    Ok(ContentRecord {
        uri: get(row, 0)?,
        session: uri_at(row, 1)?,
        content_type: get(row, 2)?,
        data: Bytes::from(get::<Vec<u8>>(row, 3)?),
        excerpt: get::<Option<&[u8]>>(row, 4)?.map(|it| Arc::from(text_of(it))),
    })
}

fn log_entry(row: &Row) -> Result<LogEntry, PostgresError> {
    let text = |column| get::<Option<&str>>(row, column);
    Ok(LogEntry {
        first: number(get(row, 0)?),
        last: number(get(row, 1)?),
        channel: uri_at(row, 2)?,
        action: parsed("action", get(row, 3)?)?,
        origin: text(4)?.map(|json| parsed("origin", json)).transpose()?,
        facts: (text(5)?.map(|json| parsed("log entry", json)))
            .transpose()?
            .unwrap_or_default(),
        cuts: text(6)?.map(read_cuts).transpose()?.unwrap_or_default(),
    })
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn uri_at(row: &Row, column: usize) -> Result<ChannelUri, PostgresError> {
    Ok(ChannelUri::from(get::<&str>(row, column)?))
}

pub(super) fn number(integer: i64) -> Seq {
    Seq::new(u64::try_from(integer).unwrap_or(0))
}

/// A column. If it is of another type than it should be, somebody has changed
/// the tables.
pub(crate) fn get<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    column: usize,
) -> Result<T, PostgresError> {
    row.try_get(column)
        .map_err(|error| PostgresError::Reported {
            code: "42804".to_owned(),
            message: error.to_string(),
        })
}
