//! Packages of PyPI, each in a virtual environment of its own.

use std::fs;
use std::path::{Path, PathBuf};

use super::commands::Commands;
use super::{InstallError, at};
use crate::registry::Package;

/// The interpreters to try, where there is no `uv`, which finds its own. Many
/// agents want a newer one than the system's.
const PYTHONS: &[&str] = &["python3.13", "python3.12", "python3"];

/// Scripts that are larger are programs, and name no place.
const SCRIPT_BYTES: u64 = 1024 * 1024;

/// Installs a package, so that it works when its directory has become `place`,
/// and says where its program is, below the directory.
pub(super) async fn install(
    commands: &Commands<'_>,
    package: &Package,
    hashes: &[String],
    place: &Path,
    names: &[String],
) -> Result<PathBuf, InstallError> {
    let spec = package.spec();
    let venv = commands.directory.join("venv");
    let python = venv.join("bin").join("python");
    commands.tell("making a Python environment");
    let (installer, prefix): (PathBuf, Vec<String>) = if let Some(uv) = commands.find("uv") {
        let venv = venv.to_string_lossy();
        commands.run(&uv, &["venv", "--no-project", &venv]).await?;
        let python = python.to_string_lossy().into_owned();
        let args = ["pip", "install", "--python"].map(str::to_owned);
        (uv, args.into_iter().chain([python]).collect())
    } else {
        make(commands, &venv).await?;
        let args = ["-m", "pip", "install", "--disable-pip-version-check"];
        let args = args.into_iter().chain(["--no-input"]).map(str::to_owned);
        (python, args.collect())
    };
    let with = |more: &[&str]| {
        let mut args = prefix.clone();
        args.extend(more.iter().map(|&arg| arg.to_owned()));
        args
    };
    commands.tell(&format!("installing {spec}"));
    if !hashes.is_empty() {
        // Hashes are either asked of all packages or of none. So the agent's own
        // comes first and alone, and what it depends on after it.
        let list = commands.directory.join("requirements.txt");
        let mut line = spec.clone();
        for hash in hashes {
            line.push_str(&format!(" --hash=sha256:{hash}"));
        }
        line.push('\n');
        crate::private::write(&list, line.as_bytes()).map_err(at(&list))?;
        let list = list.to_string_lossy();
        let args = with(&["--require-hashes", "--no-deps", "-r", &list]);
        commands.run(&installer, &args).await?;
    }
    commands.run(&installer, &with(&[&spec])).await?;
    let bin = venv.join("bin");
    move_scripts(&bin, &commands.directory, place).map_err(at(&bin))?;
    let mut programs = names.iter().map(|name| Path::new("venv/bin").join(name));
    let is_there =
        |program: &PathBuf| crate::discovery::is_executable(&commands.directory.join(program));
    programs.find(is_there).ok_or(InstallError::NoProgram(spec))
}

/// Makes an environment with the first interpreter that runs.
async fn make(commands: &Commands<'_>, venv: &Path) -> Result<(), InstallError> {
    let mut found = None;
    for name in PYTHONS {
        let Some(python) = commands.find(name) else {
            continue;
        };
        // Version managers leave programs behind that lead nowhere.
        if commands.run(&python, &["-c", ""]).await.is_ok() {
            found = Some(python);
            break;
        }
    }
    let missing = InstallError::Missing {
        what: "uv or Python 3",
    };
    let python = found.ok_or(missing)?;
    let venv = venv.to_string_lossy();
    commands.run(&python, &["-m", "venv", &venv]).await?;
    Ok(())
}

/// Scripts name their interpreter by its whole path, which is another one when
/// the directory has moved.
fn move_scripts(bin: &Path, from: &Path, to: &Path) -> std::io::Result<()> {
    let (from, to) = (from.to_string_lossy(), to.to_string_lossy());
    for entry in fs::read_dir(bin)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if !metadata.is_file() || metadata.len() > SCRIPT_BYTES {
            continue;
        }
        let bytes = fs::read(entry.path())?;
        if let Ok(text) = String::from_utf8(bytes)
            && text.contains(&*from)
        {
            // In place: it stays executable.
            fs::write(entry.path(), text.replace(&*from, &to))?;
        }
    }
    Ok(())
}
