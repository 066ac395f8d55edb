//! Clients that introduce themselves. Whoever comes back says what it has seen
//! and what it listens to, and is given what it missed, one by one if possible,
//! as fresh snapshots if not.

use std::collections::HashSet;
use std::sync::Arc;

use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::commands::{InitializeParams, ReconnectParams};
use innkeeper_protocol::newest::errors::{UnsupportedProtocolVersionErrorData, ahp_error_codes};
use innkeeper_protocol::outgoing::{
    Envelope, HostMessage, InitializeReply, Notification, ReconnectReply, Reply,
};
use innkeeper_protocol::record::{LogEntry, Sequenced};
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::snapshot::Snapshot;
use innkeeper_protocol::telemetry::is_telemetry_channel;
use innkeeper_protocol::version::Version;
use innkeeper_protocol::{ChannelUri, ClientId, Seq};

use crate::clients::{Introduced, UNKNOWN_VIEW};
use crate::compat;
use crate::core::channels::Channel;
use crate::core::{CatchUp, changeset_uri, pick, telemetry_capabilities};
use crate::postponed::{Postponed, WaitingReconnect};
use crate::sessions::everything;
use crate::turns::{COMMAND_PREFIX, HOST};
use crate::{CloseReason, ConnectionId, Effect, Engine, Ticket, automations, completions};

impl Engine {
    /// Lets a client in that introduces itself, in the version in which that was
    /// read, or says why not.
    pub(crate) fn initialize(
        &mut self,
        connection: ConnectionId,
        version: Version,
        id: RequestId,
        params: InitializeParams,
    ) {
        let protocol_version = match self.check_introduction(connection, version, &params) {
            Ok(version) => version,
            Err(error) => {
                let unsupported = error.code == ahp_error_codes::UNSUPPORTED_PROTOCOL_VERSION;
                self.core.fail(connection, Some(id), error);
                if unsupported {
                    let reason = CloseReason::UnsupportedVersion;
                    self.core.effect(Effect::Close { connection, reason });
                }
                return;
            }
        };
        let spoken = (version, protocol_version.clone());
        let introduced = Some(Introduced::new(&params));
        self.admit(connection, params.client_id.into(), spoken, introduced);
        self.clients.begin_anew(connection);
        let channels = params.initial_subscriptions.into_iter().flatten();
        let channels: Vec<ChannelUri> = channels.map(ChannelUri::from).collect();
        // Sessions that are not in memory are subscribed to when they are, and
        // the answer waits for them.
        let needed = self.sessions().to_load(&channels);
        let welcome = Postponed::Welcome {
            connection,
            id,
            protocol_version,
            channels,
        };
        self.when_loaded(needed, welcome);
    }

    /// What a client that may introduce itself calls the version in which it
    /// does.
    fn check_introduction(
        &self,
        connection: ConnectionId,
        version: Version,
        params: &InitializeParams,
    ) -> Result<String, RpcError> {
        if self.clients.client_of(connection).is_some() {
            return Err(RpcError::invalid_request(
                "this connection is initialized already",
            ));
        }
        check_client_id(&params.client_id)?;
        if let Some(wire) = version.as_offered(&params.protocol_versions) {
            return Ok(wire.to_owned());
        }
        let data = UnsupportedProtocolVersionErrorData {
            supported_versions: Version::supported(),
        };
        let message = format!(
            "none of the offered protocol versions is spoken here; this host speaks {}",
            data.supported_versions.join(", ")
        );
        let code = ahp_error_codes::UNSUPPORTED_PROTOCOL_VERSION;
        Err(RpcError::new(code, message).with_data(data))
    }

    fn admit(
        &mut self,
        connection: ConnectionId,
        client_id: ClientId,
        spoken: (Version, String),
        introduced: Option<Introduced>,
    ) {
        let (clients, core) = (&mut self.clients, &mut self.core);
        let forgotten = clients.admit(core, connection, client_id, spoken, introduced);
        for client in forgotten {
            self.resources.forget_client(&client);
            self.sessions().end_roles_of(&client);
        }
    }

