//! The `git` program, and which repository it works on.
//!
//! *Invariant*: nothing here takes a lock of the user's repository, runs a
//! hook or starts a daemon, unless the user asked for a commit. What has to
//! be staged is staged in an index of our own.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use innkeeper_protocol::workspace::changes::Trouble;

/// Variables that would lead `git` elsewhere.
const LEADING_ASTRAY: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_LITERAL_PATHSPECS",
];

#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    #[error("`git` cannot be run: {0}")]
    NotRun(io::Error),
    #[error("{}", first_line(.0))]
    Failed(String),
    #[error("what `git {0}` says is not understood")]
    NotUnderstood(&'static str),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Known(#[from] Trouble),
    /// A sentence that needs nothing added.
    #[error("{0}")]
    Other(String),
}

fn first_line(said: &str) -> &str {
    let line = said.lines().find(|line| !line.trim().is_empty());
    line.map_or("git failed without a word", |line| {
        line.trim().trim_start_matches("fatal: ")
    })
}

impl From<GitError> for Trouble {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Known(trouble) => trouble,
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
}

impl Repository {
    /// The repository that a directory is in, if it is in one.
    pub(crate) fn find(directory: &Path, index: PathBuf) -> GitResult<Option<Self>> {
        let mut git = bare_command();
        git.arg("-C").arg(directory).args([
            "rev-parse",
            "--path-format=absolute",
            "--git-dir",
            "--git-common-dir",
            "--show-toplevel",
            "--show-prefix",
        ]);
        let said = match run(git, None) {
            Ok(said) => said,
            Err(GitError::Failed(why)) if why.contains("not a git repository") => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut lines = said.split(|byte| *byte == b'\n').map(path_of);
        let mut next = || lines.next().ok_or(GitError::NotUnderstood("rev-parse"));
        let (git_dir, common_dir, work_tree) = (next()?, next()?, next()?);
        let scope = lines.next().unwrap_or_default();
        if work_tree.as_os_str().is_empty() {
            return Err(GitError::Other(
                "this is within a repository's own files".to_owned(),
            ));
        }
        Ok(Some(Self {
            git_dir,
            common_dir,
            work_tree,
            // Without its trailing slash.
            scope: scope.components().collect(),
            index,
            is_shadow: false,
        }))
    }

    /// A repository of our own beside a directory that is in none.
    pub(crate) fn shadow(directory: &Path, home: &Path, index: PathBuf) -> GitResult<Self> {
        let git_dir = home.join("git");
        if !git_dir.join("HEAD").exists() {
            let mut git = bare_command();
            git.args(["-c", "init.defaultBranch=main", "init", "--quiet", "--bare"]);
            git.arg("--template=").arg(&git_dir);
            run(git, None)?;
        }
        Ok(Self {
            common_dir: git_dir.clone(),
            index,
            git_dir,
            work_tree: std::fs::canonicalize(directory)?,
            scope: PathBuf::new(),
            is_shadow: true,
        })
    }

    /// A command that sees the user's index, and does not write to it.
    pub(crate) fn reading(&self) -> Command {
        let mut git = self.command();
        git.env("GIT_OPTIONAL_LOCKS", "0");
        git
    }

    /// A command with the index of our own.
    pub(crate) fn private(&self) -> Command {
        let mut git = self.command();
        git.env("GIT_INDEX_FILE", &self.index);
        git
    }

    fn command(&self) -> Command {
        let mut git = self.as_the_user();
        git.args(["-c", "core.hooksPath=/dev/null"]);
        git
    }

    /// A command that does what the user would: with hooks.
    pub(crate) fn as_the_user(&self) -> Command {
        let mut git = bare_command();
        git.arg("--git-dir").arg(&self.git_dir);
        git.arg("--work-tree").arg(&self.work_tree);
        git.args(["--literal-pathspecs", "-c", "core.fsmonitor=false"]);
        git.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"]);
        if self.is_shadow {
            git.args(["-c", "core.autocrlf=false", "-c", "core.bare=false"]);
        }
        git.current_dir(&self.work_tree);
        git
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
}

fn bare_command() -> Command {
    let mut git = Command::new("git");
    for name in LEADING_ASTRAY {
        git.env_remove(name);
    }
    git.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
    git
}

/// Runs a command to its end. What it says on standard error is the reason if
/// it fails.
pub(crate) fn run(mut git: Command, input: Option<&[u8]>) -> GitResult<Vec<u8>> {
    git.stdin(match input {
        Some(_) => Stdio::piped(),
        None => Stdio::null(),
    });
    git.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = git.spawn().map_err(GitError::NotRun)?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        if let (Some(mut stdin), Some(input)) = (stdin, input) {
            // Beside reading: both sides may have more than a pipe holds. One
            // that does not want all of it says why on standard error.
            scope.spawn(move || stdin.write_all(input));
        }
        child.wait_with_output()
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = match output.stderr.trim_ascii().is_empty() {
        true => output.stdout,
        false => output.stderr,
    };
    Err(GitError::Failed(
        String::from_utf8_lossy(&said).into_owned(),
    ))
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
