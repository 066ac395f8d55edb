//! The `git` program, and which repository it works on.
//!
//! - [`finding`]: which repository a directory is in;
//! - [`stand_in`] and [`settings`]: what git sees of its configuration;
//! - [`regular`]: files that git would wait for, and links that lead out;
//! - [`running`]: how git is started, and ended;
//! - [`version`]: which git can be told all this.
//!
//! *Invariant*: nothing here takes a lock of the user's repository, runs a
//! program that the repository names, leaves its working tree or starts a
//! daemon, unless the user asked for a commit. It speaks to nobody unless the
//! user asked for a push. What has to be staged is staged
//! in an index of our own.

mod finding;
mod regular;
mod running;
mod settings;
mod stand_in;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::workspace::changes::{ChangesError, PushError};

use stand_in::StandIn;

pub(crate) use regular::{check_ignore_files, read as read_regular};
pub(in crate::changes) use running::{
    Git, LIMIT, LIMIT_BEFORE_TURN, LIMIT_OF_COMMIT, LIMIT_OF_PUSH, Stop, alongside, run, run_aloud,
};
pub(in crate::changes) use settings::Remote;
pub(super) use stand_in::{StandIns, create_private};
pub use version::{LEAST_GIT, judge_git};

#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("`git` cannot be run: {0}")]
    NotRun(io::Error),
    #[error("{}", first_line(.0))]
    Failed(String),
    #[error(
        "`git {task}` took longer than {} seconds and was ended; look for pipes or a slow disk \
         in this directory", limit.as_secs()
    )]
    TookTooLong { task: String, limit: Duration },
    /// Somebody said so.
    #[error("git was ended")]
    Stopped,
    #[error("what `git {0}` says is not understood")]
    NotUnderstood(&'static str),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Known(#[from] ChangesError),
    /// A sentence that needs nothing added.
    #[error("{0}")]
    Other(String),
}

fn first_line(said: &str) -> &str {
    let line = said.lines().find(|line| !line.trim().is_empty());
    line.map_or("git failed without a message", |line| {
        line.trim().trim_start_matches("fatal: ")
    })
}

impl From<GitError> for ChangesError {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Known(trouble) => trouble,
            GitError::Stopped => PushError::Cancelled.into(),
            other => Self::Other(other.to_string()),
        }
    }
}

pub(crate) type GitResult<T> = Result<T, GitError>;

/// A repository and the part of it that a session works in.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    pub(crate) git_dir: PathBuf,
    /// Where the refs are: another directory than `git_dir` in a linked
    /// working tree.
    pub(crate) common_dir: PathBuf,
    pub(crate) work_tree: PathBuf,
    /// The session's directory, relative to the working tree.
    pub(crate) scope: PathBuf,
    /// An index of our own.
    pub(crate) index: PathBuf,
    /// It is ours alone: the directory is in no repository of the user's.
    pub(crate) is_shadow: bool,
    /// What git is shown of it, if it is the user's.
    stand_in: Option<Arc<StandIn>>,
}

