//! Looking into the index. What it finds is read again where it stands, so
//! that nothing is shown that is gone, and the snippet is what is there now.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use innkeeper_protocol::newest::state::SessionStatus;
use innkeeper_protocol::record::search::{
    SearchCursor, SearchHit, SearchPage, SearchQuery, UsagePage, UsageQuery,
};
use innkeeper_protocol::{Timestamp, TurnId};
use tokio_postgres::Row;

use super::connection::{Connection, Said, Value};
use super::error::PostgresError;
use super::indexing::{self, TITLE};
use super::plan::without_nul;
use super::reader::{SNAPSHOT, get, uri_at};
use crate::search::hit::{FoundChat, summary_is_within};
use crate::search::query::Terms;
use crate::search::text::Searchable;
use crate::search::usage;

/// How many of the newest rows that fit are compared with each other.
const MOST_CANDIDATES: usize = 5_000;

/// How many rows that fit may turn out not to, in one page: they are gone, or
/// the words of a phrase do not stand next to each other.
const MOST_MISSED: usize = 1_000;

/// The time for one statement, however little is left.
const LEAST_MILLIS: u128 = 50;

/// What the database says of a statement that took too long.
const CANCELLED: &str = "57014";

/// How much it counts where a word stands, beginning with reasoning, and how
/// much more it counts in a title than in a message.
const CANDIDATES: &str = "
    SELECT chat, place, CASE WHEN place < 0 THEN 2.5 ELSE 1 END::float8
            * ts_rank('{0.125, 0.25, 0.5, 1}', words, $1::text::tsquery, 1)::float8
    FROM (SELECT search.chat, search.place, words FROM search
        JOIN chat ON chat.id = search.chat
        JOIN session ON session.uri = chat.session
        WHERE words @@ $1::text::tsquery AND disposed_at IS NULL
            AND ($2::text IS NULL OR session.uri = $2::text)
            AND ($3::text IS NULL OR provider = $3::text)
            AND ($4::bigint IS NULL OR session.status & $5 = $4::bigint)
            AND (($6::bigint IS NULL AND $7::bigint IS NULL)
                OR (CASE WHEN place < 0 THEN chat.modified_at ELSE at END
                    >= coalesce($6::bigint, -9223372036854775808)
                AND CASE WHEN place < 0 THEN chat.modified_at ELSE at END
                    < coalesce($7::bigint, 9223372036854775807)))
        ORDER BY search.chat DESC, search.place DESC LIMIT $8) AS newest";

pub(super) fn search(
    db: &mut Connection,
    query: &SearchQuery,
    most: Duration,
) -> Result<SearchPage, PostgresError> {
    let started = Instant::now();
    let most = most.min(query.time);
    db.batch(SNAPSHOT)?;
    let millis = most.as_millis().max(LEAST_MILLIS);
    db.batch(&format!("SET LOCAL statement_timeout TO {millis}"))?;
    let mut looking = Looking {
        query,
        until: started + most,
        chats: HashMap::new(),
        page: SearchPage::default(),
    };
    match looking.look(db) {
        Ok(()) => {}
        Err(error) if error.code() == Some(CANCELLED) => looking.page.truncated = true,
        Err(error) => return Err(error),
    }
    db.batch("ROLLBACK")?;
    Ok(looking.page)
}

struct Looking<'a> {
    query: &'a SearchQuery,
    until: Instant,
    /// The chats that are wanted.
    chats: HashMap<i64, FoundChat>,
    page: SearchPage,
}

/// A row that fits.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    chat: i64,
    place: i64,
    score: f64,
}

