//! The licences of everything that is in the binary: crates, what they bring
//! of C, and the packages of the web client, each with the texts that its
//! authors ship. Where they ship none, the standard text of the licence that
//! they state.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::tools;

/// How names of files with licences begin.
const STARTS: [&str; 6] = [
    "licen",
    "copying",
    "notice",
    "unlicense",
    "copyright",
    "ofl",
];

/// How deep they are looked for: C sources are in a directory of their crate.
const DEPTH: usize = 2;

/// No text of a licence is longer.
const LONGEST: u64 = 200_000;

struct Part {
    /// Name and version.
    name: String,
    licence: String,
    texts: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: String,
    /// Where it comes from; nothing for those of the workspace.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<NodeDependency>,
}

#[derive(Deserialize)]
struct NodeDependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// Nothing for what is linked.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct LockFile {
    packages: BTreeMap<String, LockedPackage>,
}

#[derive(Deserialize)]
struct LockedPackage {
    version: Option<String>,
    license: Option<String>,
    #[serde(default)]
    dev: bool,
    #[serde(default)]
    optional: bool,
}

pub(super) fn collect() -> Result<String> {
    let mut parts = crates()?;
    parts.extend(web_packages()?);
    Ok(document(parts))
}

fn crates() -> Result<Vec<Part>> {
    let mut cargo = tools::cargo();
    cargo.args(["metadata", "--format-version", "1", "--locked"]);
    cargo.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
    let metadata = tools::output_or_reason(&mut cargo)?;
    let metadata: Metadata = serde_json::from_str(&metadata)?;
    let linked = linked(&metadata, "innkeeper")?;
    let foreign = metadata.packages.iter();
    let foreign =
        foreign.filter(|package| package.source.is_some() && linked.contains(&package.id));
    foreign
        .map(|package| {
            let directory = Path::new(&package.manifest_path).parent();
            let directory = directory.context("a manifest is in no directory")?;
            part(
                format!("{} {}", package.name, package.version),
                package.license.as_deref(),
                directory,
            )
        })
        .collect()
}

/// The packages that are linked into one of the workspace.
fn linked(metadata: &Metadata, name: &str) -> Result<BTreeSet<String>> {
    let ours = |package: &&Package| package.source.is_none() && package.name == name;
    let root = metadata.packages.iter().find(ours);
    let root = root.with_context(|| format!("there is no package {name}"))?;
    let nodes: HashMap<&str, &Node> = metadata
        .resolve
        .nodes
        .iter()
        .map(|node| (node.id.as_str(), node))
        .collect();
    let mut linked = BTreeSet::new();
    let mut waiting = vec![root.id.as_str()];
    while let Some(id) = waiting.pop() {
        if !linked.insert(id.to_owned()) {
            continue;
        }
        let dependencies = nodes.get(id).map_or(&[][..], |node| &node.deps);
        let is_linked = |dependency: &&NodeDependency| {
            let mut kinds = dependency.dep_kinds.iter();
            kinds.any(|kind| kind.kind.is_none())
        };
        let dependencies = dependencies.iter().filter(is_linked);
        waiting.extend(dependencies.map(|dependency| dependency.pkg.as_str()));
    }
    Ok(linked)
}

/// What the web client bundles, as far as its lock file knows: everything but
/// tools.
fn web_packages() -> Result<Vec<Part>> {
    let web = tools::root().join("web");
    let lock = fs::read_to_string(web.join("package-lock.json"))?;
    let lock: LockFile = serde_json::from_str(&lock)?;
    let mut parts = Vec::new();
    for (path, package) in lock.packages {
        let Some((_, name)) = path.rsplit_once("node_modules/") else {
            continue;
        };
        if package.dev || package.optional {
            continue;
        }
        let name = format!("{name} {}", package.version.unwrap_or_default());
        parts.push(part(name, package.license.as_deref(), &web.join(&path))?);
    }
    Ok(parts)
}

fn part(name: String, licence: Option<&str>, directory: &Path) -> Result<Part> {
    let mut texts = Vec::new();
    find_texts(directory, DEPTH, &mut texts)
        .with_context(|| format!("failed to look for the licence of {name}"))?;
    let licence = licence.unwrap_or("see the text").to_owned();
    if texts.is_empty() {
        texts = standard_texts(&licence);
    }
    if texts.is_empty() {
        bail!(
            "{name} ({licence}) has no text of a licence in {}",
            directory.display()
        );
    }
    Ok(Part {
        name,
        licence,
        texts,
    })
}

