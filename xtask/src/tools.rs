//! Starting other programs, always from the root of the repository.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Where cargo puts what it builds.
pub(crate) fn target_directory() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => directory.into(),
        None => root().join("target"),
    }
}

/// Cargo, as it was called for this program.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    program_at_root(&program)
}

pub(crate) fn program_at_root(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Runs to the end, shows what runs, and fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let status = command
        .status()
        .with_context(|| format!("failed to start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Whether the program starts and ends well, without showing what it says.
pub(crate) fn works(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Installs a package of the system, where this may be done: on Debian and its
/// kin, as root. Whether it did.
pub(crate) fn install(package: &str) -> bool {
    let is_root = output(program_at_root("id").arg("-u")).as_deref() == Some("0");
    if !is_root || !works(program_at_root("apt-get").arg("--version")) {
        return false;
    }
    println!("{package} is not installed; installing it");
    let mut update = program_at_root("apt-get");
    let mut install = program_at_root("apt-get");
    install
        .args(["install", "--yes", "--no-install-recommends", package])
        .env("DEBIAN_FRONTEND", "noninteractive");
    let installed = run(update.arg("update")).and_then(|()| run(&mut install));
    installed.is_ok()
}

/// What the program prints, if it ends well.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    output_or_reason(command).ok()
}

/// What the program prints, or what it complains about.
pub(crate) fn output_or_reason(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("failed to start `{shown}`"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("`{shown}` failed: {}", complaint.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(program).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
