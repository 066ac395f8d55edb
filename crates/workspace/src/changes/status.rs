//! What `git status` says: the repository's state, and the files that are not
//! as the last commit has them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use innkeeper_protocol::workspace::changes::GitState;

use super::git::{GitResult, Repository, path_of, run};

/// Content that git keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blob {
    pub(super) id: String,
}

/// A file that may differ from the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// What the last commit has of it.
    pub(super) head: Option<Blob>,
    /// It does differ. Otherwise only the index does, for certain.
    pub(super) differs: bool,
}

#[derive(Debug, Default)]
pub(super) struct Status {
    /// The last commit; a repository may have none yet.
    pub(super) head: Option<String>,
    pub(super) git: GitState,
    pub(super) entries: BTreeMap<PathBuf, Entry>,
}

impl Status {
    /// Looks at everything.
    pub(super) fn read(repository: &Repository) -> GitResult<Self> {
        let said = ask(repository, [repository.pathspec().as_ref()], true)?;
        let mut status = parse(&said);
        status.git.uncommitted = status.entries.len() as u64;
        Ok(status)
    }

    /// Looks at some paths only: files, or directories with all in them.
    pub(super) fn update(
        &mut self,
        repository: &Repository,
        paths: &BTreeSet<PathBuf>,
    ) -> GitResult<()> {
        let said = ask(repository, paths.iter().map(PathBuf::as_path), false)?;
        let found = parse(&said);
        self.entries.retain(|known, _| !is_within(known, paths));
        self.entries.extend(found.entries);
        self.git.uncommitted = self.entries.len() as u64;
        Ok(())
    }
}

/// Whether a path is one of these, or below one of them.
pub(super) fn is_within(path: &Path, these: &BTreeSet<PathBuf>) -> bool {
    path.ancestors().any(|above| these.contains(above))
}

fn ask<'a>(
    repository: &Repository,
    paths: impl IntoIterator<Item = &'a Path>,
    branch: bool,
) -> GitResult<Vec<u8>> {
    let mut git = match repository.is_shadow {
        true => repository.private(),
        false => repository.reading(),
    };
    git.args(["status", "--porcelain=v2", "-z", "--no-renames"]);
    git.args(["--untracked-files=all", "--ignore-submodules=all"]);
    if branch {
        git.args(["--branch", "--ahead-behind"]);
    }
    git.arg("--").args(paths);
    run(git, None)
}

pub(super) fn parse(said: &[u8]) -> Status {
    let mut status = Status::default();
    for line in said.split(|byte| *byte == 0) {
        match line.first() {
            Some(b'#') => header(&mut status, &String::from_utf8_lossy(line)),
            // `1 XY sub mH mI mW hH hI path`
            Some(b'1') => changed(&mut status, line, 8, 6),
            // `u XY sub m1 m2 m3 mW h1 h2 h3 path`: ours is the commit's.
            Some(b'u') => changed(&mut status, line, 10, 8),
            Some(b'?') => {
                let path = path_of(line.get(2..).unwrap_or_default());
                // A directory is another repository: it is left alone.
                if !line.ends_with(b"/") {
                    let new = Entry {
                        head: None,
                        differs: true,
                    };
                    // What is only no longer tracked was said before.
                    let known = status.entries.entry(path).or_insert(new);
                    known.differs &= known.head.is_none();
                }
            }
            _ => {}
        }
    }
    status
}

fn changed(status: &mut Status, line: &[u8], fields: usize, blob: usize) {
    let mut parts = line.splitn(fields + 1, |byte| *byte == b' ');
    let words: Vec<&[u8]> = parts.by_ref().take(fields).collect();
    let (Some(path), Some(flags), Some(sub), Some(id)) =
        (parts.next(), words.get(1), words.get(2), words.get(blob))
    else {
        return;
    };
    if sub.starts_with(b"S") {
        return;
    }
    let head = String::from_utf8_lossy(id).into_owned();
    let head = (!head.bytes().all(|byte| byte == b'0')).then_some(Blob { id: head });
    let entry = Entry {
        // The index is as the commit is, and the file is not as the index.
        differs: flags.first() == Some(&b'.') && words.first() == Some(&&b"1"[..]),
        head,
    };
    status.entries.insert(path_of(path), entry);
}

fn header(status: &mut Status, line: &str) {
    let Some((name, value)) = line.trim_start_matches("# ").split_once(' ') else {
        return;
    };
    let git = &mut status.git;
    match name {
        "branch.oid" => status.head = (value != "(initial)").then(|| value.to_owned()),
        "branch.head" => git.branch = (value != "(detached)").then(|| value.to_owned()),
        "branch.upstream" => git.upstream = Some(value.to_owned()),
        "branch.ab" => {
            let mut counts = value.split(' ').map(|it| it.get(1..)?.parse().ok());
            git.ahead = counts.next().flatten();
            git.behind = counts.next().flatten();
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_understood() {
        let said = b"# branch.oid 1111\0# branch.head main\0# branch.upstream origin/main\0\
            # branch.ab +2 -3\0\
            1 .M N... 100644 100644 100644 aaaa aaaa changed file.txt\0\
            1 A. N... 000000 100644 100644 0000 bbbb added\0\
            1 .M S..U 160000 160000 160000 cccc cccc module\0\
            1 D. N... 100644 000000 000000 dddd 0000 kept\0\
            u UU N... 100644 100644 100644 100644 e1 e2 e3 both\0\
            ? new\0? kept\0? other/\0";
        let status = parse(said);
        assert_eq!(status.head.as_deref(), Some("1111"));
        assert_eq!(status.git.branch.as_deref(), Some("main"));
        assert_eq!((status.git.ahead, status.git.behind), (Some(2), Some(3)));
        let seen: Vec<_> = status
            .entries
            .iter()
            .map(|(path, entry)| {
                let head = entry.head.as_ref().map(|blob| blob.id.as_str());
                (path.to_str().unwrap(), head, entry.differs)
            })
            .collect();
        let expected = [
            ("added", None, false),
            ("both", Some("e2"), false),
            ("changed file.txt", Some("aaaa"), true),
            ("kept", Some("dddd"), false),
            ("new", None, true),
        ];
        assert_eq!(seen, expected);
    }
}