    pub(crate) fn welcome(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        protocol_version: String,
        channels: &[ChannelUri],
    ) {
        let snapshots = self.subscribe_to_all(connection, channels);
        let config = &self.core.config;
        let reply = InitializeReply {
            protocol_version,
            server_seq: self.core.server_seq(),
            server_info: config.server_info.clone(),
            meta: config.about_host(),
            snapshots,
            default_directory: config.default_directory.clone(),
            completion_trigger_characters: Some(completions::TRIGGERS.map(str::to_owned).to_vec()),
            terminal_command_prefix: Some(COMMAND_PREFIX.to_owned()),
            telemetry: Some(telemetry_capabilities()),
            automations: Some(automations::capabilities(&self.core)),
        };
        let reply = Reply::Initialize(Box::new(reply));
        self.core.reply(connection, id, reply);
    }

    /// Subscribes to those of the channels that exist, as far as the
    /// connection may.
    fn subscribe_to_all(
        &mut self,
        connection: ConnectionId,
        channels: &[ChannelUri],
    ) -> Vec<Snapshot> {
        let mut snapshots = Vec::new();
        for channel in channels {
            if compat::has_no_word_for(&self.core, &self.clients, connection, channel) {
                continue;
            }
            self.tell_of_apps(connection, channel);
            self.changes.open(&mut self.core, channel);
            let subscriber = self.clients.taken_up(connection, channel);
            if is_telemetry_channel(channel.as_str()) {
                self.listen(channel, subscriber, 0);
                continue;
            }
            let Some(snapshot) = self.snapshot(connection, channel, None) else {
                continue;
            };
            match self.listen(channel, subscriber, 0) {
                true => snapshots.push(snapshot),
                false => self.changes.close_unheard(&mut self.core, channel),
            }
        }
        snapshots
    }

    pub(crate) fn reconnect(
        &mut self,
        connection: ConnectionId,
        version: Version,
        id: RequestId,
        params: ReconnectParams,
    ) {
        if self.clients.client_of(connection).is_some() {
            let error = RpcError::invalid_request("this connection is initialized already");
            return self.core.fail(connection, Some(id), error);
        }
        if let Err(error) = check_client_id(&params.client_id) {
            return self.core.fail(connection, Some(id), error);
        }
        let wire = match self.clients.spoken_by(&params.client_id) {
            Some((known, wire)) if known == version => wire.to_owned(),
            Some((_, wire)) => {
                // It was heard over another connection while this was read.
                let error = RpcError::invalid_request(format!(
                    "`{}` has just introduced itself in version {wire}; send `reconnect` again",
                    params.client_id
                ));
                return self.core.fail(connection, Some(id), error);
            }
            // A client that this host does not know is taken at the word that
            // its request was read in, the newest version's; everything else
            // about it is in the request.
            None => version.to_string(),
        };
        self.admit(connection, params.client_id.into(), (version, wire), None);
        let waiting = WaitingReconnect {
            connection,
            id,
            seen: Seq::new(u64::try_from(params.last_seen_server_seq).unwrap_or(0)),
            up_to: Seq::ZERO,
            channels: params
                .subscriptions
                .into_iter()
                .map(ChannelUri::from)
                .collect(),
        };
        // Before it is looked up what the client has missed: this is part of it.
        for channel in &waiting.channels {
            self.tell_of_apps(connection, channel);
        }
        self.catch_up(waiting, &[]);
    }

