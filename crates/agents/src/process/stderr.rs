//! What agents say on standard error: the last words of each process, for
//! messages about that process and no other, and a file of each agent that does
//! not grow beyond a limit, for whoever looks for the cause of something.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::ChildStderr;
use tokio::sync::mpsc;

use crate::private;

/// How many lines of a process are quoted, and how much of each.
const QUOTED_LINES: usize = 3;
const QUOTED_CHARS: usize = 300;

/// The longest part of a line that is kept.
const LINE_BYTES: u64 = 4 * 1024;

/// A file that is larger begins anew; the one before is kept as `.1`.
const FILE_BYTES: u64 = 256 * 1024;

/// The log of one agent. Several processes of it may write to the same.
#[derive(Debug)]
pub(crate) struct StderrLog {
    path: Option<PathBuf>,
    open: Mutex<Option<(File, u64)>>,
}

/// The last lines of one process.
#[derive(Debug, Default)]
pub(super) struct LastWords {
    lines: Mutex<VecDeque<String>>,
    listener: Mutex<Option<mpsc::Sender<String>>>,
    /// The lines that come are those of a stack in Python, which are indented.
    in_traceback: AtomicBool,
}

impl LastWords {
    pub(super) fn add(&self, line: &str) {
        if self.is_in_traceback(line) || is_of_a_stack(line.trim()) {
            return;
        }
        let listener = self.listener.lock();
        if let Some(listener) = &*listener.unwrap_or_else(PoisonError::into_inner) {
            // Whoever does not keep up misses something.
            let _ = listener.try_send(line.trim().to_owned());
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == QUOTED_LINES {
            lines.pop_front();
        }
        lines.push_back(quoted(line.trim()));
    }

    fn is_in_traceback(&self, line: &str) -> bool {
        let begins = line.trim() == "Traceback (most recent call last):";
        let goes_on = self.in_traceback.load(Ordering::Relaxed) && line.starts_with([' ', '\t']);
        self.in_traceback
            .store(begins || goes_on, Ordering::Relaxed);
        begins || goes_on
    }

    pub(super) fn listen(&self, listener: mpsc::Sender<String>) {
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = Some(listener);
    }

    /// All of them as one line, for a message to people; nothing if the process
    /// said nothing.
    pub(super) fn quoted(&self) -> Option<String> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = lines.make_contiguous();
        (!lines.is_empty()).then(|| lines.join(" / "))
    }
}

/// Whether a line says where in a program something happened, and not what. It
/// is in the log.
fn is_of_a_stack(line: &str) -> bool {
    let is_place = |rest: &str| {
        let place = rest.trim_end_matches(')');
        let mut numbers = place.rsplit(':').take(2);
        let ends_in_numbers = numbers.all(|it| !it.is_empty() && it.parse::<u32>().is_ok());
        ends_in_numbers || rest.ends_with("(<anonymous>)") || rest.ends_with("(native)")
    };
    let javascript = line.strip_prefix("at ").is_some_and(is_place);
    let python = line.starts_with("File \"") && line.contains(", line ");
    let mark = !line.is_empty() && line.chars().all(|it| matches!(it, '^' | '~' | ' '));
    javascript || python || mark || line.starts_with("Node.js v")
}

/// A line as a part of a sentence, without what only a terminal understands.
fn quoted(line: &str) -> String {
    let plain = anstream::adapter::strip_str(line).to_string();
    let line: String = plain.chars().filter(|c| !c.is_control()).collect();
    match line.char_indices().nth(QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Hears all lines that are not empty, to the end; longer ones come in pieces.
pub(crate) async fn each_line(
    pipe: impl AsyncRead + Unpin,
    longest: u64,
    mut heard: impl FnMut(&str),
) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut limited = (&mut reader).take(longest);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end();
                if !text.is_empty() {
                    heard(text);
                }
            }
        }
    }
}

