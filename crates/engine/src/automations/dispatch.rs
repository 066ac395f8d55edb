//! What clients dispatch to the catalogue of automations and to runs.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    AutomationCreateRequestedAction, AutomationRemovedAction, AutomationUpdateRequestedAction,
    StateAction,
};
use innkeeper_protocol::newest::state::{AutomationDefinition, AutomationEntry};
use innkeeper_protocol::outgoing::RejectionCode;
use innkeeper_protocol::record::{AutomationNotes, StoreOp};

use super::definition::{checked, disable_if_over, most_runs, patched};
use super::{Automation, AutomationsMut, PAGE, is_finished};
use crate::core::{AUTOMATION_SCHEME, Deadline, Refusal, Sender, Verdict};

/// What follows from an action that was accepted.
#[derive(Debug)]
enum After {
    Nothing,
    Defined {
        automation: ChannelUri,
        definition: Box<AutomationDefinition>,
    },
    Removed {
        automation: ChannelUri,
    },
}

impl AutomationsMut<'_> {
    /// Takes what a client dispatched to the catalogue.
    pub(crate) fn dispatched(&mut self, action: StateAction, sender: Sender) {
        let verdict = match action {
            StateAction::AutomationCreateRequested(asked) => self.judge_creation(asked),
            StateAction::AutomationUpdateRequested(asked) => self.judge_update(asked),
            StateAction::AutomationRemoved(removed) => self.judge_removal(removed),
            action => Verdict::NotAccepted(action),
        };
        if let Verdict::Apply(_, After::Removed { automation }) = &verdict {
            self.cancel_all(automation);
        }
        let catalogue = ChannelUri::automations();
        match self.core().carry_out(&catalogue, sender, verdict) {
            None | Some(After::Nothing) => {}
            Some(After::Defined {
                automation,
                definition,
            }) => self.define(&automation, *definition),
            Some(After::Removed { automation }) => self.forget(&automation),
        }
    }

    fn judge_creation(&self, asked: Box<AutomationCreateRequestedAction>) -> Verdict<After> {
        let automation = ChannelUri::from(asked.resource.as_str());
        let outcome = self.check_creation(&automation, asked.definition.clone());
        let action = StateAction::AutomationCreateRequested(asked);
        match outcome {
            Ok(Some(definition)) => {
                let definition = Box::new(definition);
                let after = After::Defined {
                    automation,
                    definition,
                };
                Verdict::Apply(action, after)
            }
            Ok(None) => Verdict::Apply(action, After::Nothing),
            Err(refusal) => Verdict::Reject(action, refusal),
        }
    }

    /// Nothing is to be done if the same was asked before.
    fn check_creation(
        &self,
        automation: &ChannelUri,
        definition: AutomationDefinition,
    ) -> Result<Option<AutomationDefinition>, Refusal> {
        let id = automation.as_str().strip_prefix(AUTOMATION_SCHEME);
        if id.is_none_or(|id| id.trim_start_matches('/').is_empty()) {
            return Err(format!(
                "`{automation}` cannot name an automation; use a URI such as \
                 `{AUTOMATION_SCHEME}/<uuid>`"
            )
            .into());
        }
        let definition = checked(definition)?;
        if let Some(known) = self.entry(automation) {
            let same = known.definition == definition;
            return match same {
                true => Ok(None),
                false => Err(format!(
                    "there is an automation `{automation}` already; update it, or choose another \
                     name"
                )
                .into()),
            };
        }
        let limit = self.sessions.turns.core.config.limits.automations;
        if self.own.known.len() >= limit {
            let reason = format!(
                "this host keeps at most {limit} automations; remove some, or raise \
                 limits.automations"
            );
            return Err(Refusal::new(RejectionCode::LimitReached, reason));
        }
        Ok(Some(definition))
    }

    fn judge_update(&self, asked: Box<AutomationUpdateRequestedAction>) -> Verdict<After> {
        let automation = ChannelUri::from(asked.resource.as_str());
        let outcome = match self.entry(&automation) {
            None => Err(Refusal::new(
                RejectionCode::AlreadyDone,
                format!("there is no automation `{automation}` any more"),
            )),
            Some(known) => checked(patched(known.definition.clone(), asked.changes.clone())),
        };
        let action = StateAction::AutomationUpdateRequested(asked);
        match outcome {
            Ok(definition) => {
                let definition = Box::new(definition);
                let after = After::Defined {
                    automation,
                    definition,
                };
                Verdict::Apply(action, after)
            }
            Err(refusal) => Verdict::Reject(action, refusal),
        }
    }

    fn judge_removal(&self, removed: AutomationRemovedAction) -> Verdict<After> {
        let automation = ChannelUri::from(removed.resource.as_str());
        let after = match self.own.known.contains_key(&automation) {
            true => After::Removed { automation },
            false => After::Nothing,
        };
        Verdict::Apply(StateAction::AutomationRemoved(removed), after)
    }

    /// Takes what a client dispatched to a run.
    pub(crate) fn run_dispatched(&mut self, run: &ChannelUri, action: StateAction, sender: Sender) {
        let StateAction::AutomationRunCancelRequested(_) = action else {
            let refused: Verdict<()> = Verdict::NotAccepted(action);
            self.core().carry_out(run, sender, refused);
            return;
        };
        let state = self.run_state(run);
        let verdict = match state.is_some_and(|state| !is_finished(&state.lifecycle)) {
            true => Verdict::Apply(action, ()),
            false => {
                let refusal = Refusal::new(RejectionCode::AlreadyDone, "the run is over");
                Verdict::Reject(action, refusal)
            }
        };
        if self.core().carry_out(run, sender, verdict).is_some() {
            self.cancel(run);
        }
    }

    /// Stores a definition that was accepted, and follows it from now on.
    fn define(&mut self, uri: &ChannelUri, definition: AutomationDefinition) {
        let now = self.core().now;
        let mut entry = match self.entry(uri).cloned() {
            Some(entry) => entry,
            None => {
                let automation = Automation {
                    notes: AutomationNotes {
                        followed: now,
                        shown: PAGE,
                    },
                    ..Automation::default()
                };
                self.own.known.insert(uri.clone(), automation);
                new_entry(uri, definition.clone(), &now.to_string())
            }
        };
        let before = std::mem::replace(&mut entry.definition, definition);
        let after = &entry.definition;
        let is_enabled_now = after.enabled && !before.enabled;
        if (is_enabled_now || before.triggers != after.triggers)
            && let Some(known) = self.own.known.get_mut(uri)
        {
            // What was not to be done so far has not been missed.
            known.notes.followed = now;
        }
        let had_allowance = entry.run_count.is_some() && most_runs(&before).is_some();
        entry.run_count = match most_runs(after) {
            None => None,
            Some(_) if is_enabled_now || !had_allowance => Some(0),
            Some(_) => entry.run_count,
        };
        entry.modified_at = now.to_string();
        disable_if_over(&mut entry, now);
        self.show(uri, entry);
        self.follow_files(uri);
        // What a run waits for may be otherwise now.
        self.start_waiting();
    }

    /// An automation was removed, and everything that is kept of it goes.
    fn forget(&mut self, uri: &ChannelUri) {
        self.leave_files(uri);
        let known = self.own.known.remove(uri);
        for run in known.into_iter().flat_map(|known| known.runs) {
            self.forget_run(&run);
        }
        let core = self.core();
        core.deadlines
            .clear(&Deadline::AutomationIsDue(uri.clone()));
        core.step.durable_first = true;
        core.store(StoreOp::RemoveAutomation {
            automation: uri.clone(),
        });
    }
}

fn new_entry(uri: &ChannelUri, definition: AutomationDefinition, now: &str) -> AutomationEntry {
    AutomationEntry {
        resource: uri.to_string(),
        definition,
        next_run_at: None,
        run_count: None,
        runs: Vec::new(),
        runs_next_cursor: None,
        operations: Vec::new(),
        customizations: None,
        created_at: now.to_owned(),
        modified_at: now.to_owned(),
        meta: None,
    }
}
