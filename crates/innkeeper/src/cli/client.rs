//! A client of the host that runs on a data directory.

use std::time::Duration;

use ahp::transport::{BoxedTransport, Transport, TransportMessage};
use ahp::{Client, ClientConfig, ClientError, TransportError};
use anyhow::{Result, anyhow};
use futures_util::{SinkExt as _, StreamExt as _};
use innkeeper_protocol::version::Version;
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::control::RunningHost;

/// How many messages may wait to be read. What is streamed must not get lost,
/// and a reader that falls behind by this much would lose some.
const EVENTS_WAITING: usize = 4_096;

/// The largest message. The host has limits of its own.
const MESSAGE_BYTES: usize = 1 << 30;

/// How long the opening handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(20);

/// How long the host may take for an answer. It has shown that it works; where
/// hundreds of commands ask at once, its disk and git take their time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// The connection to the host ended.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the host ended; see `innkeeper logs`, and try again")]
pub(crate) struct ConnectionLost;

/// Connects to a host over its control socket.
pub(crate) async fn connect_to(host: &RunningHost) -> Result<Client> {
    let stream = host.connect().await?;
    let config = WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES))
        .max_frame_size(Some(MESSAGE_BYTES));
    let handshake = client_async_with_config("ws://localhost/", stream, Some(config));
    let opened = tokio::time::timeout(HANDSHAKE, handshake).await;
    let opened = opened.map_err(|_| {
        let pid = host.pid;
        anyhow!("the host (process {pid}) did not answer in time; try again")
    })?;
    let (socket, _) = opened.map_err(|error| match error {
        Error::Http(answer) => {
            let told = answer.body().as_deref().map(String::from_utf8_lossy);
            anyhow!(told.unwrap_or_default().trim().to_owned())
        }
        _ => ConnectionLost.into(),
    })?;
    connect(BoxedTransport::new(ControlTransport(socket))).await
}

async fn connect(transport: BoxedTransport) -> Result<Client> {
    let config = ClientConfig {
        default_request_timeout: Some(PATIENCE),
        subscription_buffer: EVENTS_WAITING,
    };
    let client = Client::connect(transport, config)
        .await
        .map_err(explained)?;
    let handshake = client.initialize(own_id(), Version::supported(), Vec::new());
    handshake.await.map_err(explained)?;
    Ok(client)
}

/// Hosts remember their clients: one name for each process, not each call,
/// keeps that list short.
pub(crate) fn own_id() -> String {
    format!("innkeeper-{}", std::process::id())
}

/// What the host said, without the names of the layers that it came through.
pub(crate) fn explained(error: ClientError) -> anyhow::Error {
    match error {
        // What the client says to those who wait when a connection ends.
        ClientError::Rpc(error) if error.message == "transport closed" => ConnectionLost.into(),
        ClientError::Rpc(error) => anyhow!(error.message),
        ClientError::Cancelled => anyhow!("the host did not answer in time; try again"),
        ClientError::Shutdown | ClientError::Transport(_) => ConnectionLost.into(),
        ClientError::Deserialization(_)
        | ClientError::UnknownSubscription(_)
        | ClientError::SequenceGap => anyhow!("the host answered something unexpected: {error}"),
    }
}

/// A WebSocket over a Unix socket.
struct ControlTransport(WebSocketStream<UnixStream>);

impl Transport for ControlTransport {
    async fn send(&mut self, message: TransportMessage) -> Result<(), TransportError> {
        let message = match message {
            TransportMessage::Text(text) => Message::text(text),
            TransportMessage::Binary(bytes) => Message::binary(bytes),
            TransportMessage::Parsed(message) => {
                let text = serde_json::to_string(&message);
                Message::text(text.map_err(|error| TransportError::Protocol(error.to_string()))?)
            }
        };
        self.0.send(message).await.map_err(broken)
    }

    async fn recv(&mut self) -> Result<Option<TransportMessage>, TransportError> {
        loop {
            return match self.0.next().await {
                Some(Ok(Message::Text(text))) => Ok(Some(TransportMessage::Text(text.to_string()))),
                Some(Ok(Message::Binary(bytes))) => {
                    Ok(Some(TransportMessage::Binary(bytes.to_vec())))
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(Error::ConnectionClosed)) | None => Ok(None),
                Some(Err(error)) => Err(broken(error)),
            };
        }
    }
}

fn broken(error: Error) -> TransportError {
    TransportError::Io(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Answers each request after a while.
    struct Slow {
        after: Duration,
        asked: Option<Value>,
    }

    impl Transport for Slow {
        async fn send(&mut self, message: TransportMessage) -> Result<(), TransportError> {
            let text = match message {
                TransportMessage::Text(text) => text,
                TransportMessage::Parsed(message) => serde_json::to_string(&message).unwrap(),
                TransportMessage::Binary(_) => return Ok(()),
            };
            self.asked = serde_json::from_str(&text).ok();
            Ok(())
        }

        async fn recv(&mut self) -> Result<Option<TransportMessage>, TransportError> {
            let Some(asked) = self.asked.clone() else {
                return std::future::pending().await;
            };
            tokio::time::sleep(self.after).await;
            self.asked = None;
            let result = json!({"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": []});
            let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
            Ok(Some(TransportMessage::Text(answer.to_string())))
        }
    }

    async fn connected_after(after: Duration) -> Result<Client> {
        let transport = Slow { after, asked: None };
        connect(BoxedTransport::new(transport)).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_is_busy_for_minutes_is_waited_for() {
        connected_after(PATIENCE - Duration::from_secs(1))
            .await
            .unwrap();
        let error = connected_after(PATIENCE * 2).await.err().unwrap();
        assert!(error.to_string().contains("in time"), "{error}");
    }
}
