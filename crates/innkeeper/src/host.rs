//! A host in this process: the engine, its store and its agents, and the
//! connections to it. Servers put sockets around it; a program that embeds
//! Innkeeper may talk to it directly.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use innkeeper_agents::install::Installer;
use innkeeper_agents::{Agent, Environment, ProfileChanges, Supervisor};
use innkeeper_engine::{
    ConnectionId, Engine, EngineConfig, HostBuild, Input, Leftovers, Limits, QueueAfterCancel,
    Step, WorkspaceConfig,
};
use innkeeper_protocol::command::{ClientMessage, Command};
use innkeeper_protocol::newest::commands::Implementation;
use innkeeper_protocol::record::store::{
    CommitNo, Journal, JournalEvent, Notify, SetAside, Store, StoreFault,
};
use innkeeper_protocol::telemetry::{Metric, MetricKind, Teller, prometheus};
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::client_versions::ClientVersions;
use crate::clock::{Clock, now};
use crate::delivery::{DeliveryOptions, Ending, OutboundQueue, Outgoing};
use crate::engine_loop::{EngineLoop, Event, Gauges, Unwritten};
use crate::machine::{Machine, WorkspaceOptions};
use crate::outbox::{Clients, Installs, MachineTasks, Outbox, Reads, Reports, Subjects};
use crate::read_only::{Judged, ReadOnly};
use crate::telemetry::{Telemetry, TelemetryOptions};
use crate::tenure::Tenancy;

/// How many messages of one client may wait for the engine.
const MESSAGES_IN_FLIGHT: u32 = 64;

/// How long the end of the host waits for states that are being kept.
const CHECKPOINTS_PATIENCE: Duration = Duration::from_secs(3);

/// How many events of agents may wait for the engine.
const REPORTS_IN_FLIGHT: usize = 1_024;

/// What a host is made of, besides its agents and its store.
#[derive(Debug, Default)]
pub struct HostOptions {
    /// Where the host keeps what is not in its store: the earlier states and
    /// the working trees of sessions, and the scripts of shells. Without it, it
    /// has none of these.
    pub data_dir: Option<PathBuf>,
    pub limits: Limits,
    pub delivery: DeliveryOptions,
    /// Where a remote file picker begins.
    pub default_directory: Option<String>,
    /// What becomes of queued messages when a turn is cancelled.
    pub queue_after_cancel: QueueAfterCancel,
    pub workspace: WorkspaceOptions,
    /// What the MCP servers that the host runs are started in.
    pub environment: Arc<Environment>,
    pub telemetry: TelemetryOptions,
    /// Installs agents for clients. Without it, they cannot ask for that.
    pub installer: Option<Arc<Installer>>,
}

#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error(transparent)]
    Store(#[from] StoreFault),
    #[error("failed to get random numbers from the system: {0}")]
    Random(getrandom::Error),
    #[error("failed to start a thread: {0}")]
    Thread(std::io::Error),
    #[error("the engine ended unexpectedly; this is a bug")]
    EngineGone,
}

/// The task ends with the journal, which is then to be closed.
type EngineTask = tokio::task::JoinHandle<Box<dyn Journal>>;

