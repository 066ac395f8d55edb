//! Counting what differs between two texts, as git does.

use imara_diff::{Algorithm, Diff, InternedInput, sources};

/// Larger content is neither counted nor compared, in bytes.
pub const MOST_COUNTED: u64 = 2 * 1024 * 1024;

/// How git tells binary content from text.
pub fn is_binary(data: &[u8]) -> bool {
    data.iter().take(8_000).any(|byte| *byte == 0)
}

/// Lines that were added and removed.
pub fn count(before: &[u8], after: &[u8]) -> (u32, u32) {
    let (_, diff) = diff(before, after);
    (diff.count_additions(), diff.count_removals())
}

/// The difference between two texts, line by line.
pub fn diff<'a>(before: &'a [u8], after: &'a [u8]) -> (InternedInput<&'a [u8]>, Diff) {
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
            ("a\nb\n", "b\na\n", (1, 1)),
            ("a", "a\n", (1, 1)),
        ] {
            assert_eq!(count(before.as_bytes(), after.as_bytes()), expected);
        }
    }
}
