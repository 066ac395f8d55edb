//! Two kept states, compared.

use std::collections::HashMap;
use std::path::PathBuf;

use super::git::{GitError, GitResult, Repository, path_of, run, text};
use super::status::Blob;

/// What differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeChange {
    pub(super) before: Option<(PathBuf, Blob)>,
    pub(super) after: Option<(PathBuf, Blob)>,
    /// Lines added and removed; `None` if they cannot be counted.
    pub(super) lines: Option<(u32, u32)>,
}

impl TreeChange {
    pub(super) fn path(&self) -> Option<&PathBuf> {
        let side = self.after.as_ref().or(self.before.as_ref());
        side.map(|(path, _)| path)
    }
}

/// How closely trees are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Which paths differ.
    Paths,
    /// Renames and lines as well.
    Closely,
}

pub(super) fn compare(
    repository: &Repository,
    before: &str,
    after: &str,
    look: Look,
) -> GitResult<Vec<TreeChange>> {
    let mut git = repository.reading();
    git.args([
        "diff-tree",
        "-r",
        "-z",
        "--no-commit-id",
        "--raw",
        "--no-abbrev",
    ]);
    git.args(["--no-ext-diff", "--no-textconv", "--ignore-submodules=all"]);
    match look {
        Look::Paths => git.arg("--no-renames"),
        Look::Closely => git.args(["--find-renames", "--numstat"]),
    };
    git.args([before, after, "--"]).arg(repository.pathspec());
    parse(&run(git, None)?).ok_or(GitError::NotUnderstood("diff-tree"))
}

/// How much differs between two trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) files: u64,
    pub(super) added: u64,
    pub(super) removed: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.files += other.files;
        self.added += other.added;
        self.removed += other.removed;
    }
}

pub(super) fn count(repository: &Repository, before: &str, after: &str) -> GitResult<Counts> {
    let mut git = repository.reading();
    git.args(["diff-tree", "-r", "--no-commit-id", "--shortstat"]);
    git.args(["--no-ext-diff", "--no-textconv", "--ignore-submodules=all"]);
    git.args(["--find-renames", before, after, "--"]);
    git.arg(repository.pathspec());
    Ok(parse_counts(&text(&run(git, None)?)))
}

/// `3 files changed, 4 insertions(+), 1 deletion(-)`, without what is zero.
pub(super) fn parse_counts(said: &str) -> Counts {
    let mut counts = Counts::default();
    for part in said.split(", ") {
        let Some((number, what)) = part.trim().split_once(' ') else {
            continue;
        };
        let number = number.parse().unwrap_or(0);
        if what.starts_with("file") {
            counts.files = number;
        } else if what.starts_with("insertion") {
            counts.added = number;
        } else if what.starts_with("deletion") {
            counts.removed = number;
        }
    }
    counts
}

pub(super) fn parse(said: &[u8]) -> Option<Vec<TreeChange>> {
    let mut fields = said.split(|byte| *byte == 0).filter(|it| !it.is_empty());
    let mut changes = Vec::new();
    let mut counts = HashMap::new();
    while let Some(field) = fields.next() {
        match field.strip_prefix(b":") {
            // `:MODE MODE ID ID STATUS`, then one path or two.
            Some(raw) => {
                let raw = String::from_utf8_lossy(raw);
                let words: Vec<&str> = raw.split(' ').collect();
                let [old_mode, new_mode, old, new, status] = words[..] else {
                    return None;
                };
                let first = path_of(fields.next()?);
                let second = match status.starts_with(['R', 'C']) {
                    true => path_of(fields.next()?),
                    false => first.clone(),
                };
                let module = "160000";
                if old_mode != module && new_mode != module {
                    changes.push(TreeChange {
                        before: side(first, old),
                        after: side(second, new),
                        lines: None,
                    });
                }
            }
            // `ADDED TAB REMOVED TAB PATH`, or the paths of a rename after it.
            None => {
                let mut parts = field.splitn(3, |byte| *byte == b'\t');
                let added = String::from_utf8_lossy(parts.next()?).parse();
                let removed = String::from_utf8_lossy(parts.next()?).parse();
                let path = match parts.next() {
                    Some(path) if !path.is_empty() => path_of(path),
                    _ => {
                        fields.next()?;
                        path_of(fields.next()?)
                    }
                };
                counts.insert(path, added.ok().zip(removed.ok()));
            }
        }
    }
    for change in &mut changes {
        change.lines = change.path().and_then(|path| *counts.get(path)?);
    }
    Some(changes)
}

fn side(path: PathBuf, id: &str) -> Option<(PathBuf, Blob)> {
    let nothing = id.bytes().all(|byte| byte == b'0');
    let blob = Blob { id: id.to_owned() };
    (!nothing).then_some((path, blob))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_understood() {
        let counts = |files, added, removed| Counts {
            files,
            added,
            removed,
        };
        let whole = " 3 files changed, 4 insertions(+), 1 deletion(-)\n";
        assert_eq!(parse_counts(whole), counts(3, 4, 1));
        let only = " 1 file changed, 2 deletions(-)";
        assert_eq!(parse_counts(only), counts(1, 0, 2));
        assert_eq!(parse_counts(""), counts(0, 0, 0));
    }

    #[test]
    fn renames_binaries_and_deletions_are_understood() {
        let said = b":100644 100644 aa bb R090\0old\0new\0:100644 000000 cc 00 D\0gone\0\
            :100644 100644 dd ee M\0picture\0:160000 160000 ff f0 M\0module\0\
            1\t2\t\0old\0new\0\
            0\t9\tgone\0-\t-\tpicture\0";
        let changes = parse(said).unwrap();
        let paths = |side: &Option<(PathBuf, Blob)>| {
            side.as_ref()
                .map(|(path, blob)| format!("{} {}", path.display(), blob.id))
        };
        let seen: Vec<_> = changes
            .iter()
            .map(|it| (paths(&it.before), paths(&it.after), it.lines))
            .collect();
        let some = |text: &str| Some(text.to_owned());
        let expected = [
            (some("old aa"), some("new bb"), Some((1, 2))),
            (some("gone cc"), None, Some((0, 9))),
            (some("picture dd"), some("picture ee"), None),
        ];
        assert_eq!(seen, expected);
    }
}
