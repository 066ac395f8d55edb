//! A query: what it looks for, whether it fits, and what is shown of what fits.

use std::fmt::Write as _;
use std::ops::Range;

use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::record::search::{SearchField, SearchFilter, Snippet};

use super::text::Searchable;
use super::words::{Word, words};

/// How many words a query has at most; the others are ignored.
const MOST_WORDS: usize = 32;

/// How many bytes a snippet has about, and how many of them before its first
/// mark.
const SNIPPET: usize = 200;
const BEFORE_MARK: usize = 50;

/// Words that stand next to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    words: Vec<String>,
    /// The last of them may be the beginning of a word.
    is_open: bool,
}

/// What somebody looks for, as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Terms {
    terms: Vec<Term>,
    fields: Vec<SearchField>,
}

impl Terms {
    /// Reads what somebody typed. Nothing in it is syntax but quotation marks,
    /// and those need not be closed.
    pub(crate) fn read(text: &str, fields: &[SearchField]) -> Self {
        let mut terms = Vec::new();
        let mut left = MOST_WORDS;
        let mut add = |piece: &str, is_open: bool| {
            let words: Vec<String> = words(piece).map(|it| it.folded).take(left).collect();
            left -= words.len();
            if !words.is_empty() {
                terms.push(Term { words, is_open });
            }
        };
        for (place, piece) in text.split('"').enumerate() {
            if place % 2 == 1 {
                add(piece, false);
            } else {
                piece.split_whitespace().for_each(|word| add(word, false));
            }
        }
        // Somebody is still typing it.
        let ends_in_word = text.ends_with(char::is_alphanumeric);
        if let Some(last) = terms.last_mut().filter(|_| ends_in_word) {
            // Too much begins with one letter.
            last.is_open = last.words.last().is_some_and(|word| word.len() > 1);
        }
        let fields = fields.to_vec();
        Self { terms, fields }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.terms.is_empty() || self.fields.is_empty()
    }

    /// The query in the words of SQLite's index. Only letters and digits of
    /// what was typed get there, each word in quotation marks.
    pub(crate) fn expression(&self) -> String {
        let mut columns = String::new();
        for field in &self.fields {
            let _ = write!(columns, "{} ", column(*field));
        }
        let mut terms = String::new();
        for term in &self.terms {
            let and = if terms.is_empty() { "" } else { " AND " };
            let open = if term.is_open { " *" } else { "" };
            let _ = write!(terms, "{and}\"{}\"{open}", term.words.join(" "));
        }
        format!("{{{columns}}} : ({terms})")
    }

    /// The same for PostgreSQL, whose words begin with the letter of their
    /// field. It does not say that the words of a phrase stand next to each
    /// other, as the database does not know that of long texts.
    #[cfg(feature = "postgres")]
    pub(crate) fn tsquery(&self) -> String {
        let of_field = |term: &Term, field: SearchField| {
            let last = term.words.len() - 1;
            let words = term.words.iter().enumerate().map(|(place, word)| {
                let open = if term.is_open && place == last {
                    ":*"
                } else {
                    ""
                };
                format!("'{}{word}'{open}", letter(field))
            });
            format!("({})", words.collect::<Vec<_>>().join(" & "))
        };
        let of_term = |term: &Term| {
            let fields = self.fields.iter().map(|field| of_field(term, *field));
            format!("({})", fields.collect::<Vec<_>>().join(" | "))
        };
        let terms: Vec<String> = self.terms.iter().map(of_term).collect();
        terms.join(" & ")
    }

    /// What is shown of something in which all of it stands, and how well it
    /// fits: nothing, if something is missing.
    pub(crate) fn find_in(&self, searchable: &Searchable) -> Option<Found> {
        let mut found = vec![false; self.terms.len()];
        let mut best: Option<(usize, SearchField, Vec<Place>)> = None;
        let mut score = 0.0;
        for &field in &self.fields {
            let all: Vec<Word> = words(searchable.get(field)).collect();
            let places = self.places(&all);
            let mut here = vec![0_u32; self.terms.len()];
            for place in &places {
                here[place.term] += 1;
                found[place.term] = true;
            }
            let distinct = here.iter().filter(|count| **count > 0).count();
            let often: f64 = here.iter().map(|count| f64::from(*count).sqrt()).sum();
            score += often * weight(field) / (1.0 + all.len() as f64).ln_1p();
            if distinct > 0 && best.as_ref().is_none_or(|(most, ..)| distinct > *most) {
                best = Some((distinct, field, places));
            }
        }
        let (_, field, places) = best.filter(|_| found.iter().all(|found| *found))?;
        let snippet = snippet(searchable.get(field), &places);
        Some(Found {
            field,
            snippet,
            score,
        })
    }

    /// Where the terms stand, in order.
    fn places(&self, all: &[Word]) -> Vec<Place> {
        let mut places = Vec::new();
        for start in 0..all.len() {
            for (number, term) in self.terms.iter().enumerate() {
                if let Some(end) = term.end_at(all, start) {
                    let at = all[start].at.start..all[end].at.end;
                    places.push(Place { term: number, at });
                }
            }
        }
        places
    }
}

