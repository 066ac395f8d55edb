//! What fuzzers reach of git: what it says, without git.

use super::{blobs, checkpoint, status, trees};

pub(crate) fn read(said: &[u8]) {
    status::parse(said);
    for path in checkpoint::modules_in(said) {
        assert!(!path.contains(&0));
    }
    for change in trees::parse(said).into_iter().flatten() {
        change.path();
    }
    let text = String::from_utf8_lossy(said);
    let mut sum = trees::parse_counts(&text);
    sum += trees::parse_counts(&text);
    for line in text.lines() {
        let _ = blobs::size_in(line);
    }
}
