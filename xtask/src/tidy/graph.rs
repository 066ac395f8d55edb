//! The order of a crate's modules: each names only what stands below it.
//!
//! The order is a list in the documentation of `lib.rs`, under the heading
//! `# The modules`, from the ground up. What the list does not name, and
//! `lib.rs` itself, is the *wiring*: it stands above all modules of the list
//! and may name everything. The graph is derived from the source, by what
//! `mentions` finds there, and ARCHITECTURE.md shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::SourceFile;
use super::mentions::{imports, mentions, own_impls};

/// A crate whose modules have an order.
pub(super) struct OrderedCrate {
    /// What it is called in sentences and in the comment before its graph.
    pub(super) name: &'static str,
    /// The directory of its source, from the root of the tree.
    pub(super) source: &'static str,
    /// The type that holds everything together, whose methods are the wiring.
    pub(super) hub: &'static str,
}

/// What is to be said about the modules of a crate.
pub(super) struct Report {
    /// The graph and the figures that show how far the wiring has been undone.
    pub(super) summary: String,
    pub(super) problems: Vec<String>,
}

/// The page that shows the graph.
const PAGE: &str = "ARCHITECTURE.md";
const HEADING: &str = "# The modules";
const FENCE: &str = "```";
/// The root of a crate, as a node of the graph.
const ROOT: &str = "lib.rs";

pub(super) fn report(of: &OrderedCrate, files: &[SourceFile]) -> Report {
    let sources = Sources::of(of, files);
    let order = listed_modules(sources.root);
    let edges = sources.edges();
    let mut problems = problems_of_list(of, &order, &sources);
    problems.extend(upward(&order, &edges));
    problems.extend(misplaced_impls(of, &order, &sources));
    let graph = drawn(&order, &edges);
    let page = files.iter().find(|file| file.path == PAGE);
    problems.extend(outdated(of, &graph, page.map_or("", |page| &page.text)));
    let mut summary = format!("{}, from the top down:\n", of.source);
    for line in graph.lines() {
        let _ = writeln!(summary, "  {line}");
    }
    summary.push_str(&figures(of, &order, &sources, &edges));
    Report { summary, problems }
}

/// The source of a crate, module by module.
struct Sources<'a> {
    root: &'a str,
    /// The files of each module that stands directly below the root.
    modules: BTreeMap<&'a str, Vec<Source<'a>>>,
    /// Where the names in the root come from.
    imports: BTreeMap<String, String>,
}

struct Source<'a> {
    file: &'a SourceFile,
    /// Its path from the directory of the source.
    path: &'a str,
}

impl<'a> Sources<'a> {
    fn of(of: &OrderedCrate, files: &'a [SourceFile]) -> Self {
        let mut root = "";
        let mut modules: BTreeMap<&str, Vec<Source>> = BTreeMap::new();
        for file in files {
            let path = file.path.strip_prefix(of.source);
            let path = path.and_then(|path| path.strip_prefix('/'));
            let Some(path) = path.filter(|path| path.ends_with(".rs")) else {
                continue;
            };
            match module_of(path) {
                Some(module) => modules
                    .entry(module)
                    .or_default()
                    .push(Source { file, path }),
                None => root = &file.text,
            }
        }
        Self {
            root,
            modules,
            imports: imports(root),
        }
    }

    /// The module, or [`ROOT`], that a name in the root of the crate leads to.
    fn resolve(&self, name: &str) -> &str {
        let imported = self.imports.get(name).map(String::as_str);
        let module = |name| self.modules.get_key_value(name).map(|(name, _)| *name);
        let found = module(name).or_else(|| module(imported?));
        found.unwrap_or(ROOT)
    }

    /// Everything that modules name of others.
    fn edges(&self) -> Vec<Edge<'_>> {
        let mut edges = Vec::new();
        for (from, sources) in &self.modules {
            for source in sources {
                for mention in mentions(source.path, &source.file.text) {
                    let to = self.resolve(&mention.name);
                    if to != *from {
                        edges.push(Edge {
                            from,
                            to,
                            place: format!("{}:{}", source.file.path, mention.line),
                            name: mention.name,
                        });
                    }
                }
            }
        }
        edges
    }
}

/// A module names another.
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    /// File and line.
    place: String,
    /// What it named there.
    name: String,
}

