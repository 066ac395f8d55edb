//! Pushing to bare repositories, by the user's own configuration only.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use innkeeper_protocol::workspace::changes::{
    ChangesError, ChangesEvent, ChangesTask, Compared, NoPullRequest, Operation, OperationDone,
    OperationId, PushError, Pushed, Sent,
};

use super::stage::{Stage, git};

/// A repository on the branch `topic`, with one commit that its remote, a bare
/// repository elsewhere, does not have.
fn on_topic() -> (Stage, PathBuf) {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let remote = stage.data.path().join("remote.git");
    stage.git(&["clone", "--quiet", "--bare", ".", remote.to_str().unwrap()]);
    stage.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    stage.git(&["fetch", "--quiet", "origin"]);
    stage.git(&["checkout", "--quiet", "-b", "topic"]);
    stage.write("a", "2\n");
    stage.git(&["commit", "--quiet", "--all", "--message", "Second"]);
    stage.open();
    (stage, remote)
}

fn pushed(stage: &mut Stage) -> Result<Pushed, ChangesError> {
    let done = stage.operate(Operation::Push)?;
    match done.as_slice() {
        [OperationDone::Sent(Sent::Pushed(pushed))] => Ok(pushed.clone()),
        other => panic!("{other:?}"),
    }
}

fn tip(directory: &Path, name: &str) -> String {
    git(directory, &["rev-parse", name])
}

