//! Where the files of a customization are: in a directory of this machine, or
//! in what a client has given. Paths are relative, with `/` between segments;
//! the empty path is the root.
//!
//! Links are followed: people keep their skills elsewhere and link to them,
//! and clients are shown names and descriptions only. What is read is bounded,
//! and only regular files are opened, so that a pipe cannot hold anybody up.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use innkeeper_protocol::workspace::customization::GivenFiles;

use crate::resources::place::uri_of_path;

/// The largest file that is read.
const MOST_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) is_directory: bool,
}

pub(super) trait Tree {
    /// What is in a directory, by name.
    fn list(&self, path: &str) -> io::Result<Vec<Entry>>;
    /// A file as text.
    fn read(&self, path: &str) -> io::Result<String>;
    fn uri(&self, path: &str) -> String;
    /// Where something is on this machine, if it is.
    fn local(&self, path: &str) -> Option<PathBuf>;

    fn has_file(&self, path: &str) -> bool {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let entries = self.list(parent).unwrap_or_default();
        entries.iter().any(|it| it.name == name && !it.is_directory)
    }

    fn has_directory(&self, path: &str) -> bool {
        path.is_empty() || self.list(path).is_ok()
    }
}

pub(super) fn join(path: &str, name: &str) -> String {
    match path.is_empty() {
        true => name.to_owned(),
        false => format!("{path}/{name}"),
    }
}

/// A directory of this machine.
#[derive(Debug)]
pub(super) struct Disk {
    root: PathBuf,
}

impl Disk {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        match path.is_empty() {
            true => self.root.clone(),
            false => self.root.join(path),
        }
    }
}

impl Tree for Disk {
    fn list(&self, path: &str) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.path(path))? {
            let entry = entry?;
            // A name that is not text has no URI that all clients agree on.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            // A link that leads nowhere is not there.
            let Ok(what) = fs::metadata(entry.path()) else {
                continue;
            };
            let is_directory = what.is_dir();
            if is_directory || what.is_file() {
                entries.push(Entry { name, is_directory });
            }
        }
        entries.sort();
        Ok(entries)
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let path = self.path(path);
        if !fs::metadata(&path)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut text = Vec::new();
        fs::File::open(&path)?
            .take(MOST_BYTES + 1)
            .read_to_end(&mut text)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(io::Error::other("it is larger than 1 MiB"));
        }
        String::from_utf8(text).map_err(|_| io::Error::other("it is not UTF-8"))
    }

    fn uri(&self, path: &str) -> String {
        uri_of_path(&self.path(path)).unwrap_or_default()
    }

    fn local(&self, path: &str) -> Option<PathBuf> {
        Some(self.path(path))
    }
}

/// The files that a client gave.
#[derive(Debug)]
pub(super) struct Given<'a> {
    pub(super) uri: &'a str,
    pub(super) files: &'a GivenFiles,
}

impl Tree for Given<'_> {
    fn list(&self, path: &str) -> io::Result<Vec<Entry>> {
        let below = match path.is_empty() {
            true => String::new(),
            false => format!("{path}/"),
        };
        let inside = self
            .files
            .keys()
            .filter_map(|file| file.strip_prefix(&below));
        let entries: BTreeSet<Entry> = inside
            .map(|rest| match rest.split_once('/') {
                Some((name, _)) => Entry {
                    name: name.to_owned(),
                    is_directory: true,
                },
                None => Entry {
                    name: rest.to_owned(),
                    is_directory: false,
                },
            })
            .collect();
        match entries.is_empty() && !path.is_empty() {
            true => Err(io::ErrorKind::NotFound.into()),
            false => Ok(entries.into_iter().collect()),
        }
    }

    fn read(&self, path: &str) -> io::Result<String> {
        match self.files.get(path) {
            Some(Ok(text)) => Ok(text.clone()),
            Some(Err(why)) => Err(io::Error::other(why.clone())),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn uri(&self, path: &str) -> String {
        let base = self.uri.trim_end_matches('/');
        match path.is_empty() {
            true => self.uri.to_owned(),
            false => format!("{base}/{path}"),
        }
    }

    fn local(&self, _: &str) -> Option<PathBuf> {
        None
    }
}