/// A running host. Clones are the same host.
#[derive(Clone)]
pub struct Host {
    inner: Arc<Inner>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

struct Inner {
    events: mpsc::UnboundedSender<Event>,
    clients: Arc<Clients>,
    agents: Arc<Supervisor>,
    machine: Arc<Machine>,
    outbox: Arc<Outbox>,
    telemetry: Arc<Telemetry>,
    gauges: Arc<Gauges>,
    delivery: DeliveryOptions,
    next_connection: AtomicU64,
    client_versions: Arc<ClientVersions>,
    tenancy: Arc<Tenancy>,
    engine: std::sync::Mutex<Option<EngineTask>>,
}

impl Host {
    /// Begins a new life of the host on what the store holds. To be called
    /// within a tokio runtime: agents and connections run there.
    pub async fn start(
        options: HostOptions,
        agents: Vec<Arc<dyn Agent>>,
        store: impl Store,
    ) -> Result<Self, HostError> {
        let data_dir = options.data_dir.as_deref();
        let workspace = WorkspaceConfig {
            installs_agents: options.installer.is_some(),
            ..options.workspace.config(data_dir)
        };
        let (machine, machine_inbox) =
            Machine::new(options.workspace, options.environment, data_dir);
        let (server_info, nonce) = (server_info(), nonce()?);
        let teller = Teller {
            name: server_info.name.clone(),
            version: server_info.version.clone().unwrap_or_default(),
            instance: nonce.clone(),
        };
        let telemetry = Telemetry::new(options.telemetry, teller);
        let begun = move || {
            let mut store = Box::new(store);
            store.begin().map(|boot| (store, boot))
        };
        let (store, boot) = tokio::task::spawn_blocking(begun)
            .await
            .map_err(|_| HostError::EngineGone)??;
        let (archive, tenure) = (store.archive()?, store.tenure());
        let (events, inbox) = mpsc::unbounded_channel();
        let (reports, report_inbox) = mpsc::channel(REPORTS_IN_FLIGHT);
        let agents = Arc::new(Supervisor::new(agents, reports));
        let profile_changes = agents.profile_changes();
        let client_versions = Arc::new(ClientVersions::new(&boot.clients));
        let clients = Arc::new(Clients::new(Arc::clone(&client_versions)));
        let reports = Reports::new(events.clone());
        let outbox = Arc::new(Outbox::new(Subjects {
            clients: Arc::clone(&clients),
            reads: Reads::new(archive, reports.clone()),
            installs: Installs::new(options.installer, reports.clone()),
            machine: MachineTasks::new(Arc::clone(&machine), reports.clone()),
            agents: Arc::clone(&agents),
            telemetry: Arc::clone(&telemetry),
            reports,
        }));
        let gauges = Arc::new(Gauges::default());
        let readiness = Arc::clone(&gauges);
        let tenancy = Tenancy::watch(tenure, {
            let (outbox, clients) = (Arc::clone(&outbox), Arc::clone(&clients));
            move || {
                outbox.shut();
                readiness.readiness.is_overtaken();
                clients.close_all(Ending::Overtaken);
            }
        })
        .map_err(HostError::Thread)?;
        let journal = store.start(tell_about_commits(&outbox, &events, &gauges))?;
        let config = EngineConfig {
            server_info,
            build: build(),
            default_directory: options.default_directory,
            nonce,
            limits: options.limits,
            number_block: EngineConfig::NUMBER_BLOCK,
            queue_after_cancel: options.queue_after_cancel,
            workspace,
        };
        let clock = Clock::new();
        let (engine, first) = Engine::new(now(), config, agents.profiles(), boot);
        let engine_loop = EngineLoop {
            engine,
            events: inbox,
            reports: report_inbox,
            machine: machine_inbox,
            journal,
            outbox: Arc::clone(&outbox),
            gauges: Arc::clone(&gauges),
            last_commit: CommitNo(0),
            unwritten: Unwritten::default(),
            step: Step::default(),
            clock,
        };
        let engine = tokio::spawn(engine_loop.run(first));
        tell_about_leftovers(&machine, &events);
        tokio::spawn(tell_about_agents(profile_changes, &agents, &events));
        let inner = Arc::new(Inner {
            events,
            clients,
            agents,
            machine,
            outbox,
            telemetry,
            gauges,
            delivery: options.delivery,
            next_connection: AtomicU64::new(1),
            client_versions,
            tenancy: Arc::new(tenancy),
            engine: std::sync::Mutex::new(Some(engine)),
        });
        tokio::spawn(tell_about_work(&inner));
        Ok(Self { inner })
    }

    /// Completes what clients can know of the agents, by starting those for a
    /// moment that have never run. Nobody needs to wait for it.
    pub async fn get_to_know_agents(&self) {
        self.inner.agents.get_to_know().await;
    }

    /// From here on, these are the agents; clients are told. What runs goes on.
    pub fn set_agents(&self, agents: Vec<Arc<dyn Agent>>) {
        self.inner.agents.set_agents(agents);
    }

    /// A new connection, of whatever transport.
    pub fn connect(&self) -> HostConnection {
        self.connect_as(None)
    }

