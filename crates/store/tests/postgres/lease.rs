//! Who may write.

use innkeeper_protocol::record::StoreBatch;
use innkeeper_protocol::record::store::Store;
use innkeeper_store::Candidate;
use innkeeper_store_conformance::Opening;
use innkeeper_store_conformance::records::{batch, log_of, reserve, title};

use crate::common::{House, address, cluster, is_there};

fn said(seq: u64) -> StoreBatch {
    batch([title(seq, "ahp-root://", &seq.to_string())])
}

#[test]
fn a_second_host_is_refused_and_told_who_is_there() {
    if !is_there() {
        return;
    }
    let mut first = House::new();
    let _store = first.open(&Opening::default());
    let dir = tempfile::tempdir().unwrap();
    let options = crate::common::options(&dir, crate::common::LEASE, &Opening::default());
    let refused = innkeeper_store::PostgresStore::open(&first.address(), options).unwrap_err();
    let said = refused.to_string();
    assert!(said.contains("another host at http://here"), "{said}");
}

#[test]
fn a_host_that_was_overtaken_stores_nothing_more() {
    if !is_there() {
        return;
    }
    let mut house = House::new();
    let mut old = house.open(&Opening::default());
    old.begin().unwrap();
    old.apply(&[batch([reserve(10)]), said(1)]).unwrap();
    house.expire();
    house.move_away();
    let mut new = house.open(&Opening::default());
    let boot = new.begin().unwrap();
    assert_eq!(boot.next_seq, 11.into());
    let fault = old.apply(&[said(2)]).unwrap_err();
    assert!(fault.is_lost(), "{fault}");
    assert!(old.tenure().unwrap().left().is_zero());
    assert!(old.delete(&"s:/x".into()).unwrap_err().is_lost());
    new.apply(&[said(11)]).unwrap();
    let stored: Vec<u64> = log_of(&*new.archive().unwrap(), 0, u64::MAX)
        .iter()
        .map(|entry| entry.last.get())
        .collect();
    assert_eq!(stored, [1, 11]);
}

#[test]
fn a_host_leaves_the_lease_of_a_newer_database_to_those_who_can_use_it() {
    if !is_there() {
        return;
    }
    let mut house = House::new();
    Box::new(house.open(&Opening::default())).close().unwrap();
    let schema = &house.schema;
    cluster().sql(&format!("UPDATE {schema}.lease SET version = 1000"));
    let dir = tempfile::tempdir().unwrap();
    let options = crate::common::options(&dir, crate::common::LEASE, &Opening::default());
    let mut candidate = Candidate::new(&house.address(), options).unwrap();
    let refused = candidate.take().unwrap_err().to_string();
    assert!(refused.contains("a newer release"), "{refused}");
    let taken = cluster().sql(&format!("SELECT owner, life FROM {schema}.lease"));
    assert_eq!(taken, "|1");
    // While a newer host works, an older one stands by.
    cluster().sql(&format!(
        "UPDATE {schema}.lease SET owner = 'newer', address = 'http://newer',
             until = clock_timestamp() + interval '1 hour'"
    ));
    let holder = candidate.take().unwrap().unwrap();
    assert_eq!(holder.address, "http://newer");
}

#[test]
fn a_user_who_may_not_make_the_schema_is_told_what_to_do() {
    if !is_there() {
        return;
    }
    let house = House::new();
    let role = format!("weak_{}", std::process::id());
    cluster().sql(&format!("CREATE ROLE {role} LOGIN"));
    let url = cluster().address(&house.schema);
    let weak = address(&url.replacen("postgres@", &format!("{role}@"), 1));
    let dir = tempfile::tempdir().unwrap();
    let options = crate::common::options(&dir, crate::common::LEASE, &Opening::default());
    let refused = innkeeper_store::PostgresStore::open(&weak, options).unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains("permission denied") && said.contains("owner"),
        "{said}"
    );
}

#[test]
fn an_idle_host_notices_within_a_second_that_it_was_overtaken() {
    if !is_there() {
        return;
    }
    let mut house = House::new();
    let mut old = house.open(&Opening::default());
    old.begin().unwrap();
    house.expire();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let fault = old.tend(std::time::Duration::from_secs(1)).unwrap_err();
    assert!(fault.is_lost(), "{fault}");
}

#[test]
fn a_store_that_is_closed_is_free_at_once() {
    if !is_there() {
        return;
    }
    let mut house = House::new();
    for life in 1..=3 {
        let mut store = Box::new(house.open(&Opening::default()));
        store.begin().unwrap();
        let found = cluster().sql(&format!("SELECT life FROM {}.lease", house.schema));
        assert_eq!(found, life.to_string());
        store.close().unwrap();
        house.move_away();
    }
}
