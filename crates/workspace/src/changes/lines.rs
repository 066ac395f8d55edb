//! How alike two texts are.

use innkeeper_protocol::workspace::lines::diff;
pub(super) use innkeeper_protocol::workspace::lines::{MOST_COUNTED, count, is_binary};

/// How much of the larger one is the smaller one, from 0 to 1.
pub(super) fn similarity(before: &[u8], after: &[u8]) -> f64 {
    if before == after {
        return 1.0;
    }
    let (input, diff) = diff(before, after);
    let most = input.before.len().max(input.after.len());
    let kept = input.before.len() - diff.count_removals() as usize;
    match most {
        0 => 0.0,
        most => kept as f64 / most as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_as_alike_as_the_lines_that_they_share() {
        assert!(similarity(b"a\nb\nc\nd\n", b"a\nb\nc\nx\n") > 0.7);
        assert!(similarity(b"a\n", b"b\n") < 0.1);
    }
}
