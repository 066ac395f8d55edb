//! Counting instructions: callgrind counts the same every time.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// The instructions that this program takes with the given arguments.
pub(crate) fn instructions(arguments: &[&str]) -> Result<u64> {
    let scratch = tempfile::tempdir()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!(
            "--callgrind-out-file={}",
            scratch.path().join("out").display()
        ))
        .arg(std::env::current_exe()?)
        .args(arguments)
        .output()
        .context("valgrind is needed to count instructions; install it or leave this out")?;
    if !output.status.success() {
        bail!("valgrind: {}", String::from_utf8_lossy(&output.stderr));
    }
    let profile = std::fs::read_to_string(scratch.path().join("out"))?;
    let total = profile
        .lines()
        .find_map(|line| line.strip_prefix("totals: "));
    total
        .and_then(|total| total.trim().parse().ok())
        .context("a total")
}
