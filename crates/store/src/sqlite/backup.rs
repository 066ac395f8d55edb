//! Copies of the database: made while a host runs or while none does, checked,
//! and put back.
//!
//! *Invariants*: a copy appears under its name wholly and sound, or not at all,
//! and replaces nothing. Whenever putting one back is interrupted, the database
//! is the one before or the one after, never a mixture.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use innkeeper_protocol::{Seq, Timestamp};
use rusqlite::Connection;
use tempfile::NamedTempFile;

use super::bookmark::Bookmark;
use super::looking::{open_file, side_file};
use super::sequence::{integer, reached};
use super::{directory, schema};
use crate::StoreError;

/// Where the host itself puts copies, in the data directory.
pub const BACKUPS_DIRECTORY: &str = "backups";

/// How many copies of each kind it keeps there.
const KEPT: usize = 3;

/// The kinds, which are the ends of their names.
const BEFORE_UPGRADE: &str = "before-upgrade";
const BEFORE_RESTORE: &str = "before-restore";
/// What was saved of a database that somebody removed. These are never deleted.
const RESCUE: &str = "rescue";

/// The numbers of actions that were given out after a copy was made are not
/// known to it. Nobody gives out as many between two copies.
const NUMBERS_AHEAD: u64 = 1_000_000_000;

/// What a copy holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// Without those that were deleted and can still be restored.
    pub sessions: u64,
    pub bytes: u64,
}

/// What became of a data directory into which a copy was put.
#[derive(Debug)]
pub struct Restored {
    pub contents: Contents,
    /// Where what was there before is now.
    pub replaced: Option<PathBuf>,
}

/// Copies the database of a data directory to a new file, whether or not a host
/// runs on it.
pub fn backup(dir: &Path, to: &Path) -> Result<Contents, StoreError> {
    let source = directory::connect_read_only(dir)?;
    if schema::version(&source)? == 0 {
        return Err(StoreError::Missing {
            dir: dir.to_owned(),
        });
    }
    copy(&source, to)
}

