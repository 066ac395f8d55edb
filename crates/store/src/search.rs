//! What searching is, whatever it is stored in: what a word is (`words`), what
//! of a turn is searched (`text`), and what fits a query (`query`).
//!
//! *Invariant*: the index is given words as `words` makes them, and so is the
//! query; so what the index finds and what is marked in a snippet are the same.

pub(crate) mod query;
pub(crate) mod text;
pub(crate) mod usage;
pub(crate) mod words;

/// The last place up to `at` where a text can be cut.
fn cut_before(text: &str, at: usize) -> usize {
    let mut places = (0..=at.min(text.len())).rev();
    places.find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
