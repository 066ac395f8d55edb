//! What each [`StoreOp`] means in SQL. This is the hot path: every statement
//! is prepared once, and nothing is serialized that is not stored.
//!
//! *Invariant*: an operation that makes no sense (a turn of a chat that is
//! gone, say) changes nothing else and is not an error, as an error here would
//! hold up everything that waits behind it.

use innkeeper_protocol::newest::state::Annotation;
use innkeeper_protocol::record::{
    ChatRecord, ClientRecord, ContentRecord, SessionRecord, StoreBatch, StoreOp,
};
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::{ChannelUri, Timestamp};
use rusqlite::{Connection, MAIN_DB, OptionalExtension as _, params};
use serde_json::Value;

use super::automations;
use super::json::{Column, json};
use super::log;
use super::sequence::{self, integer};
use super::sessions;
use crate::StoreError;
use crate::sequence::Sequence;
use crate::tail::Tail;

/// The names of settings.
pub(crate) const ROOT_CONFIG: &str = "root_config";
pub(crate) const SWITCHES: &str = "switches";

/// Applies the batches within the transaction that `connection` is in. Returns
/// how far the sequence came, and how many bytes the log grew by.
pub(crate) fn apply(
    connection: &Connection,
    before: Sequence,
    batches: &[StoreBatch],
) -> Result<(Sequence, u64), StoreError> {
    let mut applying = Applying {
        connection,
        tail: Tail::default(),
        sequence: before,
        log_only_grows: true,
    };
    for op in batches.iter().flat_map(|batch| &batch.ops) {
        applying.op(op)?;
    }
    applying.tail.flush(&mut &*connection)?;
    if !applying.log_tells_of(before) {
        sequence::save(&applying.sequence, connection)?;
    }
    Ok((applying.sequence, applying.tail.bytes))
}

struct Applying<'a> {
    connection: &'a Connection,
    tail: Tail,
    sequence: Sequence,
    log_only_grows: bool,
}

impl Applying<'_> {
    /// Whether nothing has changed about the sequence but what its last number
    /// is, and the log holds that. It is so with most transactions, and each
    /// page that one of them changes is written whole.
    fn log_tells_of(&self, before: Sequence) -> bool {
        let last = self.sequence.last;
        self.log_only_grows && self.sequence == Sequence { last, ..before }
    }

    fn op(&mut self, op: &StoreOp) -> Result<(), StoreError> {
        let connection = self.connection;
        match op {
            StoreOp::Append(action) => {
                self.sequence.last = self.sequence.last.max(action.seq);
                self.tail.append(&mut &*connection, action)
            }
            StoreOp::PutSession(record) => put_session(connection, record),
            StoreOp::DisposeSession { session, at } => {
                self.log_only_grows = false;
                self.tail.flush(&mut &*connection)?;
                sessions::forget_log(connection, session)?;
                sessions::dispose(connection, session, *at)
            }
            StoreOp::PutChat(record) => put_chat(connection, record),
            StoreOp::DeleteChat { chat } => sessions::delete_chat(connection, chat),
            StoreOp::AppendTurn { chat, index, turn } => {
                append_turn(connection, chat, *index, turn)
            }
            StoreOp::TruncateTurns { chat, keep } => truncate_turns(connection, chat, *keep),
            StoreOp::PutClient(client) => put_client(connection, client),
            StoreOp::ForgetClient { client_id } => forget_client(connection, client_id.as_str()),
            StoreOp::PutRootConfig { values } => put_setting(connection, ROOT_CONFIG, values),
            StoreOp::PutSwitches { values } => put_setting(connection, SWITCHES, values),
            StoreOp::PutContent(content) => put_content(connection, content),
            StoreOp::ShareContent { from, with } => sessions::share_content(connection, from, with),
            StoreOp::PutAnnotation {
                session,
                annotation,
            } => put_annotation(connection, session, annotation),
            StoreOp::RemoveAnnotation { session, id } => remove_annotation(connection, session, id),
            StoreOp::PutAutomation(record) => automations::put(connection, record),
            StoreOp::RemoveAutomation { automation } => automations::remove(connection, automation),
            StoreOp::PutAutomationRun(record) => automations::put_run(connection, record),
            StoreOp::RemoveAutomationRun { run } => automations::remove_run(connection, run),
            StoreOp::ReserveSeq { until } => {
                self.sequence.reserved = *until;
                Ok(())
            }
            StoreOp::TrimLog { below } => {
                self.log_only_grows = false;
                self.tail.flush(&mut &*connection)?;
                log::trim(connection, *below)?;
                self.sequence.trimmed(*below);
                Ok(())
            }
            StoreOp::Reread { below, .. } => {
                self.log_only_grows = false;
                self.sequence.last = self.sequence.last.max(below.back(1));
                self.sequence.trimmed(*below);
                Ok(())
            }
        }
    }
}