/// Puts a copy in the place of the database of a data directory, on which no
/// host may run. What is there is copied before that.
pub fn restore(dir: &Path, file: &Path, now: Timestamp) -> Result<Restored, StoreError> {
    let source = open_file(file)?;
    check_is_ours(&source, file)?;
    let _lock = directory::claim(dir)?;
    // While nothing has been touched: the disk may be full.
    let new = copy_within(&source, dir)?;
    let contents = examined(new.path())?;
    let current = dir.join(directory::DATABASE_FILE);
    let mut replaced = None;
    let mut reached = Bookmark::read(dir).map_or(Seq::ZERO, |noted| noted.reached());
    if current
        .try_exists()
        .map_err(|source| directory_error(dir, source))?
    {
        let kept = keep_current(dir, &current, now)?;
        reached = reached.max(kept.reached);
        replaced = Some(kept.at);
    }
    go_beyond(new.path(), reached)?;
    let put = || -> io::Result<()> {
        // First, as it is not about the new one. It is empty by now, or copied.
        for suffix in ["-wal", "-shm"] {
            match fs::remove_file(side_file(&current, suffix)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        // Nor is this.
        Bookmark::remove(dir)?;
        new.as_file().sync_all()?;
        new.persist(&current)?;
        File::open(dir)?.sync_all()
    };
    put().map_err(|source| directory_error(dir, source))?;
    Ok(Restored { contents, replaced })
}

/// Copies a database that is about to be brought to another version.
pub(super) fn before_upgrade(
    connection: &Connection,
    dir: &Path,
    now: Timestamp,
) -> Result<(), StoreError> {
    let found = schema::version(connection)?;
    if found == 0 || found >= schema::VERSION {
        return Ok(());
    }
    let to = new_name(dir, now, BEFORE_UPGRADE)?;
    copy(connection, &to)?;
    tracing::info!(copy = %to.display(), "the database is upgraded; this is how it was");
    remove_old(dir, BEFORE_UPGRADE)
}

/// What was in the place of a copy.
struct Kept {
    at: PathBuf,
    /// The last number that was given out, as far as that is known.
    reached: Seq,
}

fn keep_current(dir: &Path, current: &Path, now: Timestamp) -> Result<Kept, StoreError> {
    let at = new_name(dir, now, BEFORE_RESTORE)?;
    let kept = Connection::open(current)
        .map_err(StoreError::from)
        .and_then(|connection| {
            copy(&connection, &at)?;
            // From here on its write-ahead log is not needed.
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(reached(&connection).unwrap_or(Seq::ZERO))
        });
    let kept = match kept {
        Ok(reached) => Kept { at, reached },
        // It is damaged: as it is, it may still be of use to somebody.
        Err(
            StoreError::Damaged(_) | StoreError::DamagedCopy { .. } | StoreError::NotOurs { .. },
        ) => {
            for suffix in ["", "-wal"] {
                let (from, to) = (side_file(current, suffix), side_file(&at, suffix));
                let copied = fs::copy(from, &to).and_then(|_| File::open(to)?.sync_all());
                match copied {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    copied => copied.map_err(|source| directory_error(dir, source))?,
                }
            }
            let reached = Seq::ZERO;
            Kept { at, reached }
        }
        Err(error) => return Err(error),
    };
    remove_old(dir, BEFORE_RESTORE)?;
    Ok(kept)
}

/// Numbers that clients may have seen are not given out again.
fn go_beyond(file: &Path, reached: Seq) -> Result<(), StoreError> {
    let connection = Connection::open(file)?;
    let beyond = self::reached(&connection)?.max(reached).get() + NUMBERS_AHEAD;
    connection.execute(
        "UPDATE sequence SET reserved = ?1",
        [integer(Seq::new(beyond))],
    )?;
    Ok(())
}

/// Copies a database to a new file.
pub(super) fn copy(source: &Connection, to: &Path) -> Result<Contents, StoreError> {
    let exists = || StoreError::Exists {
        file: to.to_owned(),
    };
    if to.symlink_metadata().is_ok() {
        return Err(exists());
    }
    let parent = match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let copy = copy_within(source, parent)?;
    let contents = examined(copy.path())?;
    let failed = |source| StoreError::NoCopy {
        dir: parent.to_owned(),
        reason: io::Error::to_string(&source),
    };
    copy.as_file().sync_all().map_err(failed)?;
    match copy.persist_noclobber(to) {
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => return Err(exists()),
        persisted => persisted.map_err(|error| failed(error.error))?,
    };
    File::open(parent)
        .and_then(|parent| parent.sync_all())
        .map_err(failed)?;
    Ok(contents)
}

/// A copy that goes again unless it is given a name. Only this user can read
/// it.
fn copy_within(source: &Connection, dir: &Path) -> Result<NamedTempFile, StoreError> {
    let failed = |reason| StoreError::NoCopy {
        dir: dir.to_owned(),
        reason,
    };
    let dir = std::path::absolute(dir).map_err(|error| failed(error.to_string()))?;
    let copy = tempfile::Builder::new()
        .prefix(PARTIAL_PREFIX)
        .tempfile_in(dir)
        .map_err(|error| failed(error.to_string()))?;
    let Some(path) = copy.path().to_str() else {
        return Err(failed("its name is not UTF-8".to_owned()));
    };
    let copied = source.execute("VACUUM INTO ?1", [path]);
    copied.map_err(|error| match StoreError::from(error) {
        damaged @ StoreError::Damaged(_) => damaged,
        StoreError::Full(_) => failed("the disk is full".to_owned()),
        other => failed(other.to_string()),
    })?;
    Ok(copy)
}

/// How the names of copies begin that are not finished.
pub const PARTIAL_PREFIX: &str = ".innkeeper-copy-";

/// Looks through a whole copy.
fn examined(file: &Path) -> Result<Contents, StoreError> {
    let connection = open_file(file)?;
    check_is_ours(&connection, file)?;
    let sql = "SELECT count(*) FROM session WHERE disposed_at IS NULL";
    let sessions: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    let bytes = fs::metadata(file).map_or(0, |found| found.len());
    Ok(Contents {
        sessions: u64::try_from(sessions).unwrap_or(0),
        bytes,
    })
}

/// Whether this is a sound database of a version that is known here.
fn check_is_ours(connection: &Connection, file: &Path) -> Result<(), StoreError> {
    let file = || file.to_owned();
    let damaged = |found: String| StoreError::DamagedCopy {
        file: file(),
        found,
    };
    let sql = "SELECT count(*) FROM sqlite_schema
               WHERE type = 'table' AND name IN ('session', 'chat', 'turn', 'log', 'sequence')";
    let tables = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let tables = tables.map_err(|error| match StoreError::from(error) {
        StoreError::Damaged(error) => match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => StoreError::NotOurs { file: file() },
            _ => damaged(error.to_string()),
        },
        other => other,
    })?;
    let (found, known) = (schema::version(connection)?, schema::VERSION);
    if found > known {
        return Err(StoreError::Newer { found, known });
    }
    if found < 1 || tables < 5 {
        return Err(StoreError::NotOurs { file: file() });
    }
    let sql = "PRAGMA integrity_check(1)";
    match connection.query_row(sql, [], |row| row.get::<_, String>(0)) {
        Ok(said) if said == "ok" => Ok(()),
        Ok(said) => Err(damaged(said)),
        Err(error) => Err(damaged(error.to_string())),
    }
}

/// A name for a copy that the host itself makes: they sort by time.
fn new_name(dir: &Path, now: Timestamp, kind: &str) -> Result<PathBuf, StoreError> {
    let backups = dir.join(BACKUPS_DIRECTORY);
    directory::create_private(&backups).map_err(|source| directory_error(&backups, source))?;
    Ok(unused(&backups, "", now, kind))
}

/// A name in the data directory for what is saved of a database.
pub(super) fn rescue_name(dir: &Path, now: Timestamp) -> Result<PathBuf, StoreError> {
    new_name(dir, now, RESCUE)
}

/// The same, where the data directory is gone: anywhere else.
pub(super) fn free_name(dir: &Path, prefix: &str, now: Timestamp) -> PathBuf {
    unused(dir, prefix, now, RESCUE)
}

fn unused(dir: &Path, prefix: &str, now: Timestamp, kind: &str) -> PathBuf {
    let time = now.to_string().replace(':', "-");
    let names = (1_u32..).map(|number| match number {
        1 => dir.join(format!("{prefix}{time}-{kind}.db")),
        _ => dir.join(format!("{prefix}{time}-{number}-{kind}.db")),
    });
    let mut free = names.filter(|name| name.symlink_metadata().is_err());
    free.next().unwrap_or_else(|| dir.to_owned())
}

/// Of the copies that the host itself made, all but the last few of a kind go.
fn remove_old(dir: &Path, kind: &str) -> Result<(), StoreError> {
    let backups = dir.join(BACKUPS_DIRECTORY);
    let failed = |source| directory_error(&backups, source);
    let end = format!("-{kind}.db");
    let mut copies = Vec::new();
    for entry in fs::read_dir(&backups).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(&end) {
            copies.push(path);
        }
    }
    copies.sort();
    for old in copies.iter().rev().skip(KEPT) {
        fs::remove_file(old).map_err(failed)?;
    }
    Ok(())
}

fn directory_error(dir: &Path, source: io::Error) -> StoreError {
    StoreError::Directory {
        dir: dir.to_owned(),
        source,
    }
}
