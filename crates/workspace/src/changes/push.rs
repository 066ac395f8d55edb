//! Pushing the branch that is checked out, for a user who asked for it.
//!
//! *Invariant*: git speaks to the remote by the user's own configuration. Of
//! the repository's it sees the remote's address and nothing else that leads
//! elsewhere or starts a program: no hooks, no helpers, no other addresses.

use std::path::{Path, PathBuf};

use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::workspace::changes::{PushError, Pushed};

use super::branch::checked_out;
use super::git::{
    Git, GitError, GitResult, LIMIT_OF_PUSH, Repository, Stop, read_regular, run, run_aloud,
};
use super::pull_request::Forge;

/// Hooks that are larger are not looked into.
const MOST_HOOK_BYTES: u64 = 1024 * 1024;

/// How much of what a program said is told, in bytes.
const MOST_TOLD: usize = 1000;

/// How git may speak to remotes.
const PROTOCOLS: &str = "file:http:https:ssh";

/// What is pushed, and where to.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) branch: String,
    pub(super) remote: String,
    pub(super) address: String,
    /// What git is told that the remote is called: a name that nobody can have
    /// foreseen, so that none of the repository's own settings are about it.
    alias: String,
    has_upstream: bool,
    /// What the repository's own configuration says in vain.
    left_out: Vec<String>,
}

impl Target {
    pub(super) fn find(repository: &Repository) -> GitResult<Self> {
        let (Some(_), Some(branch)) = checked_out(repository)? else {
            return Err(known(PushError::NoBranch));
        };
        let (remotes, left_out) = repository.remotes()?;
        let own = repository.setting(&[], &format!("branch.{branch}.remote"))?;
        let has_upstream = own.is_some();
        let only = remotes.keys().next().filter(|_| remotes.len() == 1);
        let wanted = [
            repository.setting(&[], "remote.pushDefault")?,
            own,
            Some("origin".to_owned()),
            only.cloned(),
        ];
        let mut wanted = wanted.into_iter().flatten();
        let found = wanted.find_map(|name| {
            let address = remotes.get(&name)?.address()?.to_owned();
            Some((name, address))
        });
        let (remote, address) = found.ok_or_else(|| known(PushError::NoRemote))?;
        Ok(Self {
            branch,
            remote,
            address,
            alias: alias()?,
            has_upstream,
            left_out: left_out.into_iter().collect(),
        })
    }
}

/// Pushes what was found.
pub(super) fn push(repository: &Repository, target: &Target, stop: &Stop) -> GitResult<Pushed> {
    check_place(repository, &target.address)?;
    let hook = repository.common_dir.join("hooks/pre-push");
    // One that is not a regular file, or is too large, is a hook all the same.
    let (has_hook, hook) = match read_regular(&hook, MOST_HOOK_BYTES) {
        Ok(Some((_, hook))) => (!hook.is_empty(), hook),
        Ok(None) => (false, Vec::new()),
        Err(_) => (true, Vec::new()),
    };
    let hook = String::from_utf8_lossy(&hook);
    if hook.contains("git lfs") || hook.contains("git-lfs") {
        return Err(known(PushError::Lfs));
    }
    let mut git = pushing(repository, target)?;
    let reference = format!("refs/heads/{}", target.branch);
    git.args(["push", "--recurse-submodules=no", &target.alias]);
    git.arg(format!("{reference}:{reference}"));
    git.limit(LIMIT_OF_PUSH).until(stop);
    let said = match run_aloud(git, None) {
        Ok((_, said)) => String::from_utf8_lossy(&said).into_owned(),
        Err(error) => return Err(understood(error, target)),
    };
    if !target.has_upstream {
        follow(repository, target, &reference)?;
    }
    let forge = Forge::of(&target.address);
    Ok(Pushed {
        branch: target.branch.clone(),
        remote: target.remote.clone(),
        is_up_to_date: said.contains("Everything up-to-date"),
        hook_left_out: has_hook,
        page: forge.and_then(|forge| forge.page_in(&said)),
    })
}

