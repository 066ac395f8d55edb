//! Discarding, restoring, committing, and taking that back.

use innkeeper_protocol::workspace::changes::{
    ChangesError, Compared, Lines, Moment, Operation, OperationDone,
};

use super::stage::Stage;
use crate::uri_of_path;

fn discard(stage: &Stage, files: &[&str]) -> Operation {
    let uri = |path: &&str| uri_of_path(&stage.directory.join(path)).unwrap();
    Operation::Discard {
        of: Compared::Uncommitted,
        files: files.iter().map(uri).collect(),
    }
}

#[test]
fn one_file_is_discarded_and_comes_back() {
    let mut stage = Stage::in_git(&[("a", "1\n"), ("b", "1\n")]);
    stage.write("a", "2\n");
    stage.write("b", "2\n");
    stage.git(&["add", "a"]);
    let view = stage.view(Compared::Uncommitted);
    let done = stage.operate(discard(&stage, &["a"]));
    assert_eq!(done, Ok(vec![OperationDone::FilesAsBefore(1)]));
    assert_eq!(stage.read("a").as_deref(), Some("1\n"));
    stage.shows(view, &["M b +1 -1"]);
    assert_eq!(stage.git(&["status", "--porcelain"]), "M b");
    stage.operate(Operation::Undo).unwrap();
    stage.shows(view, &["M a +1 -1", "M b +1 -1"]);
    // And that can be taken back, too.
    stage.operate(Operation::Undo).unwrap();
    stage.shows(view, &["M b +1 -1"]);
}

#[test]
fn everything_is_discarded_and_comes_back() {
    let mut stage = Stage::in_git(&[("a", "1\n"), ("gone", "1\n"), (".gitignore", "*.log\n")]);
    stage.write("a", "2\n");
    stage.write("new/deep/file", "quite another\n");
    stage.write("kept.log", "ignored\n");
    stage.remove("gone");
    let view = stage.view(Compared::Uncommitted);
    stage.operate(discard(&stage, &[])).unwrap();
    stage.shows(view, &[]);
    assert_eq!(stage.git(&["status", "--porcelain"]), "");
    assert!(!stage.directory.join("new").exists());
    assert_eq!(stage.read("kept.log").as_deref(), Some("ignored\n"));
    stage.operate(Operation::Undo).unwrap();
    stage.shows(
        view,
        &["M a +1 -1", "D gone +0 -1", "A new/deep/file +1 -0"],
    );
}

#[test]
fn whoever_commits_nothing_is_told_so() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let commit = Operation::Commit {
        message: "Again".to_owned(),
    };
    let before = stage.git(&["rev-parse", "HEAD"]);
    assert_eq!(stage.operate(commit), Err(ChangesError::NothingToCommit));
    assert_eq!(stage.git(&["rev-parse", "HEAD"]), before);
}

#[test]
fn changes_that_touch_some_lines_are_discarded_and_come_back() {
    let mut stage = Stage::in_git(&[("a", "1\n2\n3\n4\n5\n"), ("b", "1\n")]);
    stage.write("a", "1\nTWO\n3\n4\n5\nsix\n");
    stage.write("b", "2\n");
    stage.git(&["add", "a"]);
    let file = uri_of_path(&stage.directory.join("a")).unwrap();
    let discard = |range: std::ops::Range<u32>| Operation::DiscardLines {
        of: Compared::Uncommitted,
        lines: Lines {
            file: file.clone(),
            file_before: file.clone(),
            counted_before: false,
            range,
        },
    };
    let done = stage.operate(discard(1..2));
    assert_eq!(done, Ok(vec![OperationDone::PlacesAsBefore(1)]));
    assert_eq!(stage.read("a").as_deref(), Some("1\n2\n3\n4\n5\nsix\n"));
    assert_eq!(stage.read("b").as_deref(), Some("2\n"));
    let done = stage.operate(discard(2..4));
    assert_eq!(done, Err(ChangesError::NothingThere));
    stage.operate(Operation::Undo).unwrap();
    assert_eq!(stage.read("a").as_deref(), Some("1\nTWO\n3\n4\n5\nsix\n"));
}

