//! Connections and the clients behind them. A client is its id: it may come
//! back over another connection, and then takes up where it left off.

mod introduced;
mod views;

use std::collections::HashMap;

use innkeeper_protocol::newest::state::SessionActiveClient;
use innkeeper_protocol::record::{ClientRecord, StoreOp};
use innkeeper_protocol::version::Version;
use innkeeper_protocol::{ChannelUri, ClientId, Timestamp};

use crate::core::{Core, Deadline, Latencies};
use crate::effect::{CloseReason, ConnectionId, Effect, Subscriber};
use crate::labels::Locale;

pub(crate) use introduced::Introduced;
pub(crate) use views::UNKNOWN_VIEW;

#[derive(Debug, Default)]
pub(crate) struct Clients {
    connections: foldhash::HashMap<ConnectionId, Connection>,
    known: HashMap<ClientId, KnownClient>,
}

#[derive(Debug)]
struct Connection {
    /// The client, once it has introduced itself.
    client: Option<ClientId>,
    /// Where this connection's view of a chat begins, if not at the start:
    /// the number of older turns that it was not given.
    windows: HashMap<ChannelUri, usize>,
    /// What the client wanted of the subscriptions of its last connection: it
    /// names only the channels when it takes them up again.
    wanted: Latencies,
    version: Version,
}

/// A client that is here, or was and may come back.
#[derive(Debug)]
struct KnownClient {
    /// The version string that was negotiated.
    version: String,
    connection: Option<ConnectionId>,
    /// It was here a moment ago and keeps its roles for a while.
    is_missed: bool,
    /// When it last introduced itself.
    seen_at: Timestamp,
    /// See [`Connection::wanted`].
    wanted: Latencies,
    /// What it said about itself. Nothing, if that was in an earlier life.
    introduced: Introduced,
}

/// How many clients are remembered. Whoever comes back after being forgotten
/// is taken for somebody new, and served as such.
const KNOWN_CLIENTS: usize = 10_000;

impl KnownClient {
    fn speaks(&self) -> Version {
        Version::from_name(&self.version).unwrap_or(Version::NEWEST)
    }
}

impl From<ClientRecord> for KnownClient {
    fn from(record: ClientRecord) -> Self {
        Self {
            version: record.version,
            connection: None,
            is_missed: false,
            seen_at: record.seen_at,
            wanted: Latencies::default(),
            introduced: Introduced::default(),
        }
    }
}

impl Clients {
    /// All connections, whoever is behind them.
    pub(crate) fn connections(&self) -> Vec<ConnectionId> {
        let mut all: Vec<ConnectionId> = self.connections.keys().copied().collect();
        all.sort();
        all
    }

    pub(crate) fn new(stored: Vec<ClientRecord>) -> Self {
        let known = stored.into_iter();
        let known = known.map(|record| (record.client_id.clone(), KnownClient::from(record)));
        Self {
            connections: foldhash::HashMap::default(),
            known: known.collect(),
        }
    }

    pub(crate) fn connected(&mut self, connection: ConnectionId) {
        let entry = Connection {
            client: None,
            windows: HashMap::new(),
            version: Version::NEWEST,
            wanted: Latencies::default(),
        };
        self.connections.insert(connection, entry);
    }

    pub(crate) fn disconnected(&mut self, core: &mut Core, connection: ConnectionId) {
        let wanted = core.subscriptions.remove_connection(connection);
        let gone = self.connections.remove(&connection);
        if let Some(id) = gone.and_then(|gone| gone.client)
            && let Some(client) = self.known.get_mut(&id)
            && client.connection == Some(connection)
        {
            client.connection = None;
            client.is_missed = true;
            client.wanted = wanted;
            let departs = core.now.after(core.config.limits.client_grace);
            core.deadlines.set(Deadline::ClientDeparts(id), departs);
        }
    }

    pub(crate) fn is_connected(&self, connection: ConnectionId) -> bool {
        self.connections.contains_key(&connection)
    }

    pub(crate) fn locale_of(&self, connection: ConnectionId) -> Locale {
        self.introduction(connection)
            .map(|it| it.locale)
            .unwrap_or_default()
    }

    /// What the client behind a connection said about itself.
    pub(crate) fn introduction(&self, connection: ConnectionId) -> Option<&Introduced> {
        let known = self.known.get(self.client_of(connection)?)?;
        Some(&known.introduced)
    }

    /// The client behind a connection, once it has introduced itself.
    pub(crate) fn client_of(&self, connection: ConnectionId) -> Option<&ClientId> {
        self.connections.get(&connection)?.client.as_ref()
    }

    /// Whether it is this client that is behind a connection.
    pub(crate) fn is_client(&self, connection: ConnectionId, client: &str) -> bool {
        let behind = self.client_of(connection);
        behind.is_some_and(|behind| behind == client)
    }

