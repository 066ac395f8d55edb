//! Where the control socket is: in the data directory or, where a socket
//! cannot have so long a path, in a directory of its own that only the user
//! can enter.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::announcement::HostFile;

pub(crate) const NAME: &str = "host.sock";

/// The longest path that every system takes for a socket.
const LONGEST_PATH: usize = 103;

const PREFIX: &str = "innkeeper-";

/// The path of a socket. The directory that was made for it goes with this.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    made: Option<TempDir>,
}

impl Place {
    /// For the host that holds the lock of a data directory.
    pub(crate) fn for_host(data_dir: &Path) -> io::Result<Self> {
        remove_left_over(data_dir);
        let path = data_dir.join(NAME);
        if fits(&path) {
            return Ok(Self { path, made: None });
        }
        let made = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(runtime_directory())?;
        let path = made.path().join(NAME);
        let made = Some(made);
        Ok(Self { path, made })
    }

    /// The path, where others could not guess it.
    pub(crate) fn elsewhere(&self) -> Option<PathBuf> {
        self.made.as_ref().map(|_| self.path.clone())
    }
}

fn fits(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() <= LONGEST_PATH
}

/// A directory for what goes when the machine is restarted.
fn runtime_directory() -> PathBuf {
    let named = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let is_ours = |path: &PathBuf| {
        let found = fs::metadata(path);
        let ours = found.is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw());
        ours && path.is_absolute() && path.to_str().is_some()
    };
    let usable = |path: &PathBuf| fits(&path.join(PREFIX).join("......").join(NAME));
    let named = named.filter(is_ours).filter(usable);
    let temporary = || Some(std::env::temp_dir()).filter(usable);
    named
        .or_else(temporary)
        .unwrap_or_else(|| PathBuf::from("/tmp"))
}

/// A host that was killed may have left a directory behind. What it said of
/// itself is not true of the next one.
fn remove_left_over(data_dir: &Path) {
    let left = HostFile::left_in(data_dir).and_then(|left| left.socket);
    HostFile::remove_from(data_dir);
    let Some((socket, directory)) = left.as_deref().and_then(|it| Some((it, it.parent()?))) else {
        return;
    };
    let name = directory.file_name().unwrap_or_default();
    if name.as_bytes().starts_with(PREFIX.as_bytes()) && socket.ends_with(NAME) {
        let _ = fs::remove_file(socket);
        let _ = fs::remove_dir(directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_too_long_is_replaced_by_one_that_only_the_user_can_enter() {
        let home = tempfile::tempdir().unwrap();
        let short = Place::for_host(home.path()).unwrap();
        assert_eq!(short.path, home.path().join(NAME));
        assert_eq!(short.elsewhere(), None);
        let long = home.path().join("d".repeat(120));
        fs::create_dir(&long).unwrap();
        let place = Place::for_host(&long).unwrap();
        assert!(fits(&place.path) && !place.path.starts_with(&long));
        let directory = place.path.parent().unwrap().to_owned();
        let mode = fs::metadata(&directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(place);
        assert!(!directory.exists());
    }

    #[test]
    fn what_a_killed_host_left_is_removed_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let left = |directory: &str, name: &str| {
            let directory = home.path().join(directory);
            fs::create_dir(&directory).unwrap();
            let socket = directory.join(name);
            fs::write(&socket, "").unwrap();
            let file = HostFile {
                pid: 1,
                socket: Some(socket.clone()),
                url: None,
                web: None,
                stdio: false,
            };
            file.write_in(home.path()).unwrap();
            remove_left_over(home.path());
            socket.exists()
        };
        assert!(!left("innkeeper-abcdef", NAME));
        assert!(!home.path().join("innkeeper-abcdef").exists());
        assert!(left("precious", NAME));
        assert!(left("innkeeper-fedcba", "precious"));
    }
}
