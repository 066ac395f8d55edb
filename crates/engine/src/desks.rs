//! Desks: the directories that sessions work in, as far as their changes are
//! concerned. Which changesets a session offers, what git says about its
//! directories, and which states of them are kept.
//!
//! A turn begins when the state before it is kept, or a moment later if that
//! takes long: nobody should have to wait for a checkpoint of a huge tree.

use std::time::Duration;

use innkeeper_protocol::house::actions::{
    ChatChangesetsChangedAction, SessionChangesetsChangedAction, SessionMetaChangedAction,
    StateAction,
};
use innkeeper_protocol::house::common::JsonObject;
use innkeeper_protocol::house::state::{ChangesSummary, Changeset, ChangesetCapabilities};
use innkeeper_protocol::workspace::changes::{
    ChangesCommand, ChangesEvent, ChangesReport, ChangesTask, GitState, Moment,
};
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::{Value, json};

use crate::changesets::channel_prefix;
use crate::labels::{ChangesLabel, Locale};
use crate::{Effect, Engine};

/// How long a turn waits for the state before it to be kept.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Desk {
    /// `file:` URIs.
    pub(crate) directories: Vec<String>,
    pub(crate) kind: DeskKind,
    observed: bool,
    /// There is an operation that can be taken back.
    pub(crate) undo: bool,
    /// What the session offers, and what each of its chats does.
    of_session: Vec<Changeset>,
    of_chats: Vec<Changeset>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeskKind {
    /// Nothing was reported yet.
    Unknown,
    Git,
    Plain,
    /// No changes can be told.
    Unavailable,
}

impl Engine {
    /// Sees to it that the desk of a session in memory is open.
    pub(crate) fn update_desk(&mut self, session: &ChannelUri) {
        if !self.config.workspace.changes || self.awaits_worktree(session) {
            return;
        }
        let state = self.sessions.get(session).map(|session| &session.state);
        let directories = state.and_then(|state| state.working_directories.as_ref());
        let here = |uri: &&String| uri.starts_with("file:");
        let directories = directories.into_iter().flatten().filter(here);
        let directories: Vec<String> = directories.cloned().collect();
        let desk = self.desks.get(session);
        if directories.is_empty() || desk.is_some_and(|desk| desk.directories == directories) {
            return;
        }
        let desk = Desk {
            directories: directories.clone(),
            kind: DeskKind::Unknown,
            observed: false,
            undo: false,
            of_session: Vec::new(),
            of_chats: Vec::new(),
        };
        self.desks.insert(session.clone(), desk);
        self.tell_desk(session, ChangesTask::Open { directories });
        if self.subscriptions.has_channel(session) {
            self.observe(session, true);
        }
    }

    /// The session leaves memory.
    pub(crate) fn close_desk(&mut self, session: &ChannelUri) {
        if self.desks.remove(session).is_some() {
            self.close_changesets_of(session);
            self.tell_desk(session, ChangesTask::Close);
        }
    }

    /// The session is gone for good. A working tree goes with the last session
    /// that works in it.
    pub(crate) fn clear_desk(&mut self, session: &ChannelUri) {
        if let Some(desk) = self.desks.remove(session) {
            self.close_changesets_of(session);
            let known = self.sessions.get(session);
            let made = known.and_then(|it| it.notes.worktree.as_ref());
            let trees = self.abandoned_trees(desk.directories.iter().chain(made));
            let directories = desk.directories;
            self.tell_desk(session, ChangesTask::Forget { directories, trees });
        }
    }

    /// Somebody follows a session, or nobody any more.
    pub(crate) fn observe(&mut self, session: &ChannelUri, observed: bool) {
        if let Some(desk) = self.desks.get_mut(session)
            && desk.observed != observed
        {
            desk.observed = observed;
            self.tell_desk(session, ChangesTask::Observe(observed));
        }
    }

    pub(crate) fn tell_desk(&mut self, session: &ChannelUri, task: ChangesTask) {
        let session = session.clone();
        let command = ChangesCommand { session, task };
        self.step.effects.push(Effect::Changes(command));
    }

    pub(crate) fn changes_reported(&mut self, report: ChangesReport) {
        let ChangesReport { session, event } = report;
        match event {
            ChangesEvent::Found { git, undo } => {
                let kind = if git { DeskKind::Git } else { DeskKind::Plain };
                self.desk_found(&session, kind, undo);
            }
            ChangesEvent::Unavailable { reason } => {
                tracing::debug!(%session, reason, "no changes can be told");
                self.desk_found(&session, DeskKind::Unavailable, false);
            }
            ChangesEvent::Isolated(outcome) => self.isolated(&session, outcome),
            ChangesEvent::Git(state) => self.git_changed(&session, &state),
            ChangesEvent::Checkpointed { at, .. } => {
                if let Moment::BeforeTurn(turn) = at {
                    self.release_turns(|chat| chat.session == session && chat.is_at(&turn));
                }
            }
            ChangesEvent::Inherited => {
                if let Some(known) = self.sessions.get_mut(&session) {
                    known.notes.inherits = None;
                    known.dirty = true;
                    self.touched.insert(session);
                }
            }
            ChangesEvent::Counted(changes) => self.changes_counted(&session, changes),
            ChangesEvent::View { view, news } => self.view_changed(view, news),
            ChangesEvent::Operated {
                operation,
                outcome,
                undo,
            } => self.operated(&session, operation, outcome, undo),
        }
    }

