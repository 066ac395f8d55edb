//! It does what every store must.

use innkeeper_protocol::record::store::Store;
use innkeeper_store_conformance::{Opening, Subject};

use crate::common::{House, cluster, is_there};

impl Subject for House {
    fn reopen(&mut self, opening: &Opening) -> Box<dyn Store> {
        Box::new(self.open(opening))
    }

    /// Its connections end, and its lease does: whatever it still wants to
    /// write, the next life is in its way.
    fn crash(&mut self) {
        self.expire();
        cluster().sql(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE application_name = 'innkeeper'",
        );
        self.move_away();
    }

    // Each costs some round trips for every step.
    const CASES: u32 = 24;
}

innkeeper_store_conformance::store_suite!(House::new, where is_there());
