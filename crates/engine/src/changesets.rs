//! Changesets: a channel each, for what differs between two states of a
//! session's directory. One is computed while somebody listens to it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::actions::{
    ChangesetClearedAction, ChangesetContentChangedAction, ChangesetFileRemovedAction,
    ChangesetFileSetAction, ChangesetOperationsChangedAction, ChangesetStatusChangedAction,
    StateAction,
};
use innkeeper_protocol::house::state::{
    ChangesetFile, ChangesetOperation, ChangesetState, ChangesetStatus,
};
use innkeeper_protocol::workspace::changes::{ChangesTask, Compared, ViewId, ViewNews};

use crate::Engine;
use crate::changeset_operations::offered;
use crate::desks::DeskKind;
use crate::labels::operations;
use crate::turns::error_info;

const SCHEME: &str = "ahp-changeset:/";

/// What stands between a session and a view where a client computes the
/// channel instead of reading it from the session's catalogue.
const BELOW_SESSION: &str = "/changeset/";

#[derive(Debug)]
pub(crate) struct ChangesetChannel {
    pub(crate) view: ViewId,
    pub(crate) session: ChannelUri,
    pub(crate) compared: Compared,
    pub(crate) state: ChangesetState,
    /// The number at which it was opened.
    pub(crate) born: u64,
}

/// What the channels of a session's changesets begin with.
pub(crate) fn channel_prefix(session: &ChannelUri) -> String {
    format!("{SCHEME}{}", URL_SAFE_NO_PAD.encode(session.as_str()))
}

/// The session and the view that a channel names, if it names any.
pub(crate) fn parse(channel: &ChannelUri) -> Option<(ChannelUri, Compared)> {
    let (session, view) = match channel.as_str().strip_prefix(SCHEME) {
        Some(rest) => {
            let (session, view) = rest.split_once('/')?;
            let session = URL_SAFE_NO_PAD.decode(session).ok()?;
            (String::from_utf8(session).ok()?, view)
        }
        None => {
            let (session, view) = channel.as_str().rsplit_once(BELOW_SESSION)?;
            (session.to_owned(), view)
        }
    };
    let text = |segment: &str| {
        let text = crate::sessions::percent_decoded(segment);
        (!text.is_empty()).then_some(text)
    };
    let segments: Vec<&str> = view.split('/').collect();
    let compared = match segments[..] {
        ["uncommitted"] => Compared::Uncommitted,
        ["branch"] => Compared::Branch,
        ["session"] => Compared::Session,
        ["turn", turn] => Compared::Turn(text(turn)?),
        ["compare", original, modified] => Compared::Turns {
            original: text(original)?,
            modified: text(modified)?,
        },
        _ => return None,
    };
    Some((session.into(), compared))
}

impl Engine {
    /// Has a changeset computed that somebody wants to see.
    pub(crate) fn open_changeset(&mut self, channel: &ChannelUri) {
        let Some((session, compared)) = parse(channel) else {
            return;
        };
        let Some(desk) = self.desks.get(&session) else {
            return;
        };
        if self.changesets.contains_key(channel) {
            return;
        }
        let commits = matches!(desk.kind, DeskKind::Git | DeskKind::Unknown);
        if matches!(compared, Compared::Uncommitted | Compared::Branch) && !commits {
            return;
        }
        self.last_view += 1;
        let view = ViewId(self.last_view);
        let state = ChangesetState {
            status: ChangesetStatus::Computing,
            error: None,
            files: Vec::new(),
            operations: offered(&compared, desk.undo, self.locale_of_session(&session)),
        };
        let changeset = ChangesetChannel {
            view,
            session: session.clone(),
            compared: compared.clone(),
            state,
            born: self.server_seq(),
        };
        self.changesets.insert(channel.clone(), changeset);
        self.view_ids.insert(view, channel.clone());
        self.tell_desk(&session, ChangesTask::OpenView { view, compared });
    }

    /// A changeset that was opened for somebody who cannot listen to it.
    pub(crate) fn close_unheard_changeset(&mut self, channel: &ChannelUri) {
        if !self.subscriptions.has_channel(channel) {
            self.close_changeset(channel);
        }
    }

    /// Nobody listens to a changeset any more.
    pub(crate) fn close_changeset(&mut self, channel: &ChannelUri) {
        if let Some(changeset) = self.changesets.remove(channel) {
            let view = changeset.view;
            self.view_ids.remove(&view);
            self.tell_desk(&changeset.session, ChangesTask::CloseView { view });
        }
    }

    /// Whether somebody looks at what has changed in a session.
    pub(crate) fn has_changesets(&self, session: &ChannelUri) -> bool {
        let mut all = self.changesets.values();
        all.any(|changeset| changeset.session == *session)
    }

