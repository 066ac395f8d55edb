//! Lines of JSON to and from a child process.
//!
//! *Invariant*: records end at a line feed and nowhere else; what is no JSON is
//! handed on as text; a line beyond all measure is cut off, and what waits to
//! be looked at is bounded in number and in bytes, so that no program can make
//! the host grow.

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;

use super::stderr::LastWords;

/// The longest line of an agent that is read as one: a large file in one message
/// fits.
pub(crate) const LONGEST: u64 = 64 * 1024 * 1024;

/// Lines that wait to be looked at. Beyond, the program has to wait.
const WAITING: usize = 256;

/// Likewise, their bytes, all told. They wait as text: as values, they may take
/// ten times as much.
const WAITING_BYTES: u32 = 64 * 1024 * 1024;

/// What a program said on one line.
#[derive(Debug)]
pub(crate) enum Line {
    Json(Value),
    /// Something that is no JSON, shortened.
    Noise(String),
    /// More than may stand on one line. It was not kept.
    TooLong,
}

#[derive(Debug)]
pub(crate) struct JsonLines {
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    incoming: mpsc::Receiver<Waiting>,
    longest: u64,
    /// What was not JSON, for whoever asks why the program said nothing else.
    noise: Arc<LastWords>,
    _tasks: [Aborted; 2],
}

/// A line that was read, and its share of what may wait.
type Waiting = (Vec<u8>, OwnedSemaphorePermit);

impl JsonLines {
    pub(super) fn new(
        stdin: ChildStdin,
        stdout: ChildStdout,
        longest: u64,
        noise: Arc<LastWords>,
    ) -> Self {
        let (outgoing, to_write) = mpsc::unbounded_channel();
        let (read, incoming) = mpsc::channel(WAITING);
        Self {
            outgoing,
            incoming,
            longest,
            noise,
            _tasks: [
                Aborted(tokio::spawn(write_lines(stdin, to_write))),
                Aborted(tokio::spawn(read_lines(
                    stdout,
                    read,
                    longest,
                    WAITING_BYTES,
                ))),
            ],
        }
    }

    /// What the program says next; `None` when it has closed its output.
    /// Waiting may be given up at any time without losing a line.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        let (line, _share) = self.incoming.recv().await?;
        let line = understood(&line, self.longest);
        if let Line::Noise(text) = &line {
            self.noise.add(text);
        }
        Some(line)
    }

    /// Where others may write lines to the program.
    pub(crate) fn writer(&self) -> LineWriter {
        LineWriter(self.outgoing.clone())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct LineWriter(mpsc::UnboundedSender<Vec<u8>>);

impl LineWriter {
    /// Writes a line, without waiting. One that the program is not there to
    /// read any more is dropped: its end is noticed elsewhere.
    pub(crate) fn write(&self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        let _ = self.0.send(line);
    }
}

/// A task that ends with its owner.
#[derive(Debug)]
struct Aborted(JoinHandle<()>);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn write_lines(mut stdin: ChildStdin, mut lines: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}

async fn read_lines(
    stdout: impl AsyncRead + Unpin,
    lines: mpsc::Sender<Waiting>,
    longest: u64,
    waiting_bytes: u32,
) {
    let room = Arc::new(Semaphore::new(waiting_bytes as usize));
    let mut reader = BufReader::new(stdout);
    let mut in_the_middle = false;
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut reader).take(longest);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let rest_of_a_long_one = in_the_middle;
        in_the_middle = line.last() != Some(&b'\n');
        if rest_of_a_long_one || line.trim_ascii().is_empty() {
            continue;
        }
        line.shrink_to_fit();
        let bytes = u32::try_from(line.len()).unwrap_or(u32::MAX);
        let share = Arc::clone(&room).acquire_many_owned(bytes.min(waiting_bytes));
        let Ok(share) = share.await else {
            return;
        };
        if lines.send((line, share)).await.is_err() {
            return;
        }
    }
}

fn understood(line: &[u8], longest: u64) -> Line {
    const SHOWN: usize = 200;
    if line.len() as u64 >= longest && line.last() != Some(&b'\n') {
        return Line::TooLong;
    }
    match serde_json::from_slice(line) {
        Ok(json) => Line::Json(json),
        Err(_) => {
            let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
            Line::Noise(text.trim().to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Time stands still here, and moves on when everybody waits.
    #[tokio::test(start_paused = true)]
    async fn a_program_waits_when_the_bytes_of_its_lines_are_too_many() {
        let line = format!("{:?}\n", "x".repeat(400));
        let (mut program, stdout) = tokio::io::duplex(16);
        let (read, mut incoming) = mpsc::channel(WAITING);
        tokio::spawn(read_lines(stdout, read, LONGEST, 1_000));
        let all = line.repeat(10);
        let said = tokio::spawn(async move { program.write_all(all.as_bytes()).await });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(incoming.len(), 2, "no more than fits waits");
        let mut heard = 0;
        while let Some((text, _share)) = incoming.recv().await {
            assert_eq!(text, line.as_bytes());
            heard += 1;
        }
        assert_eq!(heard, 10);
        assert!(said.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_line_larger_than_all_that_may_wait_is_read_alone() {
        let (read, mut incoming) = mpsc::channel(WAITING);
        let line = format!("{:?}\n", "x".repeat(4_000));
        read_lines(line.as_bytes(), read, LONGEST, 1_000).await;
        assert_eq!(
            incoming.recv().await.map(|(text, _)| text.len()),
            Some(4_003)
        );
    }
}
