//! A batch of changes: what happened to each path, all in all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use innkeeper_protocol::newest::state::{ResourceChange, ResourceChangeType};
use innkeeper_protocol::workspace::watch::WatchEvent;
use notify::event::{EventKind, ModifyKind, RenameMode};
use notify::{Event, Result};

use super::Follower;
use crate::resources::place::uri_of_path;
use ResourceChangeType::{Added, Deleted, Updated};

/// More changes than this at once are told as one: everything may have changed.
const MOST_CHANGES: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Batch {
    /// By path, relative to what is by.watched. `None`: it came and went.
    changes: BTreeMap<PathBuf, Option<ResourceChangeType>>,
    overflowed: bool,
}

impl Batch {
    pub(super) fn add(&mut self, by: &Follower, event: Result<Event>) {
        let event = match event {
            Ok(event) if event.need_rescan() => return self.overflowed = true,
            Ok(event) => event,
            Err(error) => {
                tracing::debug!(%error, "a watcher failed");
                return self.overflowed = true;
            }
        };
        let kinds: &[ResourceChangeType] = match event.kind {
            EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => &[Added],
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
                &[Deleted]
            }
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)) => &[Deleted, Added],
            EventKind::Modify(ModifyKind::Name(_)) => match event.paths.first() {
                Some(path) if path.exists() => &[Added],
                _ => &[Deleted],
            },
            EventKind::Modify(_) | EventKind::Any => &[Updated],
            EventKind::Access(_) | EventKind::Other => return,
        };
        for (path, kind) in event.paths.iter().zip(kinds.iter().cycle()) {
            self.note(by, path, *kind);
        }
    }

    fn note(&mut self, by: &Follower, path: &Path, kind: ResourceChangeType) {
        let Ok(relative) = path.strip_prefix(&by.watched.real) else {
            return;
        };
        // A move to a place below is told with both paths.
        let is_below = relative.components().nth(1).is_some();
        if (is_below && !by.watched.recursive) || !by.filter.lets_through(relative) {
            return;
        }
        if self.changes.len() >= MOST_CHANGES {
            self.overflowed = true;
            return;
        }
        let known = self.changes.get(relative).copied();
        let now = match (known, kind) {
            (Some(Some(Added)), Deleted) => None,
            (Some(Some(Added)), Updated) => Some(Added),
            (Some(Some(Deleted)), Added) => Some(Updated),
            (_, kind) => Some(kind),
        };
        self.changes.insert(relative.to_owned(), now);
    }

    /// Nothing has happened that is to be told.
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty() && !self.overflowed
    }

    /// Whether something is new that may be a directory.
    pub(super) fn has_new(&self) -> bool {
        self.changes.values().any(|kind| *kind == Some(Added))
    }

    pub(super) fn finish(mut self, by: &Follower) -> Option<WatchEvent> {
        self.look_into_new_directories(by);
        if self.overflowed {
            return Some(WatchEvent::Overflowed);
        }
        let change = |(path, kind): (PathBuf, Option<ResourceChangeType>)| {
            let path = match path.as_os_str().is_empty() {
                true => by.watched.named.clone(),
                false => by.watched.named.join(path),
            };
            Some(ResourceChange {
                uri: uri_of_path(&path)?,
                r#type: kind?,
            })
        };
        let changes: Vec<_> = self.changes.into_iter().filter_map(change).collect();
        (!changes.is_empty()).then_some(WatchEvent::Changed(changes))
    }

    /// What is put into a new directory before the system watches it is not
    /// reported by the system. By now it is watched.
    fn look_into_new_directories(&mut self, by: &Follower) {
        if !by.watched.recursive {
            return;
        }
        let new = self
            .changes
            .iter()
            .filter(|(_, kind)| **kind == Some(Added));
        let mut new: Vec<PathBuf> = new.map(|(path, _)| by.watched.real.join(path)).collect();
        while let Some(path) = new.pop() {
            if self.overflowed || !std::fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir()) {
                continue;
            }
            for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
                let relative = entry.path();
                let relative = relative.strip_prefix(&by.watched.real).unwrap_or(&relative);
                if !self.changes.contains_key(relative) {
                    self.note(by, &entry.path(), Added);
                    new.push(entry.path());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watches::Watched;
    use crate::watches::filter::Filter;
    use notify::event::{CreateKind, DataChange, Flag, RemoveKind};

    const CREATE: EventKind = EventKind::Create(CreateKind::File);
    const CHANGE: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const REMOVE: EventKind = EventKind::Remove(RemoveKind::File);

    fn follower() -> Follower {
        let excludes = vec!["skipped".to_owned()];
        Follower {
            filter: Filter::new(&[], &excludes).unwrap(),
            watched: Watched {
                real: PathBuf::from("/real"),
                named: PathBuf::from("/named"),
                recursive: true,
                includes: Vec::new(),
                excludes,
            },
            events: std::sync::mpsc::channel().1,
        }
    }

    fn check(kinds: &[EventKind], expected: Option<ResourceChangeType>) {
        let mut batch = Batch::default();
        for kind in kinds {
            let event = Event::new(*kind).add_path(PathBuf::from("/real/f"));
            batch.add(&follower(), Ok(event));
        }
        let told = batch.finish(&follower()).map(|event| match event {
            WatchEvent::Changed(changes) => {
                assert_eq!(changes[0].uri, "file:///named/f");
                changes[0].r#type
            }
            other => panic!("changes: {other:?}"),
        });
        assert_eq!(told, expected, "{kinds:?}");
    }

    #[test]
    fn what_happens_to_a_file_in_one_batch_is_one_change() {
        check(&[CREATE, CHANGE, CHANGE], Some(Added));
        check(&[CREATE, CHANGE, REMOVE], None);
        check(&[CHANGE, REMOVE], Some(Deleted));
        check(&[REMOVE, CREATE], Some(Updated));
        check(&[CREATE, REMOVE, CREATE], Some(Added));
    }

    #[test]
    fn what_the_system_lost_is_told_as_such() {
        let mut batch = Batch::default();
        batch.add(
            &follower(),
            Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan)),
        );
        assert_eq!(batch.finish(&follower()), Some(WatchEvent::Overflowed));
    }

    #[test]
    fn too_many_changes_are_one() {
        let mut batch = Batch::default();
        for number in 0..=MOST_CHANGES {
            let path = PathBuf::from(format!("/real/{number}"));
            batch.add(&follower(), Ok(Event::new(CREATE).add_path(path)));
        }
        assert_eq!(batch.finish(&follower()), Some(WatchEvent::Overflowed));
    }

    #[test]
    fn what_is_excluded_is_not_told() {
        let mut batch = Batch::default();
        let path = PathBuf::from("/real/skipped/x");
        batch.add(&follower(), Ok(Event::new(CREATE).add_path(path)));
        assert_eq!(batch.finish(&follower()), None);
    }
}
