//! The web client, as far as Cargo's side cares: whether it is there, whether
//! it can be built here, and whether its output is up to date.
//!
//! What returns `Option<String>` gives the reason why nothing was done.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};

use crate::tools;

/// What is brought into `web/` from outside.
const NOT_SOURCES: [&str; 1] = ["node_modules"];

/// Builds the web client unless its output is newer than all its sources.
pub(crate) fn build_if_stale() -> Result<Option<String>> {
    if let Some(reason) = cannot() {
        return Ok(Some(reason));
    }
    if is_fresh(&directory())? {
        return Ok(None);
    }
    install()?;
    tools::run(npm().args(["run", "build"]))?;
    Ok(None)
}

/// Runs a script of the web client's `package.json`.
pub(crate) fn npm_run(script: &str) -> Result<Option<String>> {
    if let Some(reason) = cannot() {
        return Ok(Some(reason));
    }
    if !has_script(&directory(), script)? {
        return Ok(Some(format!("web/package.json has no script `{script}`")));
    }
    install()?;
    tools::run(npm().args(["run", script]))?;
    Ok(None)
}

/// `cargo xtask web`: type check and lint; with `--build`, the client itself,
/// where builds of the host take it from.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments {
        [] => check(),
        [flag] if flag == "--build" => match build_if_stale()? {
            None => Ok(()),
            Some(reason) => bail!("the web client was not built: {reason}"),
        },
        [other, ..] => bail!("unknown argument `{other}`; there is only `--build`"),
    }
}

/// Type check and lint.
pub(crate) fn check() -> Result<()> {
    for script in ["typecheck", "lint"] {
        if let Some(reason) = npm_run(script)? {
            println!("web {script} skipped: {reason}");
        }
    }
    Ok(())
}

/// One turn in a browser, on a host that runs: what was seen.
pub(crate) fn turn(address: &str) -> Result<String> {
    install()?;
    tools::output_or_reason(npm().args(["run", "--silent", "turn", "--", address]))
}

/// What browser tests need besides Node: the reason why they cannot run, if
/// there is no Chromium and it cannot be installed either.
pub(crate) fn without_browser() -> Option<String> {
    if has_browser() || tools::install("chromium") && has_browser() {
        return None;
    }
    Some("no Chromium was found; install it, or set CHROMIUM to its path".to_owned())
}

fn has_browser() -> bool {
    let known = [
        "/usr/bin/chromium",
        "/usr/bin/chromium-browser",
        "/usr/bin/google-chrome",
    ];
    let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let known = known.into_iter().map(PathBuf::from);
    named.into_iter().chain(known).any(|path| path.exists())
}

fn directory() -> PathBuf {
    tools::root().join("web")
}

fn npm() -> Command {
    let program = if cfg!(windows) { "npm.cmd" } else { "npm" };
    let mut npm = tools::program_at_root(program);
    npm.current_dir(directory());
    npm
}

fn cannot() -> Option<String> {
    let there = directory().join("package.json").exists();
    if !there {
        return Some("there is no web/package.json in this tree".to_owned());
    }
    let can_start = tools::works(tools::program_at_root("node").arg("--version"))
        && tools::works(npm().arg("--version"));
    (!can_start).then(|| "Node.js with npm was not found; install it to build it".to_owned())
}

fn install() -> Result<()> {
    let web = directory();
    // npm notes there what it installed; a newer lock file wants something else.
    let installed = modified(&web.join("node_modules/.package-lock.json"));
    let wanted = modified(&web.join("package-lock.json"));
    if matches!((&installed, &wanted), (Ok(installed), Ok(wanted)) if installed >= wanted) {
        return Ok(());
    }
    // Not `npm ci`: it insists on a lock file that names the native parts of
    // every platform. This keeps to the locked versions and leaves the file alone.
    tools::run(npm().args(["install", "--no-save"]))
}

/// A script is a line of its own in the file, as npm itself writes it.
fn has_script(web: &Path, script: &str) -> Result<bool> {
    let path = web.join("package.json");
    let text = fs::read_to_string(&path).context("failed to read web/package.json")?;
    let start = format!("\"{script}\":");
    Ok(text
        .lines()
        .any(|line| line.trim_start().starts_with(&start)))
}

fn is_fresh(web: &Path) -> Result<bool> {
    let Ok(built) = modified(&tools::root().join("crates/innkeeper/web/index.html")) else {
        return Ok(false);
    };
    Ok(newest(web)? <= built)
}

fn newest(directory: &Path) -> Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if NOT_SOURCES.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        let time = if entry.file_type()?.is_dir() {
            self::newest(&entry.path())?
        } else {
            modified(&entry.path())?
        };
        newest = newest.max(time);
    }
    Ok(newest)
}

fn modified(path: &Path) -> Result<SystemTime> {
    let metadata = fs::metadata(path)?;
    Ok(metadata.modified()?)
}
