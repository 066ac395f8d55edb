//! `cargo xtask dist`: what is released, in `target/dist`: an archive, a Debian
//! package, recipes for other package managers, and checksums.
//!
//! `build` makes the program, `notices` collects the licences of what is in it,
//! `tree` lays out the files, `debian` and `recipes` pack them, and `check`
//! installs the package in a bare system, with an `agent`, and takes it off again. Archives are
//! written by GNU tar, with the time of the last commit, so that the same
//! source gives the same archives.

mod agent;
mod build;
mod check;
mod debian;
mod notices;
mod recipes;
mod tree;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::tools;

const USAGE: &str = "`cargo xtask dist [--no-build] [--check] [--suite NAME] [--from URL]`";

/// What is released, and where from.
struct Release {
    version: String,
    /// Where everything is written.
    directory: PathBuf,
    /// The time of the last commit, in seconds.
    time: String,
    /// Where the archive will be found on the web; without it, recipes name
    /// the file itself.
    from: Option<String>,
}

impl Release {
    fn name(&self) -> String {
        format!("innkeeper-{}-x86_64-linux", self.version)
    }

    fn archive(&self) -> PathBuf {
        self.directory.join(format!("{}.tar.gz", self.name()))
    }

    /// An archive of all that is in a directory, the same every time.
    fn pack(&self, from: &Path, names: &[&str], archive: &Path) -> Result<()> {
        let mut tar = tools::program_at_root("tar");
        tar.current_dir(from);
        tar.args(["--create", "--use-compress-program=gzip -9n"])
            .args(["--sort=name", "--format=gnu"])
            .args(["--owner=0", "--group=0", "--numeric-owner"])
            .arg(format!("--mtime=@{}", self.time))
            .arg(format!("--file={}", archive.display()))
            .args(names);
        tools::run(&mut tar)
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Wishes {
    no_build: bool,
    check: bool,
    suite: Option<String>,
    from: Option<String>,
}

fn wishes(arguments: &[String]) -> Result<Wishes> {
    let mut wishes = Wishes::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || {
            let value = arguments.next().cloned();
            value.with_context(|| format!("`{argument}` wants a value; {USAGE}"))
        };
        match argument.as_str() {
            "--no-build" => wishes.no_build = true,
            "--check" => wishes.check = true,
            "--suite" => wishes.suite = Some(value()?),
            "--from" => wishes.from = Some(value()?),
            other => bail!("unknown argument `{other}`; {USAGE}"),
        }
    }
    if wishes.suite.is_some() && !wishes.check {
        bail!("`--suite` says which system `--check` makes; {USAGE}");
    }
    Ok(wishes)
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let wishes = wishes(arguments)?;
    let release = Release {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        directory: tools::target_directory().join("dist-files"),
        time: commit_time()?,
        from: wishes.from,
    };
    let program = match wishes.no_build {
        true => build::built()?,
        false => build::build()?,
    };
    build::check(&program)?;
    if release.directory.exists() {
        fs::remove_dir_all(&release.directory)?;
    }
    fs::create_dir_all(&release.directory)?;
    let tree = tree::lay_out(&release, &program)?;
    release.pack(
        &release.directory,
        &[release.name().as_str()],
        &release.archive(),
    )?;
    let package = debian::pack(&release, &tree, &release.version)?;
    recipes::write(&release)?;
    checksums(&release)?;
    if wishes.check {
        recipes::check(&release, &tree)?;
        let earlier = debian::pack(&release, &tree, &format!("{}~0", release.version))?;
        let suite = wishes.suite.as_deref().unwrap_or(check::OLDEST_SUITE);
        let checked = check::check(suite, &earlier, &package);
        fs::remove_file(earlier)?;
        checked?;
    }
    println!("\nIn {}:", release.directory.display());
    for file in files_in(&release.directory)? {
        let size = fs::metadata(release.directory.join(&file))?.len();
        println!("{size:>12}  {file}");
    }
    Ok(())
}

fn commit_time() -> Result<String> {
    let mut git = tools::program_at_root("git");
    tools::output_or_reason(git.args(["log", "-1", "--format=%ct"]))
}

/// The files of a directory, not those below it, by name.
fn files_in(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn checksums(release: &Release) -> Result<()> {
    let names = files_in(&release.directory)?;
    let mut sums = tools::program_at_root("sha256sum");
    sums.current_dir(&release.directory).args(names);
    let sums = tools::output_or_reason(&mut sums)?;
    fs::write(release.directory.join("SHA256SUMS"), sums + "\n")?;
    Ok(())
}

/// The checksum of one file.
fn checksum(file: &Path) -> Result<String> {
    let said = tools::output_or_reason(tools::program_at_root("sha256sum").arg(file))?;
    let sum = said.split_whitespace().next();
    Ok(sum.context("sha256sum printed nothing")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Wishes> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        wishes(&words)
    }

    #[test]
    fn a_call_says_what_to_make() {
        assert_eq!(of("").unwrap(), Wishes::default());
        let wishes = of("--check --suite sid --no-build").unwrap();
        assert!(wishes.check && wishes.no_build && wishes.from.is_none());
        assert_eq!(wishes.suite.as_deref(), Some("sid"));
    }

    #[test]
    fn a_wrong_call_says_what_there_is() {
        for call in ["--suite sid", "--check --suite", "--fast", "now"] {
            let error = of(call).unwrap_err().to_string();
            assert!(error.contains(USAGE), "{call}: {error}");
        }
    }
}
