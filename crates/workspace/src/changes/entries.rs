//! Changed files as clients are told of them.

use std::path::{Path, PathBuf};

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::state::{
    ChangesetFile, ContentRef, FileEdit, FileEditDiffStats, FileEditSide,
};
use innkeeper_protocol::workspace::changes::blob_uri;

use super::blobs::Blobs;
use super::git::{GitResult, Repository};
use super::status::Blob;
use super::trees::{Look, TreeChange, compare};
use crate::resources::kind::content_type;
use crate::resources::place::uri_of_path;

/// What files are called.
#[derive(Debug, Clone)]
pub(super) struct Names {
    pub(super) session: ChannelUri,
    /// The session's directory, as its clients call it.
    pub(super) directory: PathBuf,
    /// The same, relative to the working tree.
    pub(super) scope: PathBuf,
}

impl Names {
    pub(super) fn uri_of(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.scope).unwrap_or(path);
        uri_of_path(&self.directory.join(below)).unwrap_or_default()
    }

    /// The path of a URI, relative to the working tree, if it is in scope.
    pub(super) fn path_of(&self, uri: &str) -> Option<PathBuf> {
        let path = crate::resources::place::path_of_uri(uri).ok()?;
        let below = path.strip_prefix(&self.directory).ok()?;
        Some(self.scope.join(below))
    }
}

/// One side of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) path: PathBuf,
    pub(super) content: Content,
    pub(super) size: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// As git keeps it.
    Kept(Blob),
    /// The file as it is, and what changes when it does.
    Present(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) before: Option<Side>,
    pub(super) after: Option<Side>,
    pub(super) lines: Option<(u32, u32)>,
    pub(super) binary: bool,
}

impl Change {
    pub(super) fn told(&self, names: &Names) -> ChangesetFile {
        let side = |side: &Side| {
            let uri = names.uri_of(&side.path);
            let (content, nonce) = match &side.content {
                Content::Kept(blob) => {
                    let name = side.path.file_name().unwrap_or_default();
                    let name = name.to_string_lossy();
                    (blob_uri(&names.session, &blob.id, &name), None)
                }
                Content::Present(stamp) => (uri.clone(), Some(stamp.clone())),
            };
            FileEditSide {
                uri,
                content: ContentRef {
                    uri: content,
                    size_hint: side.size.and_then(|size| i64::try_from(size).ok()),
                    content_type: Some(content_type(&side.path, None).to_owned()),
                    nonce,
                },
            }
        };
        let (before, after) = (
            self.before.as_ref().map(side),
            self.after.as_ref().map(side),
        );
        let named = after.as_ref().or(before.as_ref());
        let binary = ("binary".to_owned(), true.into());
        ChangesetFile {
            id: named.map(|side| side.uri.clone()).unwrap_or_default(),
            edit: FileEdit {
                before,
                after,
                diff: self.lines.map(|(added, removed)| FileEditDiffStats {
                    added: Some(added.into()),
                    removed: Some(removed.into()),
                }),
            },
            reviewed: None,
            meta: self.binary.then(|| [binary].into_iter().collect()),
        }
    }
}

/// What differs between two kept states.
pub(super) fn between(
    repository: &Repository,
    blobs: &mut Blobs,
    names: &Names,
    (before, after): (&str, &str),
) -> GitResult<Vec<ChangesetFile>> {
    let changes = compare(repository, before, after, Look::Closely)?;
    changes
        .into_iter()
        .map(|change| {
            let TreeChange {
                before,
                after,
                lines,
            } = change;
            let mut side = |side: Option<(PathBuf, Blob)>| {
                let Some((path, blob)) = side else {
                    return Ok(None);
                };
                let size = blobs.size(&blob.id)?;
                let content = Content::Kept(blob);
                GitResult::Ok(Some(Side {
                    path,
                    content,
                    size,
                }))
            };
            let change = Change {
                before: side(before)?,
                after: side(after)?,
                lines,
                binary: lines.is_none(),
            };
            Ok(change.told(names))
        })
        .collect()
}
