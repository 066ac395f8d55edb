//! All sessions there are, in memory or not, as their summaries, and which of
//! them each chat belongs to. Most are only ever listed, so they stay the JSON
//! that the store has until somebody loads the session.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use innkeeper_protocol::newest::state::SessionSummary;
use innkeeper_protocol::outgoing::{ListSessionsReply, SummaryItem};
use innkeeper_protocol::record::{CatalogueRow, SummaryFacts};
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::telemetry::is_telemetry_channel;
use innkeeper_protocol::{ChannelUri, Seq, Timestamp};
use serde_json::value::{RawValue, to_raw_value};

use crate::core::Core;
use crate::core::changeset_uri;

#[derive(Debug)]
pub(crate) struct Catalogue {
    rows: HashMap<ChannelUri, Row>,
    /// The sessions of chats that are not their session's default chat.
    session_of_chat: HashMap<ChannelUri, ChannelUri>,
    /// The same of sessions that were disposed of lately. Until that is stored
    /// they may come back, and their chats with them.
    lately_disposed: VecDeque<(ChannelUri, ChannelUri)>,
}

/// How many chats of disposed sessions keep their names: far more than the store
/// is ever behind.
const MOST_DISPOSED: usize = 1_000;

#[derive(Debug)]
struct Row {
    modified_at: Timestamp,
    summary: Summary,
    /// The number that the host had reached when it was last told.
    told_at: Seq,
}

#[derive(Debug)]
enum Summary {
    Stored(Arc<RawValue>, Option<Arc<RawValue>>),
    Live(Box<SessionSummary>, Box<SummaryFacts>),
}

impl Summary {
    /// What it says; nothing if it cannot be read.
    fn read(&self) -> Option<(SessionSummary, SummaryFacts)> {
        match self {
            Self::Live(summary, facts) => Some(((**summary).clone(), (**facts).clone())),
            Self::Stored(summary, facts) => {
                let facts = facts.as_ref().map(|json| serde_json::from_str(json.get()));
                let facts = facts.transpose().ok()?.unwrap_or_default();
                Some((serde_json::from_str(summary.get()).ok()?, facts))
            }
        }
    }

    /// As JSON, if it is not that already.
    fn written(&self) -> Option<Self> {
        let Self::Live(summary, facts) = self else {
            return None;
        };
        let summary = to_raw_value(summary).ok()?;
        let facts = match facts.is_empty() {
            true => None,
            false => Some(to_raw_value(facts).ok()?.into()),
        };
        Some(Self::Stored(summary.into(), facts))
    }
}

impl Catalogue {
    /// The sessions that are stored, and their further chats with the sessions
    /// that these belong to.
    pub(crate) fn new(rows: Vec<CatalogueRow>, chats: Vec<(ChannelUri, ChannelUri)>) -> Self {
        let rows = rows.into_iter().map(|row| {
            let summary = Summary::Stored(row.summary, row.facts);
            let modified_at = row.modified_at;
            (
                row.session,
                Row {
                    modified_at,
                    summary,
                    told_at: Seq::ZERO,
                },
            )
        });
        Self {
            rows: rows.collect(),
            session_of_chat: chats.into_iter().collect(),
            lately_disposed: VecDeque::new(),
        }
    }

    /// The session that a channel belongs to: itself, or that of the chat, the
    /// changeset or the annotations.
    pub(crate) fn session_of(&self, core: &Core, channel: &ChannelUri) -> Option<ChannelUri> {
        if self.contains(channel) {
            return Some(channel.clone());
        }
        self.session_of_chat(core, channel)
    }

    pub(crate) fn session_of_chat(&self, core: &Core, chat: &ChannelUri) -> Option<ChannelUri> {
        if let Some(chat) = core.channels.chat(chat) {
            return Some(chat.session.clone());
        }
        let listed = self.session_of_chat.get(chat).cloned();
        let session = listed
            .or_else(|| chat.session_of_default_chat())
            .or_else(|| chat.session_of_annotations())
            .or_else(|| Some(changeset_uri::parse(chat)?.0));
        session.filter(|session| self.contains(session))
    }

