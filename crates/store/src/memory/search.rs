//! Searching and counting without an index: everything is looked at.

use std::collections::BTreeMap;
use std::time::Instant;

use innkeeper_protocol::newest::state::SessionStatus;
use innkeeper_protocol::record::search::{
    Cost, SearchCursor, SearchHit, SearchPage, SearchQuery, UsagePage, UsageQuery, UsageRow,
};
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::{ChannelUri, Timestamp, TurnId};

use super::{Kept, KeptChat, KeptSession};
use crate::search::query::{Found, Terms, is_within};
use crate::search::text::Searchable;
use crate::search::usage::TurnUsage;

/// More turns than a chat ever has.
const MOST_TURNS: u64 = 1 << 24;

/// What a turn has used.
#[derive(Debug, Clone)]
pub(super) struct Used {
    /// Nothing, when it is gone for good.
    session: Option<ChannelUri>,
    provider: String,
    usage: TurnUsage,
}

/// Something that may fit: the title of a chat, or one of its turns.
struct Candidate<'a> {
    session: &'a KeptSession,
    chat: &'a KeptChat,
    turn: Option<&'a TurnId>,
    at: Timestamp,
    id: i64,
}

impl Kept {
    pub(super) fn search(&self, query: &SearchQuery) -> SearchPage {
        let started = Instant::now();
        let mut page = SearchPage::default();
        let terms = Terms::read(&query.text, &query.fields);
        if terms.is_empty() {
            return page;
        }
        let mut found: Vec<(Found, Candidate<'_>)> = Vec::new();
        let filter = &query.filter;
        for (session, chat) in self.chats_to_look_into(query) {
            page.truncated = started.elapsed() >= query.time;
            if page.truncated {
                break;
            }
            for (searchable, candidate) in searchables(session, chat) {
                let is_in_time = filter.after.is_none_or(|after| candidate.at >= after)
                    && filter.before.is_none_or(|before| candidate.at < before);
                if let Some(fits) = terms.find_in(&searchable).filter(|_| is_in_time) {
                    found.push((fits, candidate));
                }
            }
        }
        found.sort_unstable_by(|(a, of_a), (b, of_b)| {
            b.score.total_cmp(&a.score).then(of_b.id.cmp(&of_a.id))
        });
        let mut last = None;
        for (fits, candidate) in found {
            let (score, id) = (fits.score, candidate.id);
            let cursor = query.cursor.as_ref();
            if cursor.is_some_and(|cursor| !cursor.is_before(score, id)) {
                continue;
            }
            if page.items.len() == query.limit {
                page.next_cursor = last;
                break;
            }
            page.items.push(candidate.hit(fits));
            last = Some(SearchCursor { score, id });
        }
        page
    }

    fn chats_to_look_into<'a>(
        &'a self,
        query: &'a SearchQuery,
    ) -> impl Iterator<Item = (&'a KeptSession, &'a KeptChat)> {
        let filter = &query.filter;
        self.chats.values().filter_map(|chat| {
            let session = self.sessions.get(&chat.record.session)?;
            let summary = &session.record.summary;
            let is_wanted = session.disposed.is_none()
                && filter
                    .session
                    .as_ref()
                    .is_none_or(|it| *it == session.record.uri)
                && filter
                    .provider
                    .as_ref()
                    .is_none_or(|it| *it == summary.provider)
                && filter.archived.is_none_or(|it| it == is_archived(session))
                && is_within(filter, summary.working_directories.as_deref());
            is_wanted.then_some((session, chat))
        })
    }

    pub(super) fn count_usage(&mut self, session: ChannelUri, turn: &StoredTurn) {
        let Some(usage) = TurnUsage::of_turn(turn.json.get()) else {
            return;
        };
        let Some(owner) = self.sessions.get(&session) else {
            return;
        };
        let provider = owner.record.summary.provider.clone();
        self.usage
            .entry((usage.at, turn.id.clone()))
            .or_insert(Used {
                session: Some(session),
                provider,
                usage,
            });
    }

