//! Both stores do what every store must.

use std::path::Path;

use innkeeper_protocol::record::store::Store;
use innkeeper_store::{MemoryDisk, SqliteStore, StoreOptions};
use innkeeper_store_conformance::{Opening, Subject};
use tempfile::TempDir;

fn options(opening: &Opening) -> StoreOptions {
    StoreOptions {
        now: opening.now,
        keep_disposed_days: opening.keep_disposed_days,
        group_commit: opening.group_commit,
        ..StoreOptions::default()
    }
}

/// A store in a directory of its own.
struct OnDisk {
    at: TempDir,
    /// The directories of lives that ended: a store that still runs in one
    /// must not find it gone, and save a copy of what it held.
    before: Vec<TempDir>,
}

impl OnDisk {
    fn new() -> Self {
        Self {
            at: tempfile::tempdir().unwrap(),
            before: Vec::new(),
        }
    }
}

impl Subject for OnDisk {
    fn reopen(&mut self, opening: &Opening) -> Box<dyn Store> {
        Box::new(SqliteStore::open(self.at.path(), options(opening)).unwrap())
    }

    fn crash(&mut self) {
        let left = tempfile::tempdir().unwrap();
        what_a_dead_process_leaves(self.at.path(), left.path());
        self.before.push(std::mem::replace(&mut self.at, left));
    }
}

/// Copies the files as they are now, the database before its log: what was
/// written to the log meanwhile is then the end of it. (Nothing in this suite
/// is large enough for the log to be moved into the database.)
pub(crate) fn what_a_dead_process_leaves(of: &Path, to: &Path) {
    let mut names: Vec<_> = std::fs::read_dir(of).unwrap().collect();
    names.sort_by_key(|file| file.as_ref().unwrap().file_name());
    for file in names {
        let file = file.unwrap();
        // Beside the database, some keep what could not be stored.
        if file.file_type().unwrap().is_dir() {
            continue;
        }
        let name = file.file_name();
        // An index into the log, which is made anew from it.
        if !name.to_str().unwrap().ends_with("-shm") {
            std::fs::copy(of.join(&name), to.join(&name)).unwrap();
        }
    }
}

/// A store in memory that is shared by the lives of a host.
struct InMemory(MemoryDisk);

impl InMemory {
    fn new() -> Self {
        Self(MemoryDisk::default())
    }
}

impl Subject for InMemory {
    fn reopen(&mut self, opening: &Opening) -> Box<dyn Store> {
        Box::new(self.0.open(options(opening)))
    }

    fn crash(&mut self) {
        self.0 = self.0.copy();
    }
}

mod on_disk {
    use super::OnDisk;

    innkeeper_store_conformance::store_suite!(OnDisk::new);
}

mod in_memory {
    use super::InMemory;

    innkeeper_store_conformance::store_suite!(InMemory::new);
}
