//! Where lines are that somebody wrote about, after their file has changed. A
//! function of the lines as they were and the file as it is.

use std::collections::HashMap;

use innkeeper_protocol::bounds;
use innkeeper_protocol::newest::common::JsonObject;
use serde_json::{Value, json};

/// The largest file in which lines are looked for.
pub(super) const MOST_FILE_BYTES: usize = 1024 * 1024;
/// How many lines are remembered of those that an annotation is about.
const MOST_LINES: usize = 20;
/// How many lines are remembered on either side of them.
const CONTEXT: usize = 3;
/// How much is remembered of a line.
const MOST_LINE_BYTES: usize = 200;
/// At how many places the lines are looked for. So many lines that say the same
/// say little.
const MOST_PLACES: usize = 200;

/// The lines that an annotation is about, as they were when they were seen last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Anchor {
    pub(super) lines: Vec<String>,
    pub(super) before: Vec<String>,
    pub(super) after: Vec<String>,
    pub(super) lost: bool,
}

impl Anchor {
    /// What is in these lines of a text, the last one included; nothing if the
    /// text does not have them.
    pub(super) fn of(text: &Text<'_>, first: usize, last: usize) -> Option<Self> {
        let all = &text.lines;
        if first >= all.len() || last < first {
            return None;
        }
        let end = (last + 1).min(all.len()).min(first + MOST_LINES);
        let owned = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Some(Self {
            lines: owned(&all[first..end]),
            before: owned(&all[first.saturating_sub(CONTEXT)..first]),
            after: owned(&all[end..(end + CONTEXT).min(all.len())]),
            lost: false,
        })
    }

    /// Where the lines begin now: in the place whose surroundings are most like
    /// what they were, and of several such places in the nearest. Nothing if the
    /// lines are nowhere.
    pub(super) fn find(&self, text: &Text<'_>, was_at: usize) -> Option<usize> {
        let all = &text.lines;
        // Lines that say nothing are everywhere: only the surroundings tell.
        let is_blank = self.lines.iter().all(|line| line.trim().is_empty());
        let places = text.places.get(self.lines.first()?.as_str())?;
        let has_all = |at: &usize| {
            let there = all[*at..].iter();
            *at + self.lines.len() <= all.len()
                && self
                    .lines
                    .iter()
                    .zip(there)
                    .all(|(one, other)| one == other)
        };
        near(places, was_at)
            .filter(has_all)
            .map(|at| (self.likeness(all, at), at))
            .filter(|(likeness, _)| !is_blank || *likeness > 0)
            .max_by_key(|(likeness, at)| (*likeness, std::cmp::Reverse((at.abs_diff(was_at), *at))))
            .map(|(_, at)| at)
    }

    /// How many of the lines around a place are those that were there.
    fn likeness(&self, all: &[&str], at: usize) -> usize {
        let before = self.before.iter().rev().zip(all[..at].iter().rev());
        let after = self.after.iter().zip(&all[at + self.lines.len()..]);
        let same = |(one, other): &(&String, &&str)| one.as_str() == **other;
        before.take_while(same).count() + after.take_while(same).count()
    }

    /// As it is kept with an annotation.
    pub(super) fn read(meta: Option<&JsonObject>) -> Option<Self> {
        let kept = meta?.get("innkeeper")?;
        let lines = |name: &str| -> Vec<String> {
            let lines = kept[name].as_array().into_iter().flatten();
            let lines = lines.filter_map(Value::as_str).take(MOST_LINES);
            lines.map(|line| cut(line).to_owned()).collect()
        };
        let anchor = kept["anchor"].as_str()?;
        Some(Self {
            lines: lines("lines"),
            before: lines("before"),
            after: lines("after"),
            lost: anchor == "lost",
        })
    }

    /// Puts it into the `_meta` of an annotation. What else is there stays.
    pub(super) fn write(&self, meta: Option<&JsonObject>) -> JsonObject {
        let mut meta = meta.cloned().unwrap_or_default();
        let of_host = meta.entry("innkeeper").or_insert_with(|| json!({}));
        if !of_host.is_object() {
            *of_host = json!({});
        }
        of_host["anchor"] = json!(if self.lost { "lost" } else { "found" });
        of_host["lines"] = json!(self.lines);
        of_host["before"] = json!(self.before);
        of_host["after"] = json!(self.after);
        meta
    }
}

/// A text in which many anchors are looked for: what each line says, as much as
/// is remembered, and where it says that. (A text that ends with a line break has
/// an empty last line for editors, which nobody writes about.)
#[derive(Debug)]
pub(super) struct Text<'a> {
    lines: Vec<&'a str>,
    /// In order.
    places: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Text<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let lines: Vec<&str> = text.lines().map(cut).collect();
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            places.entry(line).or_default().push(at);
        }
        Self { lines, places }
    }
}

