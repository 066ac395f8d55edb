//! The end of a store that was open: its files are gone, or another host has
//! begun to use them. Nothing is written any more then, and what SQLite still
//! holds is copied to where people find it.
//!
//! *Invariant*: a store that is lost stays so. Whatever turns up at its paths
//! later is not what the host knows.

use std::fmt;
use std::path::{Path, PathBuf};

use innkeeper_protocol::Timestamp;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::backup;
use super::place::{Missing, Part, Place};

/// Why a store can no longer be used, in a sentence that says what to do.
#[derive(Debug)]
pub(super) enum Loss {
    Missing {
        missing: Missing,
        dir: PathBuf,
        rescue: Rescue,
    },
    Overtaken {
        dir: PathBuf,
    },
}

/// What became of what was stored.
#[derive(Debug)]
pub(super) enum Rescue {
    /// Those who use the host are told first, as copying may take long.
    Pending,
    Failed(String),
    Done(PathBuf),
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (missing, dir, rescue) = match self {
            Self::Missing {
                missing,
                dir,
                rescue,
            } => (missing, dir.display(), rescue),
            Self::Overtaken { dir } => {
                let dir = dir.display();
                return write!(
                    f,
                    "another host has begun to use the database in {dir}, so this one writes no \
                     more; stop both, and start one of them again"
                );
            }
        };
        match (missing.part, rescue) {
            (Part::Lock, Rescue::Done(copy)) => write!(
                f,
                "{missing}, so another host could have opened the database; stop this host, and \
                 start it again (a copy of the database is in {})",
                copy.display()
            ),
            (Part::Lock, Rescue::Pending | Rescue::Failed(_)) => write!(
                f,
                "{missing}, so another host could have opened the database; stop this host, and \
                 start it again"
            ),
            (_, Rescue::Pending) => write!(
                f,
                "{missing}; do not stop the host before its log says where the copy is that it \
                 makes of everything that was stored"
            ),
            (_, Rescue::Done(copy)) => write!(
                f,
                "{missing}; everything that was stored is in the copy {copy}: stop the host, run \
                 `innkeeper restore {copy} --data-dir {dir}`, and start the host again",
                copy = copy.display()
            ),
            (_, Rescue::Failed(reason)) => write!(
                f,
                "{missing}, and no copy of what was stored could be made ({reason}); fix that \
                 and do not stop the host before its log says where the copy is"
            ),
        }
    }
}

/// Ends the use of a connection whose files are no longer where they were.
pub(super) fn abandon(connection: &Connection) {
    // SQLite would remove the files of that name, which may be another host's
    // by now.
    let kept = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
    if let Err(error) = kept {
        tracing::warn!(%error, "the database that was lost cannot be left as it is");
    }
}

/// Copies what a connection still holds: into the data directory if that is
/// there, else next to it, else to where the system keeps temporary files.
pub(super) fn rescue(connection: &Connection, place: &Place, dir: &Path, now: Timestamp) -> Rescue {
    let mut places = Vec::new();
    if place.has_directory() {
        places.push(backup::rescue_name(dir, now).map_err(|error| error.to_string()));
    }
    places.extend(dir.parent().map(|next_to| {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        Ok(backup::free_name(next_to, &format!("{name}-"), now))
    }));
    let temporary = std::env::temp_dir();
    places.push(Ok(backup::free_name(&temporary, "innkeeper-", now)));
    let mut reasons = Vec::new();
    for to in places {
        let copied = to.and_then(|to| match backup::copy(connection, &to) {
            Ok(_) => Ok(to),
            Err(error) => Err(error.to_string()),
        });
        match copied {
            Ok(copy) => return Rescue::Done(copy),
            Err(reason) => reasons.push(reason),
        }
    }
    Rescue::Failed(reasons.join("; "))
}