fn put_session(connection: &Connection, record: &SessionRecord) -> Result<(), StoreError> {
    let summary = &record.summary;
    let uri = record.uri.as_str();
    let created_at = Timestamp::parse(&summary.created_at).map(Timestamp::as_millis);
    let summary_json = Column::of(&json("summary", summary)?);
    let facts = match record.facts.is_empty() {
        true => None,
        false => Some(Column::of(&json("summary", &record.facts)?)),
    };
    let row = params![
        uri,
        summary.provider,
        summary.title,
        summary.status,
        created_at,
        millis(&summary.modified_at),
        summary_json,
        facts,
    ];
    let known = connection
        .prepare_cached(
            "UPDATE session SET provider = ?2, title = ?3, status = ?4, created_at = ?5,
                 modified_at = ?6, summary = ?7, facts = ?8
             WHERE uri = ?1 AND disposed_at IS NULL",
        )?
        .execute(row)?;
    if known == 0 {
        if sessions::is_disposed(connection, &record.uri)? {
            sessions::purge(connection, &record.uri)?;
        }
        connection
            .prepare_cached(
                "INSERT INTO session
                     (uri, provider, title, status, created_at, modified_at, summary, facts)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(row)?;
    }
    put_titles(connection, record)?;
    connection
        .prepare_cached(
            "INSERT INTO session_state (uri, state, notes) VALUES (?1, ?2, ?3)
             ON CONFLICT (uri) DO UPDATE SET state = excluded.state, notes = excluded.notes",
        )?
        .execute(params![
            uri,
            Column::of(&json("session", &record.state)?),
            json("session", &record.notes)?,
        ])?;
    Ok(())
}

/// A chat is called what its session lists it as: its own state cannot be
/// renamed. The default one is called what the session is.
fn put_titles(connection: &Connection, record: &SessionRecord) -> Result<(), StoreError> {
    let default = ChannelUri::default_chat_of(record.uri.as_str());
    let listed = record.summary.chats.iter().flatten();
    for chat in listed.filter(|chat| *chat.resource != *default.as_str()) {
        connection
            .prepare_cached("UPDATE chat SET title = ?2 WHERE uri = ?1 AND title <> ?2")?
            .execute([&chat.resource, &chat.title])?;
    }
    Ok(())
}

fn put_chat(connection: &Connection, record: &ChatRecord) -> Result<(), StoreError> {
    let head = &record.head;
    let is_default = record.uri == ChannelUri::default_chat_of(record.session.as_str());
    let head_json = Column::of(&json("chat", head)?);
    let notes_json = json("chat", &record.notes)?;
    let row = params![
        record.uri.as_str(),
        record.session.as_str(),
        is_default,
        head.title,
        head.status,
        millis(&head.modified_at),
        head.active_turn.as_ref().map(|turn| &turn.id),
        integer(record.seq),
        head_json,
        notes_json,
    ];
    let known = connection
        .prepare_cached(
            "UPDATE chat SET is_default = ?3, status = ?5, modified_at = ?6,
                 active_turn = ?7, seq = ?8, head = ?9, notes = ?10
             WHERE uri = ?1 AND session = ?2",
        )?
        .execute(row)?;
    if known > 0 {
        return Ok(());
    }
    // The name may be that of a chat in a disposed session: it begins afresh
    // here. In a living session it is a chat that moves.
    let owner: Option<String> = connection
        .prepare_cached("SELECT session FROM chat WHERE uri = ?1")?
        .query_row([record.uri.as_str()], |row| row.get(0))
        .optional()?;
    if let Some(owner) = owner
        && sessions::is_disposed(connection, &owner.into())?
    {
        sessions::delete_chat(connection, &record.uri)?;
    }
    connection
        .prepare_cached(
            "INSERT INTO chat (uri, session, is_default, title, status, modified_at,
                 active_turn, seq, head, notes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (uri) DO UPDATE SET session = ?2, is_default = ?3, status = ?5, modified_at = ?6, active_turn = ?7, seq = ?8, head = ?9,
                 notes = ?10",
        )?
        .execute(row)?;
    Ok(())
}

/// A value beyond this is written piece by piece into room that was made for
/// it: as a parameter, SQLite would copy it, and then copy it again.
const LARGE: usize = 256 * 1024;

fn append_turn(
    connection: &Connection,
    chat: &ChannelUri,
    index: u64,
    turn: &StoredTurn,
) -> Result<(), StoreError> {
    let json = turn.json.get();
    let (chat, place, id) = (chat.as_str(), row_number(index), &*turn.id);
    if json.len() <= LARGE {
        connection
            .prepare_cached(
                "INSERT INTO turn (chat, place, id, json) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (chat, place) DO UPDATE SET id = excluded.id, json = excluded.json",
            )?
            .execute(params![chat, place, id, json])?;
        return Ok(());
    }
    let row: i64 = connection
        .prepare_cached(
            "INSERT INTO turn (chat, place, id, json) VALUES (?1, ?2, ?3, zeroblob(?4))
             ON CONFLICT (chat, place) DO UPDATE SET id = excluded.id, json = excluded.json
             RETURNING rowid",
        )?
        .query_row(
            params![chat, place, id, row_number(json.len() as u64)],
            |row| row.get(0),
        )?;
    let mut room = connection.blob_open(MAIN_DB, "turn", "json", row, false)?;
    for (piece, bytes) in json.as_bytes().chunks(LARGE).enumerate() {
        room.write_at(bytes, piece * LARGE)?;
    }
    Ok(room.close()?)
}

fn truncate_turns(connection: &Connection, chat: &ChannelUri, keep: u64) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM turn WHERE chat = ?1 AND place >= ?2")?
        .execute(params![chat.as_str(), row_number(keep)])?;
    Ok(())
}

