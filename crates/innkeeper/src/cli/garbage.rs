//! What a data directory holds that nobody needs any more: `gc` removes it,
//! `doctor` says how much it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Result;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::record::store::Archive;
use innkeeper_store::{BACKUPS_DIRECTORY, PARTIAL_PREFIX, StoreError, open_read_only, room};

use super::announcement::{HOST_FILE, holder};
use super::control_socket;
use crate::config::Config;
use innkeeper::{Leftovers, leftovers};

/// An unfinished file that is younger may still be written.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

#[derive(Debug, Default)]
pub(crate) struct Garbage {
    /// Of sessions that are gone.
    pub(crate) leftovers: Leftovers,
    /// How much of that is in the data directory.
    pub(crate) leftover_bytes: u64,
    /// Sessions whose time to be restored is over.
    pub(crate) expired: Vec<ChannelUri>,
    /// Room in the database that holds nothing.
    pub(crate) free_bytes: u64,
    /// Files of processes that were killed.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) file_bytes: u64,
}

impl Garbage {
    /// Looks for it, whether or not a host runs. It changes nothing.
    pub(crate) fn find(config: &Config, data_dir: &Path) -> Result<Self> {
        let reader = match open_read_only(data_dir) {
            Ok(reader) => reader,
            Err(StoreError::Missing { .. }) => return Ok(Self::default()),
            Err(error) => return Err(error.into()),
        };
        let mut garbage = Self {
            free_bytes: room(data_dir)?.free,
            ..Self::default()
        };
        let keep_days = config.store.keep_disposed_days;
        let disposed = reader.disposed()?.into_iter();
        let expired = disposed.filter(|row| row.is_over(keep_days));
        garbage.expired = expired.map(|row| row.row.session).collect();
        if config.workspace.options().changes {
            garbage.leftovers = leftovers::find(data_dir, reader.catalogue()?);
            let kept = garbage.leftovers.kept.iter();
            let kept = kept.map(|name| leftovers::files_of(data_dir, name));
            garbage.leftover_bytes = kept.map(|path| bytes_below(&path)).sum();
        }
        if holder(data_dir).is_none() {
            garbage.files = abandoned_files(data_dir);
            garbage.file_bytes = garbage.files.iter().map(|path| bytes_below(path)).sum();
        }
        Ok(garbage)
    }

    /// How much it is at least: what expired sessions take is not known before
    /// they are gone.
    pub(crate) fn bytes(&self) -> u64 {
        self.leftover_bytes + self.free_bytes + self.file_bytes
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.leftovers == Leftovers::default()
            && self.expired.is_empty()
            && self.free_bytes == 0
            && self.files.is_empty()
    }
}

/// What processes left that were killed, where no host runs.
fn abandoned_files(data_dir: &Path) -> Vec<PathBuf> {
    let named = |dir: &Path, is_meant: &dyn Fn(&str) -> bool| {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let meant = entries.filter(|entry| is_meant(&entry.file_name().to_string_lossy()));
        meant.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let is_old = |path: &PathBuf| {
        let modified = fs::symlink_metadata(path).and_then(|found| found.modified());
        let age = modified.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        age.is_ok_and(|age| age >= ABANDONED)
    };
    // These may be of a command that runs at the same time.
    let unfinished = |name: &str| name.starts_with(PARTIAL_PREFIX) || name.starts_with(".doctor.");
    let mut files = named(data_dir, &unfinished);
    files.extend(named(&data_dir.join(BACKUPS_DIRECTORY), &unfinished));
    files.retain(is_old);
    // And these only of a host.
    files.extend(named(data_dir, &|name| {
        name.starts_with(HOST_FILE) || name == control_socket::NAME
    }));
    files
}

/// How much there is in a file or below a directory. Links are not followed.
pub(crate) fn bytes_below(path: &Path) -> u64 {
    let mut bytes = 0;
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let Ok(found) = fs::symlink_metadata(&path) else {
            continue;
        };
        if found.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path()));
        } else {
            bytes += found.len();
        }
    }
    bytes
}