impl Repository {
    /// The repository that a directory is in, if it is in one.
    pub(crate) fn find(
        directory: &Path,
        index: PathBuf,
        stand_ins: &StandIns,
    ) -> GitResult<Option<Self>> {
        version::check().map_err(GitError::Other)?;
        let Some(found) = finding::find(directory)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            stand_in: Some(stand_ins.of(&found)?),
            git_dir: found.git_dir,
            common_dir: found.common_dir,
            work_tree: found.work_tree,
            scope: found.scope,
            index,
            is_shadow: false,
        }))
    }

    /// A repository of our own next to a directory that is in none.
    pub(crate) fn shadow(directory: &Path, home: &Path, index: PathBuf) -> GitResult<Self> {
        let git_dir = home.join("git");
        let repository = Self {
            common_dir: git_dir.clone(),
            index,
            work_tree: std::fs::canonicalize(directory)?,
            scope: PathBuf::new(),
            is_shadow: true,
            stand_in: None,
            git_dir,
        };
        if !repository.git_dir.join("HEAD").exists() {
            create_private(&repository.git_dir)?;
            let mut git = Git::new();
            git.args(["init", "--quiet", "--bare", "--initial-branch=main"]);
            git.args(["--shared=0600", "--template="]);
            git.arg(&repository.git_dir);
            run(git, None)?;
        }
        Ok(repository)
    }

    /// The same repository, seen from none of its working trees.
    pub(crate) fn without_tree(&self) -> Self {
        Self {
            work_tree: self.common_dir.clone(),
            git_dir: self.common_dir.clone(),
            ..self.clone()
        }
    }

    /// A command that sees the user's index, and does not write to it.
    pub(crate) fn reading(&self) -> Git {
        let mut git = self.command();
        git.env("GIT_OPTIONAL_LOCKS", "0");
        git
    }

    /// A command with the index of our own.
    pub(crate) fn private(&self) -> Git {
        let mut git = self.command();
        git.env("GIT_INDEX_FILE", &self.index);
        git
    }

    fn command(&self) -> Git {
        let mut git = self.placed(Git::new());
        match &self.stand_in {
            Some(stand_in) => git.env("GIT_COMMON_DIR", stand_in.path()),
            None => git.args(["-c", "core.autocrlf=false", "-c", "core.bare=false"]),
        };
        git
    }

    /// A command that does what the user would: with the repository's own
    /// configuration and hooks.
    pub(crate) fn as_the_user(&self) -> Git {
        self.placed(Git::as_the_user())
    }

    fn placed(&self, git: Git) -> Git {
        let mut git = git.within(self);
        git.env("GIT_DIR", &self.git_dir);
        git.env("GIT_WORK_TREE", &self.work_tree);
        git.env("GIT_LITERAL_PATHSPECS", "1");
        git.current_dir(&self.work_tree);
        git
    }

    /// Looks at what git will read, before it is started: whoever works here
    /// may have put something else in its place since it was found.
    pub(crate) fn prepare(&self) -> GitResult<()> {
        self.check()?;
        match &self.stand_in {
            Some(stand_in) => stand_in.refresh(),
            None => Ok(()),
        }
    }

    /// Looks at it again when git has ended: what it said is not believed if
    /// something else has taken the place of what it was to read.
    pub(crate) fn check(&self) -> GitResult<()> {
        let dirs = [self.git_dir.as_path(), self.common_dir.as_path()];
        regular::check_files(dirs, &self.work_tree, &self.scope)?;
        regular::check_place(&self.work_tree)?;
        let inner = self.work_tree.join(&self.scope);
        // One that is gone is a change like any other.
        if inner.symlink_metadata().is_ok() {
            regular::check_place(&inner)?;
        }
        for directory in dirs.iter().filter(|_| self.stand_in.is_some()) {
            regular::check_place(directory)?;
            regular::check_parts(directory)?;
        }
        Ok(())
    }

    /// What commands are to look at.
    pub(crate) fn pathspec(&self) -> &OsStr {
        match self.scope.as_os_str() {
            scope if scope.is_empty() => OsStr::new("."),
            scope => scope,
        }
    }

    pub(crate) fn holds(&self, path: &Path) -> bool {
        path.starts_with(&self.scope)
    }

    /// The commit that a name stands for, if there is one.
    pub(crate) fn resolve(&self, name: &str) -> GitResult<Option<String>> {
        self.resolve_any(&format!("{name}^{{commit}}"))
    }

    /// The object that a name stands for, if there is one.
    pub(crate) fn resolve_any(&self, name: &str) -> GitResult<Option<String>> {
        let mut git = self.reading();
        git.args(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        git.arg(name);
        match run(git, None) {
            Ok(said) => Ok(Some(text(&said))),
            Err(GitError::Failed(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The tree that has nothing in it.
    pub(crate) fn empty_tree(&self) -> GitResult<String> {
        let mut git = self.private();
        git.args(["hash-object", "-w", "-t", "tree", "--stdin"]);
        Ok(text(&run(git, Some(b""))?))
    }

    /// Says so if files go through a filter that only the repository's own
    /// configuration has: written without it, they would not be what they are.
    /// `paths` lists them, each with a NUL behind it.
    pub(crate) fn check_filters(
        &self,
        paths: impl FnOnce() -> GitResult<Vec<u8>>,
    ) -> GitResult<()> {
        let unknown = self.own_filters()?;
        if unknown.is_empty() {
            return Ok(());
        }
        let mut git = self.reading();
        git.args(["check-attr", "-z", "--stdin", "filter"]);
        let said = run(git, Some(&paths()?))?;
        // `PATH`, `filter`, its value.
        let fields: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
        let filtered = fields.chunks_exact(3);
        match filtered.into_iter().find(|it| unknown.contains(it[2])) {
            None => Ok(()),
            Some(found) => Err(GitError::Other(format!(
                "`{}` goes through the filter `{}`, which only this repository's own \
                 configuration has and which is not run here; use git for it, or configure the \
                 filter with `git config --global`",
                path_of(found[0]).display(),
                String::from_utf8_lossy(found[2])
            ))),
        }
    }

    /// The remotes of the user's repository, and what it says about speaking to
    /// them that git is not shown.
    pub(crate) fn remotes(&self) -> GitResult<(BTreeMap<String, Remote>, BTreeSet<String>)> {
        self.prepare()?;
        let stand_in = self.stand_in.as_ref();
        Ok(stand_in.map(|it| it.remotes()).unwrap_or_default())
    }

    /// What the user's own configuration says, or what of the repository's is
    /// harmless.
    pub(crate) fn setting(&self, from: &[&str], key: &str) -> GitResult<Option<String>> {
        let mut git = self.reading();
        git.arg("config").args(from).args(["--get", key]);
        match run(git, None) {
            Ok(said) => Ok(Some(text(&said)).filter(|value| !value.is_empty())),
            Err(GitError::Failed(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The filters of the repository's own configuration that the user's has
    /// not.
    fn own_filters(&self) -> GitResult<BTreeSet<Vec<u8>>> {
        self.prepare()?;
        let stand_in = self.stand_in.as_ref();
        let mut own = stand_in.map(|it| it.filters()).unwrap_or_default();
        if own.is_empty() {
            return Ok(own);
        }
        let mut git = self.reading();
        git.args(["config", "--list", "-z"]);
        let mut users = settings::Settings::default();
        users.add(&run(git, None)?);
        own.retain(|name| !users.filters.contains(name));
        Ok(own)
    }
}

/// What was said, without the end of its line.
pub(crate) fn text(said: &[u8]) -> String {
    String::from_utf8_lossy(said.trim_ascii()).into_owned()
}

pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// Paths as commands read them from standard input.
pub(crate) fn nul_separated<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path.as_os_str().as_bytes());
        bytes.push(0);
    }
    bytes
}
