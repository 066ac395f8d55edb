//! What a repository's own configuration may say to the host: a short list of
//! settings that start nothing and lead nowhere. Everything else is left out,
//! known or not.
//!
//! *Invariant*: pure. What is let through is written anew in [`written`], so
//! that no trick of spelling survives. Included files are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{GitError, GitResult, path_of};

/// One setting, as `git config --list -z` tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    section: String,
    part: Option<Vec<u8>>,
    name: String,
    /// A name alone means yes.
    value: Option<Vec<u8>>,
}

/// What was understood of a repository's configuration.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    kept: Vec<Setting>,
    /// Filters that it would have run.
    pub(super) filters: BTreeSet<Vec<u8>>,
    /// Where it says that its working tree is.
    pub(super) work_tree: Option<PathBuf>,
    pub(super) is_bare: bool,
    /// A linked working tree may have settings of its own.
    pub(super) by_work_tree: bool,
    /// Where it says that its remotes are.
    pub(super) remotes: BTreeMap<String, Remote>,
    /// What it says about speaking to remotes that is left out.
    pub(super) left_out: BTreeSet<String>,
    version: u32,
    extensions: BTreeMap<String, Option<Vec<u8>>>,
}

/// The addresses of a remote, the first of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::changes) struct Remote {
    url: Option<String>,
    push_url: Option<String>,
}

impl Remote {
    /// Where it is pushed to.
    pub(in crate::changes) fn address(&self) -> Option<&str> {
        self.push_url.as_deref().or(self.url.as_deref())
    }
}

/// What a value has to look like.
enum Form {
    Truth,
    OneOf(&'static [&'static str]),
    /// Anything that is text.
    Text,
    /// An address that is asked over the net only by a filter of the user's.
    WebAddress,
}

/// The settings that are let through.
fn form_of(setting: &Setting) -> Option<Form> {
    let truth = Some(Form::Truth);
    let name = setting.name.as_str();
    match (setting.section.as_str(), setting.part.is_some(), name) {
        (
            "core",
            false,
            "filemode" | "symlinks" | "ignorecase" | "precomposeunicode" | "trustctime"
            | "sparsecheckout" | "sparsecheckoutcone",
        ) => truth,
        ("core", false, "autocrlf") => Some(Form::OneOf(&["true", "false", "input"])),
        ("core", false, "eol") => Some(Form::OneOf(&["lf", "crlf", "native"])),
        ("core", false, "checkstat") => Some(Form::OneOf(&["default", "minimal"])),
        ("core", false, "sharedrepository") => Some(Form::OneOf(&[
            "group", "true", "all", "world", "umask", "false", "0660", "0664", "0640", "0644",
        ])),
        ("user", false, "name" | "email") => Some(Form::Text),
        // What the branch that is checked out follows.
        ("branch", true, "remote" | "merge") | ("remote", true, "fetch") => Some(Form::Text),
        // Git itself speaks to nobody; git LFS may have to.
        ("remote", true, "url") => Some(Form::WebAddress),
        _ => None,
    }
}

impl Form {
    fn fits(&self, value: Option<&[u8]>) -> bool {
        let text = value.map(|value| String::from_utf8_lossy(value).to_lowercase());
        match (self, text.as_deref()) {
            (Self::Truth, None) => true,
            (Self::Truth, Some(text)) => matches!(
                text,
                "true" | "false" | "yes" | "no" | "on" | "off" | "1" | "0" | ""
            ),
            (Self::OneOf(words), Some(text)) => words.contains(&text),
            (Self::Text, Some(text)) => !text.contains(|it: char| it.is_control()),
            (Self::WebAddress, Some(text)) => {
                text.starts_with("https://") && !text.contains(|it: char| it.is_control())
            }
            (Self::OneOf(_) | Self::Text | Self::WebAddress, None) => false,
        }
    }
}

impl Settings {
    /// Takes in what `git config --list -z` said of one file.
    pub(super) fn add(&mut self, said: &[u8]) {
        let entries = said.split(|byte| *byte == 0).filter(|it| !it.is_empty());
        for setting in entries.filter_map(parse) {
            self.take(setting);
        }
    }

