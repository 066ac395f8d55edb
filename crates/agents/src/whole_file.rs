//! Files that agents write through the host: the new content takes the place
//! of the old in one move, so that nobody ever finds half of it, not even if
//! the host is killed in the middle.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// What a new file may be at most; the user's mask takes its part away.
const NEW_FILE: u32 = 0o666;

/// Writes a file, creating the directories above it. A link is followed, and
/// a file keeps its mode.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let existing = match path.canonicalize() {
        Ok(real) => Some(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if path.symlink_metadata().is_ok() {
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    "it is a link that leads nowhere",
                ));
            }
            None
        }
        Err(error) => return Err(error),
    };
    let mode = match &existing {
        Some(real) => writable(real)?,
        None => Permissions::from_mode(NEW_FILE),
    };
    let target = existing.as_deref().unwrap_or(path);
    let Some(directory) = target.parent() else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    fs::create_dir_all(directory)?;
    let mut beside = tempfile::Builder::new()
        .prefix(".innkeeper-")
        .suffix(".tmp")
        .permissions(mode.clone())
        .tempfile_in(directory)?;
    beside.write_all(content)?;
    if existing.is_some() {
        beside.as_file().set_permissions(mode)?;
    }
    beside.persist(target)?;
    Ok(())
}

/// The mode of a file, if it may be written: what may not be written must not
/// be replaced either.
fn writable(path: &Path) -> io::Result<Permissions> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    OpenOptions::new().write(true).open(path)?;
    Ok(metadata.permissions())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_keeps_its_mode_and_its_links() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("a"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o750)).unwrap();
        std::os::unix::fs::symlink("a", &link).unwrap();
        let old = fs::File::open(&file).unwrap();
        write(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o750);
        // Whoever had it open still has all of the old one.
        assert_eq!(io::read_to_string(old).unwrap(), "old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_new_file_has_the_mode_that_any_program_would_give_it() {
        let directory = tempfile::tempdir().unwrap();
        let (ours, theirs) = (directory.path().join("a/b"), directory.path().join("c"));
        write(&ours, b"new").unwrap();
        fs::write(&theirs, "new").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&theirs));
    }

    #[test]
    fn what_is_no_file_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (within, dangling) = (directory.path().join("d"), directory.path().join("l"));
        fs::create_dir(&within).unwrap();
        std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
        assert!(write(&within, b"new").is_err());
        assert!(write(&dangling, b"new").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
