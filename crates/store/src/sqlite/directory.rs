//! The data directory: its lock, and connections to the database in it.
//!
//! *Invariant*: while a host holds the lock, no other one opens the database
//! for writing. The lock belongs to the open file, so the death of the process
//! ends it; the file itself stays, as deleting it would open a race.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::{StoreError, SyncMode};

pub const DATABASE_FILE: &str = "innkeeper.db";
pub const LOCK_FILE: &str = "innkeeper.lock";

/// Readers never block the writer; this is for the moments in which SQLite
/// recovers or truncates its write-ahead log.
const BUSY: Duration = Duration::from_secs(5);

/// A host that was killed while it started a program leaves its lock with that
/// program, until the program has really begun.
const LAST_OF_THE_DEAD: Duration = Duration::from_secs(5);

/// Creates the directory if it is missing, and takes its lock.
pub(crate) fn claim(dir: &Path) -> Result<File, StoreError> {
    let failed = |source| StoreError::Directory {
        dir: dir.to_owned(),
        source,
    };
    create_private(dir).map_err(failed)?;
    keep_private(dir).map_err(failed)?;
    let mut file = private_file().open(dir.join(LOCK_FILE)).map_err(failed)?;
    let deadline = Instant::now() + LAST_OF_THE_DEAD;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) => {
                let pid = read_pid(&mut file).map_err(failed)?;
                if pid.is_some_and(lives) || Instant::now() >= deadline {
                    let dir = dir.to_owned();
                    return Err(StoreError::InUse { dir, pid });
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    write_pid(&mut file).map_err(failed)?;
    Ok(file)
}

/// Whether there is a process of that number, where the system tells.
fn lives(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// The connection that writes.
pub(crate) fn connect(dir: &Path, sync: SyncMode) -> Result<Connection, StoreError> {
    let path = dir.join(DATABASE_FILE);
    // Made here rather than by SQLite, so that others cannot read it even in a
    // directory that they can. SQLite's side files take over the permissions.
    private_file()
        .open(&path)
        .map_err(|source| StoreError::Directory {
            dir: dir.to_owned(),
            source,
        })?;
    let connection = Connection::open(&path)?;
    connection.busy_timeout(BUSY)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    let sync = match sync {
        SyncMode::Normal => "NORMAL",
        SyncMode::Full => "FULL",
    };
    connection.pragma_update(None, "synchronous", sync)?;
    // Rows are written once and read rarely: a large cache would only be kept.
    connection.pragma_update(None, "cache_size", -512)?;
    // One burst shall not leave a huge write-ahead log behind for ever.
    let keep: i64 = 64 * 1024 * 1024;
    connection.query_row(&format!("PRAGMA journal_size_limit = {keep}"), [], |_| {
        Ok(())
    })?;
    Ok(connection)
}

/// A connection that can only look.
pub(crate) fn connect_read_only(dir: &Path) -> Result<Connection, StoreError> {
    let path = dir.join(DATABASE_FILE);
    // Whoever may not look must not be told that there is nothing.
    let exists = path.try_exists().map_err(|source| StoreError::Directory {
        dir: dir.to_owned(),
        source,
    })?;
    if !exists {
        return Err(StoreError::Missing {
            dir: dir.to_owned(),
        });
    }
    let connection = super::looking::open_live(&path)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

pub(crate) fn create_private(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// A directory that was there before may be open to others: what is kept in it
/// is not for them.
#[cfg(unix)]
fn keep_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let found = std::fs::metadata(dir)?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        let reason = "it belongs to another user; choose one of your own with --data-dir";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700))?;
        tracing::warn!(
            dir = %dir.display(),
            was = format!("{mode:o}"),
            "the data directory was open to others; now only its owner can enter it"
        );
    }
    Ok(())
}

#[cfg(not(unix))]
fn keep_private(_: &Path) -> io::Result<()> {
    Ok(())
}

pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn read_pid(file: &mut File) -> io::Result<Option<u32>> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text.trim().parse().ok())
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}
