//! What searching is, whatever it is stored in: what a word is (`words`), what
//! of a turn is searched (`text`), what fits a query (`query`), and what is shown
//! of that (`hit`).
//!
//! *Invariant*: the index is given words as `words` makes them, and so is the
//! query; so what the index finds and what is marked in a snippet are the same.

pub(crate) mod hit;
pub(crate) mod query;
pub(crate) mod text;
pub(crate) mod usage;
pub(crate) mod words;