    /// The same for somebody who may look and change nothing.
    pub fn connect_read_only(&self) -> HostConnection {
        self.connect_as(Some(ReadOnly::default()))
    }

    fn connect_as(&self, read_only: Option<ReadOnly>) -> HostConnection {
        let id = ConnectionId(self.inner.next_connection.fetch_add(1, Ordering::Relaxed));
        let queue = OutboundQueue::new(self.inner.delivery.clone());
        self.inner.clients.connect(id, Arc::clone(&queue));
        self.send(Event::Input(Input::Connected { connection: id }));
        HostConnection {
            host: self.clone(),
            id,
            queue,
            read_only,
            room: Arc::new(Semaphore::new(MESSAGES_IN_FLIGHT as usize)),
        }
    }

    /// Finishes what runs in a way that can be resumed, records it, ends
    /// agents and connections, and closes the store.
    pub async fn shutdown(&self) -> Result<(), HostError> {
        self.inner.gauges.readiness.stops();
        self.inner.outbox.end_errands();
        let (done, finished) = oneshot::channel();
        self.send(Event::Shutdown(done));
        // The store may be unable to take in what is left.
        let _ = tokio::time::timeout(Duration::from_secs(5), finished).await;
        let engine = self.inner.engine.lock().ok();
        let Some(engine) = engine.and_then(|mut engine| engine.take()) else {
            return Ok(());
        };
        let journal = engine.await;
        self.inner.agents.shutdown().await;
        self.inner.machine.servers.shutdown().await;
        let machine = Arc::clone(&self.inner.machine);
        let tenancy = Arc::clone(&self.inner.tenancy);
        // The store is closed last: who finds the data directory or the lease
        // free finds all states of files kept, and nothing of this host running.
        // What was told is stored already.
        let end = move || {
            machine.terminals.shutdown();
            if let Some(changes) = &machine.changes {
                changes.finish(CHECKPOINTS_PATIENCE);
            }
            tenancy.end();
            match journal {
                Ok(journal) => journal.close().map_err(HostError::Store),
                Err(_) => Err(HostError::EngineGone),
            }
        };
        let closed = tokio::task::spawn_blocking(end).await;
        let closed = closed.unwrap_or(Err(HostError::EngineGone));
        self.inner.telemetry.finish().await;
        self.inner.clients.close_all(Ending::ShuttingDown);
        closed
    }

    /// Waits until another host may have taken over what this one keeps. It has
    /// stopped by then; all that is left to do is to shut it down.
    pub async fn overtaken(&self) {
        self.inner.tenancy.over().await;
    }

    /// Tells other hosts on the same store where clients reach this one.
    pub fn announce(&self, address: &str) {
        self.inner.tenancy.announce(address);
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        self.inner.clients.count()
    }

    /// Who is connected, in their own words and with the version that they
    /// speak: the first `most` of those that have introduced themselves.
    pub fn clients(&self, most: usize) -> Vec<String> {
        self.inner.clients.list(most)
    }

    /// How many sessions are in the catalogue.
    pub fn sessions(&self) -> u64 {
        self.inner.gauges.stored_sessions.load(Ordering::Relaxed)
    }

    /// Why the host cannot work, in a sentence that gives nothing away; nothing
    /// if it can.
    pub fn obstacle(&self) -> Option<&'static str> {
        match self.inner.events.is_closed() {
            true => Some("the host has ended; start it again"),
            false => self.inner.gauges.readiness.obstacle(),
        }
    }

    /// The numbers of `/metrics`, as Prometheus reads them.
    pub fn metrics(&self) -> String {
        prometheus(&self.inner.measure())
    }

    pub(crate) fn note_refused_connection(&self) {
        let refused = &self.inner.gauges.refused_connections;
        refused.fetch_add(1, Ordering::Relaxed);
    }

    fn send(&self, event: Event) {
        // The engine is gone only when the host is being shut down.
        let _ = self.inner.events.send(event);
    }
}

