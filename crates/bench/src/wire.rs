//! A client that costs next to nothing: it counts frames and looks into them
//! only where it must, so that the server under test is what is measured.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) struct WireClient {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Where the unread part of the buffer begins.
    start: usize,
}

impl WireClient {
    /// Connects to an address such as `ws://127.0.0.1:1234/?tkn=x`.
    pub(crate) async fn connect(url: &str) -> Result<Self> {
        let rest = url.strip_prefix("ws://").context("a ws:// address")?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut stream = TcpStream::connect(authority).await?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET /{path} HTTP/1.1\r\nHost: {authority}\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Version: 13\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut client = Self {
            stream,
            buffer: Vec::with_capacity(256 * 1024),
            start: 0,
        };
        loop {
            if let Some(end) = find(&client.buffer, b"\r\n\r\n") {
                if !client.buffer.starts_with(b"HTTP/1.1 101") {
                    bail!("no upgrade: {}", String::from_utf8_lossy(&client.buffer));
                }
                client.start = end + 4;
                return Ok(client);
            }
            client.fill().await?;
        }
    }

    /// Introduces itself to a host and listens to some channels.
    pub(crate) async fn initialize(&mut self, name: &str, channels: &[&str]) -> Result<Value> {
        self.initialize_as("1.0.0", name, channels).await
    }

    /// The same in an older version.
    pub(crate) async fn initialize_as(
        &mut self,
        version: &str,
        name: &str,
        channels: &[&str],
    ) -> Result<Value> {
        let mut params = json!({
            "channel": "ahp-root://", "clientId": name, "initialSubscriptions": channels,
        });
        match version {
            "draft 1" => params["protocolVersion"] = 1.into(),
            version => params["protocolVersions"] = json!([version]),
        }
        self.request("initialize", params).await
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.send(&request.to_string()).await?;
        loop {
            let frame: Value = serde_json::from_slice(self.next().await?)?;
            if frame["id"] == 1 {
                if !frame["error"].is_null() {
                    bail!("{method}: {}", frame["error"]);
                }
                return Ok(frame["result"].clone());
            }
        }
    }

    /// Asks, and leaves the answer to be read.
    pub(crate) async fn ask(&mut self, id: i64, method: &str, params: &Value) -> Result<()> {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request.to_string()).await
    }

    pub(crate) async fn dispatch(&mut self, channel: &str, seq: i64, action: Value) -> Result<()> {
        let params = json!({"channel": channel, "clientSeq": seq, "action": action});
        let message = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        self.send(&message.to_string()).await
    }

    /// Creates a session and waits until it takes messages; returns its chat.
    pub(crate) async fn new_session(&mut self, session: &str) -> Result<String> {
        self.new_session_with(session, "script").await
    }

    pub(crate) async fn new_session_with(&mut self, session: &str, agent: &str) -> Result<String> {
        let params = json!({"channel": session, "provider": agent});
        self.created(session, params).await
    }

    /// The same in a directory.
    pub(crate) async fn new_session_in(&mut self, session: &str, at: &Path) -> Result<String> {
        let directory = format!("file://{}", at.canonicalize()?.display());
        let params = json!({
            "channel": session, "provider": "script", "workingDirectories": [directory],
        });
        self.created(session, params).await
    }

    async fn created(&mut self, session: &str, params: Value) -> Result<String> {
        self.request("createSession", params).await?;
        loop {
            let subscribed = self
                .request("subscribe", json!({"channel": session}))
                .await?;
            let state = &subscribed["snapshot"]["state"];
            match state["lifecycle"].as_str() {
                Some("ready") => {
                    return Ok(state["defaultChat"].as_str().unwrap_or_default().to_owned());
                }
                Some("creating") => tokio::task::yield_now().await,
                other => bail!("the session is {other:?}"),
            }
        }
    }

    pub(crate) async fn start_turn(&mut self, chat: &str, turn: &str, steps: Value) -> Result<()> {
        let text = json!({"steps": steps}).to_string();
        let message = json!({"text": text, "origin": {"kind": "user"}});
        let action = json!({"type": "chat/turnStarted", "turnId": turn, "message": message});
        self.dispatch(chat, 1, action).await
    }

    pub(crate) async fn send(&mut self, text: &str) -> Result<()> {
        self.send_part(text.as_bytes(), text.len()).await
    }

    /// Sends the beginning of a message that is said to have so many bytes.
    pub(crate) async fn send_part(&mut self, part: &[u8], bytes: usize) -> Result<()> {
        let mut frame = vec![0x81];
        match bytes {
            len @ ..126 => frame.push(0x80 | len as u8),
            len @ 126..65_536 => {
                frame.push(0x80 | 126);
                frame.extend((len as u16).to_be_bytes());
            }
            len => {
                frame.push(0x80 | 127);
                frame.extend((len as u64).to_be_bytes());
            }
        }
        // A mask of zeros is a mask.
        frame.extend([0; 4]);
        frame.extend(part);
        Ok(self.stream.write_all(&frame).await?)
    }

    /// The payload of the next frame of text.
    pub(crate) async fn next(&mut self) -> Result<&[u8]> {
        loop {
            if let Some((opcode, payload, end)) = parse(&self.buffer[self.start..]) {
                let payload = self.start + payload..self.start + end;
                self.start += end;
                match opcode {
                    1 => return Ok(&self.buffer[payload]),
                    8 => bail!("closed: {:?}", &self.buffer[payload]),
                    _ => continue,
                }
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<()> {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            bail!("the connection ended");
        }
        Ok(())
    }
}

/// Opcode, start of the payload, end of the frame.
fn parse(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let (first, second) = (*bytes.first()?, *bytes.get(1)?);
    let (len, header) = match second & 0x7f {
        126 => (
            u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)),
            4,
        ),
        127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?), 10),
        len => (u64::from(len), 2),
    };
    let end = header + usize::try_from(len).ok()?;
    (bytes.len() >= end).then_some((first & 0x0f, header, end))
}

/// Whether a frame answers a request.
pub(crate) fn is_answer(frame: &[u8]) -> bool {
    let beginning = &frame[..frame.len().min(64)];
    find(beginning, b"\"id\":").is_some()
}

pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack
        .windows(needle.len())
        .position(|window| window == needle)
}
