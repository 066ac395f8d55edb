//! Where agents are installed: `ID/VERSION`, with a small file next to it that
//! says which version counts and what its program is.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::{InstallError, Tell, at};
use crate::discovery::is_executable;
use crate::private;

/// Written last, and the only thing that makes a version count.
const CURRENT: &str = "current.json";

/// Written whenever something was installed or removed, for whoever waits for it.
const CHANGED: &str = ".changed";

/// The agents that the host has installed.
#[derive(Debug, Clone)]
pub struct Installed {
    directory: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Current {
    version: String,
    /// Below the directory of the version.
    program: PathBuf,
}

impl Installed {
    /// Those in a data directory.
    #[must_use]
    pub fn in_data(data_dir: &Path) -> Self {
        Self {
            directory: data_dir.join("agents").join("installed"),
        }
    }

    /// The program that starts an agent.
    pub fn program(&self, id: &str) -> Option<PathBuf> {
        let Current { version, program } = self.current(id)?;
        let stays_inside = |part| matches!(part, Component::Normal(_));
        let program = program.components().all(stays_inside).then_some(program)?;
        let program = self.place(id, &version).join(program);
        is_executable(&program).then_some(program)
    }

    /// The version of an agent that is installed.
    pub fn version(&self, id: &str) -> Option<String> {
        self.program(id)?;
        Some(self.current(id)?.version)
    }

    /// When something was last installed or removed.
    pub fn changed(&self) -> Option<SystemTime> {
        fs::metadata(self.directory.join(CHANGED))
            .and_then(|found| found.modified())
            .ok()
    }

    /// The directory of a version.
    pub(super) fn place(&self, id: &str, version: &str) -> PathBuf {
        self.directory.join(id).join(version)
    }

    /// Waits until nobody else installs this agent. What was left behind by
    /// somebody who was killed goes then.
    pub(super) async fn lock(&self, id: &str, tell: &Tell) -> Result<File, InstallError> {
        let failed = at(&self.directory);
        private::create_directory(&self.directory).map_err(&failed)?;
        let path = self.directory.join(format!(".lock-{id}"));
        let open = private::file().write(true).truncate(false).open(path);
        let file = open.map_err(&failed)?;
        let file = match file.try_lock() {
            Ok(()) => file,
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => {
                tell("waiting for another installation of the same agent");
                let locked = tokio::task::spawn_blocking(move || file.lock().map(|()| file));
                let locked = locked.await.map_err(io::Error::other).and_then(|file| file);
                locked.map_err(&failed)?
            }
        };
        self.sweep(id);
        Ok(file)
    }

    /// A directory to put a version together in. Its path is no shorter than
    /// the one that it is moved to, as the length of an interpreter's path is
    /// limited in scripts.
    pub(super) fn new_directory(&self, id: &str, version: &str) -> Result<TempDir, InstallError> {
        let made = tempfile::Builder::new()
            .prefix(&format!("{}{version}-", temporary(id)))
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(&self.directory);
        made.map_err(at(&self.directory))
    }

    /// Moves a version that is complete to its place, and makes it count. The
    /// version before stays for agents that are running.
    pub(super) fn take(
        &self,
        id: &str,
        version: &str,
        new: TempDir,
        program: &Path,
    ) -> Result<(), InstallError> {
        let place = self.place(id, version);
        let of_agent = self.directory.join(id);
        let before = self.current(id).map(|current| current.version);
        private::create_directory(&of_agent).map_err(at(&of_agent))?;
        self.discard(id, &place)?;
        fs::rename(new.path(), &place).map_err(at(&place))?;
        // It is not where it was, so there is nothing to remove.
        let _ = new.keep();
        let current = Current {
            version: version.to_owned(),
            program: program.to_owned(),
        };
        let written = tempfile::Builder::new()
            .prefix(&temporary(id))
            .tempfile_in(&self.directory)
            .and_then(|mut file| {
                file.write_all(&serde_json::to_vec(&current)?)?;
                file.as_file().sync_all()?;
                Ok(file.persist(of_agent.join(CURRENT))?)
            });
        written.map_err(at(&of_agent))?;
        self.tell_others();
        let keep = [Some(version.to_owned()), before];
        for other in entries(&of_agent) {
            let name = other.file_name().and_then(|name| name.to_str());
            let name = name.map(str::to_owned);
            if other.is_dir() && !keep.contains(&name) {
                let _ = fs::remove_dir_all(other);
            }
        }
        Ok(())
    }

    /// Removes an agent with all its versions.
    pub(super) fn remove(&self, id: &str) -> Result<bool, InstallError> {
        let of_agent = self.directory.join(id);
        if !of_agent.exists() {
            return Ok(false);
        }
        self.discard(id, &of_agent)?;
        self.tell_others();
        Ok(true)
    }

    /// Takes a directory away at once, and removes it then.
    fn discard(&self, id: &str, directory: &Path) -> Result<(), InstallError> {
        if !directory.exists() {
            return Ok(());
        }
        let failed = at(directory);
        let away = self.new_directory(id, "old").map_err(|_| ());
        let Ok(away) = away else {
            return fs::remove_dir_all(directory).map_err(failed);
        };
        fs::rename(directory, away.path().join("old")).map_err(failed)
    }

    fn current(&self, id: &str) -> Option<Current> {
        let bytes = fs::read(self.directory.join(id).join(CURRENT)).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    /// Whoever holds the lock is the only one who has such directories.
    fn sweep(&self, id: &str) {
        let ours = temporary(id);
        for left in entries(&self.directory) {
            let name = left.file_name().and_then(|name| name.to_str());
            if name.is_some_and(|name| name.starts_with(&ours)) {
                let _ = fs::remove_dir_all(&left).or_else(|_| fs::remove_file(&left));
            }
        }
    }

    fn tell_others(&self) {
        let _ = private::write(&self.directory.join(CHANGED), b"");
    }
}

/// How the names of what passes begin. A dot ends the id, as none has one.
fn temporary(id: &str) -> String {
    format!(".new-{id}.")
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}
