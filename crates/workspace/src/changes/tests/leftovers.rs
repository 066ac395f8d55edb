//! What was kept for sessions that nobody has cleaned up after.

use std::fs;
use std::path::{Path, PathBuf};

use innkeeper_protocol::workspace::changes::component;

use super::stage::{Stage, git};

/// Everything below `refs/innkeeper/`.
fn refs(repository: &Path) -> Vec<String> {
    let all = git(
        repository,
        &["for-each-ref", "--format=%(refname)", "refs/innkeeper"],
    );
    all.lines().map(str::to_owned).collect()
}

/// Where the files are that are kept for the session.
fn own_files(stage: &Stage) -> PathBuf {
    let name = component(Stage::session().as_str());
    stage.data.path().join("changes").join(name)
}

fn with_a_turn() -> Stage {
    let mut stage = Stage::in_git(&[("a", "1\n"), ("sub/b", "1\n")]);
    take_a_turn(&mut stage);
    stage
}

fn take_a_turn(stage: &mut Stage) {
    stage.begin("t");
    stage.write("a", "2\n");
    stage.end("t");
    stage.finish();
}

#[test]
fn what_was_kept_for_a_session_that_is_gone_goes() {
    let stage = with_a_turn();
    let theirs = "refs/innkeeper/ahp-session_3a_2ftheirs/w/base";
    stage.git(&["update-ref", theirs, "HEAD"]);
    assert_eq!(refs(&stage.directory).len(), 4);
    let next = stage.next_host();
    assert_eq!(next.kept(), [component(Stage::session().as_str())]);
    next.forget_kept(&next.kept());
    assert_eq!(
        refs(&stage.directory),
        [theirs],
        "that of another host stays"
    );
    assert!(!own_files(&stage).exists());
    assert!(next.kept().is_empty());
}

#[test]
fn what_is_kept_for_an_open_session_stays() {
    let stage = with_a_turn();
    let this = stage.this_host();
    this.forget_kept(&this.kept());
    assert_eq!(refs(&stage.directory).len(), 3);
    assert!(own_files(&stage).exists());
}

#[test]
fn what_an_earlier_release_kept_is_found_by_its_name() {
    let stage = with_a_turn();
    for place in fs::read_dir(own_files(&stage)).unwrap() {
        fs::remove_file(place.unwrap().path().join("place")).unwrap();
    }
    let next = stage.next_host();
    next.forget_kept(&next.kept());
    assert!(refs(&stage.directory).is_empty());
    assert!(!own_files(&stage).exists());
}

#[test]
fn checkpoints_are_found_where_the_directory_is_gone() {
    let mut stage = Stage::in_git(&[("a", "1\n"), ("sub/b", "1\n")]);
    let repository = stage.directory.clone();
    stage.directory = repository.join("sub");
    stage.open();
    take_a_turn(&mut stage);
    assert_eq!(refs(&repository).len(), 3);
    fs::remove_dir_all(repository.join("sub")).unwrap();
    let next = stage.next_host();
    next.forget_kept(&next.kept());
    assert!(refs(&repository).is_empty());
    assert!(!own_files(&stage).exists());
}

#[test]
fn checkpoints_are_found_where_the_working_tree_is_gone() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let repository = stage.directory.clone();
    let tree = repository.with_file_name("tree");
    let path = tree.to_str().unwrap();
    stage.git(&["worktree", "add", "--quiet", "-b", "topic", path]);
    stage.directory = tree.clone();
    stage.open();
    take_a_turn(&mut stage);
    assert_eq!(refs(&repository).len(), 3);
    fs::remove_dir_all(tree).unwrap();
    let next = stage.next_host();
    next.forget_kept(&next.kept());
    assert!(refs(&repository).is_empty());
    assert!(!own_files(&stage).exists());
}

#[test]
fn files_go_where_directory_and_repository_are_gone() {
    let stage = with_a_turn();
    fs::remove_dir_all(&stage.directory).unwrap();
    let next = stage.next_host();
    next.forget_kept(&next.kept());
    assert!(!own_files(&stage).exists());
}

#[test]
fn what_is_kept_outside_of_git_goes_too() {
    let mut stage = Stage::outside_git();
    stage.open();
    take_a_turn(&mut stage);
    assert!(own_files(&stage).exists());
    let next = stage.next_host();
    next.forget_kept(&next.kept());
    assert!(!own_files(&stage).exists());
}

/// The files say where the checkpoints are, so they wait for them.
#[test]
fn files_stay_while_checkpoints_cannot_be_removed() {
    let stage = with_a_turn();
    let locked = stage.directory.join(".git/packed-refs.lock");
    fs::write(&locked, "").unwrap();
    let next = stage.next_host();
    next.forget_kept(&next.kept());
    assert!(own_files(&stage).exists());
    fs::remove_file(locked).unwrap();
    next.forget_kept(&next.kept());
    assert!(refs(&stage.directory).is_empty());
    assert!(!own_files(&stage).exists());
}
