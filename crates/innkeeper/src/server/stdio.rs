//! One client on standard input and output, one message a line.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use crate::Host;

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
            // And the end of the line, which is no part of the message.
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
    let write = async {
        while let Some(texts) = connection.next().await {
            for text in texts {
                output.write_all(text.as_bytes()).await?;
                output.write_all(b"\n").await?;
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
    let (closed, written) = tokio::join!(host.shutdown(), write);
    closed.map_err(io::Error::other)?;
    written
}
