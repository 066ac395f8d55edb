//! `cargo xtask tidy`: what no other tool checks about the files of the tree,
//! and the licences, which only `cargo deny` checks, where it is installed.
//!
//! The checks of a single file are in `file`, those of the order of modules in
//! `graph`, those of licences in `licences`, those of our own packages in
//! `packages`, those of what users read in `words`; none touches the disk. Here is what
//! concerns the tree as a whole.

mod file;
mod graph;
mod licences;
mod mentions;
mod packages;
mod tokens;
mod words;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::{COMMANDS, docs, tools};
use graph::OrderedCrate;

/// The crates whose modules have an order.
const ORDERED: [OrderedCrate; 1] = [OrderedCrate {
    name: "the engine",
    source: "crates/engine/src",
    hub: "Engine",
}];

/// Directories that hold nothing we wrote.
const NOT_OURS: [&str; 3] = [".git", "target", "node_modules"];

/// Where the web client is built.
const BUILT: &str = "crates/innkeeper/web";

/// Files that programs write.
const GENERATED: [&str; 2] = ["Cargo.lock", "package-lock.json"];

/// What we write and can read.
const TEXT: [&str; 14] = [
    "rs", "toml", "md", "json", "ts", "tsx", "js", "mjs", "css", "html", "yml", "yaml", "sh", "sql",
];

/// A file of ours: its path from the root, with `/`, and its text.
struct SourceFile {
    path: String,
    text: String,
}

pub(crate) fn run() -> Result<()> {
    let mut files = Vec::new();
    collect(&tools::root(), "", &mut files)?;
    for SourceFile { path, text } in &files {
        if let Some(lines) = file::is_long(path, text) {
            println!("{path}: {lines} lines; consider splitting it by idea");
        }
    }
    let mut problems: Vec<String> = files
        .iter()
        .flat_map(|SourceFile { path, text }| {
            let mut problems = file::problems(path, text);
            problems.extend(words::problems(path, text));
            problems
        })
        .collect();
    problems.extend(links(&files));
    problems.extend(unmentioned_commands(&files));
    for ordered in &ORDERED {
        let report = graph::report(ordered, &files);
        print!("{}", report.summary);
        problems.extend(report.problems);
    }
    match metadata() {
        Ok(metadata) => {
            problems.extend(refused_licences(&metadata)?);
            problems.extend(packages::problems(&metadata)?);
        }
        Err(reason) => println!("licences and packages not checked: {reason:#}"),
    }
    for problem in &problems {
        println!("{problem}");
    }
    deny()?;
    match problems.len() {
        0 => {
            println!("tidy: {} files, nothing to say", files.len());
            Ok(())
        }
        count => bail!("tidy found {count} problem(s)"),
    }
}

fn collect(directory: &Path, prefix: &str, files: &mut Vec<SourceFile>) -> Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && !NOT_OURS.contains(&name.as_str()) && path != BUILT {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() && is_ours(&path, &name) {
            let text = fs::read_to_string(entry.path());
            let text = text.with_context(|| format!("failed to read {path}"))?;
            files.push(SourceFile { path, text });
        }
    }
    Ok(())
}

fn is_ours(path: &str, name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let text = extension.is_some_and(|extension| TEXT.contains(&extension));
    (text && !GENERATED.contains(&name)) || path == ".ci/run"
}

/// Links of pages that lead nowhere.
fn links(files: &[SourceFile]) -> Vec<String> {
    let pages = files.iter().filter(is_page);
    let pages = pages.map(|page| (page.path.clone(), page.text.clone()));
    docs::link_problems(&pages.collect(), |path| tools::root().join(path).exists())
}

/// What stands in the root and in `docs/`.
fn is_page(file: &&SourceFile) -> bool {
    let SourceFile { path, .. } = file;
    let name = path.strip_prefix("docs/").unwrap_or(path);
    name.ends_with(".md") && !name.contains('/')
}

/// A command that no page mentions is one that nobody finds.
fn unmentioned_commands(files: &[SourceFile]) -> Vec<String> {
    let pages: Vec<&SourceFile> = files.iter().filter(is_page).collect();
    let mentions = |call: &str| pages.iter().any(|page| page.text.contains(call));
    COMMANDS
        .iter()
        .map(|(name, _, _)| format!("cargo xtask {name}"))
        .filter(|call| !mentions(call))
        .map(|call| format!("README.md: neither it nor docs/ mentions `{call}`"))
        .collect()
}

/// The packages that we depend on and may not use.
fn refused_licences(metadata: &str) -> Result<Vec<String>> {
    let deny = fs::read_to_string(tools::root().join("deny.toml"));
    let deny = deny.context("failed to read deny.toml")?;
    Ok(licences::problems(metadata, &deny))
}

/// The packages that are ours and meant for others.
pub(crate) fn published_packages() -> Result<Vec<String>> {
    packages::published(&metadata()?)
}

/// The workspace and all that it depends on.
fn metadata() -> Result<String> {
    let mut cargo = tools::cargo();
    cargo.args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--all-features",
    ]);
    tools::output_or_reason(&mut cargo)
}

/// The licences once more, with the texts that `tidy` does not read, and what
/// else `deny.toml` says. Not the advisories: they change while the tree does not.
fn deny() -> Result<()> {
    if tools::works(tools::cargo().args(["deny", "--version"])) {
        let checks = ["deny", "check", "licenses", "bans", "sources"];
        return tools::run(tools::cargo().args(checks));
    }
    println!("cargo deny skipped: cargo-deny is not installed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, text: &str) -> SourceFile {
        SourceFile {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_command_has_to_be_mentioned_on_a_page() {
        let calls: Vec<_> = COMMANDS
            .iter()
            .map(|(name, _, _)| format!("cargo xtask {name}"))
            .collect();
        let (first, rest) = calls.split_first().unwrap();
        let files = [
            page("docs/work.md", &rest.join("\n")),
            page("crates/x/notes.md", first),
        ];
        let problems = unmentioned_commands(&files);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains(first));
        let files = [page("README.md", &calls.join("\n"))];
        assert!(unmentioned_commands(&files).is_empty());
    }

    #[test]
    fn generated_files_and_pictures_are_left_alone() {
        assert!(is_ours("xtask/src/main.rs", "main.rs"));
        assert!(is_ours(".ci/run", "run"));
        assert!(!is_ours("web/package-lock.json", "package-lock.json"));
        assert!(!is_ours("docs/a.png", "a.png"));
    }
}
