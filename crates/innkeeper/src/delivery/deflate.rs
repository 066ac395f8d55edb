//! Compressed WebSocket messages, as RFC 7692 has them (`permessage-deflate`).
//!
//! Each message is compressed by itself (`server_no_context_takeover`): that
//! saves less than a window over all that was said, but what is compressed for
//! one client fits all of them, and a connection needs no memory for it.

use std::cell::RefCell;
use std::io::Cursor;

use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;

/// What is shorter stays as it is, as pieces of streamed text do: alone, they
/// hardly become shorter.
pub(super) const WORTH_IT: usize = 512;

/// What takes longer than this is done where nobody waits.
pub(super) const LABORIOUS: usize = 64 * 1024;

/// What a flush ends with, and a message does not.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

thread_local! {
    /// Takes a third of a megabyte, so each thread has one.
    static COMPRESS: RefCell<Compress> =
        RefCell::new(Compress::new(Compression::fast(), false));
}

/// Finished frames, each compressed if it becomes shorter by that.
pub(super) fn deflated(frames: &[u8]) -> Bytes {
    let mut made = Vec::with_capacity(frames.len() / 2);
    let mut rest = frames;
    while !rest.is_empty() {
        let mut cursor = Cursor::new(rest);
        // They were written here a moment ago, so they can be read.
        let Ok(Some((header, length))) = FrameHeader::parse(&mut cursor) else {
            made.extend_from_slice(rest);
            break;
        };
        let begins = cursor.position() as usize;
        let ends = rest.len().min(begins.saturating_add(length as usize));
        let (frame, others) = rest.split_at(ends);
        rest = others;
        let text = &frame[begins..];
        match Some(text)
            .filter(|text| text.len() >= WORTH_IT)
            .and_then(shorter)
        {
            Some(shorter) => {
                let header = FrameHeader {
                    rsv1: true,
                    ..header
                };
                // Writing into memory does not fail.
                let _ = header.format(shorter.len() as u64, &mut made);
                made.extend_from_slice(&shorter);
            }
            None => made.extend_from_slice(frame),
        }
    }
    made.into()
}

/// The same in fewer bytes, if it can be said in fewer.
fn shorter(text: &[u8]) -> Option<Vec<u8>> {
    COMPRESS.with_borrow_mut(|compress| {
        compress.reset();
        let mut made = Vec::with_capacity(text.len() / 3 + 64);
        loop {
            let begun = usize::try_from(compress.total_in()).ok()?;
            let left = text.get(begun..)?;
            let flush = FlushCompress::Sync;
            compress.compress_vec(left, &mut made, flush).ok()?;
            let is_done = usize::try_from(compress.total_in()).ok()? == text.len();
            // With room left, everything is out.
            if is_done && made.len() < made.capacity() {
                break;
            }
            if made.len() >= text.len() {
                return None;
            }
            made.reserve(made.len());
        }
        let length = made.strip_suffix(&TAIL)?.len();
        made.truncate(length);
        (made.len() < text.len()).then_some(made)
    })
}

#[cfg(test)]
mod tests {
    use flate2::{Decompress, FlushDecompress};
    use tokio_tungstenite::tungstenite::protocol::frame::Frame;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

    use super::*;

    fn framed(texts: &[&[u8]]) -> Vec<u8> {
        let mut frames = Vec::new();
        for text in texts {
            let data = text.to_vec();
            let frame = Frame::message(data, OpCode::Data(Data::Text), true);
            frame.format(&mut frames).unwrap();
        }
        frames
    }

    /// What frames say, and whether each of them is compressed.
    fn read(mut frames: &[u8]) -> Vec<(bool, Vec<u8>)> {
        let mut texts = Vec::new();
        while !frames.is_empty() {
            let mut cursor = Cursor::new(frames);
            let (header, length) = FrameHeader::parse(&mut cursor).unwrap().unwrap();
            let (begins, length) = (cursor.position() as usize, length as usize);
            let mut text = frames[begins..begins + length].to_vec();
            if header.rsv1 {
                text.extend(TAIL);
                let mut plain = Vec::with_capacity(16 * 1024 * 1024);
                let mut inflate = Decompress::new(false);
                inflate
                    .decompress_vec(&text, &mut plain, FlushDecompress::Sync)
                    .unwrap();
                text = plain;
            }
            texts.push((header.rsv1, text));
            frames = &frames[begins + length..];
        }
        texts
    }

    #[test]
    fn long_messages_are_compressed_and_short_ones_stay() {
        let long = "one and the same, ".repeat(100_000).into_bytes();
        let frames = framed(&[b"short", &long, b"", &long[..WORTH_IT]]);
        let made = deflated(&frames);
        assert!(made.len() < frames.len() / 50, "{}", made.len());
        assert_eq!(
            read(&made),
            [
                (false, b"short".to_vec()),
                (true, long.clone()),
                (false, Vec::new()),
                (true, long[..WORTH_IT].to_vec()),
            ]
        );
    }

    #[test]
    fn what_does_not_become_shorter_stays_as_it_is() {
        let mut seed = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        })
        .take(100_000)
        .collect();
        let frames = framed(&[&noise]);
        assert_eq!(deflated(&frames), frames);
    }
}
