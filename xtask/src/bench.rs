//! `cargo xtask bench`: the benchmarks, in a release build.

use anyhow::{Result, bail};

use crate::tools;

const PACKAGE: &str = "innkeeper-bench";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !tools::works(tools::cargo().args(["pkgid", "--package", PACKAGE])) {
        bail!("there is no package `{PACKAGE}` in this tree yet, so nothing to measure");
    }
    let mut cargo = tools::cargo();
    cargo.args(["run", "--release", "--package", PACKAGE, "--"]);
    tools::run(cargo.args(arguments))
}
