//! Packages of PyPI, each in a virtual environment of its own.

use std::fs;
use std::path::{Path, PathBuf};

use super::commands::Commands;
use super::{InstallError, at};
use crate::registry::Package;

/// The interpreters to try, where there is no `uv`, which finds its own. Many
/// agents want a newer one than the system's; the newest one of all is often too
/// new for what they depend on.
const PYTHONS: &[&str] = &["python3.13", "python3.12", "python3.14", "python3"];

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
    match commands.find("uv") {
        Some(uv) => by_uv(commands, &uv, package, hashes).await?,
        None => by_pip(commands, package, hashes).await?,
    }
    let bin = venv.join("bin");
    move_scripts(&bin, &commands.directory, place).map_err(at(&bin))?;
    let mut programs = names.iter().map(|name| Path::new("venv/bin").join(name));
    let is_there =
        |program: &PathBuf| crate::discovery::is_executable(&commands.directory.join(program));
    programs.find(is_there).ok_or(InstallError::NoProgram(spec))
}

/// Makes an environment and fills it, with `uv`. It takes the Python that comes
/// first unless it is told which.
async fn by_uv(
    commands: &Commands<'_>,
    uv: &Path,
    package: &Package,
    hashes: &[String],
) -> Result<(), InstallError> {
    make_with_uv(commands, uv, None).await?;
    let filled = match fill(commands, Some(uv), package, hashes).await {
        Err(Unfilled::Python(wanted)) => {
            make_with_uv(commands, uv, Some(&wanted)).await?;
            fill(commands, Some(uv), package, hashes).await
        }
        other => other,
    };
    filled.map_err(|unfilled| unfilled.into_error(package))
}

/// Likewise, with the first interpreter that runs and that the package works
/// with.
async fn by_pip(
    commands: &Commands<'_>,
    package: &Package,
    hashes: &[String],
) -> Result<(), InstallError> {
    let mut unfilled = None;
    for name in PYTHONS {
        let Some(python) = commands.find(name) else {
            continue;
        };
        // Version managers leave programs behind that lead nowhere.
        if !commands.works(&python, &["-c", ""]).await {
            continue;
        }
        commands.tell(&format!("making an environment with {name}"));
        let venv = commands.directory.join("venv");
        let venv = venv.to_string_lossy();
        let args = ["-m", "venv", &venv, "--clear"];
        commands.run(&python, &args).await?;
        match fill(commands, None, package, hashes).await {
            Err(Unfilled::Python(wanted)) => unfilled = Some(Unfilled::Python(wanted)),
            other => return other.map_err(|unfilled| unfilled.into_error(package)),
        }
    }
    Err(match unfilled {
        Some(unfilled) => unfilled.into_error(package),
        None => InstallError::Missing {
            what: "uv or Python 3",
        },
    })
}

/// Why an environment did not get its package.
enum Unfilled {
    /// The package works with these versions of Python only.
    Python(String),
    Error(InstallError),
}

impl Unfilled {
    fn into_error(self, package: &Package) -> InstallError {
        match self {
            Self::Python(wanted) => InstallError::Python {
                spec: package.spec(),
                wanted,
            },
            Self::Error(error) => error,
        }
    }
}

