//! Review marks: which files of a changeset somebody has looked at. They are
//! kept with the session, each with a note of what was seen; when a file is
//! another one than was seen, its mark goes.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{ChangesetFilesReviewChangedAction, StateAction};
use innkeeper_protocol::newest::state::{ChangesetFile, ChangesetState, FileEditSide};

use super::Changes;
use crate::core::changeset_uri::channel_prefix;
use crate::core::{Core, Sender, Verdict};

/// What follows from an action that was accepted.
#[derive(Debug)]
enum After {
    Reviewed(ChangesetFilesReviewChangedAction),
}

/// What clients may do to a changeset: mark its files.
fn judge(changeset: &ChangesetState, action: StateAction) -> Verdict<After> {
    let StateAction::ChangesetFilesReviewChanged(change) = &action else {
        return Verdict::NotAccepted(action);
    };
    let mut files = changeset.files.iter();
    let matters = |file: &ChangesetFile| {
        change.files.contains(&file.id) && file.reviewed != Some(change.reviewed)
    };
    match files.any(matters) {
        true => {
            let after = After::Reviewed(change.clone());
            Verdict::Apply(action, after)
        }
        false => {
            let why = "none of these files is in the changeset, or all are marked so already";
            Verdict::reject(action, why)
        }
    }
}

impl Changes {
    /// Takes what a client dispatched to a changeset.
    pub(crate) fn dispatched(
        &self,
        core: &mut Core,
        channel: &ChannelUri,
        action: StateAction,
        sender: Sender,
    ) {
        let Some(changeset) = core.channels.changeset(channel) else {
            return;
        };
        let verdict = judge(&changeset.state, action);
        if let Some(after) = core.carry_out(channel, sender, verdict) {
            self.follow_up(core, channel, after);
        }
    }

    /// Marks were set or taken away: they are kept with the session.
    fn follow_up(&self, core: &mut Core, channel: &ChannelUri, after: After) {
        let After::Reviewed(change) = after;
        let known = self.views.get(channel);
        let Some((view, changeset)) = known.zip(core.channels.changeset(channel)) else {
            return;
        };
        let session = view.session.clone();
        let files = changeset.state.files.iter();
        let files = files.filter(|file| change.files.contains(&file.id));
        let seen: Vec<(String, String)> = files
            .map(|file| (file.id.clone(), content_of(file)))
            .collect();
        let Some(known) = core.channels.session_mut(&session) else {
            return;
        };
        let marks = &mut known.notes.reviewed;
        let of_view = marks.entry(view_of(&session, channel)).or_default();
        for (file, content) in seen {
            match change.reviewed {
                true => of_view.insert(file, content),
                false => of_view.remove(&file),
            };
        }
        marks.retain(|_, of_view| !of_view.is_empty());
        known.dirty = true;
        core.touch(&session);
        // Whoever marked a file finds it marked, whatever happens.
        core.step.durable_first = true;
    }

    /// Files of a changeset, with their marks. They are all that there are, or
    /// those that changed, next to some that were removed.
    pub(super) fn with_marks(
        &self,
        core: &mut Core,
        channel: &ChannelUri,
        mut files: Vec<ChangesetFile>,
        removed: Option<&[String]>,
    ) -> Vec<ChangesetFile> {
        let Some(view) = self.views.get(channel) else {
            return files;
        };
        let session = view.session.clone();
        let Some(known) = core.channels.session_mut(&session) else {
            return files;
        };
        let view = view_of(&session, channel);
        let Some(marks) = known.notes.reviewed.get_mut(&view) else {
            return files;
        };
        let before = marks.len();
        marks.retain(
            |id, seen| match files.iter_mut().find(|file| file.id == *id) {
                Some(file) => {
                    let same = content_of(file) == *seen;
                    file.reviewed = same.then_some(true);
                    same
                }
                None => removed.is_some_and(|removed| !removed.contains(id)),
            },
        );
        let lost = marks.len() != before;
        if marks.is_empty() {
            known.notes.reviewed.remove(&view);
        }
        if lost {
            known.dirty = true;
            core.touch(&session);
        }
        files
    }
}

/// What a changeset is called within its session.
fn view_of(session: &ChannelUri, channel: &ChannelUri) -> String {
    let prefix = channel_prefix(session);
    let view = channel.as_str().strip_prefix(prefix.as_str());
    view.unwrap_or_default().trim_start_matches('/').to_owned()
}

/// What tells one content of a file from another.
fn content_of(file: &ChangesetFile) -> String {
    let side = |side: &Option<FileEditSide>| match side {
        Some(side) => {
            let nonce = side.content.nonce.as_deref().unwrap_or_default();
            format!("{} {nonce}", side.content.uri)
        }
        None => String::new(),
    };
    format!("{}\n{}", side(&file.edit.before), side(&file.edit.after))
}
