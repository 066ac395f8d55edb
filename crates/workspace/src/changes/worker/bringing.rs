//! Bringing what a session did in its own working tree into the directory that
//! the tree was made for. Both are of one repository, so git merges the two
//! states as trees; only the outcome is written, and only if nothing conflicts.

use std::path::Path;

use innkeeper_protocol::workspace::changes::{ChangesError, OperationDone};

use super::Worker;
use crate::changes::checkpoint::commit_tree;
use crate::changes::git::{GitError, GitResult, Repository, run, text};
use crate::changes::operations::Which;
use crate::changes::place::Place;
use crate::resources::place::path_of_uri;

/// How many files that conflict are named.
const MOST_NAMED: usize = 10;

impl Worker {
    pub(super) fn bring_into(&mut self, directory: &str) -> GitResult<Vec<OperationDone>> {
        let Some(at) = self.git_place() else {
            return Err(ChangesError::NoRepository.into());
        };
        let Ok(path) = path_of_uri(directory) else {
            return Err(ChangesError::OtherRepository.into());
        };
        let paths = &self.paths;
        let mut target = Place::find(&self.session, &path, &paths.own, &paths.stand_ins)?;
        let own = &mut self.places[at];
        let is_same = target.repository.common_dir == own.repository.common_dir;
        if !is_same || target.repository.work_tree == own.repository.work_tree {
            return Err(ChangesError::OtherRepository.into());
        }
        let (begun, now) = own.begun_and_now()?;
        let (_, there) = target.begun_and_now()?;
        let merged = merge(&target.repository, &begun, (&there, &now))?;
        let files = target.bench().put_back(&merged, &Which::new())?;
        Ok(vec![OperationDone::Brought(files)])
    }
}

/// The tree that has what changed in both since the state in which one began.
fn merge(repository: &Repository, begun: &str, (there, now): (&str, &str)) -> GitResult<String> {
    let child = |state: &str| {
        let tree = format!("{state}^{{tree}}");
        let tree = repository.resolve_any(&tree)?;
        let tree = tree.ok_or(GitError::NotUnderstood("rev-parse"))?;
        commit_tree(repository, &tree, Some(begun))
    };
    let (there, now) = (child(there)?, child(now)?);
    let mut git = repository.private();
    git.args(["merge-tree", "--write-tree", "--name-only", "--no-messages"]);
    git.args([&there, &now]);
    match run(git, None) {
        Ok(said) => Ok(text(&said)),
        Err(GitError::Failed(reason)) => {
            let files = changed_in_both(repository, begun, (&there, &now))?;
            match files.is_empty() {
                true => Err(GitError::Failed(reason)),
                false => Err(ChangesError::Conflicts(files).into()),
            }
        }
        Err(error) => Err(error),
    }
}

/// The files that differ from the beginning on both sides.
fn changed_in_both(
    repository: &Repository,
    begun: &str,
    (there, now): (&str, &str),
) -> GitResult<Vec<String>> {
    let changed = |state: &str| {
        let mut git = repository.reading();
        git.args([
            "diff-tree",
            "-r",
            "-z",
            "--name-only",
            "--no-renames",
            begun,
            state,
        ]);
        let said = run(git, None)?;
        let names = said
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        let names = names.map(|name| String::from_utf8_lossy(name).into_owned());
        Ok::<Vec<String>, GitError>(names.collect())
    };
    let (there, mut now) = (changed(there)?, changed(now)?);
    now.retain(|name| there.contains(name) && !Path::new(name).as_os_str().is_empty());
    now.truncate(MOST_NAMED);
    Ok(now)
}
