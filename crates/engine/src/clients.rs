//! Connections and the clients behind them. A client is its id: it may come
//! back over another connection, and then takes up where it left off.

use std::collections::HashMap;

use innkeeper_protocol::house::actions::{SessionActiveClientRemovedAction, StateAction};
use innkeeper_protocol::house::commands::InitializeParams;
use innkeeper_protocol::house::errors::{UnsupportedProtocolVersionErrorData, ahp_error_codes};
use innkeeper_protocol::outgoing::{InitializeReply, Reply};
use innkeeper_protocol::record::{ClientRecord, StoreOp};
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::telemetry::is_telemetry_channel;
use innkeeper_protocol::version::Version;
use innkeeper_protocol::{ChannelUri, Timestamp};

use crate::commands::COMMAND_PREFIX;
use crate::labels::Locale;
use crate::subscriptions::Latencies;
use crate::{CloseReason, ConnectionId, Effect, Engine, Subscriber, completions, telemetry};

#[derive(Debug)]
pub(crate) struct Connection {
    /// The client, once it has introduced itself.
    pub(crate) client: Option<String>,
    /// Where this connection's view of a chat begins, if not at the start:
    /// the number of older turns that it was not given.
    pub(crate) windows: HashMap<ChannelUri, usize>,
    /// The language that it wants to read.
    pub(crate) locale: Locale,
    /// What the client wanted of the subscriptions of its last connection: it
    /// names only the channels when it takes them up again.
    pub(crate) wanted: Latencies,
    pub(crate) version: Version,
}

/// In place of that number: the view is from an earlier connection, and where
/// it begins is known to the client only.
pub(crate) const UNKNOWN_VIEW: usize = usize::MAX;

/// A client that is here, or was and may come back.
#[derive(Debug)]
pub(crate) struct KnownClient {
    /// The version string that was negotiated.
    pub(crate) version: String,
    pub(crate) connection: Option<ConnectionId>,
    /// When it loses its roles unless it comes back.
    pub(crate) leaves_at: Option<Timestamp>,
    /// When it last introduced itself.
    seen_at: Timestamp,
    /// See [`Connection::wanted`].
    wanted: Latencies,
}

impl KnownClient {
    pub(crate) fn speaks(&self) -> Version {
        Version::from_wire(&self.version).unwrap_or(Version::NEWEST)
    }
}

/// How many clients are remembered. Whoever comes back after being forgotten
/// is taken for somebody new, and served as such.
const KNOWN_CLIENTS: usize = 10_000;

impl From<ClientRecord> for KnownClient {
    fn from(record: ClientRecord) -> Self {
        Self {
            version: record.version,
            connection: None,
            leaves_at: None,
            seen_at: record.seen_at,
            wanted: Latencies::default(),
        }
    }
}

impl Engine {
    pub(crate) fn connected(&mut self, connection: ConnectionId) {
        let entry = Connection {
            client: None,
            windows: HashMap::new(),
            locale: Locale::default(),
            version: Version::NEWEST,
            wanted: Latencies::default(),
        };
        self.connections.insert(connection, entry);
    }

    pub(crate) fn disconnected(&mut self, connection: ConnectionId) {
        let wanted = self.subscriptions.remove_connection(connection);
        let client = self
            .connections
            .remove(&connection)
            .and_then(|gone| gone.client);
        let leaves_at = self.now.after(self.config.limits.client_grace);
        if let Some(client) = client.and_then(|id| self.clients.get_mut(&id))
            && client.connection == Some(connection)
        {
            client.connection = None;
            client.leaves_at = Some(leaves_at);
            client.wanted = wanted;
        }
        self.waiting
            .retain(|_, request| request.connection != connection);
        self.waiting_reconnects
            .retain(|_, waiting| waiting.connection != connection);
        self.answer_for_silent_clients();
    }

    pub(crate) fn locale_of(&self, connection: ConnectionId) -> Locale {
        let connection = self.connections.get(&connection);
        connection.map(|entry| entry.locale).unwrap_or_default()
    }

    pub(crate) fn client_of(&self, connection: ConnectionId) -> Option<&str> {
        self.connections.get(&connection)?.client.as_deref()
    }

