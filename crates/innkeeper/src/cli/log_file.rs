//! The log in the data directory: a few files, each of a bounded size.
//!
//! *Invariant*: nothing is written before the data directory is known to be
//! the host's; what is logged until then waits. Failing to write a log is never
//! a reason to stop.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

const DIRECTORY: &str = "logs";
const NAME: &str = "innkeeper.log";

/// How large a file grows, and how many older ones are kept.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
const OLDER: u32 = 4;

/// How much may wait until it is known where to write.
const WAITING: usize = 256 * 1024;

/// The log that is written to now.
pub(crate) fn path_in(data_dir: &Path) -> PathBuf {
    data_dir.join(DIRECTORY).join(NAME)
}

/// The one before it, and so on.
fn older(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// All that there are, the oldest first.
pub(crate) fn all_in(data_dir: &Path) -> Vec<PathBuf> {
    let path = path_in(data_dir);
    let older = (1..=OLDER).rev().map(|number| older(&path, number));
    let all = older.chain([path.clone()]);
    all.filter(|path| path.is_file()).collect()
}

/// Clones write to the same file.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogFile(Arc<Mutex<State>>);

#[derive(Debug)]
enum State {
    Waiting(Vec<u8>),
    Open {
        path: PathBuf,
        file: File,
        bytes: u64,
        most: u64,
    },
    /// It cannot be written.
    Closed,
}

impl Default for State {
    fn default() -> Self {
        Self::Waiting(Vec::new())
    }
}

impl LogFile {
    /// Writes what has waited, and from here on everything.
    pub(crate) fn open(&self, data_dir: &Path) -> io::Result<()> {
        self.open_with(data_dir, MOST_BYTES)
    }

    fn open_with(&self, data_dir: &Path, most: u64) -> io::Result<()> {
        let path = path_in(data_dir);
        let mut state = self.lock();
        let opened = opened(&path);
        let waiting = match std::mem::replace(&mut *state, State::Closed) {
            State::Waiting(waiting) => waiting,
            State::Open { .. } | State::Closed => Vec::new(),
        };
        let file = opened?;
        *state = State::Open {
            bytes: file.metadata()?.len(),
            path,
            file,
            most,
        };
        state.write(&waiting);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn write(&mut self, line: &[u8]) {
        match self {
            Self::Waiting(waiting) => {
                if waiting.len() + line.len() <= WAITING {
                    waiting.extend_from_slice(line);
                }
            }
            Self::Open {
                path,
                file,
                bytes,
                most,
            } => {
                if *bytes > 0 && *bytes + line.len() as u64 > *most {
                    rotate(path);
                    if let Ok(next) = opened(path) {
                        (*file, *bytes) = (next, 0);
                    }
                }
                if file.write_all(line).is_ok() {
                    *bytes += line.len() as u64;
                }
            }
            Self::Closed => {}
        }
    }
}

fn opened(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent() {
        let made = fs::DirBuilder::new().mode(0o700).create(directory);
        if let Err(error) = made
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(error);
        }
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path)
}

fn rotate(path: &Path) {
    for number in (1..OLDER).rev() {
        let _ = fs::rename(older(path, number), older(path, number + 1));
    }
    let _ = fs::rename(path, older(path, 1));
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = LineWriter;

    fn make_writer(&'a self) -> Self::Writer {
        LineWriter(self.clone())
    }
}

/// Takes in a line at a time, as the log gives them.
pub(crate) struct LineWriter(LogFile);

impl Write for LineWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().write(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_is_logged_before_the_place_is_known_is_not_lost() {
        let home = tempfile::tempdir().unwrap();
        let log = LogFile::default();
        log.make_writer().write_all(b"early\n").unwrap();
        assert!(all_in(home.path()).is_empty());
        log.open(home.path()).unwrap();
        log.make_writer().write_all(b"late\n").unwrap();
        let path = path_in(home.path());
        assert_eq!(fs::read_to_string(&path).unwrap(), "early\nlate\n");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }

    #[test]
    fn the_files_are_bounded_in_size_and_number() {
        let home = tempfile::tempdir().unwrap();
        let log = LogFile::default();
        log.open_with(home.path(), 100).unwrap();
        for number in 0..1_000 {
            let line = format!("line {number:04}\n");
            log.make_writer().write_all(line.as_bytes()).unwrap();
        }
        let all = all_in(home.path());
        assert_eq!(all.len(), 5);
        let sizes = all.iter().map(|path| fs::metadata(path).unwrap().len());
        assert!(sizes.clone().all(|size| size <= 100));
        let text: String = all
            .iter()
            .map(|path| fs::read_to_string(path).unwrap())
            .collect();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.is_sorted() && lines.last() == Some(&"line 0999"));
    }

    #[test]
    fn a_log_that_cannot_be_written_stops_nobody() {
        let home = tempfile::tempdir().unwrap();
        let log = LogFile::default();
        assert!(log.open(&home.path().join("nowhere")).is_err());
        log.make_writer().write_all(b"lost\n").unwrap();
    }
}
