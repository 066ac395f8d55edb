//! What comes in, and which module it is for. What a module hands back is for
//! another one to do.

use innkeeper_protocol::record::ContentRecord;
use innkeeper_protocol::workspace::changes::ChangesReport;

use crate::changes::News;
use crate::core::Deadline;
use crate::{ConnectionId, Engine, Input, Ticket, changes, servers};

/// How much that is due is served in one step: some of it has to be loaded.
const DUE_AT_ONCE: usize = 64;

impl Engine {
    pub(crate) fn take(&mut self, input: Input) {
        let core = &mut self.core;
        match input {
            Input::Connected { connection } => self.clients.connected(connection),
            Input::Message {
                connection,
                version,
                message,
            } => self.message(connection, version, message),
            Input::Disconnected { connection } => self.disconnected(connection),
            Input::Agent(report) => self.turns().agent_reported(report),
            Input::AgentsChanged(agents) => {
                self.agents.changed(core, agents);
                self.agents.tell_all_settings(core);
                self.customizations().reconcile_all();
                self.turns().models_changed();
                self.automations().agents_changed();
            }
            Input::SessionLoaded { session, loaded } => {
                for ticket in self.sessions().loaded(&session, loaded) {
                    self.postponed_ready(ticket);
                }
            }
            Input::DirectoriesChecked { ticket, wrong } => {
                self.sessions().directories_checked(ticket, wrong);
            }
            Input::LogLoaded { ticket, entries } => self.log_loaded(ticket, entries),
            Input::LookedUp { ticket, outcome } => {
                let around = (&self.clients, &self.catalogue);
                self.lookups.looked_up(core, around, ticket, outcome);
            }
            Input::InstallableListed { ticket, agents } => {
                self.installs.listed(core, ticket, agents);
            }
            Input::Installing { ticket, line } => self.installs.goes_on(core, ticket, line),
            Input::Installed { ticket, outcome } => {
                self.installs.is_over(core, ticket, outcome);
            }
            Input::ContentLoaded { ticket, content } => self.content_loaded(ticket, content),
            Input::FilesFound { ticket, files } => {
                self.completions.files_found(core, ticket, files);
            }
            Input::ResourceDone { ticket, outcome } => self.resources.done(core, ticket, outcome),
            Input::TextRead { ticket, text } => {
                self.anchoring.text_read(core, ticket, text.as_deref());
            }
            Input::ContentTaken { ticket, outcome } => {
                self.resources.taken(core, &self.catalogue, ticket, outcome);
            }
            Input::Terminal(report) => {
                if let Some(over) = self.terminals.reported(core, report) {
                    self.turns().run_over(over);
                }
            }
            Input::Watch(report) => {
                if let Some(report) = self.watches.reported(core, report) {
                    self.automations().watch_reported(report);
                }
            }
            Input::Changes(report) => self.changes_reported(report),
            Input::LeftoversFound(found) => {
                changes::leftovers_found(core, &self.catalogue, found);
            }
            Input::Customization(report) => {
                self.customizations().reported(report);
                self.turns().open_held_backends();
            }
            Input::Mcp(report) => self.servers.reported(core, report),
            Input::Telemetry(batch) => core.telemetry_collected(batch),
            Input::ConfigCompleted { ticket, items } => {
                self.completions.values_found(core, ticket, items);
            }
            Input::StoreFailing { reason } => core.store_failure = Some(reason),
            Input::StoreRecovered => {
                core.store_failure = None;
                self.automations().agents_changed();
            }
            Input::LogTooLarge { below } => core.trim_log_below(below),
            Input::NotStored { sessions } => self.sessions().not_stored(sessions),
            Input::ClockSetForward { by } => core.clock_set_forward(by),
            Input::Tick => self.tick(),
            Input::Shutdown => self.shutdown(),
        }
    }

    /// After every input: turns that have become too large end, what nobody listens to any more is let go, and what
    /// is derived from state is brought up to date.
    pub(crate) fn settle(&mut self) {
        loop {
            while let Some(news) = self.servers.take_news() {
                self.heard_of_servers(news);
            }
            for copied in self.customizations.take_copied() {
                self.automations().copied(copied);
            }
            // Most inputs only stream text. What automations do about what they
            // hear of has to be brought up to date in turn.
            if self.core.is_settled() {
                return;
            }
            self.settle_once();
            self.automations().settle();
        }
    }

    fn settle_once(&mut self) {
        while let Some(chat) = self.core.next_overgrown() {
            self.turns().end_overgrown(&chat);
        }
        for channel in self.core.subscriptions.take_left() {
            // Somebody else may have come in the same step.
            if !self.core.subscriptions.has_channel(&channel) {
                let core = &mut self.core;
                self.watches.release(core, &channel);
                self.terminals.leave(core, &channel);
                self.changes.close(core, &channel);
                self.changes.observe(core, &channel, false);
                self.sessions().is_used(&channel);
            }
        }
        self.sessions().settle();
    }

