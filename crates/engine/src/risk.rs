//! What is risky about a call that somebody is asked to approve, by simple rules:
//! whether it deletes, uses the network, or touches files outside the session's
//! directories. The rules read what the call says of itself; where none applies,
//! nothing is said, which does not mean that the call is harmless.

mod shell;

use innkeeper_protocol::agent::runs_command;
use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::newest::common::{JsonObject, StringOrMarkdown};
use innkeeper_protocol::newest::state::{
    FileEdit, ToolCallRiskAssessment, ToolCallRiskAssessmentCompleteState,
    ToolCallRiskAssessmentKind,
};
use serde_json::Value;

use crate::core::changeset_uri::percent_decoded;
use crate::labels::{Locale, RiskLabel};
use shell::Invocation;

/// How many programs or files are named.
const MOST_NAMED: usize = 3;
/// How much of a name is shown.
const MOST_NAME_BYTES: usize = 80;
/// How many fields of an input are looked at.
const MOST_FIELDS: usize = 1_000;

/// What is known of a call.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) meta: Option<&'a JsonObject>,
    /// A command line, or what the tool takes as JSON.
    pub(crate) input: Option<&'a str>,
    pub(crate) edits: &'a [FileEdit],
    /// Those of the session, as URIs; the first one is where commands run.
    pub(crate) directories: &'a [String],
}

/// What was found, by kind.
#[derive(Debug, Default)]
struct Risks {
    deletes: Vec<String>,
    outside: Vec<String>,
    network: Vec<String>,
}

pub(crate) fn assess(call: &Call<'_>, locale: Locale) -> Option<ToolCallRiskAssessment> {
    let risks = risks_of(call);
    let found = [
        (RiskLabel::Deletes, risks.deletes, 0.2),
        (RiskLabel::Outside, risks.outside, 0.4),
        (RiskLabel::Network, risks.network, 0.5),
    ];
    let found: Vec<_> = found.into_iter().filter(|it| !it.1.is_empty()).collect();
    let worst = found
        .iter()
        .map(|(_, _, safety)| *safety)
        .reduce(f64::min)?;
    let reasons = found.iter().map(|(label, names, _)| {
        let names: Vec<String> = names.iter().take(MOST_NAMED).map(|it| shown(it)).collect();
        label.text(&names.join(", "), locale)
    });
    let reason = reasons.collect::<Vec<_>>().join(" ");
    let several = found.len() > 1;
    Some(ToolCallRiskAssessment::Complete(
        ToolCallRiskAssessmentCompleteState {
            kind: ToolCallRiskAssessmentKind::Judge,
            reason: StringOrMarkdown::Plain(reason),
            safety: if several { worst / 2.0 } else { worst },
        },
    ))
}

fn risks_of(call: &Call<'_>) -> Risks {
    let mut risks = Risks::default();
    let place = Place::of(call.directories);
    let meta = |name: &str| call.meta.and_then(|meta| meta.get(name));
    let kind = meta("kind").and_then(Value::as_str).unwrap_or_default();
    let is_command = call.meta.is_some_and(runs_command);
    let input = call.input.map(serde_json::from_str::<Value>);
    match (call.input, input) {
        (Some(line), _) if is_command => of_command(line, &place, &mut risks),
        (_, Some(Ok(input))) => of_input(&input, &place, &mut risks),
        _ => {}
    }
    let located = meta("locations").and_then(Value::as_array);
    for path in located
        .into_iter()
        .flatten()
        .filter_map(|it| it["path"].as_str())
    {
        place.note(path, &mut risks);
        if kind == "delete" {
            add(&mut risks.deletes, path);
        }
    }
    for edit in call.edits {
        let sides = [&edit.before, &edit.after].into_iter().flatten();
        for side in sides {
            if let Some(path) = path_of(&side.uri) {
                place.note(&path, &mut risks);
            }
        }
        if let (Some(gone), None) = (&edit.before, &edit.after) {
            add(&mut risks.deletes, &path_of(&gone.uri).unwrap_or_default());
        }
    }
    match kind {
        "delete" if risks.deletes.is_empty() => add(&mut risks.deletes, kind),
        "fetch" if risks.network.is_empty() => add(&mut risks.network, kind),
        _ => {}
    }
    risks
}

fn of_command(line: &str, place: &Place, risks: &mut Risks) {
    for invocation in shell::invocations(line) {
        if let Some(name) = deletes(&invocation) {
            add(&mut risks.deletes, &name);
        }
        if let Some(name) = uses_network(&invocation) {
            add(&mut risks.network, &name);
        }
        for word in &invocation.arguments {
            // `--output=/etc/x` is about a file too.
            let value = word
                .split_once('=')
                .map_or(word.as_str(), |(_, value)| value);
            match value.contains("://") {
                true => {}
                false => place.note(value, risks),
            }
        }
    }
}

/// Fields that name files or addresses, wherever they stand.
fn of_input(input: &Value, place: &Place, risks: &mut Risks) {
    let mut waiting = vec![(String::new(), input)];
    let mut left = MOST_FIELDS;
    while let Some((name, value)) = waiting.pop() {
        let Some(fewer) = left.checked_sub(1) else {
            return;
        };
        left = fewer;
        match value {
            Value::Object(fields) => {
                let fields = fields.iter().take(MOST_FIELDS);
                waiting.extend(fields.map(|(name, value)| (name.to_ascii_lowercase(), value)));
            }
            Value::Array(items) => {
                let items = items.iter().take(MOST_FIELDS);
                waiting.extend(items.map(|value| (name.clone(), value)));
            }
            Value::String(text) if is_address(text) => add(&mut risks.network, text),
            Value::String(text) if ["command", "cmd", "script"].contains(&name.as_str()) => {
                of_command(text, place, risks);
            }
            Value::String(text)
                if ["path", "file", "dir", "cwd"]
                    .iter()
                    .any(|it| name.contains(it)) =>
            {
                place.note(text, risks);
            }
            _ => {}
        }
    }
}

