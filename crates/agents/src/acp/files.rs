//! Files that the agent reads and writes through the host: those in the
//! session's directories, and no others.
//!
//! *Invariant*: only regular files are read, of at most [`LARGEST`] bytes: a
//! pipe would hold a thread for ever, and a device may have no end.

use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    Error, ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest,
};

use rustix::fs::OFlags;

use super::written::{LARGEST_SHOWN, Written};
use crate::whole_file;

/// The largest file that is read into one answer.
const LARGEST: u64 = 16 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(super) struct Files {
    directories: Vec<PathBuf>,
}

impl Files {
    pub(super) fn new(directories: &[PathBuf]) -> Self {
        let real = |directory: &PathBuf| directory.canonicalize().ok();
        Self {
            directories: directories.iter().filter_map(real).collect(),
        }
    }

    pub(super) fn read(
        &self,
        request: &ReadTextFileRequest,
    ) -> Result<ReadTextFileResponse, Error> {
        let path = self.existing(&request.path)?;
        let text = read_text(&path)?;
        let first = request.line.unwrap_or(1).saturating_sub(1) as usize;
        let content = match (first, request.limit) {
            (0, None) => text,
            (first, limit) => {
                let most = limit.map_or(usize::MAX, |limit| limit as usize);
                text.split_inclusive('\n').skip(first).take(most).collect()
            }
        };
        Ok(ReadTextFileResponse::new(content))
    }

    /// Says what was written, if that is to be shown.
    pub(super) fn write(&self, request: &WriteTextFileRequest) -> Result<Option<Written>, Error> {
        let path = self.to_be_written(&request.path)?;
        let is_new = path.symlink_metadata().is_err();
        let before = match is_new {
            true => None,
            false => shown_text(&path),
        };
        whole_file::write(&path, request.content.as_bytes())
            .map_err(|error| failed(&path, &error))?;
        let can_be_shown = is_new || before.is_some();
        let is_small = request.content.len() <= LARGEST_SHOWN;
        Ok((can_be_shown && is_small).then(|| Written {
            path: request.path.clone(),
            before,
            after: request.content.clone(),
        }))
    }

    /// What a file holds, if it is one to be shown.
    pub(super) fn shown_text(&self, path: &Path) -> Option<String> {
        shown_text(&self.existing(path).ok()?)
    }

    fn existing(&self, path: &Path) -> Result<PathBuf, Error> {
        let real = path.canonicalize().map_err(|error| failed(path, &error))?;
        self.within(real, path)
    }

    /// A file that may not be there yet: then the nearest directory above it
    /// that is there decides, and nothing in the rest may climb out again.
    fn to_be_written(&self, path: &Path) -> Result<PathBuf, Error> {
        // Also true of a link that leads nowhere: it is not written through.
        if path.symlink_metadata().is_ok() {
            return self.existing(path);
        }
        let mut above = path.parent();
        while let Some(directory) = above {
            if let Ok(real) = directory.canonicalize() {
                let rest = path.strip_prefix(directory).unwrap_or(path);
                let climbs = rest
                    .components()
                    .any(|part| !matches!(part, std::path::Component::Normal(_)));
                if climbs {
                    break;
                }
                return self.within(real.join(rest), path);
            }
            above = directory.parent();
        }
        Err(outside(path))
    }

    fn within(&self, real: PathBuf, asked: &Path) -> Result<PathBuf, Error> {
        match self
            .directories
            .iter()
            .any(|directory| real.starts_with(directory))
        {
            true => Ok(real),
            false => Err(outside(asked)),
        }
    }
}

fn shown_text(path: &Path) -> Option<String> {
    let is_small = path.metadata().ok()?.len() <= LARGEST_SHOWN as u64;
    let text = read_text(path).ok().filter(|_| is_small)?;
    (text.len() <= LARGEST_SHOWN).then_some(text)
}

