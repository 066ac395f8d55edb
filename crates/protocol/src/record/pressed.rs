//! JSON that takes little room while nobody looks at it.
//!
//! Most of what is kept of a session that nobody opened lately is the same in
//! all of them: names of fields, labels, schemas of settings. So it is
//! compressed with a dictionary that holds those.
//!
//! *Invariant*: a dictionary that was released is never edited, as stored texts
//! can be read only with the one that they were written with. Another one gets
//! another form.

use std::fmt;
use std::sync::Arc;

use lz4_flex::block::{compress_with_dict, decompress_with_dict};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// What stands in most texts. A text that is in no session's state by now does
/// no harm here.
const DICTIONARY_1: &[u8] = include_bytes!("pressed/dictionary_1.txt");

/// The first byte says how the rest is written.
const PLAIN: u8 = 0;
const WITH_DICTIONARY_1: u8 = 1;

/// The form, and the length of the text.
const HEAD: usize = 1 + size_of::<u32>();

/// Shorter texts are not worth it.
const SHORT: usize = 64;

/// Longer ones are read in pieces elsewhere, and few.
const LONG: usize = 1024 * 1024;

/// No byte of this compression stands for more than so many of the text.
const MOST_EACH: usize = 256;

/// A text, pressed if that makes it shorter.
#[derive(Clone, PartialEq, Eq)]
pub struct Pressed(Arc<[u8]>);

/// It is no text, or not in a form that this release knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is spoilt, or was written by a later release")]
pub struct Spoilt;

impl Pressed {
    /// A text that is pressed if that is worth it.
    pub fn of(text: &str) -> Self {
        if (SHORT..=LONG).contains(&text.len()) {
            let pressed = compress_with_dict(text.as_bytes(), DICTIONARY_1);
            if pressed.len() + HEAD < text.len() {
                let mut bytes = Vec::with_capacity(HEAD + pressed.len());
                bytes.push(WITH_DICTIONARY_1);
                bytes.extend((text.len() as u32).to_le_bytes());
                bytes.extend(pressed);
                return Self(bytes.into());
            }
        }
        Self::plain(text)
    }

    /// A text as it is.
    pub fn plain(text: &str) -> Self {
        let mut bytes = Vec::with_capacity(1 + text.len());
        bytes.push(PLAIN);
        bytes.extend(text.as_bytes());
        Self(bytes.into())
    }

    /// What [`Self::stored`] gave.
    pub fn from_stored(stored: Stored<'_>) -> Self {
        match stored {
            Stored::Text(text) => Self::plain(text),
            Stored::Bytes(bytes) => Self(bytes.into()),
        }
    }

    /// As it is stored: pressed, or as the text that it is.
    pub fn stored(&self) -> Stored<'_> {
        match self.0.split_first() {
            Some((&PLAIN, text)) => match str::from_utf8(text) {
                Ok(text) => Stored::Text(text),
                Err(_) => Stored::Bytes(&self.0),
            },
            _ => Stored::Bytes(&self.0),
        }
    }

    pub fn text(&self) -> Result<String, Spoilt> {
        text(self.stored())
    }
}

/// How a text is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// The text of something that is stored.
pub fn text(stored: Stored<'_>) -> Result<String, Spoilt> {
    let bytes = match stored {
        Stored::Text(text) => return Ok(text.to_owned()),
        Stored::Bytes(bytes) => bytes,
    };
    let (&form, rest) = bytes.split_first().ok_or(Spoilt)?;
    if form != WITH_DICTIONARY_1 {
        return Err(Spoilt);
    }
    let (length, pressed) = rest.split_first_chunk().ok_or(Spoilt)?;
    let length = u32::from_le_bytes(*length) as usize;
    // What is spoilt must not make us reserve whatever it says.
    if length > LONG || length > MOST_EACH * pressed.len() {
        return Err(Spoilt);
    }
    let text = decompress_with_dict(pressed, length, DICTIONARY_1).map_err(|_| Spoilt)?;
    match text.len() == length {
        true => String::from_utf8(text).map_err(|_| Spoilt),
        false => Err(Spoilt),
    }
}

/// As the JSON that it is.
impl Serialize for Pressed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.text().map_err(serde::ser::Error::custom)?;
        let json = RawValue::from_string(text).map_err(serde::ser::Error::custom)?;
        json.serialize(serializer)
    }
}

impl fmt::Debug for Pressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Ok(text) => f.write_str(&text),
            Err(error) => write!(f, "({error})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = r#"{"provider":"claude","title":"New session","status":33,"project":{"uri":"file:///srv/a","displayName":"a"},"workingDirectories":["file:///srv/a"],"resource":"ahp-session:/1","createdAt":"2026-01-01T00:00:00.000Z","modifiedAt":"2026-01-01T00:00:00.000Z"}"#;

    #[test]
    fn a_text_comes_back_as_it_was() {
        let long = "äöü \u{1F600} ".repeat(200_000);
        for text in ["", "{}", SUMMARY, &SUMMARY.repeat(30), &long] {
            assert_eq!(Pressed::of(text).text().as_deref(), Ok(text));
            let pressed = Pressed::of(text);
            assert_eq!(Pressed::from_stored(pressed.stored()), pressed);
            assert_eq!(Pressed::plain(text).text().as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_row_of_the_catalogue_takes_less_than_half_its_room() {
        let pressed = Pressed::of(SUMMARY);
        let Stored::Bytes(bytes) = pressed.stored() else {
            panic!("it is not pressed");
        };
        assert!(2 * bytes.len() < SUMMARY.len(), "{}", bytes.len());
    }

    #[test]
    fn what_is_spoilt_is_refused() {
        let whole = Pressed::of(SUMMARY);
        let Stored::Bytes(whole) = whole.stored() else {
            panic!("it is not pressed");
        };
        for end in 0..whole.len() {
            assert_eq!(text(Stored::Bytes(&whole[..end])), Err(Spoilt), "{end}");
        }
        for place in 0..whole.len() {
            let mut other = whole.to_vec();
            other[place] ^= 0xff;
            // Some of it is another text; none is a panic or very long.
            if let Ok(text) = text(Stored::Bytes(&other)) {
                assert!(text.len() < LONG);
            }
        }
        let huge = [&[WITH_DICTIONARY_1][..], &u32::MAX.to_le_bytes(), b"x"].concat();
        assert_eq!(text(Stored::Bytes(&huge)), Err(Spoilt));
    }
}
