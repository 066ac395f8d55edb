//! Changesets: a channel each, for what differs between two states of a
//! session's directory. One is computed while somebody listens to it.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    ChangesetClearedAction, ChangesetContentChangedAction, ChangesetFileRemovedAction,
    ChangesetFileSetAction, ChangesetStatusChangedAction, StateAction,
};
use innkeeper_protocol::newest::state::{ChangesetFile, ChangesetState, ChangesetStatus, FileEdit};
use innkeeper_protocol::workspace::changes::{ChangesTask, Compared, ViewId, ViewNews};

use super::{Changes, Kind, tell};
use crate::clients::Clients;
use crate::compat;
use crate::core::channels::{Channel, Ephemeral};
use crate::core::{Core, changeset_uri, error_info};
use crate::effect::Subscriber;
use crate::labels::operations;

/// What the host knows of a changeset besides its state.
#[derive(Debug)]
pub(super) struct View {
    id: ViewId,
    pub(super) session: ChannelUri,
    pub(super) compared: Compared,
}

impl Changes {
    /// Has a changeset computed that somebody wants to see.
    pub(crate) fn open(&mut self, core: &mut Core, channel: &ChannelUri) {
        let Some((session, compared)) = changeset_uri::parse(channel) else {
            return;
        };
        let Some(tracking) = self.tracked.get(&session) else {
            return;
        };
        if core.channels.contains(channel) {
            return;
        }
        let commits = matches!(tracking.kind, Kind::Git | Kind::Unknown);
        if matches!(compared, Compared::Uncommitted | Compared::Branch) && !commits {
            return;
        }
        self.last_view += 1;
        let id = ViewId(self.last_view);
        self.know_what_was_asked(core, &session);
        let state = ChangesetState {
            status: ChangesetStatus::Computing,
            error: None,
            files: Vec::new(),
            operations: self.offered(core, &session, &compared),
        };
        let born = core.server_seq();
        let changeset = Channel::Changeset(Box::new(Ephemeral { state, born }));
        core.channels.insert(channel.clone(), changeset);
        let view = View {
            id,
            session: session.clone(),
            compared: compared.clone(),
        };
        self.views.insert(channel.clone(), view);
        self.by_view.insert(id, channel.clone());
        let view = id;
        tell(core, &session, ChangesTask::OpenView { view, compared });
    }

    /// A changeset that was opened for somebody who cannot listen to it.
    pub(crate) fn close_unheard(&mut self, core: &mut Core, channel: &ChannelUri) {
        if !core.subscriptions.has_channel(channel) {
            self.close(core, channel);
        }
    }

    /// Nobody listens to a changeset any more.
    pub(crate) fn close(&mut self, core: &mut Core, channel: &ChannelUri) {
        if let Some(view) = self.remove(core, channel) {
            tell(
                core,
                &view.session,
                ChangesTask::CloseView { view: view.id },
            );
        }
    }

    fn remove(&mut self, core: &mut Core, channel: &ChannelUri) -> Option<View> {
        let view = self.views.remove(channel)?;
        self.by_view.remove(&view.id);
        core.channels.remove(channel);
        Some(view)
    }

    /// Whether somebody looks at what has changed in a session.
    pub(crate) fn are_looked_at(&self, session: &ChannelUri) -> bool {
        self.views.values().any(|view| view.session == *session)
    }

    pub(super) fn close_all_of(&mut self, core: &mut Core, session: &ChannelUri) {
        let views = self.views.iter();
        let of_session = views.filter(|(_, view)| view.session == *session);
        let channels: Vec<ChannelUri> = of_session.map(|(uri, _)| uri.clone()).collect();
        for channel in channels {
            core.subscriptions.remove_channel(&channel);
            self.remove(core, &channel);
        }
    }

