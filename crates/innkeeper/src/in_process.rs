//! The protocol's own client, within the process of its host.

use std::collections::VecDeque;

use ahp::TransportError;
use ahp::transport::{Transport, TransportMessage};

use crate::HostConnection;

/// A transport for [`ahp::Client`] to a host in this process: no socket, no
/// port, no token.
#[derive(Debug)]
pub struct InProcess {
    connection: HostConnection,
    waiting: VecDeque<String>,
}

impl InProcess {
    /// A transport over a connection that nobody else uses.
    pub fn new(connection: HostConnection) -> Self {
        Self {
            connection,
            waiting: VecDeque::new(),
        }
    }
}

impl Transport for InProcess {
    async fn send(&mut self, message: TransportMessage) -> Result<(), TransportError> {
        let text = match message {
            TransportMessage::Text(text) => text,
            TransportMessage::Parsed(message) => match TransportMessage::encode(&message)? {
                TransportMessage::Text(text) => text,
                TransportMessage::Parsed(_) | TransportMessage::Binary(_) => {
                    return Err(TransportError::Protocol("not a text".to_owned()));
                }
            },
            TransportMessage::Binary(bytes) => String::from_utf8(bytes)
                .map_err(|error| TransportError::Protocol(error.to_string()))?,
        };
        self.connection.receive(&text).await;
        Ok(())
    }

    async fn recv(&mut self) -> Result<Option<TransportMessage>, TransportError> {
        // Others, such as whoever prints what came, get their turn too.
        tokio::task::coop::consume_budget().await;
        while self.waiting.is_empty() {
            match self.connection.next().await {
                Some(texts) => self.waiting.extend(texts),
                None => return Ok(None),
            }
        }
        Ok(self.waiting.pop_front().map(TransportMessage::Text))
    }
}
