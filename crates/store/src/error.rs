//! What can go wrong with the store, in sentences that say what to do.

use std::io;
use std::path::PathBuf;

use innkeeper_protocol::Seq;
use innkeeper_protocol::record::store::StoreFault;
use rusqlite::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(
        "the data directory {} is in use by another running host{}; \
         stop that one first, or choose another data directory",
        .dir.display(), of_process(.pid)
    )]
    InUse { dir: PathBuf, pid: Option<u32> },

    #[error("the data directory {} cannot be used: {source}; check its path and permissions", .dir.display())]
    Directory { dir: PathBuf, source: io::Error },

    #[error(
        "{} contains no database; check the path, or start a host there first",
        .dir.display()
    )]
    Missing { dir: PathBuf },

    #[error("the file {} exists already; choose another name, or move it away first", .file.display())]
    Exists { file: PathBuf },

    #[error(
        "no copy can be written to {}: {reason}; check its path, its permissions \
         and its free space", .dir.display()
    )]
    NoCopy { dir: PathBuf, reason: String },

    #[error("the file {} cannot be read: {source}; check its path and permissions", .file.display())]
    NotRead { file: PathBuf, source: io::Error },

    #[error(
        "the file {} is not a database of this program; use one that `innkeeper backup` has made",
        .file.display()
    )]
    NotOurs { file: PathBuf },

    #[error(
        "the database {} is damaged ({found}); restore a backup with `innkeeper restore`, or \
         move the data directory away and start with an empty one",
        .file.display()
    )]
    Unsound { file: PathBuf, found: String },

    #[error("the copy {} is damaged ({found}); use another one", .file.display())]
    DamagedCopy { file: PathBuf, found: String },

    #[error(
        "the latest changes to {} are in its write-ahead log, which cannot be read where \
         files cannot be written; copy the data directory to a disk that can be written, and \
         name the copy with --data-dir",
        .file.display()
    )]
    LogNotRead { file: PathBuf },

    #[error(
        "the database was written by a newer release (its version is {found}, \
         this release knows {known}); use that release, or another data directory"
    )]
    Newer { found: i64, known: i64 },

    #[error(
        "the database is from an older release (its version is {found}, this release reads \
         {known}); run `innkeeper up` on this data directory once, which upgrades it"
    )]
    Older { found: i64, known: i64 },

    #[error("the disk is full; free some space on the disk of the data directory")]
    Full(#[source] rusqlite::Error),

    #[error(
        "the database cannot be written; check the permissions of the data \
         directory and whether its disk is mounted read-only"
    )]
    ReadOnly(#[source] rusqlite::Error),

    #[error(
        "the database is damaged ({0}); restore a backup with `innkeeper restore`, or move the \
         data directory away and start with an empty one"
    )]
    Damaged(#[source] rusqlite::Error),

    #[error("the database reported: {0}")]
    Database(#[source] rusqlite::Error),

    #[error("a stored {what} has a form that this release cannot read: {source}")]
    Unreadable {
        what: &'static str,
        source: serde_json::Error,
    },

    #[error("a {what} cannot be written as JSON: {source}")]
    Unwritable {
        what: &'static str,
        source: serde_json::Error,
    },

    #[error("the thread that writes the database cannot be started: {0}")]
    NoThread(#[source] io::Error),

    #[error("the thread that writes the database stopped; restart the host")]
    Stopped,

    #[error("the store is closed; nothing can be read from it any more")]
    Closed,

    #[error("{0}")]
    Lost(String),

    #[error("the number {0} is in the log already; this is a bug")]
    NumberTaken(Seq),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(error),
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly(error),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error),
            _ => Self::Database(error),
        }
    }
}

impl StoreError {
    /// Whether the same batches would fail again, however often they are tried.
    /// What is not known to be so may pass.
    fn is_lasting(&self) -> bool {
        match self {
            Self::Database(error) => matches!(
                error.sqlite_error_code(),
                Some(
                    ErrorCode::TooBig
                        | ErrorCode::ConstraintViolation
                        | ErrorCode::TypeMismatch
                        | ErrorCode::ParameterOutOfRange
                )
            ),
            Self::Unwritable { .. } | Self::NumberTaken(_) => true,
            Self::InUse { .. }
            | Self::Directory { .. }
            | Self::Missing { .. }
            | Self::Exists { .. }
            | Self::NoCopy { .. }
            | Self::NotRead { .. }
            | Self::NotOurs { .. }
            | Self::Unsound { .. }
            | Self::DamagedCopy { .. }
            | Self::LogNotRead { .. }
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::Full(_)
            | Self::ReadOnly(_)
            | Self::Damaged(_)
            | Self::Unreadable { .. }
            | Self::NoThread(_)
            | Self::Stopped
            | Self::Lost(_)
            | Self::Closed => false,
        }
    }
}

impl From<StoreError> for StoreFault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Lost(_) => Self::lost(error),
            error if error.is_lasting() => Self::lasting(error),
            error => Self::new(error),
        }
    }
}

fn of_process(pid: &Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}