    fn take(&mut self, setting: Setting) {
        let value = || String::from_utf8_lossy(setting.value.as_deref().unwrap_or(b"true"));
        let is_true = || {
            let no = ["false", "no", "off", "0", ""];
            !no.contains(&value().to_lowercase().as_str())
        };
        match (setting.section.as_str(), setting.name.as_str()) {
            ("core", "worktree") => self.work_tree = setting.value.as_deref().map(path_of),
            ("core", "bare") => self.is_bare = is_true(),
            ("core", "repositoryformatversion") => {
                // What is not a number is not a version that is known.
                self.version = value().parse().unwrap_or(u32::MAX);
            }
            ("extensions", "worktreeconfig") => self.by_work_tree = is_true(),
            ("extensions", name) => {
                self.extensions
                    .insert(name.to_owned(), setting.value.clone());
            }
            ("filter", "clean" | "smudge" | "process") => {
                self.filters.extend(setting.part.clone());
            }
            ("remote", "url" | "pushurl") => self.take_address(&setting),
            ("core", "sshcommand" | "gitproxy" | "askpass")
            | ("remote", "receivepack" | "vcs" | "proxy")
            | ("credential" | "http" | "url", _) => {
                let (section, name) = (&setting.section, &setting.name);
                self.left_out.insert(format!("{section}.{name}"));
            }
            _ => {}
        }
        let fits = |form: Form| form.fits(setting.value.as_deref());
        if form_of(&setting).is_some_and(fits) {
            self.kept.push(setting);
        }
    }

    fn take_address(&mut self, setting: &Setting) {
        let text = |bytes: &Option<Vec<u8>>| String::from_utf8(bytes.clone()?).ok();
        let (Some(name), Some(address)) = (text(&setting.part), text(&setting.value)) else {
            return;
        };
        let remote = self.remotes.entry(name).or_default();
        let place = match setting.name.as_str() {
            "url" => &mut remote.url,
            _ => &mut remote.push_url,
        };
        place.get_or_insert(address);
    }

    /// A configuration that says all this and nothing else.
    pub(super) fn written(&self) -> GitResult<Vec<u8>> {
        let mut text = b"[core]\n\trepositoryformatversion = 1\n\tbare = false\n".to_vec();
        text.extend(self.extensions()?);
        for setting in &self.kept {
            text.extend(b"[");
            text.extend(setting.section.as_bytes());
            if let Some(part) = &setting.part {
                text.extend(b" ");
                text.extend(quoted(part));
            }
            text.extend(b"]\n\t");
            text.extend(setting.name.as_bytes());
            text.extend(b" = ");
            text.extend(quoted(setting.value.as_deref().unwrap_or(b"true")));
            text.extend(b"\n");
        }
        Ok(text)
    }

    /// How the repository is built. What is not known cannot be worked with,
    /// by git's own rule.
    fn extensions(&self) -> GitResult<Vec<u8>> {
        if self.version > 1 {
            let reason = "this repository has a format that is not known";
            return Err(GitError::Other(reason.to_owned()));
        }
        let mut text = b"[extensions]\n".to_vec();
        for (name, value) in self.extensions.iter().filter(|_| self.version == 1) {
            let value = String::from_utf8_lossy(value.as_deref().unwrap_or_default());
            match (name.as_str(), value.as_ref()) {
                ("objectformat", "sha1" | "sha256") | ("refstorage", "files" | "reftable") => {
                    text.extend(format!("\t{name} = {value}\n").as_bytes());
                }
                // They forbid what is not done here, or tell whom to fetch from.
                (
                    "noop" | "noop-v1" | "preciousobjects" | "partialclone" | "relativeworktrees",
                    _,
                ) => {}
                _ => {
                    return Err(GitError::Other(format!(
                        "this repository uses `extensions.{name}`, which is not known"
                    )));
                }
            }
        }
        Ok(text)
    }
}

/// `SECTION.PART.NAME`, then a line break and the value, if it has one. Only
/// the part in the middle may hold dots.
fn parse(entry: &[u8]) -> Option<Setting> {
    let mut halves = entry.splitn(2, |byte| *byte == b'\n');
    let key = halves.next()?;
    let value = halves.next().map(<[u8]>::to_vec);
    let first = key.iter().position(|byte| *byte == b'.')?;
    let last = key.iter().rposition(|byte| *byte == b'.')?;
    let word = |bytes: &[u8]| Some(std::str::from_utf8(bytes).ok()?.to_lowercase());
    Some(Setting {
        section: word(&key[..first])?,
        part: (first < last).then(|| key[first + 1..last].to_vec()),
        name: word(&key[last + 1..])?,
        value,
    })
}

