//! Packages as rows name them, and as installers are given them.

/// Where a package comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Npm,
    PyPi,
}

/// A package in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub source: Source,
    pub name: String,
    /// What a PyPI package is asked for in addition, e.g. `[acp]`.
    extras: String,
    pub version: String,
}

impl Package {
    /// Reads what a row says; the version of the row counts where the package
    /// names none. *Invariant*: no part of a package can be taken for a flag, a
    /// path, an address or more than one word.
    pub(super) fn parse(source: Source, text: &str, version: &str) -> Result<Self, String> {
        let (name, named) = match source {
            // A scope begins with the character that the version begins with.
            Source::Npm => match text.rfind('@').filter(|&at| at > 0) {
                Some(at) => (&text[..at], Some(&text[at + 1..])),
                None => (text, None),
            },
            Source::PyPi => match text.split_once("==").or_else(|| text.split_once('@')) {
                Some((name, version)) => (name, Some(version)),
                None => (text, None),
            },
        };
        let (name, extras) = match (source, name.find('[')) {
            (Source::PyPi, Some(at)) => name.split_at(at),
            _ => (name, ""),
        };
        let package = Self {
            source,
            name: name.to_owned(),
            extras: extras.to_owned(),
            version: named.unwrap_or(version).to_owned(),
        };
        match package.is_sound() {
            true => Ok(package),
            false => Err("`package` must be the name of a package, with an exact version".into()),
        }
    }

    /// The same package in another version.
    pub fn in_version(&self, version: &str) -> Option<Self> {
        let version = version.to_owned();
        let other = Self {
            version,
            ..self.clone()
        };
        other.is_sound().then_some(other)
    }

    /// As the installer is asked for it.
    pub fn spec(&self) -> String {
        let Self {
            name,
            extras,
            version,
            ..
        } = self;
        match self.source {
            Source::Npm => format!("{name}@{version}"),
            Source::PyPi => format!("{name}{extras}=={version}"),
        }
    }

    /// The program that has the name of the package.
    pub(super) fn program(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    fn is_sound(&self) -> bool {
        let Self {
            name,
            extras,
            version,
            source,
        } = self;
        let scoped = name.strip_prefix('@').and_then(|name| name.split_once('/'));
        let name = match (source, scoped) {
            (Source::Npm, Some((scope, name))) => is_word(scope) && is_word(name),
            _ => is_word(name),
        };
        let extras = extras.is_empty()
            || extras
                .strip_prefix('[')
                .and_then(|extras| extras.strip_suffix(']'))
                .is_some_and(|extras| extras.split(',').all(is_word));
        name && extras && is_version(version)
    }
}

/// The longest name that is taken.
const LONGEST: usize = 128;

fn is_word(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.len() <= LONGEST
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(inner)
}

/// One version, neither a range nor a tag; also the name of a directory.
pub(super) fn is_version(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.' | '_');
    text.len() <= LONGEST
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(inner)
}
