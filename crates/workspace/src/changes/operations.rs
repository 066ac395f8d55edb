//! What can be done about changes. Whatever it is, the state before it is kept
//! first, and can be returned to.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;
use innkeeper_protocol::workspace::changes::{ChangesError, Lines, OperationDone};
use innkeeper_protocol::workspace::lines::{MOST_COUNTED, is_binary, returned};

use super::checkpoint::{COMMITTING, Checkpoints, UNDO_COMMIT, UNDO_FILES, UNDO_PARENT, stage_all};
use super::git::{GitResult, LIMIT_OF_COMMIT, Repository, nul_separated, run, text};
use super::trees::{Look, TreeChange, compare};

/// Which files something is done to: paths relative to the working tree, or
/// all that differ.
pub(super) type Which = Vec<PathBuf>;

/// What is at a path in a kept state.
enum Kept {
    Nothing,
    Text {
        mode: String,
        data: Vec<u8>,
    },
    /// A link, a directory, binary content or too much of it.
    NoText,
}

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
        let paths = written.iter().filter_map(|change| change.path());
        let paths: Vec<&Path> = paths.map(PathBuf::as_path).collect();
        let listed = || Ok(nul_separated(paths.iter().copied()));
        self.repository.check_filters(listed)?;
        // First what goes: it may be a file where a directory has to be.
        for change in &removed {
            if let Some(path) = change.path() {
                self.remove(path)?;
            }
        }
        if !paths.is_empty() {
            let mut git = self.repository.private();
            git.args(["restore", "--worktree", "--no-overlay", "--source", to]);
            git.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
            run(git, Some(&nul_separated(paths.iter().copied())))?;
        }
        Ok(paths.len() + removed.len())
    }

    /// Returns the changes that touch some lines of a file to what a kept state
    /// has there. Returns how many these are.
    pub(super) fn put_back_lines(
        &mut self,
        to: &str,
        (before, after): (&Path, &Path),
        lines: &Lines,
    ) -> GitResult<usize> {
        let now = self.checkpoints.take(self.repository)?;
        let old = match self.kept_file(to, before)? {
            Kept::Text { data, .. } => data,
            Kept::Nothing => Vec::new(),
            Kept::NoText => return Err(ChangesError::WholeFileOnly.into()),
        };
        let (mode, new) = match self.kept_file(&now, after)? {
            Kept::Text { mode, data } => (mode, data),
            Kept::Nothing => return Err(ChangesError::NothingThere.into()),
            Kept::NoText => return Err(ChangesError::WholeFileOnly.into()),
        };
        let Some((text, count)) = returned(&old, &new, lines.counted_before, &lines.range) else {
            return Err(ChangesError::WholeFileOnly.into());
        };
        if count == 0 {
            return Err(ChangesError::NothingThere.into());
        }
        let tree = self.tree_with(&now, after, &mode, &text)?;
        self.put_back(&tree, &vec![after.to_owned()])?;
        Ok(count)
    }

    fn kept_file(&self, state: &str, path: &Path) -> GitResult<Kept> {
        let mut git = self.repository.reading();
        git.args(["ls-tree", "-z", "--long", "--full-tree", state, "--"]);
        git.arg(path);
        let said = run(git, None)?;
        // `MODE TYPE ID SIZE`, then a tab and the path.
        let entry = String::from_utf8_lossy(&said).into_owned();
        let entry = entry.split('\t').next().unwrap_or_default();
        let words: Vec<&str> = entry.split_whitespace().collect();
        let [mode @ ("100644" | "100755"), "blob", id, size] = words[..] else {
            return Ok(match words.is_empty() {
                true => Kept::Nothing,
                false => Kept::NoText,
            });
        };
        let is_small = size.parse().is_ok_and(|size: u64| size <= MOST_COUNTED);
        let mut git = self.repository.reading();
        git.args(["cat-file", "blob", id]);
        let data = match is_small {
            true => run(git, None)?,
            false => return Ok(Kept::NoText),
        };
        let mode = mode.to_owned();
        Ok(match is_binary(&data) {
            true => Kept::NoText,
            false => Kept::Text { mode, data },
        })
    }

    /// A kept state with other content of one file.
    fn tree_with(&self, state: &str, path: &Path, mode: &str, text: &[u8]) -> GitResult<String> {
        let mut git = self.repository.reading();
        git.args(["hash-object", "-w", "--no-filters", "--stdin"]);
        let id = super::git::text(&run(git, Some(text))?);
        // An index of its own: that of the checkpoints knows the files as they are.
        let place = tempfile::tempdir()?;
        let with_index = |args: &[&str]| {
            let mut git = self.repository.reading();
            git.env("GIT_INDEX_FILE", place.path().join("index"));
            git.args(args);
            git
        };
        run(with_index(&["read-tree", state]), None)?;
        let mut entry = format!("{mode} {id}\t").into_bytes();
        entry.extend(nul_separated([path]));
        run(
            with_index(&["update-index", "-z", "--index-info"]),
            Some(&entry),
        )?;
        Ok(super::git::text(&run(with_index(&["write-tree"]), None)?))
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

    /// Commits all changes as the user would: with their name and hooks. What
    /// is committed is staged in an index of our own, so that the user's is as
    /// it was if anything stands in the way.
    pub(super) fn commit(&mut self, message: &str) -> GitResult<String> {
        let repository = self.repository;
        let parent = repository.resolve("HEAD")?;
        self.stage_all(parent.as_deref())?;
        let intended = self.checkpoints.staged(repository, parent.as_deref())?;
        self.checkpoints.name(repository, COMMITTING, &intended)?;
        let mut commit = repository.as_the_user();
        commit.env("GIT_INDEX_FILE", &repository.index);
        commit
            .limit(LIMIT_OF_COMMIT)
            .args(["commit", "--quiet", "--file=-"]);
        // By standard input: an argument may not be as long as a message.
        if let Err(error) = run(commit, Some(message.as_bytes())) {
            self.checkpoints.unname(repository, COMMITTING)?;
            return Err(error);
        }
        self.committed(parent.as_deref())?;
        let mut git = repository.reading();
        git.args(["log", "-1", "--format=%h %s"]);
        Ok(text(&run(git, None)?))
    }

    /// The index of our own becomes the last commit with all changes of the
    /// session's part of the repository.
    fn stage_all(&mut self, parent: Option<&str>) -> GitResult<()> {
        let repository = self.repository;
        self.checkpoints.prepare_index(repository)?;
        let mut read = repository.private();
        match parent {
            // What the index knows of unchanged files is kept.
            Some(parent) => read.args(["read-tree", "-m", parent]),
            None => read.args(["read-tree", "--empty"]),
        };
        run(read, None)?;
        // What is committed goes through the repository's own filters.
        let mut add = repository.as_the_user();
        add.env("GIT_INDEX_FILE", &repository.index);
        add.args(["-c", "advice.addEmbeddedRepo=false", "add", "--all"]);
        stage_all(repository, add)
    }

    /// After a commit: the user's index has what was committed, and the commit
    /// can be taken back.
    fn committed(&mut self, parent: Option<&str>) -> GitResult<()> {
        let repository = self.repository;
        self.unstage(&Which::new())?;
        self.checkpoints.unname(repository, UNDO_FILES)?;
        match (parent, repository.resolve("HEAD")?) {
            (Some(parent), Some(commit)) => {
                self.checkpoints.name(repository, UNDO_PARENT, parent)?;
                self.checkpoints.name(repository, UNDO_COMMIT, &commit)?;
            }
            // The first commit of a repository stays.
            _ => self.checkpoints.unname(repository, UNDO_COMMIT)?,
        }
        self.checkpoints.unname(repository, COMMITTING)
    }

    /// A commit that an earlier host was killed in is finished, if it was made.
    /// Returns whether it may still be made: what was started goes on alone.
    pub(super) fn resume_commit(&mut self) -> GitResult<bool> {
        let repository = self.repository;
        let of_intended = |what: &str| {
            let intended = self.checkpoints.full_name(COMMITTING);
            repository.resolve_any(&format!("{intended}{what}"))
        };
        if of_intended("")?.is_none() {
            return Ok(false);
        }
        let parent = of_intended("^1")?;
        if repository.resolve("HEAD")? == parent {
            return Ok(true);
        }
        let same_parent = repository.resolve_any("HEAD^1")? == parent;
        if same_parent && repository.resolve_any("HEAD^{tree}")? == of_intended("^{tree}")? {
            self.committed(parent.as_deref())?;
        } else {
            // Somebody else has gone on from there.
            self.checkpoints.unname(repository, COMMITTING)?;
        }
        Ok(false)
    }

    /// Takes back the last operation. Returns what that means.
    pub(super) fn undo(&mut self) -> GitResult<OperationDone> {
        let repository = self.repository;
        if let Some(commit) = self.checkpoints.find(repository, UNDO_COMMIT)? {
            let parent = self.checkpoints.find(repository, UNDO_PARENT)?;
            let head = repository.resolve("HEAD")?;
            let Some(parent) = parent.filter(|_| head.as_ref() == Some(&commit)) else {
                return Err(ChangesError::NewerCommits.into());
            };
            let mut git = repository.reading();
            git.args(["reset", "--quiet", "--soft", &parent]);
            run(git, None)?;
            self.unstage(&Which::new())?;
            self.checkpoints.unname(repository, UNDO_COMMIT)?;
            return Ok(OperationDone::CommitTakenBack);
        }
        let Some(before) = self.checkpoints.find(repository, UNDO_FILES)? else {
            return Err(ChangesError::NothingToUndo.into());
        };
        let files = self.put_back(&before, &Which::new())?;
        Ok(OperationDone::FilesAsBefore(files))
    }

    /// There was an operation that was not about these files.
    pub(super) fn forget_undo(&mut self) -> GitResult<()> {
        if self.can_undo() {
            self.checkpoints.unname(self.repository, UNDO_FILES)?;
            self.checkpoints.unname(self.repository, UNDO_COMMIT)?;
        }
        Ok(())
    }

    pub(super) fn can_undo(&self) -> bool {
        let find = |name| self.checkpoints.find(self.repository, name).ok().flatten();
        match find(UNDO_COMMIT) {
            // One that was taken back, or that others follow, is past.
            Some(commit) => self.repository.resolve("HEAD").ok().flatten() == Some(commit),
            None => find(UNDO_FILES).is_some(),
        }
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
