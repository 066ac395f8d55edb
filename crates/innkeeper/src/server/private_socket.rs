//! A Unix socket that only this user can open.
//!
//! *Invariants*: it is private from the moment that it exists, whatever the
//! umask. Nothing is replaced but a socket of this user's that nobody listens
//! on: what is left of a host that was killed.

use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use tokio::net::UnixListener;

pub(super) fn bind(path: &Path) -> io::Result<UnixListener> {
    remove_left_over(path)?;
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    // It is made where nobody else can enter, and appears when it is private.
    let private = tempfile::Builder::new()
        .prefix(".")
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir_in(directory)?;
    let first = private.path().join("s");
    let listener = UnixListener::bind(&first)?;
    std::fs::set_permissions(&first, std::fs::Permissions::from_mode(0o600))?;
    // Unlike a renaming, this replaces nothing.
    std::fs::hard_link(&first, path)?;
    Ok(listener)
}

/// Makes room, or says what is in the way.
fn remove_left_over(path: &Path) -> io::Result<()> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let refused =
        |kind, reason: &str| Err(Error::new(kind, format!("{reason}; choose another path")));
    if !found.file_type().is_socket() {
        return refused(
            ErrorKind::AlreadyExists,
            "a file that is not a socket is there; remove it if nothing needs it",
        );
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return refused(
            ErrorKind::PermissionDenied,
            "there is a socket of another user",
        );
    }
    match UnixStream::connect(path) {
        Ok(_) => refused(
            ErrorKind::AddrInUse,
            "another program is already listening there",
        ),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn what_a_killed_host_left_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("host");
        drop(bind(&path).unwrap());
        assert!(path.exists());
        let again = bind(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
        assert!(UnixStream::connect(&path).is_ok());
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
        let refused = bind(&path).unwrap_err();
        assert!(
            refused.to_string().contains("already listening"),
            "{refused}"
        );
        drop(again);
    }

    #[tokio::test]
    async fn nothing_else_is_replaced() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "precious").unwrap();
        let directory = home.path().join("directory");
        std::fs::create_dir(&directory).unwrap();
        let socket = home.path().join("socket");
        drop(bind(&socket).unwrap());
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&socket, &link).unwrap();
        for path in [&file, &directory, &link] {
            let refused = bind(path).unwrap_err();
            assert!(refused.to_string().contains("not a socket"), "{refused}");
            assert!(path.symlink_metadata().is_ok(), "{}", path.display());
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
        assert!(socket.exists());
    }
}