    /// What servers have to do with turns.
    fn heard_of_servers(&mut self, news: servers::News) {
        for session in news.looks_of {
            self.customizations().reconcile(&session);
        }
        let mut turns = self.turns();
        for session in news.tools_of {
            turns.offer_client_tools(&session);
        }
        for answered in news.answered {
            turns.server_answered(answered);
        }
        if news.may_begin {
            turns.open_held_backends();
        }
    }

    fn disconnected(&mut self, connection: ConnectionId) {
        self.clients.disconnected(&mut self.core, connection);
        self.resources.forget_connection(connection);
        self.changes.forget_connection(&mut self.core, connection);
        self.terminals.forget_connection(connection);
        self.completions.forget_connection(connection);
        self.lookups.forget_connection(connection);
        self.installs.forget_connection(connection);
        self.servers.forget_connection(&mut self.core, connection);
        self.reconnects
            .retain(|_, waiting| waiting.connection != connection);
        self.postponed
            .retain(|_, postponed| postponed.connection() != connection);
        let core = &mut self.core;
        for answer in self.client_calls.connection_ended(core, connection) {
            self.customizations().call_answered(answer);
        }
    }

    fn content_loaded(&mut self, ticket: Ticket, content: Result<Option<ContentRecord>, String>) {
        if self.turns().content_loaded(ticket, &content) {
            return;
        }
        let core = &mut self.core;
        let found = content.as_ref().ok().and_then(Option::as_ref);
        if let Some(awaited) = self.terminals.loaded(core, ticket, found) {
            self.subscribe(awaited.connection, Some(awaited.id), *awaited.params);
        }
    }

    fn changes_reported(&mut self, report: ChangesReport) {
        match self.changes.reported(&mut self.core, &self.clients, report) {
            None => {}
            Some(News::StateKept { session, turn }) => self.turns().state_kept(&session, &turn),
            Some(News::FilesChanged { session }) => {
                self.anchoring.files_changed(&mut self.core, &session);
            }
            Some(News::FilesTakenBack {
                session,
                operation,
                outcome,
            }) => {
                let mut sessions = self.sessions();
                sessions.files_taken_back(&session, operation, outcome);
            }
            Some(News::NothingKept { session }) => self.turns().nothing_kept(&session),
            Some(News::Isolated { session }) => self.sessions().isolated(&session),
            Some(News::IsolationFailed { session, error }) => {
                self.sessions().failed(&session, &error);
            }
        }
    }

    /// Serves what is due, as far as one step may take.
    fn tick(&mut self) {
        for _ in 0..DUE_AT_ONCE {
            let now = self.core.now;
            let Some(deadline) = self.core.deadlines.take_due(now) else {
                return;
            };
            self.serve(deadline);
        }
    }

    fn serve(&mut self, deadline: Deadline) {
        let core = &mut self.core;
        match deadline {
            Deadline::ClientDeparts(client) => {
                self.clients.departs(&client);
                self.sessions().end_roles_of(&client);
            }
            Deadline::TokenExpires(resource) => self.agents.token_expired(core, &resource),
            Deadline::WatchIsUnheard(watch) => self.watches.release(core, &watch),
            Deadline::StateBeforeTurn(chat) => self.turns().state_is_late(&chat),
            Deadline::ClientIsSilent(call) => {
                if let Some(answer) = self.client_calls.give_up(core, call) {
                    self.customizations().call_answered(answer);
                }
            }
            Deadline::ServerStarts(run) => self.servers.is_late(core, run),
            Deadline::SourceIsUnread(_) => self.turns().open_held_backends(),
            Deadline::SummaryIsHeld(session) => self.sessions().publish_held_summary(&session),
            Deadline::TerminalsAreHeard => self.terminals.tell_heard(core),
            Deadline::SessionIsUnwritten(session) => self.sessions().review_unwritten(session),
            Deadline::AutomationIsDue(automation) => self.automations().is_due(&automation),
            Deadline::RunIsLate(run) => self.automations().run_is_late(&run),
            Deadline::FilesRest => self.automations().files_rest(),
            Deadline::FilesAreFollowed => self.automations().follow_files_again(),
            Deadline::Sweep => self.sessions().release_idle_sessions(),
        }
    }

    fn shutdown(&mut self) {
        self.core.shutting_down = true;
        self.turns().shutdown();
        self.terminals.close_all(&mut self.core);
        self.sessions().publish_all_summaries();
        self.settle();
        self.core.release_reserved_numbers();
        self.core.step.durable_first = true;
    }
}
