//! How a running host is found: the file that it writes for whoever started
//! it, and `host.json` in its data directory.
//!
//! *Invariant*: an announcement appears wholly or not at all, and only its
//! owner can read it: there is a token in it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use innkeeper_store::LOCK_FILE;
use serde::{Deserialize, Serialize};

use innkeeper::server::access::write_private;

pub(crate) const HOST_FILE: &str = "host.json";

/// Where a host listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Announcement {
    /// The WebSocket address, with the token.
    pub(crate) url: String,
    /// The web address, with the token.
    pub(crate) web: String,
    pub(crate) pid: u32,
}

impl Announcement {
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(format!(".{}", self.pid));
        let unfinished = PathBuf::from(unfinished);
        let json = serde_json::to_string(self)?;
        // One that is left is from a process of the same number.
        let _ = fs::remove_file(&unfinished);
        write_private(&unfinished, &format!("{json}\n"))?;
        fs::rename(&unfinished, path)
    }

    pub(crate) fn write_in(&self, data_dir: &Path) -> io::Result<()> {
        self.write(&data_dir.join(HOST_FILE))
    }

    /// The host that runs on a data directory now, if it listens anywhere.
    pub(crate) fn find_in(data_dir: &Path) -> Option<Self> {
        let text = fs::read_to_string(data_dir.join(HOST_FILE)).ok()?;
        let found: Self = serde_json::from_str(&text).ok()?;
        (holder(data_dir) == Some(found.pid)).then_some(found)
    }

    pub(crate) fn remove_from(data_dir: &Path) {
        // What is left behind is known by the lock that nobody holds.
        let _ = fs::remove_file(data_dir.join(HOST_FILE));
    }
}

/// The process that holds a data directory's lock. Unlike the number of a
/// process that died, a lock is never somebody else's.
pub(crate) fn holder(data_dir: &Path) -> Option<u32> {
    let path = data_dir.join(LOCK_FILE);
    let file = File::open(&path).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => fs::read_to_string(path).ok()?.trim().parse().ok(),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use innkeeper_store::{SqliteStore, StoreOptions};

    fn announcement(pid: u32) -> Announcement {
        Announcement {
            url: "ws://127.0.0.1:1/?tkn=t".to_owned(),
            web: "http://127.0.0.1:1/?tkn=t".to_owned(),
            pid,
        }
    }

    #[test]
    fn a_host_is_found_while_it_holds_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let here = announcement(std::process::id());
        here.write_in(dir.path()).unwrap();
        assert_eq!(Announcement::find_in(dir.path()), None, "nobody runs yet");
        let store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
        assert_eq!(Announcement::find_in(dir.path()), Some(here));
        announcement(1).write_in(dir.path()).unwrap();
        assert_eq!(Announcement::find_in(dir.path()), None, "another process");
        drop(store);
        Announcement::remove_from(dir.path());
        assert!(!dir.path().join(HOST_FILE).exists());
    }

    #[test]
    fn only_the_owner_can_read_it_and_nothing_else_is_left() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ready");
        announcement(1).write(&path).unwrap();
        announcement(2).write(&path).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let text = fs::read_to_string(&path).unwrap();
        let read: Announcement = serde_json::from_str(&text).unwrap();
        assert_eq!(read, announcement(2));
    }
}