fn find_texts(directory: &Path, depth: usize, texts: &mut Vec<String>) -> Result<()> {
    let mut entries = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let kind = entry.file_type()?;
        if kind.is_dir() && depth > 1 && name != "node_modules" {
            find_texts(&entry.path(), depth - 1, texts)?;
            continue;
        }
        let is_code = [".rs", ".js", ".ts", ".json", ".c", ".h", ".py"];
        let is_text = STARTS.iter().any(|start| name.starts_with(start))
            && !is_code.iter().any(|end| name.ends_with(end));
        if is_text && kind.is_file() && entry.metadata()?.len() <= LONGEST {
            let text = String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", "\n");
            texts.push(text.trim_end().to_owned());
        }
    }
    Ok(())
}

/// The texts of all licences that an expression names.
fn standard_texts(expression: &str) -> Vec<String> {
    let Ok(expression) = spdx::Expression::parse_mode(expression, spdx::ParseMode::LAX) else {
        return Vec::new();
    };
    let named = expression
        .requirements()
        .filter_map(|named| named.req.license.id());
    let names: BTreeSet<&str> = named.map(|id| id.name).collect();
    let texts = names.into_iter().filter_map(spdx::license_id);
    texts.map(|id| id.text().trim_end().to_owned()).collect()
}

/// Each text once, with the names of those that it is of.
fn document(mut parts: Vec<Part>) -> String {
    parts.sort_by(|a, b| a.name.cmp(&b.name));
    parts.dedup_by(|a, b| a.name == b.name);
    let mut document = String::from(
        "Innkeeper is built from the following, under the licences named here. Their texts\n\
         follow. SQLite, which is part of libsqlite3-sys, is in the public domain.\n\n",
    );
    let mut texts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for part in &parts {
        document.push_str(&format!("{}: {}\n", part.name, part.licence));
        for text in &part.texts {
            texts.entry(text).or_default().push(&part.name);
        }
    }
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1));
    for (text, names) in texts {
        let line = "-".repeat(80);
        document.push_str(&format!(
            "\n{line}\n{}\n{line}\n\n{text}\n",
            names.join(", ")
        ));
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_linked_counts() {
        let packages = ["inn", "a", "b", "tool", "test"].map(|name| {
            serde_json::json!({
                "id": name, "name": name, "version": "1.0.0", "license": "MIT",
                "manifest_path": "/x/Cargo.toml",
                "source": (name != "inn").then_some("registry"),
            })
        });
        let metadata = serde_json::json!({
            "packages": packages,
            "resolve": {"nodes": [
                {"id": "inn", "deps": [
                    {"pkg": "a", "dep_kinds": [{"kind": null}]},
                    {"pkg": "tool", "dep_kinds": [{"kind": "build"}]},
                    {"pkg": "test", "dep_kinds": [{"kind": "dev"}]},
                ]},
                {"id": "a", "deps": [{"pkg": "b", "dep_kinds": [{"kind": "build"}, {"kind": null}]}]},
                {"id": "b", "deps": [{"pkg": "a", "dep_kinds": [{"kind": null}]}]},
            ]},
        });
        let metadata: Metadata = serde_json::from_value(metadata).unwrap();
        let linked: Vec<String> = linked(&metadata, "inn").unwrap().into_iter().collect();
        assert_eq!(linked, ["a", "b", "inn"]);
    }

    #[test]
    fn a_licence_without_a_text_has_its_standard_text() {
        let texts = standard_texts("MIT OR Apache-2.0");
        assert_eq!(texts.len(), 2);
        assert!(texts[0].contains("Apache License") && texts[1].contains("MERCHANTABILITY"));
        assert!(standard_texts("see the text").is_empty());
    }

    #[test]
    fn a_text_that_several_share_stands_once() {
        let part = |name: &str, text: &str| Part {
            name: name.to_owned(),
            licence: "MIT".to_owned(),
            texts: vec![text.to_owned()],
        };
        let document = document(vec![
            part("b 1", "same"),
            part("a 1", "same"),
            part("c 1", "other"),
        ]);
        assert_eq!(document.matches("\nsame\n").count(), 1);
        assert!(document.contains("\na 1, b 1\n") && document.contains("c 1: MIT\n"));
    }
}