fn is_address(text: &str) -> bool {
    ["http://", "https://", "ws://", "wss://", "ftp://", "ssh://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
}

/// What a program deletes or overwrites for good, by its name and its first
/// argument that is not an option.
fn deletes(invocation: &Invocation) -> Option<String> {
    let has = |word: &str| invocation.arguments.iter().any(|it| it == word);
    let name = invocation.program.as_str();
    let sub = subcommand(invocation);
    let is_risky = match name {
        "rm" | "rmdir" | "unlink" | "shred" | "srm" | "truncate" | "dd" | "wipefs" => true,
        "find" => has("-delete"),
        "git" => match sub {
            "clean" => true,
            "reset" => has("--hard"),
            "checkout" | "restore" => has("--") || has("."),
            "branch" | "tag" => has("-D") || has("-d") || has("--delete"),
            "stash" => has("drop") || has("clear"),
            "push" => has("--force") || has("-f") || has("--delete"),
            "rm" => true,
            _ => false,
        },
        "docker" | "podman" | "kubectl" => ["rm", "rmi", "delete", "prune"].contains(&sub),
        _ => name.starts_with("mkfs"),
    };
    is_risky.then(|| named(name, sub))
}

fn uses_network(invocation: &Invocation) -> Option<String> {
    let name = invocation.program.as_str();
    let sub = subcommand(invocation);
    let installs = || {
        [
            "install", "i", "add", "ci", "update", "upgrade", "publish", "get", "fetch",
            "download", "sync",
        ]
        .contains(&sub)
    };
    let uses = match name {
        "curl" | "wget" | "ssh" | "scp" | "sftp" | "ftp" | "telnet" | "nc" | "ncat" | "netcat"
        | "rsync" | "aria2c" | "http" | "https" | "gh" | "glab" | "aws" | "gcloud" | "az"
        | "kubectl" | "npx" | "bunx" | "uvx" | "ping" | "dig" | "nslookup" => true,
        "git" => [
            "push",
            "pull",
            "fetch",
            "clone",
            "ls-remote",
            "submodule",
            "remote",
        ]
        .contains(&sub),
        "npm" | "pnpm" | "yarn" | "bun" | "pip" | "pip3" | "pipx" | "uv" | "poetry" | "cargo"
        | "go" | "gem" | "bundle" | "composer" | "apt" | "apt-get" | "dnf" | "yum" | "apk"
        | "brew" | "zypper" => installs(),
        "docker" | "podman" => ["pull", "push", "run", "build", "login"].contains(&sub),
        _ => false,
    };
    let address = || invocation.arguments.iter().find(|word| is_address(word));
    match uses {
        true => Some(named(name, sub)),
        false => address().cloned(),
    }
}

fn subcommand(invocation: &Invocation) -> &str {
    let mut words = invocation.arguments.iter();
    words
        .find(|word| !word.starts_with('-'))
        .map_or("", |word| word)
}

/// A program as people say it: with what it does, if it does many things.
fn named(program: &str, sub: &str) -> String {
    let does_many = ["git", "docker", "podman", "npm", "cargo", "pip", "kubectl"];
    match does_many.contains(&program) && !sub.is_empty() {
        true => format!("{program} {sub}"),
        false => program.to_owned(),
    }
}

/// Where a session works.
#[derive(Debug)]
struct Place {
    directories: Vec<Vec<String>>,
}

impl Place {
    fn of(directories: &[String]) -> Self {
        let paths = directories.iter().filter_map(|uri| path_of(uri));
        Self {
            directories: paths.map(|path| parts_of(&[], &path)).collect(),
        }
    }

    /// Notes a file that is outside. What is not a path is not a file.
    fn note(&self, path: &str, risks: &mut Risks) {
        let Some(first) = self.directories.first() else {
            return;
        };
        let is_path = path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..");
        if !is_path || path.starts_with("/dev/") {
            return;
        }
        let is_home = path.starts_with('~');
        let base: &[String] = if path.starts_with('/') { &[] } else { first };
        let parts = parts_of(base, path);
        let is_inside = |directory: &Vec<String>| parts.starts_with(directory);
        if is_home || !self.directories.iter().any(is_inside) {
            add(&mut risks.outside, path);
        }
    }
}

/// The parts of a path, without `.` and `..`.
fn parts_of(base: &[String], path: &str) -> Vec<String> {
    let mut parts = base.to_vec();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part.to_owned()),
        }
    }
    parts
}

fn path_of(uri: &str) -> Option<String> {
    uri.strip_prefix("file://").map(percent_decoded)
}

fn add(names: &mut Vec<String>, name: &str) {
    if names.len() < MOST_NAMED && !names.iter().any(|it| it == name) {
        names.push(name.to_owned());
    }
}

/// A name that hides nothing: without control characters, and not too long.
fn shown(name: &str) -> String {
    let plain = |letter: char| match letter.is_control() {
        true => '\u{fffd}',
        false => letter,
    };
    let short = cut(name, MOST_NAME_BYTES);
    let rest = if short.len() < name.len() { "…" } else { "" };
    format!("{}{rest}", short.chars().map(plain).collect::<String>())
}

#[cfg(test)]
mod tests;
