//! Who listens to what from now on, and what they are shown.

use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::commands::SubscribeParams;
use innkeeper_protocol::outgoing::{Reply, SubscribeReply};
use innkeeper_protocol::record::Excerpts;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::snapshot::Snapshot;
use innkeeper_protocol::telemetry::is_telemetry_channel;

use crate::core::changeset_uri;
use crate::{ConnectionId, Engine, Subscriber, compat};

impl Engine {
    /// Subscribes and answers.
    pub(crate) fn subscribe(
        &mut self,
        connection: ConnectionId,
        id: Option<RequestId>,
        params: SubscribeParams,
    ) {
        let channel = ChannelUri::from(params.channel.as_str());
        let outcome = self.subscribed(connection, &channel, params);
        self.core.answer(connection, id, outcome);
        compat::tell_selection(&mut self.core, &self.clients, connection, &channel);
    }

    fn subscribed(
        &mut self,
        connection: ConnectionId,
        channel: &ChannelUri,
        params: SubscribeParams,
    ) -> Result<Reply, RpcError> {
        if compat::has_no_word_for(&self.core, &self.clients, connection, channel) {
            return Err(RpcError::session_not_found(channel.as_str()));
        }
        self.tell_of_apps(connection, channel);
        self.changes.open(&mut self.core, channel);
        let window = params.view.and_then(|view| view.turns);
        // At least the last turn is needed: it may be resumed.
        let window = window.map(|turns| usize::try_from(turns).unwrap_or(0).max(1));
        let snapshot = match self.snapshot(connection, channel, window) {
            Some(snapshot) => Some(snapshot),
            // These channels have no state.
            None if is_telemetry_channel(channel.as_str()) => None,
            None if self.servers.has_channel(&self.core, channel.as_str()) => None,
            None => return Err(RpcError::session_not_found(channel.as_str())),
        };
        let max_latency = params
            .delivery
            .and_then(|delivery| delivery.max_latency_ms)
            .map(|millis| Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
        let subscriber = Subscriber {
            connection,
            max_latency,
        };
        let chat = self.core.channels.chat(channel);
        let turns = chat.map_or(0, |chat| chat.turns.len());
        let hidden = window.map_or(0, |window| turns.saturating_sub(window));
        if !self.listen(channel, subscriber, hidden) {
            self.changes.close_unheard(&mut self.core, channel);
            let limit = self.core.config.limits.subscriptions;
            return Err(RpcError::internal(format!(
                "a connection may subscribe to at most {limit} channels; unsubscribe from some, \
                 or raise limits.subscriptions"
            )));
        }
        Ok(Reply::Subscribe(SubscribeReply { snapshot }))
    }

    /// A session says what there is to know of MCP apps when a client opens it
    /// that can show them.
    pub(crate) fn tell_of_apps(&mut self, connection: ConnectionId, channel: &ChannelUri) {
        let introduced = self.clients.introduction(connection);
        if introduced.is_some_and(|it| it.shows_apps) {
            self.customizations().show_apps_in(channel);
        }
    }

    /// The one way to subscribe; `hidden` is the number of older turns that
    /// the client is not given. Returns whether the connection may.
    pub(crate) fn listen(
        &mut self,
        channel: &ChannelUri,
        subscriber: Subscriber,
        hidden: usize,
    ) -> bool {
        let Subscriber { connection, .. } = subscriber;
        let joined = self.joined_to(connection, channel);
        let subscriptions = &mut self.core.subscriptions;
        if !self.clients.is_connected(connection) || !subscriptions.add(channel, subscriber) {
            return false;
        }
        if let Some(joined) = joined {
            // One channel to the client: it counts once, or not at all.
            subscriptions.add(&joined, subscriber);
        }
        self.clients.set_hidden_turns(connection, channel, hidden);
        self.sessions().is_used(channel);
        self.watches.heard(&mut self.core, channel);
        self.changes.observe(&mut self.core, channel, true);
        self.changes
            .follow_for_rows(&mut self.core, &self.clients, channel);
        true
    }

    pub(crate) fn joined_to(
        &self,
        connection: ConnectionId,
        channel: &ChannelUri,
    ) -> Option<ChannelUri> {
        let meant = (connection, channel);
        compat::joined_to(&self.core, &self.clients, &self.catalogue, meant)
    }

    pub(crate) fn unsubscribe(&mut self, connection: ConnectionId, channel: &ChannelUri) {
        let joined = self.joined_to(connection, channel);
        let subscriptions = &mut self.core.subscriptions;
        subscriptions.remove(connection, channel);
        if let Some(joined) = joined {
            subscriptions.remove(connection, &joined);
        }
        if !self.clients.version_of(connection).has_changesets() {
            subscriptions.remove(connection, &changeset_uri::of_whole_session(channel));
        }
        self.clients.set_hidden_turns(connection, channel, 0);
        self.sessions().is_used(channel);
        // Whoever leaves a session is no longer active in it.
        if let Some(client) = self.clients.client_of(connection).cloned() {
            self.sessions().remove_active_client(channel, &client);
        }
    }

    /// What a client is shown of inputs of tool calls that it cannot be given a
    /// reference to.
    pub(crate) fn inputs_shown(
        &self,
        connection: ConnectionId,
        channel: &ChannelUri,
    ) -> Arc<Excerpts> {
        if self.clients.version_of(connection).refers_to_tool_input() {
            return Arc::default();
        }
        let chat = self.core.channels.chat(channel);
        let session = chat.map_or(channel, |chat| &chat.session);
        self.core.inputs.of_session(session)
    }

    /// The state of a channel now as a client is shown it, if there is such a
    /// channel in memory.
    pub(crate) fn snapshot(
        &self,
        connection: ConnectionId,
        channel: &ChannelUri,
        window: Option<usize>,
    ) -> Option<Snapshot> {
        let state = self.core.channels.get(channel)?.snapshot(window);
        let snapshot = Snapshot {
            resource: channel.clone(),
            state,
            from_seq: self.server_seq(),
            extra: None,
            inputs: self.inputs_shown(connection, channel),
        };
        Some(compat::with_what_is_beside(
            &self.core,
            &self.clients,
            connection,
            snapshot,
        ))
    }
}
