//! Keeping the index up to date, behind the commits and bit by bit.
//!
//! What is out of date stands in `search_due`, which triggers write in the
//! transaction of the change itself, so nothing is ever forgotten.
//! *Invariant*: bringing a chat up to date makes its rows from a place on what
//! the tables say now, whatever they were; so it can be broken off and repeated.

use innkeeper_protocol::ChannelUri;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::reader::stored_text;
use crate::StoreError;
use crate::search::text::Searchable;
use crate::search::usage::TurnUsage;
use crate::search::words::folded;

/// How many bits of a row's name are for the place of the turn.
const PLACE_BITS: u32 = 24;
const MOST_PLACES: i64 = 1 << PLACE_BITS;

/// How much is done in one transaction: others wait for it.
const MOST_BYTES: usize = 64 * 1024;
const MOST_TURNS: usize = 16;
const MOST_CHATS: usize = 16;

/// What a row of the index is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowName {
    pub(super) chat: i64,
    /// Nothing, if it is the row of the title.
    pub(super) place: Option<i64>,
}

impl RowName {
    pub(super) fn of(number: i64) -> Self {
        let place = number & (MOST_PLACES - 1);
        Self {
            chat: number >> PLACE_BITS,
            place: (place > 0).then(|| place - 1),
        }
    }

    pub(super) fn number(self) -> i64 {
        (self.chat << PLACE_BITS) | self.place.map_or(0, |place| place + 1)
    }
}

/// Whether something is out of date.
pub(super) fn is_behind(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM search_due)";
    Ok(connection
        .prepare_cached(sql)?
        .query_row([], |row| row.get(0))?)
}

/// Brings some of what is out of date up to date, the newest chats first.
pub(super) fn catch_up(connection: &Connection) -> Result<(), StoreError> {
    let mut budget = Budget {
        bytes: MOST_BYTES,
        turns: MOST_TURNS,
    };
    for _ in 0..MOST_CHATS {
        let due: Option<(i64, i64)> = connection
            .prepare_cached("SELECT chat, place FROM search_due ORDER BY chat DESC LIMIT 1")?
            .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((chat, place)) = due else {
            return Ok(());
        };
        match bring_up_to_date(connection, chat, place, &mut budget)? {
            None => {
                connection
                    .prepare_cached("DELETE FROM search_due WHERE chat = ?1")?
                    .execute([chat])?;
            }
            Some(next) => {
                connection
                    .prepare_cached("UPDATE search_due SET place = ?2 WHERE chat = ?1")?
                    .execute([chat, next])?;
                return Ok(());
            }
        }
    }
    Ok(())
}

struct Budget {
    bytes: usize,
    turns: usize,
}

impl Budget {
    fn is_spent(&self) -> bool {
        self.bytes == 0 || self.turns == 0
    }

    fn spend(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.turns = self.turns.saturating_sub(1);
    }
}

/// Returns the place to go on from, if the budget did not suffice.
fn bring_up_to_date(
    connection: &Connection,
    chat: i64,
    from: i64,
    budget: &mut Budget,
) -> Result<Option<i64>, StoreError> {
    let title = RowName { chat, place: None };
    remove(connection, title.number(), title.number())?;
    if from < MOST_PLACES - 1 {
        let first = RowName {
            chat,
            place: Some(from),
        };
        remove(connection, first.number(), ((chat + 1) << PLACE_BITS) - 1)?;
    }
    let Some(owner) = Owner::of(connection, chat)? else {
        return Ok(None);
    };
    insert(connection, title, &Searchable::title(&owner.title))?;

    let mut turns = connection.prepare_cached(
        "SELECT place, id, json FROM turn WHERE chat = ?1 AND place >= ?2 ORDER BY place",
    )?;
    let mut turns = turns.query(params![owner.uri.as_str(), from])?;
    while let Some(turn) = turns.next()? {
        let place: i64 = turn.get(0)?;
        if budget.is_spent() {
            return Ok(Some(place));
        }
        let json = stored_text(turn, 2)?;
        budget.spend(json.len());
        if place < MOST_PLACES - 1 {
            let name = RowName {
                chat,
                place: Some(place),
            };
            insert_turn(connection, name, &json)?;
        }
        let id: String = turn.get(1)?;
        count_usage(connection, &owner, &id, &json)?;
    }
    Ok(None)
}

/// The chat and its session, if that is not disposed.
struct Owner {
    uri: ChannelUri,
    title: String,
    session: String,
    provider: String,
}

impl Owner {
    fn of(connection: &Connection, chat: i64) -> Result<Option<Self>, StoreError> {
        let mut statement = connection.prepare_cached(
            "SELECT chat.uri, iif(is_default, session.title, chat.title), session.uri, provider
             FROM chat JOIN session ON session.uri = chat.session
             WHERE id = ?1 AND disposed_at IS NULL",
        )?;
        let owner = statement.query_row([chat], |row| {
            Ok(Self {
                uri: super::boot::uri(row, 0)?,
                title: row.get(1)?,
                session: row.get(2)?,
                provider: row.get(3)?,
            })
        });
        Ok(owner.optional()?)
    }
}

fn remove(connection: &Connection, first: i64, last: i64) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM search WHERE rowid BETWEEN ?1 AND ?2",
        "DELETE FROM search_time WHERE id BETWEEN ?1 AND ?2",
    ] {
        connection.prepare_cached(sql)?.execute([first, last])?;
    }
    Ok(())
}

fn insert_turn(connection: &Connection, name: RowName, json: &str) -> Result<(), StoreError> {
    let (searchable, at) = Searchable::of_turn(json);
    insert(connection, name, &searchable)?;
    if let Some(at) = at {
        connection
            .prepare_cached("INSERT INTO search_time (id, at) VALUES (?1, ?2)")?
            .execute([name.number(), at.as_millis()])?;
    }
    Ok(())
}

fn insert(
    connection: &Connection,
    name: RowName,
    searchable: &Searchable,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO search (rowid, title, message, answer, tool, reasoning)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            name.number(),
            folded(&searchable.title),
            folded(&searchable.message),
            folded(&searchable.answer),
            folded(&searchable.tool),
            folded(&searchable.reasoning),
        ])?;
    Ok(())
}

/// A turn counts once: for the session in which it was first seen.
fn count_usage(
    connection: &Connection,
    owner: &Owner,
    turn: &str,
    json: &str,
) -> Result<(), StoreError> {
    let Some(usage) = TurnUsage::of_turn(json) else {
        return Ok(());
    };
    let integer = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let (cost, currency) = usage.cost.unzip();
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO usage
                 (turn, at, session, provider, model, input, output, cached, cost, currency)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            turn,
            usage.at.as_millis(),
            owner.session,
            owner.provider,
            usage.model,
            integer(usage.input),
            integer(usage.output),
            integer(usage.cached),
            cost,
            currency,
        ])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_called_by_its_chat_and_its_place() {
        for (chat, place) in [(0, None), (1, None), (1, Some(0)), (1 << 38, Some(77))] {
            let name = RowName { chat, place };
            assert_eq!(RowName::of(name.number()), name);
        }
    }
}