/// Installs a package into the environment, with `uv` or with its own `pip`.
async fn fill(
    commands: &Commands<'_>,
    uv: Option<&Path>,
    package: &Package,
    hashes: &[String],
) -> Result<(), Unfilled> {
    let python = commands.directory.join("venv/bin/python");
    let (installer, prefix): (PathBuf, Vec<String>) = match uv {
        Some(uv) => {
            let python = python.to_string_lossy().into_owned();
            let args = ["pip", "install", "--python"].map(str::to_owned);
            (uv.to_owned(), args.into_iter().chain([python]).collect())
        }
        None => {
            let args = ["-m", "pip", "install", "--disable-pip-version-check"];
            let args = args.into_iter().chain(["--no-input"]).map(str::to_owned);
            (python, args.collect())
        }
    };
    let run = async |more: &[&str]| {
        let mut args = prefix.clone();
        args.extend(more.iter().map(|&arg| arg.to_owned()));
        let mut pythons = Pythons::of(package);
        let hear = |line: &str| pythons.hear(line);
        let ran = commands.run_hearing(&installer, &args, hear).await;
        match (ran, pythons.wanted()) {
            (Ok(_), _) => Ok(()),
            (Err(_), Some(wanted)) => Err(Unfilled::Python(wanted)),
            (Err(error), None) => Err(Unfilled::Error(error)),
        }
    };
    let spec = package.spec();
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
        let written = crate::private::write(&list, line.as_bytes());
        written.map_err(|error| Unfilled::Error(at(&list)(error)))?;
        let list = list.to_string_lossy();
        run(&["--require-hashes", "--no-deps", "-r", &list]).await?;
    }
    run(&[&spec]).await
}

/// The longest that a condition on versions of Python is.
const CONDITION_BYTES: usize = 100;

/// What `uv` or `pip` say about the versions of Python that they would need.
struct Pythons<'a> {
    package: &'a Package,
    /// The versions that the package works with.
    listed: Option<String>,
    /// Whether it is for want of those that the package was not found.
    was_decisive: bool,
}

impl<'a> Pythons<'a> {
    fn of(package: &'a Package) -> Self {
        Self {
            package,
            listed: None,
            was_decisive: false,
        }
    }

    /// Takes in a line, or a piece of a long one; says whether it is for people.
    fn hear(&mut self, line: &str) -> bool {
        if let Some((_, rest)) = line.split_once(") does not satisfy Python") {
            // uv: `the current Python version (3.11.7) does not satisfy Python>=3.12 and …`.
            self.listed = rest.split_whitespace().next().map(str::to_owned);
            self.was_decisive = true;
            return true;
        }
        if line.contains(" Requires-Python ") {
            // pip: all versions of the package, `3.0.2 Requires-Python >=3.12; 3.0.3 …`.
            let (_, list) = line.rsplit_once(": ").unwrap_or(("", line));
            let condition = |entry| {
                let rest = str::strip_prefix(entry, self.package.version.as_str())?;
                rest.strip_prefix(" Requires-Python ")
            };
            let listed = list.split("; ").find_map(condition);
            self.listed = listed.map(str::to_owned).or(self.listed.take());
            return false;
        }
        let not_found = "No matching distribution found for ";
        let what = line.split_once(not_found).map(|(_, what)| what);
        self.was_decisive |= what.is_some_and(|what| what.trim() == self.package.spec());
        true
    }

    /// A condition such as `<3.15,>=3.12`, which can be taken for nothing else.
    fn wanted(self) -> Option<String> {
        let wanted = self.listed.filter(|_| self.was_decisive)?;
        let wanted = wanted.trim_end_matches(',');
        let is_condition = wanted.starts_with(['<', '>', '=', '!', '~'])
            && wanted.len() <= CONDITION_BYTES
            && wanted
                .chars()
                .all(|c| c.is_ascii_digit() || "<>=!~.,*".contains(c));
        is_condition.then(|| wanted.to_owned())
    }
}

/// Makes an environment with the first Python that `uv` finds, or of these
/// versions.
async fn make_with_uv(
    commands: &Commands<'_>,
    uv: &Path,
    python: Option<&str>,
) -> Result<(), InstallError> {
    let venv = commands.directory.join("venv");
    let venv = venv.to_string_lossy();
    let mut args = vec!["venv", "--no-project"];
    match python {
        None => commands.tell("making an environment with uv"),
        Some(python) => {
            commands.tell(&format!("making an environment with Python {python}"));
            args.extend(["--clear", "--python", python]);
        }
    }
    args.push(&venv);
    commands.run(uv, &args).await?;
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
