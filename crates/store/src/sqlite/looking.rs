//! Connections that can only look, and what can be learned of a database
//! without changing anything.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::directory;
use crate::StoreError;

const LOOKING: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// How much room a database takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Of the file, the write-ahead log not included.
    pub bytes: u64,
    /// How much of it holds nothing.
    pub free: u64,
}

/// How much room the database of a data directory takes.
pub fn room(dir: &Path) -> Result<Room, StoreError> {
    room_of(&directory::connect_read_only(dir)?)
}

pub(super) fn room_of(connection: &Connection) -> Result<Room, StoreError> {
    let ask = |name: &str| -> Result<u64, StoreError> {
        let number: i64 = connection.pragma_query_value(None, name, |row| row.get(0))?;
        Ok(u64::try_from(number).unwrap_or(0))
    };
    let page = ask("page_size")?;
    Ok(Room {
        bytes: ask("page_count")? * page,
        free: ask("freelist_count")? * page,
    })
}

/// Looks through the database of a data directory; says what is wrong with it.
pub fn check_soundness(dir: &Path) -> Result<(), StoreError> {
    let connection = directory::connect_read_only(dir)?;
    let said = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
    let unsound = |found| StoreError::Unsound {
        file: dir.join(directory::DATABASE_FILE),
        found,
    };
    match said {
        Ok(said) if said == "ok" => Ok(()),
        Ok(said) => Err(unsound(said)),
        Err(error) => Err(match StoreError::from(error) {
            StoreError::Damaged(error) => unsound(error.to_string()),
            other => other,
        }),
    }
}

/// A database to look into, wherever it is.
///
/// What a host is writing has a write-ahead log next to it, which takes files
/// that can be written. Where there is none, the file alone is all there is: so
/// a copy can be read on a disk that cannot be written, and nothing is left
/// next to it.
pub(super) fn open_file(file: &Path) -> Result<Connection, StoreError> {
    // Said here, where it is known why.
    let not_read = |source| StoreError::NotRead {
        file: file.to_owned(),
        source,
    };
    // Opening a pipe would wait for whoever writes to it.
    if !fs::metadata(file).map_err(not_read)?.is_file() {
        let file = file.to_owned();
        return Err(StoreError::NotOurs { file });
    }
    fs::File::open(file).map_err(not_read)?;
    let log = fs::metadata(side_file(file, "-wal"));
    match log.is_ok_and(|log| log.len() > 0) {
        true => Ok(Connection::open_with_flags(file, LOOKING)?),
        false => open_as_it_is(file),
    }
}

/// A connection that looks into the database of a host that may be running; or
/// if files cannot be written there, so that none can be, as it is.
pub(super) fn open_live(file: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(file, LOOKING)?;
    let looked = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    match looked {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
            let log = fs::metadata(side_file(file, "-wal"));
            match log.is_ok_and(|log| log.len() > 0) {
                true => Err(StoreError::LogNotRead {
                    file: file.to_owned(),
                }),
                false => open_as_it_is(file),
            }
        }
        // Whoever asks for something is told.
        _ => Ok(connection),
    }
}

/// SQLite is told that nobody writes: it takes no locks and needs no log.
fn open_as_it_is(file: &Path) -> Result<Connection, StoreError> {
    let mut uri = "file:".to_owned();
    let path = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    for byte in std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags = LOOKING | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(uri, flags)?)
}

/// The file that SQLite keeps next to a database.
pub(super) fn side_file(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
