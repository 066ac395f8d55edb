//! Searching what is stored, and what it has cost: what is asked of a store,
//! and what it answers. Clients are given the answers as they stand here.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::record::store::{Archive, StoreFault};
use crate::{ChannelUri, Timestamp, TurnId};

/// Where in a session something stands that can be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SearchField {
    /// The title of a session or a chat.
    Title,
    /// What a user said.
    Message,
    /// What the agent answered.
    Answer,
    /// Names of tools, commands, paths.
    Tool,
    /// What the agent thought.
    Reasoning,
}

impl SearchField {
    pub const ALL: [Self; 5] = [
        Self::Title,
        Self::Message,
        Self::Answer,
        Self::Tool,
        Self::Reasoning,
    ];
}

/// What somebody looks for.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuery {
    /// Words, all of which have to stand in one turn or one title, and
    /// `"phrases"`. The last word may be a beginning.
    pub text: String,
    /// Where to look.
    pub fields: Vec<SearchField>,
    pub filter: SearchFilter,
    /// How many hits are wanted at most.
    pub limit: usize,
    /// The last hit of the page before.
    pub cursor: Option<SearchCursor>,
    /// How long to look at most.
    pub time: Duration,
}

/// Which sessions to look into, and which of their turns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchFilter {
    pub session: Option<ChannelUri>,
    pub provider: Option<String>,
    /// A directory that the session works in, or one above it.
    pub directory: Option<String>,
    pub archived: Option<bool>,
    /// Turns that began then or later.
    pub after: Option<Timestamp>,
    /// Turns that began earlier.
    pub before: Option<Timestamp>,
}

/// Where a page ended: hits are ordered by their score, and among equals the
/// newest chat and turn comes first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchCursor {
    pub score: f64,
    pub id: i64,
}

impl SearchCursor {
    /// Whether a hit with this score and id comes behind.
    pub fn is_before(&self, score: f64, id: i64) -> bool {
        score.total_cmp(&self.score).then(id.cmp(&self.id)).is_lt()
    }
}

impl fmt::Display for SearchCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{:x}", self.score.to_bits(), self.id)
    }
}

/// Not something that this host gave out as a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is not one that this host gave out; begin again without one")]
pub struct NoCursor;

impl FromStr for SearchCursor {
    type Err = NoCursor;

    fn from_str(text: &str) -> Result<Self, NoCursor> {
        let (score, id) = text.split_once('.').ok_or(NoCursor)?;
        let score = u64::from_str_radix(score, 16).map_err(|_| NoCursor)?;
        Ok(Self {
            score: f64::from_bits(score),
            id: i64::from_str_radix(id, 16).map_err(|_| NoCursor)?,
        })
    }
}

/// What was found, the best first.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchPage {
    pub items: Vec<SearchHit>,
    /// There may be more behind the last item.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub next_cursor: Option<SearchCursor>,
    /// There was more than could be looked at: not all that fits is here or
    /// behind the cursor.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Some of what is stored cannot be found yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub indexing: bool,
}

fn as_text<S: serde::Serializer>(
    cursor: &Option<SearchCursor>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    cursor.map(|it| it.to_string()).serialize(serializer)
}

/// A turn, or a title, in which everything stands that was looked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    pub session: ChannelUri,
    pub session_title: String,
    pub provider: String,
    pub archived: bool,
    pub chat: ChannelUri,
    pub chat_title: String,
    /// Absent if it is a title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<TurnId>,
    /// When the turn began, or when the chat was modified.
    #[serde(serialize_with = "as_iso")]
    pub at: Timestamp,
    /// Where the snippet is from.
    pub field: SearchField,
    pub snippet: Snippet,
}

fn as_iso<S: serde::Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

/// A piece of text on one line, and what of it was looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Snippet {
    pub text: String,
    /// Where each begins and where it ends, in UTF-16 code units.
    pub marks: Vec<(usize, usize)>,
}

/// What turns have cost that began in some days.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UsageQuery {
    /// Turns that began then or later.
    pub from: Option<Timestamp>,
    /// Turns that began earlier.
    pub to: Option<Timestamp>,
    /// Of this session only.
    pub session: Option<ChannelUri>,
    /// How many minutes the days begin before those of UTC.
    pub utc_offset_minutes: i32,
    /// How many rows are wanted at most.
    pub limit: usize,
}

/// What turns of one day have used with one model of one agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// As `2026-03-10`.
    pub day: String,
    pub provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub turns: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    /// What the agents said that it cost, where they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    pub amount: f64,
    pub currency: String,
}

/// The latest day first.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsagePage {
    pub items: Vec<UsageRow>,
    /// Earlier days are left out, as there are too many rows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Some of what is stored is not counted yet.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub indexing: bool,
}

/// What is asked of a store for a client.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    Search(Box<SearchQuery>),
    Usage(UsageQuery),
}

/// What it answered.
#[derive(Debug, Clone, PartialEq)]
pub enum LookedUp {
    Search(SearchPage),
    Usage(UsagePage),
}

impl Lookup {
    pub fn in_archive(&self, archive: &dyn Archive) -> Result<LookedUp, StoreFault> {
        Ok(match self {
            Self::Search(query) => LookedUp::Search(archive.search(query)?),
            Self::Usage(query) => LookedUp::Usage(archive.usage(query)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_nothing_else_is() {
        let cursor = SearchCursor {
            score: 1.25,
            id: 77,
        };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for text in ["", ".", "x.1", "1.y", "1", "11111111111111111.1", "😀.1"] {
            assert_eq!(text.parse::<SearchCursor>(), Err(NoCursor), "{text}");
        }
    }

    #[test]
    fn what_scores_less_comes_behind_and_among_equals_the_older() {
        let cursor = SearchCursor { score: 2.0, id: 7 };
        for (score, id, is_behind) in [
            (1.0, 9, true),
            (2.0, 6, true),
            (2.0, 7, false),
            (2.0, 8, false),
            (3.0, 1, false),
        ] {
            assert_eq!(cursor.is_before(score, id), is_behind, "{score} {id}");
        }
    }
}
