//! The supervisor: one task for each backend, and a word about every backend
//! that goes away by itself.
//!
//! *Invariant*: a backend that ends unasked, by returning or by panicking, is
//! reported as `Exited` exactly once; one that was closed is never.

use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::mem;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use innkeeper_protocol::agent::{
    AgentCommand, AgentEnd, AgentEvent, AgentFailure, AgentProfile, AgentReport, BackendId,
    ConfigQuery, OpenBackend,
};
use innkeeper_protocol::newest::commands::SessionConfigValueItem;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::Agent;
use crate::client_tools::leftovers;
use crate::link::{BackendHandle, CommandStream, EventSink, link};

/// How long backends have for a clean end at shutdown.
const GRACE: Duration = Duration::from_secs(5);

/// All agents of a host and their running backends.
pub struct Supervisor {
    agents: Mutex<Vec<(String, Arc<dyn Agent>)>>,
    /// Where the agents say that what is known of them has changed.
    changes: watch::Sender<Vec<watch::Receiver<u64>>>,
    reports: mpsc::Sender<AgentReport>,
    runtime: Handle,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    backends: HashMap<BackendId, BackendHandle>,
    tasks: JoinSet<()>,
}

impl Supervisor {
    /// To be called within a tokio runtime: that is where backends will run.
    pub fn new(list: Vec<Arc<dyn Agent>>, reports: mpsc::Sender<AgentReport>) -> Self {
        let runtime = Handle::current();
        runtime.spawn_blocking(leftovers::remove);
        let supervisor = Self {
            agents: Mutex::default(),
            changes: watch::Sender::new(Vec::new()),
            reports,
            runtime,
            running: Mutex::default(),
        };
        supervisor.set_agents(list);
        supervisor
    }

    /// From here on, these are the agents. What runs goes on, also if its agent
    /// is not among them.
    pub fn set_agents(&self, list: Vec<Arc<dyn Agent>>) {
        let changes = list.iter().filter_map(|agent| agent.changes()).collect();
        let named = |agent: Arc<dyn Agent>| (agent.profile().info.provider, agent);
        *self.agents() = list.into_iter().map(named).collect();
        self.changes.send_replace(changes);
    }

    pub fn profiles(&self) -> Vec<AgentProfile> {
        let agents = self.agents();
        agents.iter().map(|(_, agent)| agent.profile()).collect()
    }

    /// From here on, changes of profiles are noticed.
    pub fn profile_changes(&self) -> ProfileChanges {
        let mut lists = self.changes.subscribe();
        let agents = lists.borrow_and_update().clone();
        ProfileChanges { lists, agents }
    }

    /// Gets to know the agents that are not known yet, one after the other.
    pub async fn get_to_know(&self) {
        let agents = self.agents().clone();
        for (provider, agent) in &agents {
            if !agent.is_known()
                && let Err(reason) = agent.get_to_know().await
            {
                tracing::warn!(agent = provider, reason, "an agent does not start");
            }
        }
    }

    /// Carries out a command without waiting. What is meant for a backend that
    /// is gone is ignored: its end was reported, or asked for.
    pub fn command(&self, command: AgentCommand) {
        let backend = command.backend();
        match command {
            AgentCommand::Open(open) => self.open(*open),
            AgentCommand::Close { .. } => {
                if let Some(handle) = self.running().backends.remove(&backend) {
                    handle.close(backend);
                }
            }
            _ => {
                if let Some(handle) = self.running().backends.get(&backend) {
                    handle.send(command);
                }
            }
        }
    }

    /// Values that an agent proposes for one of its settings.
    pub fn complete_config(
        &self,
        query: ConfigQuery,
    ) -> BoxFuture<'static, Vec<SessionConfigValueItem>> {
        match self.find(&query.provider) {
            Some(agent) => agent.complete_config(query),
            None => std::future::ready(Vec::new()).boxed(),
        }
    }

    /// Closes every backend and waits for their ends; those that take longer
    /// than the grace period are dropped where they stand.
    pub async fn shutdown(&self) {
        let Running {
            backends,
            mut tasks,
        } = mem::take(&mut *self.running());
        for (backend, handle) in backends {
            handle.close(backend);
        }
        let ended = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, ended).await.is_err() {
            tracing::warn!(backends = tasks.len(), "backends did not end in time");
            tasks.shutdown().await;
        }
    }

    fn open(&self, open: OpenBackend) {
        let backend = open.backend;
        let mut running = self.running();
        running.forget_the_gone();
        let Running { backends, tasks } = &mut *running;
        let Entry::Vacant(place) = backends.entry(backend) else {
            tracing::warn!(?backend, "opened twice; the second one is ignored");
            return;
        };
        let (handle, commands, events) = link(backend, self.reports.clone());
        place.insert(handle);
        let agent = self.find(&open.provider);
        tasks.spawn_on(supervise(agent, open, commands, events), &self.runtime);
    }

    fn find(&self, provider: &str) -> Option<Arc<dyn Agent>> {
        let agents = self.agents();
        let found = agents.iter().find(|(name, _)| name == provider);
        found.map(|(_, agent)| Arc::clone(agent))
    }

    fn agents(&self) -> MutexGuard<'_, Vec<(String, Arc<dyn Agent>)>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether there are other agents, or what is known of them has changed.
#[derive(Debug)]
pub struct ProfileChanges {
    lists: watch::Receiver<Vec<watch::Receiver<u64>>>,
    agents: Vec<watch::Receiver<u64>>,
}

impl ProfileChanges {
    /// Waits for a change since the last one that was waited for; `None` if
    /// there can be none, as the supervisor is gone.
    pub async fn next(&mut self) -> Option<()> {
        let Self { lists, agents } = self;
        agents.retain(|changes| changes.has_changed().is_ok());
        let changed = agents.iter_mut().map(|changes| changes.changed().boxed());
        let changed: Vec<_> = changed.collect();
        let any_changed = async {
            match changed.is_empty() {
                true => std::future::pending().await,
                false => drop(futures_util::future::select_all(changed).await),
            }
        };
        let other_agents = tokio::select! {
            listed = lists.changed() => {
                listed.ok()?;
                true
            }
            () = any_changed => false,
        };
        if other_agents {
            *agents = lists.borrow_and_update().clone();
        }
        Some(())
    }
}

impl Running {
    fn forget_the_gone(&mut self) {
        self.backends.retain(|_, handle| !handle.is_gone());
        while self.tasks.try_join_next().is_some() {}
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agents = self.agents();
        let providers: Vec<_> = agents.iter().map(|(name, _)| name).collect();
        f.debug_struct("Supervisor")
            .field("providers", &providers)
            .finish_non_exhaustive()
    }
}

/// Runs a backend to its end and says so, unless it was closed or has already
/// had its last word.
async fn supervise(
    agent: Option<Arc<dyn Agent>>,
    open: OpenBackend,
    commands: CommandStream,
    events: EventSink,
) {
    let Some(agent) = agent else {
        let failure = AgentFailure::UnknownProvider(open.provider);
        return events.emit(AgentEvent::OpenFailed(failure)).await;
    };
    let sink = events.clone();
    // Not started before it is polled, so that a panic in `run` itself is
    // caught as well.
    let life = async move { agent.run(open, commands, sink).await };
    let end = match AssertUnwindSafe(life).catch_unwind().await {
        Ok(()) => AgentEnd::Stopped,
        Err(panic) => AgentEnd::Panicked(panic_text(&*panic).to_owned()),
    };
    // Whether it had a turn, it did not say.
    let idle = false;
    events.emit(AgentEvent::Exited { end, idle }).await;
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests;
