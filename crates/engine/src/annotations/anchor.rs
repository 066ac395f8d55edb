//! Where lines are that somebody wrote about, after their file has changed. A
//! function of the lines as they were and the file as it is.

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
/// In how many places the lines may stand before nobody looks further.
const MOST_PLACES: usize = 1_000;

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
    pub(super) fn of(text: &str, first: usize, last: usize) -> Option<Self> {
        let all: Vec<&str> = lines_of(text);
        if first >= all.len() || last < first {
            return None;
        }
        let end = (last + 1).min(all.len()).min(first + MOST_LINES);
        let owned = |lines: &[&str]| lines.iter().map(|line| cut(line).to_owned()).collect();
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
    pub(super) fn find(&self, text: &str, was_at: usize) -> Option<usize> {
        let all: Vec<&str> = lines_of(text).into_iter().map(cut).collect();
        let count = self.lines.len();
        if count == 0 || count > all.len() {
            return None;
        }
        // Lines that say nothing are everywhere: only the surroundings tell.
        let is_blank = self.lines.iter().all(|line| line.trim().is_empty());
        let places = (0..=all.len() - count).filter(|&at| {
            self.lines
                .iter()
                .zip(&all[at..])
                .all(|(one, other)| one == other)
        });
        places
            .take(MOST_PLACES)
            .map(|at| (self.likeness(&all, at), at))
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

/// The lines of a text as editors count them: a text that ends with a line break
/// has an empty last line, which nobody writes about.
fn lines_of(text: &str) -> Vec<&str> {
    text.lines().collect()
}

fn cut(line: &str) -> &str {
    let end = (0..=MOST_LINE_BYTES.min(line.len())).rev();
    let end = end.into_iter().find(|at| line.is_char_boundary(*at));
    &line[..end.unwrap_or(0)]
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
            let anchor = Anchor::of(&text(&lines), first, last).unwrap();
            let mut now: Vec<String> = (0..above).map(|n| format!("above {n}")).collect();
            now.extend(lines);
            now.extend((0..below).map(|n| format!("below {n}")));
            prop_assert_eq!(anchor.find(&text(&now), first), Some(first + above));
        }

        #[test]
        fn lines_that_were_removed_are_lost(
            count in 1usize..60, first in 0usize..60, height in 0usize..8,
        ) {
            let mut lines = numbered(count);
            let first = first % count;
            let last = (first + height).min(count - 1);
            let anchor = Anchor::of(&text(&lines), first, last).unwrap();
            lines.drain(first..=last);
            prop_assert_eq!(anchor.find(&text(&lines), first), None);
        }

        #[test]
        fn an_unchanged_file_moves_nothing(
            lines in prop::collection::vec("[ab ]{0,2}", 1..40), first in 0usize..40,
        ) {
            let first = first % lines.len();
            prop_assume!(!lines[first].trim().is_empty());
            let anchor = Anchor::of(&text(&lines), first, first).unwrap();
            prop_assert_eq!(anchor.find(&text(&lines), first), Some(first));
        }

        #[test]
        fn whatever_the_texts_are_a_place_that_is_found_has_the_lines(
            one in "(\\PC{0,6}\n){0,12}", other in "(\\PC{0,6}\n){0,12}",
            first in 0usize..12, height in 0usize..3, was_at in 0usize..20,
        ) {
            if let Some(anchor) = Anchor::of(&one, first, first + height)
                && let Some(at) = anchor.find(&other, was_at)
            {
                let again = Anchor::of(&other, at, at + anchor.lines.len() - 1).unwrap();
                prop_assert_eq!(again.lines, anchor.lines);
            }
        }
    }

    #[test]
    fn of_equal_lines_those_with_the_same_surroundings_are_meant() {
        let then = "fn a() {\n  go();\n}\nfn b() {\n  go();\n}\n";
        let anchor = Anchor::of(then, 4, 4).unwrap();
        let now = "fn b() {\n  go();\n}\nfn a() {\n  go();\n}\n";
        assert_eq!(anchor.find(now, 4), Some(1));
    }

    #[test]
    fn a_blank_line_is_found_by_its_surroundings_only() {
        let anchor = Anchor::of("a\n\nb\n", 1, 1).unwrap();
        assert_eq!(anchor.find("x\na\n\nb\n", 1), Some(2));
        assert_eq!(anchor.find("x\n\ny\n", 1), None);
    }

    #[test]
    fn what_else_stands_in_the_meta_of_an_annotation_stays() {
        let anchor = Anchor::of("a\nb\n", 0, 0).unwrap();
        let meta = json!({"other": 1, "innkeeper": {"color": "red"}});
        let meta = anchor.write(meta.as_object());
        assert_eq!(meta["other"], 1);
        assert_eq!(meta["innkeeper"]["color"], "red");
        assert_eq!(Anchor::read(Some(&meta)), Some(anchor));
    }
}
