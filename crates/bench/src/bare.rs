//! The floor: a broadcaster that copies ready-made bytes over the same
//! WebSocket stack and knows nothing of any protocol.
//!
//! A client that sends `go N` makes it send N copies of one frame to all
//! connections; anything else is echoed to its sender.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::routing::any;
use axum::serve::ListenerExt as _;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// A frame as long as the host's for a delta of 20 bytes.
pub(crate) const FRAME: &str = r#"{"jsonrpc":"2.0","method":"action","params":{"channel":"ahp-chat://default/YWhwLXNlc3Npb246L2JlbmNo","action":{"type":"chat/delta","turnId":"turn-1","partId":"p1","content":"the quick brown fox "},"serverSeq":123456}}"#;

/// How many frames are handed out before others get their turn.
const AT_ONCE: usize = 256;

#[derive(Default)]
struct Queue {
    frames: Mutex<VecDeque<Utf8Bytes>>,
    changed: Notify,
}

type Everybody = Arc<Mutex<Vec<Arc<Queue>>>>;

pub(crate) async fn serve(ready_file: &str) -> Result<()> {
    let everybody = Everybody::default();
    let router = Router::new()
        .fallback(any(
            |State(everybody): State<Everybody>, upgrade: WebSocketUpgrade| async {
                upgrade.on_upgrade(move |socket| connection(socket, everybody))
            },
        ))
        .with_state(everybody);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    std::fs::write(
        format!("{ready_file}.new"),
        format!(r#"{{"url":"ws://{address}/"}}"#),
    )?;
    std::fs::rename(format!("{ready_file}.new"), ready_file)?;
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    Ok(axum::serve(listener, router).await?)
}

async fn connection(socket: WebSocket, everybody: Everybody) {
    let queue = Arc::new(Queue::default());
    lock(&everybody).push(Arc::clone(&queue));
    let (mut sink, mut stream) = socket.split();
    let write = async {
        loop {
            let frames: Vec<Utf8Bytes> = lock(&queue.frames).drain(..).collect();
            if frames.is_empty() {
                queue.changed.notified().await;
                continue;
            }
            for frame in frames {
                sink.feed(Message::Text(frame)).await?;
            }
            sink.flush().await?;
        }
        #[expect(unreachable_code, reason = "names the error of the loop")]
        Ok::<(), axum::Error>(())
    };
    let read = async {
        while let Some(Ok(message)) = stream.next().await {
            let Message::Text(text) = message else {
                continue;
            };
            match text
                .strip_prefix("go ")
                .and_then(|count| count.parse::<usize>().ok())
            {
                Some(count) => broadcast(&everybody, count).await,
                None => {
                    lock(&queue.frames).push_back(text);
                    queue.changed.notify_one();
                }
            }
        }
    };
    tokio::select! {
        _ = write => {}
        () = read => {}
    }
    lock(&everybody).retain(|other| !Arc::ptr_eq(other, &queue));
}

async fn broadcast(everybody: &Everybody, count: usize) {
    // Shared as any bytes that were made at run time are.
    let frame = Utf8Bytes::from(FRAME.to_owned());
    let queues = lock(everybody).clone();
    for sent in (0..count).step_by(AT_ONCE) {
        let batch = AT_ONCE.min(count - sent);
        for queue in &queues {
            lock(&queue.frames).extend(std::iter::repeat_n(frame.clone(), batch));
            queue.changed.notify_one();
        }
        tokio::task::yield_now().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
