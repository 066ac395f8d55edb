//! The data directory: its locks, and connections to the database in it.
//!
//! *Invariant*: while a host holds the locks, no other one opens the database
//! for writing. There are two: one is on a file, which also says who has it;
//! the other is on the directory in which the database really is, so that
//! neither a lock file that somebody deletes nor a link to the database lets
//! another host in. (Not on the database: on some systems and network disks,
//! such a lock is in the way of SQLite's own.) A lock belongs to what is open,
//! so the death of the process ends it; the file itself stays, as deleting it
//! would open a race.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::place::Identity;
use crate::{StoreError, SyncMode};

pub const DATABASE_FILE: &str = "innkeeper.db";
pub const LOCK_FILE: &str = "innkeeper.lock";

/// Readers never block the writer; this is for the moments in which SQLite
/// recovers or truncates its write-ahead log.
const BUSY: Duration = Duration::from_secs(5);

/// A host that was killed while it started a program leaves its lock with that
/// program, until the program has really begun.
const LAST_OF_THE_DEAD: Duration = Duration::from_secs(5);

/// The locks of a data directory, which last as long as this does.
#[derive(Debug)]
pub(crate) struct Claim {
    pub(crate) file: File,
    /// Nothing, if the directory is on a disk that has no such locks.
    _home: Option<File>,
}

/// A program that is just being started may have the lock for a moment longer.
/// Whoever finds it locked and nobody named waits for that.
impl Drop for Claim {
    fn drop(&mut self) {
        if let Err(error) = self.file.set_len(0) {
            tracing::debug!(%error, "the lock file still names this process");
        }
    }
}

/// Creates the directory if it is missing, and takes its locks.
pub(crate) fn claim(dir: &Path) -> Result<Claim, StoreError> {
    let failed = |source| StoreError::Directory {
        dir: dir.to_owned(),
        source,
    };
    create_private(dir).map_err(failed)?;
    keep_private(dir).map_err(failed)?;
    let in_use = |pid| StoreError::InUse {
        dir: dir.to_owned(),
        pid,
    };
    let deadline = Instant::now() + LAST_OF_THE_DEAD;
    // First: whoever is refused here has not made a file that looks like a lock.
    let home = File::open(home_of_database(dir)).map_err(failed)?;
    let home = loop {
        match home.try_lock() {
            Ok(()) => break Some(home),
            Err(TryLockError::WouldBlock) => {
                let holder = holder_of(dir).map_err(failed)?;
                if !holder.may_be_dead() || Instant::now() >= deadline {
                    return Err(in_use(holder.pid()));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(TryLockError::Error(error)) => {
                tracing::debug!(%error, "the data directory itself cannot be locked here");
                break None;
            }
        }
    };
    let path = dir.join(LOCK_FILE);
    let mut file = private_file().open(&path).map_err(failed)?;
    loop {
        match file.try_lock() {
            // Whoever deleted the file meanwhile let others make a new one.
            Ok(()) if is_at(&file, &path).map_err(failed)? => break,
            Ok(()) => file = private_file().open(&path).map_err(failed)?,
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) => {
                let pid = read_pid(&mut file).map_err(failed)?;
                if pid.is_some_and(lives) || Instant::now() >= deadline {
                    return Err(in_use(pid));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    write_pid(&mut file).map_err(failed)?;
    Ok(Claim { file, _home: home })
}

/// The directory in which the database of a data directory really is.
fn home_of_database(dir: &Path) -> PathBuf {
    let database = dir.join(DATABASE_FILE).canonicalize();
    let home = database.ok().and_then(|it| Some(it.parent()?.to_owned()));
    home.unwrap_or_else(|| dir.to_owned())
}

/// Who has locked a directory, by what the lock file in it says.
enum Holder {
    /// A host that is dead leaves its lock file behind, so this one lives.
    WithoutFile,
    Process(Option<u32>),
}

impl Holder {
    fn pid(&self) -> Option<u32> {
        match self {
            Self::WithoutFile => None,
            Self::Process(pid) => *pid,
        }
    }

    fn may_be_dead(&self) -> bool {
        match self {
            Self::WithoutFile => false,
            Self::Process(pid) => !pid.is_some_and(lives),
        }
    }
}

fn holder_of(dir: &Path) -> io::Result<Holder> {
    match File::open(dir.join(LOCK_FILE)) {
        Ok(mut file) => Ok(Holder::Process(read_pid(&mut file)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Holder::WithoutFile),
        Err(error) => Err(error),
    }
}

/// Whether an open file is still the one at its path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = Identity::of(&file.metadata()?);
    match fs::metadata(path) {
        Ok(found) => Ok(Identity::of(&found) == held),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether there is a process of that number, whoever's it is.
fn lives(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

/// The connection that writes, and the file that it is to.
pub(crate) fn connect(dir: &Path, sync: SyncMode) -> Result<(Connection, Identity), StoreError> {
    let path = dir.join(DATABASE_FILE);
    // Made here rather than by SQLite, so that others cannot read it even in a
    // directory that they can. SQLite's side files take over the permissions.
    // It is closed before SQLite opens it: closing it later would end the locks
    // that SQLite has on it.
    let made = private_file().open(&path).and_then(|file| file.metadata());
    let made = made.map_err(|source| StoreError::Directory {
        dir: dir.to_owned(),
        source,
    })?;
    let connection = Connection::open(&path)?;
    connection.busy_timeout(BUSY)?;
    if made.len() == 0 {
        // Only before there is anything in it; see `space`.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
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
    Ok((connection, Identity::of(&made)))
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
    builder.create(dir).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let reason = "it is not a directory";
            io::Error::new(io::ErrorKind::NotADirectory, reason)
        }
        _ => error,
    })
}

/// A directory that was there before may be open to others: what is kept in it
/// is not for them.
#[cfg(unix)]
fn keep_private(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let found = fs::metadata(dir)?;
    if found.uid() != rustix::process::geteuid().as_raw() {
        let reason = "it belongs to another user; choose one of your own with --data-dir";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
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
