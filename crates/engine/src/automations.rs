//! Automations: what agents are to do by themselves, and what became of it. An
//! automation says what is to be done and when; each time is a *run*, which has
//! a session of its own.
//!
//! *Invariants*: a run is stored in the step that admits it, together with the
//! mark up to which its automation's schedules have been followed, and its
//! session in the step that begins it. So whenever the host dies, no run is
//! lost and none happens twice. Whatever is shown of an automation is worked
//! out anew in [`AutomationsMut::show`], and there only.

mod cron;
mod definition;
mod dispatch;
mod files;
mod history;
mod plugins;
mod runs;
mod starting;
mod triggers;

use std::collections::{BTreeMap, VecDeque};

use foldhash::HashMap;
use innkeeper_protocol::newest::actions::{AutomationSetAction, StateAction};
use innkeeper_protocol::newest::commands::{
    AutomationCapabilities, AutomationCreateCapability, AutomationCustomizationsCapability,
    AutomationRunCancellationCapability, AutomationScheduleCapabilities,
};
use innkeeper_protocol::newest::state::{
    AutomationEntry, AutomationOperation, AutomationRunLifecycle, AutomationRunState,
    AutomationState, AutomationTrigger,
};
use innkeeper_protocol::record::{
    AutomationNotes, AutomationRecord, AutomationRunNotes, AutomationRunRecord, StoreOp,
};
use innkeeper_protocol::workspace::watch::WatchId;
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::json;

use crate::core::channels::Channel;
use crate::core::{Core, Deadline, error_info};
use crate::labels::{Label, Locale};
use crate::sessions::SessionsMut;
use crate::watches::Watches;

pub(crate) use triggers::list_triggers;

use cron::Schedule;
use files::{Followed, Rested};
use history::{HISTORY, PAGE};
use plugins::Copying;
use runs::Ending;

/// How many runs of an automation may be under way.
const UNFINISHED: usize = 10;

#[derive(Debug, Default)]
pub(crate) struct Automations {
    known: BTreeMap<ChannelUri, Automation>,
    runs: HashMap<ChannelUri, Run>,
    /// The runs that have a session at work, by session.
    at_work: BTreeMap<ChannelUri, ChannelUri>,
    /// The files that are followed.
    followed: HashMap<WatchId, Followed>,
    /// What has changed among them and has not come to rest.
    changed: BTreeMap<(ChannelUri, String), Rested>,
    /// Where runs worked that are over, and until when they may have left
    /// changes.
    left: Vec<(Timestamp, ChannelUri, Vec<String>)>,
    /// Automations that wait for copies of plugins.
    copying: BTreeMap<ChannelUri, Copying>,
    /// A run that waits may perhaps begin.
    review_waiting: bool,
    last_run: u64,
}

/// What the host knows of an automation besides what it shows.
#[derive(Debug, Default)]
struct Automation {
    notes: AutomationNotes,
    /// The newest first.
    runs: VecDeque<ChannelUri>,
    /// What is wrong with triggers, by id.
    problems: BTreeMap<String, String>,
}

/// What the host knows of a run besides its state.
#[derive(Debug)]
struct Run {
    automation: ChannelUri,
    notes: AutomationRunNotes,
}

/// The automations, with what they need of the modules below.
pub(crate) struct AutomationsMut<'a> {
    pub(crate) own: &'a mut Automations,
    pub(crate) watches: &'a mut Watches,
    pub(crate) sessions: SessionsMut<'a>,
}

/// What clients are told that this host can do.
pub(crate) fn capabilities(core: &Core) -> AutomationCapabilities {
    let customizations = core.config.workspace.customizations;
    let copies = customizations.enabled && customizations.copies;
    AutomationCapabilities {
        create: Some(AutomationCreateCapability {}),
        schedules: Some(AutomationScheduleCapabilities::default()),
        run_cancellation: Some(AutomationRunCancellationCapability {}),
        run_history_limit: i64::try_from(HISTORY).ok(),
        customizations: copies.then_some(AutomationCustomizationsCapability {}),
    }
}