fn program(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_branch_is_pushed_and_follows_where_it_went() {
    let (mut stage, remote) = on_topic();
    let done = pushed(&mut stage).unwrap();
    assert_eq!(
        (done.branch.as_str(), done.remote.as_str()),
        ("topic", "origin")
    );
    assert!(!done.is_up_to_date);
    let head = stage.git(&["rev-parse", "HEAD"]);
    assert_eq!(tip(&remote, "refs/heads/topic"), head);
    let upstream = stage.git(&["rev-parse", "--abbrev-ref", "topic@{upstream}"]);
    assert_eq!(upstream, "origin/topic");
    assert_eq!(tip(&stage.directory, "origin/topic"), head);
    assert!(pushed(&mut stage).unwrap().is_up_to_date);
}

#[test]
fn a_commit_that_was_pushed_is_not_taken_back() {
    let (mut stage, _remote) = on_topic();
    stage.write("a", "3\n");
    let message = "Third".to_owned();
    stage.operate(Operation::Commit { message }).unwrap();
    pushed(&mut stage).unwrap();
    let undone = stage.operate(Operation::Undo);
    assert_eq!(undone, Err(ChangesError::NothingToUndo));
}

#[test]
fn what_is_in_the_way_of_a_push_is_told_with_what_to_do() {
    let (mut stage, remote) = on_topic();
    let refused = |stage: &mut Stage| match pushed(stage) {
        Err(ChangesError::Push(error)) => error,
        other => panic!("{other:?}"),
    };
    // Somebody else was there first.
    git(&remote, &["branch", "topic", "main"]);
    stage.git(&["commit", "--quiet", "--amend", "--message", "Other"]);
    pushed(&mut stage).unwrap();
    stage.git(&["commit", "--quiet", "--amend", "--message", "Again"]);
    let error = refused(&mut stage);
    assert_eq!(error, PushError::NotFastForward("topic".to_owned()));
    program(&remote.join("hooks/pre-receive"), "echo no >&2; exit 1");
    stage.git(&["checkout", "--quiet", "-b", "other"]);
    let error = refused(&mut stage);
    assert!(matches!(error, PushError::Refused(_)), "{error:?}");
    stage.git(&["remote", "set-url", "origin", "/nowhere/at/all"]);
    let error = refused(&mut stage);
    assert!(matches!(error, PushError::NotReached(_)), "{error:?}");
    stage.git(&["checkout", "--quiet", "--detach"]);
    assert_eq!(refused(&mut stage), PushError::NoBranch);
    stage.git(&["checkout", "--quiet", "topic"]);
    stage.git(&["remote", "remove", "origin"]);
    assert_eq!(refused(&mut stage), PushError::NoRemote);
}

#[test]
fn a_branch_is_pushed_to_the_address_of_a_file_and_not_over_what_others_pushed() {
    let (mut stage, remote) = on_topic();
    let address = format!("file://{}", remote.display());
    stage.git(&["remote", "set-url", "origin", &address]);
    assert!(!pushed(&mut stage).unwrap().is_up_to_date);
    let theirs = tip(&remote, "refs/heads/topic");
    stage.git(&["commit", "--quiet", "--amend", "--message", "Other"]);
    let error = PushError::NotFastForward("topic".to_owned());
    assert_eq!(pushed(&mut stage), Err(error.into()));
    assert_eq!(tip(&remote, "refs/heads/topic"), theirs);
}

/// Serves one repository to whoever signs in, which nobody can.
fn wanting_a_sign_in() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/o/r.git", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines
                .next()
                .is_some_and(|line| line.is_ok_and(|it| !it.is_empty()))
            {}
            let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\n\
                Content-Length: 0\r\nConnection: close\r\n\r\n";
            // Whoever asked may be gone.
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn a_push_that_nobody_can_sign_in_for_says_so_and_asks_nobody() {
    let (mut stage, _remote) = on_topic();
    stage.git(&["remote", "set-url", "origin", &wanting_a_sign_in()]);
    match pushed(&mut stage) {
        Err(ChangesError::Push(PushError::SignInNeeded(why))) => {
            assert!(why.contains("could not read Username"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

/// Each runs something, or leads elsewhere, when a plain `git push` is used.
#[test]
fn nothing_that_a_repository_says_about_pushing_runs_or_leads_elsewhere() {
    for trap in [
        "core.sshCommand=$EVIL",
        "credential.helper=!$EVIL",
        "core.askPass=$EVIL",
        "core.gitProxy=$EVIL",
        "remote.origin.receivepack=$EVIL",
        "remote.innkeeper-push.receivepack=$EVIL",
        "remote.innkeeper-push.url=$OTHER",
        "remote.origin.vcs=evil",
        "core.hooksPath=$HOOKS",
        "url.ext::$EVIL .insteadOf=/",
        "url.$OTHER.insteadOf=$REMOTE",
        "url.$OTHER.pushInsteadOf=$REMOTE",
        "push.recurseSubmodules=on-demand",
        "push.gpgSign=true",
        "gpg.program=$EVIL",
    ] {
        let (mut stage, remote) = on_topic();
        let home = stage.data.path().to_owned();
        let (evil, mark) = (home.join("evil"), home.join("mark"));
        program(&evil, &format!("touch {}", mark.display()));
        program(
            &home.join("hooks/pre-push"),
            &format!("{}; exit 1", evil.display()),
        );
        program(
            &stage.directory.join(".git/hooks/pre-push"),
            &format!("{}; exit 1", evil.display()),
        );
        let other = home.join("other.git");
        git(&home, &["init", "--quiet", "--bare", "other.git"]);
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let (key, value) = trap.rsplit_once('=').unwrap();
        let filled = |it: &str| {
            it.replace("$EVIL", &text(&evil))
                .replace("$HOOKS", &text(&home.join("hooks")))
                .replace("$OTHER", &text(&other))
                .replace("$REMOTE", &text(&remote))
        };
        stage.git(&["config", &filled(key), &filled(value)]);
        let done = pushed(&mut stage);
        assert!(!mark.exists(), "{trap}");
        let done = done.unwrap_or_else(|error| panic!("{trap}: {error}"));
        assert!(done.hook_left_out, "{trap}");
        let head = stage.git(&["rev-parse", "HEAD"]);
        assert_eq!(tip(&remote, "refs/heads/topic"), head, "{trap}");
        assert_eq!(git(&other, &["for-each-ref"]), "", "{trap}");
    }
}

#[test]
fn an_address_that_came_with_the_repository_is_not_pushed_to() {
    for address in ["./evil.git", ".", "ext::touch mark", "evil::x"] {
        let (mut stage, _remote) = on_topic();
        stage.git(&["clone", "--quiet", "--bare", ".", "evil.git"]);
        let mark = stage.directory.join("mark");
        let hook = stage.directory.join("evil.git/hooks/pre-receive");
        program(&hook, &format!("touch {}", mark.display()));
        stage.git(&["remote", "set-url", "origin", address]);
        let error = pushed(&mut stage).unwrap_err();
        assert!(matches!(error, ChangesError::Push(_)), "{error:?}");
        assert!(!mark.exists(), "{address}");
    }
}

#[test]
fn a_push_through_git_lfs_is_left_to_a_terminal() {
    let (mut stage, _remote) = on_topic();
    let hook = stage.directory.join(".git/hooks/pre-push");
    program(&hook, "git lfs pre-push \"$@\"");
    assert_eq!(pushed(&mut stage), Err(PushError::Lfs.into()));
}

#[test]
fn a_hook_that_is_a_pipe_does_not_hold_a_push_up() {
    let (mut stage, remote) = on_topic();
    let hook = stage.directory.join(".git/hooks/pre-push");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&hook).status();
    assert!(made.unwrap().success());
    assert!(pushed(&mut stage).unwrap().hook_left_out);
    let head = stage.git(&["rev-parse", "HEAD"]);
    assert_eq!(tip(&remote, "refs/heads/topic"), head);
}

#[test]
fn a_push_that_nobody_waits_for_is_ended_and_nothing_else_waits_for_it() {
    for by_leaving in [false, true] {
        let (mut stage, remote) = on_topic();
        let pipe = stage.data.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        // It waits until somebody writes there, which nobody does.
        let hook = format!("read line < {}", pipe.display());
        program(&remote.join("hooks/pre-receive"), &hook);
        let operation = OperationId(77);
        let what = Operation::Push;
        stage.tell(ChangesTask::Operate { operation, what });
        let view = stage.view(Compared::Branch);
        assert_eq!(stage.shown(view), ["M a +1 -1"]);
        stage.begin("t1");
        assert_eq!(pushed(&mut stage), Err(PushError::Busy.into()));
        stage.tell(match by_leaving {
            true => ChangesTask::Close,
            false => ChangesTask::Cancel { operation },
        });
        let outcome = stage.wait(|event| match event {
            ChangesEvent::Operated {
                operation: OperationId(77),
                outcome,
                ..
            } => Some(outcome.clone()),
            _ => None,
        });
        assert_eq!(outcome, Err(PushError::Cancelled.into()));
    }
}

#[test]
fn a_pull_request_is_not_for_the_branch_that_it_goes_into() {
    let (mut stage, _remote) = on_topic();
    let create = || Operation::CreatePullRequest {
        message: "Second".to_owned(),
    };
    let done = stage.operate(create()).unwrap();
    let [_, OperationDone::Sent(Sent::PullRequestPage { url, why })] = done.as_slice() else {
        panic!("{done:?}");
    };
    assert_eq!((url, why), (&None, &NoPullRequest::NotGitHub));
    stage.git(&["checkout", "--quiet", "main"]);
    let error = stage.operate(create()).unwrap_err();
    assert_eq!(error, PushError::OnBase("main".to_owned()).into());
}
