//! What is kept for sessions that are gone: because a host was killed before it
//! had cleaned up, or because there was none when the session was deleted.
//!
//! The files that a session has in the host's own directory are the record of
//! it: each place has one ([`PLACE`]) that says where its checkpoints are. It is
//! written before the first checkpoint and removed after the last one, so
//! whatever happens in between is found by the next start.
//!
//! *Invariant*: checkpoints are removed by the name of a session that has files
//! here. Others in the same repository may belong to a host with another data
//! directory.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use innkeeper_protocol::workspace::changes::component;

use super::checkpoint::{forget_session, own_index};
use super::git::{GitError, GitResult, Repository, StandIns, create_private, path_of};
use super::{ChangesService, HEARD, REPOSITORIES};
use crate::resources::place::uri_of_path;

/// The file that says which directory a place is, and where its repository is:
/// two paths, each with a NUL behind it.
const PLACE: &str = "place";

/// More than two paths.
const MOST_BYTES: u64 = 64 * 1024;

/// The sessions that something is kept for, by the names that their files have;
/// `root` is where the files of all sessions are.
pub fn kept_in(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names
        .filter(|name| ![HEARD, REPOSITORIES].contains(&name.as_str()))
        .collect()
}

/// The working trees that there are, as `file:` URIs; `root` is where all of
/// them are.
pub fn trees_in(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).into_iter().flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter_map(|path| uri_of_path(&path)).collect()
}

impl ChangesService {
    /// The sessions that something is kept for, by the names that their files
    /// have.
    pub fn kept(&self) -> Vec<String> {
        kept_in(&self.root)
    }

    /// Removes what is kept for sessions that are gone, in repositories and in
    /// the host's own directory.
    pub fn forget_kept(&self, names: &[String]) {
        for name in names {
            // One of that name may have come since it was said to be gone.
            let is_open = |session: &str| component(session) == *name;
            if self.lock().keys().any(|session| is_open(session.as_str())) {
                continue;
            }
            match forget(&self.root.join(name), name, &self.stand_ins) {
                Ok(()) => tracing::info!(session = name, "what was kept for a session is removed"),
                Err(error) => tracing::warn!(
                    session = name, %error,
                    "checkpoints stay behind; the next start tries again to remove them"
                ),
            }
        }
    }
}

/// Notes where the checkpoints of a place are, before there are any.
pub(super) fn note_place(home: &Path, directory: &Path, repository: &Repository) -> io::Result<()> {
    let mut text = Vec::new();
    for path in [directory, &repository.common_dir] {
        text.extend_from_slice(path.as_os_str().as_bytes());
        text.push(0);
    }
    let file = home.join(PLACE);
    if fs::read(&file).is_ok_and(|noted| noted == text) {
        return Ok(());
    }
    create_private(home)?;
    let mut unfinished = tempfile::NamedTempFile::new_in(home)?;
    unfinished.write_all(&text)?;
    unfinished.persist(file)?;
    Ok(())
}

/// `home` is where the session's own files are. They go last, and only if all
/// else has gone.
fn forget(home: &Path, name: &str, stand_ins: &StandIns) -> GitResult<()> {
    let places = match fs::read_dir(home) {
        Ok(places) => places,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for entry in places {
        let place = entry?.path();
        if let Some(repository) = repository_of(&place, stand_ins)? {
            repository.prepare()?;
            forget_session(&repository, name)?;
        }
    }
    fs::remove_dir_all(home)?;
    Ok(())
}

/// The repository that holds the checkpoints of a place. There is none if both
/// the directory and its repository are gone.
fn repository_of(place: &Path, stand_ins: &StandIns) -> GitResult<Option<Repository>> {
    let Some((directory, common_dir)) = noted(place)? else {
        return Ok(None);
    };
    let outer = directory.ancestors().find(|path| path.is_dir());
    // That of a working tree which is gone.
    let main = common_dir.as_deref().and_then(Path::parent);
    let is_meant = |found: &Repository| {
        let noted = common_dir.as_ref();
        noted.is_none_or(|noted| same_place(noted, &found.common_dir))
    };
    let mut failure = None;
    for at in [outer, main].into_iter().flatten() {
        match Repository::find(at, own_index(place), stand_ins) {
            Ok(Some(found)) if is_meant(&found) => return Ok(Some(found)),
            Ok(_) => {}
            Err(GitError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(None), Err)
}

fn same_place(one: &Path, other: &Path) -> bool {
    let found = |path: &Path| fs::canonicalize(path).ok();
    one == other || found(one).is_some_and(|one| found(other) == Some(one))
}

/// The directory of a place, and where its repository is if that is known.
fn noted(place: &Path) -> GitResult<Option<(PathBuf, Option<PathBuf>)>> {
    let file = place.join(PLACE);
    let text = match fs::metadata(&file) {
        Ok(found) if found.len() <= MOST_BYTES => fs::read(file)?,
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = place.file_name().unwrap_or_default().to_string_lossy();
            return Ok(spelled_out(&name).map(|directory| (directory, None)));
        }
        Err(error) => return Err(error.into()),
    };
    let mut paths = text.split(|byte| *byte == 0).map(path_of);
    let directory = paths.next().filter(|path| path.is_absolute());
    let common_dir = paths.next().filter(|path| path.is_absolute());
    Ok(directory.map(|directory| (directory, common_dir)))
}

/// The directory that a place is named after. Earlier releases wrote nothing
/// else; a long name does not tell.
fn spelled_out(name: &str) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    let mut rest = name.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'_' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    let text = String::from_utf8(bytes).ok()?;
    (component(&text) == name).then(|| PathBuf::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_tells_the_directory_and_a_long_one_does_not() {
        for path in ["/", "/srv/My Project_1", "/w/ü"] {
            assert_eq!(spelled_out(&component(path)), Some(path.into()), "{path}");
        }
        let long = format!("/{}", "x".repeat(200));
        assert_eq!(spelled_out(&component(&long)), None);
        assert_eq!(spelled_out("_zz"), None);
    }
}
