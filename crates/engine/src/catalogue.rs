//! All sessions there are, in memory or not, as their summaries, and which of
//! them each chat belongs to. Most are only ever listed, so they stay the JSON
//! that the store has until somebody loads the session.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Bound;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use innkeeper_protocol::newest::state::SessionSummary;
use innkeeper_protocol::outgoing::{ListSessionsReply, SummaryItem};
use innkeeper_protocol::record::pressed::Pressed;
use innkeeper_protocol::record::{CatalogueRow, SummaryFacts};
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::telemetry::is_telemetry_channel;
use innkeeper_protocol::{ChannelUri, Seq, Timestamp};
use serde::de::DeserializeOwned;

use crate::core::Core;
use crate::core::changeset_uri;

#[derive(Debug)]
pub(crate) struct Catalogue {
    /// Changed by [`Self::put`] and [`Self::remove`] only, which keep the two
    /// orders below.
    rows: HashMap<ChannelUri, Row>,
    /// All of them in the order of pages, so that a page costs what is on it.
    by_time: BTreeSet<(Reverse<Timestamp>, ChannelUri)>,
    /// Those that were told in this life, the last one last.
    by_telling: BTreeSet<(Seq, ChannelUri)>,
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
    Stored(Pressed, Option<Pressed>),
    Live(Box<SessionSummary>, Box<SummaryFacts>),
}

impl Summary {
    /// What it says; nothing if it cannot be read.
    fn read(&self) -> Option<(SessionSummary, SummaryFacts)> {
        match self {
            Self::Live(summary, facts) => Some(((**summary).clone(), (**facts).clone())),
            Self::Stored(summary, facts) => {
                let facts = facts.as_ref().map(read_pressed);
                let facts = facts.unwrap_or_else(|| Some(SummaryFacts::default()))?;
                Some((read_pressed(summary)?, facts))
            }
        }
    }

    /// As JSON, if it is not that already.
    fn written(&self) -> Option<Self> {
        let Self::Live(summary, facts) = self else {
            return None;
        };
        let summary = serde_json::to_string(summary).ok()?;
        let facts = match facts.is_empty() {
            true => None,
            false => Some(Pressed::of(&serde_json::to_string(facts).ok()?)),
        };
        Some(Self::Stored(Pressed::of(&summary), facts))
    }

    /// Those of some directories that the session works in, or below. What is
    /// only stored is not read for this: it is enough that it names them.
    fn works_in<'a>(&self, directories: &BTreeSet<&'a str>) -> Vec<&'a str> {
        let within = |it: &str, directory: &str| {
            let rest = it.strip_prefix(directory);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let names = |json: &str, directory: &str| {
            let mut found = json.match_indices(directory);
            found.any(|(at, _)| {
                let rest = json.get(at + directory.len()..);
                rest.is_some_and(|rest| rest.starts_with(['/', '"']))
            })
        };
        let all = directories.iter().copied();
        match self {
            Self::Stored(json, _) => match json.text() {
                Ok(json) => all.filter(|it| names(&json, it)).collect(),
                // Nobody knows, so nothing may go.
                Err(_) => all.collect(),
            },
            Self::Live(summary, _) => {
                let own = || summary.working_directories.iter().flatten();
                all.filter(|it| own().any(|own| within(own, it))).collect()
            }
        }
    }
}

pub(crate) fn read_pressed<T: DeserializeOwned>(json: &Pressed) -> Option<T> {
    serde_json::from_str(&json.text().ok()?).ok()
}

impl Catalogue {
    /// The sessions that are stored, and their further chats with the sessions
    /// that these belong to.
    pub(crate) fn new(rows: Vec<CatalogueRow>, chats: Vec<(ChannelUri, ChannelUri)>) -> Self {
        // From a sorted list, a tree is built at once.
        let by_time = rows.iter();
        let by_time = by_time.map(|row| (Reverse(row.modified_at), row.session.clone()));
        let by_time = by_time.collect();
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
            by_time,
            by_telling: BTreeSet::new(),
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
        self.put(session, row);
    }

    fn put(&mut self, session: &ChannelUri, row: Row) {
        // The old order goes first: it is that of the row that is replaced.
        let modified_at = row.modified_at;
        let told_at = row.told_at;
        let before = self.rows.insert(session.clone(), row);
        if let Some(before) = &before {
            self.forget_order(session, before);
        }
        self.by_time.insert((Reverse(modified_at), session.clone()));
        if told_at > Seq::ZERO {
            self.by_telling.insert((told_at, session.clone()));
        }
    }

    fn forget_order(&mut self, session: &ChannelUri, row: &Row) {
        let session = session.clone();
        self.by_telling.remove(&(row.told_at, session.clone()));
        self.by_time.remove(&(Reverse(row.modified_at), session));
    }

