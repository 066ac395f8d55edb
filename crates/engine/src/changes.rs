//! Changes in the directories that sessions work in: which changesets a session
//! offers, what git says about its directories, and which states of them are
//! kept.
//!
//! The state before a turn is kept while the turn begins. What the turn has the
//! host do to files waits for that, at most a moment: nobody should have to
//! wait for a checkpoint of a huge tree.

mod changesets;
mod leftovers;
mod offers;
mod operations;
mod proposals;
mod reviews;
mod worktrees;

use std::collections::BTreeSet;
use std::time::Duration;

use foldhash::HashMap;
use innkeeper_protocol::newest::actions::{
    ChatChangesetsChangedAction, SessionChangesetsChangedAction, SessionMetaChangedAction,
    StateAction,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{Changeset, ChangesetCapabilities, ErrorInfo};
use innkeeper_protocol::workspace::changes::{
    ChangesCommand, ChangesError, ChangesEvent, ChangesReport, ChangesTask, GitState, Moment,
    Operation, OperationId, ViewId,
};
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::{Value, json};

use crate::catalogue::Catalogue;
use crate::clients::Clients;
use crate::core::Core;
use crate::core::changeset_uri::channel_prefix;
use crate::effect::Effect;
use crate::labels::{ChangesLabel, Locale};

pub(crate) use leftovers::leftovers_found;
pub(crate) use worktrees::{Place, awaits_worktree, isolate};

use changesets::View;
use operations::RunningOperation;

/// How long what a turn does waits for the state before it to be kept.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// The sessions in memory whose directories are followed.
    tracked: HashMap<ChannelUri, Tracking>,
    /// The changesets that somebody listens to, by channel.
    views: HashMap<ChannelUri, View>,
    by_view: HashMap<ViewId, ChannelUri>,
    operations: HashMap<OperationId, RunningOperation>,
    /// Those that take files back, or return them.
    take_backs: BTreeSet<OperationId>,
    last_view: u64,
    last_operation: u64,
}

/// How the directories of a session are followed.
#[derive(Debug)]
struct Tracking {
    /// `file:` URIs.
    directories: Vec<String>,
    kind: Kind,
    observed: bool,
    /// There is work that the branch which it goes back to does not have.
    has_own_work: bool,
    /// There is an operation that can be taken back.
    undo: bool,
    /// What the agent was asked for last, as far as commits tell it.
    asked: Option<String>,
    /// What the session offers, and what each of its chats does.
    of_session: Vec<Changeset>,
    of_chats: Vec<Changeset>,
}

impl Tracking {
    /// The catalogues will say what there is now.
    fn offer(&mut self, core: &mut Core, session: &ChannelUri) {
        let locale = core.channels.locale_of(session);
        (self.of_session, self.of_chats) = catalogue(session, self.kind, self.has_own_work, locale);
        core.touch(session);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nothing was reported yet.
    Unknown,
    Git,
    Plain,
    /// No changes can be told.
    Unavailable,
}

/// What others have to do about a report.
#[derive(Debug)]
pub(crate) enum News {
    /// The state before a turn of this session is kept.
    StateKept { session: ChannelUri, turn: String },
    /// Files that this session shows may have changed.
    FilesChanged { session: ChannelUri },
    /// The files of this session were taken back, or could not be.
    FilesTakenBack {
        session: ChannelUri,
        operation: OperationId,
        outcome: Result<(), ChangesError>,
    },
    /// No state of this session will be kept.
    NothingKept { session: ChannelUri },
    /// The session has a working tree of its own now.
    Isolated { session: ChannelUri },
    IsolationFailed {
        session: ChannelUri,
        error: ErrorInfo,
    },
}

impl Changes {
    /// Sees to it that the directories of a session in memory are followed.
    pub(crate) fn track(&mut self, core: &mut Core, session: &ChannelUri) {
        if !core.config.workspace.changes || awaits_worktree(core, session) {
            return;
        }
        let state = core.channels.session(session).map(|it| &it.state);
        let directories = state.and_then(|state| state.working_directories.as_ref());
        let here = |uri: &&String| uri.starts_with("file:");
        let directories = directories.into_iter().flatten().filter(here);
        let directories: Vec<String> = directories.cloned().collect();
        let tracking = self.tracked.get(session);
        if directories.is_empty() || tracking.is_some_and(|it| it.directories == directories) {
            return;
        }
        let tracking = Tracking {
            directories: directories.clone(),
            kind: Kind::Unknown,
            observed: false,
            has_own_work: false,
            undo: false,
            asked: None,
            of_session: Vec::new(),
            of_chats: Vec::new(),
        };
        self.tracked.insert(session.clone(), tracking);
        tell(core, session, ChangesTask::Open { directories });
        if core.subscriptions.has_channel(session) {
            self.observe(core, session, true);
        }
    }