/// The module below the root that a file belongs to; the root has none.
fn module_of(path: &str) -> Option<&str> {
    let first = path.split('/').next().unwrap_or(path);
    match first.trim_end_matches(".rs") {
        "lib" | "main" => None,
        module => Some(module),
    }
}

/// A module as the list in `lib.rs` names it.
#[derive(Debug, PartialEq, Eq)]
struct Listed<'a> {
    name: &'a str,
    line: usize,
}

/// The list in the documentation of the root, from the ground up: of each item
/// the first word in backticks. Items within items are explanations.
fn listed_modules(root: &str) -> Vec<Listed<'_>> {
    root.lines()
        .enumerate()
        .map_while(|(index, line)| Some((index + 1, line.strip_prefix("//!")?)))
        .map(|(line, text)| (line, text.strip_prefix(' ').unwrap_or(text)))
        .skip_while(|(_, text)| text.trim_end() != HEADING)
        .skip(1)
        .take_while(|(_, text)| !text.starts_with('#'))
        .filter(|(_, text)| is_item(text))
        .filter_map(|(line, text)| {
            let name = text.split('`').nth(1)?;
            Some(Listed { name, line })
        })
        .collect()
}

/// Whether a line of Markdown begins with `1. ` or `- `.
fn is_item(line: &str) -> bool {
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = numbered.len() < line.len() && numbered.starts_with(". ");
    is_numbered || line.starts_with("- ")
}

fn problems_of_list(of: &OrderedCrate, order: &[Listed], sources: &Sources) -> Vec<String> {
    let mut problems = Vec::new();
    let mut seen = BTreeSet::new();
    for Listed { name, line } in order {
        let place = format!("{}/lib.rs:{line}", of.source);
        if !sources.modules.contains_key(name) {
            problems.push(format!(
                "{place}: lists the module `{name}`, which does not exist: take it off the list, or list it under its new name"
            ));
        }
        if !seen.insert(name) {
            problems.push(format!(
                "{place}: lists the module `{name}` a second time: a module has one place"
            ));
        }
    }
    problems
}

/// Where a module stands in the list; the wiring, above all, has no place.
fn place_of(order: &[Listed], module: &str) -> Option<usize> {
    order.iter().position(|listed| listed.name == module)
}

fn is_upward(order: &[Listed], edge: &Edge) -> bool {
    match (place_of(order, edge.from), place_of(order, edge.to)) {
        (Some(from), Some(to)) => to > from,
        (from, None) => from.is_some(),
        (None, Some(_)) => false,
    }
}

fn upward(order: &[Listed], edges: &[Edge]) -> Vec<String> {
    let problem = |edge: &Edge| {
        let Edge {
            from,
            to,
            place,
            name,
        } = edge;
        let where_it_is = match place_of(order, to) {
            Some(_) => format!("is in `{to}`, which stands above `{from}`"),
            None => format!("is in the wiring (`{to}`), above `{from}`"),
        };
        format!(
            "{place}: `crate::{name}` {where_it_is}: return what must go up as a value, or move what both need below both"
        )
    };
    let edges = edges.iter().filter(|edge| is_upward(order, edge));
    edges.map(problem).collect()
}

fn misplaced_impls(of: &OrderedCrate, order: &[Listed], sources: &Sources) -> Vec<String> {
    let mut problems = Vec::new();
    for Listed { name, .. } in order {
        for source in sources.modules.get(name).into_iter().flatten() {
            for (line, _) in own_impls(&source.file.text, of.hub) {
                problems.push(format!(
                    "{}:{line}: `impl {}` belongs to the wiring, and `{name}` is in the list of lib.rs: make it methods of a type of `{name}`, or functions that take what they need",
                    source.file.path, of.hub,
                ));
            }
        }
    }
    problems
}

/// The graph as text, the top first. An edge upwards is left out: it has to go.
fn drawn(order: &[Listed], edges: &[Edge]) -> String {
    let mut graph = String::new();
    for (place, Listed { name, .. }) in order.iter().enumerate().rev() {
        let names = |below: &&Listed| {
            let mut edges = edges.iter();
            edges.any(|edge| edge.from == *name && edge.to == below.name)
        };
        let below = order[..place].iter().rev().filter(names);
        let below: Vec<&str> = below.map(|listed| listed.name).collect();
        let _ = match below.is_empty() {
            true => writeln!(graph, "{name}"),
            false => writeln!(graph, "{name} → {}", below.join(", ")),
        };
    }
    graph
}

