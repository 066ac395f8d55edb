//! Compression of WebSocket messages (RFC 7692, `permessage-deflate`): whether a
//! client offers it, and reading what it then sends.
//!
//! Compressed messages are inflated on their way from the socket to tungstenite,
//! which does not know of them: it sees the same message in plain fragments, and
//! its limits hold for what the message says, not for what was sent.

use std::io::{self, Cursor};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::http::{HeaderMap, header};
use bytes::{Buf as _, Bytes, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};
use tokio::io::{AsyncRead, ReadBuf};
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use super::socket::READ_BYTES;

/// How much of a message is inflated at once.
const PIECE: usize = 16 * 1024;

/// What compressed messages end with, and leave out.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

/// The header of a frame that is masked.
const LONGEST_HEADER: usize = 14;

/// The bit in the first byte of a frame that says that it is compressed.
const RSV1: u8 = 0x40;

/// Both sides compress each message by itself.
const AGREED: &str = "permessage-deflate; server_no_context_takeover; client_no_context_takeover";
const AGREED_WITH_WINDOW: &str = "permessage-deflate; server_no_context_takeover; \
                                  client_no_context_takeover; server_max_window_bits=15";

/// The answer to a client that offers compression in a way that suits.
pub(crate) fn agreed(headers: &HeaderMap) -> Option<&'static str> {
    let values = headers.get_all(header::SEC_WEBSOCKET_EXTENSIONS).iter();
    let mut offers = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    offers.find_map(taken)
}

fn taken(offer: &str) -> Option<&'static str> {
    let mut parts = offer.split(';').map(str::trim);
    if parts.next() != Some("permessage-deflate") {
        return None;
    }
    let mut seen = Vec::new();
    let mut agreed = AGREED;
    for part in parts {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim_end(), Some(value.trim().trim_matches('"'))),
            None => (part, None),
        };
        if seen.contains(&name) {
            return None;
        }
        seen.push(name);
        match (name, value) {
            ("server_no_context_takeover" | "client_no_context_takeover", None)
            | ("client_max_window_bits", None) => {}
            ("client_max_window_bits", Some(bits)) if is_window(bits) => {}
            // There is only the largest window to compress with.
            ("server_max_window_bits", Some("15")) => agreed = AGREED_WITH_WINDOW,
            _ => return None,
        }
    }
    Some(agreed)
}

fn is_window(bits: &str) -> bool {
    ["8", "9", "10", "11", "12", "13", "14", "15"].contains(&bits)
}

/// A message says that it is compressed, and is something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message is not compressed as it says")]
pub(super) struct NotDeflated;

/// What tungstenite reads from: the socket, or what comes from it inflated.
pub(super) struct Inflating<R> {
    io: R,
    frames: Option<Frames>,
}

impl<R> Inflating<R> {
    pub(super) fn plain(io: R) -> Self {
        Self { io, frames: None }
    }

    /// `begun` is what was read already; a frame may have so many bytes.
    pub(super) fn new(io: R, begun: &Bytes, most: usize) -> Self {
        let frames = Frames {
            arrived: BytesMut::from(&begun[..]),
            ready: BytesMut::new(),
            within: Within::Header,
            message: None,
            most: most as u64,
        };
        Self {
            io,
            frames: Some(frames),
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Inflating<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { io, frames } = &mut *self;
        let mut io = Pin::new(io);
        let Some(frames) = frames else {
            return io.poll_read(context, buffer);
        };
        loop {
            if !frames.ready.is_empty() {
                let length = frames.ready.len().min(buffer.remaining());
                buffer.put_slice(&frames.ready.split_to(length));
                return Poll::Ready(Ok(()));
            }
            if frames.translate()? {
                continue;
            }
            let mut read = [0; READ_BYTES];
            let mut read = ReadBuf::new(&mut read);
            ready!(io.as_mut().poll_read(context, &mut read))?;
            if read.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            frames.arrived.extend_from_slice(read.filled());
        }
    }
}

/// Frames as they come, and as they are passed on.
struct Frames {
    arrived: BytesMut,
    ready: BytesMut,
    within: Within,
    /// The compressed message that the frames are of.
    message: Option<Message>,
    most: u64,
}

/// What comes next.
#[derive(Debug, Clone, Copy)]
enum Within {
    Header,
    /// So much of a frame that is passed on as it is.
    Plain(u64),
    /// So much of a frame that is inflated.
    Deflated {
        left: u64,
        mask: [u8; 4],
        is_final: bool,
    },
}

struct Message {
    inflate: Decompress,
    /// What is not inflated yet.
    input: BytesMut,
    /// There may be more to come of what was inflated.
    is_full: bool,
    /// Its last frame was read, and the tail that it left out.
    is_over: bool,
}

impl Message {
    fn new() -> Self {
        Self {
            inflate: Decompress::new(false),
            input: BytesMut::new(),
            is_full: false,
            is_over: false,
        }
    }