    /// The session leaves memory.
    pub(crate) fn untrack(&mut self, core: &mut Core, session: &ChannelUri) {
        if self.tracked.remove(session).is_some() {
            self.close_all_of(core, session);
            tell(core, session, ChangesTask::Close);
        }
    }

    /// The session is gone for good. A working tree goes with the last session
    /// that works in it.
    pub(crate) fn forget(&mut self, core: &mut Core, catalogue: &Catalogue, session: &ChannelUri) {
        if let Some(tracking) = self.tracked.remove(session) {
            self.close_all_of(core, session);
            let known = core.channels.session(session);
            let made = known.and_then(|it| it.notes.worktree.as_ref());
            let all = tracking.directories.iter().chain(made);
            let home = core.config.workspace.worktrees.as_deref();
            let trees = worktrees::abandoned(home, catalogue, all);
            let directories = tracking.directories;
            tell(core, session, ChangesTask::Forget { directories, trees });
        }
    }

    /// Somebody follows a session, or nobody any more.
    pub(crate) fn observe(&mut self, core: &mut Core, session: &ChannelUri, observed: bool) {
        if let Some(tracking) = self.tracked.get_mut(session)
            && tracking.observed != observed
        {
            tracking.observed = observed;
            tell(core, session, ChangesTask::Observe(observed));
        }
    }

    /// Where the earlier states of a session's directories can be read.
    pub(crate) fn directories_of(&self, session: &ChannelUri) -> Option<Vec<String>> {
        Some(self.tracked.get(session)?.directories.clone())
    }

    pub(crate) fn reported(
        &mut self,
        core: &mut Core,
        clients: &Clients,
        report: ChangesReport,
    ) -> Option<News> {
        let ChangesReport { session, event } = report;
        match event {
            ChangesEvent::Found {
                git,
                has_own_work,
                undo,
            } => {
                let kind = if git { Kind::Git } else { Kind::Plain };
                self.found(core, &session, kind, (has_own_work, undo));
                self.follow_for_rows(core, clients, &session);
            }
            ChangesEvent::Unavailable { reason } => {
                tracing::debug!(%session, reason, "no changes can be told");
                if self.found(core, &session, Kind::Unavailable, (false, false)) {
                    return Some(News::NothingKept { session });
                }
            }
            ChangesEvent::Isolated(outcome) => {
                return worktrees::isolated(core, session, outcome);
            }
            ChangesEvent::Git(state) => {
                git_changed(core, &session, &state);
                if let Some(tracking) = self.tracked.get_mut(&session)
                    && tracking.has_own_work != state.has_own_work
                {
                    tracking.has_own_work = state.has_own_work;
                    tracking.offer(core, &session);
                }
            }
            ChangesEvent::Checkpointed { at, .. } => {
                if let Moment::BeforeTurn(turn) = at {
                    return Some(News::StateKept { session, turn });
                }
            }
            ChangesEvent::Inherited => {
                if let Some(known) = core.channels.session_mut(&session) {
                    known.notes.inherits = None;
                    known.dirty = true;
                    core.touch(&session);
                }
            }
            ChangesEvent::Counted(changes) => {
                if let Some(known) = core.channels.session_mut(&session) {
                    known.changes = Some(changes);
                    core.touch(&session);
                }
            }
            ChangesEvent::View { view, news } => {
                self.view_changed(core, clients, view, news);
                return Some(News::FilesChanged { session });
            }
            ChangesEvent::Operated {
                operation,
                outcome,
                undo,
            } => {
                let is_take_back = self.take_backs.remove(&operation);
                let taken_back = outcome.as_ref().map(drop).map_err(Clone::clone);
                self.operated(core, clients, (&session, operation), outcome, undo);
                return is_take_back.then_some(News::FilesTakenBack {
                    session,
                    operation,
                    outcome: taken_back,
                });
            }
        }
        None
    }

