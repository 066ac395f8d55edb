//! Comparisons of ordinary and of hostile texts.

use super::*;

fn text(lines: impl IntoIterator<Item = String>) -> Vec<u8> {
    lines.into_iter().collect::<String>().into_bytes()
}

/// The new text, made of the old one by what was found to differ.
fn applied(before: &[u8], after: &[u8], comparison: &Comparison) -> Vec<u8> {
    let lines = |of: &'_ [u8]| -> Vec<Vec<u8>> {
        let lines = of.split_inclusive(|byte| *byte == b'\n');
        lines.map(<[u8]>::to_vec).collect()
    };
    let (old, new) = (lines(before), lines(after));
    let (mut made, mut at) = (Vec::new(), 0);
    for hunk in &comparison.hunks {
        let (start, end) = (hunk.before.start as usize, hunk.before.end as usize);
        assert!(at == 0 || at < start, "an equal line between two hunks");
        made.extend(old[at..start].concat());
        made.extend(new[hunk.after.start as usize..hunk.after.end as usize].concat());
        at = end;
    }
    made.extend(old[at..].concat());
    made
}

/// Numbers that look as if by chance, the same every time.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |last| {
        Some(last.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1))
    })
    .map(|number| number >> 33)
}

/// Texts that are made to keep a comparison busy.
fn hostile(lines: usize) -> Vec<(&'static str, Vec<u8>, Vec<u8>)> {
    let letter = |number: u64| format!("{}\n", if number.is_multiple_of(2) { "a" } else { "b" });
    let alternating = text((0..lines as u64).map(letter));
    let shuffled = text(numbers(7).take(lines).map(letter));
    // The last common line is the only one that occurs once, again and again:
    // the library divides the texts there and calls itself.
    let nested = (1..lines).flat_map(|at| [format!("t{at}\n"), format!("t{}\n", at - 1)]);
    let spaced = (1..lines).flat_map(|at| [format!("t{at}\n"), format!("u{at}\n")]);
    let often = |seed| {
        let line = |number: u64| format!("t{}\n", number % (lines as u64 / 60));
        text(numbers(seed).take(lines).map(line))
    };
    let backwards = (0..lines).rev().map(|at| format!("t{at}\n"));
    let forwards = (0..lines).map(|at| format!("t{at}\n"));
    vec![
        ("two lines, shuffled", alternating, shuffled),
        ("nested", text(nested), text(spaced)),
        ("many lines, each often", often(3), often(4)),
        ("backwards", text(forwards), text(backwards)),
        (
            "empty lines",
            vec![b'\n'; lines],
            [b"a\n".repeat(9), vec![b'\n'; 9]].concat(),
        ),
    ]
}

#[test]
fn hostile_texts_take_no_more_steps_than_allowed_and_are_still_told_rightly() {
    for (name, before, after) in [hostile(60_000), hostile(LONGEST)].concat() {
        for steps in [Steps(0), Steps(1_000), Steps::FEW, Steps::MANY] {
            let compared = Comparison::new(&before, &after, steps);
            let made = applied(&before, &after, &compared);
            assert!(made == after, "{name} in {steps:?}");
            let Work {
                steps: taken,
                longest,
            } = compared.work;
            assert!(taken <= steps.0, "{name}: {taken} steps in {steps:?}");
            assert!(longest <= LONGEST, "{name}: {longest} lines at once");
        }
    }
}

#[test]
fn the_bound_is_reached_where_texts_are_hostile() {
    let most = |steps| {
        let taken = hostile(LONGEST).into_iter();
        let taken = taken.map(|(_, before, after)| Comparison::new(&before, &after, steps).work);
        taken.map(|work| work.steps).max()
    };
    // Otherwise these texts would show nothing about it.
    assert!(most(Steps::FEW) > Some(Steps::FEW.0 / 2));
}

#[test]
fn what_cannot_be_afforded_counts_as_replaced() {
    let (_, before, after) = hostile(60_000).swap_remove(0);
    let compared = Comparison::new(&before, &after, Steps::MANY);
    assert!(!compared.is_exact);
    // But for what is equal at both ends.
    assert_eq!(compared.hunks.len(), 1);
    assert!(compared.removed() > 59_000, "{}", compared.removed());
}

#[test]
fn a_long_text_with_few_changes_is_compared_exactly() {
    let lines = 200_000;
    let before = text((0..lines).map(|at| format!("line {at}\n")));
    let change = |at: usize| match at % 1_000 {
        0 => format!("changed {at}\n"),
        1 => format!("line {at}\nnew {at}\n"),
        _ => format!("line {at}\n"),
    };
    let after = text((0..lines).map(change));
    let compared = Comparison::new(&before, &after, Steps::FEW);
    assert!(compared.is_exact);
    assert_eq!((compared.added(), compared.removed()), (400, 200));
}

#[test]
fn a_text_with_repeated_lines_is_divided_at_those_that_are_not() {
    // Half of the lines are braces; a function in a hundred is different.
    let function = |at: usize, body: &str| format!("fn f{at}() {{\n{body}\n}}\n\n");
    let before = text((0..20_000).map(|at| function(at, "same")));
    let after = text((0..20_000).map(|at| {
        let body = if at % 100 == 0 { "other" } else { "same" };
        function(at, body)
    }));
    let compared = Comparison::new(&before, &after, Steps::FEW);
    assert!(compared.is_exact);
    assert_eq!((compared.added(), compared.removed()), (200, 200));
}

#[test]
fn short_texts_are_compared_as_the_library_compares_them() {
    for seed in 0..500 {
        let side = |seed, lines| {
            let line = |number: u64| format!("{}\n", number % 12);
            text(numbers(seed).take(lines).map(line))
        };
        let (before, after) = (side(seed, 30), side(seed * 7 + 1, 25));
        let compared = Comparison::new(&before, &after, Steps::FEW);
        let input = InternedInput::new(
            sources::byte_lines(&before[..]),
            sources::byte_lines(&after[..]),
        );
        let expected = Diff::compute(Algorithm::Histogram, &input);
        let expected: Vec<Hunk> = expected.hunks().collect();
        assert_eq!(compared.hunks, expected, "seed {seed}");
        assert!(applied(&before, &after, &compared) == after, "seed {seed}");
    }
}

#[test]
fn texts_are_as_alike_as_the_lines_that_they_share() {
    for (before, after, expected) in [
        ("a\nb\nc\nd\n", "a\nb\nc\nx\n", 0.75),
        ("a\n", "b\n", 0.0),
        ("a\n", "a\nb\n", 0.5),
        ("", "", 1.0),
    ] {
        let compared = Comparison::new(before.as_bytes(), after.as_bytes(), Steps::FEW);
        assert!((compared.likeness() - expected).abs() < 0.01, "{before:?}");
    }
}