    /// Whether there is such a channel, in memory or not.
    pub(crate) fn exists(&self, core: &Core, channel: &ChannelUri) -> bool {
        is_telemetry_channel(channel.as_str())
            || core.channels.contains(channel)
            || self.session_of(core, channel).is_some()
    }

    /// Whether a chat is one besides its session's default chat.
    pub(crate) fn is_further_chat(&self, chat: &str) -> bool {
        self.session_of_chat.contains_key(chat)
    }

    /// The chats of a session besides its default one.
    pub(crate) fn further_chats_of(&self, session: &ChannelUri) -> Vec<ChannelUri> {
        let all = self.session_of_chat.iter();
        let of_session = all.filter(|(_, its_session)| *its_session == session);
        of_session.map(|(chat, _)| chat.clone()).collect()
    }

    pub(crate) fn add_further_chat(&mut self, chat: &ChannelUri, session: &ChannelUri) {
        self.session_of_chat.insert(chat.clone(), session.clone());
    }

    /// The session of a chat is disposed of, and the chat with it.
    pub(crate) fn dispose_chat(&mut self, chat: &ChannelUri, session: &ChannelUri) {
        self.lately_disposed
            .push_back((chat.clone(), session.clone()));
        if self.lately_disposed.len() > MOST_DISPOSED {
            self.lately_disposed.pop_front();
        }
    }

    /// Whether a chat was in another session that was disposed of lately.
    pub(crate) fn was_elsewhere(&self, chat: &ChannelUri, session: &ChannelUri) -> bool {
        let mut lately = self.lately_disposed.iter();
        lately.any(|(its_chat, its_session)| its_chat == chat && its_session != session)
    }

