//! Files that automations follow. Changes are collected until they have come to
//! rest, and what a run may have changed itself begins nothing.

use std::time::Duration;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::state::{
    AutomationEventTrigger, ResourceChange, ResourceChangeType,
};
use innkeeper_protocol::workspace::resource::{GrantedRoot, Scope};
use innkeeper_protocol::workspace::watch::{OpenWatch, WatchEvent, WatchId, WatchReport};
use serde_json::json;

use super::AutomationsMut;
use super::triggers::{by_event, event_triggers, is_within, setting};
use crate::core::Deadline;

/// The type of these triggers.
pub(super) const FILES: &str = "files";

/// Changes have come to rest when there were none for so long.
const REST: Duration = Duration::from_secs(1);

/// How many of the files that changed are named.
const NAMED: usize = 20;
const NAMED_BYTES: usize = 4 * 1024;

/// When files that could not be followed are looked for again.
const AGAIN: Duration = Duration::from_secs(60);

/// A trigger that follows files.
#[derive(Debug)]
pub(super) struct Followed {
    automation: ChannelUri,
    trigger: String,
    directory: String,
    events: Vec<String>,
}

/// What has changed.
#[derive(Debug, Default)]
pub(super) struct Rested {
    files: Vec<String>,
    count: usize,
}

pub(super) fn check_files(
    trigger: &AutomationEventTrigger,
    directories: &[String],
) -> Result<(), String> {
    let id = &trigger.id;
    if setting(trigger.config.as_ref(), "glob").is_none() {
        return Err(format!(
            "the trigger `{id}` needs a `glob`, such as `src/**/*.rs`, in its `config`"
        ));
    }
    let directory = directory_of(trigger, directories);
    let Some(directory) = directory.filter(|it| it.starts_with("file:")) else {
        return Err(format!(
            "the trigger `{id}` follows files, and the automation has no working directory on \
             this machine; give it one"
        ));
    };
    match directories.iter().any(|it| is_within(&directory, it)) {
        true => Ok(()),
        false => Err(format!(
            "the trigger `{id}` follows `{directory}`, which is not within a working directory \
             of the automation"
        )),
    }
}

fn directory_of(trigger: &AutomationEventTrigger, directories: &[String]) -> Option<String> {
    let named = setting(trigger.config.as_ref(), "directory").map(str::to_owned);
    named.or_else(|| directories.first().cloned())
}

