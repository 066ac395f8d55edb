//! `cargo xtask bench`: the benchmarks, in a release build, against the real
//! binary of the same build.

use std::process::Command;

use anyhow::Result;

use crate::tools;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut build = tools::cargo();
    build.args(["build", "--release"]);
    build.args(["--package", "innkeeper", "--package", "innkeeper-bench"]);
    tools::run(&mut build)?;
    // Not by `cargo run`: that would build one of the two once more, with the
    // features that it needs alone.
    let bench = tools::target_directory()
        .join("release")
        .join("innkeeper-bench");
    tools::run(Command::new(bench).args(arguments))
}
