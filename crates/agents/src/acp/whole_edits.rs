//! Edits as changes of whole files. The host shows a file before and after an
//! edit, and many agents tell only the piece that they replace: where that is
//! found once in the file on disk, the rest is taken from there. What cannot be
//! made whole stays a piece, and is marked as one.
//!
//! *Boundary*: nothing is read here. Whoever asks brings the texts.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::Diff;
use innkeeper_protocol::newest::state::FileEdit;

use crate::edits;

/// What files hold now, as far as anybody has looked.
pub(super) type Texts = HashMap<PathBuf, String>;

/// The most edits of one call that are made whole.
const MOST: usize = 32;

/// Where the files on disk stand with regard to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing has been edited yet.
    Before,
    /// Nobody can tell.
    During,
    /// All has been edited.
    After,
}

/// The edits of one call that are known as changes of whole files. What is known
/// once stays known, as files go on changing.
#[derive(Debug, Default)]
pub(super) struct WholeEdits(Vec<Whole>);

#[derive(Debug, Clone, PartialEq)]
struct Whole {
    path: PathBuf,
    /// The piece, as the agent tells of it.
    old: String,
    new: String,
    before: String,
    after: String,
}

impl WholeEdits {
    /// The files whose texts would help to make these edits whole.
    pub(super) fn wanted<'a>(&self, diffs: impl Iterator<Item = &'a Diff>) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for diff in diffs.take(MOST) {
            if piece(diff).is_some() && self.find(diff).is_none() && !paths.contains(&diff.path) {
                paths.push(diff.path.clone());
            }
        }
        paths
    }

    /// Makes whole what can be.
    pub(super) fn learn<'a>(
        &mut self,
        diffs: impl Iterator<Item = &'a Diff>,
        stage: Stage,
        texts: &Texts,
    ) {
        let mut by_file: Vec<(&Path, Vec<(&str, &str)>)> = Vec::new();
        for diff in diffs.take(MOST) {
            let Some(pair) = piece(diff).filter(|_| self.find(diff).is_none()) else {
                continue;
            };
            match by_file.iter_mut().find(|(path, _)| *path == diff.path) {
                Some((_, pairs)) => pairs.push(pair),
                None => by_file.push((&diff.path, vec![pair])),
            }
        }
        for (path, pairs) in by_file {
            let found = self.further(path, &pairs);
            let found = found.unwrap_or_else(|| {
                let text = texts.get(path);
                text.map(|text| made_whole(path, text, &pairs, stage))
                    .unwrap_or_default()
            });
            let room = MOST.saturating_sub(self.0.len());
            self.0.extend(found.into_iter().take(room));
        }
    }

    /// Edits of a file that others are known of: those that come next, or the
    /// same once more, with more or less of the file around them.
    fn further(&self, path: &Path, pairs: &[(&str, &str)]) -> Option<Vec<Whole>> {
        let mut known = self.0.iter().filter(|known| known.path == path);
        let first = known.next()?;
        let last = known.next_back().unwrap_or(first);
        // The next edits of a file begin where those before ended.
        let next = forwards(path, &last.after, pairs);
        if !next.is_empty() {
            return Some(next);
        }
        let again = forwards(path, &first.before, pairs);
        let same = again.last().is_some_and(|end| end.after == last.after);
        Some(if same { again } else { Vec::new() })
    }

    /// The edit as it is shown.
    pub(super) fn shown(&self, diff: &Diff) -> FileEdit {
        match (self.find(diff), piece(diff)) {
            (Some(whole), _) => edits::edit(&diff.path, Some(&whole.before), &whole.after),
            (None, Some((old, new))) => edits::fragment(&diff.path, old, new),
            (None, None) => edits::edit(&diff.path, diff.old_text.as_deref(), &diff.new_text),
        }
    }

    fn find(&self, diff: &Diff) -> Option<&Whole> {
        let (old, new) = piece(diff)?;
        let is_meant =
            |known: &&Whole| known.path == diff.path && known.old == old && known.new == new;
        self.0.iter().find(is_meant)
    }
}