    fn desk_found(&mut self, session: &ChannelUri, kind: DeskKind, undo: bool) {
        let locale = self.locale_of_session(session);
        let Some(desk) = self.desks.get_mut(session) else {
            return;
        };
        desk.kind = kind;
        desk.undo = undo;
        (desk.of_session, desk.of_chats) = catalogue(session, kind, locale);
        self.touched.insert(session.clone());
        self.offer_undo(session, undo);
        self.inherit(session);
        if kind == DeskKind::Unavailable {
            // There is no state to wait for.
            self.release_turns(|chat| chat.session == *session);
        }
    }

    /// A copy of a session has the checkpoints of the turns that it has.
    fn inherit(&mut self, session: &ChannelUri) {
        let known = self.sessions.get(session);
        let Some(inherits) = known.and_then(|it| it.notes.inherits.clone()) else {
            return;
        };
        let inherit = ChangesTask::Inherit {
            from: inherits.session,
            directories: inherits.directories,
            turns: inherits.turns,
        };
        self.tell_desk(session, inherit);
    }

    fn changes_counted(&mut self, session: &ChannelUri, changes: ChangesSummary) {
        if let Some(known) = self.sessions.get_mut(session) {
            known.changes = Some(changes);
            self.touched.insert(session.clone());
        }
    }

    /// The language in which a session's changesets are named.
    pub(crate) fn locale_of_session(&self, session: &ChannelUri) -> Locale {
        let known = self.sessions.get(session);
        Locale::of_tag(known.and_then(|it| it.notes.language.as_deref()))
    }

    /// The catalogues say what there is, for a session that was touched.
    pub(crate) fn update_changesets(&mut self, session: &ChannelUri) {
        let (Some(desk), Some(known)) = (self.desks.get(session), self.sessions.get(session))
        else {
            return;
        };
        if desk.kind == DeskKind::Unknown {
            return;
        }
        let offered = |list: &[Changeset]| (!list.is_empty()).then(|| list.to_vec());
        let mut actions = Vec::new();
        if known.state.changesets.as_deref().unwrap_or_default() != desk.of_session {
            let changesets = offered(&desk.of_session);
            let action = SessionChangesetsChangedAction { changesets };
            let action = StateAction::SessionChangesetsChanged(action);
            actions.push((session.clone(), action));
        }
        for chat in known.chat_uris() {
            let head = self.chats.get(&chat).map(|chat| &chat.head);
            let differs = |list: Option<&[Changeset]>| list.unwrap_or_default() != desk.of_chats;
            if head.is_some_and(|head| differs(head.changesets.as_deref())) {
                let changesets = offered(&desk.of_chats);
                let action = ChatChangesetsChangedAction { changesets };
                actions.push((chat, StateAction::ChatChangesetsChanged(action)));
            }
        }
        for (channel, action) in actions {
            self.emit(&channel, action, None);
        }
    }

    fn git_changed(&mut self, session: &ChannelUri, git: &GitState) {
        let Some(known) = self.sessions.get(session) else {
            return;
        };
        let mut meta = known.state.meta.clone().unwrap_or_default();
        let told = told_state(git);
        if meta.get("git") != Some(&told) {
            meta.insert("git".to_owned(), told);
            let action = SessionMetaChangedAction { meta: Some(meta) };
            self.emit(session, StateAction::SessionMetaChanged(action), None);
        }
    }

    // Checkpoints

    /// Has the state before a turn kept. Returns until when the turn waits for
    /// that, if it does.
    pub(crate) fn keep_state_before(&mut self, chat: &ChannelUri, turn: &str) -> Option<Timestamp> {
        let session = self.session_with_desk(chat)?;
        let moment = Moment::BeforeTurn(turn.to_owned());
        self.tell_desk(&session, ChangesTask::Checkpoint(moment));
        Some(self.now.after(PATIENCE))
    }

    pub(crate) fn keep_state_after(&mut self, chat: &ChannelUri, turn: &str) {
        if let Some(session) = self.session_with_desk(chat) {
            let moment = Moment::AfterTurn(turn.to_owned());
            self.tell_desk(&session, ChangesTask::Checkpoint(moment));
        }
    }

    fn session_with_desk(&self, chat: &ChannelUri) -> Option<ChannelUri> {
        let session = &self.chats.get(chat)?.session;
        let desk = self.desks.get(session)?;
        (desk.kind != DeskKind::Unavailable).then(|| session.clone())
    }

    /// Turns whose time has come although their state is not kept yet.
    pub(crate) fn release_late_turns(&mut self) {
        let now = self.now;
        self.release_turns(|chat| chat.held_until().is_some_and(|until| until <= now));
    }

    fn release_turns(&mut self, which: impl Fn(&crate::chats::Chat) -> bool) {
        let held = self
            .chats
            .values()
            .filter(|chat| chat.held_until().is_some());
        let held: Vec<ChannelUri> = held
            .filter(|chat| which(chat))
            .map(|chat| chat.uri.clone())
            .collect();
        for uri in held {
            if let Some(turn) = self.chats.get_mut(&uri).and_then(|chat| chat.turn.as_mut()) {
                turn.held_until = None;
            }
            self.set_going(&uri);
        }
    }
}

/// What a session and each of its chats offer.
fn catalogue(
    session: &ChannelUri,
    kind: DeskKind,
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
        DeskKind::Git => (
            [vec![uncommitted, branch, whole], of_chats.clone()].concat(),
            of_chats,
        ),
        DeskKind::Plain => ([vec![whole], of_chats.clone()].concat(), of_chats),
        DeskKind::Unknown | DeskKind::Unavailable => (Vec::new(), Vec::new()),
    }
}

/// `_meta.git` of a session. What it is called here stands beside what editors
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
    tell(["ahead", "outgoingChanges"], git.ahead.map(Value::from));
    tell(["behind", "incomingChanges"], git.behind.map(Value::from));
    told
}