impl AutomationsMut<'_> {
    /// Follows the files that an automation is about, as it is now.
    pub(super) fn follow_files(&mut self, uri: &ChannelUri) {
        self.leave_files(uri);
        let Some(entry) = self.entry(uri).filter(|entry| entry.definition.enabled) else {
            return;
        };
        let directories = entry.definition.session.working_directories.as_deref();
        let directories = directories.unwrap_or_default();
        let wanted: Vec<(Followed, OpenWatch)> = event_triggers(entry, FILES)
            .filter_map(|trigger| {
                let open = to_open(trigger, directories)?;
                let events = trigger.events.iter().map(|event| event.id.clone());
                let followed = Followed {
                    automation: uri.clone(),
                    trigger: trigger.id.clone(),
                    directory: open.uri.clone(),
                    events: events.collect(),
                };
                Some((followed, open))
            })
            .collect();
        for (followed, open) in wanted {
            let core = &mut *self.sessions.turns.core;
            match self.watches.open_own(core, open) {
                Ok(watch) => {
                    self.own.followed.insert(watch, followed);
                }
                Err(why) => self.cannot_follow(&followed, why),
            }
        }
    }

    /// Follows no files for an automation any more.
    pub(super) fn leave_files(&mut self, uri: &ChannelUri) {
        let all = self.own.followed.iter();
        let of_automation = all.filter(|(_, followed)| followed.automation == *uri);
        let watches: Vec<WatchId> = of_automation.map(|(watch, _)| *watch).collect();
        for watch in watches {
            self.own.followed.remove(&watch);
            let core = &mut *self.sessions.turns.core;
            self.watches.close_own(core, watch);
        }
        self.own.changed.retain(|(of, _), _| of != uri);
        if let Some(known) = self.own.known.get_mut(uri) {
            known.problems.clear();
        }
    }

    fn cannot_follow(&mut self, followed: &Followed, why: String) {
        let Followed {
            automation,
            trigger,
            ..
        } = followed;
        tracing::warn!(%automation, trigger, why, "files cannot be followed");
        if let Some(known) = self.own.known.get_mut(automation) {
            known.problems.insert(trigger.clone(), why);
        }
        let core = self.core();
        let again = Deadline::FilesAreFollowed;
        core.deadlines.set(again, core.now.after(AGAIN));
        self.show_again(automation);
    }

    /// Tries once more where it was not possible.
    pub(crate) fn follow_files_again(&mut self) {
        let known = self.own.known.iter();
        let troubled = known.filter(|(_, known)| !known.problems.is_empty());
        let troubled: Vec<ChannelUri> = troubled.map(|(uri, _)| uri.clone()).collect();
        for uri in troubled {
            self.follow_files(&uri);
            self.show_again(&uri);
        }
    }

    /// Takes what is told of files that are followed.
    pub(crate) fn watch_reported(&mut self, report: WatchReport) {
        let WatchReport { watch, event } = report;
        let changes = match event {
            WatchEvent::Opened => return,
            WatchEvent::OpenFailed(error) => {
                let core = &mut *self.sessions.turns.core;
                self.watches.close_own(core, watch);
                if let Some(followed) = self.own.followed.remove(&watch) {
                    self.cannot_follow(&followed, error.to_string());
                }
                return;
            }
            WatchEvent::Changed(changes) => changes,
            WatchEvent::Overflowed => Vec::new(),
        };
        let Some(followed) = self.own.followed.get(&watch) else {
            return;
        };
        let is_overflow = changes.is_empty();
        let is_wanted = |change: &ResourceChange| {
            let kind = match change.r#type {
                ResourceChangeType::Added => "added",
                ResourceChangeType::Updated => "updated",
                ResourceChangeType::Deleted => "deleted",
            };
            followed.events.iter().any(|event| event == kind)
        };
        let automation = followed.automation.clone();
        let wanted = changes.into_iter().filter(is_wanted);
        let wanted = wanted.filter(|change| !self.is_of_run(&automation, &change.uri));
        let mut wanted: Vec<String> = wanted.map(|change| change.uri).collect();
        if is_overflow && !self.is_of_run(&automation, &followed.directory) {
            // Nobody knows what it was, but it was much.
            wanted.push(followed.directory.clone());
        }
        if wanted.is_empty() {
            return;
        }
        let key = (automation, followed.trigger.clone());
        let rested = self.own.changed.entry(key).or_default();
        rested.count += wanted.len();
        for file in wanted {
            let bytes: usize = rested.files.iter().map(String::len).sum();
            if rested.files.len() < NAMED && bytes + file.len() <= NAMED_BYTES {
                rested.files.push(file);
            }
        }
        let core = self.core();
        core.deadlines
            .set(Deadline::FilesRest, core.now.after(REST));
    }

    /// Whether a run may have changed a file: one of the automation itself, or
    /// one that works where the file is.
    fn is_of_run(&self, automation: &ChannelUri, file: &str) -> bool {
        let now = self.sessions.turns.core.now;
        let at_work = self.own.at_work.iter().any(|(session, run)| {
            let of = self.own.runs.get(run).map(|run| &run.automation);
            let directories = self.directories_of(session);
            of == Some(automation) || directories.iter().any(|it| is_within(file, it))
        });
        let left = self.own.left.iter().any(|(until, of, directories)| {
            let is_within = directories.iter().any(|it| is_within(file, it));
            *until > now && (of == automation || is_within)
        });
        at_work || left
    }

    /// Files have changed, and no more of them do.
    pub(crate) fn files_rest(&mut self) {
        for ((automation, trigger), rested) in std::mem::take(&mut self.own.changed) {
            let Rested { files, count } = rested;
            let about = json!({ "event": "changed", "files": files, "count": count });
            self.admit_triggered(&automation, by_event(trigger, about));
        }
    }
}

fn to_open(trigger: &AutomationEventTrigger, directories: &[String]) -> Option<OpenWatch> {
    let uri = directory_of(trigger, directories)?;
    let root = GrantedRoot {
        uri: uri.clone(),
        writable: false,
    };
    Some(OpenWatch {
        recursive: true,
        includes: vec![setting(trigger.config.as_ref(), "glob")?.to_owned()],
        // What git does in its own directory is not work on files.
        excludes: vec!["**/.git/**".to_owned()],
        scope: Scope::new(vec![root], 0),
        uri,
    })
}
