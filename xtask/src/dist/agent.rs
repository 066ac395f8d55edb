//! An agent in the bare system, installed by `innkeeper agents install` as a
//! user would do it. The Node that it needs is npm's own package, which runs on
//! old systems; both come from npm's registry.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::tools;

/// What is installed there.
pub(super) const AGENT: &str = "claude";

const NODE: &str = "node@24";

/// Where Node is in the bare system, as in an archive that somebody unpacked.
const PLACE: &str = "opt/node";

/// What a user's commands need so that they find it.
pub(super) const ENVIRONMENT: &str = "export PATH=/opt/node/bin:$PATH \
     NODE_EXTRA_CA_CERTS=/opt/node/certificates.pem npm_config_cache=/tmp/npm; ";

/// What the agent and npm write for themselves, which is not ours to remove.
pub(super) const OWN_FILES: &str = "rm -rf ~/.claude ~/.claude.json* ~/.npm /tmp/npm /tmp/claude* \
     /tmp/cc-socks /tmp/node-compile-cache";

/// Puts Node with npm into a system. Gives the reason why it cannot.
pub(super) fn bring_node(root: &Path) -> Result<Option<String>> {
    let mut npm = tools::program_at_root("npm");
    let Some(modules) = tools::output(npm.args(["root", "--global"])) else {
        return Ok(Some("npm was not found".to_owned()));
    };
    let kept = tools::target_directory().join("dist-check/node");
    let node = kept.join("node_modules/node/bin/node");
    if !node.exists() {
        fs::create_dir_all(&kept)?;
        let mut install = tools::program_at_root("npm");
        install.args(["install", "--no-save", "--no-audit", "--prefix"]);
        tools::run(install.arg(&kept).arg(NODE))?;
    }
    let place = root.join(PLACE);
    fs::create_dir_all(place.join("bin"))?;
    fs::create_dir_all(place.join("lib/node_modules"))?;
    fs::copy(&node, place.join("bin/node")).context("npm's package has no Node in it")?;
    let mut copy = tools::program_at_root("cp");
    let npm = PathBuf::from(modules).join("npm");
    copy.arg("--recursive").arg(npm);
    tools::run(copy.arg(place.join("lib/node_modules")))?;
    symlink(
        "../lib/node_modules/npm/bin/npm-cli.js",
        place.join("bin/npm"),
    )?;
    // Where the registry is reached through somebody who signs in its name.
    let trusted = std::env::var_os("NODE_EXTRA_CA_CERTS").map(PathBuf::from);
    let certificates = match trusted {
        Some(file) => fs::read(file)?,
        None => Vec::new(),
    };
    fs::write(place.join("certificates.pem"), certificates)?;
    Ok(None)
}

pub(super) fn remove_node(root: &Path) -> Result<()> {
    fs::remove_dir_all(root.join(PLACE))?;
    Ok(())
}
