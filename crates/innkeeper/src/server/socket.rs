//! One WebSocket: frames in, frames out, many in one write.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};

use crate::HostConnection;

/// How much is taken from the queue for one write.
const WRITE_BYTES: usize = 128 * 1024;

/// How much may wait to be answered before more is read.
const REPLY_BYTES: usize = 16 * 1024 * 1024;

/// A client that says nothing and takes in nothing for this many pings is gone.
const PINGS_UNANSWERED: u32 = 4;

pub(crate) async fn run(socket: WebSocket, connection: HostConnection, ping_after: Duration) {
    let (mut sink, mut stream) = socket.split();
    let close = tokio::select! {
        close = write(&mut sink, &connection, ping_after) => close,
        close = read(&mut stream, &connection, ping_after) => close,
    };
    if let Some((code, reason)) = close {
        let frame = CloseFrame {
            code,
            reason: reason.into(),
        };
        let closing = async {
            let _ = sink.send(Message::Close(Some(frame))).await;
            let _ = sink.flush().await;
            // Until the other side has seen it, or is not going to.
            while let Some(Ok(_)) = stream.next().await {}
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), closing).await;
    }
}

type Close = Option<(u16, &'static str)>;

async fn write(
    sink: &mut SplitSink<WebSocket, Message>,
    connection: &HostConnection,
    ping_after: Duration,
) -> Close {
    loop {
        tokio::select! {
            outgoing = connection.outgoing(WRITE_BYTES) => {
                for text in outgoing.texts {
                    sink.feed(Message::Text(text)).await.ok()?;
                }
                sink.flush().await.ok()?;
                if let Some(ending) = outgoing.ending {
                    return Some(ending.code());
                }
            }
            () = tokio::time::sleep(ping_after) => {
                sink.send(Message::Ping(Default::default())).await.ok()?;
            }
        }
    }
}

async fn read(
    stream: &mut SplitStream<WebSocket>,
    connection: &HostConnection,
    ping_after: Duration,
) -> Close {
    let patience = ping_after * PINGS_UNANSWERED;
    loop {
        connection.queue.ready_for_requests(REPLY_BYTES).await;
        let written = connection.queue.written();
        let Ok(next) = tokio::time::timeout(patience, stream.next()).await else {
            if connection.queue.written() == written {
                return Some((1001, "no sign of life"));
            }
            continue;
        };
        match next? {
            Ok(Message::Text(text)) => connection.receive(&text).await,
            Ok(Message::Binary(bytes)) => match std::str::from_utf8(&bytes) {
                Ok(text) => connection.receive(text).await,
                Err(_) => return Some((1007, "messages are JSON text")),
            },
            Ok(Message::Ping(_) | Message::Pong(_)) => {}
            Ok(Message::Close(_)) => return None,
            Err(error) => return closes_with(error),
        }
    }
}

fn closes_with(error: axum::Error) -> Close {
    use tokio_tungstenite::tungstenite::Error;
    match error.into_inner().downcast::<Error>().map(|error| *error) {
        Ok(Error::Capacity(_)) => Some((
            1009,
            "the message is larger than server.message_bytes allows",
        )),
        Ok(Error::Utf8(_)) => Some((1007, "messages are JSON text")),
        Ok(Error::Protocol(_)) => Some((1002, "this is not the WebSocket protocol")),
        Ok(_) | Err(_) => None,
    }
}
