//! Which `git` can be told all that it must be told: pure, but for asking it
//! once.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The first version that knows every switch that [`super::running`] sets:
/// `safe.bareRepository` came with it, `core.fsmonitor` as a truth value and
/// `cat-file --batch-command` shortly before.
pub const LEAST_GIT: (u32, u32) = (2, 38);

/// What `git --version` said, judged: the version, or why there are no
/// changesets with it.
pub fn judge_git(said: &str) -> Result<String, String> {
    let (major, minor) = LEAST_GIT;
    let version = said.trim().strip_prefix("git version ").unwrap_or_default();
    let mut numbers = version.split(['.', ' ', '-']).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(a)), Some(Ok(b))) if (a, b) >= LEAST_GIT => Ok(version.to_owned()),
        (Some(Ok(_)), Some(Ok(_))) => Err(format!(
            "git {version} cannot be told to leave a repository's own programs alone; for \
             changesets, install git {major}.{minor} or newer"
        )),
        _ => Err(format!(
            "`git --version` says nothing that is understood; for changesets, install git \
             {major}.{minor} or newer"
        )),
    }
}

/// Whether the `git` of this machine is one that can be used, asked once.
pub(super) fn check() -> Result<(), String> {
    static VERDICT: OnceLock<Result<(), String>> = OnceLock::new();
    VERDICT.get_or_init(ask).clone()
}

fn ask() -> Result<(), String> {
    let mut git = Command::new("git");
    git.arg("--version").stdin(Stdio::null());
    match git.output() {
        Ok(output) => judge_git(&String::from_utf8_lossy(&output.stdout)).map(drop),
        Err(error) => Err(format!("`git` cannot be run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_judged() {
        for (said, good) in [
            ("git version 2.38.0\n", true),
            ("git version 2.47.3", true),
            ("git version 2.50.1 (Apple Git-155)\n", true),
            ("git version 2.39.2.windows.1", true),
            ("git version 2.38.0-rc1", true),
            ("git version 10.0", true),
            ("git version 2.37.9\n", false),
            ("git version 2.4.1", false),
            ("git version 1.99.0", false),
            ("git version two", false),
            ("", false),
            ("git version 2", false),
        ] {
            assert_eq!(judge_git(said).is_ok(), good, "{said:?}");
        }
    }

    #[test]
    fn an_old_one_is_told_what_to_do() {
        let why = judge_git("git version 2.25.1\n").unwrap_err();
        assert!(why.starts_with("git 2.25.1 cannot be told"), "{why}");
        assert!(why.ends_with("install git 2.38 or newer"), "{why}");
    }
}
