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

/// The branch that work goes back to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Trunk {
    /// Without the remote: `main`.
    name: String,
    commit: String,
}

/// How what is checked out stands to the branch that work goes back to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Stand {
    /// What that branch is called, if there is one.
    pub(super) base: Option<String>,
    /// The last commit that both have.
    pub(super) began_at: Option<String>,
    /// Another branch is checked out, or commits that that one lacks.
    pub(super) has_own_work: bool,
}

/// Finds it out again only when something has moved.
#[derive(Debug, Default)]
pub(super) struct Standing {
    known: Option<(Trunk, String, Stand)>,
}

impl Standing {
    /// `head` is the commit that is checked out and `branch` the branch, if
    /// there are any.
    pub(super) fn of(
        &mut self,
        repository: &Repository,
        head: Option<&str>,
        branch: Option<&str>,
    ) -> GitResult<Stand> {
        let (Some(head), Some(trunk)) = (head, trunk_of(repository)?) else {
            return Ok(Stand::default());
        };
        let mut stand = match self.known.take() {
            Some((of, at, stand)) if of == trunk && at == head => stand,
            _ => stand(repository, head, &trunk)?,
        };
        let is_ahead = stand.began_at.as_deref() != Some(head);
        let is_aside = branch.is_some_and(|branch| branch != trunk.name);
        stand.has_own_work = is_ahead || is_aside;
        self.known = Some((trunk, head.to_owned(), stand.clone()));
        Ok(stand)
    }
}

/// The commit and the branch that are checked out, where there are any.
pub(super) fn checked_out(repository: &Repository) -> GitResult<(Option<String>, Option<String>)> {
    let mut git = repository.reading();
    git.args(["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"]);
    let said = match run(git, None) {
        Ok(said) => text(&said),
        // There is no commit yet.
        Err(GitError::Failed(_)) => return Ok((None, None)),
        Err(error) => return Err(error),
    };
    let mut lines = said.lines();
    let head = lines.next().map(str::to_owned);
    let branch = lines
        .next()
        .and_then(|name| name.strip_prefix("refs/heads/"));
    Ok((head, branch.map(str::to_owned)))
}

fn stand(repository: &Repository, head: &str, trunk: &Trunk) -> GitResult<Stand> {
    let mut git = repository.reading();
    git.args(["merge-base", head, &trunk.commit]);
    let began_at = match run(git, None) {
        Ok(said) => Some(text(&said)).filter(|commit| !commit.is_empty()),
        // They have nothing in common.
        Err(GitError::Failed(_)) => None,
        Err(error) => return Err(error),
    };
    Ok(Stand {
        base: Some(trunk.name.clone()),
        began_at,
        has_own_work: false,
    })
}

fn trunk_of(repository: &Repository) -> GitResult<Option<Trunk>> {
    let mut git = repository.reading();
    git.args([
        "for-each-ref",
        "--format=%(refname) %(objectname) %(symref)",
    ]);
    git.args(TRUNKS);
    let said = text(&run(git, None)?);
    let found = said.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (name, commit) = (words.next()?, words.next()?);
        let rank = TRUNKS.iter().position(|trunk| *trunk == name)?;
        let target = words.next().filter(|target| !target.is_empty());
        let full = target.unwrap_or(name);
        let name = full.strip_prefix("refs/heads/");
        let name = name.or_else(|| full.strip_prefix("refs/remotes/origin/"))?;
        let (name, commit) = (name.to_owned(), commit.to_owned());
        Some((rank, Trunk { name, commit }))
    });
    Ok(found.min_by_key(|(rank, _)| *rank).map(|(_, trunk)| trunk))
}
