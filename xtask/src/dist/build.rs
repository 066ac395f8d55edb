//! The program that is released: optimised, stripped, with the web client in
//! it, and linked so that old systems can run it.
//!
//! Zig links against the symbols of an old C library, whatever is installed
//! here. It and `cargo-zigbuild` come from PyPI, in versions that are named
//! here, into a virtual environment below `target/tools`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::{tools, web};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The oldest C library that the program runs with: that of Debian 10, RHEL 8
/// and Ubuntu 18.10.
const OLDEST_GLIBC: (u32, u32) = (2, 28);

const FROM_PYPI: [&str; 2] = ["ziglang==0.17.0", "cargo-zigbuild==0.24.0"];

/// What a release may weigh, a little more than 0.2.0; beyond, it is noticed.
const HEAVY: u64 = 31_000_000;

pub(super) fn built() -> Result<PathBuf> {
    let program = tools::target_directory()
        .join(TARGET)
        .join("dist/innkeeper");
    if !program.exists() {
        bail!("there is no build yet; run `cargo xtask dist` without `--no-build`");
    }
    Ok(program)
}

pub(super) fn build() -> Result<PathBuf> {
    if let Some(reason) = web::build_if_stale()? {
        bail!("a release has the web client in it, which was not built: {reason}");
    }
    let tools_there = zig()?;
    let (major, minor) = OLDEST_GLIBC;
    let mut path = vec![tools_there];
    path.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let mut cargo = tools::cargo();
    cargo
        .env("PATH", std::env::join_paths(path)?)
        .args(["zigbuild", "--locked", "--profile", "dist"])
        .args(["--package", "innkeeper", "--bin", "innkeeper"])
        .args(["--target", &format!("{TARGET}.{major}.{minor}")]);
    tools::run(&mut cargo)?;
    built()
}

/// The directory with the tools, which are installed where they are missing.
fn zig() -> Result<PathBuf> {
    let home = tools::target_directory().join("tools/zig");
    let programs = home.join("bin");
    let noted = home.join("versions");
    let wanted = FROM_PYPI.join(" ");
    if fs::read_to_string(&noted).is_ok_and(|installed| installed == wanted) {
        return Ok(programs);
    }
    let mut make = tools::program_at_root("python3");
    tools::run(make.args(["-m", "venv"]).arg(&home))
        .context("zig comes from PyPI, which needs Python 3 with its module `venv`")?;
    let mut pip = tools::program_at_root(programs.join("pip"));
    tools::run(pip.args(["install", "--quiet"]).args(FROM_PYPI))?;
    fs::write(noted, wanted)?;
    Ok(programs)
}

/// Whether the program is what it should be.
pub(super) fn check(program: &Path) -> Result<()> {
    let bytes = fs::read(program)?;
    let newest = newest_glibc(&bytes).context("the program is not linked with glibc")?;
    let (major, minor) = newest;
    println!(
        "{}: {} bytes, needs glibc {major}.{minor}",
        program.display(),
        bytes.len()
    );
    if newest > OLDEST_GLIBC {
        bail!("the program needs a newer glibc than {OLDEST_GLIBC:?}");
    }
    if bytes.len() as u64 > HEAVY {
        println!("that is more than {HEAVY} bytes; see docs/release.md for what it is made of");
    }
    Ok(())
}

/// The newest version of glibc that the program asks for: the names of
/// versions stand in it as text.
fn newest_glibc(program: &[u8]) -> Option<(u32, u32)> {
    const PREFIX: &[u8] = b"GLIBC_";
    let versions = program.windows(PREFIX.len()).enumerate();
    let versions = versions.filter(|(_, window)| *window == PREFIX);
    let versions = versions.filter_map(|(at, _)| {
        let rest = program.get(at + PREFIX.len()..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let version = std::str::from_utf8(&rest[..end]).ok()?;
        let mut numbers = version.split('.').map(str::parse::<u32>);
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    versions.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_counts_by_number() {
        let program = b"\0GLIBC_2.9\0GLIBC_2.28\0GLIBC_2.2.5\0GLIBC_PRIVATE\0GLIBC_2.4";
        assert_eq!(newest_glibc(program), Some((2, 28)));
        assert_eq!(newest_glibc(b"static"), None);
    }
}
