//! How a running host is found: the file that it writes for whoever started
//! it, and `host.json` in its data directory.
//!
//! *Invariants*: an announcement appears wholly or not at all, and only its
//! owner can read it. The token is in the first of them only, which is written
//! where somebody asked for it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use innkeeper_store::LOCK_FILE;
use serde::{Deserialize, Serialize};

use super::control_socket;
use innkeeper::server::access::write_private;

pub(crate) const HOST_FILE: &str = "host.json";

/// Where clients connect, for whoever started the host.
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
        write_whole(path, &serde_json::to_string(self)?)
    }
}

/// `host.json`: by which the user's other commands find the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostFile {
    pub(crate) pid: u32,
    /// The control socket, if it is not in the data directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) socket: Option<PathBuf>,
    /// The WebSocket address, without the token, if the host listens on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// The web address, without the token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) web: Option<String>,
    /// It serves the one client that started it, and listens nowhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) stdio: bool,
}

impl HostFile {
    /// Of a host on standard input and output, which is this process.
    pub(crate) fn of_stdio() -> Self {
        Self {
            pid: std::process::id(),
            socket: None,
            url: None,
            web: None,
            stdio: true,
        }
    }

    pub(crate) fn write_in(&self, data_dir: &Path) -> io::Result<()> {
        write_whole(&data_dir.join(HOST_FILE), &serde_json::to_string(self)?)
    }

    /// What the last host wrote, whether or not it still runs.
    pub(crate) fn left_in(data_dir: &Path) -> Option<Self> {
        let text = fs::read_to_string(data_dir.join(HOST_FILE)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The host that runs on a data directory now.
    pub(crate) fn find_in(data_dir: &Path) -> Option<Self> {
        let found = Self::left_in(data_dir)?;
        (holder(data_dir) == Some(found.pid)).then_some(found)
    }

    /// Whether there is such a file, and nobody can tell what it says. No host
    /// leaves one like that.
    pub(crate) fn is_spoilt_in(data_dir: &Path) -> bool {
        match fs::read_to_string(data_dir.join(HOST_FILE)) {
            Ok(text) => serde_json::from_str::<Self>(&text).is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    pub(crate) fn remove_from(data_dir: &Path) {
        // What is left behind is known by the lock that nobody holds.
        let _ = fs::remove_file(data_dir.join(HOST_FILE));
    }

    /// The control socket of the host on a data directory.
    pub(crate) fn socket_in(&self, data_dir: &Path) -> PathBuf {
        let own = || data_dir.join(control_socket::NAME);
        self.socket.clone().unwrap_or_else(own)
    }
}

fn write_whole(path: &Path, json: &str) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{}", std::process::id()));
    let unfinished = PathBuf::from(unfinished);
    // One that is left is from a process of the same number.
    let _ = fs::remove_file(&unfinished);
    write_private(&unfinished, &format!("{json}\n"))?;
    fs::rename(&unfinished, path)
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

/// For how long the process that has a data directory's lock has had it.
pub(crate) fn held_for(data_dir: &Path) -> Option<Duration> {
    let since = fs::metadata(data_dir.join(LOCK_FILE)).and_then(|lock| lock.modified());
    since.ok()?.elapsed().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use innkeeper_store::{SqliteStore, StoreOptions};

    fn host_file(pid: u32) -> HostFile {
        HostFile {
            pid,
            socket: None,
            url: Some("ws://127.0.0.1:1/".to_owned()),
            web: None,
            stdio: false,
        }
    }

    #[test]
    fn a_host_is_found_while_it_holds_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let here = host_file(std::process::id());
        here.write_in(dir.path()).unwrap();
        assert_eq!(HostFile::find_in(dir.path()), None, "nobody runs yet");
        let store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
        assert_eq!(HostFile::find_in(dir.path()), Some(here));
        host_file(1).write_in(dir.path()).unwrap();
        assert_eq!(HostFile::find_in(dir.path()), None, "another process");
        drop(store);
        HostFile::remove_from(dir.path());
        assert!(!dir.path().join(HOST_FILE).exists());
    }

    #[test]
    fn only_the_owner_can_read_it_and_nothing_else_is_left() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ready");
        let announcement = |pid| Announcement {
            url: "ws://127.0.0.1:1/?tkn=t".to_owned(),
            web: "http://127.0.0.1:1/?tkn=t".to_owned(),
            pid,
        };
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
