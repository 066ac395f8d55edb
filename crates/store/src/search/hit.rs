//! What is shown of what a search finds.

use innkeeper_protocol::record::search::{SearchFilter, SearchHit};
use innkeeper_protocol::{ChannelUri, Timestamp, TurnId};
use serde::Deserialize;

use super::query::{Found, is_within};

/// What is told of a chat.
pub(crate) struct FoundChat {
    pub(crate) uri: ChannelUri,
    pub(crate) title: String,
    pub(crate) modified_at: Timestamp,
    pub(crate) session: ChannelUri,
    pub(crate) session_title: String,
    pub(crate) provider: String,
    pub(crate) archived: bool,
}

impl FoundChat {
    /// What was found in its title, or in one of its turns.
    pub(crate) fn hit(
        &self,
        found: Found,
        turn_id: Option<TurnId>,
        at: Option<Timestamp>,
    ) -> SearchHit {
        SearchHit {
            session: self.session.clone(),
            session_title: self.session_title.clone(),
            provider: self.provider.clone(),
            archived: self.archived,
            chat: self.uri.clone(),
            chat_title: self.title.clone(),
            turn_id,
            at: at.unwrap_or(self.modified_at),
            field: found.field,
            snippet: found.snippet,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Directories {
    #[serde(default)]
    working_directories: Option<Vec<String>>,
}

/// Whether a session with this summary is looked into, by its directories.
pub(crate) fn summary_is_within(filter: &SearchFilter, summary: Option<&str>) -> bool {
    let summary: Option<Directories> = summary.and_then(|json| serde_json::from_str(json).ok());
    let directories = summary.and_then(|it| it.working_directories);
    is_within(filter, directories.as_deref())
}