fn is_finished(lifecycle: &AutomationRunLifecycle) -> bool {
    match lifecycle {
        AutomationRunLifecycle::Pending(_) | AutomationRunLifecycle::Running(_) => false,
        AutomationRunLifecycle::Completed(_)
        | AutomationRunLifecycle::Failed(_)
        | AutomationRunLifecycle::Cancelled(_) => true,
    }
}

impl AutomationsMut<'_> {
    fn core(&mut self) -> &mut Core {
        self.sessions.turns.core
    }

    /// Takes in what is stored when a host begins.
    pub(crate) fn take_in(
        &mut self,
        automations: Vec<AutomationRecord>,
        runs: Vec<AutomationRunRecord>,
        interrupted: &[ChannelUri],
    ) {
        let mut entries = Vec::with_capacity(automations.len());
        for AutomationRecord { entry, notes } in automations {
            let automation = Automation {
                notes,
                ..Automation::default()
            };
            let uri = ChannelUri::from(entry.resource.as_str());
            self.own.known.insert(uri, automation);
            entries.push(entry);
        }
        let state = AutomationState {
            entries,
            meta: None,
        };
        let channel = Channel::Automations(Box::new(state));
        let uri = ChannelUri::automations();
        self.core().channels.insert(uri, channel);
        for AutomationRunRecord { state, notes } in runs {
            self.take_in_run(state, notes, interrupted);
        }
        self.keep_known_copies();
        let all: Vec<ChannelUri> = self.own.known.keys().cloned().collect();
        for uri in all {
            let now = self.core().now;
            let mut is_outdated = self.entry(&uri).is_some_and(|entry| entry.meta.is_some());
            if let Some(known) = self.own.known.get_mut(&uri)
                && known.notes.followed > now
            {
                // A clock that was ahead must not keep it from its work.
                known.notes.followed = now;
                is_outdated = true;
            }
            self.set_deadline(&uri);
            self.follow_files(&uri);
            if is_outdated {
                self.show_again(&uri);
            }
        }
    }

    /// A run goes on with its session, if that had something to do.
    fn take_in_run(
        &mut self,
        state: AutomationRunState,
        notes: AutomationRunNotes,
        interrupted: &[ChannelUri],
    ) {
        let uri = ChannelUri::from(state.resource.as_str());
        let automation = ChannelUri::from(state.automation.as_str());
        let Some(known) = self.own.known.get_mut(&automation) else {
            return;
        };
        known.runs.push_front(uri.clone());
        self.own.runs.insert(uri.clone(), Run { automation, notes });
        let channel = Channel::AutomationRun(Box::new(state.clone()));
        self.core().channels.insert(uri.clone(), channel);
        match &state.lifecycle {
            // When the host is at work.
            AutomationRunLifecycle::Pending(_) => {
                let late = Deadline::RunIsLate(uri.clone());
                let core = self.core();
                core.deadlines.set(late, core.now);
            }
            AutomationRunLifecycle::Running(_) => {
                let sessions = state.sessions.iter();
                let sessions = sessions.map(|it| ChannelUri::from(it.as_str()));
                let mut sessions = sessions.filter(|it| interrupted.contains(it));
                match sessions.next() {
                    Some(session) => {
                        self.own.at_work.insert(session, uri);
                    }
                    None => {
                        let why = Label::HostInterrupted.text(Locale::default());
                        let error = error_info("hostInterrupted", why);
                        self.finish(&uri, Ending::Failed(error));
                    }
                }
            }
            _ => {}
        }
    }

    // What is shown

    fn entry(&self, uri: &ChannelUri) -> Option<&AutomationEntry> {
        let catalogue = ChannelUri::automations();
        let channels = &self.sessions.turns.core.channels;
        let mut entries = channels.automations(&catalogue)?.entries.iter();
        entries.find(|entry| entry.resource == uri.as_str())
    }

    fn run_state(&self, run: &ChannelUri) -> Option<&AutomationRunState> {
        self.sessions.turns.core.channels.automation_run(run)
    }

    /// What is derived has changed: everybody is shown it.
    fn show_again(&mut self, uri: &ChannelUri) {
        if let Some(entry) = self.entry(uri).cloned() {
            self.show(uri, entry);
        }
    }

    /// Shows an automation, with all that is derived of it, and stores it.
    fn show(&mut self, uri: &ChannelUri, mut entry: AutomationEntry) {
        let Some(known) = self.own.known.get(uri) else {
            return;
        };
        let next = next_occurrence(&entry, known.notes.followed);
        entry.next_run_at = next.map(|at| at.to_string());
        let (runs, cursor) = self.shown_runs(uri);
        (entry.runs, entry.runs_next_cursor) = (runs, cursor);
        let mut operations = vec![AutomationOperation::Update, AutomationOperation::Remove];
        if self.unfinished(uri) < UNFINISHED {
            operations.push(AutomationOperation::Run);
        }
        entry.operations = operations;
        entry.meta = match known.problems.is_empty() {
            true => None,
            false => {
                let own = json!({ "problems": known.problems });
                Some([("innkeeper".to_owned(), own)].into_iter().collect())
            }
        };
        let record = AutomationRecord {
            entry: entry.clone(),
            notes: known.notes.clone(),
        };
        let is_news = self.entry(uri) != Some(&entry);
        let core = self.core();
        if is_news {
            let set = Box::new(AutomationSetAction { automation: entry });
            let set = StateAction::AutomationSet(set);
            core.emit(&ChannelUri::automations(), set, None);
        }
        core.step.durable_first = true;
        core.store(StoreOp::PutAutomation(Box::new(record)));
        self.set_deadline(uri);
    }

    /// Writes a run down as it is.
    fn store_run(&mut self, run: &ChannelUri) {
        let notes = self.own.runs.get(run).map(|run| run.notes.clone());
        let state = self.run_state(run).cloned();
        if let Some((state, notes)) = state.zip(notes) {
            let core = self.core();
            core.step.durable_first = true;
            let record = AutomationRunRecord { state, notes };
            core.store(StoreOp::PutAutomationRun(Box::new(record)));
        }
    }

    /// How many runs of an automation are under way.
    fn unfinished(&self, uri: &ChannelUri) -> usize {
        let runs = self.own.known.get(uri).into_iter();
        let runs = runs.flat_map(|known| &known.runs);
        runs.filter_map(|run| self.run_state(run))
            .filter(|run| !is_finished(&run.lifecycle))
            .count()
    }

    /// When an automation has to be looked at again.
    fn set_deadline(&mut self, uri: &ChannelUri) {
        let deadline = Deadline::AutomationIsDue(uri.clone());
        let entry = self.entry(uri);
        let entry = entry.filter(|entry| entry.definition.enabled);
        let at = entry.and_then(|entry| {
            let next = entry.next_run_at.as_deref().and_then(Timestamp::parse);
            next.into_iter().chain(definition::ends_at(entry)).min()
        });
        let deadlines = &mut self.core().deadlines;
        match at {
            Some(at) => deadlines.set(deadline, at),
            None => deadlines.clear(&deadline),
        }
    }
}

/// The first occurrence of its schedules that has not been followed.
fn next_occurrence(entry: &AutomationEntry, followed: Timestamp) -> Option<Timestamp> {
    let triggers = entry.definition.triggers.iter();
    let schedules = triggers.filter_map(|trigger| match trigger {
        AutomationTrigger::Schedule(trigger) => Schedule::parse(&trigger.schedule).ok(),
        AutomationTrigger::Event(_) => None,
    });
    schedules
        .filter(|_| entry.definition.enabled)
        .filter_map(|schedule| schedule.next_after(followed))
        .min()
}
