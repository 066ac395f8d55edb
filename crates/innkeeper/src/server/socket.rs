//! One WebSocket. What goes out are finished frames that other connections
//! share, many in one write; what comes in is read by tungstenite, whose own
//! answers (to pings and closes) go out through the same queue.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use hyper::upgrade::{Parts, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Control, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::HostConnection;
use crate::delivery::{LentSocket, OutboundQueue};
use crate::server::compression::{Inflating, NotDeflated};
use crate::server::newcomers::{Newcomer, TooMuch};

/// How much is taken from the queue for one write.
const WRITE_BYTES: usize = 128 * 1024;

/// How much is read at once. The library clears that much memory before every
/// attempt to read, and every wake-up of a connection is one.
pub(super) const READ_BYTES: usize = 8 * 1024;

/// A client that says nothing and takes in nothing for this many pings is gone.
const PINGS_UNANSWERED: u32 = 4;

/// One who connected, and what it may do.
pub(crate) struct Guest {
    pub(crate) connection: HostConnection,
    pub(crate) newcomer: Newcomer,
    pub(crate) message_bytes: usize,
    /// Whether messages are compressed, in both directions.
    pub(crate) deflates: bool,
    pub(crate) ping_after: Duration,
}

/// Serves a client over a connection that has been upgraded.
pub(crate) async fn run(upgraded: Upgraded, guest: Guest, revoked: impl Future<Output = ()>) {
    match upgraded.downcast::<TokioIo<TcpStream>>() {
        Ok(Parts { io, read_buf, .. }) => {
            let (reader, writer) = io.into_inner().into_split();
            let writer = Arc::new(writer);
            guest.connection.queue.lend(Arc::clone(&writer));
            run_on(reader, read_buf, LentSocket(writer), guest, revoked).await;
        }
        Err(upgraded) => {
            let (reader, writer) = tokio::io::split(TokioIo::new(upgraded));
            run_on(reader, Bytes::new(), writer, guest, revoked).await;
        }
    }
}

/// `begun` is what was read already.
async fn run_on<R, W>(
    reader: R,
    begun: Bytes,
    mut writer: W,
    guest: Guest,
    revoked: impl Future<Output = ()>,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let Guest {
        connection,
        newcomer,
        message_bytes,
        deflates,
        ping_after,
    } = guest;
    let (io, begun) = match deflates {
        true => {
            connection.queue.deflate();
            let inflating = Inflating::new(reader, &begun, message_bytes);
            (inflating, Bytes::new())
        }
        false => (Inflating::plain(reader), begun),
    };
    let read_side = ReadSide {
        io,
        queue: Arc::clone(&connection.queue),
        newcomer: Some(newcomer),
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BYTES)
        .max_message_size(Some(message_bytes))
        .max_frame_size(Some(message_bytes));
    let (role, config, begun) = (Role::Server, Some(config), begun.into());
    let mut stream = WebSocketStream::from_partially_read(read_side, begun, role, config).await;
    let close = tokio::select! {
        close = write(&mut writer, &connection, ping_after) => close,
        close = read(&mut stream, &connection, ping_after) => close,
        never = connection.queue.keep_condensed() => match never {},
        () = revoked => Some((1008, "this token was revoked")),
    };
    // Nothing may follow the close.
    connection.queue.reclaim();
    let closing = async {
        if let Some((code, reason)) = close {
            let frame = Frame::close(Some(CloseFrame {
                code: code.into(),
                reason: reason.into(),
            }));
            writer.write_all(&formatted(frame)).await.ok()?;
            writer.flush().await.ok()?;
            // Until the other side has seen it, or is not going to.
            while let Some(Ok(_)) = stream.next().await {}
        }
        writer.shutdown().await.ok()
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), closing).await;
}

