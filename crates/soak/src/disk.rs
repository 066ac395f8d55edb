//! A disk that can be full: a small file system in memory, in a mount
//! namespace of this program's own, so that nobody needs to be root.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result};

/// Set for the program that runs within the namespace: where the disk is.
const DISK: &str = "INNKEEPER_SOAK_DISK";
/// Room for one world; worlds are removed when they are over.
const SIZE: &str = "size=256m";
const UNSHARE: [&str; 3] = ["--user", "--map-root-user", "--mount"];

/// The small disk, in a program that runs within the namespace.
pub fn inside() -> Option<PathBuf> {
    std::env::var_os(DISK).map(PathBuf::from)
}

/// Runs this program once more, within a namespace that has the small disk at
/// `place`. The error says why there can be none here.
pub fn enter(place: &Path) -> Result<ExitStatus> {
    let mount = "mount -t tmpfs -o \"$0\" innkeeper-soak \"$1\"";
    let can = Command::new("unshare")
        .args(UNSHARE)
        .args(["sh", "-c", mount, SIZE])
        .arg(place)
        .stdin(Stdio::null())
        .output()
        .context("`unshare` (of util-linux) is not there")?;
    if !can.status.success() {
        let complaint = String::from_utf8_lossy(&can.stderr).trim().to_owned();
        anyhow::bail!("no namespace with a file system of its own: {complaint}");
    }
    let status = Command::new("unshare")
        .args(UNSHARE)
        .args(["sh", "-c"])
        .arg(format!("{mount} && shift && exec \"$@\""))
        .arg(SIZE)
        .arg(place)
        .arg(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(DISK, place)
        .status()?;
    Ok(status)
}

/// A file that takes all the room of its disk, until it is dropped.
#[derive(Debug)]
pub(crate) struct Filler(PathBuf);

impl Filler {
    pub(crate) fn fill(place: &Path) -> io::Result<Self> {
        let filler = Self(place.join("filler"));
        let mut file = File::create(&filler.0)?;
        for block in [vec![0; 1 << 20], vec![0; 1 << 12], vec![0; 1]] {
            while match file.write(&block) {
                Ok(written) => written > 0,
                Err(error) if error.kind() == io::ErrorKind::StorageFull => false,
                Err(error) => return Err(error),
            } {}
        }
        Ok(filler)
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