    /// A client that takes part in a session, under the name that it introduced
    /// itself with if it gives no other.
    pub(crate) fn named(
        &self,
        connection: ConnectionId,
        mut client: SessionActiveClient,
    ) -> SessionActiveClient {
        let introduced = self.introduction(connection);
        let name = introduced.and_then(|it| it.name.as_ref());
        if client
            .display_name
            .as_deref()
            .unwrap_or_default()
            .is_empty()
            && let Some(name) = name
        {
            client.display_name = Some(name.short.clone());
        }
        client
    }

    pub(crate) fn version_of(&self, connection: ConnectionId) -> Version {
        let connection = self.connections.get(&connection);
        connection.map_or(Version::NEWEST, |it| it.version)
    }

    /// Where a client is, if it is here.
    pub(crate) fn connection_of(&self, client: &str) -> Option<ConnectionId> {
        self.known.get(client)?.connection
    }

    /// The version that a known client speaks, and what it calls it.
    pub(crate) fn spoken_by(&self, client: &str) -> Option<(Version, &str)> {
        let known = self.known.get(client)?;
        Some((known.speaks(), &known.version))
    }

    /// Whether a client is here, or was a moment ago.
    pub(crate) fn is_here(&self, client: &str) -> bool {
        let client = self.known.get(client);
        client.is_some_and(|client| client.connection.is_some() || client.is_missed)
    }

    /// Binds a client to its connection, which from now on speaks its version
    /// (`wire` is what the client calls it); an older connection of it ends.
    /// A client that does not introduce itself is who it said it was before.
    /// Returns the clients that were forgotten for it.
    pub(crate) fn admit(
        &mut self,
        core: &mut Core,
        connection: ConnectionId,
        client_id: ClientId,
        (version, wire): (Version, String),
        introduced: Option<Introduced>,
    ) -> Vec<ClientId> {
        let before = self.known.get(&client_id);
        let introduced = introduced.or_else(|| before.map(|known| known.introduced.clone()));
        let introduced = introduced.unwrap_or_default();
        let name = introduced.name.as_ref().map(|name| name.full.clone());
        let known = KnownClient {
            version: wire.clone(),
            connection: Some(connection),
            is_missed: false,
            seen_at: core.now,
            wanted: Latencies::default(),
            introduced,
        };
        let previous = self.known.insert(client_id.clone(), known);
        core.deadlines
            .clear(&Deadline::ClientDeparts(client_id.clone()));
        core.store(StoreOp::PutClient(ClientRecord {
            client_id: client_id.clone(),
            version: wire,
            seen_at: core.now,
        }));
        let remembered = previous.as_ref();
        if version != remembered.map_or(Version::NEWEST, KnownClient::speaks) {
            // Whoever was welcomed in a version is understood in it also after
            // a crash.
            core.step.durable_first = true;
        }
        let forgotten = self.forget_surplus(core);
        let (older, mut wanted) = match previous {
            Some(known) => (known.connection, known.wanted),
            None => (None, Latencies::default()),
        };
        if let Some(older) = older {
            wanted = core.subscriptions.remove_connection(older);
            self.connections.remove(&older);
            core.effect(Effect::Close {
                connection: older,
                reason: CloseReason::Replaced,
            });
        }
        if let Some(entry) = self.connections.get_mut(&connection) {
            entry.client = Some(client_id.clone());
            entry.wanted = wanted;
            entry.version = version;
        }
        if !version.subscribes_to_news() {
            core.subscriptions.tell_anyway(connection);
        }
        core.effect(Effect::Speak {
            to: connection,
            client: client_id,
            version,
            name,
        });
        forgotten
    }

    /// A client that introduces itself begins anew.
    pub(crate) fn begin_anew(&mut self, connection: ConnectionId) {
        if let Some(entry) = self.connections.get_mut(&connection) {
            entry.wanted.clear();
        }
    }

    /// Forgets the clients that have been away for longest, if there are too
    /// many.
    fn forget_surplus(&mut self, core: &mut Core) -> Vec<ClientId> {
        let mut forgotten = Vec::new();
        while self.known.len() > KNOWN_CLIENTS {
            let known = self.known.iter();
            let away = known.filter(|(_, client)| client.connection.is_none());
            let longest = away.min_by_key(|(_, client)| client.seen_at);
            let Some(client_id) = longest.map(|(id, _)| id.clone()) else {
                break;
            };
            self.known.remove(&client_id);
            core.deadlines
                .clear(&Deadline::ClientDeparts(client_id.clone()));
            core.effect(Effect::ForgetClient {
                client: client_id.clone(),
            });
            core.store(StoreOp::ForgetClient {
                client_id: client_id.clone(),
            });
            forgotten.push(client_id);
        }
        forgotten
    }

    /// A client was away for too long to keep its roles.
    pub(crate) fn departs(&mut self, client: &ClientId) {
        if let Some(client) = self.known.get_mut(client) {
            client.is_missed = false;
        }
    }

    /// A subscription that a client takes up again, as it wanted it then.
    pub(crate) fn taken_up(&self, connection: ConnectionId, channel: &ChannelUri) -> Subscriber {
        let entry = self.connections.get(&connection);
        Subscriber {
            connection,
            max_latency: entry.and_then(|entry| entry.wanted.get(channel).copied()),
        }
    }
}
