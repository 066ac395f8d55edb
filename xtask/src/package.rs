//! `cargo xtask package`: the library without its features, and what would be
//! published, as `cargo` packs it and built from that.

use anyhow::{Result, bail};

use crate::{tidy, tools, web};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut cargo = tools::cargo();
    // The web client, which git does not know, goes into a package.
    cargo.args(["package", "--allow-dirty"]);
    match arguments {
        [] => {
            let mut lean = tools::cargo();
            lean.args(["check", "--package", "innkeeper", "--lib"]);
            tools::run(lean.arg("--no-default-features"))?;
        }
        [flag] if flag == "--no-verify" => {
            cargo.arg(flag);
        }
        [other, ..] => bail!("unknown argument `{other}`; there is only `--no-verify`"),
    }
    if let Some(reason) = web::build_if_stale()? {
        println!("the packages will have no web client: {reason}");
    }
    for package in tidy::published_packages()? {
        cargo.args(["--package", &package]);
    }
    tools::run(&mut cargo)
}
