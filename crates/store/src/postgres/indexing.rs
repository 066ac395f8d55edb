//! Keeping the index up to date, behind the commits and bit by bit.
//!
//! What is out of date stands in `search_due`, which triggers write in the
//! transaction of the change itself, so nothing is ever forgotten.
//! *Invariant*: bringing a chat up to date makes its rows from a place on what
//! the tables say now, whatever they were; so it can be broken off and repeated.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use innkeeper_protocol::Timestamp;
use innkeeper_protocol::record::search::SearchField;

use super::connection::{Connection, Said, Value};
use super::error::PostgresError;
use super::plan::{count, without_nul};
use super::reader::get;
use crate::search::query::letter;
use crate::search::text::Searchable;
use crate::search::usage::TurnUsage;
use crate::search::words::words;

/// The place of the row of a chat's title.
pub(super) const TITLE: i64 = -1;

/// How much is done in one transaction: others wait for it.
const MOST_BYTES: i64 = 64 * 1024;
const MOST_TURNS: i64 = 16;
const MOST_CHATS: i64 = 16;

/// How many places of a word in a text are noted: they count for how well it
/// fits, and ever less.
const MOST_PLACES: usize = 16;

/// The largest place that the database knows.
const LAST_PLACE: usize = 16_383;

/// Whether something is out of date.
pub(super) fn is_behind(db: &mut Connection) -> Result<bool, PostgresError> {
    let rows = db.query("SELECT EXISTS (SELECT 1 FROM search_due)", Vec::new())?;
    rows.first().map_or(Ok(false), |row| get(row, 0))
}

/// Brings some of what is out of date up to date, the newest chats first.
pub(super) fn catch_up(db: &mut Connection) -> Result<(), PostgresError> {
    let sql = "SELECT chat, place FROM search_due ORDER BY chat DESC LIMIT $1";
    let due = db.query(sql, vec![Value::Int(MOST_CHATS)])?;
    let (mut bytes, mut turns) = (MOST_BYTES, MOST_TURNS);
    for row in &due {
        let (chat, from): (i64, i64) = (get(row, 0)?, get(row, 1)?);
        let mut answers = db.query_all(vec![
            Said {
                sql: "SELECT CASE WHEN is_default THEN session.title ELSE chat.title END,
                          session.uri, provider
                      FROM chat JOIN session ON session.uri = chat.session
                      WHERE id = $1 AND disposed_at IS NULL",
                values: vec![Value::Int(chat)],
            },
            // Large turns are not read before it is known that there is room.
            Said {
                sql: "SELECT turn.place, turn.id, turn.json FROM turn
                      JOIN (SELECT place, sum(octet_length(json)) OVER (ORDER BY place)
                              - octet_length(json) AS before, uri
                          FROM (SELECT place, json, uri FROM turn
                              JOIN chat ON chat.uri = turn.chat
                              WHERE chat.id = $1 AND place >= $2
                              ORDER BY place LIMIT $3) AS next) AS sized
                          ON sized.uri = turn.chat AND sized.place = turn.place
                      WHERE sized.before < $4::bigint ORDER BY turn.place",
                values: [chat, from, turns, bytes].map(Value::Int).into(),
            },
        ])?;
        let found = answers.pop().unwrap_or_default();
        let owner = answers.pop().unwrap_or_default();
        let mut said = vec![Said {
            sql: "DELETE FROM search WHERE chat = $1 AND (place >= $2 OR place = $3)",
            values: [chat, from, TITLE].map(Value::Int).into(),
        }];
        let mut next = None;
        if let Some(owner) = owner.first() {
            let title = Searchable::title(get(owner, 0)?);
            said.push(insert(chat, TITLE, None, &title));
            for turn in &found {
                let (place, json): (i64, &str) = (get(turn, 0)?, get(turn, 2)?);
                bytes -= i64::try_from(json.len()).unwrap_or(i64::MAX);
                turns -= 1;
                let (searchable, at) = Searchable::of_turn(json);
                let at = at.map(Timestamp::as_millis);
                said.push(insert(chat, place, at, &searchable));
                said.extend(usage(get(turn, 1)?, get(owner, 1)?, get(owner, 2)?, json));
                if bytes <= 0 || turns <= 0 {
                    next = Some(place.saturating_add(1));
                }
            }
        }
        said.push(match next {
            None => Said {
                sql: "DELETE FROM search_due WHERE chat = $1",
                values: vec![Value::Int(chat)],
            },
            Some(next) => Said {
                sql: "UPDATE search_due SET place = $2 WHERE chat = $1",
                values: vec![Value::Int(chat), Value::Int(next)],
            },
        });
        db.query_all(said)?;
        if next.is_some() {
            break;
        }
    }
    Ok(())
}

fn insert(chat: i64, place: i64, at: Option<i64>, searchable: &Searchable) -> Said {
    Said {
        sql: "INSERT INTO search (chat, place, at, words)
              VALUES ($1, $2, $3, $4::text::tsvector)",
        values: vec![
            Value::Int(chat),
            Value::Int(place),
            Value::OptionalInt(at),
            Value::Text(vector(searchable)),
        ],
    }
}

/// The words in the form in which the database reads them. They have letters
/// and digits only, so nothing in them is syntax.
fn vector(searchable: &Searchable) -> String {
    let mut places: BTreeMap<(char, String), Vec<usize>> = BTreeMap::new();
    for field in SearchField::ALL {
        for (place, word) in words(searchable.get(field)).enumerate() {
            let places = places.entry((letter(field), word.folded)).or_default();
            if places.len() < MOST_PLACES {
                places.push((place + 1).min(LAST_PLACE));
            }
        }
    }
    let mut vector = String::new();
    for ((letter, word), places) in places {
        let _ = write!(vector, "'{letter}{word}':");
        for (number, place) in places.into_iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let _ = write!(vector, "{comma}{place}{}", label(letter));
        }
        vector.push(' ');
    }
    vector
}

/// There are four labels for five kinds of text, but titles stand alone.
fn label(letter: char) -> char {
    match letter {
        'r' => 'D',
        'o' => 'C',
        'a' => 'B',
        _ => 'A',
    }
}

/// A turn counts once: for the session in which it was first seen.
fn usage(turn: &str, session: &str, provider: &str, json: &str) -> Option<Said> {
    let usage = TurnUsage::of_turn(json)?;
    let (cost, currency) = usage.cost.unzip();
    Some(Said {
        sql: "INSERT INTO usage
                  (turn, at, session, provider, model, input, output, cached, cost, currency)
              VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
              ON CONFLICT DO NOTHING",
        values: vec![
            Value::Text(turn.to_owned()),
            Value::Int(usage.at.as_millis()),
            Value::Text(session.to_owned()),
            Value::Text(provider.to_owned()),
            Value::OptionalText(usage.model.as_deref().map(without_nul)),
            count(usage.input),
            count(usage.output),
            count(usage.cached),
            Value::OptionalReal(cost),
            Value::OptionalText(currency.as_deref().map(without_nul)),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_told_with_their_field_and_some_of_their_places() {
        let mut searchable = Searchable {
            message: "One, 'two' one".into(),
            answer: "one\\".into(),
            ..Searchable::default()
        };
        let vector_of = |searchable: &Searchable| vector(searchable).trim_end().to_owned();
        assert_eq!(vector_of(&searchable), "'aone':1B 'mone':1A,3A 'mtwo':2A");
        searchable.message = "x ".repeat(20_000);
        let told = vector_of(&searchable);
        assert_eq!(told.matches('A').count(), MOST_PLACES);
    }
}