impl StderrLog {
    pub(crate) fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            open: Mutex::default(),
        }
    }

    /// That of an agent, in the directory where things are kept.
    pub(crate) fn of(provider: &str, directory: Option<&Path>) -> Self {
        Self::new(directory.map(|directory| directory.join(format!("{provider}.log"))))
    }

    /// Takes in all that a process says, until it says no more.
    pub(super) async fn collect(self: Arc<Self>, pipe: ChildStderr, last: Arc<LastWords>) {
        each_line(pipe, LINE_BYTES, |line| {
            last.add(line);
            self.append(line);
        })
        .await;
    }

    /// A log that cannot be written is not a reason to stop anything.
    fn append(&self, line: &str) {
        let Some(path) = &self.path else {
            return;
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.as_ref().is_some_and(|(_, size)| *size > FILE_BYTES) {
            *open = None;
            let _ = std::fs::rename(path, path.with_extension("log.1"));
        }
        if open.is_none() {
            if let Some(directory) = path.parent() {
                let _ = private::create_directory(directory);
            }
            let file = private::file().append(true).open(path);
            let sized = file.and_then(|file| Ok((file.metadata()?.len(), file)));
            *open = sized.ok().map(|(size, file)| (file, size));
        }
        if let Some((file, size)) = &mut *open {
            *size += line.len() as u64 + 1;
            let _ = writeln!(file, "{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_stays_within_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("logs").join("agent.log");
        let log = StderrLog::new(Some(path.clone()));
        let line = "x".repeat(1_000);
        for _ in 0..1_000 {
            log.append(&line);
        }
        let size = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert!(size(&path) <= FILE_BYTES + 2_000);
        assert!(size(&path.with_extension("log.1")) <= FILE_BYTES + 2_000);
    }

    #[test]
    fn a_stack_is_not_quoted() {
        let last = LastWords::default();
        for line in [
            "/opt/agent/index.js:12",
            "    throw new Error('no key');",
            "          ^",
            "Error: no key",
            "    at start (/opt/agent/index.js:12:11)",
            "    at async file:///opt/agent/cli.mjs:3:1",
            "    at new Promise (<anonymous>)",
            "Node.js v24.1.0",
            "  File \"/opt/agent.py\", line 3, in main",
            "at last: the end",
        ] {
            last.add(line);
        }
        let expected = "throw new Error('no key'); / Error: no key / at last: the end";
        assert_eq!(last.quoted().as_deref(), Some(expected));
    }

    #[test]
    fn a_stack_in_python_is_neither_quoted_nor_passed_on() {
        let last = LastWords::default();
        let (listener, mut heard) = mpsc::channel(8);
        last.listen(listener);
        for line in [
            "Traceback (most recent call last):",
            "  File \"/opt/agent.py\", line 3, in main",
            "    yield",
            "    ~~~~^",
            "ConnectError: no network",
            "  where: here",
        ] {
            last.add(line);
        }
        let expected = "ConnectError: no network / where: here";
        assert_eq!(last.quoted().as_deref(), Some(expected));
        let mut told = Vec::new();
        while let Ok(line) = heard.try_recv() {
            told.push(line);
        }
        assert_eq!(told.join(" / "), expected);
    }

    #[test]
    fn the_last_three_lines_of_a_process_are_quoted_and_long_ones_cut() {
        let last = LastWords::default();
        assert_eq!(last.quoted(), None);
        for line in ["one", " two ", &"ü".repeat(1_000), "four"] {
            last.add(line);
        }
        let expected = format!("two / {}… / four", "ü".repeat(QUOTED_CHARS));
        assert_eq!(last.quoted(), Some(expected));
    }

    #[test]
    fn colours_and_what_else_a_terminal_obeys_are_not_quoted() {
        let last = LastWords::default();
        last.add("\u{1b}]0;owned\u{7}\u{1b}[31mno key\u{1b}[0m\u{8} in \u{9b}2Jhere");
        assert_eq!(last.quoted().as_deref(), Some("no key in 2Jhere"));
    }
}
