//! Files and directories of the host's own: only the user can read them, from
//! the moment that they exist and whatever the umask.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

pub(crate) fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// How a file is opened that is made if it is missing.
pub(crate) fn file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600);
    options
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = file().write(true).truncate(true).open(path)?;
    file.write_all(bytes)
}