    pub(super) fn forget_usage_of(&mut self, session: &ChannelUri) {
        for used in self.usage.values_mut() {
            if used.session.as_ref() == Some(session) {
                used.session = None;
            }
        }
    }

    pub(super) fn usage(&self, query: &UsageQuery) -> UsagePage {
        let mut rows: BTreeMap<_, UsageRow> = BTreeMap::new();
        for ((at, _), used) in &self.usage {
            if query.from.is_some_and(|from| *at < from)
                || query.to.is_some_and(|to| *at >= to)
                || (query.session.is_some() && used.session != query.session)
            {
                continue;
            }
            let minutes = i64::from(query.utc_offset_minutes);
            let local = Timestamp::from_millis(at.as_millis().saturating_add(minutes * 60_000));
            let day: String = local.to_string().chars().take(10).collect();
            let TurnUsage { model, cost, .. } = &used.usage;
            let currency = cost.as_ref().map(|(_, currency)| currency.clone());
            let key = (
                std::cmp::Reverse(day.clone()),
                used.provider.clone(),
                model.clone(),
                currency.clone(),
            );
            let row = rows.entry(key).or_insert_with(|| UsageRow {
                day,
                provider: used.provider.clone(),
                model: model.clone(),
                ..UsageRow::default()
            });
            row.turns += 1;
            row.input_tokens += used.usage.input;
            row.output_tokens += used.usage.output;
            row.cache_read_tokens += used.usage.cached;
            if let Some((amount, currency)) = cost {
                let cost = row.cost.get_or_insert_with(|| Cost {
                    amount: 0.0,
                    currency: currency.clone(),
                });
                cost.amount += amount;
            }
        }
        UsagePage {
            truncated: rows.len() > query.limit,
            items: rows.into_values().take(query.limit).collect(),
            indexing: false,
        }
    }
}

/// What a chat is called: the default one as its session is, and others as that
/// lists them.
fn title_of<'a>(session: &'a KeptSession, chat: &'a KeptChat) -> &'a str {
    let (summary, uri) = (&session.record.summary, &chat.record.uri);
    if *uri == ChannelUri::default_chat_of(session.record.uri.as_str()) {
        return &summary.title;
    }
    let mut listed = summary.chats.iter().flatten();
    let listed = listed.find(|listed| *listed.resource == *uri.as_str());
    listed.map_or(&chat.record.head.title, |listed| &listed.title)
}

fn is_archived(session: &KeptSession) -> bool {
    SessionStatus::from_bits(session.record.summary.status).contains(SessionStatus::IsArchived)
}

fn searchables<'a>(
    session: &'a KeptSession,
    chat: &'a KeptChat,
) -> impl Iterator<Item = (Searchable, Candidate<'a>)> {
    let head = &chat.record.head;
    let modified_at = Timestamp::parse(&head.modified_at).unwrap_or_default();
    let id = |place: u64| i64::try_from(chat.place * MOST_TURNS + place).unwrap_or(i64::MAX);
    let title = Candidate {
        session,
        chat,
        turn: None,
        at: modified_at,
        id: id(0),
    };
    let turns = chat.turns.iter().map(move |(place, turn)| {
        let (searchable, at) = Searchable::of_turn(turn.json.get());
        let candidate = Candidate {
            session,
            chat,
            turn: Some(&turn.id),
            at: at.unwrap_or(modified_at),
            id: id(place + 1),
        };
        (searchable, candidate)
    });
    std::iter::once((Searchable::title(title_of(session, chat)), title)).chain(turns)
}

impl Candidate<'_> {
    fn hit(&self, found: Found) -> SearchHit {
        let summary = &self.session.record.summary;
        SearchHit {
            session: self.session.record.uri.clone(),
            session_title: summary.title.clone(),
            provider: summary.provider.clone(),
            archived: is_archived(self.session),
            chat: self.chat.record.uri.clone(),
            chat_title: title_of(self.session, self.chat).to_owned(),
            turn_id: self.turn.cloned(),
            at: self.at,
            field: found.field,
            snippet: found.snippet,
        }
    }
}
