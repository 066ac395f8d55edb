//! Coming back: a client says what it has seen and what it listens to, and is
//! given what it missed, one by one if possible, as fresh snapshots if not.

use std::collections::HashSet;
use std::sync::Arc;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::house::actions::StateAction;
use innkeeper_protocol::house::commands::ReconnectParams;
use innkeeper_protocol::outgoing::{Envelope, HostMessage, Notification, ReconnectReply, Reply};
use innkeeper_protocol::record::{LogEntry, Sequenced};
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::telemetry::is_telemetry_channel;
use innkeeper_protocol::version::Version;

use crate::clients::UNKNOWN_VIEW;
use crate::replay::{CatchUp, pick};
use crate::summary::everything;
use crate::{ConnectionId, Effect, Engine, Ticket, changesets};

/// A client that waits for the stored log.
#[derive(Debug)]
pub(crate) struct WaitingReconnect {
    pub(crate) connection: ConnectionId,
    id: RequestId,
    seen: u64,
    /// Up to where the log was asked for.
    up_to: u64,
    channels: Vec<ChannelUri>,
}

impl Engine {
    pub(crate) fn reconnect(
        &mut self,
        connection: ConnectionId,
        version: Version,
        id: RequestId,
        params: ReconnectParams,
    ) {
        if self.client_of(connection).is_some() {
            let error = RpcError::invalid_request("this connection is initialized already");
            return self.fail(connection, Some(id), error);
        }
        if params.client_id.is_empty() {
            let error = RpcError::invalid_params("`clientId` must not be empty");
            return self.fail(connection, Some(id), error);
        }
        let wire = match self.clients.get(&params.client_id) {
            Some(known) if known.speaks() == version => known.version.clone(),
            Some(known) => {
                // It was heard over another connection while this was read.
                let error = RpcError::invalid_request(format!(
                    "`{}` has just introduced itself in version {}; send `reconnect` again",
                    params.client_id, known.version
                ));
                return self.fail(connection, Some(id), error);
            }
            // A client that this host does not know is taken at the word that
            // its request was read in, the newest version's; everything else
            // about it is in the request.
            None => version.to_string(),
        };
        self.admit(connection, params.client_id, version, wire);
        let waiting = WaitingReconnect {
            connection,
            id,
            seen: u64::try_from(params.last_seen_server_seq).unwrap_or(0),
            up_to: 0,
            channels: params
                .subscriptions
                .into_iter()
                .map(ChannelUri::from)
                .collect(),
        };
        self.catch_up(waiting, &[]);
    }

    /// Serves a client that has come back, given what the log had up to
    /// `waiting.up_to`, or asks the log for it.
    fn catch_up(&mut self, mut waiting: WaitingReconnect, logged: &[LogEntry]) {
        let WaitingReconnect { seen, up_to, .. } = waiting;
        let catch_up = match self.replay.catch_up(seen, self.sequence.last()) {
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
            CatchUp::Log if up_to < self.replay.in_memory_after() => {
                let ticket = self.next_ticket();
                waiting.up_to = self.replay.in_memory_after();
                self.step.durable_first = true;
                self.step.effects.push(Effect::LoadLog {
                    ticket,
                    after: seen,
                    up_to: waiting.up_to,
                });
                self.waiting_reconnects.insert(ticket, waiting);
            }
            CatchUp::Log | CatchUp::Memory => {
                let joined: Vec<ChannelUri> = waiting
                    .channels
                    .iter()
                    .filter_map(|channel| self.joined_to(waiting.connection, channel))
                    .collect();
                let wanted: HashSet<&ChannelUri> = waiting.channels.iter().chain(&joined).collect();
                let sessions = wanted.iter().filter_map(|uri| self.session_of(uri));
                let sessions: HashSet<ChannelUri> = sessions.collect();
                let root = ChannelUri::root();
                let matters = |uri: &ChannelUri| {
                    wanted.contains(uri) || sessions.contains(uri) || *uri == root
                };
                let version = self.version_of(waiting.connection);
                let mut missed = pick(logged.iter(), seen, up_to, matters);
                missed.extend(self.replay.after(seen.max(up_to), matters));
                if missed
                    .iter()
                    .any(|action| breaks_off(action, version, &wanted, &sessions))
                {
                    return self.start_afresh(waiting);
                }
                // Draft 1 has no word for what is missing; what has no
                // snapshot is gone.
                let is_gone = |channel: &ChannelUri| !self.exists(channel);
                if !version.says_what_is_missing() && waiting.channels.iter().any(is_gone) {
                    return self.start_afresh(waiting);
                }
                missed.retain(|action| wanted.contains(&action.channel));
                self.resume(waiting, missed);
            }
        }
    }

    pub(crate) fn log_loaded(&mut self, ticket: Ticket, entries: Result<Vec<LogEntry>, String>) {
        let Some(waiting) = self.waiting_reconnects.remove(&ticket) else {
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
            let subscriber = self.taken_up(connection, channel);
            if !self.exists(channel) || !self.listen(channel, subscriber, UNKNOWN_VIEW) {
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
        self.reply(connection, waiting.id, Reply::Reconnect(reply));
        self.tell_missed_summaries(connection, waiting.seen);
    }

    /// Notifications are not replayed, and some clients do not list sessions
    /// again when they come back: they are told what sessions amount to now.
    fn tell_missed_summaries(&mut self, to: ConnectionId, seen: u64) {
        if !self.subscriptions.contains(to, &ChannelUri::root()) {
            return;
        }
        let most = self.config.limits.page_sessions;
        for summary in self.catalogue.told_after(seen, most) {
            let notification = Notification::SessionSummaryChanged(everything(summary));
            let message = HostMessage::Notification(Box::new(notification));
            self.step.effects.push(Effect::Send { to, message });
        }
    }

    fn start_afresh(&mut self, waiting: WaitingReconnect) {
        let WaitingReconnect {
            connection,
            id,
            channels,
            seen,
            ..
        } = waiting;
        let waits = self.sessions_to_load(&channels);
        self.when_loaded(waits, move |engine| {
            let snapshots = engine.subscribe_to_all(connection, &channels);
            let reply = ReconnectReply::Snapshot { snapshots };
            engine.reply(connection, id, Reply::Reconnect(reply));
            engine.tell_missed_summaries(connection, seen);
        });
    }

    /// Whether some of the channels are terminals or changesets that are younger
    /// than this, or are computed anew.
    fn cannot_replay(&self, channels: &[ChannelUri], seen: Option<u64>) -> bool {
        let younger = |born: u64| seen.is_none_or(|seen| born > seen);
        channels.iter().any(|uri| match self.terminals.get(uri) {
            Some(terminal) => younger(terminal.born),
            None => match self.changesets.get(uri) {
                Some(changeset) => younger(changeset.born),
                None => changesets::parse(uri).is_some(),
            },
        })
    }

    /// Whether there is such a channel, in memory or not.
    pub(crate) fn exists(&self, channel: &ChannelUri) -> bool {
        *channel == ChannelUri::root()
            || is_telemetry_channel(channel.as_str())
            || self.is_of_this_life(channel)
            || self.session_of(channel).is_some()
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
