//! The site itself: laid out, built, and its pages looked through for links
//! that mdBook has made to nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::{SUMMARY, copy_to};
use crate::tools;

const BOOK: &str = r#"[book]
title = "Innkeeper"
language = "en"

[output.html]
smart-punctuation = false
default-theme = "light"
preferred-dark-theme = "navy"
print.enable = false
"#;

pub(super) fn directory() -> PathBuf {
    tools::target_directory().join("site")
}

/// Builds the site, and says what its pages lack.
pub(super) fn build(pages: &BTreeMap<String, String>, mdbook: &Path) -> Result<Vec<String>> {
    let directory = directory();
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    let source = directory.join("src");
    copy_to(&source, pages)?;
    let summary = pages.get(SUMMARY).context("there is no docs/SUMMARY.md")?;
    fs::remove_file(source.join(SUMMARY))?;
    fs::write(source.join("SUMMARY.md"), from_root(summary))?;
    fs::write(directory.join("book.toml"), BOOK)?;
    tools::run(tools::program_at_root(mdbook).arg("build").arg(&directory))?;
    let book = directory.join("book");
    let mut files = BTreeMap::new();
    read(&book, "", &mut files)?;
    Ok(dangling(&files))
}

/// The table of contents is written for `docs/`; mdBook has it in the root.
fn from_root(summary: &str) -> String {
    summary.replace("](", "](docs/").replace("](docs/../", "](")
}

/// Pages with their texts; other files with none.
fn read(directory: &Path, prefix: &str, files: &mut BTreeMap<String, String>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read(&entry.path(), &format!("{path}/"), files)?;
        } else {
            let text = match path.ends_with(".html") {
                true => fs::read_to_string(entry.path())?,
                false => String::new(),
            };
            files.insert(path, text);
        }
    }
    Ok(())
}

/// Links of the site that lead to no file, or to no heading of one.
fn dangling(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut problems = BTreeSet::new();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".html")) {
        // These are shown in the place of others, or under any address.
        if ["toc.html", "404.html"].contains(&path.as_str()) {
            continue;
        }
        for link in attributes(text, "href").chain(attributes(text, "src")) {
            if link.contains(':') || link.starts_with("//") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let file = file.split('?').next().unwrap_or(file);
            let target = match file {
                "" => path.clone(),
                file => relative(path, file),
            };
            let found = files.get(&target);
            let has =
                |text: &String| anchor.is_empty() || attributes(text, "id").any(|id| id == anchor);
            if !found.is_some_and(has) {
                problems.insert(format!("the site's {path}: `{link}` leads nowhere"));
            }
        }
    }
    problems.into_iter().collect()
}

fn attributes<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let start = format!(" {name}=\"");
    let mut rest = text;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once(start.as_str())?;
        let (value, after) = after.split_once('"')?;
        rest = after;
        Some(value)
    })
}

fn relative(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_contents_is_moved_to_the_root() {
        let moved = from_root("[I](../README.md)\n- [A](a.md)");
        assert_eq!(moved, "[I](README.md)\n- [A](docs/a.md)");
    }

    #[test]
    fn links_of_the_site_lead_to_files_and_headings() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let page =
            r##"<a href="../b.html#x"> <a href="../b.html#y"> <img src="a.png"> <a href="#top">"##;
        let files = [file("docs/a.html", page), file("b.html", r#"<h1 id="x">"#)];
        let problems = dangling(&files.into_iter().collect());
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems.iter().any(|problem| problem.contains("b.html#y")));
    }
}
