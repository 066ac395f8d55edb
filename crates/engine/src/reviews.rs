//! Review marks: which files of a changeset somebody has looked at. They are
//! kept with the session, each with a note of what was seen; when a file is
//! another one than was seen, its mark goes.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::actions::{ChangesetFilesReviewChangedAction, StateAction};
use innkeeper_protocol::house::state::{ChangesetFile, FileEditSide};

use crate::Engine;
use crate::changesets::{ChangesetChannel, channel_prefix};
use crate::dispatch::{Verdict, not_accepted, reject};

/// What clients may do to a changeset: mark its files.
pub(crate) fn judge_for_changeset(changeset: &ChangesetChannel, action: &StateAction) -> Verdict {
    let StateAction::ChangesetFilesReviewChanged(change) = action else {
        return not_accepted(action, "a changeset");
    };
    let mut files = changeset.state.files.iter();
    let matters = |file: &ChangesetFile| {
        change.files.contains(&file.id) && file.reviewed != Some(change.reviewed)
    };
    match files.any(matters) {
        true => Verdict::Apply(action.clone()),
        false => reject("none of these files is in the changeset, or all are marked so already"),
    }
}

impl Engine {
    /// Marks were set or taken away: they are kept with the session.
    pub(crate) fn files_reviewed(
        &mut self,
        channel: &ChannelUri,
        change: &ChangesetFilesReviewChangedAction,
    ) {
        let Some(changeset) = self.changesets.get(channel) else {
            return;
        };
        let session = changeset.session.clone();
        let files = changeset.state.files.iter();
        let files = files.filter(|file| change.files.contains(&file.id));
        let seen: Vec<(String, String)> = files
            .map(|file| (file.id.clone(), content_of(file)))
            .collect();
        let Some(known) = self.sessions.get_mut(&session) else {
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
        self.touched.insert(session);
        // Whoever marked a file finds it marked, whatever happens.
        self.step.durable_first = true;
    }

    /// Files of a changeset, with their marks. They are all that there are, or
    /// those that changed, beside some that were removed.
    pub(crate) fn with_marks(
        &mut self,
        channel: &ChannelUri,
        mut files: Vec<ChangesetFile>,
        removed: Option<&[String]>,
    ) -> Vec<ChangesetFile> {
        let Some(changeset) = self.changesets.get(channel) else {
            return files;
        };
        let session = changeset.session.clone();
        let Some(known) = self.sessions.get_mut(&session) else {
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
            self.touched.insert(session);
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