type Close = Option<(u16, &'static str)>;

async fn write(
    io: &mut (impl AsyncWrite + Unpin),
    connection: &HostConnection,
    ping_after: Duration,
) -> Close {
    loop {
        tokio::select! {
            biased;
            outgoing = connection.outgoing(WRITE_BYTES) => {
                let ending = outgoing.ending;
                let frames = match outgoing.is_laborious() {
                    true => {
                        let frames = tokio::task::spawn_blocking(|| outgoing.into_frames());
                        frames.await.ok()?
                    }
                    false => outgoing.into_frames(),
                };
                write_all(io, frames).await.ok()?;
                if let Some(ending) = ending {
                    return Some(ending.code());
                }
            }
            () = tokio::time::sleep(ping_after) => {
                let ping = Frame::ping(Bytes::new());
                connection.queue.send_control(formatted(ping).into());
            }
        }
    }
}

/// All of it in as few writes as the system takes.
async fn write_all(io: &mut (impl AsyncWrite + Unpin), frames: Vec<Bytes>) -> io::Result<()> {
    let mut slices: Vec<io::IoSlice<'_>> =
        frames.iter().map(|frame| io::IoSlice::new(frame)).collect();
    let mut rest = &mut slices[..];
    while !rest.is_empty() {
        let written = io.write_vectored(rest).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        io::IoSlice::advance_slices(&mut rest, written);
    }
    io.flush().await
}

async fn read<R: AsyncRead + Unpin>(
    stream: &mut WebSocketStream<ReadSide<R>>,
    connection: &HostConnection,
    ping_after: Duration,
) -> Close {
    if let Some(close) = introduced(stream, connection).await {
        return close;
    }
    let patience = ping_after * PINGS_UNANSWERED;
    loop {
        connection.queue.ready_for_requests().await;
        let written = connection.queue.written();
        let Ok(next) = tokio::time::timeout(patience, stream.next()).await else {
            if connection.queue.written() == written {
                return Some((1001, "no sign of life"));
            }
            continue;
        };
        if let Some(close) = take(next, connection).await {
            return close;
        }
    }
}

/// Reads until the client has introduced itself, for which it has so much time
/// and no more. Says how the connection ends if it does not come to that.
async fn introduced<R: AsyncRead + Unpin>(
    stream: &mut WebSocketStream<ReadSide<R>>,
    connection: &HostConnection,
) -> Option<Close> {
    let overstays = stream
        .get_ref()
        .newcomer
        .as_ref()
        .map(Newcomer::overstays)?;
    let mut overstays = pin!(overstays);
    while connection.queue.spoken().is_none() {
        let next = async {
            connection.queue.ready_for_requests().await;
            stream.next().await
        };
        let next = tokio::select! {
            next = next => next,
            close = &mut overstays => return Some(Some(close)),
        };
        let close = take(next, connection).await;
        if close.is_some() {
            return close;
        }
        if let Some(newcomer) = &mut stream.get_mut().newcomer {
            newcomer.complete();
        }
    }
    stream.get_mut().newcomer = None;
    None
}

/// Takes in what was read. Says how the connection ends, if it does.
async fn take(next: Option<Result<Message, Error>>, connection: &HostConnection) -> Option<Close> {
    match next {
        Some(Ok(Message::Text(text))) => connection.receive(&text).await,
        Some(Ok(Message::Binary(bytes))) => match std::str::from_utf8(&bytes) {
            Ok(text) => connection.receive(text).await,
            Err(_) => return Some(Some((1007, "messages are JSON text"))),
        },
        Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
        Some(Ok(Message::Close(_))) => return Some(Some((1000, ""))),
        Some(Err(error)) => return Some(closes_with(&error)),
        None => return Some(None),
    }
    None
}

fn closes_with(error: &Error) -> Close {
    match error {
        Error::Capacity(_) => Some((
            1009,
            "the message is larger than server.message_bytes allows",
        )),
        Error::Io(error) => {
            let why = error.get_ref()?;
            if why.is::<NotDeflated>() {
                return Some((1007, "a message is not compressed as it says"));
            }
            Some(why.downcast_ref::<TooMuch>()?.code())
        }
        Error::Utf8(_) => Some((1007, "messages are JSON text")),
        Error::Protocol(_) => Some((1002, "this is not the WebSocket protocol")),
        _ => None,
    }
}

fn formatted(frame: Frame) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing into memory does not fail.
    let _ = frame.format(&mut bytes);
    bytes
}

/// What tungstenite reads from; what it writes is queued behind what is
/// already on its way.
struct ReadSide<R> {
    io: Inflating<R>,
    queue: Arc<OutboundQueue>,
    /// Until somebody has introduced themselves.
    newcomer: Option<Newcomer>,
}

impl<R: AsyncRead + Unpin> AsyncRead for ReadSide<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(context, buffer);
        let read = buffer.filled().len() - before;
        if let Some(newcomer) = self.newcomer.as_mut().filter(|_| read > 0)
            && let Err(too_much) = newcomer.read(read)
        {
            return Poll::Ready(Err(io::Error::other(too_much)));
        }
        polled
    }
}

impl<R: Unpin> AsyncWrite for ReadSide<R> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // A close is answered at the end of `run`, after which nothing may
        // follow.
        let is_close = bytes.first() == Some(&(0x80 | u8::from(OpCode::Control(Control::Close))));
        if !is_close {
            self.queue.send_control(Bytes::copy_from_slice(bytes));
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
