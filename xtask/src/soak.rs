//! `cargo xtask soak`: the real host under load, killed again and again.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::tools;

/// `cargo xtask takeover [--times N]`: hosts that take over from each other.
pub(crate) fn takeover(arguments: &[String]) -> Result<()> {
    let mut passed_on = Vec::new();
    let mut times = "5".to_owned();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--times" => times = rest.next().context("--times needs a number")?.clone(),
            _ => passed_on.push(argument.clone()),
        }
    }
    passed_on.extend(["--takeovers".to_owned(), times]);
    run(&passed_on)
}

/// Builds the host, the soak and an agent that dies when told to. With
/// `--release`, what is tried is what would be shipped.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (release, rest): (Vec<_>, Vec<_>) = arguments.iter().partition(|it| *it == "--release");
    let profile = if release.is_empty() {
        "debug"
    } else {
        "release"
    };
    let mut build = tools::cargo();
    build.args(["build", "--bins", "--examples"]);
    for package in ["innkeeper", "innkeeper-soak", "innkeeper-agents"] {
        build.args(["--package", package]);
    }
    build.args(release);
    tools::run(&mut build)?;
    // Not by `cargo run`: that would build one of them once more, with the
    // features that it needs alone.
    let soak = tools::target_directory()
        .join(profile)
        .join("innkeeper-soak");
    tools::run(Command::new(soak).args(rest))
}
