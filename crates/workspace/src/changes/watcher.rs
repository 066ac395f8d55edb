//! Hearing that something changed: files of the working tree, and those of
//! git's own that say where it stands.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use notify::Event;
use notify::event::EventKind;

use super::git::Repository;
use crate::hub::Root;

/// What has changed since the last look.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Dirt {
    pub(super) paths: BTreeSet<PathBuf>,
    /// Everything may have changed, for example the branch.
    pub(super) everything: bool,
}

impl Dirt {
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty() && !self.everything
    }

    pub(super) fn add(&mut self, repository: &Repository, event: &notify::Result<Event>) {
        let event = match event {
            Ok(event) if event.need_rescan() => return self.everything = true,
            Ok(event) => event,
            Err(error) => {
                tracing::debug!(%error, "a watcher failed");
                return self.everything = true;
            }
        };
        if matches!(event.kind, EventKind::Access(_)) {
            return;
        }
        for path in &event.paths {
            self.add_path(repository, path);
        }
    }

    fn add_path(&mut self, repository: &Repository, path: &Path) {
        if let Ok(own) = path.strip_prefix(&repository.git_dir) {
            self.everything |= !repository.is_shadow && tells(own);
        } else if let Ok(own) = path.strip_prefix(&repository.common_dir) {
            self.everything |= !repository.is_shadow && tells(own);
        } else if let Ok(path) = path.strip_prefix(&repository.work_tree) {
            let is_rule = path.file_name().is_some_and(|name| name == ".gitignore");
            let is_root = path.as_os_str().is_empty();
            if is_rule || is_root {
                self.everything = true;
            } else if repository.holds(path) {
                self.paths.insert(path.to_owned());
            }
        }
    }
}

/// Whether a file of git's own says where it stands.
fn tells(path: &Path) -> bool {
    let is_lock = path
        .extension()
        .is_some_and(|extension| extension == "lock");
    let names = ["HEAD", "index", "packed-refs", "FETCH_HEAD", "config"];
    let told = names.iter().any(|name| path == Path::new(name))
        || path.starts_with("refs/heads")
        || path.starts_with("refs/remotes")
        || path == Path::new("info/exclude");
    told && !is_lock
}

/// What has to be watched for a session in a repository.
pub(super) fn roots(repository: &Repository) -> Vec<Root> {
    let root = |path: PathBuf, recursive| Root { path, recursive };
    let scope = repository.work_tree.join(&repository.scope);
    let mut roots = vec![root(scope.clone(), true)];
    if !repository.is_shadow {
        let common = &repository.common_dir;
        let own = [
            root(repository.git_dir.clone(), false),
            root(common.clone(), false),
            root(common.join("refs"), true),
        ];
        let elsewhere = |root: &Root| !root.path.starts_with(&scope);
        roots.extend(own.into_iter().filter(elsewhere));
    }
    roots
}
