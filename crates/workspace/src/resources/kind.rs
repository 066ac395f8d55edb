//! What a file is: its content type, and a token for its present content.

use std::path::Path;

use cap_std::fs::{Metadata, MetadataExt as _};

/// The content type by the name, or by the content where the name says
/// nothing.
pub(crate) fn content_type(path: &Path, data: Option<&[u8]>) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let known = extension.map(str::to_ascii_lowercase);
    let known = known.as_deref().and_then(by_extension);
    known.unwrap_or(match data {
        Some(data) if std::str::from_utf8(data).is_err() => "application/octet-stream",
        _ => "text/plain",
    })
}

fn by_extension(extension: &str) -> Option<&'static str> {
    Some(match extension {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "ico" => "image/x-icon",
        "bmp" => "image/bmp",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" | "tgz" => "application/gzip",
        "wasm" => "application/wasm",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "ogg" => "audio/ogg",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "json" | "ipynb" => "application/json",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "js" | "mjs" | "cjs" => "text/javascript",
        "md" | "markdown" => "text/markdown",
        "csv" => "text/csv",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        _ => return None,
    })
}

/// Changes whenever the content does: another file by this name, another size,
/// or another time of change.
pub(super) fn etag(metadata: &Metadata) -> String {
    format!(
        "{:x}-{:x}-{:x}.{:x}-{:x}.{:x}",
        metadata.ino(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    )
}
