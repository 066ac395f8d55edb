//! Batches that can never be stored, in files of their own next to the database:
//! nothing that anybody said is gone without a trace.
//!
//! There are at most [`MOST_FILES`] of at most [`MOST_BYTES`]; the oldest make
//! room for new ones.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use innkeeper_protocol::record::StoreBatch;

use super::directory::{create_private, private_file};

pub(crate) const DIRECTORY: &str = "set-aside";
const MOST_FILES: usize = 32;
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// Writes a batch, and says where it is.
pub(crate) fn write(dir: &Path, batch: &StoreBatch, reason: &str) -> io::Result<PathBuf> {
    let dir = dir.join(DIRECTORY);
    create_private(&dir)?;
    let files = numbered(&dir)?;
    let next = files.last().map_or(1, |last| last + 1);
    for old in files.iter().rev().skip(MOST_FILES - 1) {
        fs::remove_file(dir.join(name(*old)))?;
    }
    let path = dir.join(name(next));
    let mut file = Capped {
        file: BufWriter::new(private_file().create_new(true).open(&path)?),
        room: MOST_BYTES,
    };
    let about = serde_json::json!({"reason": reason, "sessions": batch.sessions()});
    writeln!(file, "{about}")?;
    match batch.write_lines(&mut file) {
        // The beginning is better than nothing.
        Err(_) if file.room == 0 => {}
        written => written?,
    }
    file.file.flush()?;
    Ok(path)
}

fn name(number: u64) -> String {
    format!("{number:06}.jsonl")
}

/// The numbers of the files that are there, in order.
fn numbered(dir: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for file in fs::read_dir(dir)? {
        let name = file?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
        numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// A file that takes so many bytes and no more.
struct Capped {
    file: BufWriter<File>,
    room: u64,
}

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        if room == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let written = self.file.write(&bytes[..bytes.len().min(room)])?;
        self.room -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use innkeeper_protocol::record::StoreOp;

    #[test]
    fn the_oldest_make_room_for_new_ones() {
        let dir = tempfile::tempdir().unwrap();
        let batch = StoreBatch {
            ops: vec![StoreOp::DeleteChat {
                chat: "c:/1".into(),
            }],
        };
        let mut last = PathBuf::new();
        for _ in 0..MOST_FILES + 3 {
            last = write(dir.path(), &batch, "it does not fit").unwrap();
        }
        let numbers = numbered(&dir.path().join(DIRECTORY)).unwrap();
        assert_eq!(numbers.len(), MOST_FILES);
        assert_eq!(numbers.first(), Some(&4));
        let text = fs::read_to_string(last).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("it does not fit"), "{text}");
        assert_eq!(lines[1], r#"{"op":"deleteChat","chat":"c:/1"}"#);
    }
}
