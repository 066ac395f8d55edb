//! Whether the files that a store has open are still the ones at their paths.
//!
//! Somebody may delete or replace them while the host runs: a cleaner of
//! temporary files, a backup that is put back, a disk that is unmounted. What
//! is written then goes to files that nobody finds again, and SQLite does not
//! notice. *Invariant*: everything that is compared here is held open by us or
//! by SQLite as long as it is compared, so the system cannot give its number to
//! another file meanwhile.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::directory::{DATABASE_FILE, LOCK_FILE};
use super::looking::side_file;

/// Which file it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub(crate) fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
        }
    }
}

/// What a store has open, and where it was found.
#[derive(Debug)]
pub(super) struct Place {
    parts: Vec<Held>,
    /// Keeps the directory's number from being given to another.
    _dir: File,
}

#[derive(Debug)]
struct Held {
    part: Part,
    path: PathBuf,
    identity: Identity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Directory,
    Lock,
    Database,
    Log,
    Index,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "data directory",
            Self::Lock => "lock file",
            Self::Database => "database",
            Self::Log => "write-ahead log of the database",
            Self::Index => "index of the write-ahead log",
        })
    }
}

/// Something that is no longer where it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) part: Part,
    pub(crate) path: PathBuf,
    /// Something else is in its place.
    pub(crate) replaced: bool,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fate = match self.replaced {
            true => "replaced",
            false => "removed",
        };
        let (part, path) = (self.part, self.path.display());
        write!(f, "the {part} {path} was {fate} while the host ran")
    }
}

impl Place {
    /// To be called when SQLite has the database and its log open; `database`
    /// is what the file was just before.
    pub(super) fn of(dir: &Path, lock: &File, database: Identity) -> io::Result<Self> {
        let open_dir = File::open(dir)?;
        let file = dir.join(DATABASE_FILE);
        // SQLite keeps its other files next to the real one.
        let real = file.canonicalize()?;
        let (log, index) = (side_file(&real, "-wal"), side_file(&real, "-shm"));
        let parts = [
            (Part::Directory, dir.to_owned(), of(&open_dir)?),
            (Part::Database, file, database),
            (Part::Log, log.clone(), Identity::of(&fs::metadata(log)?)),
            (
                Part::Index,
                index.clone(),
                Identity::of(&fs::metadata(index)?),
            ),
            (Part::Lock, dir.join(LOCK_FILE), of(lock)?),
        ];
        let held = |(part, path, identity)| Held {
            part,
            path,
            identity,
        };
        Ok(Self {
            parts: parts.into_iter().map(held).collect(),
            _dir: open_dir,
        })
    }

    /// The first thing that is not where it was. What cannot be looked at for
    /// another reason is taken to be there: writing goes on, or says why not.
    pub(super) fn missing(&self) -> Option<Missing> {
        let missing = |held: &Held| {
            let replaced = match fs::metadata(&held.path) {
                Ok(found) if Identity::of(&found) == held.identity => return None,
                Ok(_) => true,
                Err(error) => match error.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => false,
                    _ => return None,
                },
            };
            Some(Missing {
                part: held.part,
                path: held.path.clone(),
                replaced,
            })
        };
        self.parts.iter().find_map(missing)
    }

    /// Whether the data directory itself is where it was.
    pub(super) fn has_directory(&self) -> bool {
        let mut parts = self.parts.iter();
        let dir = parts.find(|held| held.part == Part::Directory);
        dir.is_some_and(|held| {
            fs::metadata(&held.path).is_ok_and(|found| Identity::of(&found) == held.identity)
        })
    }
}

fn of(file: &File) -> io::Result<Identity> {
    Ok(Identity::of(&file.metadata()?))
}
