//! What can be done about a changeset, and that each changeset says so.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{ChangesetOperationsChangedAction, StateAction};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    ChangesetOperation, ChangesetOperationScope, ChangesetOperationStatus,
};
use innkeeper_protocol::workspace::changes::Compared;

use super::Changes;
use super::proposals::{asked_before, asked_now, proposal};
use crate::core::Core;
use crate::labels::{ChangesLabel, Locale};

pub(super) const DISCARD: &str = "discard";
pub(super) const COMMIT: &str = "commit";
pub(super) const RESTORE: &str = "restore";
pub(super) const REVERT: &str = "revert";
pub(super) const PUSH: &str = "push";
pub(super) const CREATE_PR: &str = "create-pr";
pub(super) const KEEP: &str = "keep";
const UNDO: &str = "undo";

impl Changes {
    /// What can be done about one changeset of a session.
    pub(super) fn offered(
        &self,
        core: &Core,
        session: &ChannelUri,
        compared: &Compared,
    ) -> Option<Vec<ChangesetOperation>> {
        let undo = self.tracked.get(session).is_some_and(|it| it.undo);
        let proposal = self.proposal(core, session);
        let keeps = worktree_of(core, session).is_some();
        let locale = core.channels.locale_of(session);
        offered(compared, (undo, keeps), &proposal, locale)
    }

    /// The message of a commit for which nobody writes one.
    pub(super) fn proposal(&self, core: &Core, session: &ChannelUri) -> String {
        let title = core.channels.session(session).map(|it| &it.state.title);
        let asked = self.tracked.get(session).and_then(|it| it.asked.as_deref());
        proposal(title.map_or("", String::as_str), asked)
    }

    /// Somebody looks at the changes of a session.
    pub(super) fn know_what_was_asked(&mut self, core: &Core, session: &ChannelUri) {
        if let Some(tracking) = self.tracked.get_mut(session)
            && tracking.asked.is_none()
        {
            let now = asked_now(core, session).map(str::to_owned);
            tracking.asked = now.or_else(|| asked_before(core, session));
        }
    }

    /// Each changeset of a session that was touched says what can be done.
    pub(super) fn settle_offers(&mut self, core: &mut Core, session: &ChannelUri) {
        if let Some(tracking) = self.tracked.get_mut(session)
            && let Some(asked) = asked_now(core, session)
            && tracking.asked.as_deref() != Some(asked)
        {
            tracking.asked = Some(asked.to_owned());
        }
        let views = self.views.iter();
        let of_session = views.filter(|(_, view)| view.session == *session);
        let news: Vec<(ChannelUri, Option<Vec<ChangesetOperation>>)> = of_session
            .filter_map(|(uri, view)| {
                let said = &core.channels.changeset(uri)?.state.operations;
                let offered = self.offered(core, session, &view.compared);
                let offered = offered.map(|list| as_they_stand(list, said.as_deref()));
                (offered != *said).then(|| (uri.clone(), offered))
            })
            .collect();
        for (uri, operations) in news {
            let action = ChangesetOperationsChangedAction { operations };
            core.emit(&uri, StateAction::ChangesetOperationsChanged(action), None);
        }
    }
}

/// The directory that a session's own working tree was made for.
pub(super) fn worktree_of(core: &Core, session: &ChannelUri) -> Option<String> {
    let notes = &core.channels.session(session)?.notes;
    notes
        .worktree_of
        .clone()
        .filter(|_| notes.worktree.is_some())
}

/// An operation that is still offered runs on, or has failed.
fn as_they_stand(
    mut offered: Vec<ChangesetOperation>,
    said: Option<&[ChangesetOperation]>,
) -> Vec<ChangesetOperation> {
    for operation in &mut offered {
        let mut said = said.unwrap_or_default().iter();
        if let Some(said) = said.find(|said| said.id == operation.id) {
            operation.status = said.status.clone();
            operation.error = said.error.clone();
        }
    }
    offered
}

fn offered(
    compared: &Compared,
    (undo, keeps): (bool, bool),
    proposal: &str,
    locale: Locale,
) -> Option<Vec<ChangesetOperation>> {
    use ChangesLabel as L;
    use ChangesetOperationScope::{Changeset, Range, Resource};
    let operation = |id: &str, label: L, ask: L, icon: &str, scopes: &[_]| ChangesetOperation {
        id: id.to_owned(),
        label: label.text(locale).to_owned(),
        description: None,
        scopes: scopes.to_vec(),
        confirmation: Some(StringOrMarkdown::Plain(ask.text(locale).to_owned())),
        icon: Some(icon.to_owned()),
        group: None,
        status: ChangesetOperationStatus::Idle,
        error: None,
    };
    // The message that there will be, for whoever wants to write another.
    let with_message = |operation: ChangesetOperation| ChangesetOperation {
        description: (!proposal.is_empty()).then(|| proposal.to_owned()),
        ..operation
    };
    let both = [Changeset, Resource];
    let all = [Changeset, Resource, Range];
    let discard = |ask| operation(DISCARD, L::Discard, ask, "discard", &all);
    let commit = |ask| with_message(operation(COMMIT, L::Commit, ask, "check", &[Changeset]));
    let mut list = match compared {
        Compared::Uncommitted => vec![discard(L::DiscardUncommittedAsks), commit(L::CommitAsks)],
        Compared::Branch => vec![
            commit(L::CommitUncommittedAsks),
            operation(PUSH, L::Push, L::PushAsks, "repo-push", &[Changeset]),
            with_message(operation(
                CREATE_PR,
                L::CreatePullRequest,
                L::CreatePullRequestAsks,
                "git-pull-request",
                &[Changeset],
            )),
        ],
        Compared::Session => vec![discard(L::DiscardSessionAsks)],
        Compared::Turn(_) => vec![
            operation(RESTORE, L::Restore, L::RestoreAsks, "history", &both),
            operation(REVERT, L::Revert, L::RevertAsks, "discard", &both),
        ],
        Compared::Turns { .. } => Vec::new(),
    };
    if keeps && *compared == Compared::Session {
        list.push(operation(
            KEEP,
            L::Keep,
            L::KeepAsks,
            "git-merge",
            &[Changeset],
        ));
    }
    if undo && !list.is_empty() {
        list.push(operation(UNDO, L::Undo, L::UndoAsks, "undo", &[Changeset]));
    }
    (!list.is_empty()).then_some(list)
}
