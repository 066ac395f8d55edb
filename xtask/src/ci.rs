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
    deny()?;
    web::check()?;
    test::run()
}

/// The licences once more, with the texts that `tidy` does not read, and what
/// else `deny.toml` says. Not the advisories: they change while the tree does not.
fn deny() -> Result<()> {
    if tools::works(tools::cargo().args(["deny", "--version"])) {
        let checks = ["deny", "check", "licenses", "bans", "sources"];
        return tools::run(tools::cargo().args(checks));
    }
    println!("cargo deny skipped: cargo-deny is not installed");
    Ok(())
}
