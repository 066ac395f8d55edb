//! The smallest soak: one world, a few lives. `cargo xtask soak` goes on for
//! longer, with other seeds and a disk that is full.

use innkeeper_soak::{Extent, Plan, Promise, Report, run};

/// What a run of so many lives says, in which nothing was broken.
async fn soaked(lives: u64, takeover: bool) -> Report {
    let place = tempfile::tempdir().unwrap();
    let plan = Plan {
        binary: env!("CARGO_BIN_EXE_innkeeper").into(),
        place: place.path().to_owned(),
        can_fill: false,
        seed: 1,
        extent: Extent::Lives(lives),
        takeover,
    };
    let report = run(&plan).await.unwrap();
    assert!(report.violations.is_empty(), "{report}");
    report
}

#[tokio::test]
async fn a_host_that_is_killed_under_load_keeps_what_it_told() {
    let report = soaked(4, false).await;
    for promise in [
        Promise::Sessions,
        Promise::Turns,
        Promise::Ends,
        Promise::Replays,
    ] {
        assert!(report.times_checked(promise) > 0, "{promise:?}: {report}");
    }
    assert!(report.counted("kills (SIGKILL)") > 0, "{report}");
}

#[tokio::test]
async fn hosts_that_take_over_from_each_other_keep_what_any_of_them_told() {
    if !innkeeper_store_conformance::cluster::is_there() {
        return;
    }
    let report = soaked(5, true).await;
    for promise in [Promise::Turns, Promise::Sequence, Promise::Takeover] {
        assert!(report.times_checked(promise) > 0, "{promise:?}: {report}");
    }
}
