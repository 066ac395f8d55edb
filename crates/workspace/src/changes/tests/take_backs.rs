//! Taking files back to before a turn, and returning them.

use innkeeper_protocol::workspace::changes::{ChangesError, Operation, OperationDone};

use super::stage::Stage;

fn take_back(turn: &str, kept_as: &str) -> Operation {
    Operation::TakeBack {
        turn: turn.to_owned(),
        kept_as: kept_as.to_owned(),
    }
}

fn undo(kept_as: &str) -> Operation {
    let kept_as = kept_as.to_owned();
    Operation::UndoTakeBack { kept_as }
}

fn takes_back_and_returns(mut stage: Stage) {
    stage.write("a", "1\n");
    for (turn, text) in [("t1", "2\n"), ("t2", "3\n")] {
        stage.begin(turn);
        stage.write("a", text);
        stage.write(&format!("{turn}.new"), text);
        stage.end(turn);
    }
    // By hand, since then.
    stage.write("a", "mine\n");
    let done = stage.operate(take_back("t2", "ahp-chat:/1")).unwrap();
    assert_eq!(done, [OperationDone::FilesAsThen(2)]);
    assert_eq!(stage.read("a").as_deref(), Some("2\n"));
    assert_eq!(stage.read("t1.new").as_deref(), Some("2\n"));
    assert_eq!(stage.read("t2.new"), None);
    // A second one, from there.
    stage.operate(take_back("t1", "ahp-chat:/2")).unwrap();
    assert_eq!(stage.read("a").as_deref(), Some("1\n"));
    assert_eq!(stage.read("t1.new"), None);
    stage.write("later", "kept\n");
    stage.operate(undo("ahp-chat:/1")).unwrap();
    assert_eq!(stage.read("a").as_deref(), Some("mine\n"));
    assert_eq!(stage.read("t2.new").as_deref(), Some("3\n"));
    assert_eq!(stage.read("later"), None);
    // What returning has changed can be had again.
    stage.operate(Operation::Undo).unwrap();
    assert_eq!(stage.read("later").as_deref(), Some("kept\n"));
    assert_eq!(stage.read("a").as_deref(), Some("1\n"));
}

#[test]
fn files_are_taken_back_to_before_a_turn_and_returned() {
    takes_back_and_returns(Stage::in_git(&[("other", "1\n")]));
}

#[test]
fn files_are_taken_back_to_before_a_turn_and_returned_outside_of_git() {
    let mut stage = Stage::outside_git();
    assert_eq!(stage.open(), Some(false));
    takes_back_and_returns(stage);
}

#[test]
fn what_was_broken_off_goes_on_and_returns_to_what_was_there_first() {
    let mut stage = Stage::in_git(&[("a", "1\n"), ("b", "1\n")]);
    stage.begin("t1");
    stage.write("a", "2\n");
    stage.write("b", "2\n");
    stage.end("t1");
    stage.operate(take_back("t1", "k")).unwrap();
    // As if only some of it had been done.
    stage.write("b", "2\n");
    stage.operate(take_back("t1", "k")).unwrap();
    assert_eq!(stage.read("b").as_deref(), Some("1\n"));
    stage.operate(undo("k")).unwrap();
    assert_eq!(stage.read("a").as_deref(), Some("2\n"));
    assert_eq!(stage.read("b").as_deref(), Some("2\n"));
}

#[test]
fn what_was_never_kept_cannot_be_taken_back() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    stage.begin("t1");
    stage.write("a", "2\n");
    stage.end("t1");
    let never = stage.operate(take_back("t9", "k"));
    assert_eq!(never, Err(ChangesError::NotKept));
    assert_eq!(stage.operate(undo("k")), Err(ChangesError::NotKept));
    assert_eq!(stage.read("a").as_deref(), Some("2\n"));
}

#[test]
fn files_that_git_ignores_and_what_is_staged_stay() {
    let mut stage = Stage::in_git(&[(".gitignore", "out\n"), ("a", "1\n"), ("s", "1\n")]);
    stage.write("s", "2\n");
    stage.git(&["add", "s"]);
    stage.begin("t1");
    stage.write("a", "2\n");
    stage.write("out", "built\n");
    stage.end("t1");
    stage.operate(take_back("t1", "k")).unwrap();
    assert_eq!(stage.read("a").as_deref(), Some("1\n"));
    assert_eq!(stage.read("out").as_deref(), Some("built\n"));
    assert_eq!(stage.git(&["status", "--porcelain"]), "M  s");
}