/// What is opened is what is looked at, and neither is waited for.
fn read_text(path: &Path) -> Result<String, Error> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| failed(path, &error))?;
    let metadata = file.metadata().map_err(|error| failed(path, &error))?;
    if !metadata.is_file() {
        return Err(refused(format!("{} is not a regular file", path.display())));
    }
    let mut text = String::new();
    let read = file.take(LARGEST + 1).read_to_string(&mut text);
    // Cut within a letter, it is not text; but that is not what is wrong.
    if metadata.len() > LARGEST || text.len() as u64 > LARGEST {
        return Err(refused(format!(
            "{} has more than {LARGEST} bytes, the most that can be read at once; read a part of \
             it with a command",
            path.display()
        )));
    }
    read.map_err(|error| failed(path, &error))?;
    Ok(text)
}

fn outside(path: &Path) -> Error {
    refused(format!(
        "{} is not in the session's directories",
        path.display()
    ))
}

fn refused(message: String) -> Error {
    Error::new(-32602, message)
}

fn failed(path: &Path, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::NotFound {
        return Error::new(-32002, format!("{} does not exist", path.display()));
    }
    Error::new(-32603, format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &Files, path: PathBuf) -> Result<String, String> {
        let answer = files.read(&ReadTextFileRequest::new("s", path));
        answer
            .map(|answer| answer.content)
            .map_err(|error| error.message)
    }

    fn write(files: &Files, path: PathBuf) -> Result<(), String> {
        let request = WriteTextFileRequest::new("s", path, "new");
        let written = files.write(&request).map_err(|error| error.message)?;
        assert_eq!(written.unwrap().after, "new");
        Ok(())
    }

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let home = tempfile::tempdir().unwrap();
        let files = Files::new(&[home.path().to_owned()]);
        let at = |name: &str| home.path().join(name);
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status();
        assert!(made.unwrap().success());
        std::os::unix::fs::symlink(at("pipe"), at("link")).unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for name in ["pipe", "link", "directory", "socket"] {
            let why = read(&files, at(name)).unwrap_err();
            let opened = why.ends_with("is not a regular file");
            assert!(opened || name == "socket", "{name}: {why}");
        }
        drop(socket);
        let large = std::fs::File::create(at("large")).unwrap();
        large.set_len(LARGEST).unwrap();
        assert_eq!(read(&files, at("large")).unwrap().len() as u64, LARGEST);
        large.set_len(LARGEST + 1).unwrap();
        let why = read(&files, at("large")).unwrap_err();
        assert!(why.contains("has more than 16777216 bytes"), "{why}");
    }

    #[test]
    fn only_the_sessions_directories_are_open() {
        let inside = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let (ours, theirs) = (inside.path(), outside.path());
        std::fs::write(ours.join("a"), "one\ntwo\nthree\n").unwrap();
        std::fs::write(theirs.join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(theirs, ours.join("link")).unwrap();
        std::os::unix::fs::symlink(theirs.join("new"), ours.join("dangling")).unwrap();
        let files = Files::new(&[ours.to_owned()]);

        assert_eq!(
            read(&files, ours.join("a")).as_deref(),
            Ok("one\ntwo\nthree\n")
        );
        let part = ReadTextFileRequest::new("s", ours.join("a"))
            .line(2)
            .limit(1);
        assert_eq!(files.read(&part).unwrap().content, "two\n");
        assert!(
            read(&files, ours.join("b"))
                .unwrap_err()
                .ends_with("does not exist")
        );
        assert_eq!(write(&files, ours.join("deep/er/c")), Ok(()));
        assert_eq!(read(&files, ours.join("deep/er/c")).as_deref(), Ok("new"));

        let up = ours
            .join("..")
            .join(theirs.file_name().unwrap())
            .join("secret");
        for path in [theirs.join("secret"), ours.join("link/secret"), up] {
            assert!(read(&files, path.clone()).is_err(), "{}", path.display());
            assert!(write(&files, path.clone()).is_err(), "{}", path.display());
        }
        for path in [
            ours.join("dangling"),
            ours.join("link/new"),
            ours.join("x/../../y"),
        ] {
            assert!(write(&files, path.clone()).is_err(), "{}", path.display());
        }
        assert!(!theirs.join("new").exists());
        assert_eq!(std::fs::read_to_string(theirs.join("secret")).unwrap(), "s");
    }
}
