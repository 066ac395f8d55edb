//! How a text is cut for streaming.
//!
//! *Invariant*: the pieces, put together, are exactly the text; none is cut
//! inside a character, and none is empty unless the text is.

use std::num::NonZeroUsize;

/// Cuts `text` into `chunks` pieces of about the same number of characters (as
/// many as there are characters, if those are fewer), or into its words.
pub(super) fn pieces(text: &str, chunks: Option<NonZeroUsize>) -> Vec<&str> {
    if text.is_empty() {
        return vec![text];
    }
    match chunks {
        Some(chunks) => even(text, chunks.get()),
        None => words(text),
    }
}

fn even(text: &str, chunks: usize) -> Vec<&str> {
    let characters = text.chars().count();
    let chunks = chunks.min(characters);
    let (size, longer) = (characters / chunks, characters % chunks);
    let mut rest = text;
    (0..chunks)
        .map(|index| {
            let (piece, after) = split_at_char(rest, size + usize::from(index < longer));
            rest = after;
            piece
        })
        .collect()
}

fn split_at_char(text: &str, count: usize) -> (&str, &str) {
    let end = text.char_indices().nth(count).map(|(at, _)| at);
    text.split_at(end.unwrap_or(text.len()))
}

/// A word keeps the white space that follows it; leading white space goes
/// with the first word.
fn words(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut seen_word, mut after_space) = (0, false, false);
    for (at, character) in text.char_indices() {
        let space = character.is_whitespace();
        if after_space && !space && seen_word {
            pieces.push(&text[start..at]);
            start = at;
        }
        seen_word |= !space;
        after_space = space;
    }
    pieces.push(&text[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(text: &str, chunks: usize) -> Vec<&str> {
        pieces(text, NonZeroUsize::new(chunks))
    }

    #[test]
    fn by_default_a_piece_is_a_word() {
        assert_eq!(cut("one two\n three ", 0), ["one ", "two\n ", "three "]);
        assert_eq!(cut("  one two", 0), ["  one ", "two"]);
        assert_eq!(cut(" \n", 0), [" \n"]);
    }

    #[test]
    fn pieces_are_of_even_length() {
        assert_eq!(cut("abcdefg", 3), ["abc", "de", "fg"]);
    }

    #[test]
    fn there_are_no_more_pieces_than_characters() {
        assert_eq!(cut("äö", 5), ["ä", "ö"]);
    }

    #[test]
    fn an_empty_text_is_one_empty_piece() {
        assert_eq!(cut("", 0), [""]);
        assert_eq!(cut("", 7), [""]);
    }

    proptest! {
        #[test]
        fn pieces_put_together_are_the_text(text in any::<String>(), chunks in 0usize..40) {
            let pieces = cut(&text, chunks);
            prop_assert_eq!(pieces.concat(), text.as_str());
            prop_assert!(text.is_empty() || pieces.iter().all(|piece| !piece.is_empty()));
        }

        #[test]
        fn there_are_as_many_pieces_as_asked(text in "\\PC{1,60}", chunks in 1usize..80) {
            let expected = chunks.min(text.chars().count());
            prop_assert_eq!(cut(&text, chunks).len(), expected);
        }
    }
}
