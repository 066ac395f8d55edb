//! What the engine is told when it begins. Its cost is that of the catalogue:
//! no state, transcript or log is read here.

use innkeeper_protocol::record::pressed::Pressed;
use innkeeper_protocol::record::{Boot, CatalogueRow, ClientRecord, Epoch};
use innkeeper_protocol::{ChannelUri, ClientId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Row};

use super::apply::{ROOT_CONFIG, SWITCHES};
use super::automations;
use super::json::{parsed, pressed};
use crate::StoreError;
use crate::sequence::Sequence;

pub(crate) fn boot(
    connection: &Connection,
    sequence: &Sequence,
    epochs: Vec<Epoch>,
) -> Result<Boot, StoreError> {
    Ok(Boot {
        next_seq: sequence.next(),
        log_start: sequence.log_start,
        epochs,
        catalogue: catalogue(connection)?,
        chats: chats(connection)?,
        interrupted: interrupted(connection)?,
        without_turns: without_turns(connection)?,
        clients: clients(connection)?,
        root_config: setting(connection, ROOT_CONFIG)?,
        switches: setting(connection, SWITCHES)?,
        automations: automations::all(connection)?,
        automation_runs: automations::all_runs(connection)?,
    })
}

/// The sessions that are not disposed, the newest change first.
pub(crate) fn catalogue(connection: &Connection) -> Result<Vec<CatalogueRow>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT uri, modified_at, summary, facts FROM session WHERE disposed_at IS NULL",
    )?;
    let mut rows = statement.query([])?;
    let mut catalogue = Vec::new();
    while let Some(row) = rows.next()? {
        catalogue.push(catalogue_row(row)?);
    }
    // Sorted here: SQLite would copy each summary through its sorter.
    catalogue.sort_unstable_by(|a, b| {
        (b.modified_at.cmp(&a.modified_at)).then_with(|| a.session.cmp(&b.session))
    });
    Ok(catalogue)
}

/// A row that begins with `uri, modified_at, summary, facts`.
pub(crate) fn catalogue_row(row: &Row<'_>) -> Result<CatalogueRow, StoreError> {
    Ok(CatalogueRow {
        session: uri(row, 0)?,
        modified_at: Timestamp::from_millis(row.get(1)?),
        summary: pressed(row, 2)?.unwrap_or_else(|| Pressed::plain("{}")),
        facts: pressed(row, 3)?,
    })
}

pub(crate) fn uri(row: &Row<'_>, column: usize) -> rusqlite::Result<ChannelUri> {
    Ok(ChannelUri::from(row.get_ref(column)?.as_str()?))
}

fn chats(connection: &Connection) -> Result<Vec<(ChannelUri, ChannelUri)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT chat.uri, chat.session FROM chat JOIN session ON session.uri = chat.session
         WHERE chat.is_default = 0 AND session.disposed_at IS NULL
         ORDER BY chat.uri",
    )?;
    let chats = statement.query_map([], |row| Ok((uri(row, 0)?, uri(row, 1)?)))?;
    Ok(chats.collect::<Result<_, _>>()?)
}

fn interrupted(connection: &Connection) -> Result<Vec<ChannelUri>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT chat.session FROM chat JOIN session ON session.uri = chat.session
         WHERE chat.active_turn IS NOT NULL AND session.disposed_at IS NULL
         ORDER BY chat.session",
    )?;
    let sessions = statement.query_map([], |row| uri(row, 0))?;
    Ok(sessions.collect::<Result<_, _>>()?)
}

/// Few sessions were never modified, so the turns of few are looked for.
fn without_turns(connection: &Connection) -> Result<Vec<ChannelUri>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT uri FROM session
         WHERE disposed_at IS NULL AND modified_at <= created_at AND NOT EXISTS (
             SELECT 1 FROM chat JOIN turn ON turn.chat = chat.uri
             WHERE chat.session = session.uri)
         ORDER BY uri",
    )?;
    let sessions = statement.query_map([], |row| uri(row, 0))?;
    Ok(sessions.collect::<Result<_, _>>()?)
}

fn clients(connection: &Connection) -> Result<Vec<ClientRecord>, StoreError> {
    let mut statement = connection
        .prepare_cached("SELECT client_id, version, seen_at FROM client ORDER BY client_id")?;
    let clients = statement.query_map([], |row| {
        Ok(ClientRecord {
            client_id: ClientId::from(row.get_ref(0)?.as_str()?),
            version: row.get(1)?,
            seen_at: Timestamp::from_millis(row.get(2)?),
        })
    })?;
    Ok(clients.collect::<Result<_, _>>()?)
}

fn setting(connection: &Connection, name: &str) -> Result<Option<serde_json::Value>, StoreError> {
    let sql = "SELECT value FROM setting WHERE name = ?1";
    let json: Option<String> = connection
        .prepare_cached(sql)?
        .query_row([name], |row| row.get(0))
        .optional()?;
    json.map(|json| parsed("configuration", &json)).transpose()
}
