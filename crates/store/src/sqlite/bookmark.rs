//! How far the store has come, outside of the database: a damaged write-ahead
//! log ends at the damage, and SQLite takes what comes before it for all there
//! ever was.
//!
//! The file is written at most once a second. So a loss is noticed if what was
//! lost had been stored more than a second before.

use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use innkeeper_protocol::Seq;

use super::directory::private_file;
use crate::sequence::Sequence;

/// Where it is, in the data directory.
pub(crate) const FILE: &str = "innkeeper.last";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bookmark {
    life: u64,
    last: Seq,
    reserved: Seq,
}

/// What the database has forgotten.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Forgotten {
    noted: Bookmark,
    found: Bookmark,
}

impl fmt::Display for Forgotten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { noted, found } = self;
        write!(
            f,
            "the database ends at action {} of life {}, but {} of life {} had been stored; what \
             is missing was in its write-ahead log, so look for a copy of the data directory or \
             restore a backup if you need it",
            found.last, found.life, noted.last, noted.life
        )
    }
}

impl Bookmark {
    pub(crate) fn of(sequence: &Sequence) -> Self {
        Self {
            life: sequence.life,
            last: sequence.last,
            reserved: sequence.reserved,
        }
    }

    /// Whether more was stored than a database knows of, or more numbers were
    /// given out.
    #[cfg(feature = "postgres")]
    pub(crate) fn is_beyond(&self, found: &Sequence) -> bool {
        self.last > found.last || self.reserved > found.reserved.max(found.last)
    }

    /// What is noted in a data directory, if anything is.
    pub(crate) fn read(dir: &Path) -> Option<Self> {
        let text = match fs::read_to_string(dir.join(FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(%error, file = FILE, "it cannot be told whether something is missing");
                return None;
            }
        };
        let parsed = Self::parse(&text);
        if parsed.is_none() {
            tracing::warn!(
                file = FILE,
                "it cannot be told whether something is missing"
            );
        }
        parsed
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.lines().next()?.split(' ');
        let mut number = |name| match words.next()? == name {
            true => words.next()?.parse::<u64>().ok(),
            false => None,
        };
        Some(Self {
            life: number("life")?,
            last: Seq::new(number("last")?),
            reserved: Seq::new(number("reserved")?),
        })
    }

    /// Notes it; after that it survives the loss of power. Its few bytes are in
    /// one block of the disk, so they are the old ones or the new ones.
    pub(crate) fn write(&self, dir: &Path) -> io::Result<()> {
        let Self {
            life,
            last,
            reserved,
        } = self;
        let text = format!("life {life} last {last} reserved {reserved}\n");
        let mut file = private_file().open(dir.join(FILE))?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)?;
        file.sync_data()
    }

    pub(crate) fn remove(dir: &Path) -> io::Result<()> {
        match fs::remove_file(dir.join(FILE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// What a database has forgotten that says this of itself.
    pub(crate) fn forgotten_by(&self, found: &Sequence) -> Option<Forgotten> {
        let (noted, found) = (*self, Self::of(found));
        let is_missing = noted.life > found.life || noted.last > found.last;
        is_missing.then_some(Forgotten { noted, found })
    }

    /// The highest number that may have been given out.
    pub(crate) fn reached(&self) -> Seq {
        self.reserved.max(self.last)
    }

    pub(crate) fn life(&self) -> u64 {
        self.life
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_again_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Bookmark::read(dir.path()), None);
        for number in [1_000_000, 7] {
            let noted = Bookmark {
                life: 2,
                last: Seq::new(number),
                reserved: Seq::new(number + 1),
            };
            noted.write(dir.path()).unwrap();
            assert_eq!(Bookmark::read(dir.path()), Some(noted));
        }
        for text in [
            "",
            "life",
            "life 1 last x reserved 2",
            "last 1 life 2 reserved 3",
        ] {
            fs::write(dir.path().join(FILE), text).unwrap();
            assert_eq!(Bookmark::read(dir.path()), None, "{text:?}");
        }
    }
}
