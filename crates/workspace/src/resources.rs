//! Files and directories for clients, within the roots that they may reach.
//!
//! *Invariant*: everything is opened from a directory that is a root, by a
//! path that cannot leave it: neither `..`, nor a link, nor somebody who swaps
//! one for the other at the right moment leads outside (`place`). Content is
//! replaced as a whole or not at all (`write`).

pub(crate) mod kind;
pub(crate) mod place;
mod transfer;
mod write;

#[cfg(test)]
mod tests;

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use cap_std::fs::{Dir, File, Metadata, OpenOptions, OpenOptionsExt as _};
use innkeeper_protocol::Timestamp;
use innkeeper_protocol::newest::commands::{DirectoryEntry, ResourceResolveResult, ResourceType};
use innkeeper_protocol::workspace::resource::{ResourceDone, ResourceError, ResourceTask, Scope};
use rustix::fs::OFlags;

pub(crate) use place::{Place, at_place};

/// How many entries of a directory are told.
const MOST_ENTRIES: usize = 50_000;

/// Carries out what is asked about files. Clones are the same: what they write
/// does not interleave.
#[derive(Debug, Clone, Default)]
pub struct ResourceService {
    writing: Arc<Mutex<()>>,
}

impl ResourceService {
    /// Does one thing. This may take long: not for a thread that others wait
    /// for.
    pub fn perform(
        &self,
        scope: &Scope,
        task: &ResourceTask,
    ) -> Result<ResourceDone, ResourceError> {
        match task {
            ResourceTask::Read { uri } => {
                at_place(scope, uri, false, |place| read(place, scope.most_bytes))
            }
            ResourceTask::List { uri } => at_place(scope, uri, false, list),
            ResourceTask::Resolve {
                uri,
                follow_symlinks: true,
            } => at_place(scope, uri, false, resolve),
            ResourceTask::Resolve {
                uri,
                follow_symlinks: false,
            } => at_place(scope, uri, false, |place| resolve_link(place, uri)),
            ResourceTask::Write(task) => {
                let data = task.data.decoded()?;
                let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
                at_place(scope, &task.uri, true, |place| {
                    write::write(place, task, &data, scope.most_bytes)
                })
            }
            ResourceTask::Mkdir { uri } => at_place(scope, uri, true, mkdir),
            ResourceTask::Delete { uri, recursive } => at_place(scope, uri, true, |place| {
                transfer::delete(place, *recursive)
            }),
            ResourceTask::Copy(task) => transfer::copy(scope, task),
            ResourceTask::Move(task) => transfer::rename(scope, task),
        }
    }
}

/// Why something failed: an error of the system, or one that is understood.
#[derive(Debug)]
pub(crate) enum Trouble {
    Io(io::Error),
    Known(ResourceError),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<rustix::io::Errno> for Trouble {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl From<ResourceError> for Trouble {
    fn from(error: ResourceError) -> Self {
        Self::Known(error)
    }
}

type Outcome = Result<ResourceDone, Trouble>;

fn read(place: &Place, most: usize) -> Outcome {
    let mut file = open_to_read(&place.dir, &place.path)?;
    let metadata = file.metadata()?;
    check_is_file(place, &metadata)?;
    check_size(place, metadata.len(), most)?;
    let mut data = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    file.by_ref().take(limit).read_to_end(&mut data)?;
    // It may have grown meanwhile.
    check_size(place, data.len() as u64, most)?;
    let content_type = Some(kind::content_type(&place.path, Some(&data)).to_owned());
    Ok(ResourceDone::Content {
        data: Bytes::from(data),
        content_type,
    })
}

pub(crate) fn open_to_read(dir: &Dir, path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // A pipe without a writer would keep us waiting for one.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    options.read(true).custom_flags(flags);
    dir.open_with(path, &options)
}

fn check_is_file(place: &Place, metadata: &Metadata) -> Result<(), ResourceError> {
    let uri = place.uri.clone();
    match metadata {
        metadata if metadata.is_file() => Ok(()),
        metadata if metadata.is_dir() => Err(ResourceError::Invalid(format!(
            "`{uri}` is a directory; use `resourceList`"
        ))),
        _ => Err(ResourceError::Refused {
            uri,
            reason: "it is neither a file nor a directory".to_owned(),
        }),
    }
}

fn check_size(place: &Place, size: u64, most: usize) -> Result<(), ResourceError> {
    if usize::try_from(size).is_ok_and(|size| size <= most) {
        return Ok(());
    }
    let uri = place.uri.clone();
    Err(ResourceError::TooLarge { uri, most })
}

fn list(place: &Place) -> Outcome {
    let mut entries = Vec::new();
    for entry in place.dir.read_dir(&place.path)? {
        let entry = entry?;
        let name = entry.file_name();
        let mut is_directory = entry.file_type()?.is_dir();
        if entry.file_type()?.is_symlink() {
            // What a link leads to, if that is within reach.
            let target = place.dir.metadata(place.path.join(&name));
            is_directory = target.is_ok_and(|target| target.is_dir());
        }
        if entries.len() == MOST_ENTRIES {
            return Err(ResourceError::Invalid(format!(
                "`{}` has more than {MOST_ENTRIES} entries, the most that go over the wire at \
                 once; name what is in it directly",
                place.uri
            ))
            .into());
        }
        entries.push(DirectoryEntry {
            name: name.to_string_lossy().into_owned(),
            r#type: if is_directory { "directory" } else { "file" }.to_owned(),
        });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(ResourceDone::Entries(entries))
}

fn resolve(place: &Place) -> Outcome {
    let metadata = place.dir.metadata(&place.path)?;
    let real = place.dir.canonicalize(&place.path)?;
    Ok(resolved(place, &metadata, place.uri_of(&real)))
}

fn resolve_link(place: &Place, uri: &str) -> Outcome {
    let metadata = place.dir.symlink_metadata(&place.path)?;
    Ok(resolved(place, &metadata, uri.to_owned()))
}

fn resolved(place: &Place, metadata: &Metadata, uri: String) -> ResourceDone {
    let is_directory = metadata.is_dir();
    let time = |time: io::Result<cap_std::time::SystemTime>| {
        let since = time.ok()?.into_std();
        let since = since.duration_since(std::time::UNIX_EPOCH).ok()?;
        let millis = i64::try_from(since.as_millis()).ok()?;
        Some(Timestamp::from_millis(millis).to_string())
    };
    ResourceDone::Resolved(ResourceResolveResult {
        uri,
        r#type: match () {
            () if is_directory => ResourceType::Directory,
            () if metadata.is_symlink() => ResourceType::Symlink,
            () => ResourceType::File,
        },
        size: (!is_directory)
            .then(|| i64::try_from(metadata.len()).ok())
            .flatten(),
        mtime: time(metadata.modified()),
        ctime: time(metadata.created()),
        content_type: metadata
            .is_file()
            .then(|| kind::content_type(&place.path, None).to_owned()),
        etag: metadata.is_file().then(|| kind::etag(metadata)),
    })
}

fn mkdir(place: &Place) -> Outcome {
    match place.dir.create_dir_all(&place.path) {
        Ok(()) => Ok(ResourceDone::Done),
        Err(error) => match place.dir.metadata(&place.path) {
            Ok(there) if there.is_dir() => Ok(ResourceDone::Done),
            Ok(_) => Err(place.already_exists().into()),
            Err(_) => Err(error.into()),
        },
    }
}