impl Inner {
    /// All numbers about the host.
    fn measure(&self) -> Vec<Metric> {
        let gauges = &self.gauges;
        let read = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
        let one = |name, kind, help, value: u64| Metric {
            name,
            help,
            kind,
            points: vec![(Vec::new(), value as f64)],
        };
        let mut metrics = vec![
            one(
                "innkeeper_connections",
                MetricKind::Gauge,
                "Open connections.",
                self.clients.count() as u64,
            ),
            one(
                "innkeeper_connections_refused_total",
                MetricKind::Counter,
                "Connections that were refused because there were too many.",
                read(&gauges.refused_connections),
            ),
            one(
                "innkeeper_sessions",
                MetricKind::Gauge,
                "Sessions in the catalogue.",
                read(&gauges.stored_sessions),
            ),
            one(
                "innkeeper_sessions_resident",
                MetricKind::Gauge,
                "Sessions in memory.",
                read(&gauges.resident_sessions),
            ),
            one(
                "innkeeper_server_seq",
                MetricKind::Counter,
                "The last sequence number given out.",
                read(&gauges.server_seq),
            ),
            one(
                "innkeeper_inputs_total",
                MetricKind::Counter,
                "Inputs that the engine has handled.",
                read(&gauges.inputs),
            ),
            one(
                "innkeeper_store_failing",
                MetricKind::Gauge,
                "Whether the store cannot write.",
                read(&gauges.store_failing),
            ),
        ];
        metrics.extend(self.telemetry.metrics());
        metrics
    }
}

/// One connection to a host. Dropping it ends it.
pub struct HostConnection {
    host: Host,
    id: ConnectionId,
    pub(crate) queue: Arc<OutboundQueue>,
    read_only: Option<ReadOnly>,
    room: Arc<Semaphore>,
}

impl std::fmt::Debug for HostConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HostConnection({})", self.id.0)
    }
}

impl HostConnection {
    /// By which the log tells connections apart.
    pub(crate) fn number(&self) -> u64 {
        self.id.0
    }

    /// Hands over one message, waiting while too many of this client's wait.
    /// Messages are to be handed over one after the other.
    pub async fn receive(&self, text: &str) {
        let Ok(permit) = Arc::clone(&self.room).acquire_owned().await else {
            return;
        };
        let spoken = self.queue.spoken();
        let (version, message) = match spoken {
            Some(version) => (version, ClientMessage::decode_in(version, text)),
            None => {
                let versions = &self.host.inner.client_versions;
                let known = |client: &str| match &self.read_only {
                    None => versions.of(client),
                    Some(_) => versions.of(&ReadOnly::known_as(client)),
                };
                ClientMessage::decode_first(text, known)
            }
        };
        let message = match &self.read_only {
            None => message,
            Some(read_only) => match read_only.judge(message) {
                Judged::PassOn(message) => message,
                Judged::Refuse(refusal) => return self.queue.send(*refusal),
                Judged::Drop => return,
            },
        };
        log(&message);
        let introduces = spoken.is_none() && message.introduces();
        let input = Input::Message {
            connection: self.id,
            version,
            message,
        };
        self.host.send(Event::Message(input, permit));
        if introduces {
            self.all_is_handled().await;
        }
    }

    /// Waits for the engine. What comes behind an introduction is read in the
    /// version that the client was let in with, or as if there had been none:
    /// only the engine knows, and a client need not wait for its answer.
    async fn all_is_handled(&self) {
        let _ = self.room.acquire_many(MESSAGES_IN_FLIGHT).await;
    }

    /// Waits for messages to this client, up to about `most` bytes of them.
    /// Nothing but an ending is the last thing that comes.
    pub(crate) async fn outgoing(&self, most: usize) -> Outgoing {
        self.queue.take(most).await
    }

    /// Waits for the next messages; `None` when the host ended the connection.
    pub async fn next(&self) -> Option<Vec<String>> {
        let outgoing = self.queue.take(1).await;
        let ending = outgoing.ending;
        let texts = outgoing.into_texts();
        (!texts.is_empty() || ending.is_none()).then_some(texts)
    }
}

impl Drop for HostConnection {
    fn drop(&mut self) {
        self.host.inner.clients.disconnect(self.id);
        self.host.send(Event::Input(Input::Disconnected {
            connection: self.id,
        }));
    }
}