    /// Serves a client that has come back, given what the log had up to
    /// `waiting.up_to`, or asks the log for it.
    fn catch_up(&mut self, mut waiting: WaitingReconnect, logged: &[LogEntry]) {
        let WaitingReconnect { seen, up_to, .. } = waiting;
        let catch_up = match self.core.replay.catch_up(seen, self.core.server_seq()) {
            // What happened in terminals and changesets is in memory only; and
            // one that was created since is not the one that the client knows.
            CatchUp::Log if self.cannot_replay(&waiting.channels, None) => CatchUp::Snapshot,
            CatchUp::Memory if self.cannot_replay(&waiting.channels, Some(seen)) => {
                CatchUp::Snapshot
            }
            way => way,
        };
        match catch_up {
            CatchUp::Snapshot => self.start_afresh(waiting),
            // Memory may have moved on while the log was read.
            CatchUp::Log if up_to < self.core.replay.in_memory_after() => {
                let ticket = self.core.next_ticket();
                waiting.up_to = self.core.replay.in_memory_after();
                self.core.step.durable_first = true;
                self.core.effect(Effect::LoadLog {
                    ticket,
                    after: seen,
                    up_to: waiting.up_to,
                });
                self.reconnects.insert(ticket, waiting);
            }
            CatchUp::Log | CatchUp::Memory => {
                let joined: Vec<ChannelUri> = waiting
                    .channels
                    .iter()
                    .filter_map(|channel| self.joined_to(waiting.connection, channel))
                    .collect();
                let wanted: HashSet<&ChannelUri> = waiting.channels.iter().chain(&joined).collect();
                let sessions = wanted
                    .iter()
                    .filter_map(|uri| self.catalogue.session_of(&self.core, uri));
                let sessions: HashSet<ChannelUri> = sessions.collect();
                let root = ChannelUri::root();
                let matters = |uri: &ChannelUri| {
                    wanted.contains(uri) || sessions.contains(uri) || *uri == root
                };
                let version = self.clients.version_of(waiting.connection);
                let mut missed = pick(logged.iter(), seen, up_to, matters);
                missed.extend(self.core.replay.after(seen.max(up_to), matters));
                if missed
                    .iter()
                    .any(|action| breaks_off(action, version, &wanted, &sessions))
                {
                    return self.start_afresh(waiting);
                }
                // Draft 1 has no word for what is missing; what has no
                // snapshot is gone.
                let is_gone = |channel: &ChannelUri| !self.catalogue.exists(&self.core, channel);
                if !version.says_what_is_missing() && waiting.channels.iter().any(is_gone) {
                    return self.start_afresh(waiting);
                }
                missed.retain(|action| wanted.contains(&action.channel));
                self.resume(waiting, missed);
            }
        }
    }

    pub(crate) fn log_loaded(&mut self, ticket: Ticket, entries: Result<Vec<LogEntry>, String>) {
        let Some(waiting) = self.reconnects.remove(&ticket) else {
            return;
        };
        match entries {
            Ok(entries) => self.catch_up(waiting, &entries),
            Err(reason) => {
                tracing::error!(reason, "the log cannot be read");
                self.start_afresh(waiting);
            }
        }
    }

    fn resume(&mut self, waiting: WaitingReconnect, missed: Vec<Sequenced>) {
        let connection = waiting.connection;
        let mut missing = Vec::new();
        for channel in &waiting.channels {
            let subscriber = self.clients.taken_up(connection, channel);
            let exists = self.catalogue.exists(&self.core, channel);
            if !exists || !self.listen(channel, subscriber, UNKNOWN_VIEW) {
                missing.push(channel.to_string());
            }
        }
        let actions = missed
            .into_iter()
            .map(|action| Envelope(Arc::new(action)))
            .collect();
        let reply = ReconnectReply::Replay {
            actions,
            missing,
            seen: waiting.seen,
        };
        self.core
            .reply(connection, waiting.id, Reply::Reconnect(reply));
        for channel in &waiting.channels {
            if self.core.subscriptions.contains(connection, channel) {
                compat::tell_counts_to(&mut self.core, &self.clients, connection, channel);
                compat::tell_diffs_to(&mut self.core, &self.clients, connection, channel);
            }
        }
        self.tell_missed_summaries(connection, waiting.seen);
    }

