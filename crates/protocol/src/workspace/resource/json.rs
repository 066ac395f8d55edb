//! The answers as JSON, and the content of a write out of it. Both may take
//! milliseconds: they are for the thread that touches the file.

use std::borrow::Cow;

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{ResourceDone, ResourceError, WriteData};
use crate::newest::commands::{ContentEncoding, ResourceListResult};

/// What stands around content: names, quotes, the type.
const AROUND_CONTENT: usize = 256;

/// By how much a text may grow in JSON, besides being twice as long.
const GROWTH: usize = 64 * 1024;

impl ResourceDone {
    /// As the protocol's result. Content is in the encoding that was asked for,
    /// if it has a form in it that is not much larger than itself.
    pub fn into_json(
        self,
        wanted: Option<ContentEncoding>,
    ) -> Result<Box<RawValue>, ResourceError> {
        let json = match self {
            Self::Done => raw(&serde_json::Map::new(), AROUND_CONTENT),
            Self::Entries(entries) => raw(&ResourceListResult { entries }, AROUND_CONTENT),
            Self::Resolved(resolved) => raw(&resolved, AROUND_CONTENT),
            Self::Content { data, content_type } => {
                let content_type = content_type.unwrap_or_default();
                let text = match wanted {
                    Some(ContentEncoding::Base64) => None,
                    Some(ContentEncoding::Utf8) | None => std::str::from_utf8(&data).ok(),
                };
                let text = text.map(|text| (text, escaped_len(text)));
                // Text of nothing but control characters is six times as long
                // in JSON.
                match text.filter(|(_, length)| *length <= 2 * data.len() + GROWTH) {
                    Some((data, length)) => {
                        let encoding = ContentEncoding::Utf8;
                        raw(&content(&data, encoding, &content_type), length)
                    }
                    None => {
                        let length = data.len().div_ceil(3) * 4;
                        let encoding = ContentEncoding::Base64;
                        raw(&content(&Base64(&data), encoding, &content_type), length)
                    }
                }
            }
        };
        json.map_err(|error| {
            ResourceError::Invalid(format!("the answer has no JSON form: {error}"))
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Content<'a, T> {
    data: &'a T,
    encoding: ContentEncoding,
    content_type: &'a str,
}

fn content<'a, T>(data: &'a T, encoding: ContentEncoding, content_type: &'a str) -> Content<'a, T> {
    Content {
        data,
        encoding,
        content_type,
    }
}

/// Bytes that are written as base64, without a copy in between.
struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}

/// How long a text is within a JSON string.
fn escaped_len(text: &str) -> usize {
    let lengths = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..=0x1f => 6,
        _ => 1,
    });
    lengths.sum()
}

/// In about so many bytes.
fn raw(it: &impl Serialize, length: usize) -> Result<Box<RawValue>, serde_json::Error> {
    let mut text = Vec::with_capacity(length + AROUND_CONTENT);
    serde_json::to_writer(&mut text, it)?;
    let text = String::from_utf8(text).map_err(serde::ser::Error::custom)?;
    RawValue::from_string(text)
}

impl WriteData {
    pub fn decoded(&self) -> Result<Cow<'_, [u8]>, ResourceError> {
        match self {
            Self::Plain(data) => Ok(Cow::Borrowed(data)),
            Self::Base64(text) => STANDARD
                .decode(text)
                .map(Cow::Owned)
                .map_err(|error| ResourceError::Invalid(format!("`data` is not base64: {error}"))),
        }
    }

    /// How much was sent.
    pub fn len(&self) -> usize {
        match self {
            Self::Plain(data) => data.len(),
            Self::Base64(text) => text.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use serde_json::{Value, json};

    fn read(data: &[u8], wanted: Option<ContentEncoding>) -> Value {
        let done = ResourceDone::Content {
            data: Bytes::copy_from_slice(data),
            content_type: Some("text/plain".to_owned()),
        };
        serde_json::from_str(done.into_json(wanted).unwrap().get()).unwrap()
    }

    #[test]
    fn content_has_the_encoding_that_was_asked_for_if_it_has_a_form_in_it() {
        let (utf8, base64) = (Some(ContentEncoding::Utf8), Some(ContentEncoding::Base64));
        for (data, wanted, expected, encoding) in [
            (&b"a\n\"\xc3\xa4"[..], None, "a\n\"ä", "utf-8"),
            (b"a", utf8, "a", "utf-8"),
            (b"a", base64, "YQ==", "base64"),
            (b"", base64, "", "base64"),
            (b"", None, "", "utf-8"),
            (b"\xff\x00", utf8, "/wA=", "base64"),
            (b"\x1b[0m", None, "\u{1b}[0m", "utf-8"),
        ] {
            let expected = json!({
                "data": expected, "encoding": encoding, "contentType": "text/plain",
            });
            assert_eq!(read(data, wanted), expected, "{data:?}");
        }
    }

    /// An answer takes about as much memory as the file, whatever is in it.
    #[test]
    fn text_that_is_far_longer_in_json_goes_as_base64() {
        let controls = vec![1; 100_000];
        let read = read(&controls, Some(ContentEncoding::Utf8));
        assert_eq!(read["encoding"], "base64");
    }

    #[test]
    fn the_length_of_an_escaped_text_is_that_of_its_json() {
        let text: String = (0..300_u32).filter_map(char::from_u32).collect();
        let json = serde_json::to_string(&text).unwrap();
        assert_eq!(escaped_len(&text), json.len() - 2);
    }

    #[test]
    fn what_is_written_is_decoded_or_refused() {
        let decoded = |text: &str| {
            let data = WriteData::Base64(text.to_owned());
            data.decoded().map(Cow::into_owned)
        };
        assert_eq!(decoded("YQ==").unwrap(), b"a");
        assert!(matches!(decoded("?"), Err(ResourceError::Invalid(_))));
    }
}