    pub(crate) fn close_changesets_of(&mut self, session: &ChannelUri) {
        let of_session = self.changesets.iter();
        let of_session = of_session.filter(|(_, changeset)| changeset.session == *session);
        let channels: Vec<ChannelUri> = of_session.map(|(uri, _)| uri.clone()).collect();
        for channel in channels {
            self.subscriptions.remove_channel(&channel);
            if let Some(changeset) = self.changesets.remove(&channel) {
                self.view_ids.remove(&changeset.view);
            }
        }
    }

    pub(crate) fn view_changed(&mut self, view: ViewId, news: ViewNews) {
        let Some(channel) = self.view_ids.get(&view).cloned() else {
            return;
        };
        match news {
            ViewNews::Files(files) => {
                let files = self.with_marks(&channel, files, None);
                self.replace_files(&channel, files);
                self.changeset_status(&channel, ChangesetStatus::Ready);
            }
            ViewNews::Changed { set, removed } => {
                let set = self.with_marks(&channel, set, Some(&removed));
                for file_id in removed {
                    let action = ChangesetFileRemovedAction { file_id };
                    self.emit(&channel, StateAction::ChangesetFileRemoved(action), None);
                }
                for file in set {
                    let action = ChangesetFileSetAction { file };
                    self.emit(&channel, StateAction::ChangesetFileSet(action), None);
                }
                self.changeset_status(&channel, ChangesetStatus::Ready);
            }
            ViewNews::Failed(trouble) => {
                let changeset = self.changesets.get(&channel);
                let locale = changeset.map(|it| self.locale_of_session(&it.session));
                let reason = operations::trouble(&trouble, locale.unwrap_or_default());
                let action = ChangesetStatusChangedAction {
                    status: ChangesetStatus::Error,
                    error: Some(error_info("changesetFailed", reason)),
                };
                self.emit(&channel, StateAction::ChangesetStatusChanged(action), None);
            }
        }
    }

    fn replace_files(&mut self, channel: &ChannelUri, files: Vec<ChangesetFile>) {
        let Some(changeset) = self.changesets.get(channel) else {
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
        self.emit(channel, action, None);
    }

    fn changeset_status(&mut self, channel: &ChannelUri, status: ChangesetStatus) {
        let known = self.changesets.get(channel);
        if known.is_some_and(|changeset| changeset.state.status != status) {
            let error = None;
            let action = ChangesetStatusChangedAction { status, error };
            self.emit(channel, StateAction::ChangesetStatusChanged(action), None);
        }
    }

    /// What can be taken back is offered with each changeset of the session.
    pub(crate) fn offer_undo(&mut self, session: &ChannelUri, undo: bool) {
        let locale = self.locale_of_session(session);
        let of_session = self.changesets.iter();
        let of_session = of_session.filter(|(_, changeset)| changeset.session == *session);
        let news: Vec<(ChannelUri, Option<Vec<ChangesetOperation>>)> = of_session
            .filter_map(|(uri, changeset)| {
                let wanted = offered(&changeset.compared, undo, locale);
                let names = |list: &Option<Vec<ChangesetOperation>>| -> Vec<String> {
                    let list = list.iter().flatten();
                    list.map(|operation| operation.id.clone()).collect()
                };
                let same = names(&wanted) == names(&changeset.state.operations);
                (!same).then(|| (uri.clone(), wanted))
            })
            .collect();
        for (uri, operations) in news {
            let action = ChangesetOperationsChangedAction { operations };
            self.emit(&uri, StateAction::ChangesetOperationsChanged(action), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_names_its_session_and_its_view() {
        let session = ChannelUri::from("ahp-session:/1");
        let prefix = channel_prefix(&session);
        let parsed = |path: &str| {
            let (of, compared) = parse(&format!("{prefix}/{path}").into())?;
            assert_eq!(of, session);
            Some(compared)
        };
        assert_eq!(parsed("uncommitted"), Some(Compared::Uncommitted));
        assert_eq!(parsed("session"), Some(Compared::Session));
        assert_eq!(parsed("turn/a%2Fb"), Some(Compared::Turn("a/b".to_owned())));
        let (original, modified) = ("1".to_owned(), "2".to_owned());
        let turns = Compared::Turns { original, modified };
        assert_eq!(parsed("compare/1/2"), Some(turns));
        for other in [
            "",
            "turn",
            "turn/",
            "compare/1",
            "uncommitted/x",
            "{turnId}",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
        assert_eq!(parse(&"ahp-changeset:/%/session".into()), None);
    }

    #[test]
    fn a_channel_that_a_client_computes_names_the_same() {
        let parsed = |channel: &str| parse(&channel.into());
        let session = || ChannelUri::from("copilot:/1");
        assert_eq!(
            parsed("copilot:/1/changeset/turn/request_7"),
            Some((session(), Compared::Turn("request_7".to_owned())))
        );
        assert_eq!(
            parsed("copilot:/1/changeset/branch"),
            Some((session(), Compared::Branch))
        );
        assert_eq!(parsed("copilot:/1/changeset"), None);
        assert_eq!(parsed("copilot:/1/changeset/turn/"), None);
    }
}