fn quoted(text: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(*byte);
    }
    quoted.push(b'"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(entries: &[&str]) -> Settings {
        let mut settings = Settings::default();
        settings.add(entries.join("\0").as_bytes());
        settings
    }

    fn written(entries: &[&str]) -> String {
        let text = settings(entries).written().unwrap();
        let text = String::from_utf8(text).unwrap();
        let head = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n";
        text.strip_prefix(head).unwrap().to_owned()
    }

    #[test]
    fn what_starts_a_program_or_leads_elsewhere_is_left_out() {
        for entry in [
            "filter.x.clean\nrun",
            "filter.x.process\nrun",
            "core.fsmonitor\nrun",
            "core.hookspath\nhooks",
            "core.sshcommand\nrun",
            "core.editor\nrun",
            "core.pager\nrun",
            "core.askpass\nrun",
            "core.gitproxy\nrun",
            "core.alternaterefscommand\nrun",
            "core.worktree\n/elsewhere",
            "core.excludesfile\n/dev/tty",
            "core.attributesfile\n/dev/tty",
            "diff.external\nrun",
            "diff.x.textconv\nrun",
            "diff.x.command\nrun",
            "merge.x.driver\nrun",
            "gpg.program\nrun",
            "gpg.ssh.defaultkeycommand\nrun",
            "credential.helper\n!run",
            "remote.origin.uploadpack\nrun",
            "remote.origin.promisor\ntrue",
            "remote.origin.vcs\nrun",
            "remote.origin.url\next::run",
            "remote.origin.url\n/elsewhere",
            "url.ext::run.insteadof\nhttps://",
            "include.path\n../config",
            "includeif.gitdir:/.path\n../config",
            "alias.status\n!run",
            "submodule.x.update\n!run",
            "trailer.x.command\nrun",
            "core.autocrlf\n!run",
            "core.filemode\nrun",
            "user.name\nA\u{1b}[2J",
            "protocol.allow\nalways",
            "safe.directory\n*",
            "something.new\nrun",
        ] {
            assert_eq!(written(&[entry]), "", "{entry:?}");
        }
    }

    #[test]
    fn what_is_harmless_is_written_anew() {
        let entries = [
            "core.filemode\nfalse",
            "core.symlinks",
            "branch.a.b \"c\\.merge\nrefs/heads/x",
            "remote.origin.url\nhttps://example.org/\"x\"",
        ];
        let expected = "[core]\n\tfilemode = \"false\"\n[core]\n\tsymlinks = \"true\"\n\
            [branch \"a.b \\\"c\\\\\"]\n\tmerge = \"refs/heads/x\"\n\
            [remote \"origin\"]\n\turl = \"https://example.org/\\\"x\\\"\"\n";
        assert_eq!(written(&entries), expected);
    }

    #[test]
    fn filters_are_remembered_by_their_whole_name() {
        let found = settings(&["filter.a.b=c.clean\nrun", "filter.d.required\ntrue"]);
        let names: Vec<_> = found.filters.into_iter().collect();
        assert_eq!(names, [b"a.b=c".to_vec()]);
    }

    #[test]
    fn a_format_that_is_not_known_is_refused() {
        let version = "core.repositoryformatversion\n1";
        for (entries, good) in [
            (vec![version, "extensions.objectformat\nsha256"], true),
            (vec![version, "extensions.refstorage\nreftable"], true),
            (vec![version, "extensions.partialclone\norigin"], true),
            (vec![version, "extensions.refstorage\nfile:///x"], false),
            (vec![version, "extensions.surprise\ntrue"], false),
            (vec!["extensions.surprise\ntrue"], true),
            (vec!["core.repositoryformatversion\n2"], false),
            (vec!["core.repositoryformatversion\nx"], false),
        ] {
            assert_eq!(settings(&entries).written().is_ok(), good, "{entries:?}");
        }
    }
}
