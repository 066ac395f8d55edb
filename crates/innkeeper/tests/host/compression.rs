//! Compressed messages over a real socket: who offers `permessage-deflate` and
//! sends compressed messages is answered in such.

use std::io::Cursor;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{Frame, FrameHeader};

use crate::common::{Inn, ROOT, in_time};

const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

struct Deflating {
    socket: TcpStream,
    read: Vec<u8>,
}

impl Deflating {
    /// Connects with these extensions offered. Says what was agreed upon.
    async fn connect(url: &str, offers: &str) -> (Self, Option<String>) {
        let (place, query) = url
            .strip_prefix("ws://")
            .and_then(|url| url.split_once('/'))
            .unwrap();
        let mut socket = TcpStream::connect(place).await.unwrap();
        let request = format!(
            "GET /{query} HTTP/1.1\r\nHost: {place}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Extensions: {offers}\r\n\r\n"
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(socket.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        let agreed = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let is_it = name.eq_ignore_ascii_case("sec-websocket-extensions");
            is_it.then(|| value.to_owned())
        });
        let read = Vec::new();
        (Self { socket, read }, agreed)
    }

    async fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let mut made = Vec::with_capacity(text.len() + 1_000);
        let mut compress = Compress::new(Compression::best(), false);
        let flush = FlushCompress::Sync;
        compress
            .compress_vec(text.as_bytes(), &mut made, flush)
            .unwrap();
        let made = made.strip_suffix(&TAIL).unwrap().to_vec();
        let mut frame = Frame::message(made, OpCode::Data(Data::Text), true);
        frame.header_mut().rsv1 = true;
        frame.header_mut().mask = Some([1, 2, 3, 4]);
        let mut bytes = Vec::new();
        frame.format(&mut bytes).unwrap();
        self.socket.write_all(&bytes).await.unwrap();
    }

    /// The answer to a request, how long its frame was, and whether that was
    /// compressed.
    async fn answer(&mut self, id: u64) -> (Value, usize, bool) {
        loop {
            let mut cursor = Cursor::new(&self.read[..]);
            let parsed = FrameHeader::parse(&mut cursor).unwrap();
            let begins = cursor.position() as usize;
            let ends = parsed.as_ref().map(|(_, length)| begins + *length as usize);
            let Some(ends) = ends.filter(|ends| *ends <= self.read.len()) else {
                let more = self.socket.read_buf(&mut self.read);
                assert_ne!(in_time("an answer", more).await.unwrap(), 0);
                continue;
            };
            let (header, _) = parsed.unwrap();
            let payload: Vec<u8> = self.read.drain(..ends).skip(begins).collect();
            let text = match header.rsv1 {
                true => {
                    let mut text = Vec::with_capacity(1 << 20);
                    let input = [&payload[..], &TAIL].concat();
                    let mut inflate = Decompress::new(false);
                    let flush = FlushDecompress::Sync;
                    inflate.decompress_vec(&input, &mut text, flush).unwrap();
                    text
                }
                false => payload,
            };
            let message: Value = serde_json::from_slice(&text).unwrap();
            if message["id"] == id {
                return (message, ends, header.rsv1);
            }
        }
    }
}

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "channel": ROOT, "clientId": "a", "protocolVersions": ["1.0.0"],
        "initialSubscriptions": [ROOT],
    }})
}

#[tokio::test]
async fn who_asks_for_compression_gets_it() {
    let inn = Inn::open().await;
    let offers = "permessage-deflate; client_max_window_bits";
    let (mut guest, agreed) = Deflating::connect(&inn.url, offers).await;
    let agreed = agreed.unwrap();
    assert!(agreed.starts_with("permessage-deflate;"), "{agreed}");
    guest.send(&hello()).await;
    let (answer, length, is_deflated) = guest.answer(1).await;
    assert_eq!(answer["result"]["protocolVersion"], "1.0.0");
    assert!(is_deflated);
    assert!(length < answer.to_string().len() / 2, "{length}");
    guest
        .send(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"channel": ROOT}}))
        .await;
    let (_, _, is_deflated) = guest.answer(2).await;
    assert!(!is_deflated, "a short message stays as it is");
    inn.close().await;
}

#[tokio::test]
async fn who_does_not_ask_as_it_suits_gets_none() {
    let inn = Inn::open().await;
    for offers in ["permessage-bzip2", "permessage-deflate; level=9"] {
        let (_, agreed) = Deflating::connect(&inn.url, offers).await;
        assert_eq!(agreed, None, "{offers}");
    }
    inn.close().await;
}
