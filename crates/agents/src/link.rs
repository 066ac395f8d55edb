//! The two ends that connect a backend to the host: the commands it receives
//! and the events it emits.
//!
//! *Invariant*: once a backend is over (closed by the host, or after its own
//! last word), none of its events enters the report channel any more.

mod pace;

use std::collections::VecDeque;
use std::sync::Arc;

use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::{AgentCommand, AgentEvent, AgentReport, BackendId, TurnEvent};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::time::Instant;

use pace::{Pace, Step};

/// The commands for one backend, in order. The first one, `Open`, is not
/// among them: it is what the backend is started with.
#[derive(Debug)]
pub struct CommandStream(mpsc::UnboundedReceiver<AgentCommand>);

impl CommandStream {
    /// The next command, or `None` when the host has no more. Waiting may be
    /// given up at any time without losing a command.
    pub async fn next(&mut self) -> Option<AgentCommand> {
        self.0.recv().await
    }

    /// Waits for the end of a backend that has no time for commands, and keeps
    /// those that come before it.
    pub(crate) async fn until_closed(&mut self, early: &mut VecDeque<AgentCommand>) {
        loop {
            match self.next().await {
                None | Some(AgentCommand::Close { .. }) => return,
                Some(other) => early.push_back(other),
            }
        }
    }
}

/// Where a backend says what happens. Clones speak for the same backend.
#[derive(Debug, Clone)]
pub struct EventSink {
    backend: BackendId,
    reports: mpsc::Sender<AgentReport>,
    over: watch::Sender<bool>,
    /// Locked while events of turns are told, so that they keep their order.
    pace: Arc<Mutex<Pace>>,
}

impl EventSink {
    pub fn backend(&self) -> BackendId {
        self.backend
    }

    /// Reports an event, waiting for room: this is what holds back an agent
    /// that says more than the host can take. Silent once the backend is over.
    pub async fn emit(&self, event: AgentEvent) {
        if is_last_word(&event) {
            let mut pace = self.pace.lock().await;
            for (turn, event) in pace.end_all() {
                self.report(AgentEvent::Turn { turn, event }).await;
            }
        }
        self.report(event).await;
    }

    async fn report(&self, event: AgentEvent) {
        let Some(permit) = self.room().await else {
            return;
        };
        let last_word = is_last_word(&event);
        let backend = self.backend;
        // Looking and sending are one step, so that nothing slips in behind
        // a `Close`.
        self.over.send_if_modified(|over| {
            if *over {
                return false;
            }
            permit.send(AgentReport { backend, event });
            *over = last_word;
            last_word
        });
    }

    /// Waits for room in the report channel, unless nobody listens any more.
    async fn room(&self) -> Option<mpsc::Permit<'_, AgentReport>> {
        match self.reports.try_reserve() {
            Ok(permit) => return Some(permit),
            // The host is on its way out.
            Err(TrySendError::Closed(())) => return None,
            Err(TrySendError::Full(())) => {}
        }
        let mut over = self.over.subscribe();
        tokio::select! {
            biased;
            permit = self.reports.reserve() => permit.ok(),
            _ = over.wait_for(|over| *over) => None,
        }
    }

    /// Reports an event of a turn, waiting for room. What a call shows may be
    /// reported later, if it is large and was just replaced.
    pub async fn turn(&self, turn: &TurnId, event: TurnEvent) {
        let mut pace = self.pace.lock().await;
        match pace.take(turn, event) {
            Step::Tell(events) => {
                for event in events {
                    let turn = turn.clone();
                    self.report(AgentEvent::Turn { turn, event }).await;
                }
            }
            Step::Later(Some(due)) => {
                tokio::spawn(self.clone().tell_later(due));
            }
            Step::Later(None) => {}
        }
    }

    /// Reports what calls show when it is time.
    async fn tell_later(self, due: Instant) {
        tokio::time::sleep_until(due).await;
        let mut pace = self.pace.lock().await;
        for (turn, event) in pace.due() {
            self.report(AgentEvent::Turn { turn, event }).await;
        }
    }
}

fn is_last_word(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::OpenFailed(_) | AgentEvent::Exited { .. } => true,
        AgentEvent::Opened { .. }
        | AgentEvent::Past(_)
        | AgentEvent::Turn { .. }
        | AgentEvent::Title(_)
        | AgentEvent::Tools(_)
        | AgentEvent::Model(_)
        | AgentEvent::Memory { .. }
        | AgentEvent::Commands(_)
        | AgentEvent::Configured(_)
        | AgentEvent::AuthRequired { .. } => false,
    }
}

/// The host's end of a link.
#[derive(Debug)]
pub(crate) struct BackendHandle {
    commands: mpsc::UnboundedSender<AgentCommand>,
    over: watch::Sender<bool>,
}

impl BackendHandle {
    /// Passes a command on; one that nobody waits for any more is dropped.
    pub(crate) fn send(&self, command: AgentCommand) {
        let _ = self.commands.send(command);
    }

    /// Ends the backend: it is told, and from here on it is not heard.
    pub(crate) fn close(self, backend: BackendId) {
        self.over.send_replace(true);
        self.send(AgentCommand::Close { backend });
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.commands.is_closed()
    }
}

pub(crate) fn link(
    backend: BackendId,
    reports: mpsc::Sender<AgentReport>,
) -> (BackendHandle, CommandStream, EventSink) {
    let (commands, stream) = mpsc::unbounded_channel();
    let over = watch::Sender::new(false);
    let handle = BackendHandle {
        commands,
        over: over.clone(),
    };
    let sink = EventSink {
        backend,
        reports,
        over,
        pace: Arc::default(),
    };
    (handle, CommandStream(stream), sink)
}

#[cfg(test)]
mod tests;