/// The places around one, as many as are looked at.
fn near(places: &[usize], place: usize) -> impl Iterator<Item = usize> {
    let at = places.partition_point(|it| *it < place);
    let first = at.saturating_sub(MOST_PLACES / 2);
    places[first..].iter().take(MOST_PLACES).copied()
}

/// As much of a line as is remembered.
fn cut(line: &str) -> &str {
    bounds::cut(line, MOST_LINE_BYTES)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(lines: &[String]) -> String {
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Lines that occur once each.
    fn numbered(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("line {number}")).collect()
    }

    proptest! {
        #[test]
        fn lines_are_found_wherever_others_are_put_around_them(
            count in 1usize..60, first in 0usize..60, height in 0usize..8,
            above in 0usize..80, below in 0usize..80,
        ) {
            let lines = numbered(count);
            let first = first % count;
            let last = (first + height).min(count - 1);
            let anchor = Anchor::of(&Text::of(&text(&lines)), first, last).unwrap();
            let mut now: Vec<String> = (0..above).map(|n| format!("above {n}")).collect();
            now.extend(lines);
            now.extend((0..below).map(|n| format!("below {n}")));
            prop_assert_eq!(anchor.find(&Text::of(&text(&now)), first), Some(first + above));
        }

        #[test]
        fn lines_that_were_removed_are_lost(
            count in 1usize..60, first in 0usize..60, height in 0usize..8,
        ) {
            let mut lines = numbered(count);
            let first = first % count;
            let last = (first + height).min(count - 1);
            let anchor = Anchor::of(&Text::of(&text(&lines)), first, last).unwrap();
            lines.drain(first..=last);
            prop_assert_eq!(anchor.find(&Text::of(&text(&lines)), first), None);
        }

        #[test]
        fn an_unchanged_file_moves_nothing(
            lines in prop::collection::vec("[ab ]{0,2}", 1..40), first in 0usize..40,
        ) {
            let first = first % lines.len();
            prop_assume!(!lines[first].trim().is_empty());
            let anchor = Anchor::of(&Text::of(&text(&lines)), first, first).unwrap();
            prop_assert_eq!(anchor.find(&Text::of(&text(&lines)), first), Some(first));
        }

        #[test]
        fn whatever_the_texts_are_a_place_that_is_found_has_the_lines(
            one in "(\\PC{0,6}\n){0,12}", other in "(\\PC{0,6}\n){0,12}",
            first in 0usize..12, height in 0usize..3, was_at in 0usize..20,
        ) {
            if let Some(anchor) = Anchor::of(&Text::of(&one), first, first + height)
                && let Some(at) = anchor.find(&Text::of(&other), was_at)
            {
                let again = Anchor::of(&Text::of(&other), at, at + anchor.lines.len() - 1).unwrap();
                prop_assert_eq!(again.lines, anchor.lines);
            }
        }
    }

    #[test]
    fn of_equal_lines_those_with_the_same_surroundings_are_meant() {
        let then = "fn a() {\n  go();\n}\nfn b() {\n  go();\n}\n";
        let anchor = Anchor::of(&Text::of(then), 4, 4).unwrap();
        let now = "fn b() {\n  go();\n}\nfn a() {\n  go();\n}\n";
        assert_eq!(anchor.find(&Text::of(now), 4), Some(1));
    }

    #[test]
    fn among_many_equal_lines_the_nearest_are_looked_at() {
        let lines = vec!["go();".to_owned(); 10_000];
        let anchor = Anchor::of(&Text::of(&text(&lines)), 7_000, 7_001).unwrap();
        assert_eq!(anchor.find(&Text::of(&text(&lines)), 7_000), Some(7_000));
    }

    #[test]
    fn a_blank_line_is_found_by_its_surroundings_only() {
        let anchor = Anchor::of(&Text::of("a\n\nb\n"), 1, 1).unwrap();
        assert_eq!(anchor.find(&Text::of("x\na\n\nb\n"), 1), Some(2));
        assert_eq!(anchor.find(&Text::of("x\n\ny\n"), 1), None);
    }

    #[test]
    fn what_else_stands_in_the_meta_of_an_annotation_stays() {
        let anchor = Anchor::of(&Text::of("a\nb\n"), 0, 0).unwrap();
        let meta = json!({"other": 1, "innkeeper": {"color": "red"}});
        let meta = anchor.write(meta.as_object());
        assert_eq!(meta["other"], 1);
        assert_eq!(meta["innkeeper"]["color"], "red");
        assert_eq!(Anchor::read(Some(&meta)), Some(anchor));
    }
}
