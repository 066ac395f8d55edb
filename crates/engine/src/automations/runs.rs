//! What becomes of runs: a run ends with the turn that its message began, when
//! somebody cancels it, or when it has waited for a person for too long.

use std::time::Duration;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::bounds::{MAX_ID_BYTES, cut};
use innkeeper_protocol::newest::actions::{
    AutomationRunLifecycleChangedAction, AutomationRunSessionRemovedAction, StateAction,
};
use innkeeper_protocol::newest::state::{
    AutomationCancelledRunLifecycle, AutomationCompletedRunLifecycle, AutomationFailedRunLifecycle,
    AutomationRunLifecycle, AutomationRunState, ErrorInfo, UsageInfo,
};

use super::definition::patience_of;
use super::{AutomationsMut, is_finished};
use crate::core::{Deadline, TurnEnd, TurnOutcome, error_info};

/// For how long after its end a run may be the cause of a change that is told.
const AFTERMATH: Duration = Duration::from_secs(5);

/// How much of an error is kept.
const LONGEST_ERROR: usize = 4 * 1024;

/// How a run ends.
#[derive(Debug)]
pub(super) enum Ending {
    Completed(Option<UsageInfo>),
    Failed(ErrorInfo),
    Cancelled,
}

impl AutomationsMut<'_> {
    /// After every input: follows what has become of turns.
    pub(crate) fn settle(&mut self) {
        for end in self.core().take_turn_ends() {
            self.turn_ended(end);
        }
        if !self.own.at_work.is_empty() {
            self.review_running();
        }
        if self.own.review_waiting {
            self.start_waiting();
        }
    }

    fn turn_ended(&mut self, end: TurnEnd) {
        let TurnEnd { chat, .. } = &end;
        let Some(session) = self.core().channels.session_of(chat) else {
            return;
        };
        let run = self.own.at_work.get(&session).cloned();
        let Some(run) = run.filter(|_| *chat == ChannelUri::default_chat_of(session.as_str()))
        else {
            return self.session_news(&session, &end);
        };
        let ending = match end.outcome {
            TurnOutcome::Complete => Ending::Completed(self.usage_of(chat)),
            TurnOutcome::Cancelled => Ending::Cancelled,
            TurnOutcome::Failed(error) => Ending::Failed(*error),
        };
        self.finish(&run, ending);
    }

    /// What the last turn of a chat used.
    fn usage_of(&self, chat: &ChannelUri) -> Option<UsageInfo> {
        let chat = self.sessions.turns.core.channels.chat(chat)?;
        let usage = chat.turns.last()?.decode().ok()?.usage?;
        // What an agent adds to it may be of any size.
        Some(UsageInfo {
            meta: None,
            ..usage
        })
    }

    /// Runs whose sessions need somebody wait for so long, and those whose
    /// sessions are gone are over.
    fn review_running(&mut self) {
        let all = self.own.at_work.iter();
        let all: Vec<_> = all.map(|(it, run)| (it.clone(), run.clone())).collect();
        for (session, run) in all {
            if !self.sessions.turns.catalogue.contains(&session) {
                self.session_disposed(&session);
                continue;
            }
            let channels = &self.core().channels;
            // While it is on its way into memory nothing is known of it.
            let Some(known) = channels.session(&session) else {
                continue;
            };
            let chat = ChannelUri::default_chat_of(session.as_str());
            let chat = channels.chat(&chat);
            if chat.is_some_and(|chat| chat.head.active_turn.is_none()) {
                // Somebody cut the history, and the turn with it.
                self.finish(&run, Ending::Cancelled);
                continue;
            }
            let needs_somebody = known.state.input_needed.iter().flatten().count() > 0;
            let late = Deadline::RunIsLate(run.clone());
            match needs_somebody {
                false => self.core().deadlines.clear(&late),
                true if !self.core().deadlines.is_set(&late) => {
                    let patience = self.patience(&run);
                    let core = self.core();
                    core.deadlines.set(late, core.now.after(patience));
                }
                true => {}
            }
        }
    }

    fn patience(&self, run: &ChannelUri) -> Duration {
        let run = self.own.runs.get(run);
        let entry = run.and_then(|run| self.entry(&run.automation));
        let meta = entry.and_then(|entry| entry.definition.meta.as_ref());
        patience_of(meta).unwrap_or_default()
    }

    /// A run has waited for too long: to begin, or for a person.
    pub(crate) fn run_is_late(&mut self, run: &ChannelUri) {
        match self.run_state(run).map(|state| &state.lifecycle) {
            Some(AutomationRunLifecycle::Pending(_)) => self.has_not_begun(run),
            Some(AutomationRunLifecycle::Running(_)) => {
                let seconds = self.patience(run).as_secs();
                let why = format!(
                    "The agent needed an answer, and no one answered within {seconds} seconds. Run \
                     it again, approve what it does in its settings, or give it more patience."
                );
                let error = error_info("inputNeeded", why);
                self.end(run, Ending::Failed(error));
            }
            _ => {}
        }
    }

    pub(super) fn cancel(&mut self, run: &ChannelUri) {
        self.end(run, Ending::Cancelled);
    }

    /// Cancels the runs of an automation that is about to go.
    pub(super) fn cancel_all(&mut self, automation: &ChannelUri) {
        let known = self.own.known.get(automation);
        let runs: Vec<ChannelUri> = known
            .iter()
            .flat_map(|known| &known.runs)
            .cloned()
            .collect();
        for run in runs {
            self.cancel(&run);
        }
    }

    /// Ends a run, and what its sessions do.
    fn end(&mut self, run: &ChannelUri, ending: Ending) {
        let sessions = self.sessions_of(run);
        self.finish(run, ending);
        for session in sessions {
            let chat = ChannelUri::default_chat_of(session.as_str());
            self.sessions.turns.cancel_turn(&chat);
        }
    }

    fn sessions_of(&self, run: &ChannelUri) -> Vec<ChannelUri> {
        let at_work = self.own.at_work.iter();
        let of_run = at_work.filter(|(_, by)| *by == run);
        of_run.map(|(session, _)| session.clone()).collect()
    }

    /// A session was disposed of; if a run worked in it, the run is over.
    pub(crate) fn session_disposed(&mut self, session: &ChannelUri) {
        let Some(run) = self.own.at_work.get(session).cloned() else {
            return;
        };
        let removed = AutomationRunSessionRemovedAction {
            session: session.to_string(),
        };
        let removed = StateAction::AutomationRunSessionRemoved(removed);
        self.core().emit(&run, removed, None);
        let error = error_info("sessionDisposed", "A client disposed of the run's session.");
        self.finish(&run, Ending::Failed(error));
    }

    /// Says how a run ended. Whatever it was at work with is let go.
    pub(super) fn finish(&mut self, run: &ChannelUri, ending: Ending) {
        let Some(state) = self.run_state(run).filter(|it| !is_finished(&it.lifecycle)) else {
            return;
        };
        let (created_at, started_at) = (created_at(Some(state)), started_at(state));
        let core = self.core();
        let completed_at = core.now.to_string();
        core.deadlines.clear(&Deadline::RunIsLate(run.clone()));
        let lifecycle = match ending {
            Ending::Completed(usage) => {
                AutomationRunLifecycle::Completed(AutomationCompletedRunLifecycle {
                    started_at: started_at.unwrap_or_else(|| created_at.clone()),
                    created_at,
                    completed_at,
                    usage,
                })
            }
            Ending::Failed(error) => AutomationRunLifecycle::Failed(AutomationFailedRunLifecycle {
                created_at,
                started_at,
                completed_at,
                error: shortened(error),
            }),
            Ending::Cancelled => {
                AutomationRunLifecycle::Cancelled(AutomationCancelledRunLifecycle {
                    created_at,
                    started_at,
                    completed_at,
                })
            }
        };
        let changed = Box::new(AutomationRunLifecycleChangedAction { lifecycle });
        let changed = StateAction::AutomationRunLifecycleChanged(changed);
        core.emit(run, changed, None);
        self.remember_where_it_worked(run);
        self.own.at_work.retain(|_, by| by != run);
        self.own.review_waiting = true;
        let Some(known) = self.own.runs.get_mut(run) else {
            return;
        };
        known.notes.waits = None;
        let automation = known.automation.clone();
        self.store_run(run);
        self.prune(&automation);
        self.show_again(&automation);
    }

    fn remember_where_it_worked(&mut self, run: &ChannelUri) {
        let Some(automation) = self.own.runs.get(run).map(|run| run.automation.clone()) else {
            return;
        };
        let mut directories = Vec::new();
        for session in self.sessions_of(run) {
            directories.extend(self.directories_of(&session));
        }
        let now = self.core().now;
        self.own.left.retain(|(until, ..)| *until > now);
        self.own
            .left
            .push((now.after(AFTERMATH), automation, directories));
    }

    pub(super) fn directories_of(&self, session: &ChannelUri) -> Vec<String> {
        let session = self.sessions.turns.core.channels.session(session);
        let directories = session.and_then(|it| it.state.working_directories.clone());
        directories.unwrap_or_default()
    }
}

