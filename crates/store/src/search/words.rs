//! Words of a text, as they are compared: in lower case and without accents.
//! What is neither a letter nor a digit separates them. In scripts that write
//! no spaces, each character is a word, so that a phrase finds any part.

use std::ops::Range;

/// A word of more characters is data rather than a word, and nobody finds it.
const MOST_CHARS: usize = 64;

/// The letters without their accents, from U+00C0 and from U+1E00 on; `.` where
/// there is none.
const LATIN: &str = "\
aaaaaa.ceeeeiiii.nooooo.ouuuuy..aaaaaa.ceeeeiiii.nooooo.ouuuuy.y\
aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiii..jjkk.llllll..\
llnnnnnn...oooooo..rrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzz.";
const LATIN_ADDITIONAL: &str = "\
aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm\
mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv\
wwwwwwwwwwxxxxyyzzzzzzhtwy......aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee\
eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyy......";

/// A word, and where it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) at: Range<usize>,
    pub(crate) folded: String,
}

/// The words of a text, in order.
pub(crate) fn words(text: &str) -> Words<'_> {
    Words {
        text,
        chars: text.char_indices().peekable(),
    }
}

pub(crate) struct Words<'a> {
    text: &'a str,
    chars: std::iter::Peekable<std::str::CharIndices<'a>>,
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        loop {
            let (start, first) = self.chars.find(|(_, c)| c.is_alphanumeric())?;
            let mut folded = String::new();
            fold(first, &mut folded);
            if stands_alone(first) {
                let at = start..start + first.len_utf8();
                return Some(Word { at, folded });
            }
            let (mut end, mut count) = (start + first.len_utf8(), 1);
            while let Some((at, c)) = self.chars.next_if(|(_, c)| continues(*c)) {
                end = at + c.len_utf8();
                count += 1;
                if count <= MOST_CHARS {
                    fold(c, &mut folded);
                }
            }
            debug_assert!(self.text.is_char_boundary(end));
            if count <= MOST_CHARS {
                let at = start..end;
                return Some(Word { at, folded });
            }
        }
    }
}

fn continues(c: char) -> bool {
    (c.is_alphanumeric() && !stands_alone(c)) || is_accent(c)
}

/// Accents that stand behind their letter.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// Hiragana, Katakana and Han.
fn stands_alone(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

fn fold(c: char, into: &mut String) {
    if is_accent(c) {
        return;
    }
    let code = c as usize;
    let plain = match code {
        0x00..=0x7f => Some(c.to_ascii_lowercase()),
        0xc0..0x180 => plain(LATIN, code - 0xc0),
        0x1e00..0x1f00 => plain(LATIN_ADDITIONAL, code - 0x1e00),
        _ => None,
    };
    match plain {
        Some(plain) => into.push(plain),
        None => into.extend(c.to_lowercase().filter(|c| !is_accent(*c))),
    }
}

fn plain(table: &str, place: usize) -> Option<char> {
    let byte = *table.as_bytes().get(place)?;
    (byte != b'.').then_some(char::from(byte))
}

/// The words, with a space between them: what the index is given.
pub(crate) fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in words(text) {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(&word.folded);
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_compared_without_case_accents_and_punctuation() {
        for (text, words) in [
            ("Hello, World!", "hello world"),
            ("load_session(src/main.rs)", "load session src main rs"),
            ("Crème BRÛLÉE — naïve", "creme brulee naive"),
            ("cre\u{300}me", "creme"),
            ("Łódź Ørsted Nguyễn", "lodz orsted nguyen"),
            ("Straße ÄÖÜ", "straße aou"),
            ("İstanbul", "istanbul"),
            ("宿屋の主人 2", "宿 屋 の 主 人 2"),
            ("abc宿x", "abc 宿 x"),
            ("Привет ΣΊΓΜΑ", "привет σίγμα"),
            ("\" OR * NEAR(a) -b col:c ^d", "or near a b col c d"),
            ("\0\u{1b}[31m", "31m"),
            ("", ""),
        ] {
            assert_eq!(folded(text), words, "{text}");
        }
    }

    #[test]
    fn the_tables_have_a_letter_for_every_code() {
        assert_eq!(LATIN.len(), 0x180 - 0xc0);
        assert_eq!(LATIN_ADDITIONAL.len(), 0x100);
    }

    #[test]
    fn data_is_not_a_word() {
        let most = "x".repeat(MOST_CHARS);
        assert_eq!(folded(&format!("a {most}x b")), "a b");
        assert_eq!(folded(&most), most);
    }

    #[test]
    fn a_word_says_where_it_stands() {
        let text = "¿Qué? 宿é";
        let found: Vec<_> = words(text).map(|word| &text[word.at]).collect();
        assert_eq!(found, ["Qué", "宿", "é"]);
    }
}
