//! Git in repositories of a test's own, whatever the user's is told to do.

use std::path::Path;
use std::process::Command;

/// Runs git, and gives what it said.
pub fn git(directory: &Path, args: &[&str]) -> String {
    let who = ["user.name=Somebody", "user.email=somebody@example.org"];
    let output = Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(who.iter().flat_map(|setting| ["-c", setting]))
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    let said = String::from_utf8(output.stdout).unwrap();
    said.trim_end().to_owned()
}
