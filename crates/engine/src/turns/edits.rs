//! The text of edited files. An agent hands it over in the edit itself, as a
//! `data:` URI; it is kept outside the state, and the edit refers to it.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::state::{FileEditCollection, FileEditDiffStats, FileEditSide};

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

/// How many lines came and went, seen as bags of lines.
pub(super) fn line_counts(
    before: Option<&[u8]>,
    after: Option<&[u8]>,
) -> Option<FileEditDiffStats> {
    let lines = |content: Option<&[u8]>| -> Option<Vec<String>> {
        let text = std::str::from_utf8(content.unwrap_or_default()).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    };
    let (before, after) = (lines(before)?, lines(after)?);
    let mut counts = HashMap::<&str, i64>::new();
    for line in &after {
        *counts.entry(line).or_default() += 1;
    }
    for line in &before {
        *counts.entry(line).or_default() -= 1;
    }
    let added = counts.values().filter(|count| **count > 0).sum();
    let removed: i64 = counts.values().filter(|count| **count < 0).sum();
    Some(FileEditDiffStats {
        added: Some(added),
        removed: Some(-removed),
    })
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