/// What an edit replaces, and with what, where that may be less than the file.
/// What replaces nothing is a new file.
fn piece(diff: &Diff) -> Option<(&str, &str)> {
    let old = diff.old_text.as_deref().filter(|old| !old.is_empty())?;
    Some((old, &diff.new_text))
}

fn made_whole(path: &Path, text: &str, pairs: &[(&str, &str)], stage: Stage) -> Vec<Whole> {
    match stage {
        Stage::Before => forwards(path, text, pairs),
        Stage::After => backwards(path, text, pairs),
        Stage::During => {
            let (to_come, done) = (forwards(path, text, pairs), backwards(path, text, pairs));
            match (to_come.is_empty(), done.is_empty()) {
                (false, true) => to_come,
                (true, false) => done,
                _ => Vec::new(),
            }
        }
    }
}

/// From the text before the first edit. Behind one that is not found, nobody
/// knows what the file is.
fn forwards(path: &Path, text: &str, pairs: &[(&str, &str)]) -> Vec<Whole> {
    let mut text = text.to_owned();
    let mut all = Vec::new();
    for (old, new) in pairs {
        let Some(after) = replaced_once(&text, old, new) else {
            break;
        };
        all.push(Whole::of(path, (old, new), text, after.clone()));
        text = after;
    }
    all
}

/// Likewise from the text after the last.
fn backwards(path: &Path, text: &str, pairs: &[(&str, &str)]) -> Vec<Whole> {
    let mut text = text.to_owned();
    let mut all = Vec::new();
    for (old, new) in pairs.iter().rev() {
        let Some(before) = replaced_once(&text, new, old) else {
            break;
        };
        all.push(Whole::of(path, (old, new), before.clone(), text));
        text = before;
    }
    all.reverse();
    all
}

impl Whole {
    fn of(path: &Path, (old, new): (&str, &str), before: String, after: String) -> Self {
        Self {
            path: path.to_owned(),
            old: old.to_owned(),
            new: new.to_owned(),
            before,
            after,
        }
    }
}

