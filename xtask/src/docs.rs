//! `cargo xtask docs`: a site of README, `docs/` and the other pages of the
//! root, in `target/site`, and whether all links lead somewhere.
//!
//! mdBook makes the site. It is installed as a program below `target/tools`
//! rather than used as a library: its dependencies would double what building
//! any of these chores takes, and would be in our lock file.
//!
//! The pages are laid out for it as they are in the repository, so that a link
//! which works there works on the site.

mod links;
mod site;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::tools;

pub(crate) use links::problems as link_problems;

const MDBOOK: &str = "0.5.4";

const SUMMARY: &str = "docs/SUMMARY.md";

/// Where the pages are: in the root, and in `docs/`.
const FROM: [&str; 2] = ["", "docs/"];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let online = match arguments {
        [] => false,
        [flag] if flag == "--online" => true,
        [other, ..] => bail!("unknown argument `{other}`; there is only `--online`"),
    };
    let pages = pages()?;
    let mut problems = links::problems(&pages, |path| tools::root().join(path).exists());
    problems.extend(site::build(&pages, &mdbook()?)?);
    if online {
        problems.extend(unreachable(&pages));
    }
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => {
            println!(
                "{} pages, every link leads somewhere; open {}",
                pages.len(),
                site::directory().join("book/index.html").display()
            );
            Ok(())
        }
        count => bail!("{count} problem(s) with links"),
    }
}

/// The pages by their paths from the root.
fn pages() -> Result<BTreeMap<String, String>> {
    let mut pages = BTreeMap::new();
    for directory in FROM {
        for entry in fs::read_dir(tools::root().join(directory))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".md") {
                let text = fs::read_to_string(entry.path())?;
                pages.insert(format!("{directory}{name}"), text);
            }
        }
    }
    Ok(pages)
}

fn mdbook() -> Result<std::path::PathBuf> {
    let tools_directory = tools::target_directory().join("tools");
    let program = tools_directory.join("bin/mdbook");
    let there = tools::output(tools::program_at_root(&program).arg("--version"));
    if there.is_some_and(|version| version.ends_with(MDBOOK)) {
        return Ok(program);
    }
    let mut cargo = tools::cargo();
    cargo
        .env("CARGO_TARGET_DIR", tools_directory.join("build"))
        .args(["install", "mdbook", "--locked", "--version", MDBOOK])
        .args(["--no-default-features", "--features", "search", "--root"])
        .arg(&tools_directory);
    tools::run(&mut cargo).context("mdBook could not be installed")?;
    Ok(program)
}

/// The addresses on the web that do not answer.
fn unreachable(pages: &BTreeMap<String, String>) -> Vec<String> {
    let mut problems = Vec::new();
    for (address, page) in links::external(pages) {
        let mut curl = tools::program_at_root("curl");
        curl.args(["--silent", "--fail", "--location", "--max-time", "20"]);
        if !tools::works(curl.args(["--output", "/dev/null", &address])) {
            problems.push(format!("{page}: {address} does not answer"));
        }
    }
    problems
}

/// Copies the pages, and the files that they link to, below a directory.
fn copy_to(source: &Path, pages: &BTreeMap<String, String>) -> Result<()> {
    let files = links::files(pages);
    for path in pages.keys().chain(&files) {
        let from = tools::root().join(path);
        let to = source.join(path);
        if from.is_file() {
            fs::create_dir_all(to.parent().unwrap_or(source))?;
            fs::copy(from, to)?;
        }
    }
    Ok(())
}