    /// Returns whether anybody wants to know.
    fn found(
        &mut self,
        core: &mut Core,
        session: &ChannelUri,
        kind: Kind,
        (has_own_work, undo): (bool, bool),
    ) -> bool {
        let Some(tracking) = self.tracked.get_mut(session) else {
            return false;
        };
        tracking.kind = kind;
        tracking.undo = undo;
        tracking.has_own_work = has_own_work;
        tracking.offer(core, session);
        inherit(core, session);
        true
    }

    /// The catalogues say what there is, and changesets what can be done, for a
    /// session that was touched.
    pub(crate) fn settle(&mut self, core: &mut Core, session: &ChannelUri) {
        self.settle_catalogues(core, session);
        self.settle_offers(core, session);
    }

    fn settle_catalogues(&mut self, core: &mut Core, session: &ChannelUri) {
        let tracking = self.tracked.get(session);
        let (Some(tracking), Some(known)) = (tracking, core.channels.session(session)) else {
            return;
        };
        if tracking.kind == Kind::Unknown {
            return;
        }
        let offered = |list: &[Changeset]| (!list.is_empty()).then(|| list.to_vec());
        let mut actions = Vec::new();
        if known.state.changesets.as_deref().unwrap_or_default() != tracking.of_session {
            let changesets = offered(&tracking.of_session);
            let action = SessionChangesetsChangedAction { changesets };
            let action = StateAction::SessionChangesetsChanged(action);
            actions.push((session.clone(), action));
        }
        for chat in known.chat_uris() {
            let head = core.channels.chat(&chat).map(|chat| &chat.head);
            let differs =
                |list: Option<&[Changeset]>| list.unwrap_or_default() != tracking.of_chats;
            if head.is_some_and(|head| differs(head.changesets.as_deref())) {
                let changesets = offered(&tracking.of_chats);
                let action = ChatChangesetsChangedAction { changesets };
                actions.push((chat, StateAction::ChatChangesetsChanged(action)));
            }
        }
        for (channel, action) in actions {
            core.emit(&channel, action, None);
        }
    }

    /// Has the files of a session taken back, or returned, unless no states of
    /// them are kept.
    pub(crate) fn take_back(
        &mut self,
        core: &mut Core,
        session: &ChannelUri,
        what: Operation,
    ) -> Option<OperationId> {
        let tracking = self.tracked.get(session);
        if tracking.is_none_or(|it| it.kind == Kind::Unavailable) {
            return None;
        }
        self.last_operation += 1;
        let operation = OperationId(self.last_operation);
        self.take_backs.insert(operation);
        tell(core, session, ChangesTask::Operate { operation, what });
        Some(operation)
    }

    // Checkpoints

    /// Has the state before a turn kept. Returns until when what it does waits
    /// for that, if it has to.
    pub(crate) fn keep_state_before(
        &self,
        core: &mut Core,
        chat: &ChannelUri,
        turn: &str,
    ) -> Option<Timestamp> {
        let session = self.session_with_states(core, chat)?;
        let moment = Moment::BeforeTurn(turn.to_owned());
        tell(core, &session, ChangesTask::Checkpoint(moment));
        Some(core.now.after(PATIENCE))
    }

    /// Something that belongs to the turn may be in the state before it.
    pub(crate) fn state_before_is_late(&self, core: &mut Core, chat: &ChannelUri, turn: &str) {
        if let Some(session) = self.session_with_states(core, chat) {
            let turn = turn.to_owned();
            tell(core, &session, ChangesTask::MarkLate { turn });
        }
    }

    pub(crate) fn keep_state_after(&self, core: &mut Core, chat: &ChannelUri, turn: &str) {
        if let Some(session) = self.session_with_states(core, chat) {
            let moment = Moment::AfterTurn(turn.to_owned());
            tell(core, &session, ChangesTask::Checkpoint(moment));
        }
    }