    /// The next piece of what it says, which may be empty.
    fn piece(&mut self) -> io::Result<Vec<u8>> {
        let mut made = Vec::with_capacity(PIECE);
        let before = self.inflate.total_in();
        let flush = FlushDecompress::Sync;
        let inflated = self.inflate.decompress_vec(&self.input, &mut made, flush);
        let status = inflated.map_err(|_| io::Error::other(NotDeflated))?;
        let consumed = usize::try_from(self.inflate.total_in() - before);
        let consumed = consumed.map_or(self.input.len(), |it| it.min(self.input.len()));
        self.input.advance(consumed);
        self.is_full = made.len() == made.capacity();
        match status {
            // A message may consist of several streams.
            Status::StreamEnd => {
                self.inflate.reset(false);
                self.is_full = false;
            }
            Status::Ok | Status::BufError => {
                let is_stuck = consumed == 0 && made.is_empty() && !self.input.is_empty();
                if is_stuck {
                    return Err(io::Error::other(NotDeflated));
                }
            }
        }
        Ok(made)
    }
}

impl Frames {
    /// Goes on with what has arrived. Says whether there is more to do.
    fn translate(&mut self) -> io::Result<bool> {
        if let Some(message) = &mut self.message
            && (message.is_full || !message.input.is_empty())
        {
            let piece = message.piece()?;
            if !piece.is_empty() {
                self.pass_on(OpCode::Data(Data::Continue), false, &piece);
            }
            return Ok(true);
        }
        match self.within {
            Within::Header => self.header(),
            Within::Plain(0) => {
                self.within = Within::Header;
                Ok(true)
            }
            Within::Plain(left) => {
                let part = self.arrive(left);
                self.within = Within::Plain(left - part.len() as u64);
                self.ready = part;
                Ok(!self.ready.is_empty())
            }
            Within::Deflated {
                left: 0, is_final, ..
            } => {
                self.frame_ends(is_final);
                Ok(true)
            }
            Within::Deflated {
                left,
                mut mask,
                is_final,
            } => {
                let mut part = self.arrive(left);
                for (byte, mask) in part.iter_mut().zip(mask.iter().cycle()) {
                    *byte ^= mask;
                }
                let turned = part.len() % mask.len();
                mask.rotate_left(turned);
                let left = left - part.len() as u64;
                self.within = Within::Deflated {
                    left,
                    mask,
                    is_final,
                };
                let is_more = !part.is_empty();
                if let Some(message) = &mut self.message {
                    message.input = part;
                }
                Ok(is_more)
            }
        }
    }

    fn header(&mut self) -> io::Result<bool> {
        let mut cursor = Cursor::new(&self.arrived[..]);
        let parsed = FrameHeader::parse(&mut cursor);
        let length = cursor.position() as usize;
        let parsed = parsed.map_err(|_| io::Error::other(NotDeflated))?;
        let Some((header, left)) = parsed else {
            return Ok(false);
        };
        let begins = matches!(header.opcode, OpCode::Data(Data::Text | Data::Binary));
        let begins = begins && header.rsv1 && self.message.is_none();
        let goes_on =
            header.opcode == OpCode::Data(Data::Continue) && !header.rsv1 && self.message.is_some();
        let mask = header.mask.filter(|_| {
            let is_known = !header.rsv2 && !header.rsv3;
            (begins || goes_on) && is_known && left <= self.most
        });
        let Some(mask) = mask else {
            // Plain, or something that tungstenite refuses. What is too long
            // is refused for its length.
            let mut header_bytes = self.arrived.split_to(length);
            if left > self.most {
                header_bytes[0] &= !RSV1;
            }
            self.ready = header_bytes;
            self.within = Within::Plain(left);
            return Ok(true);
        };
        self.arrived.advance(length);
        self.within = Within::Deflated {
            left,
            mask,
            is_final: header.is_final,
        };
        if begins {
            self.message = Some(Message::new());
            self.pass_on(header.opcode, false, &[]);
        }
        Ok(true)
    }

