//! One client on standard input and output, one message a line.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use crate::Host;

/// How long a client that has closed its end may read nothing of what it is
/// still given.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// Serves one client until it closes its end or the host closes the connection.
/// When the client has closed its end, the host is shut down: nobody else is
/// there, and the client still gets the answers to all that it asked.
pub async fn serve(
    host: &Host,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    message_bytes: usize,
) -> io::Result<()> {
    let connection = host.connect();
    let mut input = BufReader::new(input);
    let read = async {
        let mut line = Vec::new();
        loop {
            connection.queue.ready_for_requests().await;
            line.clear();
            // And the end of the line, which is not part of the message.
            let most = message_bytes as u64 + 2;
            let mut limited = tokio::io::AsyncReadExt::take(&mut input, most);
            if limited.read_until(b'\n', &mut line).await? == 0 {
                return Ok(());
            }
            let message = line.strip_suffix(b"\n").unwrap_or(&line);
            let message = message.strip_suffix(b"\r").unwrap_or(message);
            if message.len() > message_bytes {
                let reason = format!("a message is larger than {message_bytes} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            let text = String::from_utf8_lossy(message);
            if !text.trim().is_empty() {
                connection.receive(&text).await;
            }
        }
    };
    let written = AtomicU64::new(0);
    let write = async {
        while let Some(texts) = connection.next().await {
            for text in texts {
                output.write_all(text.as_bytes()).await?;
                output.write_all(b"\n").await?;
                written.fetch_add(1, Ordering::Relaxed);
            }
            output.flush().await?;
        }
        io::Result::Ok(())
    };
    tokio::pin!(write);
    tokio::select! {
        done = read => done?,
        done = &mut write => return done,
    }
    let last_words = finish(write, &written);
    let (closed, finished) = tokio::join!(host.shutdown(), last_words);
    closed.map_err(io::Error::other)?;
    finished
}

/// Waits until everything is written, as long as that goes on.
async fn finish(
    mut write: Pin<&mut impl Future<Output = io::Result<()>>>,
    written: &AtomicU64,
) -> io::Result<()> {
    let mut before = None;
    loop {
        let now = written.load(Ordering::Relaxed);
        if before.replace(now) == Some(now) {
            let reason = "the client closed its end and does not read its answers";
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
        }
        tokio::select! {
            done = &mut write => return done,
            () = tokio::time::sleep(LAST_WORDS) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Time passes at once where everybody only waits.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_any_more_is_not_waited_for() {
        let written = AtomicU64::new(0);
        let slow = async {
            for _ in 0..3 {
                tokio::time::sleep(LAST_WORDS - Duration::from_secs(1)).await;
                written.fetch_add(1, Ordering::Relaxed);
            }
            io::Result::Ok(())
        };
        tokio::pin!(slow);
        finish(slow, &written).await.unwrap();
        let stuck = std::future::pending();
        tokio::pin!(stuck);
        let given_up = finish(stuck, &written).await.unwrap_err();
        assert_eq!(given_up.kind(), io::ErrorKind::TimedOut);
    }
}
