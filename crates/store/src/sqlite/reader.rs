//! Looking at what is committed, without holding up the writer.
//!
//! *Invariant*: what one call returns is the state between two commits.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use innkeeper_protocol::newest::state::Annotation;
use innkeeper_protocol::record::search::{SearchPage, SearchQuery, UsagePage, UsageQuery};
use innkeeper_protocol::record::store::{Archive, DisposedRow, StoreFault};
use innkeeper_protocol::record::{
    CatalogueRow, ChatRecord, ContentRecord, Excerpts, LoadedChat, LoadedSession, LogEntry,
    SessionRecord, SummaryFacts,
};
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::{ChannelUri, Seq, TurnId};
use rusqlite::{Connection, OptionalExtension as _, Row, ToSql, params};

use super::boot::{catalogue, uri};
use super::json::{self, parsed, raw};
use super::sequence::{integer, number};
use super::{directory, log, schema, search, sessions, usage};
use crate::StoreError;
use crate::pool::Pool;

/// A view of a data directory, with connections of its own. Clones are the
/// same view.
#[derive(Debug, Clone)]
pub struct Reader {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    dir: PathBuf,
    pool: Pool<Connection>,
}

/// Looks into a data directory, whether or not a host runs on it.
pub fn open_read_only(dir: &Path) -> Result<Reader, StoreError> {
    let reader = Reader::over(dir);
    reader.read(|_| Ok(()))?;
    Ok(reader)
}

impl Reader {
    pub(super) fn over(dir: &Path) -> Self {
        Self {
            shared: Arc::new(Shared {
                dir: dir.to_owned(),
                pool: Pool::default(),
            }),
        }
    }

    /// Waits for those who read, and reads no more.
    pub(super) fn close(&self) {
        self.shared.pool.close();
    }

    /// Reads with a connection that is free, or a new one.
    fn read<T>(
        &self,
        ask: impl FnOnce(&mut Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut loan = self.shared.pool.lend().ok_or(StoreError::Closed)?;
        let mut connection = match loan.connection.take() {
            Some(connection) => connection,
            None => {
                let connection = directory::connect_read_only(&self.shared.dir)?;
                schema::check(&connection)?;
                connection
            }
        };
        let answer = ask(&mut connection)?;
        // What failed may have a broken connection as its cause.
        loan.connection = Some(connection);
        Ok(answer)
    }
}

impl Archive for Reader {
    fn load_session(&self, session: &ChannelUri) -> Result<Option<LoadedSession>, StoreFault> {
        Ok(self.read(|db| load_session(db, session))?)
    }

    fn log_between(&self, after: Seq, up_to: Seq) -> Result<Vec<LogEntry>, StoreFault> {
        let columns = log::COLUMNS;
        let sql =
            format!("SELECT {columns} FROM log WHERE last > ?1 AND first <= ?2 ORDER BY last");
        let range = params![integer(after), integer(up_to)];
        Ok(self.read(|db| entries(db, &sql, range))?)
    }

    fn content(&self, uri: &str) -> Result<Option<ContentRecord>, StoreFault> {
        Ok(self.read(|db| content(db, uri))?)
    }

    fn catalogue(&self) -> Result<Vec<CatalogueRow>, StoreFault> {
        Ok(self.read(|db| catalogue(db))?)
    }

    fn disposed(&self) -> Result<Vec<DisposedRow>, StoreFault> {
        Ok(self.read(|db| sessions::disposed(db))?)
    }

    fn search(&self, query: &SearchQuery) -> Result<SearchPage, StoreFault> {
        Ok(self.read(|db| search::search(db, query))?)
    }

    fn usage(&self, query: &UsageQuery) -> Result<UsagePage, StoreFault> {
        Ok(self.read(|db| usage::usage(db, query))?)
    }
}

fn load_session(
    connection: &mut Connection,
    session: &ChannelUri,
) -> Result<Option<LoadedSession>, StoreError> {
    let tx = connection.transaction()?;
    let Some(session) = load_record(&tx, session)? else {
        return Ok(None);
    };
    let mut chats = Vec::new();
    for record in load_chats(&tx, &session.uri)? {
        chats.push(LoadedChat {
            turns: load_turns(&tx, &record.uri)?,
            log: load_log(&tx, &record)?,
            record,
        });
    }
    let excerpts = load_excerpts(&tx, &session.uri)?;
    let annotations = load_annotations(&tx, &session.uri)?;
    Ok(Some(LoadedSession {
        session,
        chats,
        annotations,
        excerpts,
    }))
}

fn load_annotations(
    connection: &Connection,
    session: &ChannelUri,
) -> Result<Vec<Annotation>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT json FROM annotation WHERE session = ?1 ORDER BY place")?;
    let mut rows = statement.query([session.as_str()])?;
    let mut annotations = Vec::new();
    while let Some(row) = rows.next()? {
        annotations.push(parsed("annotation", text(row, 0)?)?);
    }
    Ok(annotations)
}

