//! What processes of an agent get in their environment because somebody signed
//! in with it: values that a person gave, until the host ends or in a file, and
//! tokens of clients.
//!
//! *Invariant*: the values are shown nowhere, and the file is readable for the
//! user alone; it appears wholly or not at all.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::private;

/// How much a value may hold, and the file.
const LONGEST: usize = 16 * 1024;
const LARGEST_FILE: u64 = 1024 * 1024;

pub(crate) struct Keys {
    file: Option<PathBuf>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    in_file: BTreeMap<String, String>,
    in_memory: BTreeMap<String, String>,
    /// From clients, by variable.
    tokens: BTreeMap<String, String>,
    /// Counts the changes.
    version: u64,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({:?})", self.file)
    }
}

impl Keys {
    /// Those of an agent, with what its file holds.
    pub(crate) fn of(provider: &str, directory: Option<&Path>) -> Self {
        let file = directory.map(|directory| directory.join(format!("{provider}.env")));
        let in_file = file.as_deref().map(read).unwrap_or_default();
        Self {
            file,
            held: Mutex::new(Held {
                in_file,
                ..Held::default()
            }),
        }
    }

    /// All that is set for a process that starts now, and the version of that.
    pub(crate) fn all(&self) -> (BTreeMap<String, String>, u64) {
        let held = self.lock();
        let mut all = held.tokens.clone();
        all.extend(held.in_file.clone());
        all.extend(held.in_memory.clone());
        (all, held.version)
    }

    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    /// Keeps what a person gave until the host ends, or in the file as well.
    pub(crate) fn keep(&self, values: BTreeMap<String, String>, in_file: bool) -> io::Result<()> {
        let mut held = self.lock();
        if in_file {
            let Some(file) = &self.file else {
                return Err(io::Error::other("this host has no directory for its files"));
            };
            let mut all = held.in_file.clone();
            all.extend(values.clone());
            write(file, &all)?;
            held.in_memory.retain(|name, _| !values.contains_key(name));
            held.in_file = all;
        } else {
            held.in_memory.extend(values);
        }
        held.version += 1;
        Ok(())
    }

    /// A client gave a token for what a variable stands for.
    pub(crate) fn take_token(&self, variable: &str, token: &str) {
        if check(token).is_err() {
            return;
        }
        let mut held = self.lock();
        let before = held.tokens.insert(variable.to_owned(), token.to_owned());
        if before.as_deref() != Some(token) {
            held.version += 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a variable may be set for an agent.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    begins && name.len() <= 128 && name.chars().all(fits) && !name.starts_with("INNKEEPER_")
}

/// Whether a value can be that of a variable, and a line of the file.
pub(crate) fn check(value: &str) -> Result<(), &'static str> {
    if value.len() > LONGEST {
        return Err("the value is too long");
    }
    match value.contains(|c: char| c.is_control()) {
        true => Err("the value must be one line"),
        false => Ok(()),
    }
}

fn read(file: &Path) -> BTreeMap<String, String> {
    let is_large = |found: &std::fs::Metadata| !found.is_file() || found.len() > LARGEST_FILE;
    if std::fs::metadata(file).is_ok_and(|found| is_large(&found)) {
        tracing::warn!(file = %file.display(), "not a file of variables; ignored");
        return BTreeMap::new();
    }
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(%error, file = %file.display(), "cannot be read");
            }
            return BTreeMap::new();
        }
    };
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let usable = lines.filter(|(name, value)| is_name(name) && check(value).is_ok());
    usable
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

fn write(file: &Path, values: &BTreeMap<String, String>) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        private::create_directory(directory)?;
    }
    let lines = values
        .iter()
        .map(|(name, value)| format!("{name}={value}\n"));
    private::replace(file, lines.collect::<String>().as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn one(name: &str, value: &str) -> BTreeMap<String, String> {
        [(name.to_owned(), value.to_owned())].into()
    }

    #[test]
    fn what_is_in_the_file_outlives_the_host_and_what_is_in_memory_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let begin = || Keys::of("x", Some(directory.path()));
        let keys = begin();
        keys.keep(one("A", "in = memory"), false).unwrap();
        keys.keep(one("B", "in = file"), true).unwrap();
        let both = [one("A", "in = memory"), one("B", "in = file")];
        assert_eq!(keys.all().0, both.into_iter().flatten().collect());
        assert_eq!(begin().all().0, one("B", "in = file"));
        let file = std::fs::metadata(directory.path().join("x.env")).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
        assert!(!format!("{keys:?}").contains("memory"));
    }

    #[test]
    fn the_last_value_that_somebody_gave_holds() {
        let directory = tempfile::tempdir().unwrap();
        let keys = Keys::of("x", Some(directory.path()));
        for (value, in_file) in [("1", true), ("2", false), ("3", true), ("4", true)] {
            let before = keys.version();
            keys.keep(one("A", value), in_file).unwrap();
            assert_eq!(keys.all(), (one("A", value), before + 1));
        }
        keys.take_token("A", "of a client");
        assert_eq!(
            keys.all().0,
            one("A", "4"),
            "what a person gave comes first"
        );
    }

    #[test]
    fn only_variables_and_single_lines_are_taken() {
        for bad in [
            "",
            "1A",
            "A B",
            "A=B",
            "INNKEEPER_TOKEN",
            "Ä",
            &"A".repeat(129),
        ] {
            assert!(!is_name(bad), "{bad}");
        }
        assert!(is_name("_MY_KEY2"));
        for bad in ["a\nB=c", "a\0b", "a\r", &"x".repeat(LONGEST + 1)] {
            assert!(check(bad).is_err());
        }
        assert!(check("sk-ant-… = ü").is_ok());
    }

    #[test]
    fn a_file_that_somebody_else_wrote_is_read_as_far_as_it_makes_sense() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.env");
        std::fs::write(&file, "# note\nA=1\nnonsense\nINNKEEPER_X=2\nB=\n").unwrap();
        let keys = Keys::of("x", Some(directory.path()));
        let expected: BTreeMap<_, _> = [one("A", "1"), one("B", "")]
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(keys.all().0, expected);
        std::fs::write(&file, [0xff, 0xfe]).unwrap();
        assert!(Keys::of("x", Some(directory.path())).all().0.is_empty());
    }
}