fn alias() -> GitResult<String> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| GitError::Other(error.to_string()))?;
    Ok(format!("innkeeper-push-{:016x}", u64::from_be_bytes(bytes)))
}

/// A git that may speak to the remote, as the user's own configuration says.
fn pushing(repository: &Repository, target: &Target) -> GitResult<Git> {
    let users = |key: &str, more: &[&str]| -> GitResult<Option<String>> {
        for file in ["--global", "--system"] {
            let from = [&[file, "--includes"], more].concat();
            if let Some(value) = repository.setting(&from, key)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    };
    let ssh = match std::env::var("GIT_SSH_COMMAND") {
        Ok(command) => Some(command),
        Err(_) => users("core.sshCommand", &[])?,
    };
    // One that asks waits for nobody. What else there is, is the user's choice.
    let ssh = ssh.unwrap_or_else(|| "ssh -oBatchMode=yes".to_owned());
    let mut git = repository.reading();
    git.env("GIT_ALLOW_PROTOCOL", PROTOCOLS);
    git.env("GIT_SSH_COMMAND", ssh);
    git.env("SSH_ASKPASS_REQUIRE", "never");
    // A relative path would lead into the repository.
    let hooks = users("core.hooksPath", &["--type=path"])?;
    if let Some(hooks) = hooks.filter(|hooks| Path::new(hooks).is_absolute()) {
        git.args(["-c", &format!("core.hooksPath={hooks}")]);
    }
    let Target { remote, alias, .. } = target;
    git.args(["-c", &format!("remote.{alias}.url={}", target.address)]);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if remote.bytes().all(plain) {
        let tracked = format!("remote.{alias}.fetch=+refs/heads/*:refs/remotes/{remote}/*");
        git.args(["-c", &tracked]);
    }
    Ok(git)
}

/// A remote on this machine runs its hooks, so it must not be one that came
/// with the repository.
fn check_place(repository: &Repository, address: &str) -> GitResult<()> {
    let Some(path) = local(address) else {
        return Ok(());
    };
    let unreached = |error: std::io::Error| known(PushError::NotReached(error.to_string()));
    let path = repository.work_tree.join(path).canonicalize();
    let path = path.map_err(unreached)?;
    let own = [
        &repository.work_tree,
        &repository.git_dir,
        &repository.common_dir,
    ];
    let is_within = |own: &&PathBuf| own.canonicalize().is_ok_and(|own| path.starts_with(own));
    match own.iter().any(is_within) {
        true => Err(known(PushError::Inside(address.to_owned()))),
        false => Ok(()),
    }
}

/// The path that an address is, by git's rule: a colon before the first slash
/// is behind a host or a protocol.
fn local(address: &str) -> Option<&str> {
    if let Some(path) = address.strip_prefix("file://") {
        return Some(path);
    }
    let before_slash = address.split('/').next().unwrap_or_default();
    (!before_slash.contains(':')).then_some(address)
}

/// The branch follows the one that it was pushed to. Git itself would note that
/// in the configuration that it is shown.
fn follow(repository: &Repository, target: &Target, reference: &str) -> GitResult<()> {
    let file = repository.common_dir.join("config");
    for (name, value) in [("remote", target.remote.as_str()), ("merge", reference)] {
        let mut git = Git::new();
        git.env("GIT_DIR", "/dev/null").current_dir("/");
        git.args(["config", "--file"]).arg(&file);
        git.arg(format!("branch.{}.{name}", target.branch))
            .arg(value);
        run(git, None)?;
    }
    Ok(())
}

/// A line of another program as it is passed on: it may have said anything.
pub(super) fn told(line: &str) -> String {
    let plain: String = line.chars().filter(|it| !it.is_control()).collect();
    cut(plain.trim(), MOST_TOLD).to_owned()
}

fn known(error: PushError) -> GitError {
    GitError::Known(error.into())
}

/// What git said, as something that can be acted on.
fn understood(error: GitError, target: &Target) -> GitError {
    let said = match error {
        GitError::Failed(said) => said,
        GitError::TookTooLong { limit, .. } => {
            let seconds = limit.as_secs();
            let why = format!("it did not answer within {seconds} seconds");
            return known(PushError::NotReached(why));
        }
        other => return other,
    };
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let line = |words: &[&str]| {
        let mut lines = said.lines();
        let line = lines.find(|line| words.iter().any(|word| line.contains(word)));
        let line = line.or_else(|| said.lines().find(|line| !line.trim().is_empty()));
        let line = line.unwrap_or_default().trim();
        let line = told(line.trim_start_matches("fatal: "));
        match target.left_out.is_empty() {
            true => line,
            false => format!(
                "{line}; not used, as only this repository's own configuration has it: {}",
                target.left_out.join(", ")
            ),
        }
    };
    const BEHIND: [&str; 2] = ["(non-fast-forward)", "(fetch first)"];
    const REFUSED: [&str; 2] = ["[remote rejected]", "[rejected]"];
    const SIGN_IN: [&str; 7] = [
        "could not read Username",
        "could not read Password",
        "terminal prompts disabled",
        "Authentication failed",
        "Permission denied",
        "Host key verification failed",
        "returned error: 403",
    ];
    known(match () {
        () if has(&BEHIND) => PushError::NotFastForward(target.branch.clone()),
        () if has(&REFUSED) => PushError::Refused(line(&REFUSED)),
        () if has(&SIGN_IN) => PushError::SignInNeeded(line(&SIGN_IN)),
        () => PushError::NotReached(line(&["fatal: ", "ERROR: "])),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_about_a_push_tells_what_to_do() {
        let target = Target {
            branch: "topic".to_owned(),
            remote: "origin".to_owned(),
            address: "https://example.org/x".to_owned(),
            alias: "alias".to_owned(),
            has_upstream: true,
            left_out: Vec::new(),
        };
        for (said, expected) in [
            (
                " ! [rejected]        topic -> topic (fetch first)\nerror: failed to push",
                "the remote has commits",
            ),
            (
                " ! [remote rejected] topic -> topic (pre-receive hook declined)",
                "the remote refused it: ! [remote rejected]",
            ),
            (
                "fatal: could not read Username for 'https://x': terminal prompts disabled",
                "the remote wants a sign-in (could not read Username",
            ),
            (
                "git@x: Permission denied (publickey).\nfatal: Could not read from remote",
                "the remote wants a sign-in (git@x: Permission denied",
            ),
            (
                "ssh: no\nfatal: unable to access 'https://x/': Could not resolve host: x",
                "the remote cannot be reached (unable to access",
            ),
        ] {
            let error = understood(GitError::Failed(said.to_owned()), &target);
            let told = error.to_string();
            assert!(told.starts_with(expected), "{told}");
        }
    }

    #[test]
    fn what_a_remote_says_is_told_in_one_bounded_line() {
        let said = format!("\u{1b}[2J\u{202e}fatal\t{}", "é".repeat(10_000));
        let line = told(&said);
        assert!(line.starts_with("[2J"), "{line}");
        assert!(line.len() <= MOST_TOLD && !line.contains(char::is_control));
    }

    #[test]
    fn an_address_without_a_host_is_a_path() {
        for (address, path) in [
            ("/srv/x.git", Some("/srv/x.git")),
            ("../x.git", Some("../x.git")),
            ("./a:b", Some("./a:b")),
            ("file:///srv/x", Some("/srv/x")),
            ("host:x.git", None),
            ("git@host:x/y.git", None),
            ("https://host/x", None),
            ("ext::sh -c x", None),
        ] {
            assert_eq!(local(address), path, "{address}");
        }
    }
}
