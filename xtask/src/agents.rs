//! `cargo xtask agents`: real agents behind the real host, with a model that
//! plays scripts. It installs them from npm and PyPI, so it is not part of the
//! tests.

use std::process::Command;

use anyhow::Result;

use crate::tools;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut build = tools::cargo();
    build.args(["build", "--package", "innkeeper"]);
    build.args(["--package", "innkeeper-trials"]);
    tools::run(&mut build)?;
    let trials = tools::target_directory().join("debug/innkeeper-trials");
    tools::run(Command::new(trials).args(arguments))
}
