//! Checkpoints: states of a session's directory, kept as commits below
//! `refs/innkeeper/`. They have no parents and are on no branch; the user's
//! index is copied, for what it knows about unchanged files, and never written.

use std::collections::HashSet;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ignore::WalkBuilder;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::workspace::changes::{Moment, component};

use super::git::{
    Git, GitError, GitResult, LIMIT, Repository, check_ignore_files, create_private, run, text,
};
use super::watcher::Dirt;

/// A directory outside of git that has more than this is not kept.
const MOST_FILES: usize = 20_000;
const MOST_BYTES: u64 = 512 * 1024 * 1024;

/// Where all checkpoints are.
const REFS: &str = "refs/innkeeper";

/// The name of the state in which a session found its directory.
pub(super) const BASE: &str = "base";

/// The names of what can be undone: the state before the last operation; or
/// for a commit, the commit and what came before it.
pub(super) const UNDO_FILES: &str = "undo/files";
pub(super) const UNDO_COMMIT: &str = "undo/commit";
pub(super) const UNDO_PARENT: &str = "undo/parent";

/// What is being committed, while it is.
pub(super) const COMMITTING: &str = "committing";

/// The checkpoints of one session in one directory.
#[derive(Debug)]
pub(super) struct Checkpoints {
    prefix: String,
    /// The last tree and its commit: nothing is kept twice in a row.
    last: Option<(String, String)>,
    /// The user's index when it was copied.
    copied: Option<Stamp>,
}

/// What tells one state of a file from another.
type Stamp = (u64, SystemTime);

/// The name of what was there before something was taken back.
pub(super) fn before_take_back(kept_as: &str) -> String {
    format!("taken-back/{}", component(kept_as))
}

/// The name that says of the state before a turn that it was kept late.
pub(super) fn late(turn: &str) -> String {
    format!("turns/{}/late", component(turn))
}

pub(super) fn name_of(moment: &Moment) -> String {
    match moment {
        Moment::BeforeTurn(turn) => format!("turns/{}/before", component(turn)),
        Moment::AfterTurn(turn) => format!("turns/{}/after", component(turn)),
    }
}

impl Checkpoints {
    /// Those of one directory of a session.
    pub(super) fn new(session: &ChannelUri, directory: &Path) -> Self {
        let directory = component(&directory.to_string_lossy());
        Self {
            prefix: format!("{REFS}/{}/{directory}", key_of(session)),
            last: None,
            copied: None,
        }
    }

    pub(super) fn find(&self, repository: &Repository, name: &str) -> GitResult<Option<String>> {
        repository.resolve(&self.full_name(name))
    }

    /// Keeps the present state, and returns its commit.
    pub(super) fn take(&mut self, repository: &Repository) -> GitResult<String> {
        self.take_within(repository, LIMIT)
    }

    /// The same, if that takes no longer than this.
    pub(super) fn take_within(
        &mut self,
        repository: &Repository,
        limit: Duration,
    ) -> GitResult<String> {
        self.prepare_index(repository)?;
        let mut git = repository.private();
        // What cannot be read is left out, as it was.
        git.args(["add", "--all", "--ignore-errors"]).limit(limit);
        match stage_all(repository, git) {
            Err(GitError::Failed(error)) => {
                tracing::debug!(error, "some files are not in a checkpoint");
            }
            staged => staged?,
        }
        let tree = staged_tree(repository)?;
        if let Some((_, commit)) = self.last.as_ref().filter(|(last, _)| *last == tree) {
            return Ok(commit.clone());
        }
        let commit = commit_tree(repository, &tree, None)?;
        self.last = Some((tree, commit.clone()));
        Ok(commit)
    }

    /// The last state that was kept, if it is certain that nothing has changed
    /// since then.
    pub(super) fn last_if_unchanged(&self, since: Option<&Dirt>) -> Option<String> {
        let unchanged = since.is_some_and(Dirt::is_empty);
        self.last().filter(|_| unchanged).map(str::to_owned)
    }

    pub(super) fn last(&self) -> Option<&str> {
        self.last.as_ref().map(|(_, commit)| commit.as_str())
    }

    /// A commit of our own of what is staged in the index of our own. From
    /// then on that index is not the present state any more.
    pub(super) fn staged(
        &mut self,
        repository: &Repository,
        parent: Option<&str>,
    ) -> GitResult<String> {
        self.copied = None;
        commit_tree(repository, &staged_tree(repository)?, parent)
    }