    fn session_with_states(&self, core: &Core, chat: &ChannelUri) -> Option<ChannelUri> {
        let session = &core.channels.chat(chat)?.session;
        let tracking = self.tracked.get(session)?;
        (tracking.kind != Kind::Unavailable).then(|| session.clone())
    }
}

fn tell(core: &mut Core, session: &ChannelUri, task: ChangesTask) {
    let session = session.clone();
    core.effect(Effect::Changes(ChangesCommand { session, task }));
}

/// A copy of a session has the checkpoints of the turns that it has.
fn inherit(core: &mut Core, session: &ChannelUri) {
    let known = core.channels.session(session);
    let Some(inherits) = known.and_then(|it| it.notes.inherits.clone()) else {
        return;
    };
    let inherit = ChangesTask::Inherit {
        from: inherits.session,
        directories: inherits.directories,
        turns: inherits.turns,
    };
    tell(core, session, inherit);
}

fn git_changed(core: &mut Core, session: &ChannelUri, git: &GitState) {
    let Some(known) = core.channels.session(session) else {
        return;
    };
    let meta = with_git(known.state.meta.as_ref(), git);
    if known.state.meta.as_ref() != Some(&meta) {
        let action = SessionMetaChangedAction { meta: Some(meta) };
        core.emit(session, StateAction::SessionMetaChanged(action), None);
    }
}

/// The action replaces all of it: what else it says is said again.
fn with_git(meta: Option<&JsonObject>, git: &GitState) -> JsonObject {
    let mut meta = meta.cloned().unwrap_or_default();
    meta.insert("git".to_owned(), told_state(git));
    meta
}

/// What a session and each of its chats offer.
fn catalogue(
    session: &ChannelUri,
    kind: Kind,
    has_own_work: bool,
    locale: Locale,
) -> (Vec<Changeset>, Vec<Changeset>) {
    use ChangesLabel as L;
    let prefix = channel_prefix(session);
    let entry = |label: L, description: L, path: &str, kind: &str| Changeset {
        label: label.text(locale).to_owned(),
        uri_template: format!("{prefix}/{path}"),
        description: Some(description.text(locale).to_owned()),
        change_kind: kind.to_owned(),
        capabilities: Some(ChangesetCapabilities {
            review: Some(JsonObject::new()),
        }),
    };
    let uncommitted = entry(
        L::Uncommitted,
        L::UncommittedMeans,
        "uncommitted",
        "uncommitted",
    );
    let branch = entry(L::Branch, L::BranchMeans, "branch", "branch");
    let whole = entry(L::Session, L::SessionMeans, "session", "session");
    let turn = entry(L::Turn, L::TurnMeans, "turn/{turnId}", "turn");
    let turns = entry(
        L::Turns,
        L::TurnsMeans,
        "compare/{originalTurnId}/{modifiedTurnId}",
        "compare-turns",
    );
    let of_chats = vec![turn, turns];
    match kind {
        Kind::Git => {
            let mut of_session = vec![uncommitted];
            // Elsewhere it would show what is uncommitted once more.
            of_session.extend(has_own_work.then_some(branch));
            of_session.push(whole);
            of_session.extend(of_chats.iter().cloned());
            (of_session, of_chats)
        }
        Kind::Plain => ([vec![whole], of_chats.clone()].concat(), of_chats),
        Kind::Unknown | Kind::Unavailable => (Vec::new(), Vec::new()),
    }
}

/// `_meta.git` of a session. What it is called here stands next to what editors
/// in the field call it.
fn told_state(git: &GitState) -> Value {
    let mut told = json!({
        "dirty": git.uncommitted > 0,
        "uncommittedChanges": git.uncommitted,
    });
    let mut tell = |names: [&str; 2], value: Option<Value>| {
        for name in names.iter().filter(|_| value.is_some()) {
            told[*name] = value.clone().unwrap_or_default();
        }
    };
    tell(
        ["branch", "branchName"],
        git.branch.clone().map(Value::from),
    );
    tell(
        ["upstream", "upstreamBranchName"],
        git.upstream.clone().map(Value::from),
    );
    tell(
        ["base", "baseBranchName"],
        git.base.clone().map(Value::from),
    );
    tell(["ahead", "outgoingChanges"], git.ahead.map(Value::from));
    tell(["behind", "incomingChanges"], git.behind.map(Value::from));
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_else_the_meta_of_a_session_says_stays_when_git_changes() {
        let before = json!({"mine": {"deep": [1]}, "git": {"branch": "old"}});
        let git = GitState {
            branch: Some("main".to_owned()),
            ..GitState::default()
        };
        let after = with_git(before.as_object(), &git);
        assert_eq!(after["mine"], before["mine"]);
        assert_eq!(after["git"]["branch"], "main");
    }
}
