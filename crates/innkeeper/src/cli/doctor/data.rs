//! The data directory: whose it is, who can look into it, whether the database
//! in it is sound, and what it holds that nobody needs.
//!
//! *Invariant*: whatever may not be looked at is a problem, never "none yet".

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use innkeeper_protocol::record::store::Archive as _;
use innkeeper_store::{LOCK_FILE, StoreError, check_soundness, open_read_only, room};

use super::Finding::{self, Fine, Problem, Warning};
use super::is_open_to_others;
use crate::cli::announcement::{HostFile, holder};
use crate::cli::garbage::Garbage;
use crate::cli::text;
use crate::config::Config;

/// Below this, a host may soon be unable to write.
const ENOUGH_SPACE_MIB: u64 = 512;

/// Less than this is not worth a line.
const WORTH_FREEING: u64 = 64 * 1024 * 1024;

/// `has_store` says whether sessions are kept in it.
pub(super) fn check(config: &Config, dir: &Path, has_store: bool) -> Vec<Finding> {
    let name = dir.display();
    let metadata = match fs::metadata(dir) {
        Ok(metadata) if metadata.is_dir() => metadata,
        Ok(_) => {
            return vec![Problem(format!(
                "data directory: {name} is not a directory; choose another with --data-dir"
            ))];
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return vec![match can_be_made(dir) {
                Ok(()) => Fine(format!(
                    "data directory: {name} does not exist yet; the first start creates it"
                )),
                Err(error) => Problem(format!(
                    "data directory: {name} cannot be created: {error}; choose another with \
                     --data-dir"
                )),
            }];
        }
        Err(error) => {
            return vec![Problem(format!(
                "data directory: {name} cannot be used: {error}; check its permissions"
            ))];
        }
    };
    if let Some(owner) = another_owner(&metadata) {
        return vec![Problem(format!(
            "data directory: {name} belongs to another user ({owner}); choose one of your own \
             with --data-dir, or run this as that user"
        ))];
    }
    let mut findings = Vec::new();
    findings.push(match tempfile_in(dir) {
        Err(error) => Problem(format!(
            "data directory: {name} cannot be written: {error}; check its permissions"
        )),
        Ok(()) if is_open_to_others(&metadata) => Warning(format!(
            "data directory: other users can read {name}; run: chmod 700 {name}"
        )),
        Ok(()) => Fine(format!("data directory: {name}")),
    });
    findings.extend(check_files(dir));
    findings.push(check_lock(dir));
    if has_store {
        let store = check_store(dir);
        let is_sound = !matches!(store, Problem(_));
        findings.push(store);
        if is_sound {
            findings.push(check_leftovers(config, dir));
        }
    }
    findings.extend(check_space(dir));
    findings
}

/// The number of the user that something belongs to, if it is not this one.
fn another_owner(metadata: &fs::Metadata) -> Option<u32> {
    let owner = metadata.uid();
    (owner != rustix::process::geteuid().as_raw()).then_some(owner)
}

/// Whether a file can be made there; it is gone again at once.
fn tempfile_in(dir: &Path) -> io::Result<()> {
    let path = dir.join(format!(".doctor.{}", std::process::id()));
    File::create_new(&path)?;
    fs::remove_file(&path)
}

/// Whether the directory that it would be made in can be written.
fn can_be_made(dir: &Path) -> io::Result<()> {
    let nearest = dir.ancestors().find(|above| above.is_dir());
    let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    Ok(rustix::fs::access(nearest.unwrap_or(dir), access)?)
}

/// The database, the announcement, sockets: all that is for the owner alone.
/// The token has a line of its own.
fn check_files(dir: &Path) -> Vec<Finding> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => {
            let name = dir.display();
            return vec![Problem(format!(
                "files: {name} cannot be listed: {error}; run: chmod 700 {name}"
            ))];
        }
    };
    let mut findings = Vec::new();
    for entry in entries
        .flatten()
        .filter(|entry| entry.file_name() != "token")
    {
        let path = entry.path();
        let Ok(found) = fs::symlink_metadata(&path) else {
            continue;
        };
        let kind = found.file_type();
        let (what, name) = match kind.is_socket() {
            true => ("socket", path.display()),
            false => ("files", path.display()),
        };
        if !kind.is_file() && !kind.is_socket() {
            continue;
        }
        if let Some(owner) = another_owner(&found) {
            findings.push(Problem(format!(
                "{what}: {name} belongs to another user ({owner}); run: sudo chown $(id -u) {name}"
            )));
        } else if is_open_to_others(&found) {
            findings.push(Problem(format!(
                "{what}: other users can use {name}; run: chmod 600 {name}"
            )));
        }
    }
    findings
}

