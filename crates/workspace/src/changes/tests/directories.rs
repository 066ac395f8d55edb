//! Sessions that work in several directories.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::workspace::changes::{
    ChangesEvent, ChangesTask, Compared, Operation, OperationDone,
};

use super::stage::{Stage, git};
use crate::uri_of_path;

/// A session in a repository and in a directory next to it that is in none.
fn in_two(files: &[(&str, &str)]) -> Stage {
    let mut stage = Stage::in_git(files);
    let other = stage.directory.with_file_name("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("plain"), "1\n").unwrap();
    stage.others = vec![other];
    stage.open();
    stage
}

fn write(stage: &Stage, name: &str, text: &str) {
    std::fs::write(stage.others[0].join(name), text).unwrap();
}

#[test]
fn all_of_them_are_followed() {
    let mut stage = in_two(&[("a", "1\n")]);
    let uncommitted = stage.view(Compared::Uncommitted);
    let session = stage.view(Compared::Session);
    stage.write("a", "2\n");
    write(&stage, "plain", "1\n2\n");
    stage.shows(session, &["M plain +1 -0", "M a +1 -1"]);
    stage.shows(uncommitted, &["M a +1 -1"]);
    let contents = ("1\n", "2\n");
    let (before, after) = stage.contents(session, "a");
    assert_eq!(
        (before.as_deref(), after.as_deref()),
        (Some(contents.0), Some(contents.1))
    );
}

#[test]
fn a_turn_is_kept_in_all_of_them() {
    let mut stage = in_two(&[("a", "1\n")]);
    stage.begin("t1");
    stage.write("a", "2\n");
    write(&stage, "plain", "2\n");
    stage.end("t1");
    stage.counted((2, 2, 2));
    let view = stage.view(Compared::Turn("t1".to_owned()));
    assert_eq!(stage.shown(view), ["M plain +1 -1", "M a +1 -1"]);
}

#[test]
fn an_operation_is_undone_where_it_was_done() {
    let mut stage = in_two(&[("a", "1\n")]);
    let session = stage.view(Compared::Session);
    stage.write("a", "2\n");
    write(&stage, "plain", "2\n");
    stage.shows(session, &["M plain +1 -1", "M a +1 -1"]);
    let discard = |files: Vec<String>| Operation::Discard {
        of: Compared::Session,
        files,
    };
    let said = stage.operate(discard(Vec::new()));
    assert_eq!(said, Ok(vec![OperationDone::FilesAsBefore(2)]));
    stage.shows(session, &[]);
    stage.operate(Operation::Undo).unwrap();
    stage.shows(session, &["M plain +1 -1", "M a +1 -1"]);
    let file = uri_of_path(&stage.others[0].join("plain")).unwrap();
    let said = stage.operate(discard(vec![file]));
    assert_eq!(said, Ok(vec![OperationDone::FilesAsBefore(1)]));
    stage.shows(session, &["M a +1 -1"]);
    // The other directory has nothing to take back any more.
    stage.operate(Operation::Undo).unwrap();
    stage.shows(session, &["M plain +1 -1", "M a +1 -1"]);
}

#[test]
fn two_parts_of_one_repository_are_committed_and_taken_back() {
    let mut stage = Stage::in_git(&[("x/a", "1\n"), ("y/b", "1\n"), ("c", "1\n")]);
    let root = stage.directory.clone();
    stage.directory = root.join("x");
    stage.others = vec![root.join("y")];
    stage.open();
    stage.write("a", "2\n");
    write(&stage, "b", "2\n");
    std::fs::write(root.join("c"), "2\n").unwrap();
    let view = stage.view(Compared::Uncommitted);
    stage.shows(view, &["M a +1 -1", "M b +1 -1"]);
    let message = "Both".to_owned();
    stage.operate(Operation::Commit { message }).unwrap();
    stage.shows(view, &[]);
    assert_eq!(git(&root, &["status", "--porcelain"]), "M c");
    stage.operate(Operation::Undo).unwrap();
    stage.shows(view, &["M a +1 -1", "M b +1 -1"]);
    assert_eq!(git(&root, &["log", "--format=%s"]), "First");
}

#[test]
fn a_directory_within_another_is_told_once() {
    let mut stage = Stage::in_git(&[("x/a", "1\n")]);
    stage.others = vec![stage.directory.join("x")];
    stage.open();
    let view = stage.view(Compared::Uncommitted);
    stage.write("x/a", "2\n");
    stage.shows(view, &["M x/a +1 -1"]);
}

/// More sessions than the system has watchers for one user.
#[test]
fn hundreds_of_sessions_are_followed_at_once() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let view = stage.view(Compared::Uncommitted);
    let directories = stage.directories();
    for number in 0..150 {
        let session = ChannelUri::from(format!("ahp-session:/many-{number}"));
        let directories = directories.clone();
        stage.tell_other(&session, ChangesTask::Open { directories });
        stage.wait(|event| matches!(event, ChangesEvent::Found { .. }).then_some(()));
        stage.tell_other(&session, ChangesTask::Observe(true));
        stage.wait(|event| matches!(event, ChangesEvent::Git(_)).then_some(()));
    }
    stage.write("a", "2\n");
    stage.shows(view, &["M a +1 -1"]);
    for number in 0..150 {
        let session = ChannelUri::from(format!("ahp-session:/many-{number}"));
        stage.tell_other(&session, ChangesTask::Close);
    }
}
