//! Counting what differs between two texts, as git does.

use std::ops::Range;

mod comparison;

pub use comparison::{Comparison, Steps};

/// Larger content is neither counted nor compared, in bytes.
pub const MOST_COUNTED: u64 = 2 * 1024 * 1024;

/// How git tells binary content from text.
pub fn is_binary(data: &[u8]) -> bool {
    data.iter().take(8_000).any(|byte| *byte == 0)
}

/// The text `after` with the changes that touch some lines returned to what
/// `before` has there, and how many these are. The lines are counted in
/// `before` or in `after`. Nothing is returned where it is not known what changed:
/// that would be more than these lines.
pub fn returned(
    before: &[u8],
    after: &[u8],
    counted_before: bool,
    range: &Range<u32>,
) -> Option<(Vec<u8>, usize)> {
    let touches = |hunk: &Range<u32>| match hunk.is_empty() {
        // What is missing here is between two lines.
        true => range.start <= hunk.start && hunk.start <= range.end,
        false => hunk.start < range.end && range.start < hunk.end,
    };
    let lines = |text: &'_ [u8]| -> Vec<Vec<u8>> {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    };
    let (old, new) = (lines(before), lines(after));
    let part = |of: &[Vec<u8>], range: Range<u32>| -> Vec<u8> {
        let of = of.get(range.start as usize..range.end as usize);
        of.unwrap_or_default().concat()
    };
    let (mut text, mut at, mut count) = (Vec::new(), 0, 0);
    let comparison = Comparison::new(before, after, Steps::MANY);
    if !comparison.is_exact {
        return None;
    }
    for hunk in comparison.hunks {
        let counted = if counted_before {
            &hunk.before
        } else {
            &hunk.after
        };
        if touches(counted) {
            text.extend(part(&new, at..hunk.after.start));
            text.extend(part(&old, hunk.before.clone()));
            at = hunk.after.end;
            count += 1;
        }
    }
    let end = u32::try_from(new.len()).unwrap_or(u32::MAX);
    text.extend(part(&new, at..end));
    Some((text, count))
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
            let compared = Comparison::new(before.as_bytes(), after.as_bytes(), Steps::FEW);
            assert_eq!((compared.added(), compared.removed()), expected);
        }
    }

    #[test]
    fn changes_that_touch_some_lines_are_returned() {
        let (before, after) = ("a\nb\nc\nd\ne", "a\nB\nc\ne\nf\n");
        for (counted_before, range, expected, count) in [
            (false, 1..2, "a\nb\nc\ne\nf\n", 1),
            (true, 1..2, "a\nb\nc\ne\nf\n", 1),
            (false, 0..1, after, 0),
            (false, 0..9, before, 2),
            (true, 3..4, "a\nB\nc\nd\ne", 1),
        ] {
            let (before, after) = (before.as_bytes(), after.as_bytes());
            let (text, places) = returned(before, after, counted_before, &range).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert_eq!((text.as_str(), places), (expected, count), "{range:?}");
        }
    }
}