/// What is wrong with the graph that the page shows.
fn outdated(of: &OrderedCrate, graph: &str, page: &str) -> Option<String> {
    let marker = format!(
        "<!-- {}'s modules: cargo xtask tidy prints this graph -->",
        of.name
    );
    let block = format!("{marker}\n{FENCE}\n{graph}{FENCE}");
    match shown(page, &marker) {
        None if graph.is_empty() => None,
        None => Some(format!(
            "{PAGE}: does not show the graph of {}'s modules; add this:\n{block}",
            of.name
        )),
        Some((_, lines)) if lines.iter().copied().eq(graph.lines()) => None,
        Some((line, _)) => Some(format!(
            "{PAGE}:{line}: the graph of {}'s modules is not that of the source; replace it by this:\n{block}",
            of.name
        )),
    }
}

/// The line of the marker, and what the fenced block behind it shows.
fn shown<'a>(page: &'a str, marker: &str) -> Option<(usize, Vec<&'a str>)> {
    let mut lines = page.lines().enumerate();
    let (at, _) = lines.find(|(_, line)| line.trim_end() == marker)?;
    let mut lines = lines
        .map(|(_, line)| line)
        .skip_while(|line| line.is_empty());
    let is_fenced = lines.next().is_some_and(|line| line.starts_with(FENCE));
    let block = lines.take_while(|line| is_fenced && !line.starts_with(FENCE));
    Some((at + 1, block.collect()))
}

/// What is left to put in order.
fn figures(of: &OrderedCrate, order: &[Listed], sources: &Sources, edges: &[Edge]) -> String {
    let all: Vec<&str> = sources.modules.keys().copied().collect();
    let is_wiring = |module: &&&str| place_of(order, module).is_none();
    let wiring = all.iter().filter(is_wiring).count();
    let mut files: Vec<(&str, usize)> = Vec::new();
    let in_modules = sources.modules.values().flatten();
    let in_modules = in_modules.map(|source| (source.path, source.file.text.as_str()));
    for (path, text) in [(ROOT, sources.root)].into_iter().chain(in_modules) {
        let impls = own_impls(text, of.hub);
        if !impls.is_empty() {
            files.push((path, impls.iter().map(|(_, methods)| methods).sum()));
        }
    }
    let methods: usize = files.iter().map(|(_, methods)| methods).sum();
    let names: Vec<String> = files
        .iter()
        .map(|(path, count)| format!("{path} {count}"))
        .collect();
    let cycle = largest_cycle(&all, edges);
    let mut text = format!(
        "  above them the wiring: lib.rs and {wiring} of {} modules\n",
        all.len()
    );
    let _ = writeln!(
        text,
        "  `impl {}`: {methods} methods in {} files: {}",
        of.hub,
        files.len(),
        names.join(", ")
    );
    let _ = match cycle.len() {
        0 => writeln!(text, "  no cycle among {} modules", all.len()),
        size => writeln!(
            text,
            "  largest cycle: {size} of {} modules: {}",
            all.len(),
            cycle.join(", ")
        ),
    };
    text
}

/// The largest set of modules that all lead to each other by what they name.
/// The root is left out: it holds all modules together, and most name it.
fn largest_cycle<'a>(modules: &[&'a str], edges: &[Edge]) -> Vec<&'a str> {
    let mut named: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for edge in edges.iter().filter(|edge| edge.to != ROOT) {
        named.entry(edge.from).or_default().insert(edge.to);
    }
    let reached: BTreeMap<&str, BTreeSet<&str>> = modules
        .iter()
        .map(|module| (*module, reached_from(module, &named)))
        .collect();
    let leads = |from: &str, to: &str| reached[from].contains(to);
    let cycle_of = |one: &&str| -> Vec<&'a str> {
        let others = modules.iter().copied();
        let others = others.filter(|other| leads(one, other) && leads(other, one));
        others.collect()
    };
    let cycles = modules.iter().map(cycle_of);
    cycles.max_by_key(Vec::len).unwrap_or_default()
}

fn reached_from<'a>(module: &str, named: &BTreeMap<&str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut ahead: Vec<&str> = vec![module];
    while let Some(module) = ahead.pop() {
        for next in named.get(module).into_iter().flatten() {
            if reached.insert(*next) {
                ahead.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests;
