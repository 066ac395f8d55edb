//! Changes of files that agents tell of, with the text before and after in
//! them: the engine keeps that outside the state and refers to it.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use innkeeper_protocol::newest::state::{
    ContentRef, FileEdit, FileEditSide, ToolResultContent, ToolResultFileEditContent,
};
use url::Url;

/// The type of texts that are only a part of a file.
const FRAGMENT: &str = "text/x-fragment";

/// A change of a file; what was not there has no text before.
pub(crate) fn edit(path: &Path, before: Option<&str>, after: &str) -> FileEdit {
    edit_of_type(path, before, after, "text/plain")
}

/// A change of a file of which only the piece is known that is replaced.
pub(crate) fn fragment(path: &Path, before: &str, after: &str) -> FileEdit {
    edit_of_type(path, Some(before), after, FRAGMENT)
}

fn edit_of_type(path: &Path, before: Option<&str>, after: &str, kind: &str) -> FileEdit {
    let uri = match Url::from_file_path(path) {
        Ok(url) => url.to_string(),
        Err(()) => path.display().to_string(),
    };
    let side = |text: &str| FileEditSide {
        uri: uri.clone(),
        content: ContentRef {
            uri: format!("data:{kind};charset=utf-8;base64,{}", STANDARD.encode(text)),
            size_hint: i64::try_from(text.len()).ok(),
            content_type: Some(kind.to_owned()),
            nonce: None,
        },
    };
    FileEdit {
        before: before.map(side),
        after: Some(side(after)),
        diff: None,
    }
}

/// A change as part of what a tool call shows.
pub(crate) fn as_content(edit: FileEdit) -> ToolResultContent {
    let FileEdit {
        before,
        after,
        diff,
    } = edit;
    ToolResultContent::FileEdit(ToolResultFileEditContent {
        before,
        after,
        diff,
    })
}
