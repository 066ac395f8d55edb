//! The links of pages: whether they lead to a file, and to a heading of it.
//! Nothing here touches the disk.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::SUMMARY;

/// What is wrong with the links of these pages, which are named by their paths
/// from the root; `exists` knows of other files.
pub(crate) fn problems(
    pages: &BTreeMap<String, String>,
    exists: impl Fn(&str) -> bool,
) -> Vec<String> {
    let headings: HashMap<&str, BTreeSet<String>> = pages
        .iter()
        .map(|(path, text)| (path.as_str(), anchors(text)))
        .collect();
    let mut problems = Vec::new();
    for (path, text) in pages {
        for (line, link) in links(text) {
            if is_external(&link) {
                continue;
            }
            let (file, anchor) = match link.split_once('#') {
                Some((file, anchor)) => (file, Some(anchor)),
                None => (link.as_str(), None),
            };
            let file = match file {
                "" => Some(path.clone()),
                file => joined(path, file),
            };
            let complaint = match (file, anchor) {
                (None, _) => Some("leads out of the repository"),
                (Some(file), anchor) => match (headings.get(file.as_str()), anchor) {
                    (None, _) if !exists(&file) => Some("leads nowhere"),
                    (Some(known), Some(anchor)) if !known.contains(anchor) => {
                        Some("names a heading that is not there")
                    }
                    (None | Some(_), _) => None,
                },
            };
            if let Some(complaint) = complaint {
                problems.push(format!("{path}:{line}: `{link}` {complaint}"));
            }
        }
    }
    problems.extend(unlisted(pages));
    problems
}

/// Pages of `docs/` that the table of contents does not name.
fn unlisted(pages: &BTreeMap<String, String>) -> Vec<String> {
    let Some(summary) = pages.get(SUMMARY) else {
        return Vec::new();
    };
    let listed: BTreeSet<String> = links(summary)
        .filter_map(|(_, link)| joined(SUMMARY, &link))
        .collect();
    let of_docs = pages.keys().filter(|path| path.starts_with("docs/"));
    of_docs
        .filter(|path| *path != SUMMARY && !listed.contains(*path))
        .map(|path| format!("{SUMMARY}: does not name {path}"))
        .collect()
}

/// The files of the repository that pages link to, other than pages.
pub(super) fn files(pages: &BTreeMap<String, String>) -> BTreeSet<String> {
    let of_page = |(path, text): (&String, &String)| {
        let linked = links(text).filter(|(_, link)| !is_external(link));
        let linked = linked.filter_map(|(_, link)| joined(path, link.split('#').next()?));
        linked.collect::<Vec<_>>()
    };
    let linked = pages.iter().flat_map(of_page);
    linked.filter(|path| !path.ends_with(".md")).collect()
}

/// The addresses on the web, each with a page that names it.
pub(super) fn external(pages: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let of_page = |(path, text): (&String, &String)| {
        let links = links(text).filter(|(_, link)| link.starts_with("http"));
        let named: Vec<_> = links.map(|(_, link)| (link, path.clone())).collect();
        named
    };
    pages.iter().flat_map(of_page).collect()
}

fn is_external(link: &str) -> bool {
    ["http://", "https://", "mailto:"]
        .iter()
        .any(|start| link.starts_with(start))
}

/// The path that a link of a page means, if it stays in the repository.
fn joined(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The lines that are text, with their numbers: not those of examples.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let is_fence = line.trim_start().starts_with("```");
        fenced ^= is_fence;
        (!fenced && !is_fence).then_some((index + 1, line))
    })
}

/// The targets of `[text](target)` and `src="target"`, with their lines.
fn links(text: &str) -> impl Iterator<Item = (usize, String)> {
    prose(text).flat_map(|(number, line)| {
        let line = without_code(line);
        let mut found = Vec::new();
        for (start, end) in [("](", ')'), ("src=\"", '"')] {
            for (at, _) in line.match_indices(start) {
                let rest = &line[at + start.len()..];
                if let Some(end) = rest.find(end) {
                    found.push((number, rest[..end].to_owned()));
                }
            }
        }
        found
    })
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The names by which headings can be linked: as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        ((1..=6).contains(&level) && title.starts_with(' ')).then_some(title.trim())
    });
    headings
        .map(|title| {
            let anchor = anchor(title);
            let count = seen.entry(anchor.clone()).or_default();
            *count += 1;
            match *count {
                1 => anchor,
                many => format!("{anchor}-{}", many - 1),
            }
        })
        .collect()
}

fn anchor(title: &str) -> String {
    let mut anchor = String::new();
    for c in title.chars() {
        match c {
            ' ' => anchor.push('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => anchor.extend(c.to_lowercase()),
            _ => {}
        }
    }
    anchor
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pages: &[(&str, &str)], expected: &[&str]) {
        let pages = pages
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        let found = problems(&pages, |path| path == "docs/images/a.png");
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn a_link_leads_to_a_file_and_a_heading() {
        let b = (
            "docs/b.md",
            "# The `serve` command: 1, 2\n## Same\n## Same\n",
        );
        let good = "[x](b.md) [x](b.md#the-serve-command-1-2) [x](#here) [x](./b.md#same-1)\n\
                    ![x](images/a.png) [x](https://x.example) [x](../README.md)\n# Here\n";
        check(
            &[("docs/a.md", good), b, ("README.md", "[b](docs/b.md#same)")],
            &[],
        );
        let bad = "[x](c.md)\n[x](b.md#other) <img src=\"images/b.png\">\n[x](../../x.md) [x](#no)";
        check(
            &[("docs/a.md", bad), b],
            &[
                "docs/a.md:1: `c.md` leads nowhere",
                "docs/a.md:2: `b.md#other` names a heading",
                "docs/a.md:2: `images/b.png` leads nowhere",
                "docs/a.md:3: `../../x.md` leads out",
                "docs/a.md:3: `#no` names a heading",
            ],
        );
    }

    #[test]
    fn examples_have_neither_links_nor_headings() {
        let page =
            "```\n[x](nowhere.md)\n# Not a heading\n```\n`[x](nowhere.md)` [x](#not-a-heading)";
        check(&[("docs/a.md", page)], &["#not-a-heading"]);
    }

    #[test]
    fn files_that_pages_link_to_go_with_them() {
        let text = "[a](../crates/a.rs#L1) [b](b.md) [c](https://x.example) ![d](images/d.png)";
        let pages = [("docs/a.md".to_owned(), text.to_owned())];
        let files: Vec<String> = files(&pages.into_iter().collect()).into_iter().collect();
        assert_eq!(files, ["crates/a.rs", "docs/images/d.png"]);
    }

    #[test]
    fn the_table_of_contents_names_every_page() {
        let pages = [
            (SUMMARY, "- [A](a.md)"),
            ("docs/a.md", ""),
            ("docs/b.md", ""),
        ];
        check(&pages, &["does not name docs/b.md"]);
    }
}
