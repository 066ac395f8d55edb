//! The MCP servers that the host runs: each a task of its own, which starts or
//! reaches the server, learns what it offers, passes requests on, and says how
//! it is.
//!
//! - `life`: one run of a server, from its start to its end;
//! - `offer`: what a server says that it has, within bounds;
//! - `link`: how messages get to a server and back: `stdio` to a program,
//!   `http` to an address (with `web`, the requests, and `events`, the streams);
//! - `challenge`: what a server says that wants a sign-in.
//!
//! *Invariant*: whatever a server does, it costs a bounded amount of memory,
//! and whoever waits for it hears an end. *Boundary*: when a server runs and
//! who may use it is the engine's to decide.

mod challenge;
mod events;
mod http;
mod icons;
mod life;
mod link;
mod offer;
mod stdio;
#[cfg(test)]
mod tests;
mod web;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use innkeeper_protocol::mcp::hosted::{McpCommand, McpReport, ServerRun};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::Environment;

/// How long servers have for a clean end when the host ends.
const GRACE: Duration = Duration::from_secs(4);

/// How long the host waits for a server.
#[derive(Debug, Clone, Copy)]
pub struct ServerPatience {
    /// For each answer until it is ready. Some servers are downloaded first.
    pub starting: Duration,
    /// For the answer to a request.
    pub answering: Duration,
    /// For its end when it was told to go, before it is made to.
    pub ending: Duration,
}

impl Default for ServerPatience {
    fn default() -> Self {
        Self {
            starting: Duration::from_secs(60),
            answering: Duration::from_secs(600),
            ending: Duration::from_secs(3),
        }
    }
}

/// All MCP servers of a host that run.
pub struct McpServers {
    reports: mpsc::Sender<McpReport>,
    runtime: Handle,
    patience: ServerPatience,
    /// Where what servers say on standard error is kept.
    directory: Option<PathBuf>,
    /// What programs are started in.
    environment: Arc<Environment>,
    running: Mutex<Running>,
}

#[derive(Default)]
struct Running {
    runs: HashMap<ServerRun, mpsc::UnboundedSender<McpCommand>>,
    tasks: JoinSet<()>,
}

impl McpServers {
    /// To be called within a tokio runtime: that is where servers are talked to.
    pub fn new(
        reports: mpsc::Sender<McpReport>,
        directory: Option<PathBuf>,
        environment: Arc<Environment>,
        patience: ServerPatience,
    ) -> Self {
        Self {
            reports,
            runtime: Handle::current(),
            patience,
            directory,
            environment,
            running: Mutex::default(),
        }
    }

    /// Carries out a command without waiting. What is meant for a run that is
    /// over is ignored: its end was reported, or asked for.
    pub fn command(&self, command: McpCommand) {
        let mut running = self.running();
        match command {
            McpCommand::Start(start) => {
                let Running { runs, tasks } = &mut *running;
                runs.retain(|_, commands| !commands.is_closed());
                while tasks.try_join_next().is_some() {}
                let (commands, inbox) = mpsc::unbounded_channel();
                runs.insert(start.run, commands);
                let around = life::Around {
                    patience: self.patience,
                    directory: self.directory.clone(),
                    environment: Arc::clone(&self.environment),
                    reports: life::Reports::new(start.run, self.reports.clone()),
                };
                tasks.spawn_on(life::live(*start, inbox, around), &self.runtime);
            }
            // The task sees that nobody can tell it anything any more.
            McpCommand::Stop { run } => drop(running.runs.remove(&run)),
            McpCommand::Call { run, .. }
            | McpCommand::Cancel { run, .. }
            | McpCommand::Notify { run, .. }
            | McpCommand::Authorize { run, .. } => {
                if let Some(commands) = running.runs.get(&run) {
                    let _ = commands.send(command);
                }
            }
        }
    }

    /// Ends all servers and waits for that; those that take longer than the
    /// grace period are ended where they stand.
    pub async fn shutdown(&self) {
        let Running { runs, mut tasks } = std::mem::take(&mut *self.running());
        drop(runs);
        let ended = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(GRACE, ended).await.is_err() {
            tasks.shutdown().await;
        }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for McpServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServers").finish_non_exhaustive()
    }
}

/// A log for what a server says on standard error. Its name may hold anything.
fn stderr_log(name: &str, directory: Option<&PathBuf>) -> Arc<crate::process::StderrLog> {
    let plain = |it: char| match it.is_ascii_alphanumeric() || it == '-' || it == '_' {
        true => it,
        false => '_',
    };
    let name: String = name.chars().take(64).map(plain).collect();
    let log =
        crate::process::StderrLog::of(&format!("mcp-{name}"), directory.map(PathBuf::as_path));
    Arc::new(log)
}
