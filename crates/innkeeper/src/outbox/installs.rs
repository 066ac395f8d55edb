//! Installing agents: away from whoever asks for it, until it is over or not
//! wanted any more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use innkeeper_agents::install::Installer;
use innkeeper_engine::{Input, Ticket};
use innkeeper_protocol::agent::InstallFailure;
use tokio::sync::{oneshot, watch};

use super::Reports;

/// How often clients are told how far an installation is.
const BETWEEN_LINES: Duration = Duration::from_millis(200);

pub(crate) struct Installs {
    installer: Option<Arc<Installer>>,
    reports: Reports,
    /// Those that run; dropping one ends it.
    running: Arc<Mutex<HashMap<Ticket, oneshot::Sender<()>>>>,
}

impl Installs {
    pub(crate) fn new(installer: Option<Arc<Installer>>, reports: Reports) -> Self {
        Self {
            installer,
            reports,
            running: Arc::default(),
        }
    }

    pub(super) fn list(&self, ticket: Ticket) {
        let installer = self.installer.clone();
        self.reports.blocking(move || {
            let agents = installer.map(|installer| installer.installable());
            let agents = agents.unwrap_or_default();
            Input::InstallableListed { ticket, agents }
        });
    }

    pub(super) fn install(&self, ticket: Ticket, provider: String) {
        let (stop, stopped) = oneshot::channel();
        lock(&self.running).insert(ticket, stop);
        let (installer, running) = (self.installer.clone(), Arc::clone(&self.running));
        let reports = self.reports.clone();
        self.reports.later(async move {
            let (said, mut lines) = watch::channel(String::new());
            let tell = move |line: &str| drop(said.send_replace(line.to_owned()));
            // Of what comes faster, the last line is told.
            let telling = async {
                while lines.changed().await.is_ok() {
                    let line = lines.borrow_and_update().clone();
                    reports.tell(Input::Installing { ticket, line });
                    tokio::time::sleep(BETWEEN_LINES).await;
                }
                std::future::pending().await
            };
            let installing = async {
                match &installer {
                    Some(installer) => installer.install(&provider, &tell).await,
                    None => Err(InstallFailure::Failed(
                        "nothing can be installed".to_owned(),
                    )),
                }
            };
            let outcome = tokio::select! {
                outcome = installing => outcome,
                outcome = telling => outcome,
                _ = stopped => {
                    let why = "the installation was cancelled; nothing has changed";
                    Err(InstallFailure::Failed(why.to_owned()))
                }
            };
            lock(&running).remove(&ticket);
            Input::Installed { ticket, outcome }
        });
    }

    pub(super) fn stop(&self, ticket: Ticket) {
        lock(&self.running).remove(&ticket);
    }

    /// Ends all of them.
    pub(super) fn stop_all(&self) {
        lock(&self.running).clear();
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
