//! The state before a turn: what the watches make of the one after the last
//! turn, and what is said of one that came late.

use std::path::PathBuf;

use innkeeper_protocol::workspace::changes::{ChangesTask, Compared};
use serde_json::json;

use super::stage::Stage;

/// Somebody follows the session, and has seen how it begins.
fn followed() -> Stage {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    stage.tell(ChangesTask::Observe(true));
    stage.git_is(|git| git.branch.as_deref() == Some("main"));
    stage.begin("t0");
    stage.end("t0");
    stage.counted((0, 0, 0));
    stage
}

/// A file that is removed whenever a state is kept anew.
fn witness(stage: &Stage) -> PathBuf {
    let home = stage.data.path().join("changes/ahp-session_3a_2f1");
    let mut entries = std::fs::read_dir(home).unwrap().flatten();
    let home = entries.next().unwrap().path();
    home.join(format!("index-{}.lock", std::process::id()))
}

#[test]
fn a_state_is_not_kept_anew_where_nothing_has_changed() {
    if cfg!(not(target_os = "linux")) {
        return eprintln!("skipped: this system does not tell of changes in their order");
    }
    let mut stage = followed();
    let witness = witness(&stage);
    for (turn, changes) in [("t1", false), ("t2", true), ("t3", false)] {
        std::fs::write(&witness, "").unwrap();
        if changes {
            stage.write("a", "2\n");
        }
        stage.begin(turn);
        let is_kept_anew = !witness.exists();
        assert_eq!(is_kept_anew, changes, "{turn}");
    }
}

/// Between the two there is no time in which anybody could have looked.
#[test]
fn what_changes_right_before_a_turn_is_in_the_state_before_it() {
    let mut stage = followed();
    for round in 0..20 {
        let (earlier, turn) = (format!("{round}\n"), format!("r{round}"));
        let later = format!("{round} and more\n");
        stage.write("a", &earlier);
        stage.begin(&turn);
        stage.write("a", &later);
        stage.end(&turn);
        let view = stage.view(Compared::Turn(turn));
        let expected = (Some(earlier), Some(later));
        assert_eq!(stage.contents(view, "a"), expected, "{round}");
    }
}

#[test]
fn a_turn_before_which_a_state_was_kept_late_says_so_for_good() {
    let mut stage = followed();
    for turn in ["early", "late"] {
        stage.begin(turn);
        stage.write("a", turn);
        stage.end(turn);
    }
    let turn = "late".to_owned();
    stage.tell(ChangesTask::MarkLate { turn });
    stage.finish();
    let mut stage = stage.restarted();
    for (turn, meta) in [
        ("early", json!(null)),
        ("late", json!({"stateBefore": "late"})),
    ] {
        let view = stage.view(Compared::Turn(turn.to_owned()));
        assert_eq!(stage.metas(view), [meta], "{turn}");
    }
}

#[test]
fn a_turn_that_somebody_looks_at_is_told_again_when_it_is_late() {
    let mut stage = followed();
    stage.begin("t1");
    let view = stage.view(Compared::Turn("t1".to_owned()));
    stage.write("a", "2\n");
    stage.shows(view, &["M a +1 -1"]);
    let turn = "t1".to_owned();
    stage.tell(ChangesTask::MarkLate { turn });
    stage.until(|stage| stage.metas(view) == [json!({"stateBefore": "late"})]);
    stage.write("a", "2\n3\n");
    stage.shows(view, &["M a +2 -1"]);
    assert_eq!(stage.metas(view), [json!({"stateBefore": "late"})]);
}
