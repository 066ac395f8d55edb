//! Looking into the index. What it finds is read again where it stands, so
//! that nothing is shown that is gone, and the snippet is what is there now.

use std::collections::HashMap;
use std::time::Instant;

use innkeeper_protocol::newest::state::SessionStatus;
use innkeeper_protocol::record::search::{
    SearchCursor, SearchField, SearchFilter, SearchHit, SearchPage, SearchQuery,
};
use innkeeper_protocol::{Timestamp, TurnId};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::indexing::{self, RowName};
use super::json;
use super::reader::{stored_text, text};
use crate::StoreError;
use crate::search::hit::{FoundChat, summary_is_within};
use crate::search::query::{Terms, weight};
use crate::search::text::Searchable;

/// How many of the newest rows that fit are compared with each other.
const MOST_CANDIDATES: usize = 5_000;

/// How many rows that fit may turn out to be gone, in one page.
const MOST_GONE: usize = 200;

pub(super) fn search(
    connection: &mut Connection,
    query: &SearchQuery,
) -> Result<SearchPage, StoreError> {
    let started = Instant::now();
    let tx = connection.transaction()?;
    let mut page = SearchPage {
        indexing: indexing::is_behind(&tx)?,
        ..SearchPage::default()
    };
    let terms = Terms::read(&query.text, &query.fields);
    if terms.is_empty() {
        return Ok(page);
    }
    let mut looking = Looking {
        connection: &tx,
        query,
        started,
        chats: HashMap::new(),
    };
    let mut candidates = looking.candidates(&terms, &mut page.truncated)?;
    candidates.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let behind = |(score, id): &(f64, i64)| match &query.cursor {
        Some(cursor) => cursor.is_before(*score, *id),
        None => true,
    };
    let mut gone = 0;
    let mut last = None;
    for (score, id) in candidates.into_iter().filter(behind) {
        if page.items.len() == query.limit || gone == MOST_GONE || looking.is_over() {
            page.next_cursor = last;
            break;
        }
        match looking.hit(&terms, id)? {
            Some(hit) => page.items.push(hit),
            None => gone += 1,
        }
        last = Some(SearchCursor { score, id });
    }
    Ok(page)
}

struct Looking<'a> {
    connection: &'a Connection,
    query: &'a SearchQuery,
    started: Instant,
    /// The chats that were come across; nothing for those that are not wanted.
    chats: HashMap<i64, Option<FoundChat>>,
}

