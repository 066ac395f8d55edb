//! Where the branch of a working tree began: the last commit that it shares
//! with the branch that work goes back to.

use super::git::{GitError, GitResult, Repository, run, text};

/// What the branch that work goes back to may be called, the surest first.
const TRUNKS: [&str; 5] = [
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
    "refs/remotes/origin/master",
    "refs/heads/main",
    "refs/heads/master",
];

/// The commit at which the branch began, if there is another one to compare
/// it with.
pub(super) fn beginning(repository: &Repository) -> GitResult<Option<String>> {
    if repository.resolve("HEAD")?.is_none() {
        return Ok(None);
    }
    for trunk in TRUNKS {
        let Some(trunk) = repository.resolve(trunk)? else {
            continue;
        };
        let mut git = repository.reading();
        git.args(["merge-base", "HEAD", &trunk]);
        return match run(git, None) {
            Ok(said) => Ok(Some(text(&said)).filter(|commit| !commit.is_empty())),
            // They have nothing in common.
            Err(GitError::Failed(_)) => Ok(None),
            Err(error) => Err(error),
        };
    }
    Ok(None)
}