    pub(crate) fn initialize(
        &mut self,
        connection: ConnectionId,
        version: Version,
        id: RequestId,
        params: InitializeParams,
    ) {
        match self.accept_client(connection, version, &params) {
            Ok(wire) => self.welcome(connection, id, wire, &params),
            Err(error) => {
                let unsupported = error.code == ahp_error_codes::UNSUPPORTED_PROTOCOL_VERSION;
                self.fail(connection, Some(id), error);
                if unsupported {
                    self.step.effects.push(Effect::Close {
                        connection,
                        reason: CloseReason::UnsupportedVersion,
                    });
                }
            }
        }
    }

    fn accept_client(
        &mut self,
        connection: ConnectionId,
        version: Version,
        params: &InitializeParams,
    ) -> Result<String, RpcError> {
        if self.client_of(connection).is_some() {
            return Err(RpcError::invalid_request(
                "this connection is initialized already",
            ));
        }
        if params.client_id.is_empty() {
            return Err(RpcError::invalid_params("`clientId` must not be empty"));
        }
        let Some(wire) = version.as_offered(&params.protocol_versions) else {
            let data = UnsupportedProtocolVersionErrorData {
                supported_versions: Version::supported(),
            };
            return Err(RpcError::new(
                ahp_error_codes::UNSUPPORTED_PROTOCOL_VERSION,
                format!(
                    "none of the offered protocol versions is spoken here; this host speaks {}",
                    data.supported_versions.join(", ")
                ),
            )
            .with_data(data));
        };
        let wire = wire.to_owned();
        self.admit(connection, params.client_id.clone(), version, wire.clone());
        if let Some(entry) = self.connections.get_mut(&connection) {
            entry.locale = Locale::of_tag(params.locale.as_deref());
            // It begins anew.
            entry.wanted.clear();
        }
        Ok(wire)
    }

    /// Binds a client to its connection, which from now on speaks its version
    /// (`wire` is what the client calls it); an older connection of it ends.
    pub(crate) fn admit(
        &mut self,
        connection: ConnectionId,
        client_id: String,
        version: Version,
        wire: String,
    ) {
        let previous = self.clients.insert(
            client_id.clone(),
            KnownClient {
                version: wire.clone(),
                connection: Some(connection),
                leaves_at: None,
                seen_at: self.now,
                wanted: Latencies::default(),
            },
        );
        self.step.store.ops.push(StoreOp::PutClient(ClientRecord {
            client_id: client_id.clone(),
            version: wire,
            seen_at: self.now,
        }));
        let remembered = previous
            .as_ref()
            .map_or(Version::NEWEST, KnownClient::speaks);
        if version != remembered {
            // Whoever was welcomed in a version is understood in it also after
            // a crash.
            self.step.durable_first = true;
        }
        while self.clients.len() > KNOWN_CLIENTS && self.forget_a_client() {}
        let (older, mut wanted) = match previous {
            Some(known) => (known.connection, known.wanted),
            None => (None, Latencies::default()),
        };
        if let Some(older) = older {
            wanted = self.subscriptions.remove_connection(older);
            self.connections.remove(&older);
            self.step.effects.push(Effect::Close {
                connection: older,
                reason: CloseReason::Replaced,
            });
        }
        if let Some(entry) = self.connections.get_mut(&connection) {
            entry.client = Some(client_id.clone());
            entry.wanted = wanted;
            entry.version = version;
        }
        self.step.effects.push(Effect::Speak {
            to: connection,
            client: client_id,
            version,
        });
    }

    /// Forgets the client that has been away for longest. Returns whether any
    /// is away.
    fn forget_a_client(&mut self) -> bool {
        let away = self
            .clients
            .iter()
            .filter(|(_, client)| client.connection.is_none());
        let longest = away.min_by_key(|(_, client)| client.seen_at);
        let Some(client_id) = longest.map(|(id, _)| id.clone()) else {
            return false;
        };
        self.end_roles_of(&client_id);
        self.clients.remove(&client_id);
        self.grants.remove(&client_id);
        self.step.effects.push(Effect::ForgetClient {
            client: client_id.clone(),
        });
        self.step
            .store
            .ops
            .push(StoreOp::ForgetClient { client_id });
        true
    }