    /// Of a frame, what is there.
    fn arrive(&mut self, left: u64) -> BytesMut {
        let there = self.arrived.len();
        let part = usize::try_from(left).map_or(there, |left| left.min(there));
        self.arrived.split_to(part)
    }

    fn frame_ends(&mut self, is_final: bool) {
        let Some(message) = self.message.as_mut().filter(|_| is_final) else {
            self.within = Within::Header;
            return;
        };
        if !message.is_over {
            message.is_over = true;
            message.input = BytesMut::from(&TAIL[..]);
            return;
        }
        self.within = Within::Header;
        self.message = None;
        self.pass_on(OpCode::Data(Data::Continue), true, &[]);
    }

    /// A fragment for tungstenite. Clients mask what they send, with zeros here.
    fn pass_on(&mut self, opcode: OpCode, is_final: bool, text: &[u8]) {
        let header = FrameHeader {
            is_final,
            opcode,
            mask: Some([0; 4]),
            ..FrameHeader::default()
        };
        let mut bytes = Vec::with_capacity(LONGEST_HEADER + text.len());
        // Writing into memory does not fail.
        let _ = header.format(text.len() as u64, &mut bytes);
        bytes.extend_from_slice(text);
        self.ready.extend_from_slice(&bytes);
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};
    use futures_util::StreamExt as _;
    use tokio::io::AsyncWriteExt as _;
    use tokio_tungstenite::WebSocketStream;
    use tokio_tungstenite::tungstenite::protocol::frame::coding::Control;
    use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
    use tokio_tungstenite::tungstenite::{Error, Message};

    use super::*;

    const MOST: usize = 100_000;
    const TEXT: OpCode = OpCode::Data(Data::Text);
    const MORE: OpCode = OpCode::Data(Data::Continue);
    const PING: OpCode = OpCode::Control(Control::Ping);

    fn deflated(text: &[u8], flush: FlushCompress) -> Vec<u8> {
        let mut made = Vec::with_capacity(text.len() + 1_000);
        let mut compress = Compress::new(Compression::best(), false);
        compress.compress_vec(text, &mut made, flush).unwrap();
        match made.strip_suffix(&TAIL) {
            Some(message) => message.to_vec(),
            None => made,
        }
    }

    fn frame(opcode: OpCode, is_final: bool, rsv1: bool, payload: &[u8]) -> Vec<u8> {
        let mask = [7, 77, 177, 250];
        let header = FrameHeader {
            is_final,
            rsv1,
            opcode,
            mask: Some(mask),
            ..FrameHeader::default()
        };
        let mut bytes = Vec::new();
        header.format(payload.len() as u64, &mut bytes).unwrap();
        let masked = payload.iter().zip(mask.iter().cycle());
        bytes.extend(masked.map(|(byte, mask)| byte ^ mask));
        bytes
    }

    /// What tungstenite makes of frames that arrive in pieces of this size.
    async fn read(sent: &[u8], piece: usize) -> Vec<Result<Message, Error>> {
        let (mut client, host) = tokio::io::duplex(piece);
        let begun = Bytes::copy_from_slice(&sent[..piece.min(sent.len())]);
        let rest = sent[begun.len()..].to_vec();
        tokio::spawn(async move {
            let _ = client.write_all(&rest).await;
        });
        let io = tokio::io::join(Inflating::new(host, &begun, MOST), tokio::io::sink());
        let config = WebSocketConfig::default()
            .max_message_size(Some(MOST))
            .max_frame_size(Some(MOST));
        let stream = WebSocketStream::from_raw_socket(io, Role::Server, Some(config));
        stream.await.collect().await
    }

    async fn texts(sent: &[u8], piece: usize) -> Vec<String> {
        let read = read(sent, piece).await.into_iter();
        read.map_while(Result::ok)
            .map(|message| message.into_text().unwrap().to_string())
            .collect()
    }