    pub(super) fn name(&self, repository: &Repository, name: &str, commit: &str) -> GitResult<()> {
        let mut git = repository.private();
        git.args(["update-ref", "--no-deref", &self.full_name(name), commit]);
        run(git, None).map(drop)
    }

    pub(super) fn unname(&self, repository: &Repository, name: &str) -> GitResult<()> {
        let mut git = repository.private();
        git.args(["update-ref", "--no-deref", "-d", &self.full_name(name)]);
        run(git, None).map(drop)
    }

    /// Keeps the present state as the one in which the session found its
    /// directory.
    pub(super) fn keep_base(&mut self, repository: &Repository) -> GitResult<String> {
        let commit = self.take(repository)?;
        self.name(repository, BASE, &commit)?;
        if repository.is_shadow {
            // What `status` compares with.
            let mut git = repository.private();
            git.args(["update-ref", "HEAD", &commit]);
            run(git, None)?;
        }
        Ok(commit)
    }

    pub(super) fn forget(&self, repository: &Repository) -> GitResult<()> {
        delete_refs(repository, &self.prefix)
    }

    /// Takes over the checkpoints of some turns from another session, whose own
    /// files for the directory are at `home`.
    pub(super) fn inherit(
        &self,
        repository: &Repository,
        theirs: &Self,
        home: &Path,
        turns: &[String],
    ) -> GitResult<()> {
        if repository.is_shadow {
            let source = home.join("git");
            if !source.join("HEAD").exists() {
                return Ok(());
            }
            let lines = turns.iter().map(|turn| {
                let turn = component(turn);
                let (from, to) = (&theirs.prefix, &self.prefix);
                format!("+{from}/turns/{turn}/*:{to}/turns/{turn}/*\n")
            });
            let mut git = repository.private();
            // The other repository is one of ours, too.
            git.env("GIT_ALLOW_PROTOCOL", "file");
            git.args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head"]);
            git.arg("--stdin").arg(source);
            return run(git, Some(lines.collect::<String>().as_bytes())).map(drop);
        }
        let mut git = repository.reading();
        git.args(["for-each-ref", "--format=%(refname) %(objectname)"]);
        git.arg(format!("{}/turns", theirs.prefix));
        let wanted: HashSet<String> = turns.iter().map(|turn| component(turn)).collect();
        let mut updates = String::new();
        for line in text(&run(git, None)?).lines() {
            // `PREFIX/turns/TURN/WHEN ID`
            let name = line.strip_prefix(&theirs.prefix);
            let turn = name.and_then(|name| name.split('/').nth(2));
            if let (Some(name), Some(turn)) = (name, turn)
                && wanted.contains(turn)
            {
                updates.push_str(&format!("update {}{name}\n", self.prefix));
            }
        }
        let mut git = repository.private();
        git.args(["update-ref", "--no-deref", "--stdin"]);
        run(git, Some(updates.as_bytes())).map(drop)
    }

    pub(super) fn full_name(&self, name: &str) -> String {
        format!("{}/{name}", self.prefix)
    }

