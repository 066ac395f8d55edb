//! Pushing and pull requests, over a real socket: a host with a `gh` of the
//! test's own in its `PATH`, and a bare repository in place of GitHub.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use innkeeper_protocol::newest::state::ChangesetState;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::session_in;
use crate::common::binary::Binary;
use crate::common::git::git;
use crate::common::{Guest, Watch};
use crate::stage::until;

const SESSION: &str = "ahp-session:/push";
const ADDRESS: &str = "https://github.com/o/r.git";

/// A repository on the branch `topic`, whose remote is on GitHub as far as it
/// knows. The user's own configuration leads to the bare repository.
struct Yard {
    directory: TempDir,
    _host: Binary,
    guest: Guest,
    channel: String,
}

impl Yard {
    async fn open(gh: Option<&str>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let work = root.join("work");
        git(&root, &["init", "--quiet", "--initial-branch=main", "work"]);
        git(
            &work,
            &["commit", "--quiet", "--allow-empty", "--message", "First"],
        );
        git(&root, &["clone", "--quiet", "--bare", "work", "bare.git"]);
        git(&work, &["remote", "add", "origin", ADDRESS]);
        git(&work, &["checkout", "--quiet", "-b", "topic"]);
        std::fs::write(work.join("a.txt"), "one\n").unwrap();
        git(&work, &["add", "a.txt"]);
        git(&work, &["commit", "--quiet", "--message", "Second"]);
        let bare = root.join("bare.git");
        let settings = format!("[url \"{}\"]\n\tinsteadOf = {ADDRESS}\n", bare.display());
        std::fs::write(root.join("gitconfig"), settings).unwrap();
        let host = Binary::start_with(&root.join("data"), &[], |command| {
            command.env("GIT_CONFIG_GLOBAL", root.join("gitconfig"));
            command.env("GIT_CONFIG_SYSTEM", "/dev/null");
            command.env("PATH", path_with(&root.join("bin"), gh));
        });
        let guest = Guest::arrive(&host.url, "a").await;
        guest.initialize(&[]).await;
        session_in(&guest, &work, SESSION).await;
        Self {
            directory,
            _host: host,
            guest,
            channel: format!("{SESSION}/changeset/branch"),
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Follows what differs on the branch.
    async fn follow(&self) -> Watch<ChangesetState> {
        let mut watch: Watch<ChangesetState> = self.guest.watch(&self.channel, None).await;
        until(&mut watch, "files", |it| it["status"] == "ready").await;
        watch
    }

    async fn invoke(&self, operation: &str, meta: Value) -> Result<Value, (i32, String)> {
        let params = json!({"channel": self.channel, "operationId": operation, "_meta": meta});
        self.guest.request("invokeChangesetOperation", params).await
    }
}

/// The programs that a host finds: git and what it needs, and this `gh`.
fn path_with(bin: &Path, gh: Option<&str>) -> std::ffi::OsString {
    std::fs::create_dir_all(bin).unwrap();
    if let Some(script) = gh {
        let path = bin.join("gh");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let known = std::env::var_os("PATH").unwrap_or_default();
    let has_gh = |path: &PathBuf| path.join("gh").exists();
    let others = std::env::split_paths(&known).filter(|path| !has_gh(path));
    std::env::join_paths(std::iter::once(bin.to_owned()).chain(others)).unwrap()
}

#[tokio::test]
async fn a_branch_is_committed_and_pushed_with_the_message_that_was_written() {
    let yard = Yard::open(None).await;
    let mut watch = yard.follow().await;
    std::fs::write(yard.at("work/b.txt"), "two\n").unwrap();
    until(&mut watch, "both files", |it| {
        it["files"].as_array().is_some_and(|files| files.len() == 2)
    })
    .await;
    for (name, value) in [("user.name", "Somebody"), ("user.email", "s@example.org")] {
        git(&yard.at("work"), &["config", name, value]);
    }
    let message = "Mine\n\nWith a reason.";
    let committed = yard.invoke("commit", json!({"message": message})).await;
    assert!(committed.unwrap()["followUp"].is_null());
    let said = git(&yard.at("work"), &["log", "-1", "--format=%B"]);
    assert_eq!(said.trim(), message);
    let pushed = yard.invoke("push", json!({})).await.unwrap();
    assert_eq!(pushed["message"], "Pushed `topic` to `origin`.");
    let tip = |at: &Path, name: &str| git(at, &["rev-parse", name]);
    let head = tip(&yard.at("work"), "HEAD");
    assert_eq!(tip(&yard.at("bare.git"), "refs/heads/topic"), head);
    let again = yard.invoke("push", json!({})).await.unwrap();
    assert_eq!(again["message"], "`origin` has all of `topic` already.");
}

#[tokio::test]
async fn a_pull_request_is_created_by_gh_and_its_page_is_told() {
    let script = r#"here=$(dirname "$0"); printf '%s\n' "$@" > "$here/../arguments"
        cat > "$here/../body"; ls -a > "$here/../seen"
        echo https://github.com/o/r/pull/7"#;
    let yard = Yard::open(Some(script)).await;
    let _watch = yard.follow().await;
    let message = "Second thing\n\nBecause of the first.";
    let created = yard.invoke("create-pr", json!({"message": message})).await;
    let created = created.unwrap();
    let page = &created["followUp"]["content"]["uri"];
    assert_eq!(page, "https://github.com/o/r/pull/7", "{created}");
    assert_eq!(created["followUp"]["external"], true);
    let read = |name: &str| std::fs::read_to_string(yard.at(name)).unwrap();
    let expected = "pr\ncreate\n--repo\ngithub.com/o/r\n--head=topic\n--base=main\n\
        --title=Second thing\n--body-file=-\n";
    assert_eq!(read("arguments"), expected);
    assert_eq!(read("body"), "Because of the first.");
    assert_eq!(read("seen"), ".\n..\n", "it is in no repository");
    let pushed = git(&yard.at("bare.git"), &["rev-parse", "refs/heads/topic"]);
    assert_eq!(pushed, git(&yard.at("work"), &["rev-parse", "HEAD"]));
}

#[tokio::test]
async fn where_gh_cannot_create_a_pull_request_the_result_is_the_page_to_do_it() {
    let compare = "https://github.com/o/r/compare/main...topic?expand=1";
    let exists = "https://github.com/o/r/pull/3";
    for (gh, said, page) in [
        (None, "`gh` is not installed", compare),
        (
            Some("echo 'To get started, please run:  gh auth login' >&2; exit 4"),
            "`gh` is not signed in; run `gh auth login`.",
            compare,
        ),
        (
            Some("echo 'pull request create failed: no commits' >&2; exit 1"),
            "`gh`: pull request create failed: no commits.",
            compare,
        ),
        (
            Some(
                "echo 'a pull request for branch \"topic\" already exists:' >&2
                  echo https://github.com/o/r/pull/3 >&2; exit 1",
            ),
            "There is a pull request already",
            exists,
        ),
        // It says more than anybody reads, and things that terminals obey.
        (
            Some(
                "yes refused | head -c 3000000 | tr -d '\\n' >&2
                  printf '\\033[2J\\033]0;x\\007' >&2; exit 1",
            ),
            "`gh`: refusedrefused",
            compare,
        ),
        (
            Some("printf 'https://github.com/'; yes o | head -c 3000000 | tr -d '\\n'"),
            "it names no address",
            compare,
        ),
    ] {
        let yard = Yard::open(gh).await;
        let _watch = yard.follow().await;
        let done = yard.invoke("create-pr", json!({})).await.unwrap();
        let message = done["message"].as_str().unwrap();
        assert!(message.contains(said), "{message}");
        assert!(message.len() < 2000 && !message.contains(char::is_control));
        assert_eq!(done["followUp"]["content"]["uri"], page, "{message}");
    }
}

#[tokio::test]
async fn a_push_that_fails_says_what_to_do_and_leaves_the_reason_with_the_operation() {
    let yard = Yard::open(None).await;
    let mut watch = yard.follow().await;
    git(&yard.at("work"), &["remote", "remove", "origin"]);
    let (_, said) = yard.invoke("push", json!({})).await.unwrap_err();
    assert!(said.contains("git remote add origin"), "{said}");
    let failed = |it: &Value| {
        let operations = it["operations"].as_array().into_iter().flatten();
        let mut push = operations.filter(|operation| operation["id"] == "push");
        push.any(|it| it["error"]["message"] == said.as_str())
    };
    until(&mut watch, "the reason", failed).await;
}