    /// In versions without changesets a session says itself which files have
    /// changed: whoever follows it there listens to its changeset.
    pub(crate) fn follow_for_rows(
        &mut self,
        core: &mut Core,
        clients: &Clients,
        session: &ChannelUri,
    ) {
        let all = core.subscriptions.of_channel(session);
        let all = all.iter().flat_map(|all| all.iter().copied());
        let shown = |it: &Subscriber| !clients.version_of(it.connection).has_changesets();
        let shown: Vec<Subscriber> = all.filter(shown).collect();
        if shown.is_empty() || !self.tracked.contains_key(session) {
            return;
        }
        let channel = changeset_uri::of_whole_session(session);
        self.open(core, &channel);
        if core.channels.contains(&channel) {
            for subscriber in shown {
                core.subscriptions.add(&channel, subscriber);
            }
        }
    }

    pub(super) fn view_changed(
        &mut self,
        core: &mut Core,
        clients: &Clients,
        view: ViewId,
        news: ViewNews,
    ) {
        let Some(channel) = self.by_view.get(&view).cloned() else {
            return;
        };
        self.show(core, &channel, news);
        let view = self.views.get(&channel);
        if let Some(view) = view.filter(|view| view.compared == Compared::Session) {
            note_diffs(core, clients, &view.session, &channel);
        }
    }

    fn show(&mut self, core: &mut Core, channel: &ChannelUri, news: ViewNews) {
        match news {
            ViewNews::Files(files) => {
                let files = self.with_marks(core, channel, files, None);
                replace_files(core, channel, files);
                status_changed(core, channel, ChangesetStatus::Ready);
            }
            ViewNews::Changed { set, removed } => {
                let set = self.with_marks(core, channel, set, Some(&removed));
                for file_id in removed {
                    let action = ChangesetFileRemovedAction { file_id };
                    core.emit(channel, StateAction::ChangesetFileRemoved(action), None);
                }
                for file in set {
                    let action = ChangesetFileSetAction { file };
                    core.emit(channel, StateAction::ChangesetFileSet(action), None);
                }
                status_changed(core, channel, ChangesetStatus::Ready);
            }
            ViewNews::Failed(trouble) => {
                let view = self.views.get(channel);
                let locale = view.map(|it| core.channels.locale_of(&it.session));
                let reason = operations::trouble(&trouble, locale.unwrap_or_default());
                let action = ChangesetStatusChangedAction {
                    status: ChangesetStatus::Error,
                    error: Some(error_info("changesetFailed", reason)),
                };
                core.emit(channel, StateAction::ChangesetStatusChanged(action), None);
            }
        }
    }
}

/// How many files a session's row names at most.
const MOST_DIFFS: usize = 500;

/// The session's row says what its changeset says, where a version has no
/// changesets.
fn note_diffs(core: &mut Core, clients: &Clients, session: &ChannelUri, channel: &ChannelUri) {
    let Some(changeset) = core.channels.changeset(channel) else {
        return;
    };
    let files = changeset.state.files.iter().take(MOST_DIFFS);
    let diffs: Vec<FileEdit> = files.map(|file| file.edit.clone()).collect();
    let Some(known) = core.channels.session_mut(session) else {
        return;
    };
    if known.diffs != diffs {
        known.diffs = diffs;
        core.touch(session);
        compat::tell_diffs(core, clients, session);
    }
}

fn replace_files(core: &mut Core, channel: &ChannelUri, files: Vec<ChangesetFile>) {
    let Some(changeset) = core.channels.changeset(channel) else {
        return;
    };
    let action = match (files.is_empty(), changeset.state.files.is_empty()) {
        (true, true) => return,
        (true, false) => StateAction::ChangesetCleared(ChangesetClearedAction {}),
        (false, _) => {
            let operations = None;
            let action = ChangesetContentChangedAction { files, operations };
            StateAction::ChangesetContentChanged(Box::new(action))
        }
    };
    core.emit(channel, action, None);
}

fn status_changed(core: &mut Core, channel: &ChannelUri, status: ChangesetStatus) {
    let known = core.channels.changeset(channel);
    if known.is_some_and(|changeset| changeset.state.status != status) {
        let error = None;
        let action = ChangesetStatusChangedAction { status, error };
        core.emit(channel, StateAction::ChangesetStatusChanged(action), None);
    }
}
