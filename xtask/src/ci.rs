//! `cargo xtask ci`: everything that must hold before a change goes in, the
//! quick checks first.

use anyhow::Result;

use crate::{test, tidy, tools, web};

pub(crate) fn run() -> Result<()> {
    tools::run(tools::cargo().args(["fmt", "--all", "--check"]))?;
    tools::run(tools::cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))?;
    tidy::run()?;
    web::check()?;
    test::run()
}
