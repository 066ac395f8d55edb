//! What views show, and how they follow.

use innkeeper_protocol::workspace::changes::{ChangesTask, Compared};

use super::stage::{Stage, git};

#[test]
fn uncommitted_changes_are_told_with_their_lines() {
    let mut stage = Stage::in_git(&[
        ("changed.txt", "one\ntwo\n"),
        ("gone.txt", "x\n"),
        ("old.txt", "a\nb\nc\nd\n"),
        ("staged.txt", "1\n"),
        ("staged and back.txt", "1\n"),
        ("same.txt", "same\n"),
        (".gitignore", "*.log\n"),
    ]);
    stage.write("changed.txt", "one\nTWO\nthree\n");
    stage.remove("gone.txt");
    stage.git(&["mv", "old.txt", "staged rename.txt"]);
    stage.write("staged rename.txt", "a\nb\nc\nD\n");
    stage.write("staged.txt", "2\n");
    stage.write("staged and back.txt", "2\n");
    stage.git(&["add", "staged.txt", "staged and back.txt"]);
    stage.write("staged and back.txt", "1\n");
    stage.write("new/file.txt", "1\n2\n3\n");
    stage.write("picture.bin", "\0\u{1}\u{2}");
    stage.write("ignored.log", "not this\n");
    let view = stage.view(Compared::Uncommitted);
    let expected = [
        "M changed.txt +2 -1",
        "D gone.txt +0 -1",
        "A new/file.txt +3 -0",
        "A picture.bin uncounted",
        "R old.txt staged%20rename.txt +1 -1",
        "M staged.txt +1 -1",
    ];
    assert_eq!(stage.shown(view), expected);
    let both = stage.contents(view, "changed.txt");
    let (before, after) = ("one\ntwo\n".to_owned(), "one\nTWO\nthree\n".to_owned());
    assert_eq!(both, (Some(before), Some(after)));
}

#[test]
fn a_rename_that_is_not_staged_is_one_change() {
    let mut stage = Stage::in_git(&[("old.txt", "a\nb\nc\nd\n"), ("other", "z\n")]);
    let view = stage.view(Compared::Uncommitted);
    std::fs::rename(
        stage.directory.join("old.txt"),
        stage.directory.join("new.txt"),
    )
    .unwrap();
    stage.shows(view, &["R old.txt new.txt +0 -0"]);
    stage.write("new.txt", "completely\nother\n");
    stage.shows(view, &["A new.txt +2 -0", "D old.txt +0 -4"]);
}

#[test]
fn an_edit_is_told_as_one_file() {
    let mut stage = Stage::in_git(&[("a", "1\n"), ("b", "1\n")]);
    stage.write("a", "2\n");
    let view = stage.view(Compared::Uncommitted);
    stage.write("b", "1\n2\n");
    stage.shows(view, &["M a +1 -1", "M b +1 -0"]);
    stage.write("b", "1\n");
    stage.shows(view, &["M a +1 -1"]);
    std::fs::rename(stage.directory.join("a"), stage.directory.join("sub")).unwrap();
    stage.shows(view, &["D a +0 -1", "A sub +1 -0"]);
    assert_eq!(stage.told_whole, 1);
}

#[test]
fn commits_and_branches_from_outside_are_noticed() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    stage.tell(ChangesTask::Observe(true));
    stage.git_is(|git| git.branch.as_deref() == Some("main") && git.uncommitted == 0);
    stage.write("a", "2\n");
    stage.git_is(|git| git.uncommitted == 1);
    let view = stage.view(Compared::Uncommitted);
    assert_eq!(stage.shown(view), ["M a +1 -1"]);
    stage.git(&["checkout", "--quiet", "-b", "topic"]);
    stage.git_is(|git| git.branch.as_deref() == Some("topic"));
    stage.git(&["branch", "--quiet", "--set-upstream-to=main"]);
    stage.git(&["commit", "--quiet", "--all", "--message", "Second"]);
    stage.shows(view, &[]);
    stage.git_is(|git| (git.ahead, git.behind) == (Some(1), Some(0)) && git.uncommitted == 0);
    assert_eq!(
        stage.git_state.clone().unwrap().upstream.as_deref(),
        Some("main")
    );
    stage.git(&["checkout", "--quiet", "--detach"]);
    stage.git_is(|git| git.branch.is_none());
}

#[test]
fn a_repository_without_commits_has_changes_too() {
    let mut stage = Stage::outside_git();
    stage.git(&["init", "--quiet"]);
    stage.write("a", "1\n");
    assert_eq!(stage.open(), Some(true));
    let view = stage.view(Compared::Uncommitted);
    assert_eq!(stage.shown(view), ["A a +1 -0"]);
    let session = stage.view(Compared::Session);
    assert_eq!(stage.shown(session), Vec::<String>::new());
    stage.write("a", "1\n2\n");
    stage.shows(session, &["M a +1 -0"]);
}

#[test]
fn a_session_in_a_subdirectory_sees_that_part_only() {
    let mut stage = Stage::in_git(&[("top", "1\n"), ("sub/inner", "1\n")]);
    let top = stage.directory.clone();
    stage.directory = top.join("sub");
    stage.open();
    std::fs::write(top.join("top"), "2\n").unwrap();
    stage.write("inner", "2\n");
    let view = stage.view(Compared::Uncommitted);
    assert_eq!(stage.shown(view), ["M inner +1 -1"]);
    std::fs::write(top.join("top"), "3\n").unwrap();
    stage.write("another", "1\n");
    stage.shows(view, &["A another +1 -0", "M inner +1 -1"]);
}

#[test]
fn other_repositories_within_are_left_alone() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    stage.write("inner/file", "1\n");
    let inner = stage.directory.join("inner");
    git(&inner, &["init", "--quiet"]);
    let view = stage.view(Compared::Uncommitted);
    assert_eq!(stage.shown(view), Vec::<String>::new());
    stage.begin("t1");
    stage.write("inner/file", "2\n");
    stage.write("a", "2\n");
    stage.end("t1");
    let turn = stage.view(Compared::Turn("t1".to_owned()));
    assert_eq!(stage.shown(turn), ["M a +1 -1"]);
}

#[test]
fn ignore_rules_that_change_are_heeded() {
    let mut stage = Stage::in_git(&[(".gitignore", "\n")]);
    stage.write("noise.log", "1\n");
    let view = stage.view(Compared::Uncommitted);
    assert_eq!(stage.shown(view), ["A noise.log +1 -0"]);
    stage.write(".gitignore", "*.log\n");
    stage.shows(view, &["M .gitignore +1 -1"]);
}