fn check_lock(dir: &Path) -> Finding {
    let path = dir.join(LOCK_FILE);
    match File::open(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Problem(format!(
                "lock: cannot tell whether a host is running: {} cannot be read: {error}; check \
                 its permissions",
                path.display()
            ));
        }
        Ok(_) | Err(_) => {}
    }
    let listening = HostFile::find_in(dir).filter(|host| !host.stdio);
    match (holder(dir), listening) {
        (None, _) => Fine("lock: no host is running on the data directory".to_owned()),
        (Some(pid), Some(_)) => Fine(format!("lock: held by the running host, process {pid}")),
        (Some(pid), None) => Fine(format!(
            "lock: held by process {pid}, which does not accept commands"
        )),
    }
}

fn check_store(dir: &Path) -> Finding {
    match store(dir) {
        Ok(told) => Fine(format!("store: {told}")),
        Err(StoreError::Missing { .. }) => {
            Fine("store: none yet; the first start creates it".to_owned())
        }
        Err(error) => Problem(format!("store: {}", text::one_line(&error.to_string()))),
    }
}

/// How much is in it, once it was looked through.
fn store(dir: &Path) -> Result<String, StoreError> {
    check_soundness(dir)?;
    let size = text::size(room(dir)?.bytes);
    Ok(match open_read_only(dir)?.catalogue() {
        Ok(rows) => format!(
            "{}, {size}, no damage found",
            text::count(rows.len(), "session")
        ),
        Err(fault) => fault.to_string(),
    })
}

/// What `gc` would free.
fn check_leftovers(config: &Config, dir: &Path) -> Finding {
    match Garbage::find(config, dir) {
        Ok(garbage) if garbage.is_worth_freeing() => Warning(format!(
            "leftovers: at least {} can be freed; run: innkeeper gc",
            text::size(garbage.bytes())
        )),
        Ok(garbage) if !garbage.leftovers.trees.is_empty() => Warning(format!(
            "leftovers: {} of deleted sessions; run: innkeeper gc, and see what it leaves in {}",
            text::count(garbage.leftovers.trees.len(), "working tree"),
            dir.join("worktrees").display()
        )),
        Ok(_) => Fine("leftovers: nothing to free".to_owned()),
        Err(error) => Problem(format!("leftovers: {}", text::told(&error))),
    }
}

impl Garbage {
    /// Unused space in the database is used again, and working trees may have
    /// work in them. All else is in the way.
    fn is_worth_freeing(&self) -> bool {
        !self.leftovers.kept.is_empty()
            || !self.expired.is_empty()
            || !self.files.is_empty()
            || self.free_bytes >= WORTH_FREEING
    }
}

/// Free space, for whoever is not root; where the system does not tell, nothing
/// is said.
fn check_space(dir: &Path) -> Option<Finding> {
    let disk = rustix::fs::statvfs(dir).ok()?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize) / (1024 * 1024);
    Some(if free >= ENOUGH_SPACE_MIB {
        Fine(format!("disk: {free} MiB free"))
    } else {
        Warning(format!(
            "disk: only {free} MiB free; free some space, because a host that cannot write \
             accepts no work"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_known_where_there_is_a_directory() {
        let dir = tempfile::tempdir().unwrap();
        let Some(Fine(told) | Warning(told)) = check_space(dir.path()) else {
            panic!("no free space was told");
        };
        assert!(
            told.starts_with("disk: ") && told.contains(" MiB free"),
            "{told}"
        );
        assert!(check_space(&dir.path().join("nothing")).is_none());
    }
}