/// Of its own contents, and of those that it has from the one it copied.
fn load_excerpts(connection: &Connection, session: &ChannelUri) -> Result<Excerpts, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT uri, excerpt FROM content
         WHERE session = ?1 AND excerpt IS NOT NULL
         UNION
         SELECT uri, excerpt FROM content_share JOIN content ON uri = content_share.content
         WHERE content_share.session = ?1 AND excerpt IS NOT NULL",
    )?;
    let mut rows = statement.query([session.as_str()])?;
    let mut excerpts = Excerpts::new();
    while let Some(row) = rows.next()? {
        excerpts.insert(row.get(0)?, Arc::from(text(row, 1)?));
    }
    Ok(excerpts)
}

fn content(connection: &Connection, uri: &str) -> Result<Option<ContentRecord>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT uri, session, content_type, data, excerpt FROM content
         WHERE uri = ?1 AND (
             NOT EXISTS (SELECT 1 FROM session
                 WHERE session.uri = content.session AND disposed_at IS NOT NULL)
             OR EXISTS (SELECT 1 FROM content_share
                 JOIN session ON session.uri = content_share.session
                 WHERE content = ?1 AND disposed_at IS NULL))",
    )?;
    let content = statement.query_row([uri], |row| {
        Ok(ContentRecord {
            uri: row.get(0)?,
            session: self::uri(row, 1)?,
            content_type: row.get(2)?,
            data: Bytes::from(row.get::<_, Vec<u8>>(3)?),
            excerpt: row.get::<_, Option<String>>(4)?.map(Arc::from),
        })
    });
    Ok(content.optional()?)
}

fn load_record(
    connection: &Connection,
    session: &ChannelUri,
) -> Result<Option<SessionRecord>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT summary, state, notes, facts FROM session JOIN session_state USING (uri)
         WHERE uri = ?1 AND disposed_at IS NULL",
    )?;
    let mut rows = statement.query([session.as_str()])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(SessionRecord {
        uri: session.clone(),
        summary: parsed("summary", &json::text("summary", row, 0)?)?,
        state: parsed("session", &json::text("session", row, 1)?)?,
        notes: parsed("session", text(row, 2)?)?,
        facts: match json::text_or_null("summary", row, 3)? {
            Some(facts) => parsed("summary", &facts)?,
            None => SummaryFacts::default(),
        },
    }))
}

fn load_chats(
    connection: &Connection,
    session: &ChannelUri,
) -> Result<Vec<ChatRecord>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT uri, head, seq, notes FROM chat WHERE session = ?1 ORDER BY id")?;
    let mut rows = statement.query([session.as_str()])?;
    let mut chats = Vec::new();
    while let Some(row) = rows.next()? {
        chats.push(ChatRecord {
            uri: uri(row, 0)?,
            session: session.clone(),
            head: parsed("chat", &json::text("chat", row, 1)?)?,
            seq: number(row.get(2)?),
            notes: parsed("chat", text(row, 3)?)?,
        });
    }
    Ok(chats)
}

fn load_turns(connection: &Connection, chat: &ChannelUri) -> Result<Vec<StoredTurn>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT id, json FROM turn WHERE chat = ?1 ORDER BY place")?;
    let mut rows = statement.query([chat.as_str()])?;
    let mut turns = Vec::new();
    while let Some(row) = rows.next()? {
        let id = TurnId::from(text(row, 0)?);
        turns.push(StoredTurn::from_json(
            id,
            raw("turn", stored_text(row, 1)?)?,
        ));
    }
    Ok(turns)
}

/// Text that may have been written piece by piece, which makes it a blob.
pub(super) fn stored_text(row: &Row<'_>, column: usize) -> Result<String, StoreError> {
    let bytes = row
        .get_ref(column)?
        .as_bytes()
        .map_err(rusqlite::Error::from)?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

/// What the log has on a chat that its record may lack.
fn load_log(connection: &Connection, chat: &ChatRecord) -> Result<Vec<LogEntry>, StoreError> {
    let columns = log::COLUMNS;
    entries(
        connection,
        &format!("SELECT {columns} FROM log WHERE channel = ?1 AND last > ?2 ORDER BY last"),
        params![chat.uri.as_str(), integer(chat.seq)],
    )
}

fn entries(
    connection: &Connection,
    sql: &str,
    params: &[&dyn ToSql],
) -> Result<Vec<LogEntry>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(log::read(row)?);
    }
    Ok(entries)
}

pub(super) fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, StoreError> {
    Ok(row
        .get_ref(column)?
        .as_str()
        .map_err(rusqlite::Error::from)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SqliteStore, StoreOptions};

    #[test]
    fn a_connection_that_failed_is_not_used_again() {
        let dir = tempfile::tempdir().unwrap();
        drop(SqliteStore::open(dir.path(), StoreOptions::default()).unwrap());
        let reader = Reader::over(dir.path());
        let is_idle = || reader.shared.pool.lend().unwrap().connection.is_some();
        let failed = reader.read(|db| Ok(db.execute_batch("SELECT * FROM nothing")?));
        assert!(matches!(failed, Err(StoreError::Database(_))));
        assert!(!is_idle());
        reader.read(|_| Ok(())).unwrap();
        assert!(is_idle());
        reader.close();
        let refused = reader.read(|_| Ok(())).unwrap_err();
        assert!(matches!(refused, StoreError::Closed), "{refused}");
    }
}