    fn welcome(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        protocol_version: String,
        params: &InitializeParams,
    ) {
        let channels: Vec<ChannelUri> = params
            .initial_subscriptions
            .iter()
            .flatten()
            .map(|uri| ChannelUri::from(uri.as_str()))
            .collect();
        // Sessions that are not in memory are subscribed to when they are, and
        // the answer waits for them.
        let waits = self.sessions_to_load(&channels);
        self.when_loaded(waits, move |engine| {
            let snapshots = engine.subscribe_to_all(connection, &channels);
            let reply = InitializeReply {
                protocol_version,
                server_seq: engine.sequence.last(),
                server_info: engine.config.server_info.clone(),
                snapshots,
                default_directory: engine.config.default_directory.clone(),
                completion_trigger_characters: Some(
                    completions::TRIGGERS.map(str::to_owned).to_vec(),
                ),
                terminal_command_prefix: Some(COMMAND_PREFIX.to_owned()),
                telemetry: Some(telemetry::capabilities()),
            };
            engine.reply(connection, id, Reply::Initialize(Box::new(reply)));
        });
    }

    /// The one way to subscribe; `hidden` is the number of older turns that
    /// the client is not given. Returns whether the connection may.
    pub(crate) fn listen(
        &mut self,
        channel: &ChannelUri,
        subscriber: Subscriber,
        hidden: usize,
    ) -> bool {
        let joined = self.joined_to(subscriber.connection, channel);
        let Some(connection) = self.connections.get_mut(&subscriber.connection) else {
            return false;
        };
        if !self.subscriptions.add(channel, subscriber) {
            return false;
        }
        if let Some(joined) = joined {
            // One channel to the client: it counts once, or not at all.
            self.subscriptions.add(&joined, subscriber);
        }
        match hidden {
            0 => connection.windows.remove(channel),
            hidden => connection.windows.insert(channel.clone(), hidden),
        };
        self.use_session(channel);
        self.watch_is_heard(channel);
        self.observe(channel, true);
        true
    }

    /// A subscription that a client takes up again, as it wanted it then.
    pub(crate) fn taken_up(&self, connection: ConnectionId, channel: &ChannelUri) -> Subscriber {
        let entry = self.connections.get(&connection);
        Subscriber {
            connection,
            max_latency: entry.and_then(|entry| entry.wanted.get(channel).copied()),
        }
    }

    /// Subscribes to those of the channels that exist, as far as the
    /// connection may.
    pub(crate) fn subscribe_to_all(
        &mut self,
        connection: ConnectionId,
        channels: &[ChannelUri],
    ) -> Vec<innkeeper_protocol::snapshot::Snapshot> {
        let mut snapshots = Vec::new();
        for channel in channels {
            self.open_changeset(channel);
            if is_telemetry_channel(channel.as_str()) {
                self.listen(channel, self.taken_up(connection, channel), 0);
                continue;
            }
            let Some(snapshot) = self.snapshot(channel, None) else {
                continue;
            };
            let snapshot = self.with_what_is_beside(connection, snapshot);
            match self.listen(channel, self.taken_up(connection, channel), 0) {
                true => snapshots.push(snapshot),
                false => self.close_unheard_changeset(channel),
            }
        }
        snapshots
    }

    /// Clients that were away for too long are no longer active in sessions.
    pub(crate) fn let_departed_clients_go(&mut self) {
        let now = self.now;
        let departed: Vec<String> = self
            .clients
            .iter()
            .filter(|(_, client)| client.leaves_at.is_some_and(|at| at <= now))
            .map(|(id, _)| id.clone())
            .collect();
        for client_id in departed {
            if let Some(client) = self.clients.get_mut(&client_id) {
                client.leaves_at = None;
            }
            self.end_roles_of(&client_id);
        }
    }

    fn end_roles_of(&mut self, client_id: &str) {
        let sessions: Vec<ChannelUri> = self.sessions.keys().cloned().collect();
        for session in sessions {
            self.remove_active_client(&session, client_id);
        }
    }

    /// Its tools are gone, and what it had to run will not be run.
    pub(crate) fn active_client_left(&mut self, session: &ChannelUri, client_id: &str) {
        self.offer_client_tools(session);
        self.fail_client_calls(session, client_id);
    }

    pub(crate) fn remove_active_client(&mut self, session: &ChannelUri, client_id: &str) {
        let action = SessionActiveClientRemovedAction {
            client_id: client_id.to_owned(),
        };
        let is_active = self.sessions.get(session).is_some_and(|session| {
            session
                .state
                .active_clients
                .iter()
                .any(|client| client.client_id == client_id)
        });
        if is_active {
            self.emit(
                session,
                StateAction::SessionActiveClientRemoved(action),
                None,
            );
            self.active_client_left(session, client_id);
        }
    }
}
