//! Working trees of sessions' own: made when a session begins, and removed
//! with it, unless there is work in them that is nowhere else.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::git::{GitError, GitResult, Repository, StandIns, create_private, run, text};

/// Git looks at all working trees of a repository when it adds or removes one,
/// and fails at one that another git is just making.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static CHANGING: Mutex<()> = Mutex::new(());
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a working tree of the repository that a directory is in, on a branch
/// of its own that begins where `from` is. Returns the same directory in it.
pub(super) fn create(
    directory: &Path,
    from: Option<&str>,
    (at, name): (&Path, &str),
    stand_ins: &StandIns,
) -> GitResult<PathBuf> {
    let Some(repository) = Repository::find(directory, PathBuf::new(), stand_ins)? else {
        return Err(GitError::Other(format!(
            "`{}` is in no git repository, and only those have working trees",
            directory.display()
        )));
    };
    let within = at.join(&repository.scope);
    // A host that ended before the session knew of it has made it already.
    if at.join(".git").exists() {
        fill(&repository, at, stand_ins)?;
        return Ok(within);
    }
    let from = from.unwrap_or("HEAD");
    let Some(commit) = repository.resolve(from)? else {
        return Err(GitError::Other(format!(
            "unknown branch or commit `{from}` in this repository"
        )));
    };
    if let Some(parent) = at.parent() {
        create_private(parent)?;
    }
    let alone = one_at_a_time();
    let branch = free_branch(&repository, name)?;
    // Git would make it in the stand-in otherwise.
    std::fs::create_dir_all(repository.common_dir.join("worktrees"))?;
    let mut git = repository.reading();
    git.args(["worktree", "add", "--quiet", "--no-checkout", "-b", &branch]);
    git.arg(at).arg(commit);
    run(git, None)?;
    // Putting files there may take long, and concerns nobody else.
    drop(alone);
    if let Err(error) = fill(&repository, at, stand_ins) {
        let _alone = one_at_a_time();
        let mut git = repository.reading();
        git.args(["worktree", "remove", "--force"]).arg(at);
        // What stays behind is said with what went wrong, by the next one.
        let _ = run(git, None);
        let mut git = repository.reading();
        git.args(["branch", "--quiet", "--delete", "--force", &branch]);
        let _ = run(git, None);
        return Err(error);
    }
    // The directory may be one that is not in that commit.
    std::fs::create_dir_all(&within)?;
    Ok(within)
}

/// Connects a new working tree with its repository, and puts its files there.
fn fill(repository: &Repository, at: &Path, stand_ins: &StandIns) -> GitResult<()> {
    let pointer = at.join(".git");
    let text = std::fs::read_to_string(&pointer)?;
    // Git was told that the shared directory is a stand-in, and says so.
    let Some(name) = Path::new(text.trim_end()).file_name() else {
        return Err(GitError::NotUnderstood("worktree add"));
    };
    let own = repository.common_dir.join("worktrees").join(name);
    let mut connected = b"gitdir: ".to_vec();
    connected.extend_from_slice(own.as_os_str().as_bytes());
    connected.push(b'\n');
    std::fs::write(&pointer, connected)?;
    let Some(tree) = Repository::find(at, PathBuf::new(), stand_ins)? else {
        let reason = "the working tree that was made is not connected with its repository";
        return Err(GitError::Other(reason.to_owned()));
    };
    if tree.git_dir.join("index").exists() {
        return Ok(());
    }
    let ask = |args: &[&str]| {
        let mut git = tree.reading();
        git.args(args);
        run(git, None)
    };
    // Attributes are asked of the commit, as there are no files yet.
    let checked = tree.check_filters(|| {
        ask(&["read-tree", "HEAD"])?;
        ask(&["ls-files", "-z"])
    });
    if checked.is_err() {
        // It is not a working tree before its files are there.
        let _ = std::fs::remove_file(tree.git_dir.join("index"));
    }
    checked?;
    ask(&["reset", "--quiet", "--hard"]).map(drop)
}

fn free_branch(repository: &Repository, name: &str) -> GitResult<String> {
    for number in 1..1_000 {
        let branch = match number {
            1 => format!("innkeeper/{name}"),
            number => format!("innkeeper/{name}-{number}"),
        };
        if repository
            .resolve(&format!("refs/heads/{branch}"))?
            .is_none()
        {
            return Ok(branch);
        }
    }
    Err(GitError::Other("there are too many branches".to_owned()))
}

/// Removes a working tree, unless something would be lost.
pub(super) fn remove_or_say_why(at: &Path, stand_ins: &StandIns) {
    match remove(at, stand_ins) {
        Ok(()) => tracing::info!(tree = %at.display(), "a working tree is removed"),
        Err(error) => tracing::warn!(tree = %at.display(), %error, "a working tree stays"),
    }
}

/// Removes a working tree, and its branch if that has nothing of its own.
/// Where there is anything uncommitted in it, nothing happens: `git` itself
/// refuses. So do we where its commit is on no branch, and would be lost.
fn remove(at: &Path, stand_ins: &StandIns) -> GitResult<()> {
    if !at.exists() {
        return Ok(());
    }
    let Some(repository) = Repository::find(at, PathBuf::new(), stand_ins)? else {
        let reason = "this is not a working tree of a repository";
        return Err(GitError::Other(reason.to_owned()));
    };
    if repository.git_dir == repository.common_dir {
        return Err(GitError::Other(
            "this is a repository, and no working tree of one".to_owned(),
        ));
    }
    let mut git = repository.reading();
    git.args(["symbolic-ref", "--quiet", "--short", "HEAD"]);
    let branch = run(git, None).map(|said| text(&said)).ok();
    if branch.is_none() {
        let mut git = repository.reading();
        git.args(["for-each-ref", "--count=1", "--contains", "HEAD"]);
        git.args(["refs/heads", "refs/remotes", "refs/tags"]);
        if run(git, None)?.is_empty() {
            let reason = "its last commit is on no branch";
            return Err(GitError::Other(reason.to_owned()));
        }
    }
    let _alone = one_at_a_time();
    let home = repository.without_tree();
    let mut git = home.reading();
    git.args(["worktree", "remove"]).arg(at);
    run(git, None)?;
    if let Some(branch) = branch.filter(|branch| branch.starts_with("innkeeper/")) {
        // Only if another branch has all of it.
        let full_name = format!("refs/heads/{branch}");
        let mut git = home.reading();
        git.args(["for-each-ref", "--format=%(refname:short)", "--contains"]);
        git.args([full_name.as_str(), "refs/heads", "refs/remotes"]);
        let holders = text(&run(git, None)?);
        if holders.lines().any(|holder| holder != branch) {
            let mut git = home.reading();
            git.args(["branch", "--quiet", "--delete", "--force", &branch]);
            run(git, None)?;
        }
    }
    Ok(())
}

/// The names of the branches, the latest first.
pub(super) fn branches(directory: &Path, stand_ins: &StandIns) -> GitResult<Vec<String>> {
    let Some(repository) = Repository::find(directory, PathBuf::new(), stand_ins)? else {
        return Ok(Vec::new());
    };
    let mut git = repository.reading();
    git.args(["for-each-ref", "--sort=-committerdate"]);
    git.args(["--format=%(refname:short)", "refs/heads"]);
    let names = text(&run(git, None)?);
    Ok(names.lines().map(str::to_owned).collect())
}
