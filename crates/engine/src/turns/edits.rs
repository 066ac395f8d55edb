//! The text of edited files. An agent hands it over in the edit itself, as a
//! `data:` URI; it is kept outside the state, and the edit refers to it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::state::{
    FileEditCollection, FileEditDiffStats, FileEditSide, ToolResultContent,
    ToolResultFileEditContent,
};
use innkeeper_protocol::workspace::lines::{count, is_binary};

use super::TurnsMut;

impl TurnsMut<'_> {
    pub(super) fn keep_edits(
        &mut self,
        chat: &ChannelUri,
        mut edits: FileEditCollection,
    ) -> FileEditCollection {
        for edit in &mut edits.items {
            self.keep_edit(chat, &mut edit.before, &mut edit.after, &mut edit.diff);
        }
        edits
    }

    /// Keeps the text of both sides of an edit, and counts what differs.
    pub(super) fn keep_edit(
        &mut self,
        chat: &ChannelUri,
        before: &mut Option<FileEditSide>,
        after: &mut Option<FileEditSide>,
        diff: &mut Option<FileEditDiffStats>,
    ) {
        let texts = [&*before, &*after].map(|side| {
            let side = side.as_ref()?;
            data_of(&side.content.uri).map(|(_, data)| data)
        });
        if diff.is_none() && texts.iter().any(Option::is_some) {
            let [before, after] = &texts;
            *diff = line_counts(before.as_deref(), after.as_deref());
        }
        for side in [before, after].into_iter().flatten() {
            let Some((content_type, data)) = data_of(&side.content.uri) else {
                continue;
            };
            let name = side.uri.trim_end_matches('/').rsplit('/').next();
            let name = name.filter(|name| !name.is_empty()).map(str::to_owned);
            if let Some(kept) =
                self.core
                    .keep_named_content(chat, data, content_type, name.as_deref())
            {
                side.content.uri = kept.uri;
                side.content.size_hint = kept.size_hint;
                side.content.content_type = kept.content_type;
            }
        }
    }
}

/// Longer texts are not counted here, where everybody waits, and the time grows
/// with the square of the lines: the changeset of the turn counts them.
const MOST_COUNTED_BYTES: usize = 256 * 1024;
const MOST_COUNTED_LINES: usize = 4_000;

/// How many lines came and went, as changesets count them.
pub(super) fn line_counts(
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Option<FileEditDiffStats> {
    let sides = [before.unwrap_or_default(), after.unwrap_or_default()];
    let uncounted = |side: &&[u8]| {
        let is_long = |side: &[u8]| {
            let lines = side.iter().filter(|byte| **byte == b'\n').count();
            lines > MOST_COUNTED_LINES
        };
        side.len() > MOST_COUNTED_BYTES || is_binary(side) || is_long(side)
    };
    if sides.iter().any(uncounted) {
        return None;
    }
    let (added, removed) = count(sides[0], sides[1]);
    Some(FileEditDiffStats {
        added: Some(added.into()),
        removed: Some(removed.into()),
    })
}

/// The file that an edit is about.
pub(super) fn edited_file(edit: &ToolResultFileEditContent) -> Option<&str> {
    let side = edit.after.as_ref().or(edit.before.as_ref());
    side.map(|side| side.uri.as_str())
}

/// What is shown, without edits that are shown by another one too: some agents
/// tell that they write a file, and once more what that changed. Only an edit
/// without a text before is certain to be about the whole file.
pub(super) fn without_repeated(mut content: Vec<ToolResultContent>) -> Vec<ToolResultContent> {
    fn edit_of(block: &ToolResultContent) -> Option<&ToolResultFileEditContent> {
        match block {
            ToolResultContent::FileEdit(edit) => Some(edit),
            _ => None,
        }
    }
    let written = |edit: &ToolResultFileEditContent| {
        let after = edit.after.as_ref()?;
        Some((after.uri.clone(), after.content.uri.clone()))
    };
    let mut at = 0;
    while at < content.len() {
        let whole = edit_of(&content[at]).filter(|edit| edit.before.is_none());
        let same = whole.and_then(written).is_some_and(|whole| {
            let others = content.iter().enumerate().filter(|(other, _)| *other != at);
            let mut edits = others.filter_map(|(_, block)| edit_of(block));
            edits.any(|other| written(other).as_ref() == Some(&whole))
        });
        match same {
            true => drop(content.remove(at)),
            false => at += 1,
        }
    }
    content
}

/// The content of a `data:` URI in base64, and its type.
fn data_of(uri: &str) -> Option<(String, Bytes)> {
    let (header, data) = uri.strip_prefix("data:")?.split_once(',')?;
    let header = header.strip_suffix(";base64")?;
    let content_type = header.split(';').next().filter(|kind| !kind.is_empty());
    let data = STANDARD.decode(data).ok()?;
    let content_type = content_type.unwrap_or("text/plain").to_owned();
    Some((content_type, Bytes::from(data)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_data_in_base64_is_taken_out() {
        let (kind, data) = data_of("data:text/plain;charset=utf-8;base64,aGk=").unwrap();
        assert_eq!((kind.as_str(), &data[..]), ("text/plain", &b"hi"[..]));
        for other in ["file:///a", "data:,hi", "data:text/plain;base64,?", ""] {
            assert!(data_of(other).is_none());
        }
    }
}
