//! What is kept, and that nothing of the user's is touched by it.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::workspace::changes::{ChangesEvent, ChangesTask, Compared};

use super::stage::Stage;

fn turn(id: &str) -> Compared {
    Compared::Turn(id.to_owned())
}

fn turns(original: &str, modified: &str) -> Compared {
    Compared::Turns {
        original: original.to_owned(),
        modified: modified.to_owned(),
    }
}

/// Plays two turns with an edit by the user between them.
fn two_turns(stage: &mut Stage) {
    stage.begin("t1");
    stage.write("a", "1\n2\n");
    stage.write("made by t1", "x\n");
    stage.end("t1");
    stage.write("user's", "u\n");
    stage.begin("t2");
    stage.write("a", "1\n2\n3\n");
    stage.remove("made by t1");
    stage.end("t2");
}

fn each_turn_shows_what_it_did(mut stage: Stage) {
    two_turns(&mut stage);
    let first = stage.view(turn("t1"));
    assert_eq!(stage.shown(first), ["M a +1 -0", "A made%20by%20t1 +1 -0"]);
    let (before, after) = stage.contents(first, "a");
    assert_eq!(before.as_deref(), Some("1\n"));
    assert_eq!(after.as_deref(), Some("1\n2\n"));
    let second = stage.view(turn("t2"));
    assert_eq!(stage.shown(second), ["M a +1 -0", "D made%20by%20t1 +0 -1"]);
    let between = stage.view(turns("t1", "t2"));
    let expected = ["M a +1 -0", "D made%20by%20t1 +0 -1", "A user's +1 -0"];
    assert_eq!(stage.shown(between), expected);
    let session = stage.view(Compared::Session);
    assert_eq!(stage.shown(session), ["M a +2 -0", "A user's +1 -0"]);
    // All of that is there in another life of the host.
    let mut stage = stage.restarted();
    let first = stage.view(turn("t1"));
    assert_eq!(stage.shown(first), ["M a +1 -0", "A made%20by%20t1 +1 -0"]);
    let session = stage.view(Compared::Session);
    assert_eq!(stage.shown(session), ["M a +2 -0", "A user's +1 -0"]);
    let unknown = stage.view(turn("t9"));
    assert_eq!(
        stage.failure(unknown),
        "the files were not kept at that time"
    );
}

#[test]
fn each_turn_shows_what_it_did_in_a_repository() {
    each_turn_shows_what_it_did(Stage::in_git(&[("a", "1\n")]));
}

#[test]
fn each_turn_shows_what_it_did_outside_of_git() {
    let mut stage = Stage::outside_git();
    stage.write("a", "1\n");
    assert_eq!(stage.open(), Some(false));
    each_turn_shows_what_it_did(stage);
}

#[test]
fn a_turn_that_runs_is_followed_until_it_ends() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    stage.begin("t1");
    let view = stage.view(turn("t1"));
    assert_eq!(stage.shown(view), Vec::<String>::new());
    stage.write("a", "2\n");
    stage.shows(view, &["M a +1 -1"]);
    stage.end("t1");
    stage.write("a", "3\n4\n");
    let same = stage.view(turn("t1"));
    assert_eq!(stage.shown(same), ["M a +1 -1"]);
    assert_eq!(stage.shown(view), ["M a +1 -1"]);
}

#[test]
fn commits_within_a_session_are_still_changes_of_the_session() {
    let mut stage = Stage::in_git(&[("a", "1\n"), ("b", "1\n")]);
    stage.write("untracked before", "1\n");
    let view = stage.view(Compared::Session);
    assert_eq!(stage.shown(view), Vec::<String>::new());
    stage.write("a", "2\n");
    stage.git(&["add", "--all"]);
    stage.git(&["commit", "--quiet", "--message", "Second"]);
    stage.shows(view, &["M a +1 -1"]);
    stage.write("b", "2\n");
    stage.shows(view, &["M a +1 -1", "M b +1 -1"]);
    stage.write("a", "1\n");
    stage.shows(view, &["M b +1 -1"]);
}

