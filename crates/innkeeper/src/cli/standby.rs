//! Waiting for a store that another host writes to, or that cannot be reached:
//! the host stands by until the store is its own.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use innkeeper_store::{
    Candidate, Holder, PostgresAddress, PostgresError, PostgresOptions, PostgresStore,
};
use tokio::sync::watch;

use super::place::postgres_options;
use super::serve::TokensChanged;
use crate::config::Config;
use innkeeper::server::access::AccessPolicy;
use innkeeper::server::{Server, ServerOptions, Standing};

/// How often a host that stands by looks at the lease.
const LOOK: Duration = Duration::from_millis(500);

/// What a host is told while it stands by.
pub(super) enum Word {
    Stop,
    /// To let in these from here on, and to say when it does.
    Admit(AccessPolicy, TokensChanged),
}

/// A host on its way to a store.
pub(super) struct Waiting<'a> {
    pub(super) address: &'a PostgresAddress,
    pub(super) config: &'a Config,
    pub(super) data_dir: &'a Path,
    pub(super) access: AccessPolicy,
    pub(super) options: ServerOptions,
    /// Where it is said why it stands by.
    pub(super) news: watch::Sender<Standing>,
    /// Whether it is the first time: then what cannot be right is said at once.
    pub(super) first: bool,
}

impl Waiting<'_> {
    /// The store, once it is this host's; nothing if it is `told` to stop
    /// before. `listens` is told where the host listens while it stands by.
    pub(super) async fn store(
        mut self,
        mut told: impl AsyncFnMut() -> Word,
        mut listens: impl FnMut(&Server) -> Result<()>,
    ) -> Result<Option<PostgresStore>> {
        let options = postgres_options(self.config, self.data_dir);
        let mut candidate = new_candidate(self.address.clone(), options).await?;
        let news = &self.news;
        let mut server = None;
        let mut said = None;
        let store = loop {
            let (returned, taken) = blocking(move || {
                let taken = candidate.take();
                (candidate, taken)
            })
            .await?;
            candidate = returned;
            let standing = match taken {
                Ok(None) => {
                    let store = blocking(move || candidate.store()).await?;
                    break Some(store?);
                }
                Ok(Some(holder)) => behind(holder),
                Err(error) if self.first && said.is_none() && !may_pass(&error) => {
                    return Err(error.into());
                }
                Err(error) => {
                    if said != Some(Standing::WithoutStore) {
                        tracing::error!(%error, "the store cannot be reached; this host waits for it");
                    }
                    Standing::WithoutStore
                }
            };
            if said.as_ref() != Some(&standing) {
                if let Standing::Behind(owner) = &standing {
                    tracing::info!(
                        owner = owner.as_deref().unwrap_or("it has not said where"),
                        "another host works on this store; this one stands by"
                    );
                }
                news.send_replace(standing.clone());
                said = Some(standing);
            }
            if server.is_none() {
                let (access, options) = (self.access.clone(), self.options.clone());
                let started = Server::start_standby(access, options, news.subscribe()).await?;
                if let Err(error) = listens(&started) {
                    started.stop().await;
                    return Err(error);
                }
                // It keeps its address when it works.
                candidate.advertise(advertised(self.config, &started));
                server = Some(started);
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                word = told() => match word {
                    Word::Stop => break None,
                    Word::Admit(access, asked) => {
                        if let Some(server) = &server {
                            server.admit(access.clone());
                        }
                        self.access = access;
                        asked.answer(Ok(()));
                    }
                },
            }
        };
        drop(self.news);
        if let Some(server) = server {
            server.stop().await;
        }
        Ok(store)
    }
}

async fn new_candidate(address: PostgresAddress, options: PostgresOptions) -> Result<Candidate> {
    let made = blocking(move || Candidate::new(&address, options)).await?;
    Ok(made?)
}

fn behind(holder: Holder) -> Standing {
    Standing::Behind(Some(holder.address).filter(|address| !address.is_empty()))
}

/// Whether waiting may help: the database is not there, or has not started.
fn may_pass(error: &PostgresError) -> bool {
    match error {
        PostgresError::Away { .. } | PostgresError::Silent { .. } | PostgresError::Full(_) => true,
        PostgresError::Reported { code, .. } => ["57P", "53", "08", "25006", "55P03"]
            .iter()
            .any(|class| code.starts_with(class)),
        PostgresError::Store(_)
        | PostgresError::Address(_)
        | PostgresError::Untrusted { .. }
        | PostgresError::Pooled { .. }
        | PostgresError::NoPassword { .. }
        | PostgresError::Denied(_)
        | PostgresError::Newer { .. }
        | PostgresError::Missing { .. }
        | PostgresError::Lost(_)
        | PostgresError::TooLarge { .. }
        | PostgresError::NoThread(_)
        | PostgresError::Closed
        | PostgresError::Held(_) => false,
    }
}

/// Runs what waits for a database where it holds up nobody.
async fn blocking<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(what)
        .await
        .context("a thread of this program ended unexpectedly")
}

/// Where other machines reach a server, as far as that can be known: what is
/// configured, or else the address that it listens on.
pub(super) fn advertised(config: &Config, server: &Server) -> String {
    if let Some(address) = &config.store.advertise {
        return address.clone();
    }
    let (Some((_, web)), Some(address)) = (server.urls(), server.address()) else {
        return String::new();
    };
    if !address.ip().is_unspecified() {
        return web;
    }
    let scheme = web.split("://").next().unwrap_or("http");
    let name = gethostname::gethostname();
    let name = name.to_string_lossy();
    format!("{scheme}://{name}:{}/", address.port())
}