/// The text with another piece, if the piece is in it exactly once.
fn replaced_once(text: &str, piece: &str, with: &str) -> Option<String> {
    let at = text.find(piece).filter(|_| !piece.is_empty())?;
    // Occurrences may overlap: the next one may begin within this one.
    let mut next = at + 1;
    while !text.is_char_boundary(next) {
        next += 1;
    }
    if text[next..].contains(piece) {
        return None;
    }
    let rest = &text[at + piece.len()..];
    Some(format!("{}{with}{rest}", &text[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str) -> Diff {
        Diff::new("/a", new).old_text(old.to_owned())
    }

    /// What is known of edits of a file that holds this.
    fn made(text: &str, diffs: &[Diff], stage: Stage) -> Vec<Option<(String, String)>> {
        let texts = Texts::from([(PathBuf::from("/a"), text.to_owned())]);
        let mut edits = WholeEdits::default();
        edits.learn(diffs.iter(), stage, &texts);
        let known = |diff| {
            let whole = edits.find(diff)?;
            Some((whole.before.clone(), whole.after.clone()))
        };
        diffs.iter().map(known).collect()
    }

    fn whole(before: &str, after: &str) -> Option<(String, String)> {
        Some((before.to_owned(), after.to_owned()))
    }

    #[test]
    fn a_piece_that_is_found_once_is_made_whole() {
        use Stage::{After, Before, During};
        let cases = [
            ("1\n2\n", ("2", "two"), Before, whole("1\n2\n", "1\ntwo\n")),
            ("1\ntwo\n", ("2", "two"), After, whole("1\n2\n", "1\ntwo\n")),
            ("1\n2\n", ("2", "two"), During, whole("1\n2\n", "1\ntwo\n")),
            (
                "1\ntwo\n",
                ("2", "two"),
                During,
                whole("1\n2\n", "1\ntwo\n"),
            ),
            // The whole file.
            ("2", ("2", "two"), Before, whole("2", "two")),
            ("2 2", ("2", "two"), Before, None),
            ("aaa", ("aa", "b"), Before, None),
            ("äää", ("ää", "b"), Before, None),
            ("1", ("2", "two"), Before, None),
            // It could be either.
            ("ab", ("a", "ab"), During, None),
            ("ab", ("a", "ab"), After, whole("a", "ab")),
            // Where something was taken away cannot be seen any more.
            ("1", ("2", ""), After, None),
            ("12", ("2", ""), Before, whole("12", "1")),
        ];
        for (text, (old, new), stage, expected) in cases {
            let found = made(text, &[diff(old, new)], stage);
            assert_eq!(found, [expected], "{text:?} {old:?} {new:?} {stage:?}");
        }
    }

    #[test]
    fn edits_of_one_file_build_on_each_other() {
        let diffs = [diff("1", "one"), diff("2", "two")];
        let expected = [whole("1 2", "one 2"), whole("one 2", "one two")];
        assert_eq!(made("1 2", &diffs, Stage::Before), expected);
        assert_eq!(made("one two", &diffs, Stage::After), expected);
        // Behind one that is not found, the others stay pieces.
        let diffs = [diff("1", "one"), diff("3", "three"), diff("2", "two")];
        let found = made("1 2", &diffs, Stage::Before);
        assert_eq!(found, [whole("1 2", "one 2"), None, None]);
    }

    #[test]
    fn what_is_known_stays_known() {
        let mut edits = WholeEdits::default();
        let first = diff("1", "one");
        let texts = |text: &str| Texts::from([(PathBuf::from("/a"), text.to_owned())]);
        edits.learn([&first].into_iter(), Stage::Before, &texts("1 2"));
        assert!(edits.wanted([&first].into_iter()).is_empty());
        let second = diff("2", "two");
        let both = [&first, &second];
        edits.learn(both.into_iter(), Stage::After, &texts("something else"));
        assert_eq!(edits.find(&second).unwrap().after, "one two");
        assert_eq!(edits.find(&first).unwrap().before, "1 2");
    }

    #[test]
    fn an_edit_that_is_told_again_in_other_words_stays_whole() {
        let text = "a\nb\nc\nd\n";
        let texts = Texts::from([(PathBuf::from("/a"), text.to_owned())]);
        let asked = diff("b\nc", "b\nC");
        let mut edits = WholeEdits::default();
        edits.learn([&asked].into_iter(), Stage::Before, &texts);
        let with_context = diff("a\nb\nc\nd", "a\nb\nC\nd");
        edits.learn([&with_context].into_iter(), Stage::After, &Texts::new());
        let known = edits.find(&with_context).unwrap();
        assert_eq!((&*known.before, &*known.after), (text, "a\nb\nC\nd\n"));
        // What does not lead to the same file is another edit.
        let other = diff("d", "D");
        edits.learn(
            [&diff("a", "A"), &other].into_iter(),
            Stage::After,
            &Texts::new(),
        );
        assert_eq!(edits.find(&other).unwrap().before, "A\nb\nC\nd\n");
        let unknown = diff("c", "x");
        edits.learn([&unknown].into_iter(), Stage::After, &Texts::new());
        assert!(edits.find(&unknown).is_none());
    }

    #[test]
    fn no_more_than_some_edits_are_made_whole() {
        let diffs: Vec<Diff> = (0..100).map(|n| diff(&format!("<{n}>"), "x")).collect();
        let text: String = (0..100).map(|n| format!("<{n}>")).collect();
        let found = made(&text, &diffs, Stage::Before);
        assert_eq!(found.iter().flatten().count(), MOST);
    }
}
