//! Writing: new content takes the place of the old in one move, so that
//! nobody ever sees half of it. Only a plain append goes into the file itself,
//! where the system keeps appenders apart.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use innkeeper_protocol::newest::commands::ResourceWriteMode;
use innkeeper_protocol::workspace::resource::{ResourceDone, ResourceError, WriteTask};
use rustix::fs::RenameFlags;

use super::{Outcome, Place, Trouble, check_is_file, check_size, kind};

pub(super) fn write(place: &Place, task: &WriteTask, data: &[u8], most: usize) -> Outcome {
    let target = target(place)?;
    let existing = match &target {
        Some((path, metadata)) => {
            check_is_file(place, metadata)?;
            Some((path, metadata))
        }
        None => None,
    };
    if existing.is_some() && task.create_only {
        return Err(place.already_exists().into());
    }
    if let Some(expected) = &task.if_match {
        let now = existing.map(|(_, metadata)| kind::etag(metadata));
        if now.as_ref() != Some(expected) {
            let uri = place.uri.clone();
            return Err(ResourceError::Conflict { uri }.into());
        }
    }
    match existing {
        Some((path, _)) if is_plain_append(task) => {
            let mut file = place.dir.open_with(path, OpenOptions::new().append(true))?;
            file.write_all(data)?;
        }
        Some((path, metadata)) => {
            let content = changed(place, path, (task, data), most)?;
            replace(&place.dir, path, &content, Some(metadata), true)?;
        }
        None => {
            if task.position > 0 {
                return Err(beyond_the_end(task, 0).into());
            }
            if let Some(parent) = place.path.parent() {
                place.dir.create_dir_all(parent)?;
            }
            replace(&place.dir, &place.path, data, None, !task.create_only)?;
        }
    }
    Ok(ResourceDone::Done)
}

/// The file behind the links, if there is one.
fn target(place: &Place) -> Result<Option<(PathBuf, Metadata)>, Trouble> {
    let path = match place.dir.canonicalize(&place.path) {
        Ok(path) => path,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if place.dir.symlink_metadata(&place.path).is_ok() {
                let uri = place.uri.clone();
                let reason = "it is a link that leads nowhere".to_owned();
                return Err(ResourceError::Refused { uri, reason }.into());
            }
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let metadata = place.dir.metadata(&path)?;
    Ok(Some((path, metadata)))
}

fn is_plain_append(task: &WriteTask) -> bool {
    task.mode == ResourceWriteMode::Append && task.position == 0
}

fn changed(
    place: &Place,
    path: &Path,
    (task, data): (&WriteTask, &[u8]),
    most: usize,
) -> Result<Vec<u8>, Trouble> {
    // What may not be written must not be replaced either.
    let mut file = place
        .dir
        .open_with(path, OpenOptions::new().read(true).write(true))?;
    let before = match (task.mode, task.position) {
        (ResourceWriteMode::Truncate, 0) => Vec::new(),
        _ => {
            let size = file.metadata()?.len();
            check_size(place, size, most)?;
            let mut before = Vec::new();
            (&mut file).take(size).read_to_end(&mut before)?;
            before
        }
    };
    placed(&before, task, data).map_err(Trouble::Known)
}

/// The content after the change.
pub(super) fn placed(
    before: &[u8],
    task: &WriteTask,
    data: &[u8],
) -> Result<Vec<u8>, ResourceError> {
    let position = usize::try_from(task.position).ok();
    let position = position.filter(|position| *position <= before.len());
    let position = position.ok_or_else(|| beyond_the_end(task, before.len()))?;
    let (head, tail) = match task.mode {
        ResourceWriteMode::Truncate => (&before[..position], &[][..]),
        ResourceWriteMode::Insert => before.split_at(position),
        ResourceWriteMode::Append => before.split_at(before.len() - position),
    };
    Ok([head, data, tail].concat())
}

fn beyond_the_end(task: &WriteTask, size: usize) -> ResourceError {
    ResourceError::Invalid(format!(
        "`position` is {}, but `{}` has {size} bytes",
        task.position, task.uri
    ))
}

/// Puts content where a file is or is to be, all of it at once.
fn replace(
    dir: &Dir,
    path: &Path,
    content: &[u8],
    like: Option<&Metadata>,
    overwrite: bool,
) -> Result<(), Trouble> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => dir.open_dir(parent)?,
        _ => dir.try_clone()?,
    };
    let Some(name) = path.file_name() else {
        return Err(io::Error::from(io::ErrorKind::IsADirectory).into());
    };
    let fill = |file: &mut File| file.write_all(content);
    put(&parent, Path::new(name), like, overwrite, fill)
}

/// Makes a file next to its place and moves it there when it is complete.
pub(super) fn put(
    parent: &Dir,
    name: &Path,
    like: Option<&Metadata>,
    overwrite: bool,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Trouble> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let beside = PathBuf::from(format!(".innkeeper-{}-{number}.tmp", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = parent.open_with(&beside, &options)?;
    let finished = (|| {
        if let Some(like) = like {
            file.set_permissions(like.permissions())?;
        }
        fill(&mut file)?;
        file.sync_all()?;
        rename(parent, &beside, parent, name, overwrite)
    })();
    if finished.is_err() {
        let _ = parent.remove_file(&beside);
    }
    finished
}

/// Renames, and says whether something was in the way rather than removing it
/// if it must not be overwritten. Both names are single ones.
pub(super) fn rename(
    from_dir: &Dir,
    from: &Path,
    to_dir: &Dir,
    to: &Path,
    overwrite: bool,
) -> Result<(), Trouble> {
    if overwrite {
        return Ok(from_dir.rename(from, to_dir, to)?);
    }
    match rustix::fs::renameat_with(from_dir, from, to_dir, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Not every file system can do that.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            if to_dir.symlink_metadata(to).is_ok() {
                return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
            }
            Ok(from_dir.rename(from, to_dir, to)?)
        }
        Err(errno) => Err(errno.into()),
    }
}