    #[tokio::test]
    async fn messages_are_the_same_however_they_are_sent() {
        let long = "one and the same, ".repeat(4_000);
        let long_deflated = deflated(long.as_bytes(), FlushCompress::Sync);
        let (first, rest) = long_deflated.split_at(5);
        let (second, third) = rest.split_at(30);
        let mut two_streams = deflated(b"begun and ", FlushCompress::Finish);
        two_streams.extend(deflated(b"ended", FlushCompress::Sync));
        let sent = [
            frame(TEXT, true, true, &deflated(b"short", FlushCompress::Sync)),
            frame(TEXT, true, false, b"plain"),
            frame(TEXT, true, true, &long_deflated),
            frame(TEXT, false, true, first),
            frame(PING, true, false, b"ping"),
            frame(MORE, false, false, second),
            frame(MORE, true, false, third),
            frame(TEXT, true, true, &[0]),
            frame(TEXT, true, true, &two_streams),
            frame(TEXT, false, false, b"in "),
            frame(MORE, true, false, b"two"),
        ]
        .concat();
        let expected = [
            "short",
            "plain",
            &long,
            "ping",
            &long,
            "",
            "begun and ended",
            "in two",
        ];
        for piece in [1, 3, 1_000, sent.len()] {
            assert_eq!(texts(&sent, piece).await, expected, "{piece}");
        }
    }

    #[tokio::test]
    async fn a_message_is_measured_by_what_it_says() {
        let bomb = deflated(&vec![b' '; 1_000 * MOST], FlushCompress::Sync);
        assert!(bomb.len() < MOST);
        let halves = bomb.split_at(bomb.len() / 2);
        let at_once = frame(TEXT, true, true, &bomb);
        let in_two = [
            frame(TEXT, false, true, halves.0),
            frame(MORE, true, false, halves.1),
        ]
        .concat();
        let too_long = frame(TEXT, true, true, &[bomb.clone(), bomb].concat());
        for sent in [at_once, in_two, too_long] {
            let read = read(&sent, 4_096).await;
            assert!(
                matches!(&read[..], [Err(Error::Capacity(_)), ..]),
                "{read:?}"
            );
        }
    }

    #[tokio::test]
    async fn what_is_not_compressed_as_it_says_is_refused() {
        for (sent, is_protocol) in [
            (frame(TEXT, true, true, b"\xff\xff\xff\xff"), false),
            (frame(MORE, true, true, b"more of nothing"), true),
            (frame(PING, true, true, b"ping"), true),
            (
                [
                    frame(TEXT, false, true, &deflated(b"one", FlushCompress::Sync)),
                    frame(TEXT, true, true, &deflated(b"two", FlushCompress::Sync)),
                ]
                .concat(),
                true,
            ),
        ] {
            let read = read(&sent, 4_096).await;
            let is_refused = match read.first() {
                Some(Err(Error::Protocol(_))) => is_protocol,
                Some(Err(Error::Io(error))) => {
                    let why = error.get_ref().and_then(|it| it.downcast_ref());
                    !is_protocol && why == Some(&NotDeflated)
                }
                _ => false,
            };
            assert!(is_refused, "{sent:?}: {read:?}");
        }
    }

    #[test]
    fn the_first_offer_that_suits_is_taken() {
        let agreed = |offers: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::SEC_WEBSOCKET_EXTENSIONS, offers.parse().unwrap());
            agreed(&headers)
        };
        for taken in [
            "permessage-deflate",
            "permessage-deflate; client_max_window_bits",
            "x-other, permessage-deflate; client_no_context_takeover",
            "permessage-deflate; server_max_window_bits=10, permessage-deflate",
            "permessage-deflate;client_max_window_bits=\"12\";server_no_context_takeover",
        ] {
            assert_eq!(agreed(taken), Some(AGREED), "{taken}");
        }
        let with_window = "permessage-deflate; server_max_window_bits=15";
        assert_eq!(agreed(with_window), Some(AGREED_WITH_WINDOW));
        for refused in [
            "",
            "x-webkit-deflate-frame",
            "permessage-deflate; server_max_window_bits=10",
            "permessage-deflate; server_max_window_bits",
            "permessage-deflate; client_max_window_bits=16",
            "permessage-deflate; client_max_window_bits; client_max_window_bits",
            "permessage-deflate; level=9",
            "permessage-deflate; server_no_context_takeover=1",
        ] {
            assert_eq!(agreed(refused), None, "{refused}");
        }
        assert_eq!(super::agreed(&HeaderMap::new()), None);
    }
}