    /// The index of our own begins as a copy of the user's, whenever that has
    /// changed: it knows what is tracked, and only files that changed have to
    /// be read.
    pub(super) fn prepare_index(&mut self, repository: &Repository) -> GitResult<()> {
        let index = &repository.index;
        // One that is left is from a process that died: nobody else has it.
        match std::fs::remove_file(index.with_extension("lock")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        if let Some(home) = index.parent() {
            create_private(home)?;
        }
        if repository.is_shadow {
            return Ok(());
        }
        repository.prepare()?;
        let users = repository.git_dir.join("index");
        let stamp = match std::fs::metadata(&users) {
            Ok(metadata) => Some((metadata.len(), metadata.modified()?)),
            // A repository in which nothing was ever added.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let Some((_, modified)) = stamp.filter(|_| !index.exists() || self.copied != stamp) else {
            return Ok(());
        };
        let copy = index.with_extension("copy");
        std::fs::copy(users, &copy)?;
        // Git looks closely at files that are as young as its index.
        let file = std::fs::File::options().write(true).open(&copy)?;
        file.set_modified(modified)?;
        std::fs::rename(&copy, index)?;
        self.copied = stamp;
        Ok(())
    }
}

/// Removes all checkpoints of a session from a repository; `name` is the one
/// that its files have.
pub(super) fn forget_session(repository: &Repository, name: &str) -> GitResult<()> {
    delete_refs(repository, &format!("{REFS}/{name}"))
}

fn delete_refs(repository: &Repository, prefix: &str) -> GitResult<()> {
    let mut git = repository.reading();
    git.args(["for-each-ref", "--format=delete %(refname)", prefix]);
    let deletions = run(git, None)?;
    let mut git = repository.private();
    git.args(["update-ref", "--no-deref", "--stdin"]);
    run(git, Some(&deletions)).map(drop)
}

/// Stages everything in the session's part of the repository, except within
/// other repositories: to tell whether one of those has changed, git would run
/// `git status` in it, by its own configuration.
pub(super) fn stage_all(repository: &Repository, mut add: Git) -> GitResult<()> {
    let mut git = repository.private();
    git.args(["ls-files", "--stage", "-z"]);
    let staged = run(git, None)?;
    let mut pathspecs = b":(top,literal)".to_vec();
    pathspecs.extend_from_slice(repository.scope.as_os_str().as_bytes());
    for path in modules_in(&staged) {
        pathspecs.extend_from_slice(b"\0:(top,exclude,literal)");
        pathspecs.extend_from_slice(path);
    }
    add.env("GIT_LITERAL_PATHSPECS", "0");
    add.args(["--pathspec-from-file=-", "--pathspec-file-nul"]);
    run(add, Some(&pathspecs)).map(drop)
}

/// The paths of other repositories in what `git ls-files --stage -z` says:
/// `MODE ID STAGE`, a tab, the path.
pub(super) fn modules_in(staged: &[u8]) -> impl Iterator<Item = &[u8]> {
    let entries = staged.split(|byte| *byte == 0);
    let modules = entries.filter(|entry| entry.starts_with(b"160000 "));
    modules.filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1))
}

fn staged_tree(repository: &Repository) -> GitResult<String> {
    let mut git = repository.private();
    // What a partial clone left out is not fetched, and not needed.
    git.args(["write-tree", "--missing-ok"]);
    Ok(text(&run(git, None)?))
}

pub(super) fn commit_tree(
    repository: &Repository,
    tree: &str,
    parent: Option<&str>,
) -> GitResult<String> {
    let mut git = repository.private();
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "Innkeeper");
        git.env(format!("GIT_{who}_EMAIL"), "innkeeper@localhost");
    }
    git.args(["commit-tree", "-m", "Checkpoint", tree]);
    if let Some(parent) = parent {
        git.args(["-p", parent]);
    }
    Ok(text(&run(git, None)?))
}

/// The index of our own, which is one of this process: what a host that was
/// killed had started may still be writing to its own.
pub(super) fn own_index(home: &Path) -> PathBuf {
    home.join(format!("index-{}", std::process::id()))
}

/// Takes the place of earlier processes: what their index knew is of use, and
/// nothing else that they left.
pub(super) fn replace_earlier_indices(home: &Path) -> io::Result<()> {
    let own = own_index(home);
    let entries = match std::fs::read_dir(home) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with("index-") || path == own {
            continue;
        }
        match path.extension() {
            // Written as a whole, or not at all.
            None if !own.exists() => std::fs::rename(&path, &own)?,
            _ => std::fs::remove_file(&path)?,
        }
    }
    Ok(())
}

/// Whether a directory outside of git is small enough to be kept.
pub(super) fn check_size(directory: &Path) -> GitResult<()> {
    let (mut files, mut bytes) = (0, 0);
    let mut walk = WalkBuilder::new(directory);
    walk.hidden(false).require_git(false);
    // A pipe among what is read on the way would hold the walk for ever.
    check_ignore_files(directory)?;
    walk.filter_entry(|entry| check_ignore_files(entry.path()).is_ok());
    for entry in walk.build().flatten() {
        if entry.file_type().is_some_and(|kind| kind.is_file()) {
            files += 1;
            bytes += entry.metadata().map_or(0, |metadata| metadata.len());
        }
        if files > MOST_FILES || bytes > MOST_BYTES {
            return Err(GitError::Other(format!(
                "this directory is in no git repository and has more than {MOST_FILES} files or \
                 {} MiB; run `git init` in it to see changes",
                MOST_BYTES / 1024 / 1024
            )));
        }
    }
    Ok(())
}

/// Where a session's own files are.
pub(super) fn home_of(root: &Path, session: &ChannelUri) -> PathBuf {
    root.join(key_of(session))
}

fn key_of(session: &ChannelUri) -> String {
    component(session.as_str())
}
