//! Where a URI leads: a directory that is held open, and a path within it that
//! cannot leave it.
//!
//! A `file:` URI is matched with the roots by its text alone, and then walked
//! from the root that it is below: `cap-std` looks at every link on the way
//! and refuses to follow one that leads outside. A link to another place that
//! is granted too is a detour: where it leads is looked up once, and walked
//! anew from the root that holds it. The look-up is a hint and nothing more;
//! whatever it says, the walk is confined.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use innkeeper_protocol::workspace::resource::{ResourceError, Scope};
use url::Url;

use super::Trouble;

/// Something within a root.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) uri: String,
    /// The directory that the root is, held open.
    pub(crate) dir: Dir,
    /// Relative to it; `.` is the root itself.
    pub(crate) path: PathBuf,
    /// Where `dir` is on this machine, without links.
    base: PathBuf,
    /// Roots are not removed, renamed or replaced.
    pub(crate) is_root: bool,
}

impl Place {
    /// The place without links on the way, as a path of this machine. To be
    /// used only where a path that others may swap does no harm.
    pub(crate) fn real_path(&self) -> io::Result<PathBuf> {
        Ok(self.base.join(self.dir.canonicalize(&self.path)?))
    }

    /// The same for something that need not be there: without links on the way
    /// to it, as far as there is one. What it is itself is not looked at.
    pub(crate) fn real_destination(&self) -> io::Result<PathBuf> {
        let mut missing: Vec<&OsStr> = self.path.file_name().into_iter().collect();
        let mut way = self.path.parent();
        loop {
            let there = way.filter(|way| !way.as_os_str().is_empty());
            match self.dir.canonicalize(there.unwrap_or(Path::new("."))) {
                Ok(real) => {
                    let mut destination = self.base.join(real);
                    destination.extend(missing.iter().rev());
                    return Ok(destination);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound && there.is_some() => {
                    missing.extend(way.and_then(Path::file_name));
                    way = way.and_then(Path::parent);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The URI of a path that is relative to the same directory.
    pub(crate) fn uri_of(&self, relative: &Path) -> String {
        uri_of_path(&self.base.join(relative)).unwrap_or_else(|| self.uri.clone())
    }

    /// The directory that holds it, and its name there.
    pub(crate) fn in_parent(&self) -> Result<(Dir, OsString), Trouble> {
        let name = self.path.file_name().ok_or_else(|| self.is_a_root())?;
        let parent = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => self.dir.open_dir(parent)?,
            _ => self.dir.try_clone()?,
        };
        Ok((parent, name.to_owned()))
    }

    pub(crate) fn is_a_root(&self) -> ResourceError {
        ResourceError::Refused {
            uri: self.uri.clone(),
            reason: "what was granted itself cannot be removed, renamed or replaced".to_owned(),
        }
    }

    pub(crate) fn already_exists(&self) -> ResourceError {
        ResourceError::AlreadyExists {
            uri: self.uri.clone(),
        }
    }
}

/// Does something at the place that a URI names.
pub(crate) fn at_place<T>(
    scope: &Scope,
    uri: &str,
    write: bool,
    act: impl Fn(&Place) -> Result<T, Trouble>,
) -> Result<T, ResourceError> {
    let path = path_of_uri(uri)?;
    let place = find(scope, uri, &path, write)?;
    let trouble = match act(&place) {
        Ok(done) => return Ok(done),
        Err(trouble) => trouble,
    };
    if !is_escape(&trouble) {
        return Err(explained(uri, trouble));
    }
    let leads_outside = || ResourceError::Refused {
        uri: uri.to_owned(),
        reason: "a link on the way leads outside of what was granted".to_owned(),
    };
    let real = where_it_leads(&path).ok_or_else(leads_outside)?;
    let detour = find(scope, uri, &real, write).map_err(|_| leads_outside())?;
    act(&detour).map_err(|trouble| match is_escape(&trouble) {
        true => leads_outside(),
        false => explained(uri, trouble),
    })
}

/// Likewise with two places at once.
pub(crate) fn at_places<T>(
    scope: &Scope,
    (source, reads_only): (&str, bool),
    destination: &str,
    act: impl Fn(&Place, &Place) -> Result<T, Trouble>,
) -> Result<T, ResourceError> {
    at_place(scope, source, !reads_only, |from| {
        at_place(scope, destination, true, |to| act(from, to)).map_err(Trouble::Known)
    })
}

/// A path of this machine, if the URI names one without tricks.
pub fn path_of_uri(uri: &str) -> Result<PathBuf, ResourceError> {
    let invalid = |why: &str| ResourceError::Invalid(format!("`{uri}` {why}"));
    let url = Url::parse(uri).map_err(|_| invalid("is not a URI"))?;
    if url.scheme() != "file" {
        return Err(ResourceError::NotFound {
            uri: uri.to_owned(),
        });
    }
    let path = url
        .to_file_path()
        .map_err(|()| invalid("names no file of this machine"))?;
    // An escaped slash may have hidden them from the URI's own rules.
    let plain = path
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let has_nul = path.as_os_str().as_encoded_bytes().contains(&0);
    if !plain || has_nul || !path.is_absolute() {
        return Err(invalid("names no file of this machine"));
    }
    // Without doubled or trailing slashes.
    Ok(path.components().collect())
}

/// Why nobody can work in a directory, if nobody can.
pub fn why_not_directory(uri: &str) -> Option<String> {
    let path = match path_of_uri(uri) {
        Ok(path) => path,
        Err(error) => return Some(format!("the working directory {error}")),
    };
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some(format!(
            "`{uri}` is not a directory; name the directory to work in"
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(format!(
            "the working directory `{uri}` does not exist; create it, or name another one"
        )),
        Err(error) => Some(format!(
            "the working directory `{uri}` cannot be reached: {error}"
        )),
    }
}

/// An absolute path as a `file:` URI.
pub fn uri_of_path(path: &Path) -> Option<String> {
    Url::from_file_path(path).ok().map(String::from)
}

/// The place of a path within the innermost root that holds it.
fn find(scope: &Scope, uri: &str, path: &Path, write: bool) -> Result<Place, ResourceError> {
    let open_to = scope.roots().filter(|root| root.writable || !write);
    let named = open_to.clone();
    let named = named.filter(|root| uri.starts_with(root.uri.trim_end_matches('/')));
    let paths = || {
        open_to
            .clone()
            .filter_map(|root| path_of_uri(&root.uri).ok())
    };
    // There may be thousands of roots. Most requests name theirs as it is
    // written; only for the others the system is asked about each of them.
    let found = innermost(path, named.filter_map(|root| path_of_uri(&root.uri).ok()))
        .or_else(|| innermost(path, paths()))
        .or_else(|| {
            innermost(
                path,
                paths().filter_map(|root| std::fs::canonicalize(root).ok()),
            )
        });
    let Some((root, relative)) = found else {
        let uri = uri.to_owned();
        return Err(ResourceError::OutOfScope { uri, write });
    };
    open(uri, &root, relative).map_err(|error| explained(uri, error.into()))
}

/// The root that a path is deepest in, and the rest of the path.
fn innermost(path: &Path, roots: impl Iterator<Item = PathBuf>) -> Option<(PathBuf, PathBuf)> {
    let below = roots.filter_map(|root| {
        let rest = path.strip_prefix(&root).ok()?.to_owned();
        Some((root, rest))
    });
    below.min_by_key(|(_, rest)| rest.as_os_str().len())
}

fn open(uri: &str, root: &Path, relative: PathBuf) -> io::Result<Place> {
    let base = std::fs::canonicalize(root)?;
    let is_root = relative.as_os_str().is_empty();
    let (base, path) = match (is_root, base.parent(), base.file_name()) {
        // A root may be a single file: its directory is opened, for it alone.
        (true, Some(parent), Some(name)) if !base.is_dir() => {
            (parent.to_owned(), PathBuf::from(name))
        }
        (true, ..) => (base, PathBuf::from(".")),
        (false, ..) => (base, relative),
    };
    Ok(Place {
        uri: uri.to_owned(),
        dir: Dir::open_ambient_dir(&base, ambient_authority())?,
        path,
        base,
        is_root,
    })
}

/// A path without links. What does not exist yet is in a directory that does.
fn where_it_leads(path: &Path) -> Option<PathBuf> {
    let mut missing = Vec::new();
    let mut existing = path;
    loop {
        match std::fs::canonicalize(existing) {
            Ok(real) => {
                return Some(
                    missing
                        .iter()
                        .rev()
                        .fold(real, |path, name| path.join(name)),
                );
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // A link to nowhere is not something that is still missing.
                if std::fs::symlink_metadata(existing).is_ok() {
                    return None;
                }
                missing.push(existing.file_name()?.to_owned());
                existing = existing.parent()?;
            }
            Err(_) => return None,
        }
    }
}

/// Whether this is `cap-std` refusing to leave its directory; the system's own
/// refusals have a number.
fn is_escape(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Io(error) => {
            error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
        }
        Trouble::Known(_) => false,
    }
}

pub(crate) fn explained(uri: &str, trouble: Trouble) -> ResourceError {
    let error = match trouble {
        Trouble::Known(error) => return error,
        Trouble::Io(error) => error,
    };
    let uri = uri.to_owned();
    let reason = error.to_string();
    match error.kind() {
        io::ErrorKind::NotFound => ResourceError::NotFound { uri },
        io::ErrorKind::AlreadyExists => ResourceError::AlreadyExists { uri },
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ResourceError::Refused { uri, reason }
        }
        io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::DirectoryNotEmpty
        | io::ErrorKind::InvalidFilename => ResourceError::Invalid(format!("`{uri}`: {reason}")),
        _ => ResourceError::Failed { uri, reason },
    }
}
