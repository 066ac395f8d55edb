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
    agents: Vec<(String, Arc<dyn Agent>)>,
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
        let named = |agent: Arc<dyn Agent>| (agent.profile().info.provider, agent);
        let runtime = Handle::current();
        runtime.spawn_blocking(leftovers::remove);
        Self {
            agents: list.into_iter().map(named).collect(),
            reports,
            runtime,
            running: Mutex::default(),
        }
    }

    pub fn profiles(&self) -> Vec<AgentProfile> {
        self.agents
            .iter()
            .map(|(_, agent)| agent.profile())
            .collect()
    }

    /// From here on, changes of profiles are noticed.
    pub fn profile_changes(&self) -> ProfileChanges {
        let agents = self.agents.iter();
        ProfileChanges(agents.filter_map(|(_, agent)| agent.changes()).collect())
    }

    /// Gets to know the agents that are not known yet, one after the other.
    pub async fn get_to_know(&self) {
        for (provider, agent) in &self.agents {
            if !agent.is_known()
                && let Err(reason) = agent.get_to_know().await
            {
                tracing::info!(agent = provider, reason, "an agent does not start");
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
        self.agents
            .iter()
            .find(|(name, _)| name == provider)
            .map(|(_, agent)| Arc::clone(agent))
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether what is known of agents has changed.
#[derive(Debug)]
pub struct ProfileChanges(Vec<watch::Receiver<u64>>);

impl ProfileChanges {
    /// Waits for a change since the last one that was waited for; `None` if
    /// there can be none.
    pub async fn next(&mut self) -> Option<()> {
        self.0.retain(|changes| changes.has_changed().is_ok());
        if self.0.is_empty() {
            return None;
        }
        let changed = self.0.iter_mut().map(|changes| changes.changed().boxed());
        let _ = futures_util::future::select_all(changed).await;
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
        let providers: Vec<_> = self.agents.iter().map(|(name, _)| name).collect();
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
