//! Lines of JSON to and from a child process.
//!
//! *Invariant*: records end at a line feed and nowhere else; what is no JSON is
//! handed on as text; a line beyond all measure is cut off, and what waits to
//! be looked at is bounded in number and in bytes, so that no program can make
//! the host grow. Nor can one that asks and does not read the answers: it is
//! not heard while too much waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
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

/// The bytes that wait for a program to read them. Beyond, it is not heard. A
/// prompt with all that may be attached to it is less.
const UNREAD_BYTES: usize = 64 * 1024 * 1024;

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
    outgoing: LineWriter,
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
        stdin: impl AsyncWrite + Unpin + Send + 'static,
        stdout: impl AsyncRead + Unpin + Send + 'static,
        longest: u64,
        noise: Arc<LastWords>,
    ) -> Self {
        let (to, to_write) = mpsc::unbounded_channel();
        let unread = Arc::new(Unread::default());
        let written = Written(Arc::clone(&unread));
        let (read, incoming) = mpsc::channel(WAITING);
        Self {
            outgoing: LineWriter { to, unread },
            incoming,
            longest,
            noise,
            _tasks: [
                Aborted(tokio::spawn(write_lines(stdin, to_write, written))),
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
        self.outgoing.unread.at_most(UNREAD_BYTES).await;
        let (line, _share) = self.incoming.recv().await?;
        let line = understood(&line, self.longest);
        if let Line::Noise(text) = &line {
            self.noise.add(text);
        }
        Some(line)
    }

    /// Where others may write lines to the program.
    pub(crate) fn writer(&self) -> LineWriter {
        self.outgoing.clone()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct LineWriter {
    to: mpsc::UnboundedSender<Vec<u8>>,
    unread: Arc<Unread>,
}

impl LineWriter {
    /// Writes a line, without waiting. One that the program is not there to
    /// read any more is dropped: its end is noticed elsewhere.
    pub(crate) fn write(&self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        // Counted first: it may be written before this goes on.
        self.unread.bytes.fetch_add(line.len(), Ordering::AcqRel);
        let _ = self.to.send(line);
    }

    /// One for tests, with what is written.
    #[cfg(test)]
    pub(crate) fn with_lines() -> (Self, mpsc::UnboundedReceiver<Vec<u8>>) {
        let (to, lines) = mpsc::unbounded_channel();
        let unread = Arc::default();
        (Self { to, unread }, lines)
    }

    /// Waits until so much was read that the program is heard.
    pub(crate) async fn has_room(&self) {
        self.unread.at_most(UNREAD_BYTES).await;
    }

    /// Whether so much waits to be read that the program is not heard.
    pub(crate) fn is_behind(&self) -> bool {
        self.unread.bytes.load(Ordering::Acquire) > UNREAD_BYTES
    }
}

/// What was said to a program that has not read it.
#[derive(Debug, Default)]
struct Unread {
    bytes: AtomicUsize,
    /// The program reads nothing any more.
    is_over: AtomicBool,
    /// It has become less.
    less: Notify,
}

impl Unread {
    async fn at_most(&self, bytes: usize) {
        loop {
            let mut less = std::pin::pin!(self.less.notified());
            // From here on, none is missed.
            less.as_mut().enable();
            let is_over = self.is_over.load(Ordering::Acquire);
            if is_over || self.bytes.load(Ordering::Acquire) <= bytes {
                return;
            }
            less.await;
        }
    }
}

/// Says what was written; when it goes, nothing will be any more.
struct Written(Arc<Unread>);

impl Written {
    fn bytes(&self, bytes: usize) {
        self.0.bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.0.less.notify_waiters();
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.less.notify_waiters();
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

async fn write_lines(
    mut stdin: impl AsyncWrite + Unpin,
    mut lines: mpsc::UnboundedReceiver<Vec<u8>>,
    written: Written,
) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() {
            return;
        }
        written.bytes(line.len());
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
    // A long address fits.
    const SHOWN: usize = 4 * 1024;
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

    /// Asks in lines of a MiB, and has each answered by one that is as long.
    async fn a_program_that_asks(reads: bool) -> usize {
        const MIB: usize = 1024 * 1024;
        let (stdin, mut answers) = tokio::io::duplex(MIB);
        let (mut asks, stdout) = tokio::io::duplex(MIB);
        let mut lines = JsonLines::new(stdin, stdout, LONGEST, Arc::default());
        let asking = tokio::spawn(async move {
            let ask = format!("{:?}\n", "x".repeat(MIB - 3));
            for _ in 0..100 {
                let _ = asks.write_all(ask.as_bytes()).await;
            }
        });
        let reading = tokio::spawn(async move {
            if reads {
                let _ = tokio::io::copy(&mut answers, &mut tokio::io::sink()).await;
            } else {
                std::future::pending::<()>().await;
            }
        });
        let writer = lines.writer();
        let mut heard = 0;
        let patience = Duration::from_secs(1);
        while let Ok(Some(Line::Json(ask))) = tokio::time::timeout(patience, lines.next()).await {
            writer.write(&ask);
            heard += 1;
        }
        reading.abort();
        asking.abort();
        heard
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_does_not_read_what_it_asks_for_is_not_heard() {
        assert_eq!(a_program_that_asks(true).await, 100);
        let most = UNREAD_BYTES / (1024 * 1024) + 2;
        assert!(a_program_that_asks(false).await <= most);
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_has_closed_its_input_is_heard_to_the_end() {
        let (stdin, closed) = tokio::io::duplex(16);
        drop(closed);
        let mut lines = JsonLines::new(stdin, &b"1\n2\n"[..], LONGEST, Arc::default());
        let writer = lines.writer();
        writer.unread.bytes.store(UNREAD_BYTES, Ordering::Release);
        writer.write(&Value::Null);
        assert!(matches!(lines.next().await, Some(Line::Json(_))));
        assert!(matches!(lines.next().await, Some(Line::Json(_))));
        assert!(lines.next().await.is_none());
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
