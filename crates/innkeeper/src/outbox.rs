//! The outbox: steps of the engine on their way out, in order.
//!
//! *Invariant*: the effects of a step are carried out after those of every
//! earlier step, and not before the store has what they must wait for. What
//! the engine says while the store cannot write depends on nothing unwritten,
//! and overtakes; so do the versions that connections speak from now on.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innkeeper_agents::Supervisor;
use innkeeper_engine::{ConnectionId, Effect, Input, Subscriber};
use innkeeper_protocol::outgoing::HostMessage;
use innkeeper_protocol::record::LoadedSession;
use innkeeper_store::{CommitNo, Reader, StoreError};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};

use crate::client_versions::ClientVersions;
use crate::delivery::{Ending, OutboundQueue, Parcel};
use crate::engine_loop::Event;
use crate::machine::Machine;
use crate::telemetry::Telemetry;

pub(crate) struct Outbox {
    state: Mutex<State>,
    client_versions: Arc<ClientVersions>,
    agents: Arc<Supervisor>,
    /// Until the store is about to be closed.
    reader: Arc<Mutex<Option<Reader>>>,
    machine: Arc<Machine>,
    telemetry: Arc<Telemetry>,
    events: mpsc::UnboundedSender<Event>,
    runtime: Handle,
    commits: Notify,
}

#[derive(Default)]
struct State {
    connections: HashMap<ConnectionId, Arc<OutboundQueue>>,
    steps: VecDeque<PendingStep>,
    committed: CommitNo,
}

struct PendingStep {
    /// What must be durable first.
    after: CommitNo,
    effects: Vec<Effect>,
}

impl Outbox {
    pub(crate) fn new(
        client_versions: Arc<ClientVersions>,
        agents: Arc<Supervisor>,
        machine: Arc<Machine>,
        telemetry: Arc<Telemetry>,
        reader: Reader,
        events: mpsc::UnboundedSender<Event>,
    ) -> Self {
        Self {
            state: Mutex::default(),
            client_versions,
            agents,
            reader: Arc::new(Mutex::new(Some(reader))),
            machine,
            telemetry,
            events,
            runtime: Handle::current(),
            commits: Notify::new(),
        }
    }

    pub(crate) fn connect(&self, connection: ConnectionId, queue: Arc<OutboundQueue>) {
        self.lock().connections.insert(connection, queue);
    }

    pub(crate) fn disconnect(&self, connection: ConnectionId) {
        self.lock().connections.remove(&connection);
    }

    pub(crate) fn connections(&self) -> usize {
        self.lock().connections.len()
    }

    /// Takes the effects of a step; they happen when everything before them
    /// has and the store has come as far as `after`.
    pub(crate) fn submit(&self, after: CommitNo, effects: Vec<Effect>) {
        let mut state = self.lock();
        state.steps.push_back(PendingStep { after, effects });
        self.pump(&mut state);
    }

    /// Carries out effects that wait for nothing.
    pub(crate) fn overtake(&self, effects: Vec<Effect>) {
        self.carry_out(&mut self.lock(), effects);
    }

    /// The store has come this far.
    pub(crate) fn committed(&self, number: CommitNo) {
        let mut state = self.lock();
        state.committed = state.committed.max(number);
        self.pump(&mut state);
        self.commits.notify_one();
    }

    pub(crate) fn committed_so_far(&self) -> CommitNo {
        self.lock().committed
    }

    /// Waits until the store has come further.
    pub(crate) async fn next_commit(&self) {
        self.commits.notified().await;
    }

    /// Ends every connection, after what waits for it.
    pub(crate) fn close_all(&self) {
        for queue in self.lock().connections.values() {
            queue.close(Ending::ShuttingDown);
        }
    }

    fn pump(&self, state: &mut State) {
        while let Some(step) = state.steps.front()
            && step.after <= state.committed
        {
            if let Some(step) = state.steps.pop_front() {
                self.carry_out(state, step.effects);
            }
        }
    }

