//! `cargo xtask package`: what would be published, as `cargo` packs it, and
//! each of it built from that.

use anyhow::{Result, bail};

use crate::{tidy, tools, web};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let mut cargo = tools::cargo();
    // The web client, which git does not know, goes into a package.
    cargo.args(["package", "--allow-dirty"]);
    match arguments {
        [] => {}
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