/// How a query fits something.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub(crate) field: SearchField,
    pub(crate) snippet: Snippet,
    pub(crate) score: f64,
}

#[derive(Debug)]
struct Place {
    term: usize,
    at: Range<usize>,
}

impl Term {
    /// The last word of the term, if it stands here.
    fn end_at(&self, all: &[Word], start: usize) -> Option<usize> {
        let end = start + self.words.len() - 1;
        let here = all.get(start..=end)?;
        let last = self.words.len() - 1;
        let fits = |(place, (word, here)): (usize, (&String, &Word))| match self.is_open {
            true if place == last => here.folded.starts_with(word.as_str()),
            _ => here.folded == *word,
        };
        let mut pairs = self.words.iter().zip(here).enumerate();
        pairs.all(fits).then_some(end)
    }
}

/// How much it counts where something stands.
pub(crate) const fn weight(field: SearchField) -> f64 {
    match field {
        SearchField::Title => 10.0,
        SearchField::Message => 4.0,
        SearchField::Answer => 2.0,
        SearchField::Tool => 1.0,
        SearchField::Reasoning => 0.5,
    }
}

pub(crate) const fn column(field: SearchField) -> &'static str {
    match field {
        SearchField::Title => "title",
        SearchField::Message => "message",
        SearchField::Answer => "answer",
        SearchField::Tool => "tool",
        SearchField::Reasoning => "reasoning",
    }
}

/// What stands before the words of a field in PostgreSQL's index.
#[cfg(feature = "postgres")]
pub(crate) const fn letter(field: SearchField) -> char {
    match field {
        SearchField::Title => 't',
        SearchField::Message => 'm',
        SearchField::Answer => 'a',
        SearchField::Tool => 'o',
        SearchField::Reasoning => 'r',
    }
}

/// The piece of a text in which most of the terms stand.
fn snippet(text: &str, places: &[Place]) -> Snippet {
    let reach = |first: &Place| first.at.start + (SNIPPET - BEFORE_MARK);
    let in_reach = |place: usize| {
        let first = &places[place];
        let within = places[place..].iter();
        within.take_while(move |it| it.at.end <= reach(first) || it.at == first.at)
    };
    let terms_from = |place: usize| {
        let mut terms: Vec<usize> = in_reach(place).map(|it| it.term).collect();
        terms.sort_unstable();
        terms.dedup();
        terms.len()
    };
    // Of equals the first; looking at a few is enough.
    let looked_at = places.len().min(100);
    let best = (0..looked_at).rev().max_by_key(|place| terms_from(*place));
    let Some(best) = best else {
        return Snippet::default();
    };
    let first = &places[best].at;
    let start = word_start(text, first.start.saturating_sub(BEFORE_MARK), first.start);
    let end = cut(text, (start + SNIPPET).max(first.end)).len();
    let mut shown = Shown::default();
    if start > 0 {
        shown.push('…');
    }
    let mut marks = Vec::new();
    let mut at = start;
    for place in in_reach(best) {
        // Terms may stand in the same place.
        if place.at.start < at || place.at.end > end {
            continue;
        }
        shown.push_all(&text[at..place.at.start]);
        let begins = shown.units;
        shown.push_all(&text[place.at.clone()]);
        marks.push((begins, shown.units));
        at = place.at.end;
    }
    shown.push_all(&text[at..end]);
    if end < text.len() {
        shown.push('…');
    }
    Snippet {
        text: shown.text,
        marks,
    }
}

/// Where a word begins between the two, if one does.
fn word_start(text: &str, from: usize, to: usize) -> usize {
    if from == 0 {
        return 0;
    }
    let from = (from..to).find(|at| text.is_char_boundary(*at));
    let from = from.unwrap_or(to);
    let gap = text[from..to]
        .char_indices()
        .find(|(_, c)| c.is_whitespace());
    gap.map_or(from, |(at, c)| from + at + c.len_utf8())
}

/// Text on one line, and how long it is in UTF-16.
#[derive(Default)]
struct Shown {
    text: String,
    units: usize,
}

impl Shown {
    fn push(&mut self, c: char) {
        let c = if c.is_control() || c.is_whitespace() {
            ' '
        } else {
            c
        };
        self.text.push(c);
        self.units += c.len_utf16();
    }

    fn push_all(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(c));
    }
}

