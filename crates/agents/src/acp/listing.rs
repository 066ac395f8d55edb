//! The conversations that an agent had without the host, for whoever chooses
//! one: asked of the agent no more often than necessary, as it has to be started
//! for that.
//!
//! *Invariant*: one process at a time. Of those who wait for it, only the last
//! is served: the others have gone on typing.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_client_protocol_schema::v1::{AGENT_METHOD_NAMES, ListSessionsResponse, SessionInfo};
use innkeeper_protocol::agent::AgentFailure;
use innkeeper_protocol::newest::commands::SessionConfigValueItem;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::past;
use super::session::lister;
use crate::child::Access;

/// How long nobody may have asked for something else before the agent is asked.
const PAUSE: Duration = Duration::from_millis(250);

/// How long an answer holds.
const FRESH: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(super) struct Listing {
    asked: AtomicU64,
    kept: Mutex<Option<Kept>>,
}

#[derive(Debug)]
struct Kept {
    directory: Option<PathBuf>,
    since: Instant,
    sessions: Vec<SessionInfo>,
}

impl Listing {
    /// The conversations in a directory, or in all of them, that match.
    pub(super) async fn offer(
        &self,
        access: &Access,
        auth_method: Option<&str>,
        directory: Option<PathBuf>,
        query: &str,
    ) -> Result<Vec<SessionConfigValueItem>, AgentFailure> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let is_last = || self.asked.load(Ordering::Relaxed) == number;
        if !exists(directory.clone()).await {
            return Ok(Vec::new());
        }
        let is_kept = |kept: &Kept| kept.directory == directory && kept.since.elapsed() < FRESH;
        if !self.kept.lock().await.as_ref().is_some_and(is_kept) {
            tokio::time::sleep(PAUSE).await;
        }
        let mut kept = self.kept.lock().await;
        if !kept.as_ref().is_some_and(is_kept) {
            if !is_last() {
                return Ok(Vec::new());
            }
            let sessions = ask(access, auth_method, directory.as_deref()).await?;
            *kept = Some(Kept {
                directory: directory.clone(),
                since: Instant::now(),
                sessions,
            });
        }
        let sessions = kept.iter().flat_map(|kept| &kept.sessions);
        Ok(past::offered(sessions, query))
    }
}

/// Whether an agent can be started there.
async fn exists(directory: Option<PathBuf>) -> bool {
    let Some(directory) = directory else {
        return true;
    };
    let found = tokio::task::spawn_blocking(move || directory.is_dir());
    found.await.unwrap_or(false)
}

async fn ask(
    access: &Access,
    auth_method: Option<&str>,
    directory: Option<&Path>,
) -> Result<Vec<SessionInfo>, AgentFailure> {
    let mut sessions = Vec::new();
    let mut lister = lister(access, auth_method, directory).await?;
    if lister.is_open_book() {
        let mut cursor: Option<String> = None;
        for _ in 0..past::PAGES {
            let params = past::question(directory, cursor.as_deref());
            let method = AGENT_METHOD_NAMES.session_list;
            let page: ListSessionsResponse = lister.ask(access, method, &params).await?;
            sessions.extend(page.sessions);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
    }
    lister.end(access).await;
    Ok(past::newest(sessions))
}
