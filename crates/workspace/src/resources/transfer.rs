//! Copying, moving and deleting.

use std::io;
use std::path::Path;

use cap_std::fs::Dir;
use innkeeper_protocol::workspace::resource::{ResourceDone, ResourceError, Scope, TransferTask};

use super::place::at_places;
use super::write::{put, rename as rename_entry};
use super::{Outcome, Place, Trouble, open_to_read};

pub(super) fn delete(place: &Place, recursive: bool) -> Outcome {
    if place.is_root {
        return Err(place.is_a_root().into());
    }
    let (parent, name) = place.in_parent()?;
    remove(&parent, Path::new(&name), recursive)?;
    Ok(ResourceDone::Done)
}

/// Removes an entry; of a link, the link.
fn remove(parent: &Dir, name: &Path, recursive: bool) -> io::Result<()> {
    let is_directory = parent.symlink_metadata(name)?.is_dir();
    match (is_directory, recursive) {
        (false, _) => parent.remove_file(name),
        (true, false) => parent.remove_dir(name),
        (true, true) => parent.remove_dir_all(name),
    }
}

pub(super) fn copy(scope: &Scope, task: &TransferTask) -> Result<ResourceDone, ResourceError> {
    at_places(
        scope,
        (&task.source, true),
        &task.destination,
        |from, to| {
            if to.is_root {
                return Err(to.is_a_root().into());
            }
            check_apart(from, to, task)?;
            let metadata = from.dir.metadata(&from.path)?;
            check_replaceable(to, metadata.is_dir(), task.fail_if_exists)?;
            make_parent(to)?;
            let (to_dir, to_name) = to.in_parent()?;
            let to_name = Path::new(&to_name);
            if metadata.is_dir() {
                let source = from.dir.open_dir(&from.path)?;
                copy_directory(&source, &to_dir, to_name, 0)?;
            } else {
                copy_file(
                    &from.dir,
                    &from.path,
                    &to_dir,
                    to_name,
                    !task.fail_if_exists,
                )?;
            }
            Ok(ResourceDone::Done)
        },
    )
}

pub(super) fn rename(scope: &Scope, task: &TransferTask) -> Result<ResourceDone, ResourceError> {
    at_places(
        scope,
        (&task.source, false),
        &task.destination,
        |from, to| {
            for place in [from, to] {
                if place.is_root {
                    return Err(place.is_a_root().into());
                }
            }
            check_apart(from, to, task)?;
            let (from_dir, from_name) = from.in_parent()?;
            let from_name = Path::new(&from_name);
            let is_directory = from_dir.symlink_metadata(from_name)?.is_dir();
            check_replaceable(to, is_directory, task.fail_if_exists)?;
            make_parent(to)?;
            let (to_dir, to_name) = to.in_parent()?;
            let to_name = Path::new(&to_name);
            let overwrite = !task.fail_if_exists;
            match rename_entry(&from_dir, from_name, &to_dir, to_name, overwrite) {
                Err(Trouble::Io(error)) if error.kind() == io::ErrorKind::CrossesDevices => {
                    // To another file system: a copy, and then the original goes.
                    copy_entry(&from_dir, from_name, &to_dir, to_name, 0)?;
                    remove(&from_dir, from_name, true)?;
                }
                outcome => outcome?,
            }
            Ok(ResourceDone::Done)
        },
    )
}

/// A directory cannot go into itself.
fn check_apart(from: &Place, to: &Place, task: &TransferTask) -> Result<(), Trouble> {
    let from = from.real_path()?;
    let destination = to.real_destination()?;
    if destination == from {
        let message = "`source` and `destination` are the same".to_owned();
        return Err(ResourceError::Invalid(message).into());
    }
    if destination.starts_with(&from) {
        let message = format!("`{}` cannot go into itself", task.source);
        return Err(ResourceError::Invalid(message).into());
    }
    Ok(())
}

/// A file may take the place of a file, and a directory that of an empty one.
fn check_replaceable(to: &Place, with_directory: bool, fail: bool) -> Result<(), Trouble> {
    let Ok(there) = to.dir.symlink_metadata(&to.path) else {
        return Ok(());
    };
    let fits = match (there.is_dir(), with_directory) {
        (false, false) => true,
        (true, true) => to.dir.read_dir(&to.path)?.next().is_none(),
        _ => false,
    };
    match fits && !fail {
        true => Ok(()),
        false => Err(to.already_exists().into()),
    }
}

fn make_parent(place: &Place) -> io::Result<()> {
    match place.path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => place.dir.create_dir_all(parent),
        _ => Ok(()),
    }
}

fn copy_file(
    from_dir: &Dir,
    from: &Path,
    to_dir: &Dir,
    to: &Path,
    overwrite: bool,
) -> Result<(), Trouble> {
    let mut source = open_to_read(from_dir, from)?;
    let metadata = source.metadata()?;
    if !metadata.is_file() {
        let message = "only files, directories and links can be copied";
        return Err(io::Error::other(message).into());
    }
    put(to_dir, to, Some(&metadata), overwrite, |target| {
        io::copy(&mut source, target).map(|_| ())
    })
}

/// Directories that are nested more deeply are not copied: nobody means that,
/// and one that was put into itself meanwhile has no end.
const DEEPEST: usize = 200;

fn copy_directory(source: &Dir, to_dir: &Dir, to: &Path, depth: usize) -> Result<(), Trouble> {
    if depth > DEEPEST {
        let message = format!("directories are nested too deeply to be copied (over {DEEPEST})");
        return Err(ResourceError::Invalid(message).into());
    }
    match to_dir.create_dir(to) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    let target = to_dir.open_dir(to)?;
    for entry in source.entries()? {
        let name = entry?.file_name();
        let name = Path::new(&name);
        copy_entry(source, name, &target, name, depth)?;
    }
    Ok(())
}

/// Copies whatever an entry of a directory is; a link stays a link.
fn copy_entry(
    from_dir: &Dir,
    from: &Path,
    to_dir: &Dir,
    to: &Path,
    depth: usize,
) -> Result<(), Trouble> {
    let kind = from_dir.symlink_metadata(from)?;
    if kind.is_dir() {
        return copy_directory(&from_dir.open_dir(from)?, to_dir, to, depth + 1);
    }
    if kind.is_symlink() {
        let leads_to = from_dir.read_link_contents(from)?;
        return Ok(to_dir.symlink_contents(leads_to, to)?);
    }
    copy_file(from_dir, from, to_dir, to, true)
}