    /// The summaries that were told after a number in this life of the host,
    /// at most so many of the latest.
    pub(crate) fn told_after(&self, seq: Seq, most: usize) -> Vec<(SessionSummary, SummaryFacts)> {
        let mut told: Vec<&ChannelUri> = self
            .by_telling
            .iter()
            .rev()
            .take(most)
            .take_while(|(told_at, _)| *told_at > seq)
            .map(|(_, uri)| uri)
            .collect();
        told.reverse();
        let rows = told.into_iter().filter_map(|uri| self.rows.get(uri));
        rows.filter_map(|row| row.summary.read()).collect()
    }

    /// Of some directories, those in which or below which no session works. All
    /// are looked for at once, as each session has to be looked at.
    pub(crate) fn unused<'a>(&self, directories: &'a BTreeSet<String>) -> Vec<&'a String> {
        let mut left: BTreeSet<&str> = directories.iter().map(String::as_str).collect();
        for row in self.rows.values() {
            if left.is_empty() {
                break;
            }
            for used in row.summary.works_in(&left) {
                left.remove(used);
            }
        }
        let is_left = |it: &&String| left.contains(it.as_str());
        directories.iter().filter(is_left).collect()
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = &ChannelUri> {
        self.rows.keys()
    }

    pub(crate) fn remove(&mut self, session: &ChannelUri) -> bool {
        let row = self.rows.remove(session);
        if let Some(row) = &row {
            self.forget_order(session, row);
        }
        row.is_some()
    }

    /// One page, most recently modified first.
    pub(crate) fn page(
        &self,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<ListSessionsReply, RpcError> {
        let begins = match cursor {
            Some(cursor) => {
                let (modified_at, uri) = read_cursor(cursor).ok_or_else(|| {
                    RpcError::invalid_params("the cursor is not one that this host has given out")
                })?;
                Bound::Excluded((Reverse(modified_at), ChannelUri::from(uri)))
            }
            None => Bound::Unbounded,
        };
        let mut rows = self.by_time.range((begins, Bound::Unbounded));
        let page: Vec<_> = rows.by_ref().take(limit).collect();
        let next_cursor = match page.last() {
            Some((Reverse(modified_at), uri)) if rows.next().is_some() => {
                Some(write_cursor(*modified_at, uri))
            }
            _ => None,
        };
        let items = page.iter().filter_map(|(_, uri)| self.rows.get(uri));
        let items = items.map(|row| match &row.summary {
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
                    summary: Pressed::of(&n.to_string()),
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
            summary: Pressed::of(&format!(r#"{{"workingDirectories":["{at}"]}}"#)),
            facts: None,
        };
        for (at, works_there) in [
            ("file:///t/1", true),
            ("file:///t/1/part", true),
            ("file:///t/10", false),
            ("file:///t", false),
        ] {
            let catalogue = Catalogue::new(vec![row(at)], Vec::new());
            let trees = ["file:///t/1".to_owned(), "file:///t/2".to_owned()].into();
            let unused = catalogue.unused(&trees);
            assert_eq!(
                !unused.contains(&&"file:///t/1".to_owned()),
                works_there,
                "{at}"
            );
            assert!(unused.contains(&&"file:///t/2".to_owned()), "{at}");
        }
    }

    #[test]
    fn a_session_that_changes_moves_to_the_first_page_and_is_told_last() {
        let mut catalogue = catalogue(3);
        let summary = |title: &str, second: u32| -> SessionSummary {
            serde_json::from_value(serde_json::json!({
                "resource": "ahp-session:/0", "provider": "p", "title": title, "status": 1,
                "createdAt": "1970-01-01T00:00:00.000Z",
                "modifiedAt": format!("1970-01-01T00:00:0{second}.000Z"),
            }))
            .unwrap()
        };
        let facts = SummaryFacts::default();
        let (first, other) = ("ahp-session:/0".into(), "ahp-session:/1".into());
        catalogue.set_live(&first, (&summary("a", 1), &facts), 5.into());
        catalogue.set_live(&other, (&summary("b", 2), &facts), 6.into());
        catalogue.set_live(&first, (&summary("c", 3), &facts), 7.into());
        catalogue.rest(&first);
        let page = catalogue.page(10, None).unwrap();
        let titles = page.items.iter().map(|item| {
            let row: serde_json::Value = serde_json::to_value(item).unwrap();
            row["title"].as_str().unwrap_or("2").to_owned()
        });
        assert_eq!(titles.collect::<Vec<_>>(), ["c", "b", "2"]);
        let told = |after: u64, most| {
            let told = catalogue.told_after(after.into(), most).into_iter();
            told.map(|(row, _)| row.title).collect::<Vec<_>>()
        };
        assert_eq!(told(4, 10), ["b", "c"]);
        assert_eq!(told(6, 10), ["c"]);
        assert_eq!(told(4, 1), ["c"]);
        assert_eq!(told(7, 10), [""; 0]);
        assert!(catalogue.remove(&first) && !catalogue.remove(&first));
        assert_eq!(catalogue.page(10, None).unwrap().items.len(), 2);
    }

    #[test]
    fn a_cursor_of_unknown_form_is_refused() {
        for cursor in ["", "x", "AAAA"] {
            assert_eq!(catalogue(1).page(3, Some(cursor)).unwrap_err().code, -32602);
        }
    }
}
