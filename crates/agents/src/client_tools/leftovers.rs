//! Directories of sockets that a host which was killed has left behind.
//!
//! *Invariant*: what is removed is a socket of this user's that nobody listens
//! on, and the empty directory around it: nothing of another host that runs.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, getuid, test_kill_process};

use super::SOCKET;

const NAME: &str = "innkeeper-";

/// What the name of such a directory begins with: it says whose it is.
pub(super) fn prefix() -> String {
    format!("{NAME}{}-", std::process::id())
}

/// Removes what is left, where such directories are made.
pub(crate) fn remove() {
    remove_in(&std::env::temp_dir());
}

fn remove_in(place: &Path) {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    for directory in entries.filter_map(|entry| left_by_another(&entry)) {
        match remove_one(&directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::debug!(directory = %directory.display(), %error, "cannot be removed");
            }
            _ => {}
        }
    }
}

/// A directory of a process that is gone.
fn left_by_another(entry: &std::fs::DirEntry) -> Option<PathBuf> {
    let name = entry.file_name();
    let (process, _) = name.to_str()?.strip_prefix(NAME)?.split_once('-')?;
    let process = Pid::from_raw(process.parse().ok()?)?;
    test_kill_process(process).is_err().then(|| entry.path())
}

fn remove_one(directory: &Path) -> io::Result<()> {
    let ours = |path: &Path| {
        let metadata = std::fs::symlink_metadata(path)?;
        Ok::<_, io::Error>((metadata.uid() == getuid().as_raw()).then_some(metadata))
    };
    let socket = directory.join(SOCKET);
    let is_directory = ours(directory)?.is_some_and(|it| it.is_dir());
    let is_socket = is_directory && ours(&socket)?.is_some_and(|it| it.file_type().is_socket());
    let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    if is_socket && UnixStream::connect(&socket).is_err_and(|error| refused(&error)) {
        std::fs::remove_file(&socket)?;
        std::fs::remove_dir(directory)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_sockets_of_processes_that_are_gone_are_removed() {
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let (gone, here) = (gone.id(), std::process::id());
        let place = tempfile::tempdir().unwrap();
        let at = |name: String| place.path().join(name);
        let bound = |name: String| {
            std::fs::create_dir(at(name.clone())).unwrap();
            UnixListener::bind(at(name).join(SOCKET)).unwrap()
        };
        drop(bound(format!("innkeeper-{gone}-dead")));
        drop(bound(format!("innkeeper-{here}-ours")));
        drop(bound(format!("other-{gone}-dead")));
        let _heard = bound(format!("innkeeper-{gone}-heard"));
        let file = at(format!("innkeeper-{gone}-file"));
        std::fs::create_dir(&file).unwrap();
        std::fs::write(file.join(SOCKET), "precious").unwrap();
        remove_in(place.path());
        let entries = std::fs::read_dir(place.path()).unwrap().flatten();
        let mut left: Vec<String> = entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        left.sort();
        let mut expected = vec![
            format!("innkeeper-{gone}-file"),
            format!("innkeeper-{gone}-heard"),
            format!("innkeeper-{here}-ours"),
            format!("other-{gone}-dead"),
        ];
        expected.sort();
        assert_eq!(left, expected);
    }
}