/// What is created and removed is worth a line.
fn log(message: &ClientMessage) {
    let ClientMessage::Call { command, .. } = message else {
        return;
    };
    match command {
        Ok(Command::CreateSession(session)) => {
            let agent = session.params.provider.as_deref().unwrap_or_default();
            let session = session.params.channel.as_str();
            tracing::info!(session, agent, "a client creates a session");
        }
        Ok(Command::DisposeSession(params)) => {
            let session = params.channel.as_str();
            tracing::info!(session, "a client disposes of a session");
        }
        Ok(_) | Err(_) => {}
    }
}

fn tell_about_commits(
    outbox: &Arc<Outbox>,
    events: &mpsc::UnboundedSender<Event>,
    gauges: &Arc<Gauges>,
) -> Notify {
    let (outbox, events, gauges) = (Arc::clone(outbox), events.clone(), Arc::clone(gauges));
    Box::new(move |event| match event {
        JournalEvent::Committed(number) => outbox.committed(number),
        JournalEvent::Failing { reason } => {
            let _ = events.send(Event::Input(Input::StoreFailing { reason }));
        }
        JournalEvent::Lost { reason } => {
            gauges.readiness.store_is_lost();
            // The engine need not know that it is for good: nothing follows.
            let _ = events.send(Event::Input(Input::StoreFailing { reason }));
        }
        JournalEvent::LogTooLarge { below } => {
            let _ = events.send(Event::Input(Input::LogTooLarge { below }));
        }
        JournalEvent::Recovered => {
            let _ = events.send(Event::Input(Input::StoreRecovered));
        }
        JournalEvent::SetAside(SetAside {
            number,
            sessions,
            reason,
        }) => {
            outbox.refused(number, reason);
            let _ = events.send(Event::Input(Input::NotStored { sessions }));
        }
    })
}

/// What earlier hosts have left on the machine.
fn tell_about_leftovers(machine: &Arc<Machine>, events: &mpsc::UnboundedSender<Event>) {
    let (machine, events) = (Arc::clone(machine), events.downgrade());
    tokio::task::spawn_blocking(move || {
        let Some(changes) = &machine.changes else {
            return;
        };
        let found = Leftovers {
            kept: changes.kept(),
            trees: changes.trees(),
        };
        let is_any = found != Leftovers::default();
        if let Some(events) = events.upgrade().filter(|_| is_any) {
            let _ = events.send(Event::Input(Input::LeftoversFound(found)));
        }
    });
}

/// What is learned of agents while the host runs is shown to clients.
fn tell_about_agents(
    mut changes: ProfileChanges,
    agents: &Arc<Supervisor>,
    events: &mpsc::UnboundedSender<Event>,
) -> impl Future<Output = ()> + Send + 'static {
    // The host's end must not wait for this.
    let (agents, events) = (Arc::downgrade(agents), events.downgrade());
    async move {
        while changes.next().await.is_some() {
            let (Some(agents), Some(events)) = (agents.upgrade(), events.upgrade()) else {
                return;
            };
            let _ = events.send(Event::Input(Input::AgentsChanged(agents.profiles())));
        }
    }
}

/// What the host does is told to those who listen, until it ends.
fn tell_about_work(inner: &Arc<Inner>) -> impl Future<Output = ()> + Send + 'static {
    let (telemetry, events) = (Arc::clone(&inner.telemetry), inner.events.downgrade());
    let measured = Arc::downgrade(inner);
    let measure = move || measured.upgrade().map(|inner| inner.measure());
    telemetry.run(measure, move |batch| {
        let events = events.upgrade();
        events.is_some_and(|events| events.send(Event::Input(Input::Telemetry(batch))).is_ok())
    })
}

fn server_info() -> Implementation {
    Implementation {
        name: "innkeeper".to_owned(),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        title: Some("Innkeeper".to_owned()),
    }
}

/// What the build script learned of the source.
fn build() -> HostBuild {
    HostBuild {
        commit: option_env!("INNKEEPER_COMMIT").map(str::to_owned),
        date: option_env!("INNKEEPER_COMMIT_DATE").map(str::to_owned),
    }
}

fn nonce() -> Result<String, HostError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(HostError::Random)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