/// An error as it is kept with a run: the session has all of it.
fn shortened(error: ErrorInfo) -> ErrorInfo {
    ErrorInfo {
        error_type: cut(&error.error_type, MAX_ID_BYTES).to_owned(),
        message: cut(&error.message, LONGEST_ERROR).to_owned(),
        stack: None,
        meta: None,
    }
}

pub(super) fn created_at(state: Option<&AutomationRunState>) -> String {
    let created_at = state.map(|state| match &state.lifecycle {
        AutomationRunLifecycle::Pending(it) => &it.created_at,
        AutomationRunLifecycle::Running(it) => &it.created_at,
        AutomationRunLifecycle::Completed(it) => &it.created_at,
        AutomationRunLifecycle::Failed(it) => &it.created_at,
        AutomationRunLifecycle::Cancelled(it) => &it.created_at,
    });
    created_at.cloned().unwrap_or_default()
}

fn started_at(state: &AutomationRunState) -> Option<String> {
    match &state.lifecycle {
        AutomationRunLifecycle::Pending(_) => None,
        AutomationRunLifecycle::Running(it) => Some(it.started_at.clone()),
        AutomationRunLifecycle::Completed(it) => Some(it.started_at.clone()),
        AutomationRunLifecycle::Failed(it) => it.started_at.clone(),
        AutomationRunLifecycle::Cancelled(it) => it.started_at.clone(),
    }
}
