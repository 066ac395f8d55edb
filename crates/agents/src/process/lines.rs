//! Lines of JSON to and from a child process.
//!
//! *Invariant*: records end at a line feed and nowhere else; what is no JSON is
//! handed on as text, and a line beyond all measure is cut off, so that no
//! program can make the host grow.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The longest line that is read as one: a large file in one message fits.
const LONGEST: u64 = 64 * 1024 * 1024;

/// Lines that wait to be looked at. Beyond, the program has to wait.
const WAITING: usize = 256;

/// What a program said on one line.
#[derive(Debug)]
pub(crate) enum Line {
    Json(Value),
    /// Something that is no JSON, shortened.
    Noise(String),
}

#[derive(Debug)]
pub(crate) struct JsonLines {
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    incoming: mpsc::Receiver<Line>,
    _tasks: [Aborted; 2],
}

impl JsonLines {
    pub(super) fn new(stdin: ChildStdin, stdout: ChildStdout) -> Self {
        let (outgoing, to_write) = mpsc::unbounded_channel();
        let (read, incoming) = mpsc::channel(WAITING);
        Self {
            outgoing,
            incoming,
            _tasks: [
                Aborted(tokio::spawn(write_lines(stdin, to_write))),
                Aborted(tokio::spawn(read_lines(stdout, read))),
            ],
        }
    }

    /// What the program says next; `None` when it has closed its output.
    /// Waiting may be given up at any time without losing a line.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        self.incoming.recv().await
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

async fn read_lines(stdout: ChildStdout, lines: mpsc::Sender<Line>) {
    let mut reader = BufReader::new(stdout);
    let mut buffer = Vec::new();
    let mut in_the_middle = false;
    loop {
        buffer.clear();
        let mut limited = (&mut reader).take(LONGEST);
        match limited.read_until(b'\n', &mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let rest_of_a_long_one = in_the_middle;
        in_the_middle = buffer.last() != Some(&b'\n');
        if rest_of_a_long_one || buffer.trim_ascii().is_empty() {
            continue;
        }
        if lines.send(understood(&buffer)).await.is_err() {
            return;
        }
    }
}

fn understood(line: &[u8]) -> Line {
    const SHOWN: usize = 200;
    match serde_json::from_slice(line) {
        Ok(json) => Line::Json(json),
        Err(_) => {
            let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
            Line::Noise(text.trim().to_owned())
        }
    }
}
