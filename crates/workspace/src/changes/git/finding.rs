//! Which repository a directory is in, by rules of our own: git is told where
//! to work, and never looks for itself. It would take a directory that is laid
//! out as a bare repository for one, and a working tree that is elsewhere for
//! the one that was meant.
//!
//! *Invariant*: what is found is the repository *of* the working tree that the
//! directory is in. A `.git` that is not a directory must be answered by what it
//! points to; otherwise the directory is in no repository.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use super::regular::{check_files, check_parts, read};
use super::running::{self, Git};
use super::settings::Settings;
use super::stand_in::read_settings;
use super::{GitError, GitResult, path_of};

/// More than any path.
const MOST_OF_A_POINTER: u64 = 16 * 1024;

/// A repository and the part of its working tree that a directory is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) git_dir: PathBuf,
    /// Another directory than `git_dir` in a linked working tree.
    pub(super) common_dir: PathBuf,
    pub(super) work_tree: PathBuf,
    pub(super) scope: PathBuf,
}

/// The repository that a directory is in, if it is in one.
pub(super) fn find(directory: &Path) -> GitResult<Option<Found>> {
    let directory = std::fs::canonicalize(directory)?;
    let device = std::fs::metadata(&directory)?.dev();
    for work_tree in directory.ancestors() {
        if std::fs::metadata(work_tree)?.dev() != device {
            break;
        }
        let dot_git = work_tree.join(".git");
        let kind = match std::fs::symlink_metadata(&dot_git) {
            Ok(found) => found.file_type(),
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        let dirs = if kind.is_dir() {
            match is_repository(&dot_git, &dot_git) {
                true => own(dot_git.clone(), work_tree)?,
                false => continue,
            }
        } else {
            pointed_to(&dot_git, kind.is_symlink(), work_tree)?
        };
        let Some((git_dir, common_dir)) = dirs else {
            tracing::debug!(at = %dot_git.display(), "this is not the repository of its directory");
            return Ok(None);
        };
        let scope = directory.strip_prefix(work_tree).unwrap_or(Path::new(""));
        let is_git = |part: Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
        if scope.components().any(is_git) {
            return Err(GitError::Other(
                "this is within a repository's own files".to_owned(),
            ));
        }
        check_owner(&dot_git, &git_dir, work_tree)?;
        check_files([&git_dir, &common_dir], work_tree, scope)?;
        for directory in [&git_dir, &common_dir] {
            check_parts(directory)?;
        }
        return Ok(Some(Found {
            git_dir,
            common_dir,
            work_tree: work_tree.to_owned(),
            scope: scope.to_owned(),
        }));
    }
    Ok(None)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// What git takes for a repository.
fn is_repository(git_dir: &Path, common_dir: &Path) -> bool {
    let parts = ["objects", "refs"].map(|name| common_dir.join(name));
    git_dir.join("HEAD").symlink_metadata().is_ok() && parts.iter().all(|part| part.is_dir())
}

type Dirs = Option<(PathBuf, PathBuf)>;

/// A repository whose working tree is around it, unless it says otherwise.
fn own(git_dir: PathBuf, work_tree: &Path) -> GitResult<Dirs> {
    let settings = settings_of(&git_dir)?;
    let here = match &settings.work_tree {
        Some(path) => is_at(&git_dir.join(path), work_tree),
        None => !settings.is_bare,
    };
    // One that is a linked working tree's belongs to a file.
    let linked = git_dir.join("commondir").symlink_metadata().is_ok();
    Ok((here && !linked).then(|| (git_dir.clone(), git_dir)))
}

/// What a `.git` that is a file or a link stands for: the part of a repository
/// that belongs to a linked working tree, or the repository of a submodule.
fn pointed_to(dot_git: &Path, is_link: bool, work_tree: &Path) -> GitResult<Dirs> {
    let target = match is_link {
        true => dot_git.to_owned(),
        false => {
            let pointer = pointer_in(dot_git)?;
            let Some(path) = pointer
                .as_deref()
                .and_then(|it| it.strip_prefix(b"gitdir: "))
            else {
                return Err(GitError::Other(format!(
                    "{} is not a repository and does not name one",
                    dot_git.display()
                )));
            };
            work_tree.join(path_of(path))
        }
    };
    let Ok(git_dir) = std::fs::canonicalize(target) else {
        return Ok(None);
    };
    let Some(common) = pointer_in(&git_dir.join("commondir"))? else {
        let settings = settings_of(&git_dir)?;
        let answers = |path: &PathBuf| is_at(&git_dir.join(path), work_tree);
        let belongs = settings.work_tree.as_ref().is_some_and(answers);
        let belongs = belongs && is_repository(&git_dir, &git_dir);
        return Ok(belongs.then(|| (git_dir.clone(), git_dir)));
    };
    let Ok(common_dir) = std::fs::canonicalize(git_dir.join(path_of(&common))) else {
        return Ok(None);
    };
    let listed = git_dir.parent() == Some(&common_dir.join("worktrees"));
    let back = pointer_in(&git_dir.join("gitdir"))?;
    let answers = |back: Vec<u8>| is_at(&git_dir.join(path_of(&back)), dot_git);
    let belongs = listed && !is_link && back.is_some_and(answers);
    let belongs = belongs && is_repository(&git_dir, &common_dir);
    Ok(belongs.then_some((git_dir, common_dir)))
}

fn is_at(path: &Path, place: &Path) -> bool {
    std::fs::canonicalize(path).is_ok_and(|real| real == place)
}

/// The content of a file that holds one path.
fn pointer_in(path: &Path) -> GitResult<Option<Vec<u8>>> {
    let found = read(path, MOST_OF_A_POINTER)?;
    Ok(found.map(|(_, mut bytes)| {
        while matches!(bytes.last(), Some(b'\n' | b'\r')) {
            bytes.pop();
        }
        bytes
    }))
}

fn settings_of(git_dir: &Path) -> GitResult<Settings> {
    let mut settings = Settings::default();
    read_settings(&git_dir.join("config"), &mut settings)?;
    Ok(settings)
}

/// Git's rule about repositories of others holds: `safe.directory` names those
/// that are trusted. As git is told where to work it would not ask, so where
/// somebody else owns any of it, it is made to look for itself.
fn check_owner(dot_git: &Path, git_dir: &Path, work_tree: &Path) -> GitResult<()> {
    let user = rustix::process::geteuid().as_raw();
    let owned = |path: &&Path| path.symlink_metadata().is_ok_and(|it| it.uid() == user);
    if [dot_git, git_dir, work_tree].iter().all(owned) {
        return Ok(());
    }
    let mut git = Git::new();
    git.current_dir(work_tree);
    git.args(["rev-parse", "--absolute-git-dir"]);
    running::run(git, None).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(git_dir: &Path, config: &str) {
        for name in ["objects", "refs"] {
            std::fs::create_dir_all(git_dir.join(name)).unwrap();
        }
        std::fs::write(git_dir.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(git_dir.join("config"), config).unwrap();
    }

    fn write(path: PathBuf, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// What is found in `here`, below a directory that `arrange` fills.
    fn found(arrange: impl Fn(&Path)) -> Result<Option<(PathBuf, PathBuf)>, String> {
        let home = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(home.path()).unwrap();
        std::fs::create_dir(root.join("here")).unwrap();
        arrange(&root);
        let found = find(&root.join("here")).map_err(|error| error.to_string())?;
        let within = |path: PathBuf| path.strip_prefix(&root).unwrap().to_owned();
        Ok(found.map(|it| (within(it.git_dir), within(it.work_tree))))
    }

    fn at(git_dir: &str, work_tree: &str) -> Result<Option<(PathBuf, PathBuf)>, String> {
        Ok(Some((PathBuf::from(git_dir), PathBuf::from(work_tree))))
    }

    #[test]
    fn a_repository_is_found_from_within() {
        assert_eq!(found(|_| {}), Ok(None));
        let around = found(|root| repository(&root.join(".git"), ""));
        assert_eq!(around, at(".git", ""));
        let inner = found(|root| {
            repository(&root.join(".git"), "");
            repository(&root.join("here/.git"), "[core]\nworktree = ..\n");
        });
        assert_eq!(inner, at("here/.git", "here"));
        let damaged = found(|root| {
            repository(&root.join(".git"), "");
            std::fs::create_dir(root.join("here/.git")).unwrap();
        });
        assert_eq!(damaged, at(".git", ""));
    }

    #[test]
    fn a_repository_of_another_place_is_none() {
        let bare_layout = found(|root| repository(&root.join("here"), "[core]\nworktree = .\n"));
        assert_eq!(bare_layout, Ok(None));
        for config in [
            "[core]\nworktree = /\n",
            "[core]\nworktree = ../../other\n",
            "[core]\nbare\n",
        ] {
            let elsewhere = found(|root| {
                std::fs::create_dir(root.join("other")).unwrap();
                repository(&root.join("here/.git"), config);
            });
            assert_eq!(elsewhere, Ok(None), "{config}");
        }
        let stolen = found(|root| {
            repository(&root.join("other/.git"), "");
            write(root.join("here/.git"), "gitdir: ../other/.git\n");
        });
        assert_eq!(stolen, Ok(None));
        let linked = found(|root| {
            repository(&root.join("other/.git"), "");
            std::os::unix::fs::symlink("../other/.git", root.join("here/.git")).unwrap();
        });
        assert_eq!(linked, Ok(None));
    }

    /// A linked working tree: where it is listed, and what that says.
    fn linked(admin: &str, back: &str, common: &str) -> Result<Option<(PathBuf, PathBuf)>, String> {
        found(|root| {
            repository(&root.join("main/.git"), "[core]\nworktree = /\n");
            let admin = root.join(admin);
            write(admin.join("HEAD"), "ref: refs/heads/topic\n");
            write(admin.join("commondir"), common);
            write(
                admin.join("gitdir"),
                &back.replace("ROOT", root.to_str().unwrap()),
            );
            let pointer = format!("gitdir: {}\n", admin.display());
            write(root.join("here/.git"), &pointer);
        })
    }

    #[test]
    fn a_linked_working_tree_is_one_that_its_repository_knows() {
        let listed = "main/.git/worktrees/x";
        let good = at(listed, "here");
        assert_eq!(linked(listed, "ROOT/here/.git\n", "../..\n"), good);
        assert_eq!(linked(listed, "../../../../here/.git", "../.."), good);
        assert_eq!(linked(listed, "ROOT/other/.git\n", "../..\n"), Ok(None));
        let foreign = linked(
            "own/worktrees/x",
            "ROOT/here/.git\n",
            "../../../main/.git\n",
        );
        assert_eq!(foreign, Ok(None));
    }

    #[test]
    fn a_submodule_is_one_whose_repository_says_so() {
        let module = |config: &str| {
            found(|root| {
                repository(&root.join(".git"), "");
                repository(&root.join(".git/modules/here"), config);
                write(root.join("here/.git"), "gitdir: ../.git/modules/here\n");
            })
        };
        let good = at(".git/modules/here", "here");
        assert_eq!(module("[core]\nworktree = ../../../here\n"), good);
        assert_eq!(module("[core]\nworktree = ../../..\n"), Ok(None));
        assert_eq!(module(""), Ok(None));
    }

    #[test]
    fn what_leads_out_of_a_repository_is_an_error() {
        for name in [
            "HEAD",
            "objects",
            "refs",
            "index",
            "info",
            "packed-refs",
            "objects/pack",
        ] {
            let out = found(|root| {
                repository(&root.join("other/.git"), "");
                for name in ["index", "packed-refs", "info/x", "objects/pack/x"] {
                    write(root.join("other/.git").join(name), "");
                }
                repository(&root.join("here/.git"), "");
                let ours = root.join("here/.git").join(name);
                let _ = std::fs::remove_file(&ours);
                let _ = std::fs::remove_dir(&ours);
                std::os::unix::fs::symlink(root.join("other/.git").join(name), ours).unwrap();
            });
            let why = out.unwrap_err();
            assert!(why.contains("leads out of its repository"), "{name}: {why}");
        }
        let borrowed = found(|root| {
            repository(&root.join("here/.git"), "");
            write(root.join("here/.git/objects/info/alternates"), "/other\n");
        });
        assert!(borrowed.unwrap_err().contains("borrows objects"));
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        for name in [
            "refs/innkeeper",
            "refs/heads/main",
            "logs/HEAD",
            "worktrees/x",
        ] {
            let out = found(|root| {
                std::fs::create_dir(root.join("other")).unwrap();
                repository(&root.join("here/.git"), "");
                let link = root.join("here/.git").join(name);
                std::fs::create_dir_all(link.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(root.join("other"), link).unwrap();
            });
            let why = out.unwrap_err();
            assert!(why.contains("leads out of its repository"), "{name}: {why}");
        }
    }

    /// Only where the tests are run by somebody who may give files away.
    #[test]
    fn a_repository_of_another_user_is_theirs() {
        for theirs in ["here", "here/.git"] {
            let home = tempfile::tempdir().unwrap();
            repository(&home.path().join("here/.git"), "");
            let given = std::os::unix::fs::chown(home.path().join(theirs), Some(12_345), None);
            if given.is_err() {
                return;
            }
            let why = find(&home.path().join("here")).unwrap_err().to_string();
            assert!(why.contains("dubious ownership"), "{theirs}: {why}");
        }
    }

    #[test]
    fn pipes_are_recognised_before_git_is_asked() {
        for name in [
            ".git/HEAD",
            ".git/index",
            ".git/config",
            ".git/packed-refs",
            ".git/info/exclude",
            ".git/info/attributes",
            ".gitignore",
            ".gitattributes",
            ".git",
        ] {
            let piped = found(|root| {
                if name != ".git" {
                    repository(&root.join("here/.git"), "");
                }
                let path = root.join("here").join(name);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                let _ = std::fs::remove_file(&path);
                let made = std::process::Command::new("mkfifo").arg(&path).status();
                assert!(made.unwrap().success());
            });
            let why = piped.unwrap_err();
            assert!(why.contains("is not a regular file"), "{name}: {why}");
        }
    }
}