impl Looking<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn look(&mut self, db: &mut Connection) -> Result<(), PostgresError> {
        self.page.indexing = indexing::is_behind(db)?;
        let terms = Terms::read(&self.query.text, &self.query.fields);
        if terms.is_empty() {
            return Ok(());
        }
        if self.is_over() {
            self.page.truncated = true;
            return Ok(());
        }
        let mut candidates = self.candidates(db, &terms)?;
        self.load_chats(db, &candidates)?;
        candidates.retain(|it| self.chats.contains_key(&it.chat));
        candidates.sort_unstable_by(|a, b| {
            (b.score.total_cmp(&a.score)).then_with(|| b.number().cmp(&a.number()))
        });
        let cursor = self.query.cursor.as_ref();
        candidates.retain(|it| cursor.is_none_or(|cursor| cursor.is_before(it.score, it.number())));
        let mut missed = 0;
        let mut last = None;
        for candidate in candidates {
            if self.page.items.len() == self.query.limit || missed == MOST_MISSED || self.is_over()
            {
                self.page.next_cursor = last;
                break;
            }
            match self.hit(db, &terms, candidate)? {
                Some(hit) => self.page.items.push(hit),
                None => missed += 1,
            }
            last = Some(SearchCursor {
                score: candidate.score,
                id: candidate.number(),
            });
        }
        Ok(())
    }

    /// The newest rows that fit.
    fn candidates(
        &mut self,
        db: &mut Connection,
        terms: &Terms,
    ) -> Result<Vec<Candidate>, PostgresError> {
        let filter = &self.query.filter;
        let archived = i64::from(SessionStatus::IsArchived.bits());
        let millis = |at: Option<Timestamp>| Value::OptionalInt(at.map(Timestamp::as_millis));
        let session = filter.session.as_ref().map(|it| without_nul(it.as_str()));
        let limit = i64::try_from(MOST_CANDIDATES + 1).unwrap_or(i64::MAX);
        let values = vec![
            Value::Text(terms.tsquery()),
            Value::OptionalText(session),
            Value::OptionalText(filter.provider.as_deref().map(without_nul)),
            Value::OptionalInt(filter.archived.map(|it| if it { archived } else { 0 })),
            Value::Int(archived),
            millis(filter.after),
            millis(filter.before),
            Value::Int(limit),
        ];
        let rows = db.query(CANDIDATES, values)?;
        self.page.truncated = rows.len() > MOST_CANDIDATES;
        let rows = rows.iter().take(MOST_CANDIDATES).map(|row| {
            Ok(Candidate {
                chat: get(row, 0)?,
                place: get(row, 1)?,
                score: get(row, 2)?,
            })
        });
        rows.collect()
    }

    /// The chats of these rows, as far as they are wanted.
    fn load_chats(
        &mut self,
        db: &mut Connection,
        candidates: &[Candidate],
    ) -> Result<(), PostgresError> {
        let mut chats: Vec<i64> = candidates.iter().map(|it| it.chat).collect();
        chats.sort_unstable();
        chats.dedup();
        let chats: Vec<String> = chats.iter().map(i64::to_string).collect();
        let filter = &self.query.filter;
        let sql = "SELECT chat.id, chat.uri,
                       CASE WHEN is_default THEN session.title ELSE chat.title END,
                       chat.modified_at, session.uri, session.title, provider, session.status,
                       CASE WHEN $2 THEN summary END
                   FROM chat JOIN session ON session.uri = chat.session
                   WHERE id = ANY ($1::text::bigint[])";
        let values = vec![
            Value::Text(format!("{{{}}}", chats.join(","))),
            Value::Bool(filter.directory.is_some()),
        ];
        for row in &db.query(sql, values)? {
            if summary_is_within(filter, get(row, 8)?) {
                self.chats.insert(get(row, 0)?, found_chat(row)?);
            }
        }
        Ok(())
    }

    /// A row of the index as it is shown, if what was looked for stands there.
    fn hit(
        &self,
        db: &mut Connection,
        terms: &Terms,
        candidate: Candidate,
    ) -> Result<Option<SearchHit>, PostgresError> {
        let Some(chat) = self.chats.get(&candidate.chat) else {
            return Ok(None);
        };
        let (searchable, at, turn_id) = match candidate.place {
            TITLE => (Searchable::title(&chat.title), None, None),
            place => {
                let sql = "SELECT id, json FROM turn WHERE chat = $1 AND place = $2";
                let chat = Value::Text(chat.uri.as_str().to_owned());
                let rows = db.query(sql, vec![chat, Value::Int(place)])?;
                let Some(row) = rows.first() else {
                    return Ok(None);
                };
                let (searchable, at) = Searchable::of_turn(get(row, 1)?);
                (searchable, at, Some(TurnId::from(get::<&str>(row, 0)?)))
            }
        };
        let found = terms.find_in(&searchable);
        Ok(found.map(|found| chat.hit(found, turn_id, at)))
    }
}

impl Candidate {
    /// By which rows with the same score are ordered: the newest has the most.
    fn number(&self) -> i64 {
        (self.chat << 24) | (self.place + 1).min((1 << 24) - 1)
    }
}

fn found_chat(row: &Row) -> Result<FoundChat, PostgresError> {
    let bits = u32::try_from(get::<i64>(row, 7)?).unwrap_or(0);
    Ok(FoundChat {
        uri: uri_at(row, 1)?,
        title: get(row, 2)?,
        modified_at: Timestamp::from_millis(get(row, 3)?),
        session: uri_at(row, 4)?,
        session_title: get(row, 5)?,
        provider: get(row, 6)?,
        archived: SessionStatus::from_bits(bits).contains(SessionStatus::IsArchived),
    })
}

/// What turns have cost, by day.
pub(super) fn usage_of(
    db: &mut Connection,
    query: &UsageQuery,
) -> Result<UsagePage, PostgresError> {
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let session = query.session.as_ref().map(|it| without_nul(it.as_str()));
    let said = vec![
        Said {
            sql: "SELECT to_char(to_timestamp(floor((at + $3::bigint * 60000) / 1000.0))
                          AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
                      provider, model, currency, count(*),
                      least(sum(input), 9223372036854775807)::bigint,
                      least(sum(output), 9223372036854775807)::bigint,
                      least(sum(cached), 9223372036854775807)::bigint, sum(cost)
                  FROM usage
                  WHERE at >= $1 AND at < $2 AND ($4::text IS NULL OR session = $4::text)
                  GROUP BY day, provider, model, currency
                  ORDER BY day DESC, provider, model NULLS FIRST, currency NULLS FIRST LIMIT $5",
            values: vec![
                Value::Int(query.from.map_or(i64::MIN, Timestamp::as_millis)),
                Value::Int(query.to.map_or(i64::MAX, Timestamp::as_millis)),
                Value::Int(i64::from(query.utc_offset_minutes)),
                Value::OptionalText(session),
                Value::Int(limit.saturating_add(1)),
            ],
        },
        Said {
            sql: "SELECT EXISTS (SELECT 1 FROM search_due)",
            values: Vec::new(),
        },
    ];
    let mut answers = db.transaction(SNAPSHOT, said)?;
    let behind = answers.pop().unwrap_or_default();
    let rows = answers.pop().unwrap_or_default();
    let mut items = Vec::with_capacity(rows.len().min(query.limit));
    for row in rows.iter().take(query.limit) {
        items.push(usage::row(
            (get(row, 0)?, get(row, 1)?, get(row, 2)?),
            [get(row, 4)?, get(row, 5)?, get(row, 6)?, get(row, 7)?],
            (get(row, 8)?, get(row, 3)?),
        ));
    }
    Ok(UsagePage {
        truncated: rows.len() > query.limit,
        items,
        indexing: behind.first().map_or(Ok(false), |row| get(row, 0))?,
    })
}