#[test]
fn lines_are_not_discarded_where_it_is_not_known_what_changed() {
    let alternating = "a\nb\n".repeat(10_000);
    let other: String = (0..20_000)
        .map(|at| if at % 3 == 0 { "b\n" } else { "a\n" })
        .collect();
    let large = "x\n".repeat(1_500_000);
    for (before, after) in [
        (alternating.as_str(), other.as_str()),
        (large.as_str(), "x\n"),
        ("x\n", large.as_str()),
        ("x\n", "\0"),
        ("\0", "x\n"),
    ] {
        let mut stage = Stage::in_git(&[("a", before)]);
        stage.write("a", after);
        let file = uri_of_path(&stage.directory.join("a")).unwrap();
        let done = stage.operate(Operation::DiscardLines {
            of: Compared::Uncommitted,
            lines: Lines {
                file: file.clone(),
                file_before: file,
                counted_before: false,
                range: 0..1,
            },
        });
        assert_eq!(done, Err(ChangesError::WholeFileOnly));
        assert_eq!(stage.read("a").as_deref(), Some(after));
    }
}

fn restores_to_a_turn(mut stage: Stage) {
    stage.write("a", "1\n");
    stage.begin("t1");
    stage.write("a", "2\n");
    stage.write("b", "1\n");
    stage.end("t1");
    stage.begin("t2");
    stage.write("a", "3\n");
    stage.remove("b");
    stage.end("t2");
    let restore = |to| Operation::Restore {
        to,
        files: Vec::new(),
    };
    let turn = || "t1".to_owned();
    stage.operate(restore(Moment::AfterTurn(turn()))).unwrap();
    assert_eq!(stage.read("a").as_deref(), Some("2\n"));
    assert_eq!(stage.read("b").as_deref(), Some("1\n"));
    stage.operate(restore(Moment::BeforeTurn(turn()))).unwrap();
    assert_eq!(stage.read("a").as_deref(), Some("1\n"));
    assert_eq!(stage.read("b"), None);
    stage.operate(Operation::Undo).unwrap();
    assert_eq!(stage.read("a").as_deref(), Some("2\n"));
    let never = stage.operate(restore(Moment::AfterTurn("t9".to_owned())));
    assert_eq!(never, Err(ChangesError::NotKept));
}

#[test]
fn files_return_to_what_they_were_at_a_turn() {
    restores_to_a_turn(Stage::in_git(&[("other", "1\n")]));
}

#[test]
fn files_return_to_what_they_were_at_a_turn_outside_of_git() {
    let mut stage = Stage::outside_git();
    assert_eq!(stage.open(), Some(false));
    restores_to_a_turn(stage);
}

#[test]
fn a_restored_file_leaves_what_is_staged_alone() {
    let mut stage = Stage::in_git(&[("a", "1\n"), ("staged", "1\n")]);
    stage.write("staged", "2\n");
    stage.git(&["add", "staged"]);
    stage.begin("t1");
    stage.write("a", "2\n");
    stage.end("t1");
    let to = Moment::BeforeTurn("t1".to_owned());
    let files = vec![uri_of_path(&stage.directory.join("a")).unwrap()];
    stage.operate(Operation::Restore { to, files }).unwrap();
    assert_eq!(stage.read("a").as_deref(), Some("1\n"));
    assert_eq!(stage.git(&["status", "--porcelain"]), "M  staged");
}

#[test]
fn a_commit_has_all_changes_and_can_be_taken_back() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    stage.write("a", "2\n");
    stage.write("new", "1\n");
    let view = stage.view(Compared::Uncommitted);
    let message = "All of it".to_owned();
    let done = stage.operate(Operation::Commit { message }).unwrap();
    let [OperationDone::Committed(commits)] = done.as_slice() else {
        panic!("{done:?}");
    };
    assert!(commits[0].ends_with(" All of it"), "{commits:?}");
    stage.shows(view, &[]);
    assert_eq!(stage.git(&["log", "--format=%s"]), "All of it\nFirst");
    let done = stage.operate(Operation::Undo);
    assert_eq!(done, Ok(vec![OperationDone::CommitTakenBack]));
    stage.shows(view, &["M a +1 -1", "A new +1 -0"]);
    assert_eq!(stage.git(&["log", "--format=%s"]), "First");
}

