//! How a run begins: it is admitted and stored, and gets a session as soon as
//! its agent is there.

use std::time::Duration;

use innkeeper_protocol::command::CreateSession;
use innkeeper_protocol::newest::actions::{
    AutomationRunLifecycleChangedAction, AutomationRunPrimarySessionChangedAction,
    AutomationRunSessionSetAction, StateAction,
};
use innkeeper_protocol::newest::commands::{
    CreateSessionParams, RunAutomationParams, RunAutomationResult,
};
use innkeeper_protocol::newest::errors::ahp_error_codes;
use innkeeper_protocol::newest::state::{
    AutomationDefinition, AutomationManualRunOrigin, AutomationPendingRunLifecycle,
    AutomationRunLifecycle, AutomationRunOrigin, AutomationRunState, AutomationRunningRunLifecycle,
    AutomationSessionOrigin, AutomationTriggeredRunOrigin, ErrorInfo, Message, SessionOrigin,
};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::record::AutomationRunNotes;
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::{ChannelUri, Timestamp};

use super::definition::{disable_if_over, most_runs};
use super::runs::{Ending, created_at};
use super::{AutomationsMut, Run, UNFINISHED};
use crate::core::channels::Channel;
use crate::core::{Deadline, RUN_SCHEME, error_info};
use crate::labels::Locale;
use crate::sessions::Creator;

/// How many runs have a session at work at once, of all automations.
const AT_WORK: usize = 16;

/// How long a run waits until it can begin.
const WAITS: Duration = Duration::from_secs(24 * 3_600);

/// Why a run has not begun.
enum Hindrance {
    /// It may begin later.
    Waits(String),
    /// It will never begin.
    Fails(Box<ErrorInfo>),
}

