//! What sessions that are gone have left on the machine, for whoever cleans up
//! while no host runs. A host does it by itself when it begins.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use innkeeper_engine::Leftovers;
use innkeeper_protocol::record::CatalogueRow;
use innkeeper_workspace::{ChangesService, Hub, kept_in, trees_in, uri_of_path};

use crate::machine::{changes_in, worktrees_in};

/// What is there and belongs to none of these sessions, all that there are.
pub fn find(data_dir: &Path, sessions: Vec<CatalogueRow>) -> Leftovers {
    let worktrees = worktrees_in(data_dir);
    let found = Leftovers {
        kept: kept_in(&changes_in(data_dir)),
        trees: trees_in(&worktrees),
    };
    found.unclaimed(sessions, uri_of_path(&worktrees).as_deref())
}

/// Where the files are that are kept for a session.
pub fn files_of(data_dir: &Path, kept: &str) -> PathBuf {
    changes_in(data_dir).join(kept)
}

/// Removes it. No host may run on the data directory. What cannot be removed,
/// or has work in it that is nowhere else, stays.
pub fn remove(data_dir: &Path, leftovers: &Leftovers) {
    if *leftovers == Leftovers::default() {
        return;
    }
    let changes = ChangesService::new(
        changes_in(data_dir),
        worktrees_in(data_dir),
        Hub::default(),
        Arc::new(|_| true),
    );
    // In this order: what is kept is found by way of the trees.
    changes.forget_kept(&leftovers.kept);
    changes.remove_trees(&leftovers.trees);
}
