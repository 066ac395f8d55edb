//! Files that git would read, looked at before it does: a pipe among them
//! would hold it for ever, and a link may lead out of the repository.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{GitError, GitResult};

/// What git reads in a repository's directory, whatever it is asked.
const IN_REPOSITORY: [&str; 9] = [
    "HEAD",
    "index",
    "config",
    "config.worktree",
    "packed-refs",
    "shallow",
    "info/exclude",
    "info/attributes",
    "info/sparse-checkout",
];

/// What it reads in the directories of a working tree.
const IN_WORK_TREE: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// Parts of a repository that must be in it: through a link, another
/// repository's would be taken for its own.
const WITHIN: [&str; 14] = [
    "HEAD",
    "index",
    "config",
    "packed-refs",
    "shallow",
    "objects",
    "objects/pack",
    "objects/info",
    "refs",
    "refs/heads",
    "reftable",
    "info",
    "logs",
    "worktrees",
];

/// Directories in which nothing may be a link: git would read or write what is
/// behind it.
const WITHOUT_LINKS: [&str; 11] = [
    "objects",
    "objects/pack",
    "refs",
    "refs/heads",
    "refs/heads/innkeeper",
    "refs/innkeeper",
    "logs",
    "logs/refs",
    "logs/refs/heads",
    "logs/refs/heads/innkeeper",
    "worktrees",
];

/// What is read to find out what to ignore, besides what git itself reads.
const IGNORING: [&str; 5] = [
    ".gitignore",
    ".gitattributes",
    ".ignore",
    ".rgignore",
    ".git/info/exclude",
];

/// Looks at what says which files of a directory are ignored, before anybody
/// reads it.
pub(crate) fn check_ignore_files(directory: &Path) -> GitResult<()> {
    let mut names = IGNORING.iter();
    names.try_for_each(|name| check_file(directory.join(name)))
}

/// Looks at what git reads first in a repository and in the directories from
/// its working tree down to `scope`.
pub(super) fn check_files(repository: [&Path; 2], work_tree: &Path, scope: &Path) -> GitResult<()> {
    for directory in repository {
        for name in IN_REPOSITORY {
            check_file(directory.join(name))?;
        }
    }
    let inner = work_tree.join(scope);
    let between = inner.ancestors().take(scope.components().count() + 1);
    for directory in between {
        for name in IN_WORK_TREE {
            check_file(directory.join(name))?;
        }
    }
    Ok(())
}

fn check_file(path: PathBuf) -> GitResult<()> {
    match std::fs::metadata(&path) {
        // A directory of that name is for git to complain about.
        Ok(found) if found.is_file() || found.is_dir() => Ok(()),
        Ok(_) => Err(not_regular(&path)),
        // Not there, or not to be seen: git will not wait for it.
        Err(_) => Ok(()),
    }
}

/// Looks whether a directory is where it was found, and not behind a link that
/// took its place.
pub(super) fn check_place(directory: &Path) -> GitResult<()> {
    let real = std::fs::canonicalize(directory)?;
    match real == directory && real.is_dir() {
        true => Ok(()),
        false => Err(elsewhere(directory)),
    }
}

/// Looks whether the parts of a repository are its own.
pub(super) fn check_parts(directory: &Path) -> GitResult<()> {
    for name in WITHIN {
        let path = directory.join(name);
        match std::fs::canonicalize(&path) {
            Ok(real) if !real.starts_with(directory) => return Err(elsewhere(&path)),
            _ => {}
        }
    }
    for name in WITHOUT_LINKS {
        let entries = std::fs::read_dir(directory.join(name))
            .into_iter()
            .flatten();
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                return Err(elsewhere(&entry.path()));
            }
        }
    }
    let borrowed = directory.join("objects/info/alternates");
    match std::fs::symlink_metadata(&borrowed) {
        Ok(found) if found.len() > 0 => Err(GitError::Other(format!(
            "this repository borrows objects from another one, which is not followed; to see \
             changes, run `git repack -a -d` in it and then remove {}",
            borrowed.display()
        ))),
        _ => Ok(()),
    }
}

/// Reads a file of at most so many bytes; `None` if there is none. What tells
/// its state is looked at before it is read.
pub(crate) fn read(path: &Path, most: u64) -> GitResult<Option<(Metadata, Vec<u8>)>> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(not_regular(path));
    }
    let mut data = Vec::new();
    file.take(most + 1).read_to_end(&mut data)?;
    if data.len() as u64 > most {
        return Err(GitError::Other(format!(
            "{} is larger than {most} bytes, and is not read",
            path.display()
        )));
    }
    Ok(Some((metadata, data)))
}

/// Without waiting for whoever is at the other end of a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

fn not_regular(path: &Path) -> GitError {
    GitError::Other(format!(
        "{} is not a regular file, and git would wait for it; remove it to see changes",
        path.display()
    ))
}

fn elsewhere(path: &Path) -> GitError {
    GitError::Other(format!(
        "{} leads out of its repository; its changes are not shown",
        path.display()
    ))
}