#[test]
fn checkpoints_touch_nothing_of_the_users() {
    let mut stage = Stage::in_git(&[("a", "1\n"), ("b", "1\n")]);
    let hooks = stage.directory.join(".git/hooks");
    std::fs::create_dir_all(&hooks).unwrap();
    for hook in ["reference-transaction", "post-index-change", "pre-commit"] {
        let path = hooks.join(hook);
        std::fs::write(&path, "#!/bin/sh\ntouch \"$GIT_DIR/hook-was-run\"\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, mode).unwrap();
    }
    stage.write("a", "2\n");
    stage.write("new", "1\n");
    stage.git(&["-c", "core.hooksPath=/dev/null", "add", "a"]);
    let seen = |stage: &Stage| {
        let index = std::fs::read(stage.directory.join(".git/index")).unwrap();
        let config = std::fs::read(stage.directory.join(".git/config")).unwrap();
        let refs = stage.git(&["for-each-ref", "--exclude=refs/innkeeper"]);
        let head = stage.git(&["rev-parse", "HEAD"]);
        let status = stage.git(&["--no-optional-locks", "status", "--porcelain"]);
        (index, config, refs, head, status)
    };
    let before = seen(&stage);
    stage.begin("t1");
    stage.end("t1");
    let view = stage.view(Compared::Session);
    let uncommitted = stage.view(Compared::Uncommitted);
    assert_eq!(stage.shown(view), Vec::<String>::new());
    assert_eq!(stage.shown(uncommitted), ["M a +1 -1", "A new +1 -0"]);
    assert_eq!(seen(&stage), before);
    assert!(!stage.directory.join(".git/hook-was-run").exists());
    assert!(stage.git(&["stash", "list"]).is_empty());
    stage.git(&["fsck", "--strict"]);
}

#[test]
fn what_a_killed_host_left_is_no_obstacle() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    stage.begin("t1");
    let home = stage.data.path().join("changes/ahp-session_3a_2f1");
    let home = std::fs::read_dir(home).unwrap().next().unwrap();
    let home = home.unwrap().path();
    for name in ["index-1.lock", "index-1.copy", "index-2"] {
        std::fs::write(home.join(name), "").unwrap();
    }
    let mut stage = stage.restarted();
    stage.write("a", "2\n");
    stage.end("t1");
    let view = stage.view(turn("t1"));
    assert_eq!(stage.shown(view), ["M a +1 -1"]);
}

#[test]
fn a_session_that_goes_takes_its_checkpoints_along() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    two_turns(&mut stage);
    assert_ne!(stage.git(&["for-each-ref", "refs/innkeeper"]), "");
    let directories = stage.directories();
    stage.tell(ChangesTask::Forget {
        directories,
        trees: Vec::new(),
    });
    stage.finish();
    assert_eq!(stage.git(&["for-each-ref", "refs/innkeeper"]), "");
    assert!(
        !stage
            .data
            .path()
            .join("changes/ahp-session_3a_2f1")
            .exists()
    );
}

/// A copy of the session in the same directory has the turns that it took over,
/// and no others.
fn a_copy_shows_inherited_turns(mut stage: Stage) {
    two_turns(&mut stage);
    let copy = ChannelUri::from("ahp-session:/copy");
    let directories = stage.directories();
    let open = ChangesTask::Open {
        directories: directories.clone(),
    };
    stage.tell_other(&copy, open);
    let inherit = ChangesTask::Inherit {
        from: Stage::session(),
        directories,
        turns: vec!["t1".to_owned()],
    };
    stage.tell_other(&copy, inherit);
    stage.wait(|event| matches!(event, ChangesEvent::Inherited { .. }).then_some(()));
    let original = stage.view(turn("t1"));
    let expected = stage.shown(original);
    let of_copy = stage.view_of(&copy, turn("t1"));
    assert_eq!(stage.shown(of_copy), expected);
    let of_copy = stage.view_of(&copy, turn("t2"));
    let said = "the files were not kept at that time";
    assert_eq!(stage.failure(of_copy), said);
    // The original goes; what the copy has of it stays.
    let directories = stage.directories();
    stage.tell(ChangesTask::Forget {
        directories,
        trees: Vec::new(),
    });
    stage.open();
    let of_copy = stage.view_of(&copy, turn("t1"));
    assert_eq!(stage.shown(of_copy), expected);
}

#[test]
fn a_copy_shows_inherited_turns_in_a_repository() {
    a_copy_shows_inherited_turns(Stage::in_git(&[("a", "1\n")]));
}

#[test]
fn a_copy_shows_inherited_turns_outside_of_git() {
    let mut stage = Stage::outside_git();
    stage.write("a", "1\n");
    stage.open();
    a_copy_shows_inherited_turns(stage);
}

#[test]
fn what_a_session_changed_is_counted_after_each_turn() {
    let mut stage = Stage::in_git(&[("a", "1\n"), ("b", "1\n2\n")]);
    stage.begin("t1");
    stage.write("a", "1\n2\n3\n");
    stage.remove("b");
    stage.end("t1");
    stage.counted((2, 2, 2));
    stage.begin("t2");
    stage.git(&["commit", "--quiet", "--all", "--message", "Work"]);
    stage.write("a", "1\n");
    stage.end("t2");
    stage.counted((1, 0, 2));
}
