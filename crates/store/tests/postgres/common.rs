//! A cluster for all tests of this process, and stores in it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use innkeeper_store::{PostgresAddress, PostgresOptions, PostgresStore, StoreOptions};
use innkeeper_store_conformance::Opening;
use innkeeper_store_conformance::cluster::Cluster;
use tempfile::TempDir;

pub(crate) use innkeeper_store_conformance::cluster::is_there;

pub(crate) fn cluster() -> std::sync::MutexGuard<'static, Cluster> {
    static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
    let cluster = CLUSTER.get_or_init(|| Mutex::new(Cluster::start()));
    cluster
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A schema that no other test uses.
pub(crate) fn schema() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    format!("house_{}", LAST.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn address(text: &str) -> PostgresAddress {
    PostgresAddress::parse(text, |_| None).unwrap()
}

pub(crate) fn options(dir: &TempDir, lease: Duration, opening: &Opening) -> PostgresOptions {
    PostgresOptions {
        store: StoreOptions {
            now: opening.now,
            keep_disposed_days: opening.keep_disposed_days,
            group_commit: opening.group_commit,
            ..StoreOptions::default()
        },
        lease,
        dir: dir.path().to_owned(),
        advertise: "http://here".to_owned(),
    }
}

/// Long enough for a machine that has other things to do.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// A store of its own, in a cluster that others use too.
pub(crate) struct House {
    pub(crate) schema: String,
    dir: TempDir,
    /// Where it was before; hosts may still run there.
    before: Vec<TempDir>,
}

impl House {
    pub(crate) fn new() -> Self {
        Self {
            schema: schema(),
            dir: tempfile::tempdir().unwrap(),
            before: Vec::new(),
        }
    }

    pub(crate) fn address(&self) -> PostgresAddress {
        address(&cluster().address(&self.schema))
    }

    pub(crate) fn open(&mut self, opening: &Opening) -> PostgresStore {
        PostgresStore::open(&self.address(), options(&self.dir, LEASE, opening)).unwrap()
    }

    /// Nobody has the lease any more, as if it had run out.
    pub(crate) fn expire(&self) {
        let schema = &self.schema;
        cluster().sql(&format!(
            "UPDATE {schema}.lease SET until = '-infinity', owner = NULL"
        ));
    }

    /// The host is on another machine from here on.
    pub(crate) fn move_away(&mut self) {
        let there = tempfile::tempdir().unwrap();
        self.before.push(std::mem::replace(&mut self.dir, there));
    }
}
