//! Commands where sessions are kept in PostgreSQL.

use innkeeper_store_conformance::cluster::{Cluster, is_there};

use super::harness::Inn;

#[test]
fn sessions_in_a_database_are_listed_shown_deleted_and_restored_while_no_host_runs() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let (inn, url) = (Inn::new(), cluster.address("house"));
    let call = |args: &[&str], code| {
        let args = [args, &["--store", &url]].concat();
        inn.call(&args).with(code).out
    };
    assert_eq!(call(&["sessions"], 0), "There are no sessions.\n");
    call(&["run", "remember the word heliotrope"], 0);
    inn.call(&["stop"]);
    let listed = call(&["sessions"], 0);
    let id = listed.lines().nth(1).unwrap().split(' ').next().unwrap();
    assert!(call(&["sessions", "show", id], 0).contains("heliotrope"));
    assert!(call(&["search", "heliotrope"], 0).contains(id));
    call(&["sessions", "delete", id], 0);
    assert_eq!(call(&["sessions"], 0), "There are no sessions.\n");
    call(&["sessions", "restore", id], 0);
    assert!(call(&["sessions"], 0).contains(id));
    // A data directory has another way.
    let refused = inn.call(&["gc", "--store", &url]).with(1).err;
    assert!(refused.contains("pg_dump"), "{refused}");
}
