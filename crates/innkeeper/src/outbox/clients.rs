//! The connections, and what goes out to them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use innkeeper_engine::{CloseReason, ConnectionId, Subscriber};
use innkeeper_protocol::ClientId;
use innkeeper_protocol::outgoing::HostMessage;
use innkeeper_protocol::version::Version;

use crate::client_versions::ClientVersions;
use crate::delivery::{AnswerRoom, Ending, Hand, OutboundQueue, Parcel};

type Queues = HashMap<ConnectionId, Arc<OutboundQueue>>;

pub(crate) struct Clients {
    queues: RwLock<Queues>,
    /// Who is behind each connection over which somebody was let in.
    names: RwLock<HashMap<ConnectionId, Guest>>,
    versions: Arc<ClientVersions>,
}

/// A client that was let in.
struct Guest {
    id: ClientId,
    /// What it calls itself.
    name: Option<String>,
    version: Version,
}

impl Clients {
    pub(crate) fn new(versions: Arc<ClientVersions>) -> Self {
        Self {
            queues: RwLock::default(),
            names: RwLock::default(),
            versions,
        }
    }

    pub(crate) fn connect(&self, connection: ConnectionId, queue: Arc<OutboundQueue>) {
        self.write().insert(connection, queue);
    }

    pub(crate) fn disconnect(&self, connection: ConnectionId) {
        if let Some(queue) = self.write().remove(&connection) {
            queue.answers.close();
        }
        self.names_mut().remove(&connection);
    }

    pub(crate) fn count(&self) -> usize {
        self.read().len()
    }

    /// Ends every connection, after what waits for it.
    pub(crate) fn close_all(&self, ending: Ending) {
        for queue in self.read().values() {
            queue.close(ending);
        }
    }

    pub(super) fn send(&self, to: ConnectionId, message: HostMessage) {
        if let Some(queue) = self.read().get(&to) {
            queue.send(message);
        }
    }

    /// Who is connected, by name and version, in the order in which they came.
    pub(crate) fn list(&self, most: usize) -> Vec<String> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<(&ConnectionId, &Guest)> = names.iter().collect();
        all.sort_by_key(|(connection, _)| **connection);
        let told = all.into_iter().take(most).map(|(_, guest)| {
            let name = guest.name.as_deref().unwrap_or("a client without a name");
            format!("{name}, AHP {}", guest.version)
        });
        told.collect()
    }

    pub(super) fn speak(
        &self,
        to: ConnectionId,
        client: ClientId,
        version: Version,
        name: Option<String>,
    ) {
        tracing::info!(
            connection = to.0,
            client = client.as_str(),
            name = name.as_deref().unwrap_or_default(),
            version = %version,
            "a client introduced itself"
        );
        let guest = Guest {
            id: client.clone(),
            name,
            version,
        };
        self.names_mut().insert(to, guest);
        self.versions.remember(client, version);
        if let Some(queue) = self.read().get(&to) {
            queue.speak(version);
        }
    }

    pub(super) fn forget(&self, client: &ClientId) {
        self.versions.forget(client);
    }

    pub(super) fn close(&self, connection: ConnectionId, reason: CloseReason) {
        if let Some(queue) = self.read().get(&connection) {
            queue.close(Ending::Engine(reason));
        }
    }

    /// The one of some connections that a client is behind.
    pub(super) fn find(
        &self,
        mut among: impl Iterator<Item = ConnectionId>,
        client: &str,
    ) -> Option<ConnectionId> {
        let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
        among.find(|connection| {
            names
                .get(connection)
                .is_some_and(|guest| *guest.id == *client)
        })
    }

    /// Room for answers to a client that is still there.
    pub(super) fn room(&self, of: ConnectionId) -> Option<Arc<AnswerRoom>> {
        let queues = self.read();
        queues.get(&of).map(|queue| Arc::clone(&queue.answers))
    }

    /// The queues of subscribers that are still there.
    pub(super) fn queues(&self, of: Option<&[Subscriber]>) -> Vec<Arc<OutboundQueue>> {
        let queues = self.read();
        let of = of.unwrap_or_default().iter();
        of.filter_map(|one| queues.get(&one.connection).cloned())
            .collect()
    }

    /// Adds a message to the run, which goes out if it is for others.
    pub(super) fn add(&self, run: &mut Run, to: Arc<[Subscriber]>, message: HostMessage) {
        if !run.is_for(&to) {
            self.publish(run);
            run.to = Some(to);
        }
        run.messages.push(message);
    }

    pub(super) fn publish(&self, run: &mut Run) {
        let Some(to) = run.to.take() else {
            return;
        };
        let parcel = Parcel::new(std::mem::take(&mut run.messages));
        let (queues, mut hand) = (self.read(), Hand::new());
        for subscriber in to.iter() {
            if let Some(queue) = queues.get(&subscriber.connection) {
                queue.publish(&parcel, subscriber.max_latency, &mut hand);
            }
        }
    }

    fn names_mut(&self) -> RwLockWriteGuard<'_, HashMap<ConnectionId, Guest>> {
        self.names.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, Queues> {
        self.queues.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Queues> {
        self.queues.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Neighbouring messages for the same subscribers: they travel together.
#[derive(Default)]
pub(super) struct Run {
    to: Option<Arc<[Subscriber]>>,
    messages: Vec<HostMessage>,
}

impl Run {
    fn is_for(&self, to: &Arc<[Subscriber]>) -> bool {
        self.to.as_ref().is_some_and(|these| Arc::ptr_eq(these, to))
    }
}
