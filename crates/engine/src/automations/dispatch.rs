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
use super::plugins::{Asked, Copies, exchanged};
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
        let automation = match &action {
            StateAction::AutomationCreateRequested(asked) => asked.resource.as_str(),
            StateAction::AutomationUpdateRequested(asked) => asked.resource.as_str(),
            StateAction::AutomationRemoved(removed) => removed.resource.as_str(),
            _ => "",
        };
        let automation = ChannelUri::from(automation);
        let asked = Asked { action, sender };
        if let Some(asked) = self.waits_for_copies(&automation, asked) {
            self.take(asked, Copies::new());
        }
    }

    /// Decides about what a client said, with the copies of plugins that were
    /// made for it.
    pub(super) fn take(&mut self, asked: Asked, made: Copies) {
        let Asked { action, sender } = asked;
        let verdict = match action {
            StateAction::AutomationCreateRequested(asked) => self.judge_creation(asked),
            StateAction::AutomationUpdateRequested(asked) => self.judge_update(asked, &sender),
            StateAction::AutomationRemoved(removed) => self.judge_removal(removed),
            action => Verdict::NotAccepted(action),
        };
        let catalogue = ChannelUri::automations();
        match verdict {
            Verdict::Apply(
                action,
                After::Defined {
                    automation,
                    definition,
                },
            ) => {
                let missing = self.not_copied(&automation, &definition, &made);
                if !missing.is_empty() {
                    return self.make_copies(&automation, Asked { action, sender }, missing);
                }
                self.core().emit(&catalogue, action, Some(sender));
                self.define(&automation, *definition, made);
            }
            Verdict::Apply(action, After::Removed { automation }) => {
                self.cancel_all(&automation);
                let copies = self.copies_of(&automation);
                self.core().emit(&catalogue, action, Some(sender));
                self.forget(&automation);
                self.copies_changed(&automation, copies);
            }
            verdict => {
                self.core().carry_out(&catalogue, sender, verdict);
                self.remove_copies(made);
            }
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
        let definition = checked(self.sessions.turns.core, definition)?;
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

    fn judge_update(
        &self,
        asked: Box<AutomationUpdateRequestedAction>,
        sender: &Sender,
    ) -> Verdict<After> {
        let automation = ChannelUri::from(asked.resource.as_str());
        let outcome = match self.entry(&automation) {
            None => Err(Refusal::new(
                RejectionCode::AlreadyDone,
                format!("automation `{automation}` no longer exists"),
            )),
            Some(known) => {
                let mut changes = asked.changes.clone();
                if let Some(session) = &mut changes.session
                    && !self.sees_plugins(sender)
                {
                    // Whoever is not shown them cannot mean to remove them.
                    session.customizations = known.definition.session.customizations.clone();
                }
                let definition = patched(known.definition.clone(), changes);
                checked(self.sessions.turns.core, definition)
            }
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

    fn sees_plugins(&self, sender: &Sender) -> bool {
        let clients = &self.sessions.turns.clients;
        let version = clients.spoken_by(&sender.origin.client_id);
        version.is_none_or(|(version, _)| version.keeps_plugins_of_automations())
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
    fn define(&mut self, uri: &ChannelUri, definition: AutomationDefinition, made: Copies) {
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
        let (copies, gone) = exchanged(&entry, &definition, made);
        let copies_differ = entry.customizations != copies;
        entry.customizations = copies;
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
        if copies_differ {
            self.copies_changed(uri, gone);
        }
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
