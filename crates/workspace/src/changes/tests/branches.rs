//! What a branch has that the one which it goes back to has not.

use innkeeper_protocol::workspace::changes::Compared;

use super::stage::{Stage, git};

/// A repository whose `main` is at a remote, which is a bare repository next to
/// it.
fn with_a_remote() -> Stage {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let remote = stage.data.path().join("remote.git");
    let remote = remote.to_str().unwrap();
    stage.git(&["clone", "--quiet", "--bare", ".", remote]);
    stage.git(&["remote", "add", "origin", remote]);
    stage.git(&["fetch", "--quiet", "origin"]);
    stage.git(&["remote", "set-head", "origin", "main"]);
    stage.open();
    stage
}

#[test]
fn a_branch_has_work_of_its_own_when_it_is_another_one_or_ahead() {
    let mut stage = with_a_remote();
    stage.tell(innkeeper_protocol::workspace::changes::ChangesTask::Observe(true));
    stage.git_is(|git| git.base.as_deref() == Some("main") && !git.has_own_work);
    stage.git(&["commit", "--quiet", "--allow-empty", "--message", "Ahead"]);
    stage.git_is(|git| git.has_own_work);
    stage.git(&["reset", "--quiet", "--hard", "origin/main"]);
    stage.git_is(|git| !git.has_own_work);
    stage.git(&["checkout", "--quiet", "-b", "topic"]);
    stage.git_is(|git| git.has_own_work && git.base.as_deref() == Some("main"));
    stage.git(&["checkout", "--quiet", "--detach"]);
    stage.git_is(|git| !git.has_own_work);
}

#[test]
fn a_repository_without_a_branch_to_go_back_to_has_no_base() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    stage.git(&["branch", "--quiet", "--move", "odd"]);
    stage.tell(innkeeper_protocol::workspace::changes::ChangesTask::Observe(true));
    stage.git_is(|git| git.branch.as_deref() == Some("odd"));
    let state = stage.git_state.clone().unwrap();
    assert_eq!((state.base, state.has_own_work), (None, false));
}

#[test]
fn a_branch_is_compared_with_where_it_began_also_when_that_moves() {
    let mut stage = with_a_remote();
    stage.git(&["checkout", "--quiet", "-b", "topic"]);
    stage.write("mine", "1\n");
    stage.git(&["add", "mine"]);
    stage.git(&["commit", "--quiet", "--message", "Mine"]);
    stage.write("a", "2\n");
    let view = stage.view(Compared::Branch);
    assert_eq!(stage.shown(view), ["M a +1 -1", "A mine +1 -0"]);
    // What went back is no longer the branch's own.
    stage.git(&["push", "--quiet", "origin", "topic:main"]);
    stage.shows(view, &["M a +1 -1"]);
    // Another branch began elsewhere.
    stage.git(&["commit", "--quiet", "--all", "--message", "More"]);
    stage.shows(view, &["M a +1 -1"]);
    stage.git(&["checkout", "--quiet", "-b", "other", "HEAD~2"]);
    stage.shows(view, &[]);
    git(&stage.directory, &["checkout", "--quiet", "topic"]);
    stage.shows(view, &["M a +1 -1"]);
}
