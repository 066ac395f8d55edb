//! The other floor: a broadcaster that writes as the host does, whole batches
//! of finished frames that all connections share, straight into the sockets.
//!
//! It speaks just enough WebSocket for the client of these benchmarks, which
//! masks with zeros and sends one small frame at a time.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail};
use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use crate::bare::FRAME;
use crate::wire::find;

/// As many as the host's engine handles before it passes on what follows.
const AT_ONCE: usize = 256;

#[derive(Default)]
struct Queue {
    batches: Mutex<VecDeque<Bytes>>,
    changed: Notify,
}

type Everybody = Arc<Mutex<Vec<Arc<Queue>>>>;

pub(crate) async fn serve(ready_file: &str) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    std::fs::write(
        format!("{ready_file}.new"),
        format!(r#"{{"url":"ws://{address}/"}}"#),
    )?;
    std::fs::rename(format!("{ready_file}.new"), ready_file)?;
    let everybody = Everybody::default();
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(connection(stream, Arc::clone(&everybody)));
    }
}

async fn connection(mut stream: TcpStream, everybody: Everybody) -> Result<()> {
    let mut request = Vec::new();
    while find(&request, b"\r\n\r\n").is_none() {
        if stream.read_buf(&mut request).await? == 0 {
            bail!("no request");
        }
    }
    let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                  Connection: Upgrade\r\n\r\n";
    stream.write_all(answer.as_bytes()).await?;
    let queue = Arc::new(Queue::default());
    lock(&everybody).push(Arc::clone(&queue));
    let (mut reader, writer) = stream.into_split();
    tokio::spawn(write(writer, Arc::clone(&queue)));
    loop {
        let mut header = [0; 6];
        reader.read_exact(&mut header).await?;
        let mut text = vec![0; usize::from(header[1] & 0x7f)];
        reader.read_exact(&mut text).await?;
        let text = String::from_utf8_lossy(&text);
        match text
            .strip_prefix("go ")
            .and_then(|count| count.parse::<usize>().ok())
        {
            Some(count) => broadcast(&everybody, count).await,
            None => push(&queue, frames(1)),
        }
    }
}

async fn write(mut writer: OwnedWriteHalf, queue: Arc<Queue>) -> Result<()> {
    loop {
        let batches: Vec<Bytes> = lock(&queue.batches).drain(..).collect();
        let mut slices: Vec<IoSlice<'_>> = batches.iter().map(|b| IoSlice::new(b)).collect();
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            let written = writer.write_vectored(rest).await?;
            IoSlice::advance_slices(&mut rest, written);
        }
        if batches.is_empty() {
            queue.changed.notified().await;
        }
    }
}

async fn broadcast(everybody: &Everybody, count: usize) {
    let queues = lock(everybody).clone();
    for sent in (0..count).step_by(AT_ONCE) {
        // In memory of its own: nobody has the same to say all the time, and
        // one batch over and over would be copied from the nearest cache.
        let batch = frames(AT_ONCE.min(count - sent));
        for queue in &queues {
            push(queue, batch.clone());
        }
        tokio::task::yield_now().await;
    }
}

fn frames(count: usize) -> Bytes {
    let length = u16::try_from(FRAME.len()).unwrap_or(u16::MAX);
    let mut one = vec![0x81, 126];
    one.extend(length.to_be_bytes());
    one.extend(FRAME.as_bytes());
    one.repeat(count).into()
}

fn push(queue: &Queue, batch: Bytes) {
    lock(&queue.batches).push_back(batch);
    queue.changed.notify_one();
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