fn forget_client(connection: &Connection, client_id: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM client WHERE client_id = ?1")?
        .execute([client_id])?;
    Ok(())
}

fn put_client(connection: &Connection, client: &ClientRecord) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO client (client_id, version, seen_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (client_id) DO UPDATE
                 SET version = excluded.version, seen_at = excluded.seen_at",
        )?
        .execute(params![
            client.client_id.as_str(),
            client.version,
            client.seen_at.as_millis(),
        ])?;
    Ok(())
}

fn put_setting(connection: &Connection, name: &str, values: &Value) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO setting (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )?
        .execute([name, &json("configuration", values)?])?;
    Ok(())
}

fn put_content(connection: &Connection, content: &ContentRecord) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO content (uri, session, content_type, data, excerpt)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (uri) DO UPDATE SET session = excluded.session,
                 content_type = excluded.content_type, data = excluded.data,
                 excerpt = excluded.excerpt",
        )?
        .execute(params![
            content.uri,
            content.session.as_str(),
            content.content_type,
            &*content.data,
            content.excerpt.as_deref(),
        ])?;
    Ok(())
}

fn put_annotation(
    connection: &Connection,
    session: &ChannelUri,
    annotation: &Annotation,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO annotation (session, id, json) VALUES (?1, ?2, ?3)
             ON CONFLICT (session, id) DO UPDATE SET json = excluded.json",
        )?
        .execute([
            session.as_str(),
            &annotation.id,
            &json("annotation", annotation)?,
        ])?;
    Ok(())
}

fn remove_annotation(
    connection: &Connection,
    session: &ChannelUri,
    id: &str,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM annotation WHERE session = ?1 AND id = ?2")?
        .execute([session.as_str(), id])?;
    Ok(())
}

/// SQLite's integers are signed; nothing that is counted comes near their end.
fn row_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A column to sort by: what is not a timestamp sorts last.
fn millis(iso: &str) -> i64 {
    Timestamp::parse(iso).map_or(0, Timestamp::as_millis)
}
