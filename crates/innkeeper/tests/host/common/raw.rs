//! A client of no version's making: it sends and reads frames.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use super::in_time;

/// A client that sends whatever it likes.
pub struct Raw(pub WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Raw {
    pub async fn connect(url: &str) -> Self {
        Self(connect_async(url).await.unwrap().0)
    }

    pub async fn initialized(url: &str, name: &str) -> Self {
        let mut raw = Self::connect(url).await;
        let welcome = raw
            .ask(json!({"id": 0, "method": "initialize", "params": {
                "channel": "ahp-root://", "clientId": name, "protocolVersions": ["1.0.0"],
            }}))
            .await;
        assert!(welcome["result"].is_object(), "{welcome}");
        raw
    }

    pub async fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    /// Sends several frames in one write.
    pub async fn send_at_once(&mut self, frames: &[Value]) {
        for frame in frames {
            self.0.feed(Message::text(frame.to_string())).await.unwrap();
        }
        self.0.flush().await.unwrap();
    }

    pub async fn next(&mut self) -> Value {
        loop {
            match in_time("a frame", self.0.next()).await.unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Close(frame) => panic!("closed: {frame:?}"),
                _ => continue,
            }
        }
    }

    pub async fn ask(&mut self, request: Value) -> Value {
        self.send(&request.to_string()).await;
        loop {
            let frame = self.next().await;
            if frame["id"] == request["id"] {
                return frame;
            }
        }
    }

    pub async fn close_code(&mut self) -> Option<CloseCode> {
        loop {
            match in_time("the end", self.0.next()).await {
                Some(Ok(Message::Close(frame))) => return frame.map(|frame| frame.code),
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return None,
            }
        }
    }
}