    fn carry_out(&self, state: &mut State, effects: Vec<Effect>) {
        let mut run = Run::default();
        for effect in effects {
            if let Effect::Publish { to, message } = effect {
                if !run.is_for(&to) {
                    run.publish(state);
                    run.to = Some(to);
                }
                run.messages.push(message);
                continue;
            }
            run.publish(state);
            match effect {
                Effect::Publish { .. } => {}
                Effect::Send { to, message } => {
                    if let Some(queue) = state.connections.get(&to) {
                        queue.send(message);
                    }
                }
                Effect::Speak {
                    to,
                    client,
                    version,
                } => {
                    self.client_versions.remember(client, version);
                    if let Some(queue) = state.connections.get(&to) {
                        queue.speak(version);
                    }
                }
                Effect::ForgetClient { client } => self.client_versions.forget(&client),
                Effect::Close { connection, reason } => {
                    if let Some(queue) = state.connections.get(&connection) {
                        queue.close(Ending::Engine(reason));
                    }
                }
                Effect::Agent(command) => self.agents.command(command),
                Effect::LoadSession { session } => self.read(move |reader| {
                    let loaded = reader.load_session(&session);
                    let loaded = loaded.map(|loaded| loaded.map(Box::<LoadedSession>::new));
                    Input::SessionLoaded {
                        session,
                        loaded: explained(loaded),
                    }
                }),
                Effect::LoadLog {
                    ticket,
                    after,
                    up_to,
                } => self.read(move |reader| Input::LogLoaded {
                    ticket,
                    entries: explained(reader.log_between(after, up_to)),
                }),
                Effect::LoadContent { ticket, uri } => {
                    self.read(move |reader| Input::ContentLoaded {
                        ticket,
                        content: explained(reader.content(&uri)),
                    });
                }
                Effect::FindFiles {
                    ticket,
                    directories,
                    query,
                    limit,
                } => {
                    let finder = self.machine.finder.clone();
                    let events = self.events.clone();
                    self.runtime.spawn_blocking(move || {
                        let files = finder.find(&directories, &query, limit);
                        let _ = events.send(Event::Input(Input::FilesFound { ticket, files }));
                    });
                }
                Effect::Resource {
                    ticket,
                    scope,
                    task,
                } => {
                    let resources = self.machine.resources.clone();
                    let events = self.events.clone();
                    self.runtime.spawn_blocking(move || {
                        let outcome = resources.perform(&scope, &task);
                        let _ = events.send(Event::Input(Input::ResourceDone { ticket, outcome }));
                    });
                }
                Effect::Terminal(command) => self.machine.terminals.command(command),
                Effect::TerminalTaken {
                    terminal,
                    bytes,
                    by,
                } => {
                    let by = by.iter().flat_map(|by| by.iter());
                    let queues = by.filter_map(|one| state.connections.get(&one.connection));
                    let waits = self
                        .machine
                        .taken(terminal, bytes, queues.cloned().collect());
                    if let Some(waits) = waits {
                        self.runtime.spawn(waits);
                    }
                }
                Effect::Watch(command) => self.machine.watches.command(command),
                Effect::Changes(command) => self.machine.changes.command(command),
                Effect::RemoveTrees { trees } => {
                    let changes = self.machine.changes.clone();
                    self.runtime
                        .spawn_blocking(move || changes.remove_trees(&trees));
                }
                Effect::ReadKept {
                    ticket,
                    session,
                    directories,
                    id,
                    most_bytes,
                } => {
                    let changes = self.machine.changes.clone();
                    let events = self.events.clone();
                    self.runtime.spawn_blocking(move || {
                        let outcome = changes.read(&directories, &session, &id, most_bytes);
                        let _ = events.send(Event::Input(Input::ResourceDone { ticket, outcome }));
                    });
                }
                Effect::ListBranches {
                    ticket,
                    directory,
                    query,
                } => {
                    let changes = self.machine.changes.clone();
                    let events = self.events.clone();
                    self.runtime.spawn_blocking(move || {
                        let items = changes.branches(&directory, &query);
                        let _ = events.send(Event::Input(Input::ConfigCompleted { ticket, items }));
                    });
                }
                Effect::Span(span) => self.telemetry.span(*span),
                Effect::Customization(command) => self.machine.customizations.command(command),
                Effect::CompleteConfig { ticket, query } => {
                    let values = self.agents.complete_config(*query);
                    let events = self.events.clone();
                    self.runtime.spawn(async move {
                        let items = values.await;
                        let _ = events.send(Event::Input(Input::ConfigCompleted { ticket, items }));
                    });
                }
            }
        }
        run.publish(state);
    }

    /// Asks the store on a thread that may block, and tells the engine.
    fn read(&self, ask: impl FnOnce(&Reader) -> Input + Send + 'static) {
        let reader = Arc::clone(&self.reader);
        let events = self.events.clone();
        self.runtime.spawn_blocking(move || {
            let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(input) = reader.as_ref().map(ask) {
                // Nobody is there to hear it when the host is ending.
                let _ = events.send(Event::Input(input));
            }
        });
    }

    /// Looks at the store no more. Its last connection must be the one that
    /// writes, else its write-ahead log would stay behind.
    pub(crate) fn stop_reading(&self) {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        *reader = None;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Neighbouring messages for the same subscribers: they travel together.
#[derive(Default)]
struct Run {
    to: Option<Arc<[Subscriber]>>,
    messages: Vec<HostMessage>,
}

impl Run {
    fn is_for(&self, to: &Arc<[Subscriber]>) -> bool {
        self.to.as_ref().is_some_and(|these| Arc::ptr_eq(these, to))
    }

    fn publish(&mut self, state: &State) {
        let Some(to) = self.to.take() else {
            return;
        };
        let parcel = Parcel::new(std::mem::take(&mut self.messages));
        for subscriber in to.iter() {
            if let Some(queue) = state.connections.get(&subscriber.connection) {
                queue.publish(&parcel, subscriber.max_latency);
            }
        }
    }
}

fn explained<T>(outcome: Result<T, StoreError>) -> Result<T, String> {
    outcome.map_err(|error| error.to_string())
}
