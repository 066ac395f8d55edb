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
use innkeeper_protocol::workspace::lines::{Comparison, Steps, is_binary};

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

/// Longer texts are not counted here, where everybody waits, nor are those whose
/// comparison takes too many steps: the changeset of the turn counts them.
const MOST_COUNTED_BYTES: usize = 256 * 1024;

/// How many lines came and went, as changesets count them.
pub(super) fn line_counts(
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Option<FileEditDiffStats> {
    let sides = [before.unwrap_or_default(), after.unwrap_or_default()];
    let uncounted = |side: &&[u8]| side.len() > MOST_COUNTED_BYTES || is_binary(side);
    if sides.iter().any(uncounted) {
        return None;
    }
    let compared = Comparison::new(sides[0], sides[1], Steps::FEW);
    compared.is_exact.then(|| FileEditDiffStats {
        added: Some(compared.added().into()),
        removed: Some(compared.removed().into()),
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

    #[test]
    fn lines_are_counted_unless_that_takes_too_long() {
        let numbered = |lines: std::ops::Range<u32>| -> String {
            lines.map(|number| format!("{number}\n")).collect()
        };
        let flags = |every: u32| -> String {
            let flag = |number| if number % every == 0 { "a\n" } else { "b\n" };
            (0..10_000).map(flag).collect()
        };
        let long = "x".repeat(MOST_COUNTED_BYTES + 1);
        for (name, before, after, counted) in [
            ("new", String::new(), numbered(0..20_000), Some((20_000, 0))),
            (
                "both ends of a long one",
                numbered(1..20_000),
                numbered(0..19_000),
                Some((1, 1_000)),
            ),
            ("too long", String::new(), long, None),
            ("binary", "a\n".to_owned(), "\0".to_owned(), None),
            (
                "the same two lines again and again",
                flags(2),
                flags(3),
                None,
            ),
        ] {
            let stats = line_counts(Some(before.as_bytes()), Some(after.as_bytes()));
            let stats = stats.map(|stats| (stats.added.unwrap(), stats.removed.unwrap()));
            assert_eq!(stats, counted, "{name}");
        }
    }
}