impl AutomationsMut<'_> {
    /// Starts a run because a client wants one: once for each request.
    pub(crate) fn run(&mut self, params: RunAutomationParams) -> Result<Reply, RpcError> {
        let RunAutomationParams {
            automation,
            request_id,
            ..
        } = params;
        let uri = ChannelUri::from(automation.as_str());
        let Some(known) = self.own.known.get(&uri) else {
            return Err(RpcError::not_found(&automation));
        };
        if request_id.is_empty() {
            return Err(RpcError::invalid_params("`requestId` must not be empty"));
        }
        let is_same = |run: &&ChannelUri| {
            let run = self.own.runs.get(*run);
            run.is_some_and(|run| run.notes.request.as_ref() == Some(&request_id))
        };
        let existing = known.runs.iter().find(is_same).cloned();
        let resource = match existing {
            Some(run) => run,
            None if self.core().shutting_down => {
                return Err(RpcError::internal("the host is about to end; try again"));
            }
            None if self.unfinished(&uri) >= UNFINISHED => {
                return Err(RpcError::internal(format!(
                    "{UNFINISHED} runs of this automation are under way, and there may be no \
                     more; cancel some, or wait"
                )));
            }
            None => {
                let origin = AutomationRunOrigin::Manual(AutomationManualRunOrigin {});
                self.admit(&uri, origin, Some(request_id))
            }
        };
        let resource = resource.to_string();
        // It is told when it is stored, also if that was asked a moment ago.
        self.core().step.durable_first = true;
        Ok(Reply::RunAutomation(RunAutomationResult { resource }))
    }

    /// Starts a run because of a trigger, unless one waits already: what could
    /// not begin is not to begin many times over.
    pub(super) fn admit_triggered(&mut self, uri: &ChannelUri, by: AutomationTriggeredRunOrigin) {
        let Some(mut entry) = self.entry(uri).cloned() else {
            return;
        };
        if !entry.definition.enabled || self.core().shutting_down {
            return;
        }
        if self.has_pending(uri) || self.unfinished(uri) >= UNFINISHED {
            tracing::warn!(automation = %uri, trigger = by.trigger_id, "too many runs wait");
            return;
        }
        if most_runs(&entry.definition).is_some() {
            entry.run_count = Some(entry.run_count.unwrap_or_default() + 1);
            let now = self.core().now;
            if disable_if_over(&mut entry, now) {
                self.leave_files(uri);
            }
            self.show(uri, entry);
        }
        self.admit(uri, AutomationRunOrigin::Trigger(by), None);
    }

    fn has_pending(&self, uri: &ChannelUri) -> bool {
        let runs = self.own.known.get(uri).into_iter();
        let mut runs = runs.flat_map(|known| &known.runs);
        runs.any(|run| {
            let state = self.run_state(run);
            state.is_some_and(|it| matches!(it.lifecycle, AutomationRunLifecycle::Pending(_)))
        })
    }

    fn new_run_name(&mut self) -> ChannelUri {
        loop {
            self.own.last_run += 1;
            let last = self.own.last_run;
            let core = self.core();
            let uri = ChannelUri::from(format!("{RUN_SCHEME}/{}-{last}", core.config.nonce));
            if !core.channels.contains(&uri) {
                return uri;
            }
        }
    }

    /// Makes a run, stores it, and begins it if it can begin.
    fn admit(
        &mut self,
        automation: &ChannelUri,
        origin: AutomationRunOrigin,
        request: Option<String>,
    ) -> ChannelUri {
        let uri = self.new_run_name();
        let core = self.core();
        let state = AutomationRunState {
            resource: uri.to_string(),
            automation: automation.to_string(),
            origin,
            lifecycle: AutomationRunLifecycle::Pending(AutomationPendingRunLifecycle {
                created_at: core.now.to_string(),
            }),
            sessions: Vec::new(),
            primary_session: None,
            meta: None,
        };
        let channel = Channel::AutomationRun(Box::new(state));
        core.channels.insert(uri.clone(), channel);
        let late = Deadline::RunIsLate(uri.clone());
        core.deadlines.set(late, core.now.after(WAITS));
        let run = Run {
            automation: automation.clone(),
            notes: AutomationRunNotes {
                request,
                waits: None,
            },
        };
        self.own.runs.insert(uri.clone(), run);
        if let Some(known) = self.own.known.get_mut(automation) {
            known.runs.push_front(uri.clone());
        }
        self.store_run(&uri);
        self.start(&uri);
        uri
    }

    /// Begins a run that waits, or says what it waits for.
    pub(super) fn start(&mut self, run: &ChannelUri) {
        let Some(automation) = self.own.runs.get(run).map(|run| run.automation.clone()) else {
            return;
        };
        match self.try_start(run, &automation) {
            Ok(()) => self.say_what_it_waits_for(run, None),
            Err(Hindrance::Waits(why)) => self.say_what_it_waits_for(run, Some(why)),
            Err(Hindrance::Fails(error)) => self.finish(run, Ending::Failed(*error)),
        }
        self.show_again(&automation);
    }

    fn say_what_it_waits_for(&mut self, run: &ChannelUri, waits: Option<String>) {
        if let Some(run) = self.own.runs.get_mut(run) {
            run.notes.waits = waits;
        }
        self.store_run(run);
    }

    fn try_start(&mut self, run: &ChannelUri, automation: &ChannelUri) -> Result<(), Hindrance> {
        let entry = self.entry(automation);
        let Some(definition) = entry.map(|entry| entry.definition.clone()) else {
            return Ok(());
        };
        self.check_ready(&definition)?;
        let session = self.create_session(run, automation, &definition)?;
        let created_at = created_at(self.run_state(run));
        let core = self.core();
        core.deadlines.clear(&Deadline::RunIsLate(run.clone()));
        let running = AutomationRunningRunLifecycle {
            created_at,
            started_at: core.now.to_string(),
        };
        let lifecycle = AutomationRunLifecycle::Running(running);
        let began = Box::new(AutomationRunLifecycleChangedAction { lifecycle });
        let linked = AutomationRunSessionSetAction {
            session: session.to_string(),
        };
        let first = AutomationRunPrimarySessionChangedAction {
            primary_session: Some(session.to_string()),
        };
        for action in [
            StateAction::AutomationRunLifecycleChanged(began),
            StateAction::AutomationRunSessionSet(linked),
            StateAction::AutomationRunPrimarySessionChanged(first),
        ] {
            core.emit(run, action, None);
        }
        self.own.at_work.insert(session.clone(), run.clone());
        let chat = ChannelUri::default_chat_of(session.as_str());
        let message = message_of(definition);
        let turns = &mut self.sessions.turns;
        turns.start_turn(&chat, message, None, Locale::default());
        Ok(())
    }

    /// Whether a run can begin as far as others are concerned.
    fn check_ready(&self, definition: &AutomationDefinition) -> Result<(), Hindrance> {
        let turns = &self.sessions.turns;
        let core = &*turns.core;
        if core.store_failure.is_some() {
            let why = "the host cannot write to its store";
            return Err(Hindrance::Waits(why.to_owned()));
        }
        if core.shutting_down {
            return Err(Hindrance::Waits("the host is about to end".to_owned()));
        }
        if self.own.at_work.len() >= AT_WORK {
            return Err(Hindrance::Waits(format!(
                "{AT_WORK} runs are at work, and there may be no more at once"
            )));
        }
        let agent = turns
            .agents
            .wanted(core, definition.session.provider.as_deref())
            .map_err(hindrance)?;
        if !agent.works {
            return Err(Hindrance::Waits(format!(
                "{} cannot be started; `innkeeper agents` says why",
                agent.info.display_name
            )));
        }
        Ok(())
    }

    /// A new session, as the template of the automation has it.
    fn create_session(
        &mut self,
        run: &ChannelUri,
        automation: &ChannelUri,
        definition: &AutomationDefinition,
    ) -> Result<ChannelUri, Hindrance> {
        let id = run.as_str().trim_start_matches(RUN_SCHEME);
        let id = id.trim_start_matches('/');
        let session = ChannelUri::from(format!("ahp-session:/run-{id}"));
        let template = definition.session.clone();
        let new = CreateSession {
            params: CreateSessionParams {
                channel: session.to_string(),
                meta: None,
                provider: template.provider,
                working_directories: template.working_directories,
                config: template.config,
                active_client: None,
                progress_token: None,
            },
            fork: None,
            model: template.model,
            agent: template.agent,
        };
        let origin = AutomationSessionOrigin {
            automation: automation.to_string(),
            run: run.to_string(),
        };
        let creator = Creator::Run {
            origin: SessionOrigin::Automation(origin),
            title: definition.title.clone(),
        };
        let created = self.sessions.create_for(creator, new);
        created.map_err(hindrance)?;
        Ok(session)
    }

    /// Something may have changed that runs wait for.
    pub(crate) fn agents_changed(&mut self) {
        self.start_waiting();
    }

    /// Begins those runs that wait and can begin, the oldest first.
    pub(super) fn start_waiting(&mut self) {
        self.own.review_waiting = false;
        let runs = self.own.known.values().flat_map(|known| &known.runs);
        let waiting = runs.filter_map(|run| match &self.run_state(run)?.lifecycle {
            AutomationRunLifecycle::Pending(pending) => {
                Some((pending.created_at.clone(), run.clone()))
            }
            _ => None,
        });
        let mut waiting: Vec<(String, ChannelUri)> = waiting.collect();
        waiting.sort();
        for (_, run) in waiting {
            self.start(&run);
        }
    }

    /// A run that waits to begin has waited for too long, unless the host has
    /// just begun: then its time begins anew.
    pub(super) fn has_not_begun(&mut self, run: &ChannelUri) {
        let created = created_at(self.run_state(run));
        let created = Timestamp::parse(&created);
        let core = self.core();
        let ends = created.unwrap_or(core.now).after(WAITS);
        if ends > core.now {
            let late = Deadline::RunIsLate(run.clone());
            core.deadlines.set(late, ends);
            return self.start(run);
        }
        let waits = self.own.runs.get(run);
        let waits = waits.and_then(|run| run.notes.waits.clone());
        let why = format!(
            "The run could not begin within a day: {}.",
            waits.as_deref().unwrap_or("the host was not running")
        );
        let error = error_info("notReady", why);
        self.finish(run, Ending::Failed(error));
    }
}

/// What a run is told, with what its template selects.
fn message_of(definition: AutomationDefinition) -> Message {
    let AutomationDefinition {
        message, session, ..
    } = definition;
    Message {
        model: message.model.or(session.model),
        agent: message.agent.or(session.agent),
        ..message
    }
}

/// An agent that is missing may come, and one that has no token may get one.
fn hindrance(error: RpcError) -> Hindrance {
    match error.code {
        ahp_error_codes::PROVIDER_NOT_FOUND | ahp_error_codes::AUTH_REQUIRED => {
            Hindrance::Waits(error.message)
        }
        _ => Hindrance::Fails(Box::new(error_info("sessionTemplate", error.message))),
    }
}