impl Looking<'_> {
    fn is_over(&self) -> bool {
        self.started.elapsed() >= self.query.time
    }

    /// The newest rows that fit, with their scores.
    fn candidates(
        &mut self,
        terms: &Terms,
        truncated: &mut bool,
    ) -> Result<Vec<(f64, i64)>, StoreError> {
        let mut found = Vec::new();
        for (first, last) in self.ranges()? {
            let mut statement = self.connection.prepare_cached(
                "SELECT rowid, -bm25(search, ?4, ?5, ?6, ?7, ?8) FROM search
                 WHERE search MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC",
            )?;
            let weights = SearchField::ALL.map(weight);
            let mut rows = statement.query(params![
                terms.expression(),
                first,
                last,
                weights[0],
                weights[1],
                weights[2],
                weights[3],
                weights[4],
            ])?;
            loop {
                if found.len() == MOST_CANDIDATES || self.is_over() {
                    *truncated = true;
                    return Ok(found);
                }
                let Some(row) = rows.next()? else {
                    break;
                };
                let id: i64 = row.get(0)?;
                if self.is_wanted(RowName::of(id))? {
                    found.push((row.get(1)?, id));
                }
            }
        }
        Ok(found)
    }

    /// The rows to look at: all, or those of the chats of one session.
    fn ranges(&self) -> Result<Vec<(i64, i64)>, StoreError> {
        let Some(session) = &self.query.filter.session else {
            return Ok(vec![(0, i64::MAX)]);
        };
        let mut statement = self
            .connection
            .prepare_cached("SELECT id FROM chat WHERE session = ?1 ORDER BY id DESC")?;
        let chats = statement.query_map([session.as_str()], |row| row.get(0))?;
        let range = |chat: i64| {
            let (name, next) = (
                RowName { chat, place: None },
                RowName {
                    chat: chat + 1,
                    place: None,
                },
            );
            (name.number(), next.number() - 1)
        };
        Ok(chats
            .map(|chat| chat.map(range))
            .collect::<Result<_, _>>()?)
    }

    fn is_wanted(&mut self, name: RowName) -> Result<bool, StoreError> {
        if !self.chats.contains_key(&name.chat) {
            let chat = load_chat(self.connection, name.chat, &self.query.filter)?;
            self.chats.insert(name.chat, chat);
        }
        let Some(Some(chat)) = self.chats.get(&name.chat) else {
            return Ok(false);
        };
        let SearchFilter { after, before, .. } = self.query.filter;
        if after.is_none() && before.is_none() {
            return Ok(true);
        }
        let at = match name.place {
            None => Some(chat.modified_at),
            Some(_) => {
                let sql = "SELECT at FROM search_time WHERE id = ?1";
                let mut statement = self.connection.prepare_cached(sql)?;
                let at = statement.query_row([name.number()], |row| row.get(0));
                at.optional()?.map(Timestamp::from_millis)
            }
        };
        Ok(at.is_some_and(|at| {
            after.is_none_or(|after| at >= after) && before.is_none_or(|before| at < before)
        }))
    }

    /// A row of the index as it is shown, if what it says still stands there.
    fn hit(&self, terms: &Terms, id: i64) -> Result<Option<SearchHit>, StoreError> {
        let name = RowName::of(id);
        let Some(Some(chat)) = self.chats.get(&name.chat) else {
            return Ok(None);
        };
        let (searchable, at, turn_id) = match name.place {
            None => (Searchable::title(&chat.title), None, None),
            Some(place) => {
                let sql = "SELECT id, json FROM turn WHERE chat = ?1 AND place = ?2";
                let mut statement = self.connection.prepare_cached(sql)?;
                let mut rows = statement.query(params![chat.uri.as_str(), place])?;
                let Some(row) = rows.next()? else {
                    return Ok(None);
                };
                let (searchable, at) = Searchable::of_turn(&stored_text(row, 1)?);
                (searchable, at, Some(TurnId::from(text(row, 0)?)))
            }
        };
        let found = terms.find_in(&searchable);
        Ok(found.map(|found| chat.hit(found, turn_id, at)))
    }
}

/// The chat, if its session is one to look into.
fn load_chat(
    connection: &Connection,
    chat: i64,
    filter: &SearchFilter,
) -> Result<Option<FoundChat>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT chat.uri, iif(is_default, session.title, chat.title), chat.modified_at,
             session.uri, session.title, provider, session.status, summary
         FROM chat JOIN session ON session.uri = chat.session
         WHERE id = ?1 AND disposed_at IS NULL",
    )?;
    let mut rows = statement.query([chat])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let status = SessionStatus::from_bits(row.get(6)?);
    let chat = FoundChat {
        uri: super::boot::uri(row, 0)?,
        title: row.get(1)?,
        modified_at: Timestamp::from_millis(row.get(2)?),
        session: super::boot::uri(row, 3)?,
        session_title: row.get(4)?,
        provider: row.get(5)?,
        archived: status.contains(SessionStatus::IsArchived),
    };
    let provider = filter.provider.as_ref();
    if provider.is_some_and(|wanted| *wanted != chat.provider)
        || filter.archived.is_some_and(|it| it != chat.archived)
    {
        return Ok(None);
    }
    if filter.directory.is_some()
        && !summary_is_within(filter, Some(&json::text("summary", row, 7)?))
    {
        return Ok(None);
    }
    Ok(Some(chat))
}
