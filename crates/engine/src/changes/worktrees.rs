//! Working trees: a session may work in a git working tree of its own instead
//! of the folder that it was created for. The host offers that for every agent;
//! the agent finds itself in the working tree and need not know.

use std::collections::BTreeSet;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{SessionWorkingDirectoryReplacedAction, StateAction};
use innkeeper_protocol::newest::state::{ErrorInfo, SessionLifecycle};
use innkeeper_protocol::settings::{BRANCH, ISOLATION, WORKTREE};
use innkeeper_protocol::workspace::changes::ChangesTask;

use super::{News, tell};
use crate::catalogue::Catalogue;
use crate::core::{Core, error_info};

/// Where a session works.
#[derive(Debug)]
pub(crate) enum Place {
    /// In its directories.
    Here,
    /// In a working tree that is being made.
    Awaited,
    /// In none: no working tree can be made for it.
    Nowhere(ErrorInfo),
}

/// Whether a session still needs the working tree that it is to work in.
pub(crate) fn awaits_worktree(core: &Core, session: &ChannelUri) -> bool {
    let Some(session) = core.channels.session(session) else {
        return false;
    };
    let setting = |key: &str| session.state.config.as_ref()?.values.get(key)?.as_str();
    core.config.workspace.changes
        && session.state.lifecycle == SessionLifecycle::Creating
        && session.notes.worktree.is_none()
        && setting(ISOLATION) == Some(WORKTREE)
}

/// Has a working tree made for a session that wants one.
pub(crate) fn isolate(core: &mut Core, uri: &ChannelUri) -> Place {
    if !awaits_worktree(core, uri) {
        return Place::Here;
    }
    let Some(session) = core.channels.session(uri) else {
        return Place::Here;
    };
    let directory = session.first_directory();
    let Some(directory) = directory.filter(|uri| uri.starts_with("file:")) else {
        let why = "a session in a working tree of its own needs a working directory that is in a \
                   git repository";
        return Place::Nowhere(isolation_failed(why));
    };
    let directory = directory.to_owned();
    let config = session.state.config.as_ref();
    let branch = config.and_then(|config| config.values.get(BRANCH)?.as_str());
    let branch = branch.filter(|name| !name.is_empty()).map(str::to_owned);
    tell(core, uri, ChangesTask::Isolate { directory, branch });
    Place::Awaited
}

fn isolation_failed(why: impl Into<String>) -> ErrorInfo {
    error_info("isolationFailed", why)
}

pub(super) fn isolated(
    core: &mut Core,
    session: ChannelUri,
    outcome: Result<String, String>,
) -> Option<News> {
    if !awaits_worktree(core, &session) {
        return None;
    }
    let replacement = match outcome {
        Ok(directory) => directory,
        Err(reason) => {
            let error = isolation_failed(reason);
            return Some(News::IsolationFailed { session, error });
        }
    };
    let known = core.channels.session_mut(&session)?;
    known.notes.worktree = Some(replacement.clone());
    known.dirty = true;
    let directory = known.first_directory().map(str::to_owned);
    known.notes.worktree_of.clone_from(&directory);
    core.touch(&session);
    if let Some(directory) = directory {
        let action = SessionWorkingDirectoryReplacedAction {
            directory,
            replacement,
        };
        let action = StateAction::SessionWorkingDirectoryReplaced(action);
        core.emit(&session, action, None);
    }
    Some(News::Isolated { session })
}

/// The working trees that these directories are in and that no session works
/// in; `home` is where all trees are.
pub(super) fn abandoned<'a>(
    home: Option<&str>,
    catalogue: &Catalogue,
    directories: impl Iterator<Item = &'a String>,
) -> Vec<String> {
    let Some(home) = home else {
        return Vec::new();
    };
    let tree_of = |directory: &String| {
        let name = directory.strip_prefix(home)?.strip_prefix('/')?;
        let name = name.split('/').next().filter(|name| !name.is_empty())?;
        Some(format!("{home}/{name}"))
    };
    let trees: BTreeSet<String> = directories.filter_map(tree_of).collect();
    catalogue.unused(&trees).into_iter().cloned().collect()
}