    pub(crate) fn remove_chat(&mut self, chat: &ChannelUri) {
        self.session_of_chat.remove(chat);
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn contains(&self, session: &ChannelUri) -> bool {
        self.rows.contains_key(session)
    }

    /// The summary of a session that was in memory in this life of the host.
    pub(crate) fn told(&self, session: &ChannelUri) -> Option<SessionSummary> {
        let row = self.rows.get(session)?;
        let was_told = row.told_at > Seq::ZERO;
        was_told.then(|| Some(row.summary.read()?.0)).flatten()
    }

    /// The session leaves memory: its summary takes as little room as one that
    /// was only ever stored.
    pub(crate) fn rest(&mut self, session: &ChannelUri) {
        if let Some(row) = self.rows.get_mut(session)
            && let Some(stored) = row.summary.written()
        {
            row.summary = stored;
        }
    }

    /// Writes the summary of a session that is in memory.
    pub(crate) fn set_live(
        &mut self,
        session: &ChannelUri,
        (summary, facts): (&SessionSummary, &SummaryFacts),
        seq: Seq,
    ) {
        let row = Row {
            told_at: seq,
            modified_at: Timestamp::parse(&summary.modified_at).unwrap_or_default(),
            summary: Summary::Live(Box::new(summary.clone()), Box::new(facts.clone())),
        };
        self.rows.insert(session.clone(), row);
    }

    /// The summaries that were told after a number in this life of the host,
    /// at most so many of the latest.
    pub(crate) fn told_after(&self, seq: Seq, most: usize) -> Vec<(SessionSummary, SummaryFacts)> {
        let told = self.rows.iter().filter(|(_, row)| row.told_at > seq);
        let mut told: Vec<(&ChannelUri, &Row)> = told.collect();
        told.sort_by_key(|(uri, row)| (row.told_at, *uri));
        let left_out = told.len().saturating_sub(most);
        let told = told.drain(left_out..);
        told.filter_map(|(_, row)| row.summary.read()).collect()
    }

    /// Whether any session works in a directory or below it. What is only
    /// stored is not read for this: it is enough that it names the directory.
    pub(crate) fn works_in(&self, directory: &str) -> bool {
        self.rows.values().any(|row| match &row.summary {
            Summary::Stored(json, _) => {
                let mut found = json.get().match_indices(directory);
                found.any(|(at, _)| {
                    let rest = json.get().get(at + directory.len()..);
                    rest.is_some_and(|rest| rest.starts_with(['/', '"']))
                })
            }
            Summary::Live(summary, _) => {
                let mut all = summary.working_directories.iter().flatten();
                all.any(|it| {
                    let rest = it.strip_prefix(directory);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                })
            }
        })
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = &ChannelUri> {
        self.rows.keys()
    }

    pub(crate) fn remove(&mut self, session: &ChannelUri) -> bool {
        self.rows.remove(session).is_some()
    }

    /// One page, most recently modified first.
    pub(crate) fn page(
        &self,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<ListSessionsReply, RpcError> {
        let after = match cursor {
            Some(cursor) => Some(read_cursor(cursor).ok_or_else(|| {
                RpcError::invalid_params("the cursor is not one that this host has given out")
            })?),
            None => None,
        };
        let key = |(uri, row): &(&ChannelUri, &Row)| {
            (std::cmp::Reverse(row.modified_at), uri.to_string())
        };
        let mut rows: Vec<(&ChannelUri, &Row)> = self.rows.iter().collect();
        if let Some((modified_at, uri)) = after {
            let after = (std::cmp::Reverse(modified_at), uri);
            rows.retain(|row| key(row) > after);
        }
        rows.sort_by(|(a_uri, a), (b_uri, b)| {
            b.modified_at
                .cmp(&a.modified_at)
                .then_with(|| a_uri.cmp(b_uri))
        });
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = match rows.last() {
            Some((uri, row)) if more => Some(write_cursor(row.modified_at, uri)),
            _ => None,
        };
        let items = rows.iter().map(|(_, row)| match &row.summary {
            Summary::Stored(json, facts) => SummaryItem::Stored(json.clone(), facts.clone()),
            Summary::Live(summary, facts) => SummaryItem::Live(summary.clone(), facts.clone()),
        });
        Ok(ListSessionsReply {
            items: items.collect(),
            next_cursor,
        })
    }
}

fn write_cursor(modified_at: Timestamp, uri: &ChannelUri) -> String {
    URL_SAFE_NO_PAD.encode(format!("{} {uri}", modified_at.as_millis()))
}

fn read_cursor(cursor: &str) -> Option<(Timestamp, String)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (millis, uri) = text.split_once(' ')?;
    Some((Timestamp::from_millis(millis.parse().ok()?), uri.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(count: i64) -> Catalogue {
        Catalogue::new(
            (0..count)
                .map(|n| CatalogueRow {
                    session: format!("ahp-session:/{n}").into(),
                    // Two at a time were modified in the same millisecond.
                    modified_at: Timestamp::from_millis(n / 2),
                    summary: RawValue::from_string(n.to_string()).unwrap().into(),
                    facts: None,
                })
                .collect(),
            Vec::new(),
        )
    }

    fn names(reply: &ListSessionsReply) -> Vec<String> {
        reply
            .items
            .iter()
            .map(|item| serde_json::to_string(item).unwrap())
            .collect()
    }

    #[test]
    fn pages_are_newest_first_and_meet_without_gap_or_overlap() {
        let catalogue = catalogue(7);
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let page = catalogue.page(3, cursor.as_deref()).unwrap();
            seen.extend(names(&page));
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, ["6", "4", "5", "2", "3", "0", "1"]);
    }

    #[test]
    fn whoever_works_in_a_directory_or_below_it_is_found() {
        let row = |at: &str| CatalogueRow {
            session: "ahp-session:/1".into(),
            modified_at: Timestamp::from_millis(0),
            summary: RawValue::from_string(format!(r#"{{"workingDirectories":["{at}"]}}"#))
                .unwrap()
                .into(),
            facts: None,
        };
        for (at, works_there) in [
            ("file:///t/1", true),
            ("file:///t/1/part", true),
            ("file:///t/10", false),
            ("file:///t", false),
        ] {
            let catalogue = Catalogue::new(vec![row(at)], Vec::new());
            assert_eq!(catalogue.works_in("file:///t/1"), works_there, "{at}");
        }
    }

    #[test]
    fn a_cursor_of_unknown_form_is_refused() {
        for cursor in ["", "x", "AAAA"] {
            assert_eq!(catalogue(1).page(3, Some(cursor)).unwrap_err().code, -32602);
        }
    }
}