/// Whether a session with this directory is looked into.
pub(crate) fn is_within(filter: &SearchFilter, directories: Option<&[String]>) -> bool {
    let Some(wanted) = filter.directory.as_deref() else {
        return true;
    };
    let wanted = wanted.trim_end_matches('/');
    let mut directories = directories.unwrap_or_default().iter();
    directories.any(|directory| {
        let below = directory.strip_prefix(wanted);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Terms {
        Terms::read(text, &SearchField::ALL)
    }

    fn said(message: &str) -> Searchable {
        Searchable {
            message: message.into(),
            ..Searchable::default()
        }
    }

    fn fits(query: &str, message: &str) -> bool {
        terms(query).find_in(&said(message)).is_some()
    }

    #[test]
    fn all_words_have_to_be_there_in_any_order_and_the_last_may_be_a_beginning() {
        for (query, message, is_found) in [
            ("two one", "One, two", true),
            ("two three", "One, two", false),
            ("one tw", "one two", true),
            ("tw one", "one two", false),
            ("one tw ", "one two", false),
            ("one t", "one two", false),
            ("\"one two\"", "so one two", true),
            ("\"one two\"", "two one", false),
            ("\"one tw", "one two", true),
            ("\"one tw\"", "one two", false),
            ("src/main.rs", "see src/main.rs", true),
            ("src/main.rs", "main.rs in src", false),
            ("屋の", "宿屋の主人", true),
            ("creme", "Crème", true),
            ("* OR \"\" NEAR(", "near or", true),
        ] {
            assert_eq!(fits(query, message), is_found, "{query} in {message}");
        }
    }

    #[test]
    fn a_query_without_a_word_looks_for_nothing() {
        for text in ["", " ", "\"", "\"\"", "***", "\0", "-()"] {
            assert!(terms(text).is_empty(), "{text}");
        }
        assert!(Terms::read("word", &[]).is_empty());
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn in_postgres_each_word_has_its_field_and_nothing_typed_is_syntax() {
        let fields = [SearchField::Message, SearchField::Tool];
        let query = |text| Terms::read(text, &fields).tsquery();
        assert_eq!(query("door "), "(('mdoor') | ('odoor'))");
        assert_eq!(
            query("a' & !src/doo"),
            "(('ma') | ('oa')) & (('msrc' & 'mdoo':*) | ('osrc' & 'odoo':*))"
        );
    }

    #[test]
    fn only_letters_and_digits_get_into_the_index_s_own_language() {
        let expression = Terms::read(
            "a\" OR title:x* -b ^NEAR(é, 5) c' \u{0} --",
            &[SearchField::Title, SearchField::Tool],
        );
        assert_eq!(
            expression.expression(),
            "{title tool } : (\"a\" AND \"or title x b near e 5 c\")"
        );
    }

    #[test]
    fn a_query_has_so_many_words_at_most() {
        let many = terms(&"w ".repeat(10_000));
        assert_eq!(many.terms.len(), MOST_WORDS);
    }

    fn marked(query: &str, message: &str) -> String {
        let found = terms(query).find_in(&said(message)).unwrap();
        let units: Vec<u16> = found.snippet.text.encode_utf16().collect();
        let mut shown = String::new();
        let mut at = 0;
        for (from, to) in found.snippet.marks {
            shown += &String::from_utf16(&units[at..from]).unwrap();
            shown += &format!("[{}]", String::from_utf16(&units[from..to]).unwrap());
            at = to;
        }
        shown + &String::from_utf16(&units[at..]).unwrap()
    }

    #[test]
    fn a_snippet_marks_what_was_looked_for() {
        assert_eq!(marked("two", "One\nTwo\tthree"), "One [Two] three");
        assert_eq!(
            marked("inn \"the cat\"", "🛌 the Cat inn"),
            "🛌 [the Cat] [inn]"
        );
        assert_eq!(marked("屋", "宿屋"), "宿[屋]");
        assert_eq!(marked("on one", "one on"), "[one] [on]");
        let long = format!(
            "{} needle here {}",
            "hay ".repeat(100),
            "straw ".repeat(100)
        );
        let shown = marked("needle", &long);
        assert!(shown.starts_with("…hay ") && shown.contains(" [needle] here straw"));
        assert!(
            shown.ends_with('…') && shown.len() < SNIPPET + 20,
            "{shown}"
        );
    }

    #[test]
    fn a_snippet_is_where_most_of_the_words_stand() {
        let far = "hay ".repeat(100);
        let shown = marked("red blue", &format!("red {far} red blue {far}"));
        assert!(shown.contains("[red] [blue]"), "{shown}");
    }

    #[test]
    fn a_snippet_is_of_the_field_in_which_most_words_stand() {
        let searchable = Searchable {
            message: "red".into(),
            answer: "blue red".into(),
            ..Searchable::default()
        };
        let found = terms("red blue").find_in(&searchable).unwrap();
        assert_eq!(found.field, SearchField::Answer);
        let only = Terms::read("red blue", &[SearchField::Message]);
        assert_eq!(only.find_in(&searchable), None);
    }

    #[test]
    fn a_directory_is_one_of_the_session_or_above_it() {
        let within = |wanted: &str| {
            let filter = SearchFilter {
                directory: Some(wanted.into()),
                ..SearchFilter::default()
            };
            is_within(&filter, Some(&["file:///srv/inn".to_owned()]))
        };
        for (wanted, is_found) in [
            ("file:///srv/inn", true),
            ("file:///srv/inn/", true),
            ("file:///srv", true),
            ("file:///srv/in", false),
            ("file:///srv/inn/keeper", false),
        ] {
            assert_eq!(within(wanted), is_found, "{wanted}");
        }
    }
}
