//! What can be done about changes. Whatever it is, the state before it is kept
//! first, and can be returned to.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use super::checkpoint::{Checkpoints, UNDO_COMMIT, UNDO_FILES, UNDO_PARENT};
use super::git::{GitError, GitResult, Repository, nul_separated, run, text};
use super::trees::{Look, TreeChange, compare};

/// Which files something is done to: paths relative to the working tree, or
/// all that differ.
pub(super) type Which = Vec<PathBuf>;

pub(super) struct Bench<'a> {
    pub(super) repository: &'a Repository,
    pub(super) tree: &'a Dir,
    pub(super) checkpoints: &'a mut Checkpoints,
}

impl Bench<'_> {
    /// Makes files what they are in a kept state. Returns how many that are.
    pub(super) fn put_back(&mut self, to: &str, which: &Which) -> GitResult<usize> {
        let now = self.keep_for_undo()?;
        let mut changes = compare(self.repository, &now, to, Look::Paths)?;
        if !which.is_empty() {
            changes.retain(|change| change.path().is_some_and(|path| which.contains(path)));
        }
        let (written, removed): (Vec<TreeChange>, Vec<TreeChange>) = changes
            .into_iter()
            .partition(|change| change.after.is_some());
        // First what goes: it may be a file where a directory has to be.
        for change in &removed {
            if let Some(path) = change.path() {
                self.remove(path)?;
            }
        }
        let written: Vec<&Path> = written
            .iter()
            .filter_map(|change| change.path().map(PathBuf::as_path))
            .collect();
        if !written.is_empty() {
            let mut git = self.repository.private();
            git.args(["restore", "--worktree", "--no-overlay", "--source", to]);
            git.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
            run(git, Some(&nul_separated(written.iter().copied())))?;
        }
        Ok(written.len() + removed.len())
    }

    /// What is staged of these files is no longer staged.
    pub(super) fn unstage(&self, which: &Which) -> GitResult<()> {
        let mut git = self.repository.reading();
        git.args(["reset", "--quiet"]);
        if which.is_empty() {
            git.arg("--").arg(self.repository.pathspec());
            return run(git, None).map(drop);
        }
        git.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
        run(
            git,
            Some(&nul_separated(which.iter().map(PathBuf::as_path))),
        )
        .map(drop)
    }

    /// Commits all changes as the user would: with their name and hooks.
    pub(super) fn commit(&mut self, message: &str) -> GitResult<String> {
        let repository = self.repository;
        let parent = repository.resolve("HEAD")?;
        let now = self.checkpoints.take(repository)?;
        self.checkpoints.name(repository, UNDO_FILES, &now)?;
        let index = repository.git_dir.join("index");
        let staged = match std::fs::read(&index) {
            Ok(staged) => Some(staged),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let mut add = repository.as_the_user();
        add.args(["-c", "advice.addEmbeddedRepo=false", "add", "--all", "--"]);
        add.arg(repository.pathspec());
        let mut commit = repository.as_the_user();
        commit.args(["commit", "--quiet", "--message", message]);
        if !repository.scope.as_os_str().is_empty() {
            commit.arg("--only").arg("--").arg(&repository.scope);
        }
        let done = run(add, None).and_then(|_| run(commit, None));
        if let Err(error) = done {
            // What was staged before is staged again, and nothing else.
            match staged {
                Some(staged) => replace(&index, &staged)?,
                None => std::fs::remove_file(&index)?,
            }
            return Err(error);
        }
        let commit = repository
            .resolve("HEAD")?
            .ok_or(GitError::NotUnderstood("commit"))?;
        match &parent {
            Some(parent) => {
                self.checkpoints.name(repository, UNDO_COMMIT, &commit)?;
                self.checkpoints.name(repository, UNDO_PARENT, parent)?;
            }
            // The first commit of a repository stays.
            None => self.checkpoints.unname(repository, UNDO_COMMIT)?,
        }
        self.checkpoints.unname(repository, UNDO_FILES)?;
        let mut git = repository.reading();
        git.args(["log", "-1", "--format=%h %s"]);
        Ok(text(&run(git, None)?))
    }

    /// Takes back the last operation. Returns what to say about it.
    pub(super) fn undo(&mut self) -> GitResult<String> {
        let repository = self.repository;
        if let Some(commit) = self.checkpoints.find(repository, UNDO_COMMIT)? {
            let parent = self.checkpoints.find(repository, UNDO_PARENT)?;
            let head = repository.resolve("HEAD")?;
            let Some(parent) = parent.filter(|_| head.as_ref() == Some(&commit)) else {
                return Err(GitError::Other(
                    "there are newer commits; the commit cannot be taken back".to_owned(),
                ));
            };
            let mut git = repository.as_the_user();
            git.args(["reset", "--quiet", "--mixed", &parent]);
            run(git, None)?;
            self.checkpoints.unname(repository, UNDO_COMMIT)?;
            return Ok("The commit was taken back; its changes are still there.".to_owned());
        }
        let Some(before) = self.checkpoints.find(repository, UNDO_FILES)? else {
            return Err(GitError::Other("there is nothing to undo".to_owned()));
        };
        let files = self.put_back(&before, &Which::new())?;
        Ok(format!("{} as before.", counted(files)))
    }

    pub(super) fn can_undo(&self) -> bool {
        let has = |name| matches!(self.checkpoints.find(self.repository, name), Ok(Some(_)));
        has(UNDO_COMMIT) || has(UNDO_FILES)
    }

    fn keep_for_undo(&mut self) -> GitResult<String> {
        let now = self.checkpoints.take(self.repository)?;
        self.checkpoints.name(self.repository, UNDO_FILES, &now)?;
        self.checkpoints.unname(self.repository, UNDO_COMMIT)?;
        Ok(now)
    }

    /// Removes a file, and the directories that are empty without it.
    fn remove(&self, path: &Path) -> GitResult<()> {
        match self.tree.remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        for above in path.ancestors().skip(1) {
            let inside = above.starts_with(&self.repository.scope);
            let is_root = above.as_os_str().is_empty() || above == self.repository.scope;
            if is_root || !inside || self.tree.remove_dir(above).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// Replaces the user's index, as `git` itself does: whoever else is at it
/// makes this fail.
fn replace(index: &Path, content: &[u8]) -> io::Result<()> {
    let lock = index.with_extension("lock");
    std::fs::File::create_new(&lock)?;
    std::fs::write(&lock, content)?;
    std::fs::rename(&lock, index)
}

pub(super) fn counted(files: usize) -> String {
    match files {
        1 => "1 file is".to_owned(),
        files => format!("{files} files are"),
    }
}
