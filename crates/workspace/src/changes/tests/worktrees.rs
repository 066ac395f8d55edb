//! Working trees of sessions' own.

use std::path::PathBuf;

use innkeeper_protocol::workspace::changes::{ChangesEvent, ChangesTask};

use super::super::git::StandIns;
use super::super::worktree::create;
use super::stage::{Stage, git};
use crate::resources::place::path_of_uri;
use crate::uri_of_path;

fn isolate(stage: &mut Stage, branch: Option<&str>) -> Result<PathBuf, String> {
    stage.tell(ChangesTask::Isolate {
        directory: uri_of_path(&stage.directory).unwrap(),
        branch: branch.map(str::to_owned),
    });
    let made = stage.wait(|event| match event {
        ChangesEvent::Isolated(made) => Some(made.clone()),
        _ => None,
    });
    made.map(|uri| path_of_uri(&uri).unwrap())
}

/// The session goes; returns when its working tree was dealt with.
fn forget(stage: &mut Stage, worktree: &std::path::Path) {
    stage.tell(ChangesTask::Forget {
        directories: vec![uri_of_path(worktree).unwrap()],
        trees: vec![uri_of_path(worktree).unwrap()],
    });
    stage.open();
}

#[test]
fn a_worktree_is_made_from_a_branch_and_removed() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    stage.git(&["branch", "topic"]);
    stage.write("a", "2\n");
    let tree = isolate(&mut stage, Some("topic")).unwrap();
    assert_eq!(std::fs::read_to_string(tree.join("a")).unwrap(), "1\n");
    assert_eq!(git(&tree, &["branch", "--show-current"]), "innkeeper/1");
    assert_eq!(stage.git(&["branch", "--show-current"]), "main");
    forget(&mut stage, &tree);
    assert!(!tree.exists());
    assert_eq!(stage.git(&["branch", "--list", "innkeeper/*"]), "");
    assert_eq!(stage.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(stage.read("a").as_deref(), Some("2\n"));
}

#[test]
fn a_worktree_with_uncommitted_work_stays() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let tree = isolate(&mut stage, None).unwrap();
    std::fs::write(tree.join("new"), "work\n").unwrap();
    forget(&mut stage, &tree);
    assert_eq!(std::fs::read_to_string(tree.join("new")).unwrap(), "work\n");
}

#[test]
fn a_branch_with_commits_of_its_own_stays() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let tree = isolate(&mut stage, None).unwrap();
    std::fs::write(tree.join("new"), "work\n").unwrap();
    git(&tree, &["add", "--all"]);
    git(&tree, &["commit", "--quiet", "--message", "Work"]);
    forget(&mut stage, &tree);
    assert!(!tree.exists());
    assert_eq!(
        stage.git(&["log", "--format=%s", "innkeeper/1"]),
        "Work\nFirst"
    );
}

#[test]
fn a_worktree_whose_commits_are_on_no_branch_stays() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let tree = isolate(&mut stage, None).unwrap();
    git(&tree, &["checkout", "--quiet", "--detach"]);
    git(
        &tree,
        &["commit", "--quiet", "--allow-empty", "--message", "Work"],
    );
    forget(&mut stage, &tree);
    assert_eq!(git(&tree, &["log", "--format=%s"]), "Work\nFirst");
    // With a name, it is safe.
    git(&tree, &["tag", "kept"]);
    forget(&mut stage, &tree);
    assert!(!tree.exists());
    assert_eq!(stage.git(&["log", "--format=%s", "kept"]), "Work\nFirst");
}

#[test]
fn nothing_but_a_worktree_of_the_hosts_own_is_removed() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let tree = isolate(&mut stage, None).unwrap();
    let home = tree.parent().unwrap().to_owned();
    let theirs = stage.directory.with_file_name("theirs");
    let path = theirs.to_str().unwrap();
    stage.git(&["worktree", "add", "--quiet", "-b", "theirs", path]);
    let plain = home.join("plain");
    std::fs::create_dir(&plain).unwrap();
    for other in [&theirs, &stage.directory.clone(), &home, &plain] {
        forget(&mut stage, other);
        assert!(other.exists(), "{}", other.display());
    }
    assert!(tree.exists());
}

#[test]
fn what_cannot_be_isolated_says_why() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let refused = isolate(&mut stage, Some("nowhere")).unwrap_err();
    let said = "unknown branch or commit `nowhere` in this repository";
    assert_eq!(refused, said);
    let mut plain = Stage::outside_git();
    let refused = isolate(&mut plain, None).unwrap_err();
    assert!(refused.contains("is in no git repository"), "{refused}");
}

#[test]
fn several_worktrees_of_one_repository_are_made_at_once() {
    let stage = Stage::in_git(&[("a", "1\n")]);
    let home = tempfile::tempdir().unwrap();
    let stand_ins = StandIns::new(home.path().join("stand-ins"));
    let names: Vec<String> = (0..8).map(|number| format!("s{number}")).collect();
    let made: Vec<_> = std::thread::scope(|scope| {
        let begun: Vec<_> = names
            .iter()
            .map(|name| {
                let at = home.path().join(name).join("tree");
                let (directory, stand_ins) = (&stage.directory, &stand_ins);
                scope.spawn(move || create(directory, None, (&at, name), stand_ins))
            })
            .collect();
        begun
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for tree in made {
        let file = tree.unwrap().join("a");
        assert_eq!(std::fs::read_to_string(file).unwrap(), "1\n");
    }
}
