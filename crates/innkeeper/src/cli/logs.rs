//! `innkeeper logs`: the last lines of the host's log, and those to come.
//!
//! *Invariant*: whoever follows the log sees every line once, also when the
//! file is rotated.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;

use super::place::PlaceArgs;
use super::{Outcome, log_file, print, text};

/// How often a log is looked at that is followed.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How much of a log is read at once.
const PIECE: u64 = 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Keep printing new lines
    #[arg(short, long)]
    follow: bool,
    /// Number of lines to print
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    lines: usize,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) async fn logs(args: LogsArgs) -> Outcome {
    let data_dir = args.place.data_dir()?;
    let files = log_file::all_in(&data_dir);
    if files.is_empty() && !args.follow {
        return Err(anyhow!(
            "{} has no log yet; a host writes one when it runs",
            data_dir.display()
        )
        .into());
    }
    let path = log_file::path_in(&data_dir);
    let older: Vec<&PathBuf> = files.iter().filter(|file| **file != path).collect();
    let mut newest = Growing::new(path);
    let mut now = Vec::new();
    loop {
        let more = newest.more().with_context(|| unread(&newest.path))?;
        if more.is_empty() {
            break;
        }
        now.extend(more);
    }
    print(&last_lines(&older, now, args.lines)?)?;
    if args.follow {
        follow(newest).await?;
    }
    Ok(())
}

/// Prints what is added, as long as somebody reads it.
async fn follow(mut log: Growing) -> Outcome {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        let more = log.more().with_context(|| unread(&log.path))?;
        let shown = text::printable(&String::from_utf8_lossy(&more));
        let mut out = io::stdout().lock();
        let written = out.write_all(shown.as_bytes()).and_then(|()| out.flush());
        if written.is_err() {
            return Ok(());
        }
    }
}

fn unread(path: &Path) -> String {
    format!("the log {} cannot be read", path.display())
}

/// The last lines of older files and of what the newest one held.
fn last_lines(older: &[&PathBuf], newest: Vec<u8>, most: usize) -> Result<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut text = newest;
    let mut older = older.iter().rev();
    loop {
        let left = most - lines.len();
        let last = String::from_utf8_lossy(&text).into_owned();
        lines.extend(last.lines().rev().take(left).map(text::printable));
        let Some(file) = older.next().filter(|_| lines.len() < most) else {
            break;
        };
        text = std::fs::read(file).with_context(|| unread(file))?;
    }
    lines.reverse();
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}

/// A file that is appended to, and replaced by another one now and then.
#[derive(Debug)]
struct Growing {
    path: PathBuf,
    file: Option<File>,
}

impl Growing {
    fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// Whole lines that were added since the last call; nothing if there are
    /// none yet. What a file held to its end comes before what is in the next.
    fn more(&mut self) -> io::Result<Vec<u8>> {
        if let Some(file) = &mut self.file {
            let lines = next_lines(file)?;
            if !lines.is_empty() || is_at(&self.path, file)? {
                return Ok(lines);
            }
            // The last lines may have come before it was replaced.
            let lines = next_lines(file)?;
            if !lines.is_empty() {
                return Ok(lines);
            }
        }
        self.file = match File::open(&self.path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        self.file.as_mut().map_or(Ok(Vec::new()), next_lines)
    }
}

/// Whether a path still leads to an open file.
fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    let open = file.metadata()?;
    // Between two files there may be none.
    let found = std::fs::metadata(path);
    Ok(found.map_or(true, |found| {
        (found.dev(), found.ino()) == (open.dev(), open.ino())
    }))
}

/// Reads on, as far as there are whole lines.
fn next_lines(file: &mut File) -> io::Result<Vec<u8>> {
    let place = file.stream_position()?;
    if file.metadata()?.len() < place {
        // Somebody emptied it.
        file.rewind()?;
    }
    let mut piece = Vec::new();
    io::Read::by_ref(file).take(PIECE).read_to_end(&mut piece)?;
    let whole = piece.iter().rposition(|byte| *byte == b'\n');
    let whole = match whole {
        Some(end) => end + 1,
        // A line longer than any that a host writes.
        None if piece.len() as u64 == PIECE => piece.len(),
        None => 0,
    };
    let rest = i64::try_from(piece.len() - whole).unwrap_or(0);
    file.seek(io::SeekFrom::Current(-rest))?;
    piece.truncate(whole);
    Ok(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(path: &Path, text: &str) {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.create(true).append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn more(growing: &mut Growing) -> String {
        String::from_utf8(growing.more().unwrap()).unwrap()
    }

    #[test]
    fn the_last_lines_come_from_as_many_files_as_it_takes() {
        let home = tempfile::tempdir().unwrap();
        let old = home.path().join("old");
        append(&old, "1\n2\n3\n");
        let last = |most| {
            let newest = b"4\n\x1b[31m5\n".to_vec();
            last_lines(&[&old], newest, most).unwrap()
        };
        assert_eq!(last(0), "");
        assert_eq!(last(1), "[31m5\n");
        assert_eq!(last(3), "3\n4\n[31m5\n");
        assert_eq!(last(10).lines().count(), 5);
    }

    #[test]
    fn a_log_that_is_followed_loses_no_line_when_it_is_rotated() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        let mut growing = Growing::new(path.clone());
        assert_eq!(more(&mut growing), "", "there is none yet");
        append(&path, "1\n2\n");
        assert_eq!(more(&mut growing), "1\n2\n");
        append(&path, "3\n");
        std::fs::rename(&path, home.path().join("log.1")).unwrap();
        append(&path, "4\n");
        assert_eq!(more(&mut growing), "3\n");
        assert_eq!(more(&mut growing), "4\n");
        assert_eq!(more(&mut growing), "");
        std::fs::write(&path, "").unwrap();
        assert_eq!(more(&mut growing), "", "it was emptied");
        append(&path, "5\n");
        assert_eq!(more(&mut growing), "5\n");
    }

    #[test]
    fn a_line_that_is_being_written_waits_for_its_end() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        let mut growing = Growing::new(path.clone());
        append(&path, "1\nhalf");
        assert_eq!(more(&mut growing), "1\n");
        append(&path, " a line\n");
        assert_eq!(more(&mut growing), "half a line\n");
        let long = "é".repeat(700_000);
        append(&path, &format!("{long}\n"));
        let mut whole = growing.more().unwrap();
        whole.extend(growing.more().unwrap());
        assert_eq!(String::from_utf8(whole).unwrap(), format!("{long}\n"));
    }
}