    /// Notifications are not replayed, and some clients do not list sessions
    /// again when they come back: they are told what sessions amount to now.
    fn tell_missed_summaries(&mut self, to: ConnectionId, seen: Seq) {
        if !self.core.subscriptions.contains(to, &ChannelUri::root()) {
            return;
        }
        let most = self.core.config.limits.page_sessions;
        for (summary, facts) in self.catalogue.told_after(seen, most) {
            let params = everything(&summary);
            let notification = Notification::SessionSummaryChanged(params, facts);
            let message = HostMessage::Notification(Box::new(notification));
            self.core.effect(Effect::Send { to, message });
        }
    }

    fn start_afresh(&mut self, waiting: WaitingReconnect) {
        let needed = self.sessions().to_load(&waiting.channels);
        self.when_loaded(needed, Postponed::Afresh(waiting));
    }

    pub(crate) fn give_snapshots(&mut self, waiting: WaitingReconnect) {
        let WaitingReconnect {
            connection,
            id,
            channels,
            seen,
            ..
        } = waiting;
        let snapshots = self.subscribe_to_all(connection, &channels);
        let reply = ReconnectReply::Snapshot { snapshots };
        self.core.reply(connection, id, Reply::Reconnect(reply));
        self.tell_missed_summaries(connection, seen);
    }

    /// Whether some of the channels are terminals, changesets or canvases that are younger
    /// than this, or are computed anew.
    fn cannot_replay(&self, channels: &[ChannelUri], seen: Option<Seq>) -> bool {
        let younger = |born: Seq| seen.is_none_or(|seen| born > seen);
        channels
            .iter()
            .any(|uri| match self.core.channels.get(uri) {
                Some(Channel::Terminal(terminal)) => younger(terminal.born),
                // Another one of its name may have been closed since, and nothing
                // has been numbered between the two.
                Some(Channel::Changeset(changeset)) => {
                    seen.is_none_or(|seen| changeset.born >= seen)
                }
                Some(Channel::Canvas(canvas)) => younger(canvas.born),
                Some(
                    Channel::Root(_)
                    | Channel::Session(_)
                    | Channel::Chat(_)
                    | Channel::Watch(_)
                    | Channel::Annotations(_)
                    | Channel::Automations(_)
                    | Channel::AutomationRun(_),
                ) => false,
                None => changeset_uri::parse(uri).is_some(),
            })
    }
}

/// What a client may call itself: anything that is not empty, and not what the
/// host calls itself where a tool names its owner.
fn check_client_id(id: &str) -> Result<(), RpcError> {
    match id {
        "" => Err(RpcError::invalid_params("`clientId` must not be empty")),
        HOST => Err(RpcError::invalid_params(format!(
            "`{HOST}` is the name of this host; choose another `clientId`"
        ))),
        _ => Ok(()),
    }
}

/// Whether a client that missed this action cannot go on from what it holds.
fn breaks_off(
    action: &Sequenced,
    version: Version,
    wanted: &HashSet<&ChannelUri>,
    sessions: &HashSet<ChannelUri>,
) -> bool {
    match &action.action {
        // It holds what was there before under the same name.
        StateAction::RootActiveSessionsChanged(_) => {
            let changed = action.facts.session.as_ref();
            changed.is_some_and(|session| sessions.contains(session))
        }
        StateAction::SessionChatAdded(added) => {
            wanted.contains(&ChannelUri::from(added.summary.resource.as_str()))
        }
        // It may not hold the turn that history was cut after.
        StateAction::ChatTruncated(cut) => {
            cut.turn_id.is_some() && wanted.contains(&action.channel)
        }
        // Which is told as such a cut.
        StateAction::ChatTurnResume(_) => {
            !version.resumes_turns() && wanted.contains(&action.channel)
        }
        _ => false,
    }
}
