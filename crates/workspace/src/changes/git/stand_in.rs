//! The stand-in for a repository's shared directory, which is where git reads
//! the repository's own configuration and hooks.
//!
//! A configuration can make git run programs in more ways than anybody can
//! list, and the list grows with every version. So git never sees it: it is
//! told (`GIT_COMMON_DIR`) that the shared directory is one of ours, with links
//! to the objects and refs of the repository and with a configuration that we
//! wrote ([`super::settings`]). What belongs to the working tree, its `HEAD`
//! and its index, stays where it is. A program that git starts for the user,
//! such as git LFS, is told the same and sees no more.
//!
//! *Invariant*: nothing in a stand-in was written by others, and no file of
//! the repository is replaced through it. Whoever changes the configuration
//! while git runs changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{DirBuilder, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tempfile::TempDir;

use super::finding::Found;
use super::running::{Git, run};
use super::settings::{Remote, Settings};
use super::{GitError, GitResult, regular};

/// A configuration that is larger is not read.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// What git finds in a stand-in, whether or not it is there yet.
const LINKED: [&str; 7] = [
    "HEAD",
    "info",
    "objects",
    "packed-refs",
    "refs",
    "reftable",
    "shallow",
];

/// What it would make if it were missing, which through a link it cannot.
const LINKED_IF_THERE: [&str; 3] = ["lfs", "logs", "worktrees"];

/// The stand-ins of a host, one for each working tree that is worked in.
#[derive(Debug)]
pub(crate) struct StandIns {
    root: PathBuf,
    made: Mutex<HashMap<PathBuf, Weak<StandIn>>>,
}

impl StandIns {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self {
            root,
            made: Mutex::default(),
        }
    }

    pub(super) fn of(&self, found: &Found) -> GitResult<Arc<StandIn>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made.get(&found.git_dir).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|it| it.common_dir == found.common_dir) {
            return Ok(known);
        }
        made.retain(|_, stand_in| stand_in.strong_count() > 0);
        let new = Arc::new(StandIn::new(&self.root, found)?);
        made.insert(found.git_dir.clone(), Arc::downgrade(&new));
        Ok(new)
    }

    /// Removes what earlier hosts left that were killed.
    pub(crate) fn remove_earlier(&self) {
        let own = format!("{}-", std::process::id());
        let entries = std::fs::read_dir(&self.root).into_iter().flatten();
        for entry in entries.flatten() {
            if !entry.file_name().to_string_lossy().starts_with(&own) {
                // What stays is in nobody's way.
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    }
}

#[derive(Debug)]
pub(super) struct StandIn {
    place: TempDir,
    git_dir: PathBuf,
    common_dir: PathBuf,
    written: Mutex<Option<Written>>,
}

/// The configuration as it was written last, and what it was made of.
#[derive(Debug)]
struct Written {
    made_of: [Option<Stamp>; 2],
    filters: BTreeSet<Vec<u8>>,
    remotes: BTreeMap<String, Remote>,
    left_out: BTreeSet<String>,
}

/// What tells one state of a file from another.
type Stamp = (u64, u64, i64, i64, i64, i64);

fn stamp(found: &Metadata) -> Stamp {
    let (ino, size) = (found.ino(), found.size());
    let changed = (found.ctime(), found.ctime_nsec());
    (
        ino,
        size,
        found.mtime(),
        found.mtime_nsec(),
        changed.0,
        changed.1,
    )
}

impl StandIn {
    fn new(root: &Path, found: &Found) -> io::Result<Self> {
        create_private(root)?;
        let place = tempfile::Builder::new()
            .prefix(&format!("{}-", std::process::id()))
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir_in(root)?;
        for name in LINKED {
            symlink(found.common_dir.join(name), place.path().join(name))?;
        }
        Ok(Self {
            place,
            git_dir: found.git_dir.clone(),
            common_dir: found.common_dir.clone(),
            written: Mutex::default(),
        })
    }

    pub(super) fn path(&self) -> &Path {
        self.place.path()
    }

    /// Brings it up to date with the repository, before git is started.
    pub(super) fn refresh(&self) -> GitResult<()> {
        for name in LINKED_IF_THERE {
            let (theirs, ours) = (self.common_dir.join(name), self.path().join(name));
            if theirs.is_dir() && ours.symlink_metadata().is_err() {
                match symlink(theirs, ours) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                        return Err(error.into());
                    }
                    _ => {}
                }
            }
        }
        let files = [
            self.common_dir.join("config"),
            self.git_dir.join("config.worktree"),
        ];
        let now = [0, 1].map(|at| std::fs::metadata(&files[at]).ok().map(|it| stamp(&it)));
        let mut written = self.lock();
        if written.as_ref().is_some_and(|it| it.made_of == now) {
            return Ok(());
        }
        let mut settings = Settings::default();
        let mut made_of = [read_settings(&files[0], &mut settings)?, None];
        made_of[1] = match settings.by_work_tree {
            true => read_settings(&files[1], &mut settings)?,
            false => now[1],
        };
        let unfinished = self.path().join("config.new");
        std::fs::write(&unfinished, settings.written()?)?;
        std::fs::rename(unfinished, self.path().join("config"))?;
        *written = Some(Written {
            made_of,
            filters: settings.filters,
            remotes: settings.remotes,
            left_out: settings.left_out,
        });
        Ok(())
    }

    /// The filters that only the repository's own configuration has, as of the
    /// last time that git was started: they are not run.
    pub(super) fn filters(&self) -> BTreeSet<Vec<u8>> {
        let written = self.lock();
        written
            .as_ref()
            .map(|it| it.filters.clone())
            .unwrap_or_default()
    }

    /// The remotes, and what the repository says about speaking to them that
    /// is left out; as of the last time that git was started.
    pub(super) fn remotes(&self) -> (BTreeMap<String, Remote>, BTreeSet<String>) {
        let written = self.lock();
        let found = written.as_ref();
        found
            .map(|it| (it.remotes.clone(), it.left_out.clone()))
            .unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Written>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes in what a file of settings says, without what it includes.
pub(super) fn read_settings(path: &Path, settings: &mut Settings) -> GitResult<Option<Stamp>> {
    let Some((found, bytes)) = regular::read(path, MOST_BYTES)? else {
        return Ok(None);
    };
    // Git reads its own format best. It is handed the text, so that it looks
    // at nothing else, and has no repository to look into.
    let mut git = Git::new();
    git.env("GIT_DIR", "/dev/null").current_dir("/");
    git.args(["config", "--file", "-", "--no-includes", "--list", "-z"]);
    let said = run(git, Some(&bytes)).map_err(|error| match error {
        GitError::Failed(why) => GitError::Failed(format!("{}: {why}", path.display())),
        other => other,
    })?;
    settings.add(&said);
    Ok(Some(stamp(&found)))
}

/// Makes a directory that only this user can enter, from its first moment.
pub(in crate::changes) fn create_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}