#[test]
fn a_commit_that_a_hook_refuses_leaves_everything_as_it_was() {
    let mut stage = Stage::in_git(&[("a", "1\n"), ("b", "1\n")]);
    stage.write("a", "2\n");
    stage.write("b", "2\n");
    stage.git(&["add", "a"]);
    let hook = stage.directory.join(".git/hooks/pre-commit");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho 'not like this' >&2\nexit 1\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
    let before = stage.git(&["status", "--porcelain"]);
    let message = "All of it".to_owned();
    let refused = stage.operate(Operation::Commit { message });
    assert_eq!(
        refused,
        Err(ChangesError::Other("not like this".to_owned()))
    );
    assert_eq!(stage.git(&["status", "--porcelain"]), before);
}

#[test]
fn files_outside_of_the_session_are_out_of_reach() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let refused = stage.operate(Operation::Discard {
        of: Compared::Session,
        files: vec!["file:///etc/hostname".to_owned()],
    });
    let outside = ChangesError::Outside("file:///etc/hostname".to_owned());
    assert_eq!(refused, Err(outside));
}

#[test]
fn a_commit_leaves_alone_what_is_staged_elsewhere() {
    let mut stage = Stage::in_git(&[("x/a", "1\n"), ("b", "1\n")]);
    stage.write("b", "staged\n");
    stage.git(&["add", "b"]);
    stage.write("x/a", "2\n");
    let root = stage.directory.clone();
    stage.directory = root.join("x");
    stage.open();
    let message = "Part".to_owned();
    stage.operate(Operation::Commit { message }).unwrap();
    let status = |stage: &Stage| stage.git(&["status", "--porcelain"]);
    assert_eq!(status(&stage), "M  b");
    stage.operate(Operation::Undo).unwrap();
    assert_eq!(status(&stage), "M  b\n M x/a");
}

/// What a host leaves that is killed when the commit was made, and before: the
/// next one finishes it, also if the commit is made only then.
#[test]
fn a_commit_in_which_the_host_was_killed_is_finished_by_the_next() {
    for made_later in [false, true] {
        let mut stage = Stage::in_git(&[("a", "1\n"), ("b", "1\n")]);
        stage.write("a", "2\n");
        stage.begin("t1");
        let refs = stage.git(&["for-each-ref", "--format=%(refname)", "refs/innkeeper"]);
        let prefix = refs
            .lines()
            .next()
            .unwrap()
            .trim_end_matches("/base")
            .to_owned();
        // As the host would: with an index of its own.
        let index = stage.data.path().join("an index");
        let index = index.to_str().unwrap();
        let own = |stage: &Stage, args: &[&str]| {
            let git_dir = stage.directory.join(".git");
            let env = format!("GIT_INDEX_FILE={index}");
            let mut all = vec![env.as_str(), "git"];
            all.extend(args);
            let done = std::process::Command::new("env")
                .args(all)
                .current_dir(&stage.directory)
                .env("GIT_DIR", git_dir)
                .output()
                .unwrap();
            assert!(done.status.success(), "{args:?}: {done:?}");
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        };
        own(&stage, &["read-tree", "HEAD"]);
        own(&stage, &["add", "--all"]);
        let tree = own(&stage, &["write-tree"]);
        let intended = own(&stage, &["commit-tree", "-m", "x", "-p", "HEAD", &tree]);
        let marker = format!("{prefix}/committing");
        stage.git(&["update-ref", &marker, &intended]);
        if !made_later {
            own(&stage, &["commit", "--quiet", "--message", "Work"]);
        }
        let mut stage = stage.restarted();
        let view = stage.view(Compared::Uncommitted);
        if made_later {
            assert_eq!(stage.shown(view), ["M a +1 -1"]);
            own(&stage, &["commit", "--quiet", "--message", "Work"]);
        }
        stage.shows(view, &[]);
        assert_eq!(stage.git(&["for-each-ref", &marker]), "");
        assert_eq!(stage.git(&["status", "--porcelain"]), "");
        stage.operate(Operation::Undo).unwrap();
        assert_eq!(stage.git(&["log", "--format=%s"]), "First");
        assert_eq!(stage.git(&["status", "--porcelain"]), "M a");
    }
}
