//! Counting what differs between two texts.

use imara_diff::{Algorithm, Diff, InternedInput, sources};

/// Larger content is neither counted nor compared.
pub(super) const MOST_COUNTED: u64 = 2 * 1024 * 1024;

/// How git tells binary content from text.
pub(super) fn is_binary(data: &[u8]) -> bool {
    data.iter().take(8_000).any(|byte| *byte == 0)
}

/// Lines that were added and removed.
pub(super) fn count(before: &[u8], after: &[u8]) -> (u32, u32) {
    let (_, diff) = diff(before, after);
    (diff.count_additions(), diff.count_removals())
}

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

fn diff<'a>(before: &'a [u8], after: &'a [u8]) -> (InternedInput<&'a [u8]>, Diff) {
    let input = InternedInput::new(sources::byte_lines(before), sources::byte_lines(after));
    let diff = Diff::compute(Algorithm::Histogram, &input);
    (input, diff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_as_git_counts_them() {
        for (before, after, expected) in [
            ("", "a\nb\n", (2, 0)),
            ("a\nb\n", "", (0, 2)),
            ("a\nb\nc\n", "a\nB\nc\nd\n", (2, 1)),
            ("a", "a\n", (1, 1)),
        ] {
            assert_eq!(count(before.as_bytes(), after.as_bytes()), expected);
        }
        assert!(similarity(b"a\nb\nc\nd\n", b"a\nb\nc\nx\n") > 0.7);
        assert!(similarity(b"a\n", b"b\n") < 0.1);
    }
}
