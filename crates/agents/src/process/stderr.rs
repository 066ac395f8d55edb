//! What agents say on standard error: the last of it in memory, for messages,
//! and a file that does not grow beyond a limit, for whoever looks for the
//! cause of something.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::ChildStderr;

use crate::private;

/// Lines that are remembered.
const REMEMBERED: usize = 40;

/// The longest part of a line that is kept.
const LINE_BYTES: u64 = 4 * 1024;

/// A file that is larger begins anew; the one before is kept as `.1`.
const FILE_BYTES: u64 = 256 * 1024;

/// The log of one agent. Several processes of it may write to the same.
#[derive(Debug)]
pub(crate) struct StderrLog {
    file: Option<PathBuf>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<String>,
    open: Option<(File, u64)>,
}

impl StderrLog {
    pub(crate) fn new(file: Option<PathBuf>) -> Self {
        Self {
            file,
            kept: Mutex::default(),
        }
    }

    /// That of an agent, in the directory where things are kept.
    pub(crate) fn of(provider: &str, directory: Option<&Path>) -> Self {
        Self::new(directory.map(|directory| directory.join(format!("{provider}.log"))))
    }

    /// Takes in all that a process says, until it says no more.
    pub(super) async fn collect(self: Arc<Self>, pipe: ChildStderr) {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut limited = (&mut reader).take(LINE_BYTES);
            match limited.read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => self.add(String::from_utf8_lossy(&line).trim_end()),
            }
        }
    }

    fn add(&self, line: &str) {
        if line.is_empty() {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.lines.len() == REMEMBERED {
            kept.lines.pop_front();
        }
        kept.lines.push_back(line.to_owned());
        self.append(&mut kept, line);
    }

    /// A log that cannot be written is no reason to stop anything.
    fn append(&self, kept: &mut Kept, line: &str) {
        let Some(path) = &self.file else {
            return;
        };
        if kept
            .open
            .as_ref()
            .is_some_and(|(_, size)| *size > FILE_BYTES)
        {
            kept.open = None;
            let _ = std::fs::rename(path, path.with_extension("log.1"));
        }
        if kept.open.is_none() {
            if let Some(directory) = path.parent() {
                let _ = private::create_directory(directory);
            }
            let file = private::file().append(true).open(path);
            let sized = file.and_then(|file| Ok((file.metadata()?.len(), file)));
            kept.open = sized.ok().map(|(size, file)| (file, size));
        }
        if let Some((file, size)) = &mut kept.open {
            *size += line.len() as u64 + 1;
            let _ = writeln!(file, "{line}");
        }
    }

    /// The last few lines as one, for a message to people; empty if it said
    /// nothing.
    pub(crate) fn last_lines(&self) -> String {
        const SHOWN: usize = 3;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let skipped = kept.lines.len().saturating_sub(SHOWN);
        let lines: Vec<&str> = kept.lines.iter().skip(skipped).map(|l| l.trim()).collect();
        lines.join(" / ")
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
            log.add(&line);
        }
        let size = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert!(size(&path) <= FILE_BYTES + 2_000);
        assert!(size(&path.with_extension("log.1")) <= FILE_BYTES + 2_000);
        assert_eq!(log.last_lines().len(), 3 * 1_000 + 2 * 3);
    }
}
